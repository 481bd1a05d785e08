package array

import "unsafe"

// walk steps through the positions of a strided array in row-major order.
type walk struct {
	shape, strides []int
	at             []int
	pos            int
}

func newWalk(shape, strides []int, offset int) *walk {
	return &walk{shape: shape, strides: strides, at: make([]int, len(shape)), pos: offset}
}

func (w *walk) next() {
	for i := len(w.shape) - 1; i >= 0; i-- {
		w.at[i]++
		w.pos += w.strides[i]
		if w.at[i] < w.shape[i] {
			return
		}
		w.pos -= w.at[i] * w.strides[i]
		w.at[i] = 0
	}
}

// position returns where element i, counted in row-major order, lies.
func (a *Array) position(i int) int {
	pos := a.offset
	for k := len(a.shape) - 1; k >= 0; k-- {
		pos += i % a.shape[k] * a.strides[k]
		i /= a.shape[k]
	}
	return pos
}

// getBits returns packed element i of 2, 4 or 6 bits: the elements are one stream
// of bits, low ones first, so that one of 6 bits may lie in two bytes.
func getBits(b []byte, bits, i int) byte {
	at, shift := i*bits/8, i*bits%8
	v := b[at] >> shift
	if shift+bits > 8 {
		v |= b[at+1] << (8 - shift)
	}
	return v & (1<<bits - 1)
}

func setBits(b []byte, bits, i int, v byte) {
	at, shift := i*bits/8, i*bits%8
	mask := byte(1<<bits - 1)
	v &= mask
	b[at] = b[at]&^(mask<<shift) | v<<shift
	if shift+bits > 8 {
		b[at+1] = b[at+1]&^(mask>>(8-shift)) | v>>(8-shift)
	}
}

// copyTo copies the elements into c, fresh memory of the same type and shape.
func (a *Array) copyTo(c *Array) {
	src, dst := a.buf.bytes, c.buf.bytes
	switch bits := a.dtype.Bits(); {
	case a.Size() == 0:
	case a.dtype == String:
		gather(c.buf.strs, a.buf.strs, a)
	case bits == 8:
		gather(dst, src, a)
	case bits == 16:
		gather(words[[2]byte](dst), words[[2]byte](src), a)
	case bits == 32:
		gather(words[[4]byte](dst), words[[4]byte](src), a)
	case bits == 64:
		gather(words[[8]byte](dst), words[[8]byte](src), a)
	case bits == 128:
		gather(words[[16]byte](dst), words[[16]byte](src), a)
	default:
		it := newWalk(a.shape, a.strides, a.offset)
		for i := range a.Size() {
			setBits(dst, bits, i, getBits(src, bits, it.pos))
			it.next()
		}
	}
}

// words returns memory as elements of one width, for which no alignment is
// asked: T is an array of bytes.
func words[T [2]byte | [4]byte | [8]byte | [16]byte](b []byte) []T {
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/len(zero))
}

// gather copies the elements that a's shape and strides pick from src into dst,
// row by row.
func gather[T any](dst, src []T, a *Array) {
	shape, strides := merged(a.shape, a.strides)
	last := len(shape) - 1
	n, step := shape[last], strides[last]
	rows := newWalk(shape[:last], strides[:last], a.offset)
	for len(dst) > 0 {
		row, p := dst[:n], rows.pos
		if step == 1 {
			copy(row, src[p:p+n])
		} else {
			for i := range row {
				row[i] = src[p]
				p += step
			}
		}
		dst = dst[n:]
		rows.next()
	}
}

// merged returns a shape and strides of the same elements with as few axes as
// possible, at least one: axes of size 1 go, and an axis whose steps continue
// those of the next joins it.
func merged(shape, strides []int) (sizes, steps []int) {
	for i, d := range shape {
		k := len(sizes) - 1
		switch {
		case d == 1:
		case k >= 0 && steps[k] == strides[i]*d:
			sizes[k], steps[k] = sizes[k]*d, strides[i]
		default:
			sizes, steps = append(sizes, d), append(steps, strides[i])
		}
	}
	if len(sizes) == 0 {
		return []int{1}, []int{1}
	}
	return sizes, steps
}
