package ops

import (
	"github.com/starlarkgs/starlarkgs/array"
)

// scatterElements writes single elements into a copy of the data. (Scatter is
// its old name.)
func scatterElements(c *Call) error {
	a, idx, upd, err := c.scatterInputs()
	if err != nil {
		return err
	}
	at, err := c.elementPositions(a, idx)
	if err != nil {
		return err
	}
	if upd.Size() != len(at) {
		return c.Errorf("updates: got shape %v, want %v, that of the indices", upd.Shape(), idx.Shape())
	}
	c.Out[0], err = c.scattered(a, upd, 1, at)
	return err
}

// scatterND writes blocks into a copy of the data.
func scatterND(c *Call) error {
	a, idx, upd, err := c.scatterInputs()
	if err != nil {
		return err
	}
	at, inner, err := c.tuplePositions(a, idx, 0)
	if err != nil {
		return err
	}
	if n, ok := mulSizes(len(at), inner); !ok || upd.Size() != n {
		return c.Errorf("updates: got shape %v, want %d blocks of %d elements", upd.Shape(), len(at), inner)
	}
	c.Out[0], err = c.scattered(a, upd, inner, at)
	return err
}

func (c *Call) scatterInputs() (data, idx, updates *array.Array, err error) {
	var in [3]*array.Array
	for i := range in {
		if in[i], err = c.Need(i); err != nil {
			return nil, nil, nil, err
		}
	}
	if in[0].DType() != in[2].DType() {
		return nil, nil, nil, c.Errorf("updates: got %s, want %s, the type of data", in[2].DType(), in[0].DType())
	}
	return in[0], in[1], in[2], nil
}

// scattered returns a copy of a in which the blocks at these numbers are
// replaced by those of upd, or combined with them.
func (c *Call) scattered(a, upd *array.Array, inner int, at []int) (*array.Array, error) {
	if err := c.CheckSize(a.DType(), a.Shape()); err != nil {
		return nil, err
	}
	mode := c.Str("reduction")
	if mode == "" || mode == "none" {
		out := a.Copy()
		putBlocks(out, upd, inner, at)
		return out, nil
	}
	if mode != "add" && mode != "mul" && mode != "max" && mode != "min" {
		return nil, c.Errorf("reduction: got %q, want \"none\", \"add\", \"mul\", \"max\" or \"min\"", mode)
	}
	wide, err := scatterType(a.DType())
	if err != nil {
		return nil, c.Errorf("reduction %q: %w", mode, err)
	}
	out, err := a.Cast(wide)
	if err != nil {
		return nil, c.Errorf("%w", err)
	}
	if upd, err = upd.Cast(wide); err != nil {
		return nil, c.Errorf("%w", err)
	}
	out = out.Copy()
	switch wide {
	case array.Float32:
		combine(array.MutableData[float32](out), array.Data[float32](upd), inner, at, mode)
	case array.Float64:
		combine(array.MutableData[float64](out), array.Data[float64](upd), inner, at, mode)
	case array.Int64:
		combine(array.MutableData[int64](out), array.Data[int64](upd), inner, at, mode)
	case array.Uint64:
		combine(array.MutableData[uint64](out), array.Data[uint64](upd), inner, at, mode)
	case array.Complex128:
		if mode == "max" || mode == "min" {
			return nil, c.Errorf("reduction %q: complex numbers have no order", mode)
		}
		combineComplex(array.MutableData[complex128](out), array.Data[complex128](upd), inner, at, mode)
	}
	return out.Cast(a.DType())
}

// scatterType returns the type in which elements are combined. Integers are
// combined modulo 2^64, of which their low bits are kept.
func scatterType(dt array.DType) (array.DType, error) {
	switch {
	case dt == array.Float64 || dt == array.Uint64:
		return dt, nil
	case dt.IsFloat():
		return array.Float32, nil
	case dt.IsComplex():
		return array.Complex128, nil
	case dt.IsInt() || dt == array.Bool:
		return array.Int64, nil
	}
	return 0, typeError(dt)
}

type typeError array.DType

// Error says that the type has no arithmetic.
func (e typeError) Error() string { return "got " + array.DType(e).String() + ", want numbers" }

func combine[T float32 | float64 | int64 | uint64](dst, src []T, inner int, at []int, mode string) {
	for k, p := range at {
		d, s := dst[p*inner:(p+1)*inner], src[k*inner:(k+1)*inner]
		switch mode {
		case "add":
			for i, v := range s {
				d[i] += v
			}
		case "mul":
			for i, v := range s {
				d[i] *= v
			}
		case "max":
			for i, v := range s {
				d[i] = max(d[i], v)
			}
		case "min":
			for i, v := range s {
				d[i] = min(d[i], v)
			}
		}
	}
}

