package ops

import (
	"math"
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// reduction is a function of the elements along some axes.
type reduction struct {
	f     func([]float64) float64
	i     func([]int64) int64 // nil: integers are reduced as floats
	empty float64             // of no elements
	// attrUntil is the first opset in which the axes are an input.
	attrUntil int
}

// reduceAxes returns the axes: of an input, or of the attribute.
func (r *reduction) axes(c *Call, rank int) (axes []int, skip bool, err error) {
	if c.Opset >= r.attrUntil {
		if c.Has(1) {
			axes, err = c.IntsAt(1)
		}
	} else {
		axes = c.Ints("axes")
	}
	if err != nil {
		return nil, false, err
	}
	if len(axes) == 0 {
		if c.Int("noop_with_empty_axes") != 0 {
			return nil, true, nil
		}
		for i := range rank {
			axes = append(axes, i)
		}
	}
	axes, err = c.normalAxes(axes, rank)
	return axes, false, err
}

func (r *reduction) eval(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	axes, skip, err := r.axes(c, a.Rank())
	if err != nil {
		return err
	}
	if skip && r.i != nil {
		c.Out[0] = a
		return nil
	}
	keep := c.IntOr("keepdims", 1) != 0
	shape := []int{}
	perm := []int{}
	n := 1
	for i, d := range a.Shape() {
		if slices.Contains(axes, i) {
			n *= d
			if keep {
				shape = append(shape, 1)
			}
		} else {
			perm = append(perm, i)
			shape = append(shape, d)
		}
	}
	moved := a
	if a.Rank() > 0 {
		if moved, err = a.Transpose(append(perm, axes...)...); err != nil {
			return err
		}
	}
	out, err := r.rows(c, moved, shape, n)
	if err != nil {
		return err
	}
	c.Out[0], err = out.Cast(a.DType())
	return err
}

func (r *reduction) rows(c *Call, a *array.Array, shape []int, n int) (*array.Array, error) {
	count := 1
	for _, d := range shape {
		count *= d
	}
	if a.DType().IsInt() && r.i != nil && n > 0 {
		x, err := a.Int64s()
		if err != nil {
			return nil, err
		}
		out := make([]int64, count)
		for k := range out {
			out[k] = r.i(x[k*n : (k+1)*n])
		}
		return array.FromSlice(out, shape...), nil
	}
	if a.DType() == array.Bool {
		b, err := a.Cast(array.Uint8)
		if err != nil {
			return nil, err
		}
		a = b
	}
	x, err := a.Float64s()
	if err != nil {
		return nil, err
	}
	out := make([]float64, count)
	for k := range out {
		if out[k] = r.empty; n > 0 {
			out[k] = r.f(x[k*n : (k+1)*n])
		}
	}
	return array.FromSlice(out, shape...), nil
}

func (r *reduction) infer(c *Infer) error {
	in := c.Fact(0)
	out := TensorFact(in.DType, nil)
	var axes []int
	known := true
	if c.Opset >= r.attrUntil {
		if c.HasIn(1) {
			axes, known = c.IntsAt(1)
		}
	} else {
		axes = c.Ints("axes")
	}
	keep := c.IntOr("keepdims", 1) != 0
	if in.Dims != nil && !known { // the rank may follow all the same
		if n, ok := c.lengthAt(1); ok && !keep && n > 0 && n <= len(in.Dims) {
			out.Dims = make([]sym.Expr, len(in.Dims)-n)
		} else if keep {
			out.Dims = make([]sym.Expr, len(in.Dims))
		}
	}
	if in.Dims == nil || !known {
		c.Set(0, out)
		return nil
	}
	if len(axes) == 0 {
		if c.Int("noop_with_empty_axes") != 0 {
			c.Set(0, TensorFact(in.DType, in.Dims))
			return nil
		}
		for i := range in.Dims {
			axes = append(axes, i)
		}
	}
	norm, err := c.normalAxes(axes, len(in.Dims))
	if err != nil {
		return err
	}
	out.Dims = []sym.Expr{}
	for i, d := range in.Dims {
		if !slices.Contains(norm, i) {
			out.Dims = append(out.Dims, d)
		} else if keep {
			out.Dims = append(out.Dims, sym.Int(1))
		}
	}
	c.Set(0, out)
	return nil
}

func (r *reduction) op(name string) Op {
	return Op{Name: name, Since: 1, Infer: r.infer, Eval: r.eval}
}

func sumInts(x []int64) int64 {
	s := int64(0)
	for _, v := range x {
		s += v
	}
	return s
}

// argOf makes ArgMax and ArgMin.
func argOf(better func(a, b float64) bool) func(*Call) error {
	return func(c *Call) error {
		a, err := c.Need(0)
		if err != nil {
			return err
		}
		axis, err := c.normalAxis(c.Int("axis"), a.Rank())
		if err != nil {
			return err
		}
		outer, n, inner := splitAt(a.Shape(), axis)
		if n == 0 {
			return c.Errorf("axis %d is empty", axis)
		}
		x, err := a.Float64s()
		if err != nil {
			return err
		}
		shape := slices.Clone(a.Shape())
		if c.IntOr("keepdims", 1) != 0 {
			shape[axis] = 1
		} else {
			shape = slices.Delete(shape, axis, axis+1)
		}
		last := c.Int("select_last_index") != 0
		out := make([]int64, outer*inner)
		for i := range out {
			base := i/inner*n*inner + i%inner
			best := 0
			for k := 1; k < n; k++ {
				v, b := x[base+k*inner], x[base+best*inner]
				if better(v, b) || last && v == b {
					best = k
				}
			}
			out[i] = int64(best)
		}
		c.Out[0] = array.FromSlice(out, shape...)
		return nil
	}
}

func inferArg(c *Infer) error {
	in := c.Fact(0)
	out := TensorFact(array.Int64, nil)
	if in.Dims != nil {
		axis, err := c.normalAxis(c.Int("axis"), len(in.Dims))
		if err != nil {
			return err
		}
		out.Dims = slices.Clone(in.Dims)
		if c.IntOr("keepdims", 1) != 0 {
			out.Dims[axis] = sym.Int(1)
		} else {
			out.Dims = slices.Delete(out.Dims, axis, axis+1)
		}
	}
	c.Set(0, out)
	return nil
}

func sumOf(f func(float64) float64) func([]float64) float64 {
	return func(x []float64) float64 {
		s := 0.0
		for _, v := range x {
			s += f(v)
		}
		return s
	}
}

func logSumExp(x []float64) float64 {
	m := largest(x)
	if math.IsInf(m, 0) {
		return m
	}
	return m + math.Log(sumOf(func(v float64) float64 { return math.Exp(v - m) })(x))
}

func prod(x []float64) float64 {
	p := 1.0
	for _, v := range x {
		p *= v
	}
	return p
}

func square(v float64) float64 { return v * v }

const axesInput18 = 18

var reduceOps = []Op{
	(&reduction{f: sum, i: sumInts, attrUntil: 13}).op("ReduceSum"),
	(&reduction{f: mean, attrUntil: axesInput18, empty: math.NaN()}).op("ReduceMean"),
	(&reduction{f: largest, i: slices.Max[[]int64], attrUntil: axesInput18, empty: math.Inf(-1)}).op("ReduceMax"),
	(&reduction{f: smallest, i: slices.Min[[]int64], attrUntil: axesInput18, empty: math.Inf(1)}).op("ReduceMin"),
	(&reduction{f: prod, attrUntil: axesInput18, empty: 1}).op("ReduceProd"),
	(&reduction{f: sumOf(math.Abs), attrUntil: axesInput18}).op("ReduceL1"),
	(&reduction{f: func(x []float64) float64 { return math.Sqrt(sumOf(square)(x)) }, attrUntil: axesInput18}).op("ReduceL2"),
	(&reduction{f: sumOf(square), attrUntil: axesInput18}).op("ReduceSumSquare"),
	(&reduction{f: func(x []float64) float64 { return math.Log(sum(x)) }, attrUntil: axesInput18, empty: math.Inf(-1)}).op("ReduceLogSum"),
	(&reduction{f: logSumExp, attrUntil: axesInput18, empty: math.Inf(-1)}).op("ReduceLogSumExp"),
	{Name: "ArgMax", Since: 1, Infer: inferArg, Eval: argOf(func(a, b float64) bool { return a > b })},
	{Name: "ArgMin", Since: 1, Infer: inferArg, Eval: argOf(func(a, b float64) bool { return a < b })},
}
