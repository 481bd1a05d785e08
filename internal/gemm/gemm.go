// Package gemm multiplies matrices of float32, row-major, on all processors.
//
// It follows Goto and van de Geijn, "Anatomy of High-Performance Matrix
// Multiplication" (2008): both operands are brought into panels, narrow strips
// that are read from end to end, and a small kernel multiplies a panel of each
// into a tile of the result that it holds in registers. The kernel is assembly
// where the processor has AVX-512 or AVX2 with FMA, Go elsewhere.
//
// An element's products are summed in one order, whatever the number of
// processors: the same machine gives the same bits.
package gemm

import (
	"sync"

	"github.com/starlarkgs/starlarkgs/internal/par"
)

// kernel multiplies a panel of mr rows and a panel of nr columns, k long, and
// adds the product to the tile c, whose rows are ldc apart.
type kernel struct {
	mr, nr int
	tile   func(k int, a, b, c *float32, ldc int)
}

const (
	depth   = 256 // of panels: a panel of columns stays in the first cache
	columns = 128 // at least, packed at once so that they stay in the second cache
	wide    = 512 // columns of a row that is not packed
	// grain is the multiplications that are worth a goroutine.
	grain = 1 << 17
	// few is the rows, or columns, below which panels would be mostly empty.
	few = 3
)

// Rows returns row p of a matrix from column lo up to hi: in buf, or in memory
// of its own, which the caller does not keep.
type Rows func(p, lo, hi int, buf []float32) []float32

// RowsOf returns the rows of a matrix in memory with n columns.
func RowsOf(b []float32, n int) Rows {
	return func(p, lo, hi int, _ []float32) []float32 { return b[p*n+lo : p*n+hi] }
}

var scratch = sync.Pool{New: func() any { return new([]float32) }}

// borrow returns a scratch slice; give hands it back.
func borrow(n int) *[]float32 {
	s := scratch.Get().(*[]float32)
	if cap(*s) < n {
		*s = make([]float32, n)
	}
	*s = (*s)[:n]
	return s
}

func give(s *[]float32) { scratch.Put(s) }

// Mul computes c += op(a)·op(b), op(a) being m×k and op(b) k×n: each is the
// matrix in memory or, where ta or tb says so, its transpose.
func Mul(ta, tb bool, m, n, k int, a, b, c []float32) {
	switch {
	case !ta && !tb:
		Add(m, n, k, a, RowsOf(b, n), c)
	case !ta:
		AddDots(m, n, k, a, b, c)
	case !tb:
		AddTransposed(m, n, k, a, RowsOf(b, n), c)
	default:
		turned := borrow(n * k)
		defer give(turned)
		transpose(*turned, b, n, k)
		AddTransposed(m, n, k, a, RowsOf(*turned, n), c)
	}
}

// Add computes c += a·b, a being m×k and c m×n in memory.
func Add(m, n, k int, a []float32, b Rows, c []float32) {
	switch {
	case m == 0 || n == 0 || k == 0:
	case m <= few:
		addRows(m, n, k, a, b, c)
	case n <= few:
		addColumns(m, n, k, a, b, c)
	default:
		addPanels(best, m, n, k, a, false, b, c)
	}
}

// AddTransposed computes c += aᵀ·b, a being k×m in memory.
func AddTransposed(m, n, k int, a []float32, b Rows, c []float32) {
	if m > 0 && n > 0 && k > 0 {
		addPanels(best, m, n, k, a, true, b, c)
	}
}

// AddDots computes c += a·bᵀ, a being m×k and b n×k in memory.
func AddDots(m, n, k int, a, b, c []float32) {
	if m <= few || n <= few || k < 8 {
		addDots(m, n, k, a, b, c)
		return
	}
	turned := borrow(n * k)
	defer give(turned)
	transpose(*turned, b, n, k)
	Add(m, n, k, a, RowsOf(*turned, n), c)
}

