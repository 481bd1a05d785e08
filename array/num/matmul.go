package num

import (
	"fmt"
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
)

// MatMul multiplies matrices by NumPy's matmul: leading axes broadcast, a vector
// gets an axis that goes again. Integers are multiplied in 64 bits and keep
// their low bits, floats in float64.
func MatMul(x, y *array.Array) (*array.Array, error) {
	if x.Rank() == 0 || y.Rank() == 0 {
		return nil, fmt.Errorf("matmul: got a scalar, want vectors or matrices")
	}
	dt, err := ResultType(Operand{A: x}, Operand{A: y})
	if err != nil || dt == array.String || dt.IsComplex() {
		return nil, fmt.Errorf("matmul: not defined for %s and %s", x.DType(), y.DType())
	}
	a, b := matrix(x, true), matrix(y, false)
	m, k, n := a.Shape()[a.Rank()-2], a.Shape()[a.Rank()-1], b.Shape()[b.Rank()-1]
	if b.Shape()[b.Rank()-2] != k {
		return nil, fmt.Errorf("matmul: got shapes %v and %v: %d columns do not meet %d rows", x.Shape(), y.Shape(), k, b.Shape()[b.Rank()-2])
	}
	lead, err := array.BroadcastShapes(a.Shape()[:a.Rank()-2], b.Shape()[:b.Rank()-2])
	if err != nil {
		return nil, fmt.Errorf("matmul: %w", err)
	}
	a, _ = a.BroadcastTo(append(slices.Clone(lead), m, k)) // they broadcast, as lead shows
	b, _ = b.BroadcastTo(append(slices.Clone(lead), k, n))
	shape := append(slices.Clone(lead), m, n)
	if x.Rank() == 1 {
		shape = slices.Delete(shape, len(shape)-2, len(shape)-1)
	}
	if y.Rank() == 1 {
		shape = shape[:len(shape)-1]
	}
	if dt.IsFloat() {
		p, q, err := floats(a, b)
		if err != nil {
			return nil, err
		}
		return array.FromSlice(product(p, q, m, k, n), shape...).Cast(dt)
	}
	return array.FromSlice(product(ints(a), ints(b), m, k, n), shape...).CastWith(dt, true)
}

func matrix(a *array.Array, left bool) *array.Array {
	if a.Rank() > 1 {
		return a
	}
	shape := []int{a.Size(), 1}
	if left {
		shape = []int{1, a.Size()}
	}
	m, _ := a.Reshape(shape...) // one more axis of size 1 always fits
	return m
}

func product[T int64 | float64](a, b []T, m, k, n int) []T {
	batches := 0
	if m*k > 0 {
		batches = len(a) / (m * k)
	}
	out := make([]T, batches*m*n)
	for i := range batches {
		for r := range m {
			row := out[(i*m+r)*n : (i*m+r+1)*n]
			for j := range k {
				v := a[(i*m+r)*k+j]
				for c, w := range b[(i*k+j)*n : (i*k+j+1)*n] {
					row[c] += v * w
				}
			}
		}
	}
	return out
}
