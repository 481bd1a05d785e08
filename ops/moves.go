package ops

import (
	"unsafe"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/par"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// The kernels that only move elements (Transpose, Slice, Gather, …) stand on
// three movers: copyStrided copies a box between two strided places, takeBlocks
// collects blocks by number, putBlocks lays them down by number. They see
// elements as words of 1 to 16 bytes, so one loop serves all types of a width.

// strided says where the elements of a box lie in row-major memory: the first
// one's position, and the step of each axis.
type strided struct {
	offset int
	steps  []int
}

// rowMajor returns the steps of a row-major array of that shape.
func rowMajor(shape []int) []int {
	steps := make([]int, len(shape))
	step := 1
	for i := len(shape) - 1; i >= 0; i-- {
		steps[i] = step
		step *= shape[i]
	}
	return steps
}

// word is what an element is moved as.
type word interface {
	uint8 | uint16 | uint32 | uint64 | [2]uint64
}

// words views bytes as words; memory that the processor can't read as such is
// copied.
func words[T word](raw []byte) []T {
	var zero T
	size := int(unsafe.Sizeof(zero))
	if len(raw) < size {
		return nil
	}
	p := unsafe.Pointer(unsafe.SliceData(raw))
	if array.ReadsUnaligned || uintptr(p)%unsafe.Alignof(zero) == 0 {
		return unsafe.Slice((*T)(p), len(raw)/size)
	}
	out := make([]T, len(raw)/size)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(out))), len(out)*size), raw)
	return out
}

// rawOf returns the bytes of a loaded array.
func rawOf(a *array.Array) []byte {
	b, err := a.Bytes()
	if err != nil {
		panic(err) // inputs are loaded before a kernel runs
	}
	return b
}

// box is a copy of elements between two strided places, laid out for its loop:
// outer axes, then rows, then the elements of a row.
type box struct {
	outer              []int
	outerTo, outerFrom []int
	rows, n            int
	rowTo, rowFrom     int
	to, from           int // the steps within a row
	offTo, offFrom     int
	tile               bool // rows and elements are walked in square tiles
}

// newBox merges axes that run on in both places, and picks the axes of the
// inner loops; nil when there is nothing to copy.
func newBox(shape []int, to, from strided) *box {
	var dims, ts, fs []int
	for i, d := range shape {
		if d == 0 {
			return nil
		}
		if d == 1 {
			continue
		}
		if k := len(dims) - 1; k >= 0 && ts[k] == d*to.steps[i] && fs[k] == d*from.steps[i] {
			dims[k], ts[k], fs[k] = dims[k]*d, to.steps[i], from.steps[i]
			continue
		}
		dims, ts, fs = append(dims, d), append(ts, to.steps[i]), append(fs, from.steps[i])
	}
	b := &box{rows: 1, n: 1, to: 1, from: 1, offTo: to.offset, offFrom: from.offset}
	if k := len(dims) - 1; k >= 0 {
		b.n, b.to, b.from = dims[k], ts[k], fs[k]
		dims, ts, fs = dims[:k], ts[:k], fs[:k]
	}
	r := len(dims) - 1
	if b.from != 1 && b.from != 0 {
		for i := range dims { // rows along the axis that runs on in the source
			if fs[i] == 1 {
				r, b.tile = i, true
			}
		}
	}
	for i, d := range dims {
		if i == r {
			b.rows, b.rowTo, b.rowFrom = d, ts[i], fs[i]
			continue
		}
		b.outer, b.outerTo, b.outerFrom = append(b.outer, d), append(b.outerTo, ts[i]), append(b.outerFrom, fs[i])
	}
	return b
}

// at returns where outer position i begins in both places.
func (b *box) at(i int) (to, from int) {
	to, from = b.offTo, b.offFrom
	for k := len(b.outer) - 1; k >= 0; k-- {
		j := i % b.outer[k]
		i /= b.outer[k]
		to += j * b.outerTo[k]
		from += j * b.outerFrom[k]
	}
	return to, from
}

const tileSize = 32

