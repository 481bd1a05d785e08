package ops

import (
	"math"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/par"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// pooled brings a pooling to its window and output shape.
func pooled(c *Call, a *array.Array) (*window, []int, error) {
	if a.Rank() < 3 {
		return nil, nil, c.Errorf("input 0: got %s, want rank 3 or more", a.Summary())
	}
	w, err := c.window(a.Rank()-2, nil)
	if err != nil {
		return nil, nil, err
	}
	shape := append([]int{}, a.Shape()[:2]...)
	for i, d := range a.Shape()[2:] {
		shape = append(shape, w.out(i, d))
	}
	return w, shape, nil
}

func inferPool(c *Infer) error {
	in := c.Fact(0)
	out := TensorFact(in.DType, nil)
	if len(in.Dims) >= 3 {
		w, err := c.window(len(in.Dims)-2, nil)
		if err != nil {
			return err
		}
		out.Dims = []sym.Expr{in.Dims[0], in.Dims[1]}
		for i, d := range in.Dims[2:] {
			out.Dims = append(out.Dims, w.symOut(i, d))
		}
	}
	c.Set(0, out)
	if len(c.Out) > 1 {
		out.DType = array.Int64
		c.Set(1, out)
	}
	return nil
}

// windows calls f for every output position of each channel: with the output's
// index and the input positions, within the channel, that the window covers.
func windows(w *window, in, shape []int, f func(plane, o int, at []int)) {
	outDims := shape[2:]
	outSize := spatialSize(shape)
	covers := w.covers(in[2:], outDims)
	par.For(in[0]*in[1], max(1, rowGrain/max(outSize, 1)), func(lo, hi int) {
		at, next := make([]int, 0, 64), make([]int, 0, 64)
		for p := lo; p < hi; p++ {
			for o := range outSize {
				at, next = covered(covers, in[2:], outDims, o, at[:0], next[:0])
				f(p, p*outSize+o, at)
			}
		}
	})
}

// cover is the part of one axis that a window covers: from, and each step on.
type cover struct{ from, count, step int }

// covers returns, for each axis and position of the output, what the window
// covers there of the input. It takes time by the input's size, not the kernel's.
func (w *window) covers(in, out []int) [][]cover {
	all := make([][]cover, len(in))
	for i, d := range in {
		all[i] = make([]cover, out[i])
		step := w.dilations[i]
		for pos := range all[i] {
			first := pos*w.strides[i] - w.before[i]
			k := 0 // the first element of the kernel that lies in the input
			if first < 0 {
				k = (-first + step - 1) / step
			}
			last := min(w.kernel[i]-1, floorDiv(d-1-first, step))
			all[i][pos] = cover{first + k*step, max(0, last-k+1), step}
		}
	}
	return all
}

func floorDiv(a, b int) int {
	if a < 0 {
		return -((-a + b - 1) / b)
	}
	return a / b
}

// covered returns the input positions, in order, of the window at output
// position o; at and next are room for them.
func covered(covers [][]cover, in, out []int, o int, at, next []int) (positions, room []int) {
	at = append(at, 0)
	size := 1
	for _, d := range out {
		size *= d
	}
	for i, axis := range covers {
		size /= max(out[i], 1)
		c := axis[o/max(size, 1)%out[i]]
		next = next[:0]
		for _, base := range at {
			for k := range c.count {
				next = append(next, base*in[i]+c.from+k*c.step)
			}
		}
		at, next = next, at
	}
	return at, next
}

// lpPool is the norm of order p of each window.
func lpPool(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	w, shape, err := pooled(c, a)
	if err != nil {
		return err
	}
	if err := c.CheckSize(array.Float64, shape); err != nil {
		return err
	}
	x, err := a.Float64s()
	if err != nil {
		return err
	}
	p := float64(c.IntOr("p", 2))
	out := array.New(array.Float64, shape...)
	y, n := array.MutableData[float64](out), spatialSize(a.Shape())
	windows(w, a.Shape(), shape, func(plane, o int, at []int) {
		sum := 0.0
		for _, i := range at {
			sum += math.Pow(math.Abs(x[plane*n+i]), p)
		}
		y[o] = math.Pow(sum, 1/p)
	})
	c.Out[0], err = out.Cast(a.DType())
	return err
}

func spatialSize(shape []int) int {
	n := 1
	for _, d := range shape[2:] {
		n *= d
	}
	return n
}

func maxPool(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	w, shape, err := pooled(c, a)
	if err != nil {
		return err
	}
	x, err := a.Cast(array.Float32)
	if a.DType() == array.Float64 {
		x, err = a, nil
	}
	if err != nil {
		return err
	}
	var idx *array.Array
	var ids []int64
	if c.Wants(1) {
		if idx, err = c.Make(array.Int64, shape); err != nil {
			return err
		}
		ids = array.MutableData[int64](idx)
		c.Out[1] = idx
	}
	if x.DType() == array.Float64 {
		out, err := c.Make(array.Float64, shape)
		if err != nil {
			return err
		}
		maxWindows(c, w, array.Data[float64](x), array.MutableData[float64](out), ids, a.Shape(), shape, math.Inf(-1))
		c.Out[0] = out
		return nil
	}
	out, err := c.Make(array.Float32, shape)
	if err != nil {
		return err
	}
	maxWindows(c, w, array.Data[float32](x), array.MutableData[float32](out), ids, a.Shape(), shape, float32(math.Inf(-1)))
	c.Out[0], err = out.Cast(a.DType())
	return err
}

func maxWindows[T float32 | float64](c *Call, w *window, x, out []T, ids []int64, in, shape []int, least T) {
	n := spatialSize(in)
	if ids == nil && len(in) == 4 {
		maxPlanes(w, x, out, in, shape, least)
		return
	}
	columns := c.Int("storage_order") != 0
	windows(w, in, shape, func(plane, o int, at []int) {
		best, where := least, 0
		for k, i := range at {
			if v := x[plane*n+i]; v > best || k == 0 {
				best, where = v, i
			}
		}
		out[o] = best
		if ids != nil {
			if columns && len(in) == 4 {
				where = where%in[3]*in[2] + where/in[3]
			}
			ids[o] = int64(plane*n + where)
		}
	})
}

// maxPlanes is maxWindows over two axes, where no positions are asked for.
func maxPlanes[T float32 | float64](w *window, x, out []T, in, shape []int, least T) {
	covers := w.covers(in[2:], shape[2:])
	n, size := spatialSize(in), spatialSize(shape)
	par.For(in[0]*in[1], max(1, rowGrain/max(size, 1)), func(lo, hi int) {
		for p := lo; p < hi; p++ {
			plane, dst := x[p*n:(p+1)*n], out[p*size:(p+1)*size]
			for _, rows := range covers[0] {
				for o, cols := range covers[1] {
					dst[o] = maxOf(rows, cols, plane, in[3], least)
				}
				dst = dst[len(covers[1]):]
			}
		}
	})
}

// maxOf returns the largest element of a window; as a comparison finds it, the
// first one when it is NaN.
func maxOf[T float32 | float64](rows, cols cover, plane []T, width int, least T) T {
	if rows.count == 0 || cols.count == 0 {
		return least
	}
	best := plane[rows.from*width+cols.from]
	for r := range rows.count {
		at := (rows.from+r*rows.step)*width + cols.from
		for range cols.count {
			if v := plane[at]; v > best {
				best = v
			}
			at += cols.step
		}
	}
	return best
}

func averagePool(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	w, shape, err := pooled(c, a)
	if err != nil {
		return err
	}
	x, err := a.Float64s()
	if err != nil {
		return err
	}
	out, err := c.Make(array.Float64, shape)
	if err != nil {
		return err
	}
	dst := array.MutableData[float64](out)
	n := spatialSize(a.Shape())
	all := c.Int("count_include_pad") != 0
	outSize := spatialSize(shape)
	windows(w, a.Shape(), shape, func(plane, o int, at []int) {
		sum := 0.0
		for _, i := range at {
			sum += x[plane*n+i]
		}
		count := len(at)
		if all {
			count = w.padded(a.Shape()[2:], shape[2:], o%outSize)
		}
		dst[o] = sum / float64(max(count, 1))
	})
	c.Out[0], err = out.Cast(a.DType())
	return err
}

// padded counts the positions of a window that lie in the input or its padding.
func (w *window) padded(in, out []int, o int) int {
	count := 1
	for i := len(in) - 1; i >= 0; i-- {
		first := o%out[i]*w.strides[i] - w.before[i]
		o /= out[i]
		count *= max(0, min(w.kernel[i]-1, floorDiv(in[i]+w.after[i]-1-first, w.dilations[i]))+1)
	}
	return count
}

// globalPool reduces all spatial axes to one element.
func globalPool(f func([]float64) float64) func(*Call) error {
	return func(c *Call) error {
		a, err := c.Need(0)
		if err != nil {
			return err
		}
		if a.Rank() < 2 {
			return c.Errorf("input 0: got %s, want rank 2 or more", a.Summary())
		}
		shape := append(append([]int{}, a.Shape()[:2]...), ones(a.Rank()-2)...)
		out, err := c.Make(array.Float64, shape)
		if err != nil {
			return err
		}
		dst, n := array.MutableData[float64](out), spatialSize(a.Shape())
		if a.DType() == array.Float32 {
			reducePlanes(array.Data[float32](a), dst, n, f)
		} else {
			x, err := a.Float64s()
			if err != nil {
				return err
			}
			reducePlanes(x, dst, n, f)
		}
		c.Out[0], err = out.Cast(a.DType())
		return err
	}
}

// reducePlanes calls f with each run of n elements.
func reducePlanes[T float32 | float64](x []T, dst []float64, n int, f func([]float64) float64) {
	par.For(len(dst), max(1, rowGrain/max(n, 1)), func(lo, hi int) {
		plane := make([]float64, n)
		for i := lo; i < hi; i++ {
			for k, v := range x[i*n : (i+1)*n] {
				plane[k] = float64(v)
			}
			dst[i] = f(plane)
		}
	})
}

// globalLpPool takes the p-norm of each plane; p was a float before opset 2.
func globalLpPool(c *Call) error {
	p := float64(c.IntOr("p", 2))
	if c.Opset < 2 {
		p = float64(c.FloatOr("p", 2))
	}
	return globalPool(func(x []float64) float64 {
		s := 0.0
		for _, v := range x {
			s += math.Pow(math.Abs(v), p)
		}
		return math.Pow(s, 1/p)
	})(c)
}

func inferGlobalPool(c *Infer) error {
	in := c.Fact(0)
	out := TensorFact(in.DType, nil)
	if len(in.Dims) >= 2 {
		out.Dims = []sym.Expr{in.Dims[0], in.Dims[1]}
		for range in.Dims[2:] {
			out.Dims = append(out.Dims, sym.Int(1))
		}
	}
	c.Set(0, out)
	return nil
}

func mean(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	return sum(x) / float64(len(x))
}

func sum(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v
	}
	return s
}

func largest(x []float64) float64 {
	m := math.Inf(-1)
	for _, v := range x {
		if v > m || math.IsNaN(v) {
			m = v
		}
	}
	return m
}

func smallest(x []float64) float64 {
	m := math.Inf(1)
	for _, v := range x {
		if v < m || math.IsNaN(v) {
			m = v
		}
	}
	return m
}

var poolOps = []Op{
	{Name: "LpPool", Since: 1, Checks: []Check{rankIn(0, 3, -1)}, Infer: inferPool, Eval: lpPool},
	{Name: "MaxPool", Since: 1, Checks: []Check{rankIn(0, 3, -1)}, Infer: inferPool, Eval: maxPool},
	{Name: "AveragePool", Since: 1, Checks: []Check{rankIn(0, 3, -1)}, Infer: inferPool, Eval: averagePool},
	{Name: "GlobalAveragePool", Since: 1, Infer: inferGlobalPool, Eval: globalPool(mean)},
	{Name: "GlobalLpPool", Since: 1, Infer: inferGlobalPool, Eval: globalLpPool},
	{Name: "GlobalMaxPool", Since: 1, Infer: inferGlobalPool, Eval: globalPool(largest)},
}
