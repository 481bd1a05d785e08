package ops

import (
	"slices"

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

// bodyOf returns a graph attribute, which must be set.
func (s *Site) bodyOf(name string) (*ir.Graph, error) {
	if g := s.Graph(name); g != nil {
		return g, nil
	}
	return nil, s.Errorf("attribute %q: got none, want a graph", name)
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
	g, err := c.bodyOf(name)
	if err != nil {
		return err
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
			dead := names[1]
			if names = names[:1]; n == 0 {
				dead, names = names[0], []string{dead}
			}
			if g := c.Graph(dead); g != nil && c.Visit != nil {
				c.Visit(g)
			}
		}
	}
	for _, name := range names {
		g, err := c.bodyOf(name)
		if err != nil {
			return err
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
	if a.Kind != ir.TensorKind {
		return Fact{Kind: a.Kind, Type: mergeTypes(a.Type, b.Type)}
	}
	out := Fact{Kind: a.Kind}
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
	if a.Elems != nil && len(a.Elems) == len(b.Elems) && out.Dims != nil {
		out.Elems = make([]sym.Expr, len(a.Elems))
		for i := range a.Elems {
			if a.Elems[i].Equal(b.Elems[i]) {
				out.Elems[i] = a.Elems[i]
			}
		}
	}
	return out
}

// mergeTypes keeps what two types of what is not a tensor say alike.
func mergeTypes(a, b *ir.Type) *ir.Type {
	switch {
	case a == nil || b == nil || a.Kind != b.Kind:
		return nil
	case a.Kind == ir.TensorKind:
		return MergeFacts(FactOf(a), FactOf(b)).ValueType()
	case a.Kind == ir.SequenceKind || a.Kind == ir.OptionalKind || a.Kind == ir.MapKind && a.Key == b.Key:
		return &ir.Type{Kind: a.Kind, Key: a.Key, Of: mergeTypes(a.Of, b.Of)}
	case a.Equal(b):
		return a
	}
	return nil
}

// sameFacts reports whether two facts say the same.
func sameFacts(a, b Fact) bool {
	same := func(x, y sym.Expr) bool { return x.Equal(y) || !x.Known() && !y.Known() }
	return a.Kind == b.Kind && a.DType == b.DType && a.Type.Equal(b.Type) && (a.Dims == nil) == (b.Dims == nil) &&
		slices.EqualFunc(a.Dims, b.Dims, same) && slices.EqualFunc(a.Elems, b.Elems, same)
}

// inferCarried infers a body that is run again and again: round infers it once
// from facts of the carried values and returns facts of all its outputs, of which
// the carried ones begin at first. What differs between rounds is not known.
func inferCarried(carried []Fact, first int, round func([]Fact) ([]Fact, error)) (outs []Fact, err error) {
	for i := range carried {
		carried[i].Const = nil
	}
	const rounds = 6
	for n := range rounds {
		if outs, err = round(carried); err != nil {
			return nil, err
		}
		stable := true
		for i, f := range carried {
			merged := Fact{}
			if first+i < len(outs) {
				merged = MergeFacts(f, outs[first+i])
			}
			if n >= rounds-2 && !sameFacts(f, merged) { // it goes on changing
				merged.Dims, merged.Elems = nil, nil
			}
			stable = stable && sameFacts(f, merged)
			carried[i] = merged
		}
		if stable {
			break
		}
	}
	return outs, nil
}

// collector gathers what a body gives in each iteration, within the budget.
type collector struct {
	c      *Call
	values [][]array.Value
	bytes  int64
}

func (k *collector) add(outs []array.Value) error {
	for i := range k.values {
		a, ok := outs[i].(*array.Array)
		if !ok {
			return k.c.Errorf("a scan output: got %s, want a tensor", outs[i].Summary())
		}
		k.values[i] = append(k.values[i], a)
		k.bytes += a.NBytes()
	}
	if b := k.c.Budget; b != nil && k.bytes > b.MaxBytes {
		return k.c.Errorf("the scan outputs take more than %d bytes (the memory budget)", b.MaxBytes)
	}
	return nil
}

// loop runs its body until the trip count or the condition ends it.
func loop(c *Call) error {
	g, err := c.bodyOf("body")
	if err != nil {
		return err
	}
	trips := -1
	if c.Has(0) {
		if trips, err = c.scalarInt(0); err != nil {
			return err
		}
		trips = max(trips, 0)
	}
	on := true
	if c.Has(1) {
		if on, err = c.truth(1); err != nil {
			return err
		}
	}
	state := slices.Clone(c.In[min(2, len(c.In)):])
	for i, v := range state {
		if v == nil {
			return c.Errorf("input %d: got none, want a value to carry", 2+i)
		}
	}
	scans := &collector{c: c, values: make([][]array.Value, max(0, len(c.Out)-len(state)))}
	for i := 0; on && (trips < 0 || i < trips); i++ {
		outs, err := c.Run(g, append([]array.Value{array.Scalar(int64(i)), array.Scalar(on)}, state...))
		if err != nil {
			return err
		}
		if len(outs) < 1+len(state)+len(scans.values) {
			return c.Errorf("the body gives %d outputs, want %d", len(outs), 1+len(state)+len(scans.values))
		}
		cond, ok := outs[0].(*array.Array)
		if !ok || cond.Size() != 1 || cond.DType() != array.Bool {
			return c.Errorf("the body's condition: got %s, want one bool", outs[0].Summary())
		}
		on = cond.At(0) == true
		copy(state, outs[1:])
		if err := scans.add(outs[1+len(state):]); err != nil {
			return err
		}
	}
	copy(c.Out, state)
	for k, vs := range scans.values {
		if c.Out[len(state)+k], err = c.stacked(vs, bodyType(g, 1+len(state)+k)); err != nil {
			return err
		}
	}
	return nil
}

func bodyType(g *ir.Graph, i int) *ir.Type {
	if i < g.NumOutputs() {
		return g.Output(i).Type()
	}
	return nil
}

// stacked joins the values of all iterations, tensors, along a new first axis.
func (c *Call) stacked(vs []array.Value, typ *ir.Type) (*array.Array, error) {
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
	parts := make([]*array.Array, len(vs))
	for i, v := range vs {
		a, ok := v.(*array.Array)
		if !ok {
			return nil, c.Errorf("a scan output: got %s, want a tensor", v.Summary())
		}
		p, err := a.Reshape(append([]int{1}, a.Shape()...)...)
		if err != nil {
			return nil, err
		}
		parts[i] = p
	}
	return c.joined(parts, 0)
}

func inferLoop(c *Infer) error {
	g, err := c.bodyOf("body")
	if err != nil {
		return err
	}
	carried := slices.Clone(c.In[min(2, len(c.In)):])
	on := TensorFact(array.Bool, []sym.Expr{})
	on.Elems = []sym.Expr{sym.Int(1)} // else the body would not run
	outs, err := inferCarried(carried, 1, func(state []Fact) ([]Fact, error) {
		return c.Run(g, append([]Fact{TensorFact(array.Int64, []sym.Expr{}), on}, state...))
	})
	if err != nil {
		return err
	}
	trips := c.trips(outs)
	for i := range c.Out {
		switch {
		case i < len(carried):
			c.Set(i, carried[i])
		case 1+i < len(outs):
			c.Set(i, stackedFact(outs[1+i], 0, trips))
		}
	}
	return nil
}

// trips returns how often a loop runs, when nothing but its count ends it.
func (c *Infer) trips(outs []Fact) sym.Expr {
	isTrue := func(f Fact) bool {
		if len(f.Elems) != 1 {
			return f.Const != nil && f.Const.Size() == 1 && f.Const.At(0) == true
		}
		n, ok := f.Elems[0].Int()
		return ok && n != 0
	}
	if len(outs) == 0 || !isTrue(outs[0]) || c.HasIn(1) && !isTrue(c.Fact(1)) {
		return sym.Expr{}
	}
	if es := c.ElemsAt(0); c.HasIn(0) && len(es) == 1 {
		return es[0].Max(sym.Int(0))
	}
	return sym.Expr{}
}

// stackedFact is the fact of values of all iterations joined along a new axis.
func stackedFact(f Fact, axis int, n sym.Expr) Fact {
	out := TensorFact(f.DType, nil)
	if axis < 0 {
		axis += len(f.Dims) + 1
	}
	if f.Dims != nil && axis >= 0 && axis <= len(f.Dims) {
		out.Dims = slices.Insert(slices.Clone(f.Dims), axis, n)
	}
	return out
}

var controlOps = []Op{
	{Name: "If", Since: 1, Infer: inferIf, Eval: ifOp},
	{Name: "Loop", Since: 1, Infer: inferLoop, Eval: loop},
	{Name: "Scan", Since: 8, Infer: inferScan8, Eval: scan8},
	{Name: "Scan", Since: 9, Infer: inferScan, Eval: scan},
	{Name: "SequenceMap", Since: 17, Infer: inferSequenceMap, Eval: sequenceMap},
}
