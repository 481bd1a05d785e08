package ops

import (
	"slices"
	"strings"

	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// Check refuses what an operator can't take as far as it is known before the model
// runs: attributes out of range, sizes that can't meet. What is not known passes.
type Check func(*Infer) error

// sizeAt returns size k of input i, counted from the end when k is negative, if it
// is known.
func (c *Infer) sizeAt(i, k int) (int, bool) {
	d := c.Fact(i).Dims
	if k < 0 {
		k += len(d)
	}
	if k < 0 || k >= len(d) {
		return 0, false
	}
	n, ok := d[k].Int()
	return int(n), ok
}

// countAt returns the number of elements of input i, if it is known.
func (c *Infer) countAt(i int) (int, bool) {
	d := c.Fact(i).Dims
	if d == nil || !c.HasIn(i) {
		return 0, false
	}
	count := int64(1)
	for _, e := range d {
		n, ok := e.Int()
		if !ok || n < 0 || n > 1<<31 || count > 1<<31 {
			return 0, false
		}
		count *= n
	}
	return int(count), true
}

// axisIn wants an attribute to be an axis of input 0.
func axisIn(attr string, def int) Check { return axisUpTo(attr, def, 0) }

// axisUpTo is axisIn that allows some axes more behind the last.
func axisUpTo(attr string, def, more int) Check {
	return func(c *Infer) error {
		rank := c.Fact(0).Rank()
		if v := c.IntOr(attr, def); rank >= 0 && (v < -rank || v >= rank+more) {
			return c.Errorf("%s: got %d, want %d to %d", attr, v, -rank, rank-1+more)
		}
		return nil
	}
}

// oneOf wants an attribute, where it is given, to be one of these texts.
func oneOf(attr string, texts ...string) Check {
	return func(c *Infer) error {
		if v := c.Str(attr); v != "" && !slices.Contains(texts, v) {
			return c.Errorf("%s: got %q, want %q", attr, v, strings.Join(texts, `" or "`))
		}
		return nil
	}
}

// rankIn wants an input to have a rank in a range; most may be -1 for any.
func rankIn(i, least, most int) Check {
	return func(c *Infer) error {
		rank := c.Fact(i).Rank()
		switch {
		case rank < 0 || rank >= least && (most < 0 || rank <= most):
			return nil
		case most < 0:
			return c.Errorf("input %d: got %s, want rank %d or more", i, dimsText(c.Fact(i).Dims), least)
		case least == most:
			return c.Errorf("input %d: got %s, want rank %d", i, dimsText(c.Fact(i).Dims), least)
		}
		return c.Errorf("input %d: got %s, want rank %d to %d", i, dimsText(c.Fact(i).Dims), least, most)
	}
}

// perChannel wants inputs to have one element for each channel of input 0.
func perChannel(inputs ...int) Check {
	return func(c *Infer) error {
		channels, ok := c.sizeAt(0, 1)
		for _, i := range inputs {
			if n, known := c.countAt(i); ok && known && n != channels {
				return c.Errorf("input %d: got %d elements, want %d, one for each channel", i, n, channels)
			}
		}
		return nil
	}
}

// alike wants inputs to have the shape of another.
func alike(as int, inputs ...int) Check {
	return func(c *Infer) error {
		for _, i := range inputs {
			if c.HasIn(i) && !couldBe(c.Fact(i).Dims, c.Fact(as).Dims) {
				return c.Errorf("input %d: got %s, want %s, the shape of input %d", i, dimsText(c.Fact(i).Dims), dimsText(c.Fact(as).Dims), as)
			}
		}
		return nil
	}
}

// couldBe reports whether two shapes can be one, as far as they are known.
func couldBe(a, b []sym.Expr) bool {
	if a == nil || b == nil {
		return true
	}
	return slices.EqualFunc(a, b, func(x, y sym.Expr) bool {
		m, mKnown := x.Int()
		n, nKnown := y.Int()
		return !mKnown || !nKnown || m == n
	})
}

// spreadsBehind wants inputs to broadcast to the sizes of input 0 from the axis on.
func spreadsBehind(def int, inputs ...int) Check {
	return func(c *Infer) error {
		to := c.Fact(0).Dims
		if to == nil {
			return nil
		}
		axis, err := c.normalAxis(c.IntOr("axis", def), len(to))
		if err != nil {
			return err
		}
		for _, i := range inputs {
			if c.HasIn(i) && !spreads(c.Fact(i).Dims, to[axis:]) {
				return c.Errorf("input %d: got shape %s, which does not broadcast to %s", i, dimsText(c.Fact(i).Dims), dimsText(to[axis:]))
			}
		}
		return nil
	}
}

// spreads reports whether sizes can broadcast to others, as far as they are known.
func spreads(from, to []sym.Expr) bool {
	if from == nil || to == nil {
		return true
	}
	if len(from) > len(to) {
		return false
	}
	for k, d := range from {
		m, mKnown := d.Int()
		n, nKnown := to[len(to)-len(from)+k].Int()
		if mKnown && nKnown && m != n && m != 1 {
			return false
		}
	}
	return true
}

// numbersFor wants an input, a vector, to have so many numbers for each axis of
// input 0.
func numbersFor(i, each int) Check {
	return func(c *Infer) error {
		n, ok := c.countAt(i)
		rank := c.Fact(0).Rank()
		if ok && rank >= 0 && n != each*rank {
			return c.Errorf("input %d: got %d numbers, want %d, as input 0 has rank %d", i, n, each*rank, rank)
		}
		return nil
	}
}

// divides wants an attribute to be a positive divisor of a size of input i, which
// holds when that has the given rank.
func divides(attr string, i, axis, rank int) Check {
	return func(c *Infer) error {
		by := c.Int(attr)
		n, ok := c.sizeAt(i, axis)
		if ok && (rank < 0 || c.Fact(i).Rank() == rank) && (by <= 0 || n%by != 0) {
			return c.Errorf("%s: got %d, want a divisor of %d, a size of input %d, %s", attr, by, n, i, dimsText(c.Fact(i).Dims))
		}
		return nil
	}
}

// meet wants a size of one input to be that of another.
func meet(i, axis, j, other int) Check {
	return func(c *Infer) error {
		m, mKnown := c.sizeAt(i, axis)
		n, nKnown := c.sizeAt(j, other)
		if mKnown && nKnown && m != n {
			return c.Errorf("inputs %d and %d: got %s and %s, want the sizes %d and %d equal", i, j, dimsText(c.Fact(i).Dims), dimsText(c.Fact(j).Dims), m, n)
		}
		return nil
	}
}

// scaleFits wants the scale, input 1, and the zero point of a quantization to fit
// input 0: one element, or one for each place of the axis.
func scaleFits(c *Infer) error {
	scale := c.Fact(1)
	if scale.Dims == nil || c.Fact(0).Dims == nil || len(scale.Dims) == 0 {
		return nil
	}
	if c.HasIn(2) && !couldBe(scale.Dims, c.Fact(2).Dims) {
		return c.Errorf("zero point: got %s, want %s as the scale has", dimsText(c.Fact(2).Dims), dimsText(scale.Dims))
	}
	n, known := scale.Dims[0].Int()
	if len(scale.Dims) != 1 || known && n == 1 || c.Int("block_size") != 0 {
		return nil
	}
	axis, err := c.normalAxis(c.IntOr("axis", 1), c.Fact(0).Rank())
	if err != nil {
		return err
	}
	if want, ok := c.sizeAt(0, axis); ok && known && int(n) != want {
		return c.Errorf("scale: got %d elements, want %d, one for each place on axis %d", n, want, axis)
	}
	return nil
}

// indicesFit wants the indices, input 1, to have the rank of the data and sizes that
// fit it but for the axis.
func indicesFit(c *Infer) error {
	data, idx := c.Fact(0).Dims, c.Fact(1).Dims
	if data == nil || idx == nil {
		return nil
	}
	axis, err := c.normalAxis(c.Int("axis"), len(data))
	if err != nil {
		return err
	}
	fits := len(idx) == len(data)
	for k := 0; fits && k < len(idx); k++ {
		m, mKnown := idx[k].Int()
		n, nKnown := data[k].Int()
		fits = k == axis || !mKnown || !nKnown || m <= n
	}
	if !fits {
		return c.Errorf("indices: got shape %s, want rank %d and sizes that fit %s", dimsText(idx), len(data), dimsText(data))
	}
	return nil
}

// targetsFit wants targets, input 1, of the scores' shape without dimension 1, and a
// weight for each class.
func targetsFit(c *Infer) error {
	scores, targets := c.Fact(0).Dims, c.Fact(1).Dims
	if scores == nil {
		return nil
	}
	if len(scores) < 2 || targets != nil && !couldBe(targets, slices.Delete(slices.Clone(scores), 1, 2)) {
		return c.Errorf("inputs: got scores %s and targets %s, want scores of rank 2 or more and targets of the same shape without dimension 1", dimsText(scores), dimsText(targets))
	}
	return perChannel(2)(c)
}

// gemmFits wants matrices whose inner sizes meet, and a bias that broadcasts to the
// product.
func gemmFits(c *Infer) error {
	ta, tb := c.Int("transA")&1, c.Int("transB")&1
	if err := meet(0, 1-ta, 1, tb)(c); err != nil {
		return err
	}
	a, b := c.Fact(0).Dims, c.Fact(1).Dims
	if !c.HasIn(2) || len(a) != 2 || len(b) != 2 {
		return nil
	}
	product := []sym.Expr{a[ta], b[1-tb]}
	if bias := c.Fact(2).Dims; !spreads(bias, product) {
		return c.Errorf("input 2: got shape %s, which does not broadcast to %s", dimsText(bias), dimsText(product))
	}
	return nil
}

// slopeFits wants PRelu's slope to broadcast to the input.
func slopeFits(c *Infer) error {
	if x, slope := c.Fact(0).Dims, c.Fact(1).Dims; c.Opset >= 7 && !spreads(slope, x) {
		return c.Errorf("input 1: got shape %s, which does not broadcast to %s", dimsText(slope), dimsText(x))
	}
	return nil
}

// weightsFit wants the weights of a recurrent layer with so many gates to fit the
// sequence, the hidden size and the directions.
func weightsFit(gates int) Check {
	return func(c *Infer) error {
		dirs := 1
		if c.Str("direction") == "bidirectional" {
			dirs = 2
		}
		hidden := c.Int("hidden_size")
		if n, ok := c.sizeAt(1, 1); hidden == 0 && ok {
			hidden = n / gates
		}
		h := int64(hidden)
		width := sym.Expr{}
		if x := c.Fact(0).Dims; len(x) == 3 {
			width = x[2]
		}
		for k, want := range [][]sym.Expr{
			{sym.Int(int64(dirs)), sym.Int(int64(gates) * h), width},
			{sym.Int(int64(dirs)), sym.Int(int64(gates) * h), sym.Int(h)},
			{sym.Int(int64(dirs)), sym.Int(2 * int64(gates) * h)},
		} {
			i := k + 1
			if got := c.Fact(i).Dims; h > 0 && c.HasIn(i) && !couldBe(got, want) {
				return c.Errorf("input %d: got %s, want %s", i, dimsText(got), dimsText(want))
			}
		}
		return nil
	}
}

// perGroup wants scale and bias to have one element for each group, from opset 21 on
// one for each channel.
func perGroup(c *Infer) error {
	want, ok := c.sizeAt(0, 1)
	if c.Opset < 21 {
		want, ok = c.Int("num_groups"), true
	}
	for i := 1; i <= 2; i++ {
		if n, known := c.countAt(i); ok && known && n != want {
			return c.Errorf("input %d: got %d elements, want %d", i, n, want)
		}
	}
	return nil
}

// blocksFit wants DepthToSpace's channels to make whole blocks.
func blocksFit(c *Infer) error {
	b := c.Int("blocksize")
	if b <= 0 || b > 1<<15 {
		return c.Errorf("blocksize: got %d, want a positive number", b)
	}
	if n, ok := c.sizeAt(0, 1); ok && n%(b*b) != 0 {
		return c.Errorf("input 0: got %d channels, want a multiple of %d, the square of blocksize", n, b*b)
	}
	return nil
}

// headsFit wants query, key and value of one batch, whose sizes meet: by heads where
// they have rank 4, side by side in the last dimension where they have rank 3.
func headsFit(c *Infer) error {
	q, k, v := c.Fact(0).Rank(), c.Fact(1).Rank(), c.Fact(2).Rank()
	checks := []Check{meet(0, 0, 1, 0), meet(1, 0, 2, 0)}
	if k == v {
		checks = append(checks, meet(1, 1, 2, 1), meet(1, -2, 2, -2))
	}
	if q == 4 && k == 4 {
		checks = append(checks, meet(0, 3, 1, 3))
	}
	checks = append(checks, divides("q_num_heads", 0, 2, 3), divides("kv_num_heads", 1, 2, 3), divides("kv_num_heads", 2, 2, 3))
	for _, check := range checks {
		if err := check(c); err != nil {
			return err
		}
	}
	return nil
}

// lengthsFit wants ReverseSequence to have one axis for the batch and one for the
// time, and a length for each sequence.
func lengthsFit(c *Infer) error {
	batch, time := c.IntOr("batch_axis", 1), c.Int("time_axis")
	if batch+time != 1 || batch*time != 0 {
		return c.Errorf("got batch_axis %d and time_axis %d, want 0 and 1, or 1 and 0", batch, time)
	}
	return meet(0, batch, 1, 0)(c)
}

// updatesFit wants ScatterND's updates to have the indices' shape but for the last
// dimension, and behind it that of the data which an index leaves.
func updatesFit(c *Infer) error {
	data, idx := c.Fact(0).Dims, c.Fact(1).Dims
	width, ok := c.sizeAt(1, -1)
	if !ok || data == nil {
		return nil
	}
	if width > len(data) {
		return c.Errorf("indices: got tuples of %d, want at most %d, the rank of data", width, len(data))
	}
	if want := joinDims(idx[:len(idx)-1], data[width:]); !couldBe(c.Fact(2).Dims, want) {
		return c.Errorf("updates: got shape %s, want %s", dimsText(c.Fact(2).Dims), dimsText(want))
	}
	return nil
}
