package ops

import (
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// shapeRange returns the axes that Shape gives: start and end since opset 15.
func (s *Site) shapeRange(rank int) (lo, hi int) {
	clamp := func(v int) int {
		if v < 0 {
			v += rank
		}
		return min(max(v, 0), rank)
	}
	lo, hi = clamp(s.Int("start")), rank
	if s.HasAttr("end") {
		hi = clamp(s.Int("end"))
	}
	return lo, max(lo, hi)
}

func shapeOf(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	lo, hi := c.shapeRange(a.Rank())
	out := make([]int64, 0, hi-lo)
	for _, d := range a.Shape()[lo:hi] {
		out = append(out, int64(d))
	}
	c.Out[0] = array.FromSlice(out, len(out))
	return nil
}

func inferShape(c *Infer) error {
	dims := c.Fact(0).Dims
	if dims == nil {
		c.Set(0, TensorFact(array.Int64, []sym.Expr{{}}))
		return nil
	}
	lo, hi := c.shapeRange(len(dims))
	out := TensorFact(array.Int64, []sym.Expr{sym.Int(int64(hi - lo))})
	out.Elems = slices.Clone(dims[lo:hi])
	if out.Elems == nil {
		out.Elems = []sym.Expr{}
	}
	c.Set(0, out)
	return nil
}

func size(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	c.Out[0] = array.Scalar(int64(a.Size()))
	return nil
}

func inferSize(c *Infer) error {
	out := TensorFact(array.Int64, []sym.Expr{})
	if dims := c.Fact(0).Dims; dims != nil {
		if n := sym.Product(dims); n.Known() {
			out.Elems = []sym.Expr{n}
		}
	}
	c.Set(0, out)
	return nil
}

// reshapeTarget completes a target: 0 copies a size unless allowzero is set,
// -1 takes what is left.
func (s *Site) reshapeTarget(in, target []int) ([]int, error) {
	shape := slices.Clone(target)
	if shape == nil {
		shape = []int{}
	}
	allowZero := s.Int("allowzero") != 0
	open, known := -1, 1
	for i, d := range shape {
		switch {
		case d == 0 && !allowZero && i >= len(in):
			return nil, s.Errorf("shape: got %v, whose 0 at %d copies a size that an input of rank %d does not have", target, i, len(in))
		case d == 0 && !allowZero:
			shape[i] = in[i]
		case d == -1 && open < 0:
			open = i
			continue
		case d < 0:
			return nil, s.Errorf("shape: got %v, want sizes ≥ 0 and at most one -1", target)
		}
		n, ok := mulSizes(known, shape[i])
		if !ok {
			return nil, s.Errorf("shape: got %v, whose size overflows 64 bits", target)
		}
		known = n
	}
	size := sizeOf(in)
	if open >= 0 && known > 0 && size%known == 0 {
		shape[open] = size / known
		known = size
	}
	if known != size || open >= 0 && shape[open] < 0 {
		return nil, s.Errorf("shape: got %v, which does not fit the %d elements of %v", target, size, in)
	}
	return shape, nil
}

func reshape(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	target := c.Ints("shape")
	if c.Opset >= 5 {
		if target, err = c.IntsAt(1); err != nil {
			return err
		}
	}
	shape, err := c.reshapeTarget(a.Shape(), target)
	if err != nil {
		return err
	}
	c.Out[0], err = a.Reshape(shape...)
	return err
}

func inferReshape(c *Infer) error {
	in := c.Fact(0)
	out := TensorFact(in.DType, nil)
	var target []sym.Expr
	if c.Opset >= 5 {
		target = c.ElemsAt(1)
		if dims := c.Fact(1).Dims; target == nil && len(dims) == 1 {
			if n, ok := dims[0].Int(); ok && n <= 64 {
				out.Dims = make([]sym.Expr, n)
			}
		}
	} else if ints := c.Ints("shape"); ints != nil {
		target = sym.Ints(ints)
	}
	if target != nil {
		dims, sure := sym.AllInts(in.Dims)
		if ints, ok := sym.AllInts(target); ok && sure && in.Dims != nil {
			shape, err := c.reshapeTarget(dims, ints)
			if err != nil {
				return err
			}
			out.Dims = sym.Ints(shape)
		} else {
			out.Dims = reshapeDims(in.Dims, target, c.Int("allowzero") != 0)
		}
	}
	if _, ok := sym.AllInts(out.Dims); ok && out.Dims != nil {
		out.Elems = c.ElemsAt(0)
	}
	c.Set(0, out)
	return nil
}

func reshapeDims(in, target []sym.Expr, allowZero bool) []sym.Expr {
	out := slices.Clone(target)
	open := -1
	rest := sym.Int(1)
	for i, e := range out {
		n, ok := e.Int()
		switch {
		case ok && n == 0 && !allowZero:
			out[i] = sym.Expr{}
			if i < len(in) {
				out[i] = in[i]
			}
		case ok && n == -1:
			open = i
			continue
		}
		rest = rest.Mul(out[i])
	}
	if open >= 0 {
		out[open] = sym.Expr{}
		if in != nil {
			out[open] = sym.Product(in).FloorDiv(rest)
		}
		// what divides without rest by cancelling is sure; another quotient is not
		if !out[open].Mul(rest).Equal(sym.Product(in)) && in != nil {
			if n, ok := out[open].Int(); !ok || n < 0 {
				out[open] = quotient(in, target, open)
			}
		}
	}
	return out
}

// quotient divides after sizes that stand on both sides are struck out: those
// that 0 copies by their place, others where they are equal.
func quotient(in, target []sym.Expr, open int) sym.Expr {
	left := slices.Clone(in)
	rest := sym.Int(1)
	for i, e := range target {
		if n, ok := e.Int(); ok && n == 0 && i < len(in) && i != open {
			left[i] = sym.Int(1)
		}
	}
	for i, e := range target {
		if n, ok := e.Int(); i == open || ok && n == 0 && i < len(in) {
			continue
		}
		if k := slices.IndexFunc(left, e.Equal); k >= 0 {
			left = slices.Delete(left, k, k+1)
		} else {
			rest = rest.Mul(e)
		}
	}
	p := sym.Product(left)
	q := p.FloorDiv(rest)
	if q.Mul(rest).Equal(p) {
		return q
	}
	return sym.Expr{}
}

func flatten(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	axis := c.IntOr("axis", 1)
	if axis < 0 {
		axis += a.Rank()
	}
	if axis < 0 || axis > a.Rank() {
		return c.Errorf("axis: got %d, want %d to %d", c.IntOr("axis", 1), -a.Rank(), a.Rank())
	}
	rows, cols := 1, 1
	for i, d := range a.Shape() {
		if i < axis {
			rows *= d
		} else {
			cols *= d
		}
	}
	c.Out[0], err = a.Reshape(rows, cols)
	return err
}

func inferFlatten(c *Infer) error {
	in := c.Fact(0)
	out := TensorFact(in.DType, make([]sym.Expr, 2))
	if in.Dims != nil {
		axis := c.IntOr("axis", 1)
		if axis < 0 {
			axis += len(in.Dims)
		}
		if axis >= 0 && axis <= len(in.Dims) {
			out.Dims = []sym.Expr{sym.Product(in.Dims[:axis]), sym.Product(in.Dims[axis:])}
		}
	}
	c.Set(0, out)
	return nil
}

// axesInput returns the axes of Squeeze and Unsqueeze: an input since opset 13.
func axesInput(c *Call) ([]int, error) {
	if c.Has(1) {
		return c.IntsAt(1)
	}
	return c.Ints("axes"), nil
}

func (s *Site) normalAxes(axes []int, rank int) ([]int, error) {
	out := make([]int, len(axes))
	for i, a := range axes {
		n, err := s.normalAxis(a, rank)
		if err != nil {
			return nil, err
		}
		out[i] = n
	}
	slices.Sort(out)
	for i := 1; i < len(out); i++ {
		if out[i] == out[i-1] {
			return nil, s.Errorf("axes: got %v, want each axis once", axes)
		}
	}
	return out, nil
}

func squeeze(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	axes, err := axesInput(c)
	if err != nil {
		return err
	}
	given := axes != nil
	if axes, err = c.normalAxes(axes, a.Rank()); err != nil {
		return err
	}
	shape := []int{}
	for i, d := range a.Shape() {
		switch {
		case !given && d == 1:
		case given && slices.Contains(axes, i):
			if d != 1 {
				return c.Errorf("axes: axis %d has size %d, want 1", i, d)
			}
		default:
			shape = append(shape, d)
		}
	}
	c.Out[0], err = a.Reshape(shape...)
	return err
}

// axesOf returns the axes that an inference knows; false when they are an input
// of unknown values.
func axesOf(c *Infer, input int) (axes []int, given, known bool) {
	if c.HasIn(input) {
		axes, known = c.IntsAt(input)
		return axes, true, known
	}
	axes = c.Ints("axes")
	return axes, axes != nil, true
}

func inferSqueeze(c *Infer) error {
	in := c.Fact(0)
	out := TensorFact(in.DType, nil)
	axes, given, known := axesOf(c, 1)
	if n, ok := c.lengthAt(1); ok && !known && n <= len(in.Dims) {
		out.Dims = make([]sym.Expr, len(in.Dims)-n)
	}
	if in.Dims != nil && known {
		norm, err := c.normalAxes(axes, len(in.Dims))
		if err != nil {
			return err
		}
		out.Dims = []sym.Expr{}
		for i, d := range in.Dims {
			n, isInt := d.Int()
			switch {
			case given && slices.Contains(norm, i) && isInt && n != 1:
				return c.Errorf("axes: axis %d has size %d, want 1", i, n)
			case given && slices.Contains(norm, i):
			case !given && !isInt:
				out.Dims = nil // it may be 1
				c.Set(0, out)
				return nil
			case !given && n == 1:
			default:
				out.Dims = append(out.Dims, d)
			}
		}
		out.Elems = c.ElemsAt(0)
	}
	c.Set(0, out)
	return nil
}

func unsqueeze(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	axes, err := axesInput(c)
	if err != nil {
		return err
	}
	if axes, err = c.normalAxes(axes, a.Rank()+len(axes)); err != nil {
		return err
	}
	shape := slices.Clone(a.Shape())
	for _, i := range axes {
		shape = slices.Insert(shape, i, 1)
	}
	c.Out[0], err = a.Reshape(shape...)
	return err
}

func inferUnsqueeze(c *Infer) error {
	in := c.Fact(0)
	out := TensorFact(in.DType, nil)
	axes, _, known := axesOf(c, 1)
	if n, ok := c.lengthAt(1); ok && !known && in.Dims != nil {
		out.Dims = make([]sym.Expr, len(in.Dims)+n)
	}
	if in.Dims != nil && known {
		norm, err := c.normalAxes(axes, len(in.Dims)+len(axes))
		if err != nil {
			return err
		}
		out.Dims = slices.Clone(in.Dims)
		for _, i := range norm {
			out.Dims = slices.Insert(out.Dims, i, sym.Int(1))
		}
		out.Elems = c.ElemsAt(0)
	}
	c.Set(0, out)
	return nil
}

var shapeOps = []Op{
	{Name: "Shape", Since: 1, Infer: inferShape, Eval: shapeOf},
	{Name: "Size", Since: 1, Infer: inferSize, Eval: size},
	{Name: "Reshape", Since: 1, Infer: inferReshape, Eval: reshape},
	{Name: "Flatten", Since: 1, Checks: []Check{axisUpTo("axis", 1, 1)}, Infer: inferFlatten, Eval: flatten},
	{Name: "Squeeze", Since: 1, Infer: inferSqueeze, Eval: squeeze},
	{Name: "Unsqueeze", Since: 1, Infer: inferUnsqueeze, Eval: unsqueeze},
}
