package ops

import (
	"math"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// padArgs returns the pads before and after every axis: attributes before opset
// 11, inputs since.
func padArgs(c *Call, rank int) (before, after []int, err error) {
	var pads, axes []int
	switch {
	case c.Opset < 2:
		pads = c.Ints("paddings")
	case c.Opset < 11:
		pads = c.Ints("pads")
	default:
		if pads, err = c.IntsAt(1); err != nil {
			return nil, nil, err
		}
		if c.Has(3) {
			if axes, err = c.IntsAt(3); err != nil {
				return nil, nil, err
			}
		}
	}
	return completePads(&c.Site, pads, axes, rank)
}

const mostPad = math.MaxInt32 * 1024 // so that sums of sizes don't overflow

func completePads(s *Site, pads, axes []int, rank int) (before, after []int, err error) {
	if axes == nil {
		for i := range rank {
			axes = append(axes, i)
		}
	}
	if len(pads) != 2*len(axes) {
		return nil, nil, s.Errorf("pads: got %d numbers, want %d, two for each axis", len(pads), 2*len(axes))
	}
	before, after = make([]int, rank), make([]int, rank)
	for i, a := range axes {
		k, err := s.normalAxis(a, rank)
		if err != nil {
			return nil, nil, err
		}
		before[k], after[k] = pads[i], pads[len(axes)+i]
		if p := max(before[k], -before[k], after[k], -after[k]); p < 0 || p > mostPad {
			return nil, nil, s.Errorf("pads: got %d and %d for axis %d, want numbers that memory can hold", before[k], after[k], k)
		}
	}
	return before, after, nil
}

func pad(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	before, after, err := padArgs(c, a.Rank())
	if err != nil {
		return err
	}
	var fill any
	mode := c.Str("mode")
	if mode == "" || mode == "constant" {
		if fill, err = c.padValue(a.DType()); err != nil {
			return err
		}
		c.Out[0], err = c.padded(a, before, after, fill)
		return err
	}
	c.Out[0], err = c.padMapped(a, before, after, mode)
	return err
}

// padValue returns what constant mode fills with; nil is zero, false or "".
func (c *Call) padValue(dt array.DType) (any, error) {
	if c.Opset < 11 {
		if v := float64(c.Float("value")); v != 0 {
			return v, nil
		}
		return nil, nil
	}
	v := c.Array(2)
	if v == nil || v.Size() == 0 {
		return nil, nil
	}
	if v.Size() != 1 || v.DType() != dt {
		return nil, c.Errorf("constant_value: got %s, want one %s", v.Summary(), dt)
	}
	return v.At(0), nil
}

// paddedShape returns the output's shape.
func (c *Call) paddedShape(a *array.Array, before, after []int) ([]int, error) {
	shape := make([]int, a.Rank())
	for i, d := range a.Shape() {
		if shape[i] = d + before[i] + after[i]; shape[i] < 0 {
			return nil, c.Errorf("pads: got %d and %d for axis %d of size %d, which cuts more than there is", before[i], after[i], i, d)
		}
	}
	return shape, nil
}

// padded surrounds a by v (nil is zero); negative pads cut.
func (c *Call) padded(a *array.Array, before, after []int, v any) (*array.Array, error) {
	shape, err := c.paddedShape(a, before, after)
	if err != nil {
		return nil, err
	}
	out, err := c.Make(a.DType(), shape)
	if err != nil {
		return nil, err
	}
	if v != nil {
		if err := fillWith(out, v); err != nil {
			return nil, c.Errorf("%w", err)
		}
	}
	to, from := strided{steps: rowMajor(shape)}, strided{steps: rowMajor(a.Shape())}
	kept := make([]int, len(shape))
	for i, d := range a.Shape() {
		first := max(0, -before[i])
		kept[i] = max(0, min(d, d+after[i])-first)
		to.offset += max(0, before[i]) * to.steps[i]
		from.offset += first * from.steps[i]
	}
	copyStrided(out, a, kept, to, from)
	return out, nil
}

// padMapped surrounds a by its own elements.
func (c *Call) padMapped(a *array.Array, before, after []int, mode string) (*array.Array, error) {
	shape, err := c.paddedShape(a, before, after)
	if err != nil {
		return nil, err
	}
	out, err := c.Make(a.DType(), shape)
	if err != nil || out.Size() == 0 {
		return out, err
	}
	maps := make([][]int, len(shape))
	for k := range maps {
		if maps[k], err = c.padMap(mode, a.Shape()[k], before[k], after[k]); err != nil {
			return nil, err
		}
	}
	takeMapped(out, a, maps)
	return out, nil
}

// takeMapped fills out from a, where maps tell for each position of an axis of
// out which one of a's it takes; an element with a negative one stays as it is.
func takeMapped(out, a *array.Array, maps [][]int) {
	rank, inner := len(maps), 1 // trailing axes that stay as they are move as blocks
	for ; rank > 0 && isWhole(maps[rank-1], a.Shape()[rank-1]); rank-- {
		inner *= a.Shape()[rank-1]
	}
	at := []int{0}
	for k := range rank {
		next := make([]int, 0, len(at)*len(maps[k]))
		for _, p := range at {
			for _, j := range maps[k] {
				if p < 0 || j < 0 {
					next = append(next, -1)
				} else {
					next = append(next, p*a.Shape()[k]+j)
				}
			}
		}
		at = next
	}
	takeBlocks(out, a, inner, at)
}

// isWhole reports whether a map takes all of an axis of size d in order.
func isWhole(m []int, d int) bool {
	if len(m) != d {
		return false
	}
	for i, j := range m {
		if i != j {
			return false
		}
	}
	return true
}

// padFill sets output 0 to out, which maps fill from a, and fill elsewhere.
func padFill(c *Call, a, out *array.Array, maps [][]int, fill any) error {
	if err := fillWith(out, fill); err != nil {
		return c.Errorf("%w", err)
	}
	takeMapped(out, a, maps)
	c.Out[0] = out
	return nil
}

// padMap tells, for each position of an axis of the output, which one of the
// input it takes. What negative pads cut away is not repeated.
func (c *Call) padMap(mode string, d, before, after int) ([]int, error) {
	lo, hi := max(0, -before), d-max(0, -after)
	n := hi - lo
	out := make([]int, d+before+after)
	if n <= 0 && len(out) > 0 {
		return nil, c.Errorf("mode %q: the axis is empty, so there is nothing to repeat", mode)
	}
	for i := range out {
		j := i - before - lo
		switch mode {
		case "edge":
			j = min(max(j, 0), n-1)
		case "wrap":
			j = ((j % n) + n) % n
		case "reflect":
			period := max(2*(n-1), 1)
			j = ((j % period) + period) % period
			j = min(j, period-j)
			if n == 1 {
				j = 0
			}
		default:
			return nil, c.Errorf("mode: got %q, want \"constant\", \"reflect\", \"edge\" or \"wrap\"", mode)
		}
		out[i] = lo + j
	}
	return out, nil
}

func inferPad(c *Infer) error {
	in := c.Fact(0)
	out := TensorFact(in.DType, nil)
	if in.Dims == nil {
		c.Set(0, out)
		return nil
	}
	out.Dims = make([]sym.Expr, len(in.Dims))
	c.Set(0, out)
	var axes []int
	if c.HasIn(3) {
		var known bool
		if axes, known = c.IntsAt(3); !known {
			return nil
		}
	}
	pads := c.padFacts()
	if pads == nil {
		return nil
	}
	// axes and count are checked with zeros where a pad is not known
	ints := make([]int, len(pads))
	for i, p := range pads {
		n, _ := p.Int()
		ints[i] = int(n)
	}
	if _, _, err := completePads(&c.Site, ints, axes, len(in.Dims)); err != nil {
		return err
	}
	copy(out.Dims, in.Dims)
	for i := range len(pads) / 2 {
		k := i
		if axes != nil {
			k = (axes[i] + len(in.Dims)) % len(in.Dims)
		}
		out.Dims[k] = in.Dims[k].Add(pads[i]).Add(pads[len(pads)/2+i])
	}
	return nil
}

// padFacts returns what is known of the pads.
func (c *Infer) padFacts() []sym.Expr {
	switch {
	case c.Opset < 2:
		return sym.Ints(c.Ints("paddings"))
	case c.Opset < 11:
		return sym.Ints(c.Ints("pads"))
	}
	return c.ElemsAt(1)
}

// cropPads returns what CenterCropPad cuts (negative) and adds before and after
// an axis of size d to give it size n.
func cropPads(d, n int) (before, after int) {
	if d > n {
		before = -((d - n) / 2)
	} else {
		before = (n - d) / 2
	}
	return before, n - d - before
}

func centerCropPad(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	want, err := c.IntsAt(1)
	if err != nil {
		return err
	}
	axes, err := c.cropAxes(len(want), a.Rank())
	if err != nil {
		return err
	}
	before, after := make([]int, a.Rank()), make([]int, a.Rank())
	for i, axis := range axes {
		if want[i] < 0 || want[i] > mostPad {
			return c.Errorf("shape: got %v, want sizes ≥ 0 that memory can hold", want)
		}
		before[axis], after[axis] = cropPads(a.Shape()[axis], want[i])
	}
	c.Out[0], err = c.padded(a, before, after, nil)
	return err
}

// cropAxes returns the axes that n sizes are for.
func (s *Site) cropAxes(n, rank int) ([]int, error) {
	axes := s.Ints("axes")
	if axes == nil {
		for i := range rank {
			axes = append(axes, i)
		}
	}
	if len(axes) != n {
		return nil, s.Errorf("shape: got %d sizes, want %d, one for each axis", n, len(axes))
	}
	out := make([]int, len(axes))
	for i, a := range axes {
		var err error
		if out[i], err = s.normalAxis(a, rank); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func inferCenterCropPad(c *Infer) error {
	in := c.Fact(0)
	out := TensorFact(in.DType, nil)
	if in.Dims == nil {
		c.Set(0, out)
		return nil
	}
	out.Dims = make([]sym.Expr, len(in.Dims))
	want := c.ElemsAt(1)
	if want == nil {
		if axes := c.Ints("axes"); axes != nil {
			want = make([]sym.Expr, len(axes))
		}
	}
	if want != nil {
		axes, err := c.cropAxes(len(want), len(in.Dims))
		if err != nil {
			return err
		}
		copy(out.Dims, in.Dims)
		for i, axis := range axes {
			out.Dims[axis] = want[i]
		}
	}
	c.Set(0, out)
	return nil
}

var padOps = []Op{
	{Name: "Pad", Since: 1, Checks: []Check{oneOf("mode", "constant", "reflect", "edge", "wrap")}, Infer: inferPad, Eval: pad},
	{Name: "CenterCropPad", Since: 18, Infer: inferCenterCropPad, Eval: centerCropPad},
}