func addDots(m, n, k int, a, b, c []float32) {
	par.For(m*n, max(1, grain/max(k, 1)), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			c[i] += Dot(a[i/n*k:][:k], b[i%n*k:][:k])
		}
	})
}

// addColumns multiplies each row of a with the few columns of b.
func addColumns(m, n, k int, a []float32, b Rows, c []float32) {
	cols := borrow(n * k)
	defer give(cols)
	var buf [few]float32
	for p := range k {
		for j, v := range b(p, 0, n, buf[:n]) {
			(*cols)[j*k+p] = v
		}
	}
	addDots(m, n, k, a, *cols, c)
}

// transpose writes the n×k matrix b as k×n, block by block.
func transpose(out, b []float32, n, k int) {
	const block = 32
	par.For((n+block-1)/block, max(1, grain/(block*k)), func(lo, hi int) {
		for j0 := lo * block; j0 < min(hi*block, n); j0 += block {
			for p0 := 0; p0 < k; p0 += block {
				for j := j0; j < min(j0+block, n); j++ {
					for p := p0; p < min(p0+block, k); p++ {
						out[p*n+j] = b[j*k+p]
					}
				}
			}
		}
	})
}

// addRows goes over the rows of b once for each row of a.
func addRows(m, n, k int, a []float32, b Rows, c []float32) {
	par.For((n+wide-1)/wide, max(1, grain/(m*k*wide)), func(lo, hi int) {
		buf := borrow(wide)
		defer give(buf)
		for j := lo * wide; j < min(hi*wide, n); j += wide {
			end := min(j+wide, n)
			for p := range k {
				row := b(p, j, end, *buf)
				for i := range m {
					Axpy(c[i*n+j:i*n+end], a[i*k+p], row)
				}
			}
		}
	})
}

func up(n, to int) int { return (n + to - 1) / to * to }

// packed is the left matrix in panels of mr rows, one part of the depth after
// the other.
type packed struct {
	kernel
	data    []float32
	m, k    int
	padded  int // rows, those that fill the last panel included
	borrows *[]float32
}

func pack(u kernel, m, k int, a []float32, transposed bool) *packed {
	x := &packed{kernel: u, m: m, k: k, padded: up(m, u.mr)}
	x.borrows = borrow(x.padded * k)
	x.data = *x.borrows
	si, sp := k, 1 // steps from row to row and from column to column
	if transposed {
		si, sp = 1, m
	}
	par.For(x.padded/u.mr, max(1, grain/(u.mr*k)), func(lo, hi int) {
		for panel := lo; panel < hi; panel++ {
			for p0 := 0; p0 < k; p0 += depth {
				n := min(depth, k-p0)
				x.fill(x.panel(panel, p0, n), a, panel*u.mr, p0, si, sp)
			}
		}
	})
	return x
}

// panel returns the part of a panel that begins at depth p0 and is n deep.
func (x *packed) panel(i, p0, n int) []float32 {
	return x.data[p0*x.padded+i*x.mr*n:][:x.mr*n]
}

// fill packs a panel: element r of step p is a[(row+r)·si + (p0+p)·sp].
func (x *packed) fill(dst, a []float32, row, p0, si, sp int) {
	if sp == 1 && x.mr == 8 && row+8 <= x.m {
		pack8(dst, a[row*si+p0:], si)
		return
	}
	for r := range x.mr {
		if row+r >= x.m {
			for i := r; i < len(dst); i += x.mr {
				dst[i] = 0
			}
			continue
		}
		at := (row+r)*si + p0*sp
		for i := r; i < len(dst); i += x.mr {
			dst[i] = a[at]
			at += sp
		}
	}
}

