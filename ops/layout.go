package ops

import (
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// transposePerm returns the permutation, reversed axes where none is given.
func (s *Site) transposePerm(rank int) ([]int, error) {
	perm := s.Ints("perm")
	if perm == nil {
		for i := range rank {
			perm = append(perm, rank-1-i)
		}
		return perm, nil
	}
	seen := make([]bool, rank)
	for _, p := range perm {
		if len(perm) != rank || p < 0 || p >= rank || seen[p] {
			return nil, s.Errorf("perm: got %v, want a permutation of the %d axes", perm, rank)
		}
		seen[p] = true
	}
	if len(perm) != rank {
		return nil, s.Errorf("perm: got %v, want a permutation of the %d axes", perm, rank)
	}
	return perm, nil
}

func transpose(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	perm, err := c.transposePerm(a.Rank())
	if err != nil {
		return err
	}
	c.Out[0], err = c.permuted(a, perm)
	return err
}

// permuted returns a with its axes in another order, as memory of its own.
func (c *Call) permuted(a *array.Array, perm []int) (*array.Array, error) {
	shape, from := make([]int, len(perm)), make([]int, len(perm))
	steps := rowMajor(a.Shape())
	for i, p := range perm {
		shape[i], from[i] = a.Shape()[p], steps[p]
	}
	out, err := c.Make(a.DType(), shape)
	if err != nil {
		return nil, err
	}
	copyStrided(out, a, shape, strided{steps: rowMajor(shape)}, strided{steps: from})
	return out, nil
}

func inferTranspose(c *Infer) error {
	in := c.Fact(0)
	out := TensorFact(in.DType, nil)
	if in.Dims == nil {
		if perm := c.Ints("perm"); perm != nil {
			out.Dims = make([]sym.Expr, len(perm))
		}
		c.Set(0, out)
		return nil
	}
	perm, err := c.transposePerm(len(in.Dims))
	if err != nil {
		return err
	}
	out.Dims = make([]sym.Expr, len(perm))
	for i, p := range perm {
		out.Dims[i] = in.Dims[p]
	}
	c.Set(0, out)
	c.follow(transpose)
	return nil
}

func expand(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	target, err := c.IntsAt(1)
	if err != nil {
		return err
	}
	shape, err := array.BroadcastShapes(a.Shape(), target)
	if err != nil {
		return c.Errorf("shape: got %v, to which %v does not broadcast", target, a.Shape())
	}
	c.Out[0], err = c.expanded(a, shape)
	return err
}

// expanded returns a repeated to a shape that it broadcasts to.
func (c *Call) expanded(a *array.Array, shape []int) (*array.Array, error) {
	out, err := c.Make(a.DType(), shape)
	if err != nil {
		return nil, err
	}
	copyStrided(out, a, shape, strided{steps: rowMajor(shape)}, strided{steps: broadcastStrides(a.Shape(), shape)})
	return out, nil
}

func inferExpand(c *Infer) error {
	in := c.Fact(0)
	out := TensorFact(in.DType, nil)
	switch target := c.ElemsAt(1); {
	case target != nil && in.Dims != nil:
		var err error
		if out.Dims, err = meetDims(in.Dims, target); err != nil {
			return err
		}
	case in.Dims != nil && len(c.Fact(1).Dims) == 1:
		if n, ok := c.Fact(1).Dims[0].Int(); ok && n <= 64 {
			out.Dims = make([]sym.Expr, max(int(n), len(in.Dims)))
		}
	}
	c.Set(0, out)
	c.follow(expand)
	return nil
}

// tileOne is Tile before opset 6: so many copies along one axis.
func tileOne(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	var n [2]int
	for i := range n {
		if n[i], err = c.scalarInt(i + 1); err != nil {
			return err
		}
	}
	axis, err := c.normalAxis(n[1], a.Rank())
	if err != nil {
		return err
	}
	reps := ones(a.Rank())
	reps[axis] = n[0]
	return c.tiled(a, reps)
}

// scalarInt returns the one element of input i as an integer, also of a float
// type.
func (c *Call) scalarInt(i int) (int, error) {
	a, err := c.Need(i)
	if err != nil {
		return 0, err
	}
	if a.Size() != 1 {
		return 0, c.Errorf("input %d: got %s, want one number", i, a.Summary())
	}
	w, err := a.Cast(array.Int64)
	if err != nil {
		return 0, c.Errorf("input %d: %w", i, err)
	}
	return int(array.Data[int64](w)[0]), nil
}

func tile(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	reps, err := c.IntsAt(1)
	if err != nil {
		return err
	}
	return c.tiled(a, reps)
}

func (c *Call) tiled(a *array.Array, reps []int) error {
	rank := a.Rank()
	if len(reps) != rank {
		return c.Errorf("repeats: got %d numbers, want %d, the rank of the input", len(reps), rank)
	}
	shape := slices.Clone(a.Shape())
	dims, from := make([]int, 2*rank), make([]int, 2*rank)
	steps := rowMajor(shape)
	for i, r := range reps {
		n, ok := mulSizes(shape[i], r)
		if r < 0 || !ok {
			return c.Errorf("repeats: got %v, want numbers ≥ 0 that memory can hold", reps)
		}
		dims[2*i], dims[2*i+1], from[2*i+1] = r, shape[i], steps[i]
		shape[i] = n
	}
	out, err := c.Make(a.DType(), shape)
	if err != nil {
		return err
	}
	copyStrided(out, a, dims, strided{steps: rowMajor(dims)}, strided{steps: from})
	c.Out[0] = out
	return nil
}

func inferTile(c *Infer) error {
	in := c.Fact(0)
	out := TensorFact(in.DType, nil)
	if in.Dims != nil {
		out.Dims = make([]sym.Expr, len(in.Dims))
		if reps := c.ElemsAt(1); len(reps) == len(in.Dims) {
			for i, r := range reps {
				out.Dims[i] = in.Dims[i].Mul(r)
			}
		}
	}
	c.Set(0, out)
	c.follow(tile)
	return nil
}

// inferTileOne knows the rank alone: the old operator takes its numbers as
// inputs of the data's type.
func inferTileOne(c *Infer) error {
	in := c.Fact(0)
	out := TensorFact(in.DType, nil)
	if in.Dims != nil {
		out.Dims = make([]sym.Expr, len(in.Dims))
	}
	c.Set(0, out)
	return nil
}

// blockSize returns the blocksize, and the sizes of a rank-4 input.
func (c *Call) blocks() (a *array.Array, b int, err error) {
	if a, err = c.Need(0); err != nil {
		return nil, 0, err
	}
	b = c.Int("blocksize")
	if b < 1 || b > 1<<16 {
		return nil, 0, c.Errorf("blocksize: got %d, want a positive number", b)
	}
	if a.Rank() != 4 {
		return nil, 0, c.Errorf("input 0: got rank %d, want 4", a.Rank())
	}
	return a, b, c.checkBlockMode()
}

func (s *Site) checkBlockMode() error {
	if m := s.Str("mode"); m != "" && m != "DCR" && m != "CRD" {
		return s.Errorf("mode: got %q, want \"DCR\" or \"CRD\"", m)
	}
	return nil
}

func depthToSpace(c *Call) error {
	a, b, err := c.blocks()
	if err != nil {
		return err
	}
	n, d, h, w := a.Shape()[0], a.Shape()[1], a.Shape()[2], a.Shape()[3]
	if d%(b*b) != 0 {
		return c.Errorf("input 0: got %d channels, want a multiple of %d, the square of blocksize", d, b*b)
	}
	ch := d / (b * b)
	out, err := c.Make(a.DType(), []int{n, ch, h * b, w * b})
	if err != nil {
		return err
	}
	// the output's axes n, channel, h, block row, w, block column
	dims := []int{n, ch, h, b, w, b}
	from := []int{d * h * w, h * w, w, b * ch * h * w, 1, ch * h * w}
	if c.Str("mode") == "CRD" {
		from = []int{d * h * w, b * b * h * w, w, b * h * w, 1, h * w}
	}
	copyStrided(out, a, dims, strided{steps: rowMajor(dims)}, strided{steps: from})
	c.Out[0] = out
	return nil
}

func spaceToDepth(c *Call) error {
	a, b, err := c.blocks()
	if err != nil {
		return err
	}
	n, ch, h, w := a.Shape()[0], a.Shape()[1], a.Shape()[2], a.Shape()[3]
	if h%b != 0 || w%b != 0 {
		return c.Errorf("input 0: got a height of %d and a width of %d, want multiples of %d, the blocksize", h, w, b)
	}
	out, err := c.Make(a.DType(), []int{n, ch * b * b, h / b, w / b})
	if err != nil {
		return err
	}
	// the output's axes n, block row, block column, channel, h, w
	dims := []int{n, b, b, ch, h / b, w / b}
	from := []int{ch * h * w, w, 1, h * w, b * w, b}
	if c.Str("mode") == "CRD" { // n, channel, block row, block column, h, w
		dims = []int{n, ch, b, b, h / b, w / b}
		from = []int{ch * h * w, h * w, w, 1, b * w, b}
	}
	copyStrided(out, a, dims, strided{steps: rowMajor(dims)}, strided{steps: from})
	c.Out[0] = out
	return nil
}

func inferBlocks(toSpace bool) func(*Infer) error {
	return func(c *Infer) error {
		in := c.Fact(0)
		out := TensorFact(in.DType, make([]sym.Expr, 4))
		if in.Dims != nil && len(in.Dims) != 4 {
			return c.Errorf("input 0: got rank %d, want 4", len(in.Dims))
		}
		b := int64(c.Int("blocksize"))
		if in.Dims == nil || b < 1 || b > 1<<16 {
			c.Set(0, out)
			return nil
		}
		d, size := in.Dims, sym.Int(b)
		if toSpace {
			out.Dims = []sym.Expr{d[0], d[1].FloorDiv(sym.Int(b * b)), d[2].Mul(size), d[3].Mul(size)}
		} else {
			out.Dims = []sym.Expr{d[0], d[1].MulInt(b * b), d[2].FloorDiv(size), d[3].FloorDiv(size)}
		}
		c.Set(0, out)
		return nil
	}
}

var layoutOps = []Op{
	{Name: "Transpose", Since: 1, Infer: inferTranspose, Eval: transpose},
	{Name: "Expand", Since: 8, Infer: inferExpand, Eval: expand},
	{Name: "Tile", Since: 1, Infer: inferTileOne, Eval: tileOne},
	{Name: "Tile", Since: 6, Checks: []Check{numbersFor(1, 1)}, Infer: inferTile, Eval: tile},
	{Name: "DepthToSpace", Since: 1, Checks: []Check{rankIn(0, 4, 4), oneOf("mode", "DCR", "CRD"), blocksFit}, Infer: inferBlocks(true), Eval: depthToSpace},
	{Name: "SpaceToDepth", Since: 1, Checks: []Check{rankIn(0, 4, 4), divides("blocksize", 0, 2, 4), divides("blocksize", 0, 3, 4)}, Infer: inferBlocks(false), Eval: spaceToDepth},
}
