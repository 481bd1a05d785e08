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
	rank := len(in) - 2
	inDims, outDims := in[2:], shape[2:]
	outSize := 1
	for _, d := range outDims {
		outSize *= d
	}
	planes := in[0] * in[1]
	par.For(planes, max(1, rowGrain/max(outSize, 1)), func(lo, hi int) {
		at := make([]int, 0, 64)
		pos, k := make([]int, rank), make([]int, rank)
		for p := lo; p < hi; p++ {
			for o := range outSize {
				rest := o
				for i := rank - 1; i >= 0; i-- {
					pos[i] = rest % outDims[i]
					rest /= outDims[i]
				}
				at = covered(w, inDims, pos, k, at[:0])
				f(p, p*outSize+o, at)
			}
		}
	})
}

func covered(w *window, in, pos, k, at []int) []int {
	clear(k)
	for {
		idx, ok := 0, true
		for i := range k {
			p := pos[i]*w.strides[i] + k[i]*w.dilations[i] - w.before[i]
			ok = ok && p >= 0 && p < in[i]
			idx = idx*in[i] + p
		}
		if ok {
			at = append(at, idx)
		}
		i := len(k) - 1
		for ; i >= 0; i-- {
			if k[i]++; k[i] < w.kernel[i] {
				break
			}
			k[i] = 0
		}
		if i < 0 {
			return at
		}
	}
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
		pos := o % out[i]
		o /= out[i]
		n := 0
		for k := range w.kernel[i] {
			if p := pos*w.strides[i] + k*w.dilations[i] - w.before[i]; p < in[i]+w.after[i] {
				n++
			}
		}
		count *= n
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
		x, err := a.Float64s()
		if err != nil {
			return err
		}
		shape := append(append([]int{}, a.Shape()[:2]...), ones(a.Rank()-2)...)
		out, err := c.Make(array.Float64, shape)
		if err != nil {
			return err
		}
		dst, n := array.MutableData[float64](out), spatialSize(a.Shape())
		for i := range dst {
			dst[i] = f(x[i*n : (i+1)*n])
		}
		c.Out[0], err = out.Cast(a.DType())
		return err
	}
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
	{Name: "LpPool", Since: 1, Infer: inferPool, Eval: lpPool},
	{Name: "MaxPool", Since: 1, Infer: inferPool, Eval: maxPool},
	{Name: "AveragePool", Since: 1, Infer: inferPool, Eval: averagePool},
	{Name: "GlobalAveragePool", Since: 1, Infer: inferGlobalPool, Eval: globalPool(mean)},
	{Name: "GlobalMaxPool", Since: 1, Infer: inferGlobalPool, Eval: globalPool(largest)},
}
