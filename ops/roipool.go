package ops

import (
	"math"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// maxRoiPool is the largest pixel of each bin of each region (Girshick 2015). A
// region's corners are rounded and both are of it; an empty bin gives 0.
func maxRoiPool(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	rois, err := c.Need(1)
	if err != nil {
		return err
	}
	pooled := c.Ints("pooled_shape")
	if a.Rank() != 4 || rois.Rank() != 2 || rois.Shape()[1] != 5 || len(pooled) != 2 || pooled[0] < 1 || pooled[1] < 1 {
		return c.Errorf("got %s, %s and pooled_shape %v, want rank 4, five numbers for each region, and two sizes", a.Summary(), rois.Summary(), pooled)
	}
	shape := []int{rois.Shape()[0], a.Shape()[1], pooled[0], pooled[1]}
	if err := c.CheckSize(array.Float64, shape); err != nil {
		return err
	}
	x, err := a.Float64s()
	if err != nil {
		return err
	}
	at, err := rois.Float64s()
	if err != nil {
		return err
	}
	scale, h, w := float64(c.FloatOr("spatial_scale", 1)), a.Shape()[2], a.Shape()[3]
	out := make([]float64, 0, sizeOf(shape))
	for r := range shape[0] {
		batch := at[5*r]
		if !(batch >= 0 && batch < float64(a.Shape()[0])) {
			return c.Errorf("input 1: got batch %v, want 0 to %d", batch, a.Shape()[0]-1)
		}
		var roi [4]float64
		for i, v := range at[5*r+1 : 5*r+5] {
			if roi[i] = math.Round(v * scale); !(math.Abs(roi[i]) < far) {
				return c.Errorf("input 1: got the region %v, want numbers of at most %d", at[5*r+1:5*r+5], far)
			}
		}
		for ch := range shape[1] {
			plane := x[(int(batch)*shape[1]+ch)*h*w:][:h*w]
			for o := range pooled[0] * pooled[1] {
				y0, y1 := roiBin(o/pooled[1], pooled[0], roi[1], roi[3], h)
				x0, x1 := roiBin(o%pooled[1], pooled[1], roi[0], roi[2], w)
				out = append(out, largestOf(plane, y0, y1, x0, x1, w))
			}
		}
	}
	return c.setFloats(0, out, shape, a.DType())
}

// roiBin returns the pixels, in [0, n], of bin i of count along an axis.
func roiBin(i, count int, from, to float64, n int) (lo, hi int) {
	size := max(to-from+1, 1) / float64(count)
	lo = int(math.Floor(float64(i)*size) + from)
	hi = int(math.Ceil(float64(i+1)*size) + from)
	return min(max(lo, 0), n), min(max(hi, 0), n)
}

func largestOf(plane []float64, y0, y1, x0, x1, w int) float64 {
	if y1 <= y0 || x1 <= x0 {
		return 0
	}
	best := math.Inf(-1)
	for y := y0; y < y1; y++ {
		best = max(best, largest(plane[y*w+x0:y*w+x1]))
	}
	return best
}

func inferMaxRoiPool(c *Infer) error {
	a, rois := c.Fact(0), c.Fact(1)
	out := TensorFact(a.DType, make([]sym.Expr, 4))
	if len(rois.Dims) > 0 {
		out.Dims[0] = rois.Dims[0]
	}
	if len(a.Dims) == 4 {
		out.Dims[1] = a.Dims[1]
	}
	if pooled := c.Ints("pooled_shape"); len(pooled) == 2 {
		out.Dims[2], out.Dims[3] = sym.Int(int64(pooled[0])), sym.Int(int64(pooled[1]))
	}
	c.Set(0, out)
	return nil
}
