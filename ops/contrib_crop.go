package ops

import (
	"math"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/par"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// cropping is how CropAndResize samples the planes of images: at the corners of
// a region, and evenly between them.
type cropping struct {
	x              []float64
	channels, h, w int
	rows, cols     int
	nearest        bool
	outside        float64
}

func cropAndResize(c *Call) error {
	p, images, regions, err := c.cropping()
	if err != nil {
		return err
	}
	shape := []int{len(images), p.channels, p.rows, p.cols}
	if err := c.CheckSize(array.Float64, shape); err != nil {
		return err
	}
	out := make([]float64, sizeOf(shape))
	each := p.channels * p.rows * p.cols
	par.For(len(images), max(1, rowGrain/max(1, each)), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			p.region(images[r], regions[4*r:4*r+4], out[r*each:(r+1)*each])
		}
	})
	return c.setFloats(0, out, shape, c.Array(0).DType())
}

// cropping reads the inputs: besides the images, which of them each region is
// of, and the four numbers of each.
func (c *Call) cropping() (p *cropping, images []int, regions []float64, err error) {
	in, err := c.needs(4)
	if err != nil {
		return nil, nil, nil, err
	}
	a, rois := in[0], in[1]
	if images, err = c.IntsAt(2); err != nil {
		return nil, nil, nil, err
	}
	size, err := c.IntsAt(3)
	if err != nil {
		return nil, nil, nil, err
	}
	if a.Rank() != 4 || rois.Rank() != 2 || rois.Shape()[1] != 4 || len(images) != rois.Shape()[0] || len(size) != 2 || size[0] < 1 || size[1] < 1 {
		return nil, nil, nil, c.Errorf("inputs: got %s, regions %s of %d images and size %v, want images of rank 4, 4 numbers and an image for each region, and 2 sizes above 0", a.Summary(), rois.Summary(), len(images), size)
	}
	for _, n := range images {
		if n < 0 || n >= a.Shape()[0] {
			return nil, nil, nil, c.Errorf("batch_indices: got %d, want 0 to %d", n, a.Shape()[0]-1)
		}
	}
	mode := c.Str("mode")
	if mode != "nearest" && mode != "bilinear" {
		return nil, nil, nil, c.Errorf("attribute \"mode\": got %q, want \"bilinear\" or \"nearest\"", mode)
	}
	p = &cropping{channels: a.Shape()[1], h: a.Shape()[2], w: a.Shape()[3], rows: size[0], cols: size[1], nearest: mode == "nearest",
		outside: float64(c.Float("extrapolation_value"))}
	if p.x, err = a.Float64s(); err != nil {
		return nil, nil, nil, err
	}
	regions, err = rois.Float64s()
	return p, images, regions, err
}

// cropPosition is where place i of n lies on an axis of d elements, between from
// and to, which are parts of it. It is computed in float32: nearest rounds it.
func cropPosition(i, n, d int, from, to float64) float64 {
	last, lo, hi := float32(d-1), float32(from), float32(to)
	if n == 1 {
		return float64(0.5 * (lo + hi) * last)
	}
	step := (hi - lo) * last / float32(n-1)
	return float64(lo*last + float32(i)*step)
}

func (p *cropping) region(image int, roi, out []float64) {
	for i := range p.rows {
		y := cropPosition(i, p.rows, p.h, roi[0], roi[2])
		for j := range p.cols {
			x := cropPosition(j, p.cols, p.w, roi[1], roi[3])
			for ch := range p.channels {
				at := (ch*p.rows+i)*p.cols + j
				if !(y >= 0 && y <= float64(p.h-1) && x >= 0 && x <= float64(p.w-1)) {
					out[at] = p.outside
					continue
				}
				out[at] = p.sample(p.x[(image*p.channels+ch)*p.h*p.w:][:p.h*p.w], y, x)
			}
		}
	}
}

func (p *cropping) sample(plane []float64, y, x float64) float64 {
	if p.nearest {
		return plane[int(math.Round(y))*p.w+int(math.Round(x))]
	}
	top, left := int(y), int(x)
	bottom, right := min(top+1, p.h-1), min(left+1, p.w-1)
	fy, fx := y-float64(top), x-float64(left)
	upper := plane[top*p.w+left]*(1-fx) + plane[top*p.w+right]*fx
	lower := plane[bottom*p.w+left]*(1-fx) + plane[bottom*p.w+right]*fx
	return upper*(1-fy) + lower*fy
}

func inferCropAndResize(c *Infer) error {
	a, rois := c.Fact(0), c.Fact(1)
	out := TensorFact(a.DType, make([]sym.Expr, 4))
	if len(rois.Dims) == 2 {
		out.Dims[0] = rois.Dims[0]
	}
	if len(a.Dims) == 4 {
		out.Dims[1] = a.Dims[1]
	}
	if size := c.ElemsAt(3); len(size) == 2 {
		copy(out.Dims[2:], size)
	}
	c.Set(0, out)
	return nil
}

var contribCropOps = []Op{
	{Domain: contribDomain, Name: "CropAndResize", Since: 1, Infer: inferCropAndResize, Eval: cropAndResize},
}
