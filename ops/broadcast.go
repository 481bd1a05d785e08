package ops

import (
	"fmt"
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/par"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// rowGrain is the elements from which a loop is worth a second goroutine.
const rowGrain = 1 << 14

// broadcastDims returns the sizes to which two lists of sizes broadcast; a pair
// of which nothing certain can be said gives the unknown size.
func broadcastDims(a, b []sym.Expr) []sym.Expr {
	if a == nil || b == nil {
		return nil
	}
	if len(a) < len(b) {
		a, b = b, a
	}
	out := slices.Clone(a)
	lead := len(a) - len(b)
	for i, d := range b {
		out[lead+i] = broadcastDim(a[lead+i], d)
	}
	return out
}

// meetDims is broadcastDims that refuses sizes which can't meet.
func meetDims(a, b []sym.Expr) ([]sym.Expr, error) {
	for i := range min(len(a), len(b)) {
		m, aNum := a[len(a)-1-i].Int()
		n, bNum := b[len(b)-1-i].Int()
		if aNum && bNum && m != n && m != 1 && n != 1 {
			return nil, fmt.Errorf("got shapes %s and %s, which do not broadcast: sizes %d and %d on axis -%d", dimsText(a), dimsText(b), m, n, i+1)
		}
	}
	return broadcastDims(a, b), nil
}

func broadcastDim(a, b sym.Expr) sym.Expr {
	m, aNum := a.Int()
	n, bNum := b.Int()
	switch {
	case a.Equal(b):
		return a
	case aNum && m == 1:
		return b
	case bNum && n == 1:
		return a
	case aNum: // the other is 1 or the same
		return a
	case bNum:
		return b
	}
	return a.Max(b) // they are the same or one is 1, sizes of 0 aside
}

// rows splits a broadcast of two arrays into rows: for each, the offsets of the
// operands' rows. An operand's row is contiguous, or one repeated element.
type rows struct {
	n, length  int
	outer      []int
	strideA    []int
	strideB    []int
	incA, incB int // 1, or 0 for a repeated element
}

// planRows merges trailing axes along which both operands run alike.
func planRows(shapeA, shapeB, out []int) *rows {
	sa, sb := broadcastStrides(shapeA, out), broadcastStrides(shapeB, out)
	r := &rows{length: 1, incA: -1}
	k := len(out)
	for k > 0 {
		i := k - 1
		if out[i] != 1 {
			ia, ib := min(sa[i], 1), min(sb[i], 1)
			fits := r.incA < 0 || (ia == r.incA && ib == r.incB &&
				(sa[i] == 0 || sa[i] == r.length) && (sb[i] == 0 || sb[i] == r.length))
			if !fits {
				break
			}
			r.incA, r.incB = ia, ib
		}
		r.length *= out[i]
		k--
	}
	if r.incA < 0 {
		r.incA, r.incB = 1, 1
	}
	r.n = 1
	for _, d := range out[:k] {
		r.n *= d
	}
	r.outer, r.strideA, r.strideB = out[:k], sa[:k], sb[:k]
	return r
}

// broadcastStrides returns the strides of a row-major array of that shape in the
// larger shape; 0 where it repeats.
func broadcastStrides(shape, out []int) []int {
	strides := make([]int, len(out))
	step := 1
	lead := len(out) - len(shape)
	for i := len(shape) - 1; i >= 0; i-- {
		if shape[i] != 1 {
			strides[lead+i] = step
		}
		step *= shape[i]
	}
	return strides
}

// offsets returns where row i of each operand begins.
func (r *rows) offsets(i int) (a, b int) {
	for k := len(r.outer) - 1; k >= 0; k-- {
		j := i % r.outer[k]
		i /= r.outer[k]
		a += j * r.strideA[k]
		b += j * r.strideB[k]
	}
	return a, b
}

// zipInto computes out[i] = row(a, b) over rows: f gets slices of one length,
// of which a or b may hold a single element that is repeated.
func zipInto[A, B, O any](a []A, b []B, out []O, shapeA, shapeB, shape []int, f func(a []A, b []B, out []O)) {
	if len(out) == 0 {
		return
	}
	r := planRows(shapeA, shapeB, shape)
	if r.n == 1 {
		par.For(r.length, rowGrain, func(lo, hi int) {
			f(cut(a, 0, lo, hi, r.incA), cut(b, 0, lo, hi, r.incB), out[lo:hi])
		})
		return
	}
	par.For(r.n, max(1, rowGrain/r.length), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			x, y := r.offsets(i)
			f(cut(a, x, 0, r.length, r.incA), cut(b, y, 0, r.length, r.incB), out[i*r.length:(i+1)*r.length])
		}
	})
}

func cut[T any](s []T, base, lo, hi, inc int) []T {
	if inc == 0 {
		return s[base : base+1]
	}
	return s[base+lo : base+hi]
}

// broadcastShape returns the common shape of arrays, with the call's error.
func (c *Call) broadcastShape(as ...*array.Array) ([]int, error) {
	shapes := make([][]int, len(as))
	for i, a := range as {
		shapes[i] = a.Shape()
	}
	out, err := array.BroadcastShapes(shapes...)
	if err != nil {
		return nil, c.Errorf("inputs of shapes %v do not broadcast together", shapes)
	}
	return out, nil
}

// normalAxis makes an axis non-negative.
func (s *Site) normalAxis(axis, rank int) (int, error) {
	if axis < -rank || axis >= rank {
		return 0, s.Errorf("axis: got %d, want %d to %d", axis, -rank, rank-1)
	}
	if axis < 0 {
		axis += rank
	}
	return axis, nil
}

// widened returns the array as float32 when it is of a narrower float type, and
// how to turn a result back.
func widened(a *array.Array) (*array.Array, func(*array.Array) (*array.Array, error), error) {
	dt := a.DType()
	same := func(r *array.Array) (*array.Array, error) { return r, nil }
	if !dt.IsFloat() || dt == array.Float32 || dt == array.Float64 {
		return a, same, nil
	}
	w, err := a.Cast(array.Float32)
	return w, func(r *array.Array) (*array.Array, error) { return r.Cast(dt) }, err
}
