package array

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

// getBits returns packed element i of 2 or 4 bits, the first in the low ones.
func getBits(b []byte, bits, i int) byte {
	per := 8 / bits
	return b[i/per] >> (i % per * bits) & (1<<bits - 1)
}

func setBits(b []byte, bits, i int, v byte) {
	per := 8 / bits
	shift := i % per * bits
	mask := byte(1<<bits-1) << shift
	b[i/per] = b[i/per]&^mask | v<<shift&mask
}
