package ops

import (
	"math"
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/par"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// Operators that read an input between its elements: GridSample, AffineGrid,
// RoiAlign and DeformConv; and MaxRoiPool, which stands beside RoiAlign.

// far bounds coordinates, so that they are ints and their neighbours too.
const far = 1 << 30

// gridSampler is how GridSample reads one input.
type gridSampler struct {
	dims    []int
	mode    string // nearest, linear or cubic
	padding string
	corners bool
	lo, hi  []float64 // the borders at which reflection turns
}

func (s *Site) gridSampler(dims []int) (*gridSampler, error) {
	g := &gridSampler{dims: dims, mode: s.Str("mode"), padding: s.Str("padding_mode"), corners: s.Int("align_corners") != 0}
	switch g.mode {
	case "bilinear", "":
		g.mode = "linear"
	case "bicubic":
		g.mode = "cubic"
	case "nearest", "linear", "cubic":
	default:
		return nil, s.Errorf("attribute \"mode\": got %q, want \"linear\", \"nearest\" or \"cubic\"", g.mode)
	}
	if g.padding != "zeros" && g.padding != "border" && g.padding != "reflection" {
		return nil, s.Errorf("attribute \"padding_mode\": got %q, want \"zeros\", \"border\" or \"reflection\"", g.padding)
	}
	for _, d := range dims {
		if g.corners {
			g.lo, g.hi = append(g.lo, 0), append(g.hi, float64(d-1))
		} else {
			g.lo, g.hi = append(g.lo, -0.5), append(g.hi, float64(d)-0.5)
		}
	}
	return g, nil
}

// coordinate turns a position in [-1, 1] into one in elements, inside the
// borders where the padding asks for that.
func (g *gridSampler) coordinate(axis int, v float64) float64 {
	n := float64(g.dims[axis])
	x := ((v+1)*n - 1) / 2
	if g.corners {
		x = (v + 1) / 2 * (n - 1)
	}
	if !(math.Abs(x) < far) {
		x = math.Copysign(far, x) // NaN too: outside
	}
	if g.mode == "nearest" {
		x = math.RoundToEven(x)
	}
	if x < g.lo[axis] || x > g.hi[axis] {
		switch g.padding {
		case "border":
			x = min(max(x, 0), n-1)
		case "reflection":
			x = reflected(x, g.lo[axis], g.hi[axis])
		}
	}
	return x
}

// reflected mirrors x at lo and hi until it lies between them.
func reflected(x, lo, hi float64) float64 {
	span := hi - lo
	if span <= 0 {
		return lo
	}
	over := math.Mod(math.Abs(x-lo), 2*span)
	if x < lo {
		over = math.Mod(lo-x, 2*span)
	}
	if over > span {
		over = 2*span - over
	}
	return lo + over
}

// index returns the element that stands for position i, or -1 for zero.
func (g *gridSampler) index(axis, i int) int {
	n := g.dims[axis]
	switch {
	case i >= 0 && i < n:
		return i
	case g.padding == "border":
		return min(max(i, 0), n-1)
	case g.padding == "reflection":
		return min(max(int(reflected(float64(i), g.lo[axis], g.hi[axis])), 0), n-1)
	}
	return -1
}

// taps returns the elements of an axis, with their weights, that a coordinate
// is interpolated from.
func (g *gridSampler) taps(axis int, x float64, out []tap) []tap {
	base := int(math.Floor(x))
	t := x - float64(base)
	lo, hi := base, base
	switch g.mode {
	case "linear":
		hi++
	case "cubic":
		lo, hi = base-1, base+2
	}
	for i := lo; i <= hi; i++ {
		w := 1.0
		switch g.mode {
		case "linear":
			w = 1 - math.Abs(float64(i-base)-t)
		case "cubic":
			w = cubic(math.Abs(float64(i-base)-t), -0.75)
		}
		if at := g.index(axis, i); at >= 0 {
			out = append(out, tap{at, w})
		}
	}
	return out
}

func gridSample(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	grid, err := c.Need(1)
	if err != nil {
		return err
	}
	rank := a.Rank() - 2
	if rank < 1 || grid.Rank() != a.Rank() || grid.Shape()[rank+1] != rank || grid.Shape()[0] != a.Shape()[0] {
		return c.Errorf("inputs: got %s and grid %s, want an input of rank 3 or more, and a grid of that rank and batch with %d coordinates each", a.Summary(), grid.Summary(), max(rank, 1))
	}
	g, err := c.gridSampler(a.Shape()[2:])
	if err != nil {
		return err
	}
	shape := append(slices.Clone(a.Shape()[:2]), grid.Shape()[1:rank+1]...)
	if err := c.CheckSize(array.Float64, shape); err != nil {
		return err
	}
	x, err := a.Float64s()
	if err != nil {
		return err
	}
	at, err := grid.Float64s()
	if err != nil {
		return err
	}
	out := make([]float64, sizeOf(shape))
	g.run(x, at, out, a.Shape()[1], sizeOf(shape[2:]))
	return c.setFloats(0, out, shape, a.DType())
}

// run samples channels planes for each batch, at n positions of the grid each.
func (g *gridSampler) run(x, grid, out []float64, channels, n int) {
	rank, size := len(g.dims), sizeOf(g.dims)
	if n == 0 || size == 0 {
		return
	}
	par.For(len(grid)/rank, max(1, 256/max(channels, 1)), func(lo, hi int) {
		axes := make([][]tap, rank)
		for i := lo; i < hi; i++ {
			for k := range rank { // the last coordinate is the first axis'
				axes[k] = g.taps(k, g.coordinate(k, grid[i*rank+rank-1-k]), axes[k][:0])
			}
			b, o := i/n, i%n
			for ch := range channels {
				plane := (b*channels + ch) * size
				out[(b*channels+ch)*n+o] = weighed(x[plane:plane+size], g.dims, axes, 0, 1)
			}
		}
	})
}

// weighed sums the elements at the taps of all axes, times their weights.
func weighed(x []float64, dims []int, axes [][]tap, base int, w float64) float64 {
	if len(axes) == 0 {
		return w * x[base]
	}
	sum := 0.0
	for _, t := range axes[0] {
		if t.w != 0 {
			sum += weighed(x, dims[1:], axes[1:], base*dims[0]+t.at, w*t.w)
		}
	}
	return sum
}

// setFloats makes output i of numbers in float64, which become its.
func (c *Call) setFloats(i int, x []float64, shape []int, dt array.DType) error {
	if !c.Wants(i) {
		return nil
	}
	a, err := array.FromSlice(x, len(x)).Reshape(shape...)
	if err != nil {
		return c.Errorf("%w", err)
	}
	c.Out[i], err = a.Cast(dt)
	return err
}

func inferGridSample(c *Infer) error {
	a, grid := c.Fact(0), c.Fact(1)
	out := TensorFact(a.DType, nil)
	if n := len(grid.Dims); n > 2 && a.Dims != nil {
		if len(a.Dims) != n {
			return c.Errorf("inputs: got %s and grid %s, want one rank", dimsText(a.Dims), dimsText(grid.Dims))
		}
		out.Dims = joinDims(a.Dims[:2], grid.Dims[1:n-1])
	}
	c.Set(0, out)
	return nil
}

// affineGrid gives each position of an image where an affine map puts it.
func affineGrid(c *Call) error {
	theta, err := c.Need(0)
	if err != nil {
		return err
	}
	size, err := c.IntsAt(1)
	if err != nil {
		return err
	}
	rank := len(size) - 2
	if (rank != 2 && rank != 3) || !slices.Equal(theta.Shape(), []int{size[0], rank, rank + 1}) {
		return c.Errorf("inputs: got %s and size %v, want matrices N×2×3 for size [N, C, H, W], or N×3×4 for [N, C, D, H, W]", theta.Summary(), size)
	}
	shape := append(append([]int{size[0]}, size[2:]...), rank)
	if err := c.CheckSize(array.Float64, shape); err != nil {
		return err
	}
	m, err := theta.Float64s()
	if err != nil {
		return err
	}
	corners := c.Int("align_corners") != 0
	out := make([]float64, sizeOf(shape))
	n := sizeOf(size[2:])
	for i := range size[0] * n {
		rest, at := i%n, [4]float64{}
		for k := range rank { // x runs along the last axis
			d := size[len(size)-1-k]
			at[k] = gridPosition(rest%d, d, corners)
			rest /= d
		}
		at[rank] = 1
		for row := range rank {
			for k := range rank + 1 {
				out[i*rank+row] += m[(i/n*rank+row)*(rank+1)+k] * at[k]
			}
		}
	}
	return c.setFloats(0, out, shape, theta.DType())
}

func gridPosition(i, n int, corners bool) float64 {
	switch {
	case !corners:
		return float64(2*i+1)/float64(n) - 1
	case n == 1:
		return 0
	}
	return float64(2*i)/float64(n-1) - 1
}

func inferAffineGrid(c *Infer) error {
	out := TensorFact(c.Fact(0).DType, nil)
	if es := c.ElemsAt(1); len(es) == 4 || len(es) == 5 {
		out.Dims = joinDims(es[:1], es[2:], []sym.Expr{sym.Int(int64(len(es) - 2))})
	} else if n, ok := c.lengthAt(1); ok && n > 2 {
		out.Dims = append(make([]sym.Expr, n-1), sym.Int(int64(n-2)))
		if theta := c.Fact(0).Dims; len(theta) > 0 {
			out.Dims[0] = theta[0]
		}
	}
	c.Set(0, out)
	return nil
}

// roiAlign pools regions of an image, read between its pixels.
type roiAlign struct {
	x             []float64
	channels      int
	h, w          int
	outH, outW    int
	ratio         int
	scale, offset float64
	atLeast1      bool // regions are at least one pixel large
	max           bool
}

func evalRoiAlign(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	rois, err := c.Need(1)
	if err != nil {
		return err
	}
	batches, err := c.IntsAt(2)
	if err != nil {
		return err
	}
	if a.Rank() != 4 || rois.Rank() != 2 || rois.Shape()[1] != 4 || rois.Shape()[0] != len(batches) {
		return c.Errorf("inputs: got %s, %s and %d batch indices, want rank 4, and four numbers for each index", a.Summary(), rois.Summary(), len(batches))
	}
	r := &roiAlign{channels: a.Shape()[1], h: a.Shape()[2], w: a.Shape()[3], outH: c.IntOr("output_height", 1), outW: c.IntOr("output_width", 1),
		ratio: c.Int("sampling_ratio"), scale: float64(c.FloatOr("spatial_scale", 1)), max: c.Str("mode") == "max"}
	if r.atLeast1 = c.Opset < 16 || c.Str("coordinate_transformation_mode") == "output_half_pixel"; !r.atLeast1 {
		r.offset = 0.5
	}
	shape := []int{len(batches), r.channels, r.outH, r.outW}
	if err := c.CheckSize(array.Float64, shape); err != nil {
		return err
	}
	if r.x, err = a.Float64s(); err != nil {
		return err
	}
	at, err := rois.Float64s()
	if err != nil {
		return err
	}
	out := make([]float64, sizeOf(shape))
	for i, b := range batches {
		if b < 0 || b >= a.Shape()[0] {
			return c.Errorf("input 2: got batch index %d, want 0 to %d", b, a.Shape()[0]-1)
		}
		if err := r.region(c, b, at[4*i:4*i+4], out[i*sizeOf(shape[1:]):(i+1)*sizeOf(shape[1:])]); err != nil {
			return err
		}
	}
	return c.setFloats(0, out, shape, a.DType())
}

const maxSamples = 1 << 12 // of one bin along one axis

// region pools one region of image b into out.
func (r *roiAlign) region(c *Call, b int, roi, out []float64) error {
	x0, y0 := roi[0]*r.scale-r.offset, roi[1]*r.scale-r.offset
	width, height := roi[2]*r.scale-r.offset-x0, roi[3]*r.scale-r.offset-y0
	if r.atLeast1 {
		width, height = max(width, 1), max(height, 1)
	}
	binH, binW := height/float64(r.outH), width/float64(r.outW)
	ny, nx := r.ratio, r.ratio
	if r.ratio <= 0 {
		ny, nx = int(math.Ceil(min(max(binH, 0), far))), int(math.Ceil(min(max(binW, 0), far)))
	}
	if ny > maxSamples || nx > maxSamples {
		return c.Errorf("input 1: the region %v has %d × %d samples for each output, want at most %d along an axis", roi, ny, nx, maxSamples)
	}
	par.For(r.channels, max(1, 1024/max(1, r.outH*r.outW*ny*nx)), func(lo, hi int) {
		for ch := lo; ch < hi; ch++ {
			plane := r.x[(b*r.channels+ch)*r.h*r.w:][:r.h*r.w]
			for o := range r.outH * r.outW {
				oy, ox := o/r.outW, o%r.outW
				out[ch*r.outH*r.outW+o] = r.bin(plane, y0+float64(oy)*binH, x0+float64(ox)*binW, binH, binW, ny, nx)
			}
		}
	})
	return nil
}

func (r *roiAlign) bin(plane []float64, y0, x0, binH, binW float64, ny, nx int) float64 {
	sum, most := 0.0, math.Inf(-1)
	for i := range ny {
		y := y0 + (float64(i)+0.5)*binH/float64(ny)
		for k := range nx {
			x := x0 + (float64(k)+0.5)*binW/float64(nx)
			s, m := r.sample(plane, y, x)
			sum += s
			most = max(most, m)
		}
	}
	switch {
	case ny*nx == 0:
		return 0
	case r.max:
		return most
	}
	return sum / float64(ny*nx)
}

// sample reads a plane at a place: bilinearly, and as the largest of the four
// weighed neighbours, which is what mode "max" takes the maximum of.
func (r *roiAlign) sample(plane []float64, y, x float64) (sum, most float64) {
	if !(y >= -1 && y <= float64(r.h) && x >= -1 && x <= float64(r.w)) || len(plane) == 0 {
		return 0, 0
	}
	y, x = max(y, 0), max(x, 0)
	y0, x0 := min(int(y), r.h-1), min(int(x), r.w-1)
	y1, x1 := min(y0+1, r.h-1), min(x0+1, r.w-1)
	ly, lx := min(y, float64(r.h-1))-float64(y0), min(x, float64(r.w-1))-float64(x0)
	most = math.Inf(-1)
	for _, t := range [4]tap{{y0*r.w + x0, (1 - ly) * (1 - lx)}, {y0*r.w + x1, (1 - ly) * lx}, {y1*r.w + x0, ly * (1 - lx)}, {y1*r.w + x1, ly * lx}} {
		v := plane[t.at] * t.w
		sum += v
		most = max(most, v)
	}
	return sum, most
}

func inferRoiAlign(c *Infer) error {
	a, rois := c.Fact(0), c.Fact(1)
	out := TensorFact(a.DType, make([]sym.Expr, 4))
	if len(rois.Dims) > 0 {
		out.Dims[0] = rois.Dims[0]
	}
	if len(a.Dims) == 4 {
		out.Dims[1] = a.Dims[1]
	}
	out.Dims[2], out.Dims[3] = sym.Int(int64(c.IntOr("output_height", 1))), sym.Int(int64(c.IntOr("output_width", 1)))
	c.Set(0, out)
	return nil
}

var sampleOps = []Op{
	{Name: "GridSample", Since: 16, Checks: []Check{oneOf("mode", "bilinear", "nearest", "bicubic", "linear", "cubic"), oneOf("padding_mode", "zeros", "border", "reflection"), meet(0, 0, 1, 0)}, Infer: inferGridSample, Eval: gridSample},
	{Name: "AffineGrid", Since: 20, Infer: inferAffineGrid, Eval: affineGrid},
	{Name: "RoiAlign", Since: 10, Checks: []Check{rankIn(0, 4, 4), rankIn(1, 2, 2), meet(1, 0, 2, 0)}, Infer: inferRoiAlign, Eval: evalRoiAlign},
	{Name: "MaxRoiPool", Since: 1, Infer: inferMaxRoiPool, Eval: maxRoiPool},
	{Name: "DeformConv", Since: 19, Infer: inferConv, Eval: deformConv},
}
