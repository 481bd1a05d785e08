package num

import (
	"fmt"
	"math"
	"math/cmplx"

	"github.com/starlarkgs/starlarkgs/array"
)

// integer is the Go types in which integer functions are computed.
type integer interface{ int64 | uint64 }

// Binary describes an element-wise function of two operands, by kind. A nil
// function means that the kind is not supported.
type Binary struct {
	Name string
	Int  func(x, y int64) int64
	Uint func(x, y uint64) uint64
	F    func(x, y float64) float64
	C    func(x, y complex128) complex128
	B    func(x, y bool) bool
	// Test gives a bool result: a comparison. Only one of its set is used.
	Test *Compare
	// Float makes integers and bools compute in float64, as true division.
	Float bool
}

// Compare is the comparisons of a Binary.
type Compare struct {
	Int  func(x, y int64) bool
	Uint func(x, y uint64) bool
	F    func(x, y float64) bool
	C    func(x, y complex128) bool
	S    func(x, y string) bool
	B    func(x, y bool) bool
}

// Apply computes f of both operands, broadcast together.
func (f *Binary) Apply(x, y Operand) (*array.Array, error) {
	dt, err := ResultType(x, y)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	if f.Float && (dt.IsInt() || dt == array.Bool) {
		dt = array.Float64
	}
	if dt == array.Bool && f.B == nil && f.Test == nil {
		dt = array.Int8
		if f.Int == nil {
			dt = array.Float64
		}
	}
	shape, err := array.BroadcastShapes(x.A.Shape(), y.A.Shape())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	a, err := spread(x, dt, shape)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	b, err := spread(y, dt, shape)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	if f.Test != nil {
		return f.compare(a, b, dt, shape)
	}
	return f.compute(a, b, dt, shape)
}

// spread converts an operand to the type of the computation and its shape.
func spread(x Operand, dt array.DType, shape []int) (*array.Array, error) {
	a := x.A
	if x.Weak && dt.IsInt() {
		if err := fits(a, dt); err != nil {
			return nil, err
		}
	}
	a, err := a.Cast(dt)
	if err != nil {
		return nil, err
	}
	return a.BroadcastTo(shape)
}

// fits refuses a Python int that the array's type can't hold, as NumPy 2 does.
func fits(a *array.Array, dt array.DType) error {
	probe, err := array.Make(dt, []int{1})
	if err != nil {
		return err
	}
	return probe.SetAt(0, a.At(0))
}

func (f *Binary) unsupported(dt array.DType) error {
	return fmt.Errorf("%s: not defined for %s", f.Name, dt)
}

func (f *Binary) compute(a, b *array.Array, dt array.DType, shape []int) (*array.Array, error) {
	switch {
	case dt == array.Bool:
		return zip(array.Data[bool](a.Contiguous()), array.Data[bool](b.Contiguous()), f.B, shape), nil
	case dt.IsComplex() && f.C != nil:
		return zipVia(complexes(a), complexes(b), f.C, array.Complex128, dt, shape)
	case dt.IsFloat() && f.F != nil:
		if dt == array.Float32 {
			return zip32(array.Data[float32](a.Contiguous()), array.Data[float32](b.Contiguous()), f.F, shape), nil
		}
		x, y, err := floats(a, b)
		if err != nil {
			return nil, err
		}
		return zipVia(x, y, f.F, array.Float64, dt, shape)
	case dt.IsUnsigned() && f.Uint != nil:
		return zipVia(uints(a), uints(b), f.Uint, array.Uint64, dt, shape)
	case dt.IsSigned() && f.Int != nil:
		return zipVia(ints(a), ints(b), f.Int, array.Int64, dt, shape)
	}
	return nil, f.unsupported(dt)
}

func (f *Binary) compare(a, b *array.Array, dt array.DType, shape []int) (*array.Array, error) {
	t := f.Test
	switch {
	case dt == array.Bool && t.B != nil:
		return zip(array.Data[bool](a.Contiguous()), array.Data[bool](b.Contiguous()), t.B, shape), nil
	case dt == array.String && t.S != nil:
		return zip2(a.Strings(), b.Strings(), t.S, shape), nil
	case dt.IsComplex() && t.C != nil:
		return zip2(complexes(a), complexes(b), t.C, shape), nil
	case dt.IsFloat() && t.F != nil:
		x, y, err := floats(a, b)
		if err != nil {
			return nil, err
		}
		return zip2(x, y, t.F, shape), nil
	case dt.IsUnsigned() && t.Uint != nil:
		return zip2(uints(a), uints(b), t.Uint, shape), nil
	case (dt.IsSigned() || dt == array.Bool) && t.Int != nil:
		return zip2(ints(a), ints(b), t.Int, shape), nil
	}
	return nil, f.unsupported(dt)
}

