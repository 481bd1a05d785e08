package ops

import (
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

func concat(c *Call) error {
	parts := make([]*array.Array, len(c.In))
	for i := range c.In {
		a, err := c.Need(i)
		if err != nil {
			return err
		}
		parts[i] = a
	}
	if len(parts) == 0 {
		return c.Errorf("got 0 inputs, want at least 1")
	}
	axis, err := c.normalAxis(c.IntOr("axis", 1), parts[0].Rank())
	if err != nil {
		return err
	}
	c.Out[0], err = c.joined(parts, axis)
	return err
}

// joined returns the parts, of one type and equal sizes but for the axis, in a
// row along it.
func (c *Call) joined(parts []*array.Array, axis int) (*array.Array, error) {
	first := parts[0]
	shape := slices.Clone(first.Shape())
	shape[axis] = 0
	for i, p := range parts {
		if p.DType() != first.DType() {
			return nil, c.Errorf("input %d: got %s, want %s", i, p.DType(), first.DType())
		}
		fits := p.Rank() == len(shape)
		for k, d := range p.Shape() {
			fits = fits && (k == axis || d == shape[k])
		}
		if !fits {
			return nil, c.Errorf("input %d: got shape %v, want that of input 0, %v, but for axis %d", i, p.Shape(), first.Shape(), axis)
		}
		shape[axis] += p.Shape()[axis]
	}
	out, err := c.Make(first.DType(), shape)
	if err != nil {
		return nil, err
	}
	to := strided{steps: rowMajor(shape)}
	for _, p := range parts {
		copyStrided(out, p, p.Shape(), to, strided{steps: rowMajor(p.Shape())})
		to.offset += p.Shape()[axis] * to.steps[axis]
	}
	return out, nil
}

func inferConcat(c *Infer) error {
	out := TensorFact(c.Fact(0).DType, nil)
	rank := -1
	for i := range c.In {
		if c.In[i].Dims != nil {
			rank = len(c.In[i].Dims)
		}
	}
	if rank < 0 {
		c.Set(0, out)
		return nil
	}
	axis, err := c.normalAxis(c.IntOr("axis", 1), rank)
	if err != nil {
		return err
	}
	out.Dims = make([]sym.Expr, rank)
	sum := sym.Int(0)
	for i := range c.In {
		dims := c.In[i].Dims
		if dims == nil {
			sum = sym.Expr{}
			continue
		}
		if len(dims) != rank {
			return c.Errorf("input %d: got rank %d, want %d", i, len(dims), rank)
		}
		for k, d := range dims {
			if k != axis {
				if out.Dims[k], err = c.agree(i, k, out.Dims[k], d); err != nil {
					return err
				}
			}
		}
		sum = sum.Add(dims[axis])
	}
	out.Dims[axis] = sum
	if rank == 1 {
		out.Elems = c.joinedElems()
	}
	c.Set(0, out)
	return nil
}

// agree returns what two sizes that must be equal say together; numbers that
// differ are an error of input i, axis k.
func (c *Infer) agree(i, k int, a, b sym.Expr) (sym.Expr, error) {
	m, aNum := a.Int()
	n, bNum := b.Int()
	switch {
	case aNum && bNum && m != n:
		return a, c.Errorf("input %d: got size %d on axis %d, want %d as the other inputs have", i, n, k, m)
	case aNum || !b.Known():
		return a, nil
	case bNum || !a.Known():
		return b, nil
	}
	return a, nil
}

// joinedElems returns the elements of all inputs, of rank 1, in a row, with
// unknown ones where an input's are not known; nil when not even their number is.
func (c *Infer) joinedElems() []sym.Expr {
	elems := []sym.Expr{}
	for i := range c.In {
		if es := c.ElemsAt(i); es != nil {
			elems = append(elems, es...)
		} else if dims := c.In[i].Dims; len(dims) != 1 {
			return nil
		} else if n, ok := dims[0].Int(); ok && n <= MaxElems {
			elems = append(elems, make([]sym.Expr, n)...)
		} else {
			return nil
		}
		if len(elems) > MaxElems {
			return nil
		}
	}
	return elems
}

// splitSizes returns the sizes of the parts: given, or as even as they can be.
func (s *Site) splitSizes(d, outputs int, given []int) ([]int, error) {
	if given != nil {
		sum := 0
		for _, n := range given {
			if n < 0 || n > d {
				return nil, s.Errorf("split: got %v, want sizes from 0 to %d", given, d)
			}
			sum += n
		}
		if sum != d || len(given) != outputs {
			return nil, s.Errorf("split: got %v for %d outputs, want that many sizes whose sum is %d", given, outputs, d)
		}
		return given, nil
	}
	if n := s.IntOr("num_outputs", outputs); n != outputs {
		return nil, s.Errorf("num_outputs: got %d for %d outputs", n, outputs)
	}
	if s.Opset < 18 && outputs > 0 && d%outputs != 0 {
		return nil, s.Errorf("split: %d does not divide into %d equal parts", d, outputs)
	}
	chunk := (d + outputs - 1) / max(outputs, 1)
	sizes := make([]int, outputs)
	for i := range sizes {
		sizes[i] = max(0, min(chunk, d-i*chunk))
	}
	return sizes, nil
}

func split(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	axis, err := c.normalAxis(c.Int("axis"), a.Rank())
	if err != nil {
		return err
	}
	given := c.Ints("split")
	if c.Has(1) {
		if given, err = c.splitInput(); err != nil {
			return err
		}
	}
	sizes, err := c.splitSizes(a.Shape()[axis], len(c.Out), given)
	if err != nil {
		return err
	}
	parts, err := c.parts(a, axis, sizes)
	if err != nil {
		return err
	}
	for i, p := range parts {
		c.Out[i] = p
	}
	return nil
}

// splitInput returns the sizes that input 1 gives; in opset 1 they have the
// type of the data.
func (c *Call) splitInput() ([]int, error) {
	if a := c.Array(1); a != nil && a.DType().IsFloat() && c.Opset < 2 {
		w, err := a.Cast(array.Int64)
		if err != nil {
			return nil, c.Errorf("input 1: %w", err)
		}
		out := make([]int, w.Size())
		for i, n := range array.Data[int64](w) {
			out[i] = int(n)
		}
		return out, nil
	}
	return c.IntsAt(1)
}

// parts cuts a along an axis; the sizes must add up to it.
func (c *Call) parts(a *array.Array, axis int, sizes []int) ([]*array.Array, error) {
	out := make([]*array.Array, len(sizes))
	from := strided{steps: rowMajor(a.Shape())}
	for i, n := range sizes {
		shape := slices.Clone(a.Shape())
		shape[axis] = n
		p, err := c.Make(a.DType(), shape)
		if err != nil {
			return nil, err
		}
		copyStrided(p, a, shape, strided{steps: rowMajor(shape)}, from)
		from.offset += n * from.steps[axis]
		out[i] = p
	}
	return out, nil
}

func inferSplit(c *Infer) error {
	in := c.Fact(0)
	given, known := c.Ints("split"), true
	if c.HasIn(1) {
		given, known = c.IntsAt(1)
	}
	for i := range c.Out {
		c.Set(i, TensorFact(in.DType, nil))
	}
	if in.Dims == nil {
		return nil
	}
	axis, err := c.normalAxis(c.Int("axis"), len(in.Dims))
	if err != nil {
		return err
	}
	sizes := make([]sym.Expr, len(c.Out))
	d, isNum := in.Dims[axis].Int()
	switch {
	case known && isNum:
		ns, err := c.splitSizes(int(d), len(c.Out), given)
		if err != nil {
			return err
		}
		sizes = sym.Ints(ns)
	case known && given != nil && len(given) == len(c.Out):
		sizes = sym.Ints(given)
	case known && given == nil && c.Opset < 18 || len(c.Out) == 1:
		for i := range sizes {
			sizes[i] = in.Dims[axis].FloorDiv(sym.Int(int64(len(c.Out))))
		}
	}
	for i := range c.Out {
		out := TensorFact(in.DType, slices.Clone(in.Dims))
		out.Dims[axis] = sizes[i]
		c.Set(i, out)
	}
	c.follow(split)
	return nil
}

var joinOps = []Op{
	{Name: "Concat", Since: 1, Infer: inferConcat, Eval: concat},
	{Name: "Split", Since: 1, Infer: inferSplit, Eval: split},
}
