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
	c := a.Contiguous()
	return &Array{dtype: a.dtype, shape: shape, strides: rowMajor(shape), offset: c.offset, buf: c.buf}, nil
}

func completeShape(shape []int, size int) ([]int, error) {
	out := slices.Clone(shape)
	if out == nil {
		out = []int{}
	}
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
	if n, err := count(slices.DeleteFunc(slices.Clone(out), func(d int) bool { return d == -1 })); err != nil || n != size || slices.Contains(out, -1) {
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
// leading ones, are repeated.
func (a *Array) BroadcastTo(shape []int) (*Array, error) {
	if _, err := count(shape); err != nil {
		return nil, err
	}
	lead := len(shape) - len(a.shape)
	if lead < 0 {
		return nil, fmt.Errorf("array: cannot broadcast %v to %v", a.shape, shape)
	}
	c := &Array{dtype: a.dtype, shape: append([]int{}, shape...), strides: make([]int, len(shape)), offset: a.offset, buf: a.buf}
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

// Index is one item of a key: an integer, a slice, a new axis or an ellipsis.
type Index struct {
	Kind        IndexKind
	At          int  // of AtIndex
	Start, Stop *int // of SliceIndex; nil is the end of the axis
	Step        int  // of SliceIndex; 0 is 1
}

// IndexKind is the kind of an Index.
type IndexKind uint8

// The kinds of index.
const (
	AtIndex IndexKind = iota
	SliceIndex
	NewAxis
	Ellipsis
)

// View returns the part of the array that the key selects, as NumPy's basic
// indexing: a view of the same memory.
func (a *Array) View(key []Index) (*Array, error) {
	key, err := a.expandKey(key)
	if err != nil {
		return nil, err
	}
	c := &Array{dtype: a.dtype, shape: []int{}, offset: a.offset, buf: a.buf}
	axis := 0
	for _, k := range key {
		if k.Kind == NewAxis {
			c.shape, c.strides = append(c.shape, 1), append(c.strides, 0)
			continue
		}
		d, stride := a.shape[axis], a.strides[axis]
		if k.Kind == AtIndex {
			at := k.At
			if at < 0 {
				at += d
			}
			if at < 0 || at >= d {
				return nil, fmt.Errorf("index %d is out of range for axis %d of size %d", k.At, axis, d)
			}
			c.offset += at * stride
		} else {
			start, n, step, err := k.cut(d)
			if err != nil {
				return nil, err
			}
			if n > 0 {
				c.offset += start * stride
			}
			c.shape, c.strides = append(c.shape, n), append(c.strides, step*stride)
		}
		axis++
	}
	if c.Size() == 0 { // what is empty lies nowhere
		c.offset, c.strides = 0, rowMajor(c.shape)
	}
	return c, nil
}

// expandKey replaces the ellipsis, and the end of a short key, by whole slices.
func (a *Array) expandKey(key []Index) ([]Index, error) {
	used, at := 0, -1
	for i, k := range key {
		switch k.Kind {
		case Ellipsis:
			if at >= 0 {
				return nil, fmt.Errorf("an index can hold one ellipsis only")
			}
			at = i
		case AtIndex, SliceIndex:
			used++
		}
	}
	if used > len(a.shape) {
		return nil, fmt.Errorf("got %d indices, want at most %d, the rank of the array", used, len(a.shape))
	}
	fill := slices.Repeat([]Index{{Kind: SliceIndex}}, len(a.shape)-used)
	if at < 0 {
		return append(slices.Clone(key), fill...), nil
	}
	return slices.Replace(slices.Clone(key), at, at+1, fill...), nil
}

// cut returns the first position, the number of elements and the step of a
// slice of an axis of size d, by Python's rules.
func (k Index) cut(d int) (start, n, step int, err error) {
	if step = k.Step; step == 0 {
		step = 1
	}
	lo, hi := 0, d
	start, stop := 0, d
	if step < 0 {
		lo, hi = -1, d-1
		start, stop = d-1, -1
	}
	clamp := func(p *int, v int) int {
		if p == nil {
			return v
		}
		x := *p
		if x < 0 {
			x += d
		}
		return min(max(x, lo), hi)
	}
	start, stop = clamp(k.Start, start), clamp(k.Stop, stop)
	switch {
	case step > 0 && stop > start:
		n = (stop-start-1)/step + 1
	case step < 0 && stop < start:
		n = (start-stop-1)/(-step) + 1
	}
	return start, n, step, nil
}
