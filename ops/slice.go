package ops

import (
	"math"
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// sliceArgs returns starts, ends, axes and steps: attributes before opset 10,
// inputs since.
func sliceArgs(c *Call, rank int) (starts, ends, axes, steps []int, err error) {
	if c.Opset < 10 {
		starts, ends, axes = c.Ints("starts"), c.Ints("ends"), c.Ints("axes")
	} else {
		for i, to := range []*[]int{&starts, &ends, &axes, &steps} {
			if i >= 2 && !c.Has(i+1) {
				continue
			}
			if *to, err = c.IntsAt(i + 1); err != nil {
				return nil, nil, nil, nil, err
			}
		}
	}
	return completeSlice(&c.Site, starts, ends, axes, steps, rank)
}

func completeSlice(s *Site, starts, ends, axes, steps []int, rank int) (_, _, _, _ []int, err error) {
	if axes == nil {
		for i := range starts {
			axes = append(axes, i)
		}
	}
	if steps == nil {
		steps = ones(len(starts))
	}
	if len(ends) != len(starts) || len(axes) != len(starts) || len(steps) != len(starts) {
		return nil, nil, nil, nil, s.Errorf("got %d starts, %d ends, %d axes and %d steps, want as many of each", len(starts), len(ends), len(axes), len(steps))
	}
	out := make([]int, len(axes))
	for i, a := range axes {
		if out[i], err = s.normalAxis(a, rank); err != nil {
			return nil, nil, nil, nil, err
		}
		if steps[i] == 0 {
			return nil, nil, nil, nil, s.Errorf("steps: got 0, want another number")
		}
	}
	return starts, ends, out, steps, nil
}

func slice(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	starts, ends, axes, steps, err := sliceArgs(c, a.Rank())
	if err != nil {
		return err
	}
	key := slices.Repeat([]array.Index{{Kind: array.SliceIndex}}, a.Rank())
	for i, axis := range axes {
		key[axis] = sliceIndex(starts[i], ends[i], steps[i], a.Shape()[axis])
	}
	v, err := a.View(key)
	if err != nil {
		return c.Errorf("%w", err)
	}
	c.Out[0] = v.Contiguous()
	return nil
}

// sliceIndex turns ONNX's clamped bounds into an index: with a negative step an
// end below -d stands before the first element.
func sliceIndex(start, end, step, d int) array.Index {
	k := array.Index{Kind: array.SliceIndex, Start: &start, Stop: &end, Step: step}
	if step < 0 && end < -d {
		k.Stop = nil
	}
	return k
}

// sliceLen returns the number of elements that a slice of a known size has.
func sliceLen(start, end, step, d int) int {
	k := sliceIndex(start, end, step, d)
	lo, hi := 0, d
	if step < 0 {
		lo, hi = -1, d-1
	}
	clamp := func(p *int, def int) int {
		if p == nil {
			return def
		}
		v := *p
		if v < 0 {
			v += d
		}
		return min(max(v, lo), hi)
	}
	s, e := clamp(k.Start, lo), clamp(k.Stop, -1)
	switch {
	case step > 0 && e > s:
		return (e-s-1)/step + 1
	case step < 0 && e < s:
		return (s-e-1)/-step + 1
	}
	return 0
}

func inferSlice(c *Infer) error {
	in := c.Fact(0)
	out := TensorFact(in.DType, nil)
	if in.Dims == nil {
		c.Set(0, out)
		return nil
	}
	out.Dims = make([]sym.Expr, len(in.Dims))
	var starts, ends []sym.Expr
	var axes, steps []int
	known := true
	if c.Opset < 10 {
		starts, ends, axes = sym.Ints(c.Ints("starts")), sym.Ints(c.Ints("ends")), c.Ints("axes")
	} else {
		starts, ends = c.ElemsAt(1), c.ElemsAt(2)
		if c.HasIn(3) {
			axes, known = c.IntsAt(3)
		}
		if c.HasIn(4) && known {
			steps, known = c.IntsAt(4)
		}
	}
	if !known {
		c.Set(0, out)
		return nil
	}
	n := max(len(starts), len(ends), len(axes))
	if starts == nil {
		starts = make([]sym.Expr, n)
	}
	if ends == nil {
		ends = make([]sym.Expr, n)
	}
	_, _, norm, steps, err := completeSlice(&c.Site, make([]int, len(starts)), make([]int, len(ends)), axes, steps, len(in.Dims))
	if err != nil {
		return err
	}
	copy(out.Dims, in.Dims)
	for i, axis := range norm {
		out.Dims[axis] = slicedDim(in.Dims[axis], starts[i], ends[i], steps[i])
	}
	out.Elems = slicedElems(c, starts, ends, steps)
	c.Set(0, out)
	return nil
}

// slicedDim returns the size of a sliced axis, as far as it follows.
func slicedDim(d, start, end sym.Expr, step int) sym.Expr {
	n, isNum := d.Int()
	s, sNum := start.Int()
	e, eNum := end.Int()
	switch {
	case isNum && sNum && eNum:
		return sym.Int(int64(sliceLen(clampInt(s), clampInt(e), step, int(n))))
	case !d.Known() || step != 1:
		return sym.Expr{}
	case sNum && eNum && s == 0 && e >= math.MaxInt32:
		return d
	case sNum && eNum && s < 0 && e >= math.MaxInt32:
		return sym.Expr{} // the last -s, or fewer
	case sNum && eNum && s >= 0 && e < 0:
		return d.AddInt(e - s).Max(sym.Int(0))
	case sNum && eNum && s >= 0 && e >= math.MaxInt32:
		return d.AddInt(-s).Max(sym.Int(0))
	case sNum && s == 0 && end.Equal(d):
		return d
	case sNum && s >= 0 && end.Known() && !eNum && d.Sub(end).NonNegative() && end.NonNegative():
		return end.AddInt(-s).Max(sym.Int(0))
	}
	return sym.Expr{}
}

func clampInt(v int64) int {
	return int(min(max(v, math.MinInt32), math.MaxInt32))
}

func slicedElems(c *Infer, starts, ends []sym.Expr, steps []int) []sym.Expr {
	es := c.ElemsAt(0)
	if es == nil || len(c.Fact(0).Dims) != 1 || len(starts) != 1 {
		return nil
	}
	s, ok := starts[0].Int()
	e, ok2 := ends[0].Int()
	if !ok || !ok2 {
		return nil
	}
	k := sliceIndex(clampInt(s), clampInt(e), steps[0], len(es))
	at := make([]int64, len(es))
	for i := range at {
		at[i] = int64(i)
	}
	v, err := array.FromSlice(at).View([]array.Index{k})
	if err != nil {
		return nil
	}
	picked, err := v.Int64s()
	if err != nil {
		return nil
	}
	out := make([]sym.Expr, len(picked))
	for i, p := range picked {
		out[i] = es[p]
	}
	return out
}

// padArgs returns the pads before and after every axis.
func padArgs(c *Call, rank int) (before, after []int, err error) {
	var pads, axes []int
	if c.Opset < 11 {
		pads = c.Ints("pads")
		if pads == nil {
			pads = c.Ints("paddings")
		}
	} else {
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
	shape := make([]int, a.Rank())
	for i, d := range a.Shape() {
		if shape[i] = d + before[i] + after[i]; shape[i] < 0 {
			return c.Errorf("pads: got %d and %d for axis %d of size %d, which cuts more than there is", before[i], after[i], i, d)
		}
	}
	out, err := c.Make(a.DType(), shape)
	if err != nil {
		return err
	}
	fill, err := padValue(c, a.DType())
	if err != nil {
		return err
	}
	mode := c.Str("mode")
	maps := make([][]int, len(shape))
	for k, d := range a.Shape() {
		if maps[k], err = padMap(c, mode, d, before[k], shape[k]); err != nil {
			return err
		}
	}
	return padFill(c, a, out, maps, fill)
}

// padValue returns what constant mode fills with.
func padValue(c *Call, dt array.DType) (any, error) {
	if v := c.Array(2); v != nil && v.Size() > 0 && c.Opset >= 11 {
		return v.At(0), nil
	}
	if dt == array.String {
		return "", nil
	}
	if c.Opset < 11 {
		return float64(c.Float("value")), nil
	}
	return int64(0), nil
}

// padMap tells, for each position of an axis of the output, which one of the
// input it takes; -1 is the constant.
func padMap(c *Call, mode string, d, before, n int) ([]int, error) {
	out := make([]int, n)
	for i := range out {
		j := i - before
		switch {
		case j >= 0 && j < d:
		case mode == "" || mode == "constant":
			j = -1
		case d == 0:
			return nil, c.Errorf("mode %q: the axis is empty, so there is nothing to repeat", mode)
		case mode == "edge":
			j = min(max(j, 0), d-1)
		case mode == "wrap":
			j = ((j % d) + d) % d
		case mode == "reflect" && d == 1:
			j = 0
		case mode == "reflect":
			period := 2 * (d - 1)
			j = ((j % period) + period) % period
			j = min(j, period-j)
		default:
			return nil, c.Errorf("mode: got %q, want \"constant\", \"reflect\", \"edge\" or \"wrap\"", mode)
		}
		out[i] = j
	}
	return out, nil
}

func padFill(c *Call, a, out *array.Array, maps [][]int, fill any) error {
	if a.DType() == array.Float32 {
		f, _ := fill.(float64)
		padRows(array.Data[float32](a), array.MutableData[float32](out), a.Shape(), out.Shape(), maps, float32(f))
		c.Out[0] = out
		return nil
	}
	shape := out.Shape()
	for i := range out.Size() {
		src, rest, ok := 0, i, true
		step := 1
		for k := len(shape) - 1; k >= 0 && ok; k-- {
			j := maps[k][rest%shape[k]]
			rest /= shape[k]
			ok = j >= 0
			src += j * step
			step *= a.Shape()[k]
		}
		v := fill
		if ok {
			v = a.At(src)
		}
		if err := out.SetAt(i, v); err != nil {
			return c.Errorf("%w", err)
		}
	}
	c.Out[0] = out
	return nil
}

func padRows(in, out []float32, inShape, shape []int, maps [][]int, fill float32) {
	rank := len(shape)
	if rank == 0 {
		copy(out, in)
		return
	}
	n := shape[rank-1]
	inner := maps[rank-1]
	if n == 0 {
		return
	}
	for r := range len(out) / n {
		src, rest, ok, step := 0, r, true, inShape[rank-1]
		for k := rank - 2; k >= 0 && ok; k-- {
			j := maps[k][rest%shape[k]]
			rest /= shape[k]
			ok = j >= 0
			src += j * step
			step *= inShape[k]
		}
		row := out[r*n : (r+1)*n]
		for i, j := range inner {
			if row[i] = fill; ok && j >= 0 {
				row[i] = in[src+j]
			}
		}
	}
}

func inferPad(c *Infer) error {
	in := c.Fact(0)
	out := TensorFact(in.DType, nil)
	if in.Dims == nil {
		c.Set(0, out)
		return nil
	}
	out.Dims = make([]sym.Expr, len(in.Dims))
	var pads, axes []int
	known := true
	if c.Opset < 11 {
		if pads = c.Ints("pads"); pads == nil {
			pads = c.Ints("paddings")
		}
	} else {
		pads, known = c.IntsAt(1)
		if c.HasIn(3) && known {
			axes, known = c.IntsAt(3)
		}
	}
	if known {
		before, after, err := completePads(&c.Site, pads, axes, len(in.Dims))
		if err != nil {
			return err
		}
		for i, d := range in.Dims {
			out.Dims[i] = d.AddInt(int64(before[i] + after[i]))
		}
	}
	c.Set(0, out)
	return nil
}

var sliceOps = []Op{
	{Name: "Slice", Since: 1, Infer: inferSlice, Eval: slice},
	{Name: "Pad", Since: 1, Infer: inferPad, Eval: pad},
}
