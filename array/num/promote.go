// Package num is NumPy 2's arithmetic over arrays: promotion of element types,
// broadcasting, element-wise functions and reductions, for the scripting
// surface. The operators of ONNX, whose rules differ, are package ops'.
//
// An operand is an array or a Python scalar. A scalar is weak: it takes the
// element type of the array beside it as long as its kind (bool, int, float)
// allows, as NumPy's NEP 50 has it.
package num

import (
	"fmt"

	"github.com/starlarkgs/starlarkgs/array"
)

// Operand is an array, or with Weak set a scalar of a script whose element type
// is no more than its kind: Bool, Int64 or Float64.
type Operand struct {
	A    *array.Array
	Weak bool
}

// bitsOf returns the size of an element type in promotion: packed integers count
// as 8 bits, since NumPy holds them so.
func bitsOf(dt array.DType) int { return max(dt.Bits(), 8) }

// ResultType returns the element type that an operation on both computes in.
func ResultType(x, y Operand) (array.DType, error) {
	a, b := x.A.DType(), y.A.DType()
	switch {
	case a == array.String || b == array.String:
		if a == b {
			return a, nil
		}
		return 0, fmt.Errorf("got %s and %s: strings and numbers do not mix", a, b)
	case x.Weak && y.Weak, !x.Weak && !y.Weak:
		return Promote(a, b), nil
	case x.Weak:
		return weak(b, a), nil
	}
	return weak(a, b), nil
}

// rank orders the kinds: bool, integer, float, complex.
func rank(dt array.DType) int {
	switch {
	case dt.IsComplex():
		return 3
	case dt.IsFloat():
		return 2
	case dt.IsInt():
		return 1
	}
	return 0
}

// weak returns the type of an array of type dt beside a scalar of type s.
func weak(dt, s array.DType) array.DType {
	if rank(s) <= rank(dt) {
		return dt
	}
	return s // int64 beside bool, float64 beside bool and integers
}

// Promote returns the smallest type to which both convert safely, as
// numpy.promote_types.
func Promote(a, b array.DType) array.DType {
	if rank(a) > rank(b) {
		a, b = b, a
	}
	switch {
	case a == b:
		return a
	case rank(a) == 0:
		return b
	case b.IsComplex():
		return promoteComplex(a, b)
	case b.IsFloat() && a.IsFloat():
		return promoteFloats(a, b)
	case b.IsFloat():
		return promoteIntFloat(a, b)
	}
	return promoteInts(a, b)
}

func promoteComplex(a, b array.DType) array.DType {
	if a == array.Complex128 || b == array.Complex128 || a == array.Float64 || a.IsInt() && bitsOf(a) > 16 {
		return array.Complex128
	}
	return array.Complex64
}

func promoteFloats(a, b array.DType) array.DType {
	if bitsOf(a) > bitsOf(b) {
		a, b = b, a
	}
	if bitsOf(a) == bitsOf(b) {
		return array.Float32 // float16 with bfloat16, two kinds of float8
	}
	return b
}

func promoteIntFloat(i, f array.DType) array.DType {
	switch bits := bitsOf(i); {
	case bits <= 8 || f == array.Float64:
		return f
	case bits <= 16:
		return promoteFloats(f, array.Float32)
	}
	return array.Float64
}

func promoteInts(a, b array.DType) array.DType {
	if a.IsSigned() == b.IsSigned() {
		if bitsOf(a) == bitsOf(b) {
			return intOf(bitsOf(a), a.IsSigned()) // int4 with int8
		}
		if bitsOf(a) > bitsOf(b) {
			return a
		}
		return b
	}
	if a.IsSigned() {
		a, b = b, a
	}
	// a is unsigned, b signed: the result must hold both
	switch bits := max(2*bitsOf(a), bitsOf(b)); {
	case bits <= 64:
		return intOf(bits, true)
	}
	return array.Float64
}

func intOf(bits int, signed bool) array.DType {
	unsigned := map[int]array.DType{8: array.Uint8, 16: array.Uint16, 32: array.Uint32, 64: array.Uint64}
	withSign := map[int]array.DType{8: array.Int8, 16: array.Int16, 32: array.Int32, 64: array.Int64}
	if signed {
		return withSign[bits]
	}
	return unsigned[bits]
}