// pack8 interleaves eight rows that begin si apart.
func pack8(dst, a []float32, si int) {
	n := len(dst) / 8
	r0, r1, r2, r3 := a[:n], a[si:][:n], a[2*si:][:n], a[3*si:][:n]
	r4, r5, r6, r7 := a[4*si:][:n], a[5*si:][:n], a[6*si:][:n], a[7*si:][:n]
	for p := range n {
		d := (*[8]float32)(dst[8*p:])
		d[0], d[1], d[2], d[3] = r0[p], r1[p], r2[p], r3[p]
		d[4], d[5], d[6], d[7] = r4[p], r5[p], r6[p], r7[p]
	}
}

// width returns the columns of a block, which whole panels fill.
func (u kernel) width() int { return up(columns, u.nr) }

// addPanels is the general product. Its parts are blocks of columns or, when
// there are few of them, panels of rows.
func addPanels(u kernel, m, n, k int, a []float32, transposed bool, b Rows, c []float32) {
	x := pack(u, m, k, a, transposed)
	defer give(x.borrows)
	width := u.width()
	blocks := (n + width - 1) / width
	if blocks > 3 {
		par.For(blocks, max(1, grain/(x.padded*k*width)), func(lo, hi int) {
			w := newWorker(x, n, b, c)
			defer w.close()
			for j := lo * width; j < min(hi*width, n); j += width {
				w.block(j, func(panels int, f func(lo, hi int)) { f(0, panels) })
			}
		})
		return
	}
	w := newWorker(x, n, b, c)
	defer w.close()
	for j := 0; j < n; j += width {
		w.block(j, func(panels int, f func(lo, hi int)) {
			par.For(panels, max(1, grain/(x.mr*min(width, n-j)*min(k, depth))), f)
		})
	}
}

// worker multiplies blocks of columns.
type worker struct {
	*packed
	n            int
	b            Rows
	c            []float32
	panels, line *[]float32
}

func newWorker(x *packed, n int, b Rows, c []float32) *worker {
	return &worker{x, n, b, c, borrow(x.width() * min(depth, x.k)), borrow(x.width())}
}

func (w *worker) close() {
	give(w.panels)
	give(w.line)
}

// block does the columns from j on; rows runs a loop over the panels of rows.
func (w *worker) block(j int, rows func(panels int, f func(lo, hi int))) {
	end := min(j+w.width(), w.n)
	for p0 := 0; p0 < w.k; p0 += depth {
		n := min(depth, w.k-p0)
		w.load(p0, n, j, end)
		rows(w.padded/w.mr, func(lo, hi int) {
			var edge []float32
			for i := lo; i < hi; i++ {
				a := w.panel(i, p0, n)
				for q, col := 0, j; col < end; q, col = q+1, col+w.nr {
					b := (*w.panels)[q*w.nr*n:]
					if row := i * w.mr; row+w.mr <= w.m && col+w.nr <= w.n {
						w.tile(n, &a[0], &b[0], &w.c[row*w.n+col], w.n)
						continue
					}
					if edge == nil {
						edge = make([]float32, w.mr*w.nr)
					}
					w.edge(n, a, b, i*w.mr, col, edge)
				}
			}
		})
	}
}

// load packs rows p0 to p0+n of the columns from j up to end.
func (w *worker) load(p0, n, j, end int) {
	for p := range n {
		row := w.b(p0+p, j, end, (*w.line)[:end-j])
		for q := 0; len(row) > 0; q++ {
			dst := (*w.panels)[(q*n+p)*w.nr:][:w.nr]
			filled := copy(dst, row)
			clear(dst[filled:])
			row = row[filled:]
		}
	}
}

// edge multiplies a tile that reaches beyond the result.
func (w *worker) edge(k int, a, b []float32, row, col int, tile []float32) {
	clear(tile)
	w.tile(k, &a[0], &b[0], &tile[0], w.nr)
	width := min(w.nr, w.n-col)
	for i := range min(w.mr, w.m-row) {
		dst := w.c[(row+i)*w.n+col:][:width]
		for j, v := range tile[i*w.nr:][:width] {
			dst[j] += v
		}
	}
}
