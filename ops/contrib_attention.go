package ops

import (
	"math"
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// newAttention is the attention of heads, with the attributes that ONNX
// Runtime's operators share. A causal one hides the keys behind each query, of
// which past were cached.
func (c *Call) newAttention(q, k, v *heads, past int) (*attention, error) {
	t := &attention{c: c, q: q, k: k, v: v, causal: c.Int("unidirectional") != 0, lo: -1, hi: -1, offset: func(int) int { return past }}
	if t.scale = float64(c.FloatOr("scale", 0)); t.scale == 0 {
		t.scale = 1 / math.Sqrt(float64(max(1, q.size)))
	}
	return t, t.check()
}

// addBias adds an input that broadcasts to the scores.
func (t *attention) addBias(i int) error {
	if i < 0 || !t.c.Has(i) {
		return nil
	}
	a, err := t.c.Need(i)
	if err != nil {
		return err
	}
	if err := t.c.CheckSize(array.Float64, t.scores()); err != nil {
		return err
	}
	t.biasAt, err = spreadTo(t.c, a, t.scores())
	return err
}

// addMask adds the filter value to the scores that input i hides: the length of
// each row of keys, or these and where they begin, or 0 for a hidden key of each
// batch, or of each query.
func (t *attention) addMask(i int, filter float64) error {
	if !t.c.Has(i) {
		return nil
	}
	a, err := t.c.Need(i)
	if err != nil {
		return err
	}
	mask, err := t.c.IntsAt(i)
	if err != nil {
		return err
	}
	hides, err := t.hides(i, a.Shape(), mask)
	if err != nil || hides == nil {
		return err
	}
	if t.biasAt == nil {
		if err := t.c.CheckSize(array.Float64, t.scores()); err != nil {
			return err
		}
		t.biasAt = make([]float64, sizeOf(t.scores()))
	}
	for at := range t.biasAt {
		key, query, b := at%t.k.length, at/t.k.length%t.q.length, at/(t.k.length*t.q.length*t.q.heads)
		if hides(b, query, key) {
			t.biasAt[at] += filter
		}
	}
	return nil
}

// hides returns which keys a mask hides; nil when it hides none.
func (t *attention) hides(i int, shape, mask []int) (func(b, query, key int) bool, error) {
	n, s, total := t.q.n, t.q.length, t.k.length
	switch {
	case slices.Equal(shape, []int{n}):
		return func(b, _, key int) bool { return key >= mask[b] }, nil
	case slices.Equal(shape, []int{2 * n}):
		return func(b, _, key int) bool { return key >= mask[b] || key < mask[n+b] }, nil
	case slices.Equal(shape, []int{n, total}):
		return func(b, _, key int) bool { return mask[b*total+key] <= 0 }, nil
	case slices.Equal(shape, []int{n, 1}), slices.Equal(shape, []int{1, 1}):
		return nil, nil // the same for every key
	case slices.Equal(shape, []int{n, s, total}):
		return func(b, query, key int) bool { return mask[(b*s+query)*total+key] <= 0 }, nil
	}
	return nil, t.c.Errorf("input %d: got a mask of shape %v, want [%d], [%d], [%d, %d] or [%d, %d, %d]", i, shape, n, 2*n, n, total, n, s, total)
}

// maskFilter is what a hidden key's score gets.
func (c *Call) maskFilter() float64 { return float64(c.FloatOr("mask_filter_value", -10000)) }

// output fills output i with a, as the type of input 0.
func (c *Call) output(i int, a *array.Array, dt array.DType) (err error) {
	if c.Wants(i) {
		c.Out[i], err = a.Cast(dt)
	}
	return err
}

// qkvSizes returns the widths of queries, keys and values side by side.
func (s *Site) qkvSizes(width int) ([]int, error) {
	sizes := s.Ints("qkv_hidden_sizes")
	if sizes == nil {
		sizes = []int{width / 3, width / 3, width / 3}
	}
	n := s.Int("num_heads")
	if len(sizes) != 3 || n < 1 {
		return nil, s.Errorf("attributes: got qkv_hidden_sizes %v and num_heads %d, want 3 sizes and 1 head or more", sizes, n)
	}
	total := 0
	for _, d := range sizes {
		if total += d; d < 0 || d > width || d%n != 0 {
			return nil, s.Errorf("hidden sizes: got %v, want what %d heads divide", sizes, n)
		}
	}
	if total != width {
		return nil, s.Errorf("hidden sizes: got %v, want the sum %d", sizes, width)
	}
	return sizes, nil
}

// contribAttention projects the input to queries, keys and values, whose past
// and present lie in one tensor.
func contribAttention(c *Call) error {
	for _, name := range []string{"do_rotary", "past_present_share_buffer"} {
		if c.Int(name) != 0 {
			return c.Errorf("attribute %q: got %d, want 0: the kernel has no other", name, c.Int(name))
		}
	}
	in, err := c.needs(2)
	if err != nil {
		return err
	}
	return c.projected(in[0], in[1], c.Array(2), projection{mask: 3, past: 4, bias: 5}, in[0].DType())
}

// projection says which inputs hold what an attention of projected heads takes.
type projection struct{ mask, past, bias int } // bias: -1 for none

func (c *Call) projected(x, weights, bias *array.Array, at projection, dt array.DType) error {
	if x.Rank() != 3 || weights.Rank() != 2 {
		return c.Errorf("inputs: got %s and weights %s, want [batch, length, width] and a matrix", x.Summary(), weights.Summary())
	}
	wide, err := c.wideProduct(x, weights, bias)
	if err != nil {
		return err
	}
	sizes, err := c.qkvSizes(weights.Shape()[1])
	if err != nil {
		return err
	}
	parts, err := c.parts(wide, 2, sizes)
	if err != nil {
		return err
	}
	var h [3]*heads
	for i := range h {
		if h[i], err = c.headsOf(0, parts[i], c.Int("num_heads")); err != nil {
			return err
		}
	}
	past, err := c.withPast(&h[1], &h[2], at.past)
	if err != nil {
		return err
	}
	t, err := c.newAttention(h[0], h[1], h[2], past)
	if err != nil {
		return err
	}
	if err := t.addBias(at.bias); err != nil {
		return err
	}
	if err := t.addMask(at.mask, c.maskFilter()); err != nil {
		return err
	}
	if err := t.run(); err != nil {
		return err
	}
	return c.projectedResults(t, dt)
}

// wideProduct is x times the weights plus the bias, in float32 at least.
func (c *Call) wideProduct(x, weights, bias *array.Array) (*array.Array, error) {
	in := []*array.Array{x, weights, bias}
	for i, a := range in {
		if a == nil {
			continue
		}
		w, _, err := widened(a)
		if err != nil {
			return nil, err
		}
		in[i] = w
	}
	y, err := c.part(matmul, nil, in[:2]...)
	if err != nil {
		return nil, err
	}
	return c.sameShape(y, in[2])
}

// withPast puts what input i has cached before keys and values, and returns how
// many positions that are.
func (c *Call) withPast(k, v **heads, i int) (int, error) {
	if !c.Has(i) {
		return 0, nil
	}
	a, err := c.Need(i)
	if err != nil {
		return 0, err
	}
	if a.Rank() != 5 || a.Shape()[0] != 2 {
		return 0, c.Errorf("input %d: got %s, want [2, batch, heads, length, size]", i, a.Summary())
	}
	halves, err := c.parts(a, 0, []int{1, 1})
	if err != nil {
		return 0, err
	}
	for n, h := range []**heads{k, v} {
		half, err := halves[n].Reshape(a.Shape()[1:]...)
		if err != nil {
			return 0, err
		}
		past, err := c.headsOf(i, half, 0)
		if err != nil {
			return 0, err
		}
		if *h, err = (*h).behind(c, i, past); err != nil {
			return 0, err
		}
	}
	return a.Shape()[3], nil
}

func (c *Call) projectedResults(t *attention, dt array.DType) error {
	y, err := t.merged()
	if err != nil {
		return err
	}
	if err := c.output(0, y, dt); err != nil || !c.Wants(1) {
		return err
	}
	if t.k.size != t.v.size {
		return c.Errorf("output 1: got heads of %d and %d elements, want one size", t.k.size, t.v.size)
	}
	return c.output(1, array.FromSlice(slices.Concat(t.k.x, t.v.x), append([]int{2}, t.k.shape()...)...), dt)
}

func inferContribAttention(c *Infer) error {
	return c.inferProjected(c.Fact(0).DType, 1, 4)
}

func (c *Infer) inferProjected(dt array.DType, weights, past int) error {
	x, w := c.Fact(0).Dims, c.Fact(weights).Dims
	out, present := TensorFact(dt, nil), TensorFact(dt, nil)
	if n := int64(c.Int("num_heads")); len(x) == 3 && len(w) == 2 && n > 0 {
		width := w[1].FloorDiv(sym.Int(3))
		size := width
		if sizes := c.Ints("qkv_hidden_sizes"); len(sizes) == 3 {
			width, size = sym.Int(int64(sizes[2])), sym.Int(int64(sizes[0]))
		}
		out.Dims = []sym.Expr{x[0], x[1], width}
		present.Dims = []sym.Expr{sym.Int(2), x[0], sym.Int(n), c.plusPast(x[1], past, 3), size.FloorDiv(sym.Int(n))}
	}
	c.Set(0, out)
	c.Set(1, present)
	return nil
}

// plusPast adds to a length of new positions that of the cached ones, which lie
// on that axis of input i.
func (c *Infer) plusPast(length sym.Expr, i, axis int) sym.Expr {
	if !c.HasIn(i) {
		return length
	}
	if d := c.Fact(i).Dims; len(d) > axis {
		return length.Add(d[axis])
	}
	return sym.Expr{}
}

// rotaryAttrs are the attributes of the standard's RotaryEmbedding.
func rotaryAttrs(interleaved, dim, heads int) []*ir.Attr {
	return []*ir.Attr{ir.NewAttr("interleaved", int64(interleaved)), ir.NewAttr("rotary_embedding_dim", int64(dim)), ir.NewAttr("num_heads", int64(heads))}
}

// contribRotary is RotaryEmbedding whose positions may be one, the first, and
// whose heads are as wide as the caches say.
func contribRotary(c *Call) error {
	in, err := c.needs(4)
	if err != nil {
		return err
	}
	x, cos := in[0], in[2]
	if x.Rank() != 3 && x.Rank() != 4 || cos.Rank() != 2 || c.Int("is_packed_batching") != 0 {
		return c.Errorf("inputs: got %s and cosines %s, want rank 3 or 4, a matrix, and no packed batches", x.Summary(), cos.Summary())
	}
	length, dim, n := x.Shape()[x.Rank()-2], c.Int("rotary_embedding_dim"), c.Int("num_heads")
	if n == 0 && x.Rank() == 3 {
		n = x.Shape()[2] / max(1, 2*cos.Shape()[1])
	}
	ids, err := c.startingAt(in[1], x.Shape()[0], length)
	if err != nil {
		return err
	}
	c.Out[0], err = c.part(rotary, rotaryAttrs(c.Int("interleaved"), dim, n), x, cos, in[3], ids)
	return err
}

// startingAt spreads one first position to those of each batch; what has one for
// each position stays as it is.
func (c *Call) startingAt(ids *array.Array, batch, length int) (*array.Array, error) {
	if ids.Size() != 1 || batch*length == 1 {
		return ids, nil
	}
	first, err := ids.Int64s()
	if err != nil {
		return nil, err
	}
	if err := c.CheckSize(array.Int64, []int{batch, length}); err != nil {
		return nil, err
	}
	all := make([]int64, batch*length)
	for i := range all {
		all[i] = first[0] + int64(i%length)
	}
	return array.FromSlice(all, batch, length), nil
}

// qAttention is Attention of a quantized input and quantized weights.
func qAttention(c *Call) error {
	if c.Int("do_rotary") != 0 || c.Int("past_present_share_buffer") != 0 {
		return c.Errorf("attributes: got do_rotary or past_present_share_buffer, which the kernel has not")
	}
	in, err := c.needs(5)
	if err != nil {
		return err
	}
	x, err := c.real(quantity{0, 3, 6})
	if err != nil {
		return err
	}
	w, err := c.realColumns(in[1], in[4], 7)
	if err != nil {
		return err
	}
	return c.projected(x, w, in[2], projection{mask: 5, past: 8, bias: -1}, in[3].DType())
}

// realColumns is what quantized weights stand for, whose scale and zero point,
// input zero, are one or one for each column.
func (c *Call) realColumns(w, scale *array.Array, zero int) (*array.Array, error) {
	y, err := w.Cast(array.Float32)
	if err != nil {
		return nil, err
	}
	if scale, err = scale.Cast(array.Float32); err != nil {
		return nil, err
	}
	if c.Has(zero) {
		z, err := c.Need(zero)
		if err != nil {
			return nil, err
		}
		if z, err = z.Cast(array.Float32); err != nil {
			return nil, err
		}
		if y, err = c.part(elementwise(arith{f32: func(x, y float32) float32 { return x - y }}), nil, y, z); err != nil {
			return nil, err
		}
	}
	return c.part(mulKernel, nil, y, scale)
}

func inferQAttention(c *Infer) error { return c.inferProjected(c.Fact(2).DType, 1, 8) }

var contribAttentionOps = []Op{
	{Domain: contribDomain, Name: "Attention", Since: 1, Infer: inferContribAttention, Eval: contribAttention},
	{Domain: contribDomain, Name: "QAttention", Since: 1, Infer: inferQAttention, Eval: qAttention},
	{Domain: contribDomain, Name: "RotaryEmbedding", Since: 1, Infer: inferSame, Eval: contribRotary},
	{Domain: contribDomain, Name: "MultiHeadAttention", Since: 1, Infer: inferMultiHead(multiHeadInputs), Eval: multiHead(multiHeadInputs)},
	{Domain: contribDomain, Name: "DecoderMaskedMultiHeadAttention", Since: 1, Infer: inferMultiHead(decoderInputs), Eval: multiHead(decoderInputs)},
	{Domain: contribDomain, Name: "GroupQueryAttention", Since: 1, Infer: inferGroupQuery, Eval: groupQuery},
}
