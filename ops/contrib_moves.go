package ops

import (
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// expandDims puts an axis of 1 where input 1 says.
func expandDims(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	at, err := c.scalarInt(1)
	if err != nil {
		return err
	}
	c.Out[0], err = c.part(unsqueeze, nil, a, array.FromSlice([]int64{int64(at)}, 1))
	return err
}

func inferExpandDims(c *Infer) error {
	f := c.Fact(0)
	out := TensorFact(f.DType, nil)
	at, known := c.IntsAt(1)
	switch {
	case f.Dims == nil:
	case known && len(at) == 1:
		axis, err := c.normalAxis(at[0], len(f.Dims)+1)
		if err != nil {
			return err
		}
		out.Dims = slices.Insert(slices.Clone(f.Dims), axis, sym.Int(1))
	default:
		out.Dims = make([]sym.Expr, len(f.Dims)+1)
	}
	c.Set(0, out)
	return nil
}

// firstUnique finds the different elements of a vector in the order in which
// they come.
func firstUnique(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	if a.Rank() != 1 {
		return c.Errorf("input 0: got %s, want a vector", a.Summary())
	}
	outs, err := c.parted(unique, 4, uniqueAttrs, a)
	if err != nil {
		return err
	}
	for i, of := range []int{0, 2, 3} {
		if c.Wants(i) {
			c.Out[i] = outs[of]
		}
	}
	return nil
}

var uniqueAttrs = []*ir.Attr{ir.NewAttr("sorted", int64(0))}

func inferFirstUnique(c *Infer) error {
	outs, err := c.parted(inferUnique, 4, uniqueAttrs, c.Fact(0))
	for i, of := range []int{0, 2, 3} {
		c.Set(i, outs[of])
	}
	return err
}

// contribRange is Range whose step may be omitted.
func contribRange(c *Call) error {
	in, err := c.needs(2)
	if err != nil {
		return err
	}
	step := c.Array(2)
	if step == nil {
		if step, err = array.Scalar(int64(1)).Cast(in[0].DType()); err != nil {
			return err
		}
	}
	c.Out[0], err = c.part(rangeOf, nil, in[0], in[1], step)
	return err
}

func inferContribRange(c *Infer) error {
	step := c.Fact(2)
	if !c.HasIn(2) {
		step = TensorFact(c.Fact(0).DType, []sym.Expr{})
		step.Const = array.Scalar(int64(1))
		step.Elems = []sym.Expr{sym.Int(1)}
	}
	out, err := c.part(inferRange, nil, c.Fact(0), c.Fact(1), step)
	c.Set(0, out)
	return err
}

// withAttrs makes a kernel of the standard's with these attributes of the node.
func withAttrs(kernel func(*Call) error, inputs int, names ...string) func(*Call) error {
	return func(c *Call) error {
		in := make([]*array.Array, inputs)
		for i := range in {
			if c.Has(i) {
				a, err := c.Need(i)
				if err != nil {
					return err
				}
				in[i] = a
			}
		}
		y, err := c.part(kernel, c.attrsOf(names...), in...)
		c.Out[0] = y
		return err
	}
}

func inferWithAttrs(infer func(*Infer) error, inputs int, names ...string) func(*Infer) error {
	return func(c *Infer) error {
		in := make([]Fact, inputs)
		for i := range in {
			in[i] = c.Fact(i)
		}
		out, err := c.part(infer, c.attrsOf(names...), in...)
		c.Set(0, out)
		return err
	}
}

// flatPads is Pad whose pads may be a matrix of one row.
func flatPads(c *Call) error {
	in, err := c.needs(2)
	if err != nil {
		return err
	}
	pads, err := in[1].Reshape(in[1].Size())
	if err != nil {
		return err
	}
	c.Out[0], err = c.part(pad, c.attrsOf("mode"), in[0], pads, c.Array(2))
	return err
}

func inferFlatPads(c *Infer) error {
	pads := c.Fact(1)
	if pads.Const != nil {
		flat, err := pads.Const.Reshape(pads.Const.Size())
		if err != nil {
			return err
		}
		pads.Const = flat
	}
	if len(pads.Dims) == 2 {
		pads.Dims = []sym.Expr{sym.Product(pads.Dims)}
	}
	out, err := c.part(inferPad, c.attrsOf("mode"), c.Fact(0), pads, c.Fact(2))
	c.Set(0, out)
	return err
}

var contribMovesOps = []Op{
	{Domain: contribDomain, Name: "ExpandDims", Since: 1, Infer: inferExpandDims, Eval: expandDims},
	{Domain: contribDomain, Name: "Trilu", Since: 1, Infer: inferSame, Eval: trilu},
	{Domain: contribDomain, Name: "Unique", Since: 1, Infer: inferFirstUnique, Eval: firstUnique},
	{Domain: contribDomain, Name: "Range", Since: 1, Infer: inferContribRange, Eval: contribRange},
	{Domain: contribDomain, Name: "Pad", Since: 1, Infer: inferFlatPads, Eval: flatPads},
	{Domain: contribDomain, Name: "GatherND", Since: 1, Infer: inferWithAttrs(inferGatherND, 2), Eval: withAttrs(gatherND, 2)},
	{Domain: contribDomain, Name: "GridSample", Since: 1, Infer: inferWithAttrs(inferGridSample, 2), Eval: withAttrs(gridSample, 2, "align_corners", "mode", "padding_mode")},
}
