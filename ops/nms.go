package ops

import (
	"math"
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// rect is a box by its corners.
type rect struct{ x0, y0, x1, y1 float32 }

func (r rect) area() float32 { return (r.x1 - r.x0) * (r.y1 - r.y0) }

// overlaps reports whether the intersection of two boxes is more than that part
// of their union.
func (r rect) overlaps(o rect, part float32) bool {
	w := min(r.x1, o.x1) - max(r.x0, o.x0)
	h := min(r.y1, o.y1) - max(r.y0, o.y0)
	a, b := r.area(), o.area()
	if !(w > 0 && h > 0 && a > 0 && b > 0) {
		return false
	}
	both := w * h
	return both > 0 && both/(a+b-both) > part
}

// rectOf reads a box: two opposite corners, y first, or centre and size.
func rectOf(v []float32, center bool) rect {
	if center {
		return rect{v[0] - v[2]/2, v[1] - v[3]/2, v[0] + v[2]/2, v[1] + v[3]/2}
	}
	return rect{min(v[1], v[3]), min(v[0], v[2]), max(v[1], v[3]), max(v[0], v[2])}
}

// nmsArgs are the limits of NonMaxSuppression.
type nmsArgs struct {
	most       int
	iou, score float32
}

func (c *Call) nmsArgs() (n nmsArgs, err error) {
	n.score = float32(math.Inf(-1))
	if c.Has(2) {
		if n.most, err = c.scalarInt(2); err != nil {
			return n, err
		}
	}
	for i, to := range []*float32{&n.iou, &n.score} {
		if !c.Has(3 + i) {
			continue
		}
		v, err := c.floats32(3+i, 1)
		if err != nil {
			return n, err
		}
		*to = v[0]
	}
	if n.iou < 0 || n.iou > 1 {
		return n, c.Errorf("iou_threshold: got %v, want 0 to 1", n.iou)
	}
	return n, nil
}

func nonMaxSuppression(c *Call) error {
	boxes, err := c.Need(0)
	if err != nil {
		return err
	}
	scores, err := c.Need(1)
	if err != nil {
		return err
	}
	if boxes.Rank() != 3 || scores.Rank() != 3 || boxes.Shape()[2] != 4 || boxes.Shape()[0] != scores.Shape()[0] || boxes.Shape()[1] != scores.Shape()[2] {
		return c.Errorf("got boxes of shape %v and scores of shape %v, want [batch, boxes, 4] and [batch, classes, boxes]", boxes.Shape(), scores.Shape())
	}
	if boxes.DType() != array.Float32 || scores.DType() != array.Float32 {
		return c.Errorf("got boxes of %s and scores of %s, want float32", boxes.DType(), scores.DType())
	}
	limits, err := c.nmsArgs()
	if err != nil {
		return err
	}
	batches, classes, n := scores.Shape()[0], scores.Shape()[1], boxes.Shape()[1]
	var picked []int64
	for b := range batches {
		rects := make([]rect, n)
		for i := range rects {
			rects[i] = rectOf(array.Data[float32](boxes)[(b*n+i)*4:], c.Int("center_point_box") != 0)
		}
		for k := range classes {
			row := array.Data[float32](scores)[(b*classes+k)*n:][:n]
			for _, i := range suppress(rects, row, limits, c.Has(4)) {
				picked = append(picked, int64(b), int64(k), int64(i))
			}
		}
	}
	if picked == nil {
		picked = []int64{}
	}
	c.Out[0] = array.FromSlice(picked, len(picked)/3, 3)
	return nil
}

// suppress picks boxes by descending score, each unless it overlaps one that is
// picked already.
func suppress(rects []rect, scores []float32, limits nmsArgs, hasScore bool) []int {
	keys := floatKeys(scores)
	var order []ranked
	for i, s := range scores {
		if !hasScore || s > limits.score {
			order = append(order, ranked{^keys[i], i})
		}
	}
	slices.SortFunc(order, ranked.compare)
	var picked []int
	for _, e := range order {
		if len(picked) >= limits.most {
			break
		}
		r := rects[e.at]
		if !slices.ContainsFunc(picked, func(p int) bool { return r.overlaps(rects[p], limits.iou) }) {
			picked = append(picked, e.at)
		}
	}
	return picked
}

func inferNMS(c *Infer) error {
	c.Set(0, TensorFact(array.Int64, []sym.Expr{{}, sym.Int(3)}))
	return nil
}