func combineComplex(dst, src []complex128, inner int, at []int, mode string) {
	for k, p := range at {
		for i, v := range src[k*inner : (k+1)*inner] {
			if mode == "add" {
				dst[p*inner+i] += v
			} else {
				dst[p*inner+i] *= v
			}
		}
	}
}

// tensorScatter writes an update into a cache, at each sample's own position of
// the sequence axis.
func tensorScatter(c *Call) error {
	cache, err := c.Need(0)
	if err != nil {
		return err
	}
	upd, err := c.Need(1)
	if err != nil {
		return err
	}
	axis, err := c.normalAxis(c.IntOr("axis", -2), cache.Rank())
	if err != nil {
		return err
	}
	fits := upd.Rank() == cache.Rank() && upd.DType() == cache.DType() && axis > 0
	for k := 0; fits && k < cache.Rank(); k++ {
		fits = k == axis || upd.Shape()[k] == cache.Shape()[k]
	}
	if !fits {
		return c.Errorf("update: got %s, want %s but for axis %d, which can't be 0", upd.Summary(), cache.Summary(), axis)
	}
	first := make([]int, cache.Shape()[0])
	if c.Has(2) {
		if first, err = c.IntsAt(2); err != nil {
			return err
		}
		if len(first) != cache.Shape()[0] {
			return c.Errorf("write_indices: got %d numbers, want %d, the batch size", len(first), cache.Shape()[0])
		}
	}
	at, inner, err := c.cachePositions(cache, upd, axis, first)
	if err != nil {
		return err
	}
	if err := c.CheckSize(cache.DType(), cache.Shape()); err != nil {
		return err
	}
	out := cache.Copy()
	putBlocks(out, upd, inner, at)
	c.Out[0] = out
	return nil
}

// cachePositions returns the numbers of the blocks of the cache that the blocks
// of the update go to.
func (c *Call) cachePositions(cache, upd *array.Array, axis int, first []int) (at []int, inner int, err error) {
	mode := c.Str("mode")
	if mode != "" && mode != "linear" && mode != "circular" {
		return nil, 0, c.Errorf("mode: got %q, want \"linear\" or \"circular\"", mode)
	}
	outer, most, inner := splitAt(cache.Shape(), axis)
	n := upd.Shape()[axis]
	perBatch := sizeOf(cache.Shape()[1:axis])
	for o := range outer {
		start := first[o/max(perBatch, 1)]
		if mode != "circular" && (start < 0 || start > most-n) {
			return nil, 0, c.Errorf("write_indices: got %d for %d elements, want 0 to %d", start, n, most-n)
		}
		if mode == "circular" && (start < 0 || n > most) {
			return nil, 0, c.Errorf("write_indices: got %d for %d elements, want a number ≥ 0 and at most %d elements", start, n, most)
		}
		for i := range n {
			at = append(at, o*most+(start%max(most, 1)+i)%max(most, 1))
		}
	}
	return at, inner, nil
}

var scatterOps = []Op{
	{Name: "Scatter", Since: 9, Checks: []Check{indicesFit, alike(1, 2)}, Infer: inferSame, Eval: scatterElements},
	{Name: "ScatterElements", Since: 11, Checks: []Check{indicesFit, alike(1, 2), oneOf("reduction", "none", "add", "mul", "max", "min")}, Infer: inferSame, Eval: scatterElements},
	{Name: "ScatterND", Since: 11, Checks: []Check{rankIn(0, 1, -1), rankIn(1, 1, -1), updatesFit, oneOf("reduction", "none", "add", "mul", "max", "min")}, Infer: inferScatterND, Eval: scatterND},
	{Name: "TensorScatter", Since: 24, Infer: inferSame, Eval: tensorScatter},
}

// inferScatterND follows elements that are written at known places, as in a
// shape of which one size is replaced.
func inferScatterND(c *Infer) error {
	if err := inferSame(c); err != nil {
		return err
	}
	es, upd := c.ElemsAt(0), c.ElemsAt(2)
	at, ok := c.IntsAt(1)
	if mode := c.Str("reduction"); es == nil || upd == nil || !ok || len(c.Fact(0).Dims) != 1 || len(at) != len(upd) || mode != "" && mode != "none" {
		return nil
	}
	out := append(es[:0:0], es...)
	for i, p := range at {
		if p < 0 {
			p += len(out)
		}
		if p < 0 || p >= len(out) {
			return c.Errorf("indices: got %d, want %d to %d", at[i], -len(es), len(es)-1)
		}
		out[p] = upd[i]
	}
	c.Out[0].Elems = out
	return nil
}