// moveBox runs the copy, in parts of some rows.
func moveBox[T any](b *box, dst, src []T) {
	outer := 1
	for _, d := range b.outer {
		outer *= d
	}
	block := tileSize
	if !b.tile {
		block = max(1, min(b.rows, rowGrain/b.n))
	}
	blocks := (b.rows + block - 1) / block
	par.For(outer*blocks, max(1, rowGrain/(block*b.n)), func(lo, hi int) {
		for u := lo; u < hi; u++ {
			d, s := b.at(u / blocks)
			first := u % blocks * block
			moveRows(b, dst, src, d+first*b.rowTo, s+first*b.rowFrom, min(block, b.rows-first))
		}
	})
}

func moveRows[T any](b *box, dst, src []T, d, s, rows int) {
	switch {
	case b.to == 1 && b.from == 1:
		for range rows {
			copy(dst[d:d+b.n], src[s:s+b.n])
			d, s = d+b.rowTo, s+b.rowFrom
		}
	case b.to == 1 && b.from == 0:
		for range rows {
			v, row := src[s], dst[d:d+b.n]
			for i := range row {
				row[i] = v
			}
			d, s = d+b.rowTo, s+b.rowFrom
		}
	case b.tile:
		for i := 0; i < b.n; i += tileSize {
			moveSteps(b, dst, src, d+i*b.to, s+i*b.from, rows, min(tileSize, b.n-i))
		}
	default:
		moveSteps(b, dst, src, d, s, rows, b.n)
	}
}

func moveSteps[T any](b *box, dst, src []T, d, s, rows, n int) {
	for range rows {
		x, y := d, s
		for range n {
			dst[x] = src[y]
			x, y = x+b.to, y+b.from
		}
		d, s = d+b.rowTo, s+b.rowFrom
	}
}

// copyStrided copies a box of that shape from src, where it lies as from says,
// into dst, memory of a kernel's own of the same type.
func copyStrided(dst, src *array.Array, shape []int, to, from strided) {
	b := newBox(shape, to, from)
	if b == nil {
		return
	}
	switch dt := dst.DType(); {
	case dt == array.String:
		moveBox(b, array.MutableStrings(dst), src.Strings())
	case dt.Bits() == 8:
		moveBox(b, words[uint8](rawOf(dst)), words[uint8](rawOf(src)))
	case dt.Bits() == 16:
		moveBox(b, words[uint16](rawOf(dst)), words[uint16](rawOf(src)))
	case dt.Bits() == 32:
		moveBox(b, words[uint32](rawOf(dst)), words[uint32](rawOf(src)))
	case dt.Bits() == 64:
		moveBox(b, words[uint64](rawOf(dst)), words[uint64](rawOf(src)))
	case dt.Bits() == 128:
		moveBox(b, words[[2]uint64](rawOf(dst)), words[[2]uint64](rawOf(src)))
	default: // packed: several elements share a byte
		wide := unpacked(dst)
		moveBox(b, wide, unpacked(src))
		repack(dst, wide)
	}
}

// unpacked returns the bits of the elements of a packed type, one to a byte.
func unpacked(a *array.Array) []int8 { return array.Unpack4(a) }

// repack stores such bits.
func repack(a *array.Array, bits []int8) {
	array.PackBits(rawOf(a), a.DType().Bits(), bits)
}

// takeBlocks copies block at[k] of src, of inner elements, to block k of dst; a
// negative number leaves dst's block as it is.
func takeBlocks(dst, src *array.Array, inner int, at []int) {
	moveBlocks(dst, src, inner, at, false)
}

// putBlocks copies block k of src to block at[k] of dst, in this order.
func putBlocks(dst, src *array.Array, inner int, at []int) {
	moveBlocks(dst, src, inner, at, true)
}

func moveBlocks(dst, src *array.Array, inner int, at []int, put bool) {
	if inner == 0 || len(at) == 0 {
		return
	}
	switch dt := dst.DType(); {
	case dt == array.String:
		moveWords(array.MutableStrings(dst), src.Strings(), inner, at, put)
	case dt.Bits() < 8:
		wide := unpacked(dst)
		moveWords(wide, unpacked(src), inner, at, put)
		repack(dst, wide)
	case inner == 1 && dt.Bits() == 16:
		moveWords(words[uint16](rawOf(dst)), words[uint16](rawOf(src)), 1, at, put)
	case inner == 1 && dt.Bits() == 32:
		moveWords(words[uint32](rawOf(dst)), words[uint32](rawOf(src)), 1, at, put)
	case inner == 1 && dt.Bits() == 64:
		moveWords(words[uint64](rawOf(dst)), words[uint64](rawOf(src)), 1, at, put)
	default:
		moveWords(rawOf(dst), rawOf(src), inner*dt.Bits()/8, at, put)
	}
}

