package ops

import (
	"math"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/par"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// unary makes the entries' functions of one element: f32 and f64 compute floats
// (narrower ones in float32), i the integers; nil where the type is not allowed.
func unary(f32 func(float32) float32, f64 func(float64) float64, i func(int64) int64) func(*Call) error {
	return func(c *Call) error {
		a, err := c.Need(0)
		if err != nil {
			return err
		}
		wide, back, err := widened(a)
		if err != nil {
			return err
		}
		var out *array.Array
		switch {
		case wide.DType() == array.Float32 && f32 != nil:
			out, err = mapElems(c, array.Data[float32](wide), a.Shape(), f32)
		case wide.DType() == array.Float64 && f64 != nil:
			out, err = mapElems(c, array.Data[float64](wide), a.Shape(), f64)
		case a.DType().IsInt() && i != nil:
			ns, e := a.Int64s()
			if e != nil {
				return e
			}
			if out, err = mapElems(c, ns, a.Shape(), i); err == nil {
				out, err = out.CastWith(a.DType(), true)
			}
		default:
			return c.Errorf("input 0: got %s, want a type that the operator takes", a.DType())
		}
		if err == nil {
			out, err = back(out)
		}
		c.Out[0] = out
		return err
	}
}

func mapElems[T, U array.Elem](c *Call, in []T, shape []int, f func(T) U) (*array.Array, error) {
	out, err := c.Make(array.DTypeOf[U](), shape)
	if err != nil {
		return nil, err
	}
	dst := array.MutableData[U](out)
	par.For(len(in), rowGrain, func(lo, hi int) {
		for k := lo; k < hi; k++ {
			dst[k] = f(in[k])
		}
	})
	return out, nil
}

// float makes the functions of both widths from one of float64.
func float(f func(float64) float64) func(*Call) error {
	return unary(func(x float32) float32 { return float32(f(float64(x))) }, f, nil)
}

// inferSame gives output 0 the type and sizes of input 0.
func inferSame(c *Infer) error {
	f := c.Fact(0)
	f.Elems, f.Const = nil, nil
	c.Set(0, f)
	return nil
}

// inferMap is inferSame that follows integer elements through f.
func inferMap(f func(sym.Expr) sym.Expr) func(*Infer) error {
	return func(c *Infer) error {
		if err := inferSame(c); err != nil {
			return err
		}
		if es := c.ElemsAt(0); es != nil && len(c.Out) > 0 {
			out := make([]sym.Expr, len(es))
			for i, e := range es {
				out[i] = f(e)
			}
			c.Out[0].Elems = out
		}
		return nil
	}
}

func inferBool(c *Infer) error {
	c.Set(0, TensorFact(array.Bool, c.Fact(0).Dims))
	return nil
}

// inferNot follows the elements, too.
func inferNot(c *Infer) error {
	out := TensorFact(array.Bool, c.Fact(0).Dims)
	if es := c.ElemsAt(0); es != nil {
		out.Elems = make([]sym.Expr, len(es))
		for i, e := range es {
			out.Elems[i] = e.Neg().AddInt(1)
		}
	}
	c.Set(0, out)
	return nil
}

// test makes the function of one element with a bool result.
func test(f func(float64) bool) func(*Call) error {
	return func(c *Call) error {
		a, err := c.Need(0)
		if err != nil {
			return err
		}
		x, err := a.Float64s()
		if err != nil {
			return c.Errorf("input 0: %w", err)
		}
		c.Out[0], err = mapElems(c, x, a.Shape(), f)
		return err
	}
}

func not(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	if a.DType() != array.Bool {
		return c.Errorf("input 0: got %s, want bool", a.DType())
	}
	c.Out[0], err = mapElems(c, array.Data[bool](a), a.Shape(), func(b bool) bool { return !b })
	return err
}

func identity(c *Call) error {
	if !c.Has(0) {
		return c.Errorf("input 0: got none, want a value")
	}
	c.Out[0] = c.In[0]
	return nil
}

func inferIdentity(c *Infer) error {
	c.Set(0, c.Fact(0))
	return nil
}

func abs64(x int64) int64 { return max(x, -x) }

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x
}

func sign64(x int64) int64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

func isInf(c *Call) error {
	neg, pos := c.IntOr("detect_negative", 1) != 0, c.IntOr("detect_positive", 1) != 0
	return test(func(x float64) bool { return pos && math.IsInf(x, 1) || neg && math.IsInf(x, -1) })(c)
}

var unaryOps = []Op{
	{Name: "Identity", Since: 1, Infer: inferIdentity, Eval: identity},
	{Name: "Neg", Since: 1, Infer: inferMap(sym.Expr.Neg), Eval: unary(func(x float32) float32 { return -x }, func(x float64) float64 { return -x }, func(x int64) int64 { return -x })},
	{Name: "Abs", Since: 1, Infer: inferSame, Eval: unary(func(x float32) float32 { return float32(math.Abs(float64(x))) }, math.Abs, abs64)},
	{Name: "Sign", Since: 9, Infer: inferSame, Eval: unary(func(x float32) float32 { return float32(sign(float64(x))) }, sign, sign64)},
	{Name: "Ceil", Since: 1, Infer: inferSame, Eval: float(math.Ceil)},
	{Name: "Floor", Since: 1, Infer: inferSame, Eval: float(math.Floor)},
	{Name: "Round", Since: 11, Infer: inferSame, Eval: float(math.RoundToEven)},
	{Name: "Sqrt", Since: 1, Infer: inferSame, Eval: float(math.Sqrt)},
	{Name: "Reciprocal", Since: 1, Infer: inferSame, Eval: unary(func(x float32) float32 { return 1 / x }, func(x float64) float64 { return 1 / x }, nil)},
	{Name: "Exp", Since: 1, Infer: inferSame, Eval: float(math.Exp)},
	{Name: "Log", Since: 1, Infer: inferSame, Eval: float(math.Log)},
	{Name: "Sin", Since: 7, Infer: inferSame, Eval: float(math.Sin)},
	{Name: "Cos", Since: 7, Infer: inferSame, Eval: float(math.Cos)},
	{Name: "Tan", Since: 7, Infer: inferSame, Eval: float(math.Tan)},
	{Name: "Asin", Since: 7, Infer: inferSame, Eval: float(math.Asin)},
	{Name: "Acos", Since: 7, Infer: inferSame, Eval: float(math.Acos)},
	{Name: "Atan", Since: 7, Infer: inferSame, Eval: float(math.Atan)},
	{Name: "Sinh", Since: 9, Infer: inferSame, Eval: float(math.Sinh)},
	{Name: "Cosh", Since: 9, Infer: inferSame, Eval: float(math.Cosh)},
	{Name: "Asinh", Since: 9, Infer: inferSame, Eval: float(math.Asinh)},
	{Name: "Acosh", Since: 9, Infer: inferSame, Eval: float(math.Acosh)},
	{Name: "Atanh", Since: 9, Infer: inferSame, Eval: float(math.Atanh)},
	{Name: "Erf", Since: 9, Infer: inferSame, Eval: unary(func(x float32) float32 { return float32(math.Erf(float64(x))) }, math.Erf, nil)},
	{Name: "Not", Since: 1, Infer: inferNot, Eval: not},
	{Name: "IsNaN", Since: 9, Infer: inferBool, Eval: test(math.IsNaN)},
	{Name: "IsInf", Since: 10, Infer: inferBool, Eval: isInf},
}