func zip[T array.Elem](x, y []T, f func(T, T) T, shape []int) *array.Array {
	out := make([]T, len(x))
	for i := range out {
		out[i] = f(x[i], y[i])
	}
	return array.FromSlice(out, shape...)
}

func zip2[T any](x, y []T, f func(T, T) bool, shape []int) *array.Array {
	out := make([]bool, len(x))
	for i := range out {
		out[i] = f(x[i], y[i])
	}
	return array.FromSlice(out, shape...)
}

// zip32 computes in float64 and rounds: for + - * / and sqrt that is the same
// as computing in float32.
func zip32(x, y []float32, f func(a, b float64) float64, shape []int) *array.Array {
	out := make([]float32, len(x))
	for i := range out {
		out[i] = float32(f(float64(x[i]), float64(y[i])))
	}
	return array.FromSlice(out, shape...)
}

// zipVia computes in a wide type and converts to dt, integers by their low bits.
func zipVia[T array.Elem](x, y []T, f func(T, T) T, wide, dt array.DType, shape []int) (*array.Array, error) {
	a := zip(x, y, f, shape)
	if wide == dt {
		return a, nil
	}
	return a.CastWith(dt, true)
}

func floats(a, b *array.Array) (x, y []float64, err error) {
	if x, err = a.Float64s(); err != nil {
		return nil, nil, err
	}
	y, err = b.Float64s()
	return x, y, err
}

func ints(a *array.Array) []int64 {
	out, err := a.Int64s()
	if err != nil {
		panic(err) // the caller asked for the type
	}
	return out
}

func uints(a *array.Array) []uint64 {
	out := make([]uint64, a.Size())
	for i, v := range ints(a) {
		out[i] = uint64(v)
	}
	return out
}

func complexes(a *array.Array) []complex128 {
	out := make([]complex128, a.Size())
	for i := range out {
		switch v := a.At(i).(type) {
		case complex128:
			out[i] = v
		case float64:
			out[i] = complex(v, 0)
		}
	}
	return out
}

func floorDiv[T integer](x, y T) T {
	if y == 0 {
		return 0 // as NumPy, which warns
	}
	q := x / y
	if (x%y != 0) && ((x < 0) != (y < 0)) {
		q--
	}
	return q
}

func floorMod[T integer](x, y T) T {
	if y == 0 {
		return 0
	}
	return x - floorDiv(x, y)*y
}

func modFloat(x, y float64) float64 {
	m := math.Mod(x, y)
	if m != 0 && (m < 0) != (y < 0) {
		m += y
	}
	return m
}

func powInt[T integer](x, y T) T {
	if y < 0 {
		return 0
	}
	out := T(1)
	for ; y > 0; y >>= 1 {
		if y&1 == 1 {
			out *= x
		}
		x *= x
	}
	return out
}

func shiftLeft[T integer](x, y T) T {
	if uint64(y) >= 64 {
		return 0
	}
	return x << uint64(y)
}

func shiftRight[T integer](x, y T) T {
	if uint64(y) >= 64 {
		if x < 0 {
			return x | ^T(0)
		}
		return 0
	}
	return x >> uint64(y)
}