func moveWords[T any](dst, src []T, inner int, at []int, put bool) {
	switch {
	case put: // in order: a later block may overwrite an earlier one
		for k, p := range at {
			copy(dst[p*inner:(p+1)*inner], src[k*inner:])
		}
	case inner == 1:
		par.For(len(at), rowGrain, func(lo, hi int) {
			for k := lo; k < hi; k++ {
				if p := at[k]; p >= 0 {
					dst[k] = src[p]
				}
			}
		})
	default:
		par.For(len(at), max(1, rowGrain/inner), func(lo, hi int) {
			for k := lo; k < hi; k++ {
				if p := at[k]; p >= 0 {
					copy(dst[k*inner:(k+1)*inner], src[p*inner:(p+1)*inner])
				}
			}
		})
	}
}

// wholeBytes returns the least number of elements of so many bits that fill whole
// bytes, and how many bytes these are.
func wholeBytes(bits int) (elems, n int) {
	elems = 1
	for elems*bits%8 != 0 {
		elems *= 2
	}
	return elems, elems * bits / 8
}

// fillWith sets every element of a kernel's own array to v, a value as At returns.
func fillWith(a *array.Array, v any) error {
	n := a.Size()
	if n == 0 {
		return nil
	}
	if a.DType() == array.String {
		s, _ := v.(string)
		for i, all := 0, array.MutableStrings(a); i < n; i++ {
			all[i] = s
		}
		return nil
	}
	first, whole := wholeBytes(a.DType().Bits())
	for i := range min(first, n) {
		if err := a.SetAt(i, v); err != nil {
			return err
		}
	}
	raw := rawOf(a)
	for done := whole; done < len(raw); done *= 2 {
		copy(raw[done:], raw[:done])
	}
	return nil
}

// mulSizes returns the product of sizes, or false where it overflows.
func mulSizes(a, b int) (int, bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	p := a * b
	return p, p/b == a && p >= 0
}

// sizeOf returns the number of elements of a shape.
func sizeOf(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// follow computes the elements of the outputs of a kernel that only moves those
// of input 0: it lets the kernel move their positions. The outputs' facts must
// be set already; where something is not known they stay as they are.
func (c *Infer) follow(eval func(*Call) error) {
	es := c.ElemsAt(0)
	shape, ok := sym.AllInts(c.Fact(0).Dims)
	if es == nil || c.Fact(0).Dims == nil || !ok || sizeOf(shape) != len(es) {
		return
	}
	at := make([]int64, len(es))
	for i := range at {
		at[i] = int64(i)
	}
	call := Call{Site: c.Site, In: make([]array.Value, len(c.In)), Out: make([]array.Value, len(c.Out)), Budget: &Budget{MaxBytes: 8 * MaxElems}}
	call.In[0] = array.FromSlice(at, shape...)
	for i := 1; i < len(c.In); i++ {
		if !c.HasIn(i) {
			continue
		}
		if call.In[i] = c.knownInts(i); call.In[i] == nil {
			return
		}
	}
	if eval(&call) != nil {
		return // what is wrong is for the kernel to say
	}
	for i, v := range call.Out {
		if a, ok := v.(*array.Array); ok && c.Out[i].Dims != nil {
			c.Out[i].Elems = pickElems(es, a)
		}
	}
}

func pickElems(es []sym.Expr, positions *array.Array) []sym.Expr {
	at, err := positions.Int64s()
	if err != nil {
		return nil
	}
	out := make([]sym.Expr, len(at))
	for i, p := range at {
		if p >= 0 && p < int64(len(es)) {
			out[i] = es[p]
		}
	}
	return out
}

// knownInts returns input i as an int64 array when its elements and shape are
// known, else nil.
func (c *Infer) knownInts(i int) array.Value {
	f := c.Fact(i)
	if f.Const != nil {
		return f.Const
	}
	ns, ok := c.IntsAt(i)
	shape, fixed := sym.AllInts(f.Dims)
	if !ok || !fixed || f.Dims == nil || sizeOf(shape) != len(ns) {
		return nil
	}
	out := make([]int64, len(ns))
	for k, n := range ns {
		out[k] = int64(n)
	}
	return array.FromSlice(out, shape...)
}
