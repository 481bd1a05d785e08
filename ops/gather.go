package ops

import (
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

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
	at, err := c.IntsAt(1)
	if err != nil {
		return err
	}
	outer, d, inner := splitAt(a.Shape(), axis)
	shape := slices.Concat(a.Shape()[:axis], idx.Shape(), a.Shape()[axis+1:])
	out, err := c.Make(a.DType(), shape)
	if err != nil {
		return err
	}
	for i, p := range at {
		if p < -d || p >= d {
			return c.Errorf("indices: got %d, want %d to %d, the size of axis %d", p, -d, d-1, axis)
		}
		if p < 0 {
			at[i] += d
		}
	}
	moveBlocks(out, a, outer, d, inner, at)
	c.Out[0] = out
	return nil
}

// moveBlocks copies, for each of outer rows, the blocks of inner elements that at
// names.
func moveBlocks(out, a *array.Array, outer, d, inner int, at []int) {
	dt := a.DType()
	switch {
	case dt == array.String:
		dst, src := array.MutableStrings(out), a.Strings()
		for o := range outer {
			for k, p := range at {
				copy(dst[(o*len(at)+k)*inner:(o*len(at)+k+1)*inner], src[(o*d+p)*inner:])
			}
		}
	case dt.Bits() < 8:
		for o := range outer {
			for k, p := range at {
				for i := range inner {
					_ = out.SetAt((o*len(at)+k)*inner+i, a.At((o*d+p)*inner+i)) // the same type
				}
			}
		}
	default:
		w := inner * dt.Bits() / 8
		dst, src := rawOf(out), rawOf(a)
		for o := range outer {
			for k, p := range at {
				copy(dst[(o*len(at)+k)*w:(o*len(at)+k+1)*w], src[(o*d+p)*w:])
			}
		}
	}
}

func inferGather(c *Infer) error {
	in, idx := c.Fact(0), c.Fact(1)
	out := TensorFact(in.DType, nil)
	if in.Dims != nil {
		axis, err := c.normalAxis(c.Int("axis"), len(in.Dims))
		if err != nil {
			return err
		}
		if idx.Dims != nil {
			out.Dims = slices.Concat(in.Dims[:axis], idx.Dims, in.Dims[axis+1:])
			if out.Dims == nil {
				out.Dims = []sym.Expr{}
			}
		}
		es := c.ElemsAt(0)
		if at, ok := c.IntsAt(1); ok && es != nil && len(in.Dims) == 1 {
			out.Elems = make([]sym.Expr, len(at))
			for i, p := range at {
				if p < 0 {
					p += len(es)
				}
				if p < 0 || p >= len(es) {
					return c.Errorf("indices: got %d, want %d to %d", at[i], -len(es), len(es)-1)
				}
				out.Elems[i] = es[p]
			}
		}
	}
	c.Set(0, out)
	return nil
}

var gatherOps = []Op{
	{Name: "Gather", Since: 1, Infer: inferGather, Eval: gather},
}
