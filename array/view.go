package array

import (
	"fmt"
	"slices"
)

// Reshape returns an array of another shape over the same elements in
// row-major order: a view where the array is contiguous, else a copy. One size
// may be -1: it follows from the others.
func (a *Array) Reshape(shape ...int) (*Array, error) {
	shape, err := completeShape(shape, a.Size())
	if err != nil {
		return nil, err
	}
	c, err := a.contiguous()
	if err != nil {
		return nil, err
	}
	return &Array{dtype: a.dtype, shape: shape, strides: rowMajor(shape), offset: c.offset, buf: c.buf}, nil
}

func completeShape(shape []int, size int) ([]int, error) {
	out := cloned(shape)
	open, known := -1, 1
	for i, d := range out {
		switch {
		case d == -1 && open < 0:
			open = i
		case d < 0:
			return nil, fmt.Errorf("array: cannot reshape %d elements to %v: got a size of %d, want sizes ≥ 0 and at most one -1", size, shape, d)
		default:
			known *= d
		}
	}
	if open >= 0 && known > 0 && size%known == 0 {
		out[open] = size / known
	}
	if slices.Contains(out, -1) {
		return nil, fmt.Errorf("array: cannot reshape %d elements to %v: the size of the -1 does not follow", size, shape)
	}
	if n, err := count(out); err != nil || n != size {
		return nil, fmt.Errorf("array: cannot reshape %d elements to %v", size, shape)
	}
	return out, nil
}

// Transpose returns a view whose axis i is axis perm[i] of the array; with no
// perm the axes are reversed.
func (a *Array) Transpose(perm ...int) (*Array, error) {
	rank := len(a.shape)
	if len(perm) == 0 {
		perm = make([]int, rank)
		for i := range perm {
			perm[i] = rank - 1 - i
		}
	}
	if len(perm) != rank {
		return nil, fmt.Errorf("array: transpose: got %d axes, want %d", len(perm), rank)
	}
	c := &Array{dtype: a.dtype, shape: make([]int, rank), strides: make([]int, rank), offset: a.offset, buf: a.buf}
	seen := make([]bool, rank)
	for i, p := range perm {
		if p < 0 {
			p += rank
		}
		if p < 0 || p >= rank || seen[p] {
			return nil, fmt.Errorf("array: transpose: got axes %v, want a permutation of 0 to %d", perm, rank-1)
		}
		seen[p] = true
		c.shape[i], c.strides[i] = a.shape[p], a.strides[p]
	}
	return c, nil
}

// BroadcastTo returns a view of that shape in which axes of size 1, and new
// leading ones, are repeated. An element that is repeated lies in one place: a
// write to it shows wherever it is seen.
func (a *Array) BroadcastTo(shape []int) (*Array, error) {
	n, err := count(shape)
	if err != nil {
		return nil, err
	}
	if _, err := byteLen(a.dtype, n); err != nil {
		return nil, err
	}
	lead := len(shape) - len(a.shape)
	if lead < 0 {
		return nil, fmt.Errorf("array: cannot broadcast %v to %v", a.shape, shape)
	}
	c := &Array{dtype: a.dtype, shape: cloned(shape), strides: make([]int, len(shape)), offset: a.offset, buf: a.buf}
	for i, d := range a.shape {
		switch {
		case d == shape[lead+i]:
			c.strides[lead+i] = a.strides[i]
		case d != 1:
			return nil, fmt.Errorf("array: cannot broadcast %v to %v", a.shape, shape)
		}
	}
	return c, nil
}

// BroadcastShapes returns the shape that these shapes broadcast to together,
// by NumPy's rules.
func BroadcastShapes(shapes ...[]int) ([]int, error) {
	rank := 0
	for _, s := range shapes {
		rank = max(rank, len(s))
	}
	out := make([]int, rank)
	for i := range out {
		out[i] = 1
	}
	for _, s := range shapes {
		lead := rank - len(s)
		for i, d := range s {
			switch o := out[lead+i]; {
			case o == d || d == 1:
			case o == 1:
				out[lead+i] = d
			default:
				return nil, fmt.Errorf("array: shapes %v do not broadcast together", shapes)
			}
		}
	}
	return out, nil
}
