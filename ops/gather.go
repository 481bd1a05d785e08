package ops

import (
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// indicesAt returns the indices of input i into an axis of size d, made
// non-negative.
func (c *Call) indicesAt(i, d int) ([]int, error) {
	at, err := c.IntsAt(i)
	if err != nil {
		return nil, err
	}
	for k, p := range at {
		if p < -d || p >= d {
			return nil, c.Errorf("indices: got %d, want %d to %d", p, -d, d-1)
		}
		if p < 0 {
			at[k] += d
		}
	}
	return at, nil
}

func gather(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	idx, err := c.Need(1)
	if err != nil {
		return err
	}
	axis, err := c.normalAxis(c.Int("axis"), a.Rank())
	if err != nil {
		return err
	}
	outer, d, inner := splitAt(a.Shape(), axis)
	at, err := c.indicesAt(1, d)
	if err != nil {
		return err
	}
	out, err := c.Make(a.DType(), slices.Concat(a.Shape()[:axis], idx.Shape(), a.Shape()[axis+1:]))
	if err != nil {
		return err
	}
	if out.Size() > 0 {
		takeBlocks(out, a, inner, repeatAt(at, outer, d))
	}
	c.Out[0] = out
	return nil
}

func inferGather(c *Infer) error {
	in, idx := c.Fact(0), c.Fact(1)
	out := TensorFact(in.DType, nil)
	if in.Dims == nil {
		c.Set(0, out)
		return nil
	}
	axis, err := c.normalAxis(c.Int("axis"), len(in.Dims))
	if err != nil {
		return err
	}
	if idx.Dims != nil {
		out.Dims = joinDims(in.Dims[:axis], idx.Dims, in.Dims[axis+1:])
	}
	if at, ok := c.IntsAt(1); ok {
		if d, isNum := in.Dims[axis].Int(); isNum {
			for _, p := range at {
				if p < -int(d) || p >= int(d) {
					return c.Errorf("indices: got %d, want %d to %d", p, -d, d-1)
				}
			}
		}
	}
	c.Set(0, out)
	c.follow(gather)
	return nil
}

// elementPositions returns where in data the elements lie that GatherElements
// reads and ScatterElements writes: each one's own place, but for the axis.
func (c *Call) elementPositions(data, idx *array.Array) ([]int, error) {
	axis, err := c.normalAxis(c.Int("axis"), data.Rank())
	if err != nil {
		return nil, err
	}
	fits := idx.Rank() == data.Rank()
	for k := 0; fits && k < idx.Rank(); k++ {
		fits = k == axis || idx.Shape()[k] <= data.Shape()[k]
	}
	if !fits {
		return nil, c.Errorf("indices: got shape %v, want rank %d and sizes that fit %v", idx.Shape(), data.Rank(), data.Shape())
	}
	at, err := c.indicesAt(1, data.Shape()[axis])
	if err != nil {
		return nil, err
	}
	steps := rowMajor(data.Shape())
	step := steps[axis]
	steps[axis] = 0
	base, pos := 0, make([]int, idx.Rank())
	for i := range at {
		at[i] = base + at[i]*step
		for k := len(pos) - 1; k >= 0; k-- {
			pos[k]++
			base += steps[k]
			if pos[k] < idx.Shape()[k] {
				break
			}
			base -= pos[k] * steps[k]
			pos[k] = 0
		}
	}
	return at, nil
}

func gatherElements(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	idx, err := c.Need(1)
	if err != nil {
		return err
	}
	at, err := c.elementPositions(a, idx)
	if err != nil {
		return err
	}
	out, err := c.Make(a.DType(), idx.Shape())
	if err != nil {
		return err
	}
	takeBlocks(out, a, 1, at)
	c.Out[0] = out
	return nil
}

func inferGatherElements(c *Infer) error {
	c.Set(0, TensorFact(c.Fact(0).DType, c.Fact(1).Dims))
	c.follow(gatherElements)
	return nil
}

// tuplePositions returns the numbers of the blocks that the rows of indices name:
// each row is a position in the axes of data after the batch ones. The blocks
// hold inner elements.
func (c *Call) tuplePositions(data, idx *array.Array, batch int) (at []int, inner int, err error) {
	if idx.Rank() < 1 || data.Rank() < 1 {
		return nil, 0, c.Errorf("got data of rank %d and indices of rank %d, want at least 1", data.Rank(), idx.Rank())
	}
	width := idx.Shape()[idx.Rank()-1]
	if batch < 0 || batch >= idx.Rank() || batch+width > data.Rank() {
		return nil, 0, c.Errorf("indices: got tuples of %d after %d batch axes, want at most %d, the rank of data", width, batch, data.Rank())
	}
	for k := range batch {
		if idx.Shape()[k] != data.Shape()[k] {
			return nil, 0, c.Errorf("indices: got size %d on batch axis %d, want %d", idx.Shape()[k], k, data.Shape()[k])
		}
	}
	raw, err := c.IntsAt(1)
	if err != nil {
		return nil, 0, err
	}
	dims := data.Shape()[batch : batch+width]
	inner = sizeOf(data.Shape()[batch+width:])
	rows := sizeOf(idx.Shape()[:idx.Rank()-1])
	perBatch := max(1, sizeOf(idx.Shape()[batch:idx.Rank()-1]))
	at = make([]int, rows)
	for r := range at {
		p := r / perBatch
		for k, d := range dims {
			j := raw[r*width+k]
			if j < -d || j >= d {
				return nil, 0, c.Errorf("indices: got %d for axis %d, want %d to %d", j, batch+k, -d, d-1)
			}
			if j < 0 {
				j += d
			}
			p = p*d + j
		}
		at[r] = p
	}
	return at, inner, nil
}

func gatherND(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	idx, err := c.Need(1)
	if err != nil {
		return err
	}
	batch := c.Int("batch_dims")
	at, inner, err := c.tuplePositions(a, idx, batch)
	if err != nil {
		return err
	}
	last := idx.Rank() - 1
	out, err := c.Make(a.DType(), slices.Concat(idx.Shape()[:last], a.Shape()[batch+idx.Shape()[last]:]))
	if err != nil {
		return err
	}
	takeBlocks(out, a, inner, at)
	c.Out[0] = out
	return nil
}

func inferGatherND(c *Infer) error {
	in, idx := c.Fact(0), c.Fact(1)
	out := TensorFact(in.DType, nil)
	if in.Dims != nil && len(idx.Dims) > 0 {
		last := len(idx.Dims) - 1
		if width, ok := idx.Dims[last].Int(); ok {
			from := c.Int("batch_dims") + int(width)
			if from < 0 || from > len(in.Dims) {
				return c.Errorf("indices: got tuples of %d, want at most %d, the rank of data", width, len(in.Dims))
			}
			out.Dims = joinDims(idx.Dims[:last], in.Dims[from:])
		}
	}
	c.Set(0, out)
	c.follow(gatherND)
	return nil
}

// oneHot spreads indices into vectors that are on at one place.
func oneHot(c *Call) error {
	idx, err := c.Need(0)
	if err != nil {
		return err
	}
	depth, err := c.scalarInt(1)
	if err != nil {
		return err
	}
	values, err := c.Need(2)
	if err != nil {
		return err
	}
	if values.Size() != 2 {
		return c.Errorf("values: got %s, want 2 elements", values.Summary())
	}
	axis, err := c.normalAxis(c.IntOr("axis", -1), idx.Rank()+1)
	if err != nil {
		return err
	}
	ints, err := idx.Cast(array.Int64)
	if err != nil {
		return c.Errorf("indices: %w", err)
	}
	out, err := c.Make(values.DType(), slices.Insert(slices.Clone(idx.Shape()), axis, depth))
	if err != nil {
		return err
	}
	inner := sizeOf(idx.Shape()[axis:])
	// every element is the off or on value
	at := make([]int, out.Size())
	for i, j := range array.Data[int64](ints) {
		if j < 0 {
			j += int64(depth)
		}
		if j >= 0 && j < int64(depth) {
			at[(i/inner*depth+int(j))*inner+i%inner] = 1
		}
	}
	takeBlocks(out, values, 1, at)
	c.Out[0] = out
	return nil
}

func inferOneHot(c *Infer) error {
	idx := c.Fact(0)
	out := TensorFact(c.Fact(2).DType, nil)
	if idx.Dims != nil {
		axis, err := c.normalAxis(c.IntOr("axis", -1), len(idx.Dims)+1)
		if err != nil {
			return err
		}
		var depth sym.Expr
		if es := c.ElemsAt(1); len(es) == 1 {
			depth = es[0]
		} else if k := c.Fact(1).Const; k != nil && k.Size() == 1 { // floats are allowed
			if n, err := k.Cast(array.Int64); err == nil {
				depth = sym.Int(n.At(0).(int64))
			}
		}
		out.Dims = slices.Insert(slices.Clone(idx.Dims), axis, depth)
	}
	c.Set(0, out)
	return nil
}

var gatherOps = []Op{
	{Name: "Gather", Since: 1, Infer: inferGather, Eval: gather},
	{Name: "GatherElements", Since: 11, Checks: []Check{indicesFit}, Infer: inferGatherElements, Eval: gatherElements},
	{Name: "GatherND", Since: 11, Infer: inferGatherND, Eval: gatherND},
	{Name: "OneHot", Since: 9, Infer: inferOneHot, Eval: oneHot},
}