// The element-wise functions of two operands.
var (
	Add = &Binary{Name: "add", Int: func(x, y int64) int64 { return x + y }, Uint: func(x, y uint64) uint64 { return x + y },
		F: func(x, y float64) float64 { return x + y }, C: func(x, y complex128) complex128 { return x + y },
		B: func(x, y bool) bool { return x || y }}
	Subtract = &Binary{Name: "subtract", Int: func(x, y int64) int64 { return x - y }, Uint: func(x, y uint64) uint64 { return x - y },
		F: func(x, y float64) float64 { return x - y }, C: func(x, y complex128) complex128 { return x - y }}
	Multiply = &Binary{Name: "multiply", Int: func(x, y int64) int64 { return x * y }, Uint: func(x, y uint64) uint64 { return x * y },
		F: func(x, y float64) float64 { return x * y }, C: func(x, y complex128) complex128 { return x * y },
		B: func(x, y bool) bool { return x && y }}
	Divide      = &Binary{Name: "divide", F: func(x, y float64) float64 { return x / y }, C: func(x, y complex128) complex128 { return x / y }, Float: true}
	FloorDivide = &Binary{Name: "floor_divide", Int: floorDiv[int64], Uint: floorDiv[uint64],
		F: func(x, y float64) float64 { return math.Floor(x / y) }}
	Mod   = &Binary{Name: "mod", Int: floorMod[int64], Uint: floorMod[uint64], F: modFloat}
	Power = &Binary{Name: "power", Int: powInt[int64], Uint: powInt[uint64], F: math.Pow, C: cmplx.Pow}
	And   = &Binary{Name: "bitwise_and", Int: func(x, y int64) int64 { return x & y }, Uint: func(x, y uint64) uint64 { return x & y },
		B: func(x, y bool) bool { return x && y }}
	Or = &Binary{Name: "bitwise_or", Int: func(x, y int64) int64 { return x | y }, Uint: func(x, y uint64) uint64 { return x | y },
		B: func(x, y bool) bool { return x || y }}
	Xor = &Binary{Name: "bitwise_xor", Int: func(x, y int64) int64 { return x ^ y }, Uint: func(x, y uint64) uint64 { return x ^ y },
		B: func(x, y bool) bool { return x != y }}
	LeftShift  = &Binary{Name: "left_shift", Int: shiftLeft[int64], Uint: shiftLeft[uint64]}
	RightShift = &Binary{Name: "right_shift", Int: shiftRight[int64], Uint: shiftRight[uint64]}
	Maximum    = &Binary{Name: "maximum", Int: func(x, y int64) int64 { return max(x, y) }, Uint: func(x, y uint64) uint64 { return max(x, y) },
		F: func(x, y float64) float64 { return max(x, y) }, B: func(x, y bool) bool { return x || y }}
	Minimum = &Binary{Name: "minimum", Int: func(x, y int64) int64 { return min(x, y) }, Uint: func(x, y uint64) uint64 { return min(x, y) },
		F: func(x, y float64) float64 { return min(x, y) }, B: func(x, y bool) bool { return x && y }}
)

func ordered(name string, i func(x, y int64) bool, u func(x, y uint64) bool, f func(x, y float64) bool, s func(x, y string) bool) *Binary {
	return &Binary{Name: name, Test: &Compare{Int: i, Uint: u, F: f, S: s}}
}

// The comparisons.
var (
	Equal = &Binary{Name: "equal", Test: &Compare{Int: func(x, y int64) bool { return x == y }, Uint: func(x, y uint64) bool { return x == y },
		F: func(x, y float64) bool { return x == y }, C: func(x, y complex128) bool { return x == y }, S: func(x, y string) bool { return x == y }}}
	NotEqual = &Binary{Name: "not_equal", Test: &Compare{Int: func(x, y int64) bool { return x != y }, Uint: func(x, y uint64) bool { return x != y },
		F: func(x, y float64) bool { return x != y }, C: func(x, y complex128) bool { return x != y }, S: func(x, y string) bool { return x != y }}}
	Less = ordered("less", func(x, y int64) bool { return x < y }, func(x, y uint64) bool { return x < y },
		func(x, y float64) bool { return x < y }, func(x, y string) bool { return x < y })
	LessEqual = ordered("less_equal", func(x, y int64) bool { return x <= y }, func(x, y uint64) bool { return x <= y },
		func(x, y float64) bool { return x <= y }, func(x, y string) bool { return x <= y })
	Greater = ordered("greater", func(x, y int64) bool { return x > y }, func(x, y uint64) bool { return x > y },
		func(x, y float64) bool { return x > y }, func(x, y string) bool { return x > y })
	GreaterEqual = ordered("greater_equal", func(x, y int64) bool { return x >= y }, func(x, y uint64) bool { return x >= y },
		func(x, y float64) bool { return x >= y }, func(x, y string) bool { return x >= y })
	LogicalAnd = truthTest("logical_and", func(x, y bool) bool { return x && y })
	LogicalOr  = truthTest("logical_or", func(x, y bool) bool { return x || y })
	LogicalXor = truthTest("logical_xor", func(x, y bool) bool { return x != y })
)

func truthTest(name string, f func(x, y bool) bool) *Binary {
	return &Binary{Name: name, Test: &Compare{B: f,
		Int: func(x, y int64) bool { return f(x != 0, y != 0) }, Uint: func(x, y uint64) bool { return f(x != 0, y != 0) },
		F: func(x, y float64) bool { return f(x != 0, y != 0) }, C: func(x, y complex128) bool { return f(x != 0, y != 0) }}}
}
