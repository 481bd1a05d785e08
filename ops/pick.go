package ops

import (
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// trilu keeps the upper or lower triangles of matrices.
func trilu(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	if a.Rank() < 2 {
		return c.Errorf("input 0: got rank %d, want at least 2", a.Rank())
	}
	k := 0
	if c.Has(1) {
		if k, err = c.scalarInt(1); err != nil {
			return err
		}
	}
	rows, cols := a.Shape()[a.Rank()-2], a.Shape()[a.Rank()-1]
	k = min(max(k, -rows-1), cols+1)
	out, err := c.Make(a.DType(), a.Shape())
	if err != nil || out.Size() == 0 {
		c.Out[0] = out
		return err
	}
	matrices := strided{steps: []int{rows * cols, 1}}
	n := out.Size() / (rows * cols)
	for i := range rows {
		lo, hi := min(max(i+k, 0), cols), cols
		if c.IntOr("upper", 1) == 0 {
			lo, hi = 0, min(max(i+k+1, 0), cols)
		}
		matrices.offset = i*cols + lo
		copyStrided(out, a, []int{n, hi - lo}, matrices, matrices)
	}
	c.Out[0] = out
	return nil
}

// reverseSequence turns round the first so many elements of each sequence.
func reverseSequence(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	lens, err := c.IntsAt(1)
	if err != nil {
		return err
	}
	batch, time := c.IntOr("batch_axis", 1), c.Int("time_axis")
	if a.Rank() < 2 || batch+time != 1 || batch*time != 0 {
		return c.Errorf("got batch_axis %d and time_axis %d for rank %d, want 0 and 1, or 1 and 0, and at least rank 2", batch, time, a.Rank())
	}
	if len(lens) != a.Shape()[batch] {
		return c.Errorf("sequence_lens: got %d lengths, want %d, the size of the batch axis", len(lens), a.Shape()[batch])
	}
	d0, d1 := a.Shape()[0], a.Shape()[1]
	at := make([]int, 0, d0*d1)
	for i := range d0 {
		for j := range d1 {
			t, b := i, j
			if time == 1 {
				t, b = j, i
			}
			if lens[b] < 0 || lens[b] > a.Shape()[time] {
				return c.Errorf("sequence_lens: got %d, want 0 to %d", lens[b], a.Shape()[time])
			}
			if t < lens[b] {
				t = lens[b] - 1 - t
			}
			if time == 1 {
				at = append(at, b*d1+t)
			} else {
				at = append(at, t*d1+b)
			}
		}
	}
	out, err := c.Make(a.DType(), a.Shape())
	if err != nil {
		return err
	}
	takeBlocks(out, a, sizeOf(a.Shape()[2:]), at)
	c.Out[0] = out
	return nil
}

// compress keeps the parts along an axis where the condition holds.
func compress(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	cond, err := c.Need(1)
	if err != nil {
		return err
	}
	if cond.Rank() != 1 || cond.DType() != array.Bool {
		return c.Errorf("condition: got %s, want bool of rank 1", cond.Summary())
	}
	shape := []int{a.Size()}
	axis := 0
	if c.HasAttr("axis") {
		shape = slices.Clone(a.Shape())
		if axis, err = c.normalAxis(c.Int("axis"), a.Rank()); err != nil {
			return err
		}
	}
	var keep []int
	for i, yes := range array.Data[bool](cond) {
		if yes && i < shape[axis] {
			keep = append(keep, i)
		}
		if yes && i >= shape[axis] {
			return c.Errorf("condition: got true at %d, want none from %d on, the size of the axis", i, shape[axis])
		}
	}
	c.Out[0], err = c.taken(a, shape, axis, keep)
	return err
}

// taken returns the parts of a, seen in that shape, at these positions of an axis.
func (c *Call) taken(a *array.Array, shape []int, axis int, keep []int) (*array.Array, error) {
	outer, d, inner := splitAt(shape, axis)
	outShape := slices.Clone(shape)
	outShape[axis] = len(keep)
	out, err := c.Make(a.DType(), outShape)
	if err != nil {
		return nil, err
	}
	takeBlocks(out, a, inner, repeatAt(keep, outer, d))
	return out, nil
}

// repeatAt repeats positions of an axis of size d for each of the outer ones.
func repeatAt(at []int, outer, d int) []int {
	if outer == 1 {
		return at
	}
	all := make([]int, 0, outer*len(at))
	for o := range outer {
		for _, p := range at {
			all = append(all, o*d+p)
		}
	}
	return all
}

func inferCompress(c *Infer) error {
	in := c.Fact(0)
	out := TensorFact(in.DType, []sym.Expr{{}})
	if c.HasAttr("axis") {
		if out.Dims = slices.Clone(in.Dims); in.Dims != nil {
			axis, err := c.normalAxis(c.Int("axis"), len(in.Dims))
			if err != nil {
				return err
			}
			out.Dims[axis] = sym.Expr{}
		}
	}
	c.Set(0, out)
	return nil
}

var pickOps = []Op{
	{Name: "Trilu", Since: 14, Checks: []Check{rankIn(0, 2, -1)}, Infer: inferSame, Eval: trilu},
	{Name: "ReverseSequence", Since: 10, Checks: []Check{rankIn(0, 2, -1), lengthsFit}, Infer: inferSame, Eval: reverseSequence},
	{Name: "Compress", Since: 9, Infer: inferCompress, Eval: compress},
}
