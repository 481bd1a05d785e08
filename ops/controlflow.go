package ops

import (
	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// truth returns the condition that an input gives.
func (c *Call) truth(i int) (bool, error) {
	a, err := c.Need(i)
	if err != nil {
		return false, err
	}
	if a.Size() != 1 || a.DType() != array.Bool {
		return false, c.Errorf("input %d: got %s, want one bool", i, a.Summary())
	}
	return a.At(0) == true, nil
}

func ifOp(c *Call) error {
	yes, err := c.truth(0)
	if err != nil {
		return err
	}
	name := "else_branch"
	if yes {
		name = "then_branch"
	}
	g := c.Graph(name)
	if g == nil {
		return c.Errorf("attribute %q: got none, want a graph", name)
	}
	outs, err := c.Run(g, nil)
	if err != nil {
		return err
	}
	if len(outs) < len(c.Out) {
		return c.Errorf("%s gives %d outputs, want %d", name, len(outs), len(c.Out))
	}
	copy(c.Out, outs)
	return nil
}

func inferIf(c *Infer) error {
	var branches [][]Fact
	names := []string{"then_branch", "else_branch"}
	if es := c.ElemsAt(0); len(es) == 1 {
		if n, ok := es[0].Int(); ok {
			if n != 0 {
				names = names[:1]
			} else {
				names = names[1:]
			}
		}
	}
	for _, name := range names {
		g := c.Graph(name)
		if g == nil {
			return c.Errorf("attribute %q: got none, want a graph", name)
		}
		fs, err := c.Run(g, nil)
		if err != nil {
			return err
		}
		branches = append(branches, fs)
	}
	for i := range c.Out {
		var out Fact
		for k, fs := range branches {
			if i >= len(fs) {
				continue
			}
			if k == 0 {
				out = fs[i]
			} else {
				out = MergeFacts(out, fs[i])
			}
		}
		c.Set(i, out)
	}
	return nil
}

// MergeFacts keeps what two facts say alike.
func MergeFacts(a, b Fact) Fact {
	if a.Kind != b.Kind {
		return Fact{}
	}
	out := Fact{Kind: a.Kind, Type: a.Type}
	if a.DType == b.DType {
		out.DType = a.DType
	}
	if a.Dims != nil && b.Dims != nil && len(a.Dims) == len(b.Dims) {
		out.Dims = make([]sym.Expr, len(a.Dims))
		for i := range a.Dims {
			if a.Dims[i].Equal(b.Dims[i]) {
				out.Dims[i] = a.Dims[i]
			}
		}
	}
	return out
}

// loop runs its body until the trip count or the condition ends it.
func loop(c *Call) error {
	g := c.Graph("body")
	if g == nil {
		return c.Errorf("attribute \"body\": got none, want a graph")
	}
	trips := int64(-1)
	if c.Has(0) {
		ns, err := c.IntsAt(0)
		if err != nil {
			return err
		}
		if len(ns) != 1 {
			return c.Errorf("input 0: got %d elements, want 1", len(ns))
		}
		trips = int64(ns[0])
	}
	on := true
	if c.Has(1) {
		var err error
		if on, err = c.truth(1); err != nil {
			return err
		}
	}
	state := append([]array.Value(nil), c.In[min(2, len(c.In)):]...)
	scans := make([][]array.Value, max(0, len(c.Out)-len(state)))
	for i := int64(0); on && (trips < 0 || i < trips); i++ {
		outs, err := c.Run(g, append([]array.Value{array.Scalar(i), array.Scalar(on)}, state...))
		if err != nil {
			return err
		}
		if len(outs) < 1+len(state)+len(scans) {
			return c.Errorf("the body gives %d outputs, want %d", len(outs), 1+len(state)+len(scans))
		}
		cond, ok := outs[0].(*array.Array)
		if !ok || cond.Size() != 1 {
			return c.Errorf("the body's condition: got %s, want one bool", outs[0].Summary())
		}
		on = cond.At(0) == true
		copy(state, outs[1:1+len(state)])
		for k := range scans {
			scans[k] = append(scans[k], outs[1+len(state)+k])
		}
	}
	copy(c.Out, state)
	for k, vs := range scans {
		out, err := stacked(c, vs, bodyType(g, 1+len(state)+k))
		if err != nil {
			return err
		}
		c.Out[len(state)+k] = out
	}
	return nil
}

func bodyType(g *ir.Graph, i int) *ir.Type {
	if i < g.NumOutputs() {
		return g.Output(i).Type()
	}
	return nil
}

// stacked joins the values of all iterations along a new first axis.
func stacked(c *Call, vs []array.Value, typ *ir.Type) (array.Value, error) {
	if len(vs) == 0 {
		dt, shape := array.Float32, []int{0}
		if typ != nil {
			if typ.Elem.Valid() {
				dt = typ.Elem
			}
			for _, d := range typ.Shape {
				n, _ := d.Size()
				shape = append(shape, int(n))
			}
		}
		return c.Make(dt, shape)
	}
	first, ok := vs[0].(*array.Array)
	if !ok {
		return nil, c.Errorf("a scan output: got %s, want a tensor", vs[0].Summary())
	}
	out, err := c.Make(first.DType(), append([]int{len(vs)}, first.Shape()...))
	if err != nil {
		return nil, err
	}
	for i, v := range vs {
		a, ok := v.(*array.Array)
		if !ok || a.DType() != first.DType() || a.Size() != first.Size() {
			return nil, c.Errorf("a scan output: got %s in iteration %d, want %s", v.Summary(), i, first.Summary())
		}
		copyBlocks(out, a, 1, 0, i*first.Size(), first.Size())
	}
	return out, nil
}

func inferLoop(c *Infer) error {
	g := c.Graph("body")
	if g == nil {
		return c.Errorf("attribute \"body\": got none, want a graph")
	}
	ins := []Fact{TensorFact(array.Int64, []sym.Expr{}), TensorFact(array.Bool, []sym.Expr{})}
	carried := max(0, len(c.In)-2)
	for i := range carried {
		f := c.In[2+i]
		f.Const, f.Elems = nil, nil
		ins = append(ins, f)
	}
	// two rounds: what the first one changes is not known to stay
	for range 2 {
		outs, err := c.Run(g, ins)
		if err != nil {
			return err
		}
		for i := range carried {
			if 1+i < len(outs) {
				ins[2+i] = MergeFacts(ins[2+i], outs[1+i])
			}
		}
		for i := range c.Out {
			if i < carried {
				c.Set(i, ins[2+i])
			} else if 1+i < len(outs) {
				f := outs[1+i]
				f.Const, f.Elems = nil, nil
				if f.Dims != nil {
					f.Dims = append([]sym.Expr{{}}, f.Dims...)
				}
				c.Set(i, f)
			}
		}
	}
	return nil
}

var controlOps = []Op{
	{Name: "If", Since: 1, Infer: inferIf, Eval: ifOp},
	{Name: "Loop", Since: 1, Infer: inferLoop, Eval: loop},
}
