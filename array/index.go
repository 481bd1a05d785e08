package array

import (
	"fmt"
	"slices"
)

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
