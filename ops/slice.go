package ops

import (
	"math"
	"slices"

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
		if slices.Contains(out[:i], out[i]) {
			return nil, nil, nil, nil, s.Errorf("axes: got %v, want each axis once", axes)
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
	shape := slices.Clone(a.Shape())
	from := strided{steps: rowMajor(shape)}
	base := slices.Clone(from.steps)
	for i, axis := range axes {
		first, n := sliceSpan(starts[i], ends[i], steps[i], a.Shape()[axis])
		shape[axis] = n
		from.offset += first * base[axis]
		from.steps[axis] = steps[i] * base[axis]
	}
	out, err := c.Make(a.DType(), shape)
	if err != nil {
		return err
	}
	copyStrided(out, a, shape, strided{steps: rowMajor(shape)}, from)
	c.Out[0] = out
	return nil
}

// sliceSpan returns the first position of a slice of an axis of size d, and the
// number of its elements. Bounds are clamped: to the axis, or with a negative
// step to its elements and the place before them.
func sliceSpan(start, end, step, d int) (first, n int) {
	if start < 0 {
		start += d
	}
	if end < 0 {
		end += d
	}
	if step > 0 {
		start, end = min(max(start, 0), d), min(max(end, 0), d)
		if end <= start {
			return 0, 0
		}
		return start, (end-start-1)/step + 1
	}
	start, end = min(max(start, 0), d-1), min(max(end, -1), d-1)
	if end >= start {
		return 0, 0
	}
	return start, (start-end-1)/-step + 1
}

func inferSlice(c *Infer) error {
	in := c.Fact(0)
	out := TensorFact(in.DType, nil)
	if in.Dims == nil {
		c.Set(0, out)
		return nil
	}
	out.Dims = make([]sym.Expr, len(in.Dims))
	c.Set(0, out)
	starts, ends, axes, steps := c.sliceFacts()
	if steps == nil {
		return nil
	}
	_, _, norm, _, err := completeSlice(&c.Site, make([]int, len(starts)), make([]int, len(ends)), axes, steps, len(in.Dims))
	if err != nil {
		return err
	}
	copy(out.Dims, in.Dims)
	for i, axis := range norm {
		out.Dims[axis] = slicedDim(in.Dims[axis], starts[i], ends[i], steps[i])
	}
	c.follow(slice)
	return nil
}

// sliceFacts returns what is known of the arguments: steps is nil when it is not
// even known which axes are cut; a start or end may be unknown.
func (c *Infer) sliceFacts() (starts, ends []sym.Expr, axes, steps []int) {
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
	n := max(len(starts), len(ends), len(axes), len(steps))
	if !known || n == 0 && (starts == nil || ends == nil) {
		return nil, nil, nil, nil
	}
	if starts == nil {
		starts = make([]sym.Expr, n)
	}
	if ends == nil {
		ends = make([]sym.Expr, n)
	}
	if steps == nil {
		steps = ones(n)
	}
	return starts, ends, axes, steps
}

// slicedDim returns the size of a sliced axis, as far as it follows.
func slicedDim(d, start, end sym.Expr, step int) sym.Expr {
	n, isNum := d.Int()
	s, sNum := start.Int()
	e, eNum := end.Int()
	open := eNum && e >= math.MaxInt32 // up to the end, whatever the size
	switch {
	case isNum && sNum && eNum && step != 0:
		_, count := sliceSpan(int(s), int(e), step, int(n))
		return sym.Int(int64(count))
	case step < 0 && step > math.MinInt32 && sNum && s == -1 && eNum && e <= -math.MaxInt32:
		return d.CeilDiv(sym.Int(int64(-step)))
	case step < 1:
		return sym.Expr{}
	}
	var span sym.Expr
	switch {
	case sNum && s < 0 && open: // the last -s, or fewer
		span = minDim(d, sym.Int(-s))
	case !start.NonNegative():
	case open && sNum && s == 0:
		span = d
	case open:
		span = d.Sub(start).Max(sym.Int(0))
	case eNum && e < 0:
		span = d.AddInt(e).Sub(start).Max(sym.Int(0))
	case end.NonNegative():
		span = minDim(d, end).Sub(start).Max(sym.Int(0))
	}
	return span.CeilDiv(sym.Int(int64(step)))
}

// minDim is the smaller of two sizes, one of them where it is certain which.
func minDim(a, b sym.Expr) sym.Expr {
	switch {
	case a.Sub(b).NonNegative():
		return b
	case b.Sub(a).NonNegative():
		return a
	}
	return a.Min(b)
}

var sliceOps = []Op{
	{Name: "Slice", Since: 1, Infer: inferSlice, Eval: slice},
}
