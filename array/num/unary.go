package num

import (
	"fmt"
	"math"
	"math/cmplx"

	"github.com/starlarkgs/starlarkgs/array"
)

// Unary describes an element-wise function of one operand, by kind.
type Unary struct {
	Name string
	Int  func(int64) int64
	F    func(float64) float64
	C    func(complex128) complex128
	B    func(bool) bool
	Test func(float64) bool // gives a bool result; integers are finite numbers
}

// Apply computes f of each element. Where f has no function for integers, they
// are computed in float64, as NumPy does.
func (f *Unary) Apply(a *array.Array) (*array.Array, error) {
	dt := a.DType()
	switch {
	case dt == array.String:
		return nil, fmt.Errorf("%s: not defined for strings", f.Name)
	case f.Test != nil:
		return f.test(a)
	case dt == array.Bool && f.B != nil:
		return map1(array.Data[bool](a.Contiguous()), f.B, a.Shape()), nil
	case dt.IsInt() && f.Int != nil:
		return map1(ints(a), f.Int, a.Shape()).CastWith(dt, true)
	case dt.IsComplex() && f.C != nil:
		return map1(complexes(a), f.C, a.Shape()).Cast(dt)
	case dt.IsComplex() || f.F == nil:
		return nil, fmt.Errorf("%s: not defined for %s", f.Name, dt)
	}
	x, err := a.Float64s()
	if err != nil {
		return nil, err
	}
	if !dt.IsFloat() {
		dt = array.Float64
	}
	return map1(x, f.F, a.Shape()).Cast(dt)
}

func (f *Unary) test(a *array.Array) (*array.Array, error) {
	if a.DType().IsComplex() {
		out := make([]bool, a.Size())
		for i, c := range complexes(a) {
			out[i] = f.Test(real(c)) || f.Test(imag(c))
		}
		return array.FromSlice(out, a.Shape()...), nil
	}
	x, err := a.Float64s()
	if err != nil {
		return nil, err
	}
	out := make([]bool, len(x))
	for i, v := range x {
		out[i] = f.Test(v)
	}
	return array.FromSlice(out, a.Shape()...), nil
}

func map1[T array.Elem](x []T, f func(T) T, shape []int) *array.Array {
	out := make([]T, len(x))
	for i, v := range x {
		out[i] = f(v)
	}
	return array.FromSlice(out, shape...)
}

func same[T any](x T) T { return x }

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x
}

// The element-wise functions of one operand, by their NumPy names.
var unaries = []*Unary{
	{Name: "negative", Int: func(x int64) int64 { return -x }, F: func(x float64) float64 { return -x }, C: func(x complex128) complex128 { return -x }},
	{Name: "positive", Int: same[int64], F: same[float64], C: same[complex128]},
	{Name: "abs", Int: func(x int64) int64 { return max(x, -x) }, F: math.Abs, B: same[bool]},
	{Name: "sign", Int: func(x int64) int64 { return int64(sign(float64(x))) }, F: sign},
	{Name: "invert", Int: func(x int64) int64 { return ^x }, B: func(x bool) bool { return !x }},
	{Name: "exp", F: math.Exp, C: cmplx.Exp}, {Name: "expm1", F: math.Expm1}, {Name: "exp2", F: math.Exp2},
	{Name: "log", F: math.Log, C: cmplx.Log}, {Name: "log2", F: math.Log2}, {Name: "log10", F: math.Log10}, {Name: "log1p", F: math.Log1p},
	{Name: "sqrt", F: math.Sqrt, C: cmplx.Sqrt}, {Name: "cbrt", F: math.Cbrt},
	{Name: "square", Int: func(x int64) int64 { return x * x }, F: func(x float64) float64 { return x * x }, C: func(x complex128) complex128 { return x * x }},
	{Name: "reciprocal", F: func(x float64) float64 { return 1 / x }, C: func(x complex128) complex128 { return 1 / x }},
	{Name: "sin", F: math.Sin}, {Name: "cos", F: math.Cos}, {Name: "tan", F: math.Tan},
	{Name: "arcsin", F: math.Asin}, {Name: "arccos", F: math.Acos}, {Name: "arctan", F: math.Atan},
	{Name: "sinh", F: math.Sinh}, {Name: "cosh", F: math.Cosh}, {Name: "tanh", F: math.Tanh},
	{Name: "floor", Int: same[int64], F: math.Floor}, {Name: "ceil", Int: same[int64], F: math.Ceil},
	{Name: "trunc", Int: same[int64], F: math.Trunc}, {Name: "rint", F: math.RoundToEven},
	{Name: "isnan", Test: math.IsNaN},
	{Name: "isinf", Test: func(x float64) bool { return math.IsInf(x, 0) }},
	{Name: "isfinite", Test: func(x float64) bool { return !math.IsInf(x, 0) && !math.IsNaN(x) }},
	{Name: "logical_not", Test: func(x float64) bool { return x == 0 }},
}

// Unaries lists the element-wise functions of one operand.
func Unaries() []*Unary { return unaries }

// Lookup returns the function of that name, or nil.
func Lookup(name string) *Unary {
	for _, f := range unaries {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// Round rounds to the given decimals, halves to even.
func Round(a *array.Array, decimals int) (*array.Array, error) {
	scale := math.Pow(10, math.Abs(float64(decimals)))
	f := &Unary{Name: "round", Int: func(x int64) int64 {
		if decimals >= 0 {
			return x
		}
		return int64(math.RoundToEven(float64(x)/scale) * scale)
	}, F: func(x float64) float64 {
		if decimals >= 0 {
			return math.RoundToEven(x*scale) / scale
		}
		return math.RoundToEven(x/scale) * scale
	}}
	return f.Apply(a)
}

// Close reports whether |a-b| <= atol + rtol*|b|, as numpy.isclose: infinities
// are close to themselves alone, NaN to NaN where nanEqual says so.
func Close(a, b, rtol, atol float64, nanEqual bool) bool {
	switch {
	case math.IsNaN(a) || math.IsNaN(b):
		return nanEqual && math.IsNaN(a) && math.IsNaN(b)
	case math.IsInf(a, 0) || math.IsInf(b, 0):
		return a == b
	}
	return math.Abs(a-b) <= atol+rtol*math.Abs(b)
}
