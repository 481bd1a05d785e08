package ops

import (
	"math"
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/par"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// resizing is what a Resize does to each axis.
type resizing struct {
	in, out []int
	scales  []float64
	roi     []float64 // starts, then ends; nil for none
}

// resizeInputs returns where scales and sizes lie in the opset.
func resizeInputs(opset int) (scales, sizes int) {
	if opset < 11 {
		return 1, -1
	}
	return 2, 3
}

// resizeAxes returns the axes that scales and sizes speak of.
func (s *Site) resizeAxes(rank int) ([]int, error) {
	axes := s.Ints("axes")
	if axes == nil {
		for i := range rank {
			axes = append(axes, i)
		}
		return axes, nil
	}
	out := make([]int, len(axes))
	for i, a := range axes {
		n, err := s.normalAxis(a, rank)
		if err != nil {
			return nil, err
		}
		out[i] = n
	}
	return out, nil
}

func planResize(c *Call, a *array.Array) (*resizing, error) {
	rank := a.Rank()
	axes, err := c.resizeAxes(rank)
	if err != nil {
		return nil, err
	}
	r := &resizing{in: a.Shape(), out: slices.Clone(a.Shape()), scales: make([]float64, rank)}
	for i := range r.scales {
		r.scales[i] = 1
	}
	at, sizesAt := resizeInputs(c.Opset)
	switch {
	case c.Opset >= 10 || c.Has(1):
		if s := c.Array(at); s != nil && s.Size() > 0 {
			err = r.byScales(c, s, axes)
		} else if sizesAt >= 0 && c.Has(sizesAt) {
			err = r.bySizes(c, sizesAt, axes)
		} else {
			err = c.Errorf("got neither scales nor sizes, want one of them")
		}
	default:
		err = r.byScales(c, array.FromSlice(c.Floats("scales")), axes)
	}
	if err != nil {
		return nil, err
	}
	if roi := c.Array(1); roi != nil && c.Opset >= 11 && c.Str("coordinate_transformation_mode") == "tf_crop_and_resize" {
		return r, r.setROI(c, roi, axes)
	}
	return r, nil
}

func (r *resizing) byScales(c *Call, s *array.Array, axes []int) error {
	x, err := s.Float64s()
	if err != nil {
		return err
	}
	if len(x) != len(axes) {
		return c.Errorf("scales: got %d numbers, want %d", len(x), len(axes))
	}
	for i, axis := range axes {
		if !(x[i] > 0) || x[i] > 1<<20 {
			return c.Errorf("scales: got %v, want positive numbers", x)
		}
		r.scales[axis] = x[i]
		r.out[axis] = int(math.Floor(float64(r.in[axis]) * x[i]))
	}
	return nil
}

func (r *resizing) bySizes(c *Call, at int, axes []int) error {
	sizes, err := c.IntsAt(at)
	if err != nil {
		return err
	}
	if len(sizes) != len(axes) {
		return c.Errorf("sizes: got %d numbers, want %d", len(sizes), len(axes))
	}
	if !r.keepAspect(sizes, axes, c.Str("keep_aspect_ratio_policy")) {
		return c.Errorf("sizes: got %v for shape %v, want sizes ≥ 0 of axes that are not empty", sizes, r.in)
	}
	return nil
}

// keepsAspect reports whether sizes are limits for a common scale.
func (s *Site) keepsAspect() bool {
	policy := s.Str("keep_aspect_ratio_policy")
	return policy == "not_larger" || policy == "not_smaller"
}

// keepAspect sets sizes and scales of the axes, one scale for all where the
// policy asks for it; false for sizes that can't be.
func (r *resizing) keepAspect(sizes, axes []int, policy string) bool {
	var common float64
	for i, axis := range axes {
		if sizes[i] < 0 || r.in[axis] == 0 {
			return false
		}
		s := float64(sizes[i]) / float64(r.in[axis])
		r.out[axis], r.scales[axis] = sizes[i], s
		if i == 0 || policy == "not_larger" && s < common || policy == "not_smaller" && s > common {
			common = s
		}
	}
	if policy == "not_larger" || policy == "not_smaller" {
		for _, axis := range axes {
			r.scales[axis] = common
			r.out[axis] = int(math.Floor(common*float64(r.in[axis]) + 0.5))
		}
	}
	return true
}

func (r *resizing) setROI(c *Call, roi *array.Array, axes []int) error {
	x, err := roi.Float64s()
	if err != nil {
		return err
	}
	if len(x) != 2*len(axes) {
		return c.Errorf("roi: got %d numbers, want %d", len(x), 2*len(axes))
	}
	rank := len(r.in)
	r.roi = make([]float64, 2*rank)
	for i := range rank {
		r.roi[rank+i] = 1
	}
	for i, axis := range axes {
		r.roi[axis], r.roi[rank+axis] = x[i], x[len(axes)+i]
	}
	return nil
}

// source returns where position i of the output lies in the input's axis.
func (r *resizing) source(mode string, axis, i int) float64 {
	x, scale := float64(i), r.scales[axis]
	in, out := float64(r.in[axis]), float64(r.out[axis])
	switch mode {
	case "align_corners":
		if out == 1 {
			return 0
		}
		return x * (in - 1) / (in*scale - 1)
	case "asymmetric":
		return x / scale
	case "pytorch_half_pixel":
		if in*scale <= 1 {
			return 0
		}
	case "tf_half_pixel_for_nn":
		return (x + 0.5) / scale
	case "half_pixel_symmetric":
		adjust := out / (in * scale)
		center := in / 2
		return center*(1-adjust) + (x+0.5)/scale - 0.5
	case "tf_crop_and_resize":
		start, end := r.roi[axis], r.roi[len(r.in)+axis]
		if out > 1 {
			return start*(in-1) + x*(end-start)*(in-1)/(out-1)
		}
		return 0.5 * (start + end) * (in - 1)
	}
	return (x+0.5)/scale - 0.5
}

func nearest(x float64, mode string) int {
	switch mode {
	case "round_prefer_ceil":
		return int(math.Floor(x + 0.5))
	case "floor":
		return int(math.Floor(x))
	case "ceil":
		return int(math.Ceil(x))
	}
	return int(math.Ceil(x - 0.5))
}

// tap is one input position with its weight.
type tap struct {
	at int
	w  float64
}

// filter returns the taps of an output position: of the linear or the cubic
// kernel, stretched where antialias asks for it.
func (r *resizing) filter(c *Call, kind string, axis int, x float64) []tap {
	stretch := 1.0
	if c.Int("antialias") != 0 && r.scales[axis] < 1 {
		stretch = r.scales[axis]
	}
	half := 1.0
	if kind == "cubic" {
		half = 2
	}
	a := float64(c.FloatOr("cubic_coeff_a", -0.75))
	lo, hi := int(math.Floor(x-half/stretch))+1, int(math.Ceil(x+half/stretch))-1
	if lo > hi {
		lo, hi = int(math.Floor(x)), int(math.Floor(x))
	}
	outside := c.Int("exclude_outside") != 0
	var taps []tap
	total := 0.0
	for i := lo; i <= hi; i++ {
		d := math.Abs(x-float64(i)) * stretch
		w := max(0, 1-d)
		if kind == "cubic" {
			w = cubic(d, a)
		}
		at := i
		if at < 0 || at >= r.in[axis] {
			if outside {
				continue
			}
			at = min(max(at, 0), r.in[axis]-1)
		}
		taps = append(taps, tap{at, w})
		total += w
	}
	if (outside || stretch < 1) && total != 0 {
		for i := range taps {
			taps[i].w /= total
		}
	}
	return taps
}

func cubic(d, a float64) float64 {
	switch {
	case d <= 1:
		return (a+2)*d*d*d - (a+3)*d*d + 1
	case d < 2:
		return a*d*d*d - 5*a*d*d + 8*a*d - 4*a
	}
	return 0
}

func resize(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	r, err := planResize(c, a)
	if err != nil {
		return err
	}
	if err := c.CheckSize(a.DType(), r.out); err != nil {
		return err
	}
	kind := c.Str("mode")
	if kind == "bilinear" || kind == "trilinear" {
		kind = "linear"
	}
	mode := c.Str("coordinate_transformation_mode")
	if c.Opset < 11 {
		mode = "asymmetric"
	}
	if kind == "nearest" || kind == "" {
		return r.nearest(c, a, mode)
	}
	if kind != "linear" && kind != "cubic" {
		return c.Errorf("attribute \"mode\": got %q, want \"nearest\", \"linear\" or \"cubic\"", kind)
	}
	x, err := a.Float64s()
	if err != nil {
		return err
	}
	shape := slices.Clone(r.in)
	for axis := range shape {
		if r.out[axis] == r.in[axis] && r.scales[axis] == 1 && r.roi == nil {
			continue
		}
		x = r.interpolate(c, kind, mode, x, shape, axis)
		shape[axis] = r.out[axis]
	}
	out := array.FromSlice(x, shape...)
	if a.DType().IsInt() {
		for i, v := range x {
			x[i] = math.RoundToEven(v)
		}
	}
	c.Out[0], err = out.Cast(a.DType())
	return err
}

// interpolate resizes one axis.
func (r *resizing) interpolate(c *Call, kind, mode string, x []float64, shape []int, axis int) []float64 {
	outer, n, inner := splitAt(shape, axis)
	m := r.out[axis]
	out := make([]float64, outer*m*inner)
	for i := range m {
		pos := r.source(mode, axis, i)
		beyond := mode == "tf_crop_and_resize" && (pos < 0 || pos > float64(n-1))
		taps := r.filter(c, kind, axis, pos)
		for o := range outer {
			dst := out[(o*m+i)*inner : (o*m+i+1)*inner]
			if beyond {
				for k := range dst {
					dst[k] = float64(c.Float("extrapolation_value"))
				}
				continue
			}
			for _, t := range taps {
				for k, v := range x[(o*n+t.at)*inner : (o*n+t.at+1)*inner] {
					dst[k] += t.w * v
				}
			}
		}
	}
	return out
}

func (r *resizing) nearest(c *Call, a *array.Array, mode string) error {
	rounding := c.Str("nearest_mode")
	if c.Opset < 11 {
		rounding = "floor"
	}
	maps := make([][]int, len(r.in))
	for axis := range r.in {
		maps[axis] = make([]int, r.out[axis])
		for i := range maps[axis] {
			p := i
			if r.out[axis] != r.in[axis] || r.scales[axis] != 1 || r.roi != nil {
				x := r.source(mode, axis, i)
				p = nearest(x, rounding)
				if mode == "tf_crop_and_resize" && (x < 0 || x > float64(r.in[axis]-1)) {
					p = -1
				} else {
					p = min(max(p, 0), r.in[axis]-1)
				}
			}
			maps[axis][i] = p
		}
	}
	out, err := c.Make(a.DType(), r.out)
	if err != nil {
		return err
	}
	if a.DType() == array.Float32 {
		pickRows(array.Data[float32](a), array.MutableData[float32](out), r.in, r.out, maps, c.Float("extrapolation_value"))
		c.Out[0] = out
		return nil
	}
	return padFill(c, a, out, maps, float64(c.Float("extrapolation_value")))
}

func pickRows(in, out []float32, inShape, shape []int, maps [][]int, fill float32) {
	rank := len(shape)
	if rank == 0 || len(out) == 0 {
		copy(out, in)
		return
	}
	n := shape[rank-1]
	par.For(len(out)/n, max(1, rowGrain/n), func(lo, hi int) {
		for row := lo; row < hi; row++ {
			src, rest, ok, step := 0, row, true, inShape[rank-1]
			for k := rank - 2; k >= 0; k-- {
				j := maps[k][rest%shape[k]]
				rest /= shape[k]
				ok = ok && j >= 0
				src += j * step
				step *= inShape[k]
			}
			dst := out[row*n : (row+1)*n]
			for i, j := range maps[rank-1] {
				if dst[i] = fill; ok && j >= 0 {
					dst[i] = in[src+j]
				}
			}
		}
	})
}

func inferResize(c *Infer) error {
	in := c.Fact(0)
	out := TensorFact(in.DType, nil)
	if in.Dims == nil {
		c.Set(0, out)
		return nil
	}
	out.Dims = make([]sym.Expr, len(in.Dims))
	axes, err := c.resizeAxes(len(in.Dims))
	if err != nil {
		return err
	}
	for i := range out.Dims {
		if !slices.Contains(axes, i) {
			out.Dims[i] = in.Dims[i]
		}
	}
	at, sizesAt := resizeInputs(c.Opset)
	if sizesAt >= 0 && c.HasIn(sizesAt) {
		if dims, ok := sym.AllInts(in.Dims); ok && c.keepsAspect() {
			if sizes, ok := c.IntsAt(sizesAt); ok && len(sizes) == len(axes) {
				r := &resizing{in: dims, out: slices.Clone(dims), scales: make([]float64, len(dims))}
				if r.keepAspect(sizes, axes, c.Str("keep_aspect_ratio_policy")) {
					out.Dims = sym.Ints(r.out)
				}
			}
		} else if es := c.ElemsAt(sizesAt); len(es) == len(axes) && !c.keepsAspect() {
			for i, axis := range axes {
				out.Dims[axis] = es[i]
			}
		}
	} else if s := scalesOf(c, at); len(s) == len(axes) {
		for i, axis := range axes {
			out.Dims[axis] = scaled(in.Dims[axis], s[i])
		}
	}
	c.Set(0, out)
	return nil
}

func scalesOf(c *Infer, at int) []float64 {
	if c.Opset < 9 {
		var out []float64
		for _, s := range c.Floats("scales") {
			out = append(out, float64(s))
		}
		return out
	}
	if k := c.Fact(at).Const; k != nil {
		if x, err := k.Float64s(); err == nil {
			return x
		}
	}
	return nil
}

func scaled(d sym.Expr, s float64) sym.Expr {
	if n, ok := d.Int(); ok {
		return sym.Int(int64(math.Floor(float64(n) * s)))
	}
	if s == math.Trunc(s) && s > 0 && s < 1<<30 {
		return d.MulInt(int64(s))
	}
	return sym.Expr{}
}

var resizeOps = []Op{
	{Name: "Resize", Since: 10, Checks: []Check{oneOf("mode", "nearest", "linear", "cubic")}, Infer: inferResize, Eval: resize},
	{Name: "Upsample", Since: 7, Infer: inferResize, Eval: resize},
}
