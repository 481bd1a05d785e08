package ops

import (
	"math"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// constantValue returns the value that the attributes of a Constant node give.
func (s *Site) constantValue() (*array.Array, error) {
	for _, name := range []string{"value", "value_float", "value_floats", "value_int", "value_ints", "value_string", "value_strings"} {
		a := s.Attr(name)
		if a == nil {
			continue
		}
		switch v := a.Value.(type) {
		case *ir.Literal:
			return v.Array, v.Array.Load()
		case float32:
			return array.Scalar(v), nil
		case int64:
			return array.Scalar(v), nil
		case string:
			return array.ScalarString(v), nil
		case []float32:
			return array.FromSlice(v), nil
		case []int64:
			return array.FromSlice(v), nil
		case []string:
			return array.FromStrings(v), nil
		}
	}
	return nil, s.Errorf("got no value, want value, value_int, value_float, value_string or a list of these")
}

func constant(c *Call) error {
	a, err := c.constantValue()
	c.Out[0] = a
	return err
}

func inferConstant(c *Infer) error {
	if a, err := c.constantValue(); err == nil {
		out := TensorFact(a.DType(), sym.Ints(a.Shape()))
		out.Const = a
		c.Set(0, out)
	}
	return nil
}

func constantOfShape(c *Call) error {
	shape, err := c.IntsAt(0)
	if err != nil {
		return err
	}
	v := c.Tensor("value")
	if v == nil {
		v = array.FromSlice([]float32{0})
	}
	if err := v.Load(); err != nil {
		return err
	}
	if v.Size() != 1 {
		return c.Errorf("attribute \"value\": got %d elements, want 1", v.Size())
	}
	if err := c.CheckSize(v.DType(), shape); err != nil {
		return err
	}
	one, err := v.Reshape([]int{}...)
	if err != nil {
		return err
	}
	b, err := one.BroadcastTo(shape)
	if err != nil {
		return c.Errorf("%w", err)
	}
	c.Out[0] = b.Copy()
	return nil
}

func inferConstantOfShape(c *Infer) error {
	dt := array.Float32
	v := c.Tensor("value")
	if v != nil {
		dt = v.DType()
	}
	out := TensorFact(dt, nil)
	if es := c.ElemsAt(0); es != nil {
		out.Dims = es
	} else if dims := c.Fact(0).Dims; len(dims) == 1 {
		if n, ok := dims[0].Int(); ok && n < 64 {
			out.Dims = make([]sym.Expr, n)
		}
	}
	if ns, ok := sym.AllInts(out.Dims); ok && out.Dims != nil && v != nil && dt.IsInt() {
		n := 1
		for _, d := range ns {
			n *= d
		}
		if vs, err := v.Int64s(); err == nil && len(vs) == 1 && n <= MaxElems && n >= 0 {
			out.Elems = make([]sym.Expr, n)
			for i := range out.Elems {
				out.Elems[i] = sym.Int(vs[0])
			}
		}
	}
	c.Set(0, out)
	return nil
}

func rangeOf(c *Call) error {
	var parts [3]*array.Array
	for i := range parts {
		a, err := c.Need(i)
		if err != nil {
			return err
		}
		if a.Size() != 1 {
			return c.Errorf("input %d: got %s, want a scalar", i, a.Summary())
		}
		parts[i] = a
	}
	dt := parts[0].DType()
	if dt.IsInt() {
		var v [3]int64
		for i, a := range parts {
			ns, err := a.Int64s()
			if err != nil {
				return err
			}
			v[i] = ns[0]
		}
		if v[2] == 0 {
			return c.Errorf("delta: got 0, want another number")
		}
		n := max(0, int(math.Ceil(float64(v[1]-v[0])/float64(v[2]))))
		if err := c.CheckSize(dt, []int{n}); err != nil {
			return err
		}
		out := make([]int64, n)
		for i := range out {
			out[i] = v[0] + int64(i)*v[2]
		}
		var err error
		c.Out[0], err = array.FromSlice(out).Cast(dt)
		return err
	}
	var v [3]float64
	for i, a := range parts {
		xs, err := a.Float64s()
		if err != nil {
			return err
		}
		v[i] = xs[0]
	}
	if v[2] == 0 {
		return c.Errorf("delta: got 0, want another number")
	}
	count := math.Ceil((v[1] - v[0]) / v[2])
	if !(count < 1<<40) {
		return c.Errorf("got %g elements, want fewer", count)
	}
	n := max(0, int(count))
	if err := c.CheckSize(dt, []int{n}); err != nil {
		return err
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = v[0] + float64(i)*v[2]
	}
	var err error
	c.Out[0], err = array.FromSlice(out).Cast(dt)
	return err
}

func inferRange(c *Infer) error {
	out := TensorFact(c.Fact(0).DType, []sym.Expr{{}})
	a, b, d := c.ElemsAt(0), c.ElemsAt(1), c.ElemsAt(2)
	if len(a) == 1 && len(b) == 1 && len(d) == 1 {
		out.Dims[0] = b[0].Sub(a[0]).CeilDiv(d[0]).Max(sym.Int(0))
		n, ok := out.Dims[0].Int()
		if step, isInt := d[0].Int(); ok && isInt && n <= MaxElems {
			out.Elems = make([]sym.Expr, n)
			for i := range out.Elems {
				out.Elems[i] = a[0].AddInt(int64(i) * step)
			}
		}
	}
	if n, ok := c.rangeLength(); ok && out.DType.IsFloat() {
		out.Dims[0] = sym.Int(n)
	}
	c.Set(0, out)
	return nil
}

// rangeLength is the length of a Range of constant floats.
func (c *Infer) rangeLength() (int64, bool) {
	var v [3]float64
	for i := range v {
		k := c.Fact(i).Const
		if k == nil || k.Size() != 1 {
			return 0, false
		}
		x, err := k.Float64s()
		if err != nil {
			return 0, false
		}
		v[i] = x[0]
	}
	n := math.Ceil((v[1] - v[0]) / v[2])
	return int64(max(0, n)), n < 1<<40 // false for NaN
}

var generatorOps = []Op{
	{Name: "Constant", Since: 1, Infer: inferConstant, Eval: constant},
	{Name: "ConstantOfShape", Since: 9, Infer: inferConstantOfShape, Eval: constantOfShape},
	{Name: "Range", Since: 11, Infer: inferRange, Eval: rangeOf},
}
