package ops

import (
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// FactOf returns what a type says of a value.
func FactOf(t *ir.Type) Fact {
	if t == nil {
		return Fact{}
	}
	if t.Kind != ir.TensorKind {
		return Fact{Kind: t.Kind, Type: t}
	}
	f := Fact{Kind: t.Kind, DType: t.Elem}
	if t.Shape != nil {
		f.Dims = make([]sym.Expr, len(t.Shape))
		for i, d := range t.Shape {
			if n, ok := d.Size(); ok {
				f.Dims[i] = sym.Int(n)
			} else if d.Symbol() != "" {
				f.Dims[i] = sym.FromText(d.Symbol())
			}
		}
	}
	return f
}

// ValueType returns the type that the fact amounts to, or nil when it says
// nothing of the kind.
func (f Fact) ValueType() *ir.Type {
	switch {
	case f.Kind != ir.TensorKind:
		return f.Type
	case f.Dims == nil:
		return ir.TensorType(f.DType, nil)
	}
	shape := make(ir.Shape, len(f.Dims))
	for i, d := range f.Dims {
		if n, ok := d.Int(); ok {
			shape[i] = ir.Num(n)
		} else if d.Known() {
			shape[i] = ir.Sym(d.String())
		}
	}
	return ir.TensorType(f.DType, shape)
}

// sequenceFact returns the fact of a sequence whose items are as elem says.
func sequenceFact(elem Fact) Fact {
	return Fact{Kind: ir.SequenceKind, Type: &ir.Type{Kind: ir.SequenceKind, Of: elem.ValueType()}}
}

// itemFact returns what is known of the items of input i, a sequence.
func (c *Infer) itemFact(i int) Fact {
	if t := c.Fact(i).Type; t != nil && t.Kind == ir.SequenceKind {
		return FactOf(t.Of)
	}
	return Fact{Kind: ir.TensorKind}
}

// sequenceAt returns the items of input i.
func (c *Call) items(i int) ([]array.Value, error) {
	if !c.Has(i) {
		return nil, c.Errorf("input %d: got none, want a sequence", i)
	}
	s, ok := c.In[i].(*array.Sequence)
	if !ok {
		return nil, c.Errorf("input %d: got %s, want a sequence", i, c.In[i].Summary())
	}
	return s.Items, nil
}

// position returns the place that input i names among n items; def when it is
// omitted. Negative ones count from the end; upTo is the largest allowed.
func (c *Call) position(i, n, upTo, def int) (int, error) {
	if !c.Has(i) {
		return def, nil
	}
	p, err := c.scalarInt(i)
	if err != nil {
		return 0, err
	}
	if p < -n || p > upTo {
		return 0, c.Errorf("position: got %d, want %d to %d", p, -n, upTo)
	}
	if p < 0 {
		p += n
	}
	return p, nil
}

func sequenceEmpty(c *Call) error {
	c.Out[0] = &array.Sequence{}
	return nil
}

func inferSequenceEmpty(c *Infer) error {
	dt := array.DType(c.IntOr("dtype", int(array.Float32)))
	c.Set(0, sequenceFact(TensorFact(dt, nil)))
	return nil
}

func sequenceConstruct(c *Call) error {
	for i, v := range c.In {
		if v == nil {
			return c.Errorf("input %d: got none, want a tensor", i)
		}
	}
	c.Out[0] = &array.Sequence{Items: slices.Clone(c.In)}
	return nil
}

func inferSequenceConstruct(c *Infer) error {
	elem := c.Fact(0)
	for _, f := range c.In {
		elem = MergeFacts(elem, f)
	}
	elem.DType = c.Fact(0).DType
	c.Set(0, sequenceFact(elem))
	return nil
}

func sequenceAt(c *Call) error {
	items, err := c.items(0)
	if err != nil {
		return err
	}
	p, err := c.position(1, len(items), len(items)-1, -1)
	if err != nil {
		return err
	}
	if p < 0 {
		return c.Errorf("position: got none, want a number")
	}
	c.Out[0] = items[p]
	return nil
}

func inferSequenceAt(c *Infer) error {
	c.Set(0, c.itemFact(0))
	return nil
}

func sequenceInsert(c *Call) error {
	items, err := c.items(0)
	if err != nil {
		return err
	}
	if !c.Has(1) {
		return c.Errorf("input 1: got none, want a tensor")
	}
	p, err := c.position(2, len(items), len(items), len(items))
	if err != nil {
		return err
	}
	c.Out[0] = &array.Sequence{Items: slices.Insert(slices.Clone(items), p, c.In[1])}
	return nil
}

func inferSequenceInsert(c *Infer) error {
	elem := MergeFacts(c.itemFact(0), c.Fact(1))
	if elem.Kind == ir.TensorKind {
		elem.DType = c.Fact(1).DType
	}
	c.Set(0, sequenceFact(elem))
	return nil
}

func sequenceErase(c *Call) error {
	items, err := c.items(0)
	if err != nil {
		return err
	}
	p, err := c.position(1, len(items), len(items)-1, len(items)-1)
	if err != nil {
		return err
	}
	if p < 0 {
		return c.Errorf("input 0: got an empty sequence, want an item to erase")
	}
	c.Out[0] = &array.Sequence{Items: slices.Delete(slices.Clone(items), p, p+1)}
	return nil
}

func sequenceLength(c *Call) error {
	items, err := c.items(0)
	if err != nil {
		return err
	}
	c.Out[0] = array.Scalar(int64(len(items)))
	return nil
}

func inferSequenceLength(c *Infer) error {
	c.Set(0, TensorFact(array.Int64, []sym.Expr{}))
	return nil
}

// pieceSizes returns the sizes into which SplitToSequence cuts an axis of size d.
func (c *Call) pieceSizes(d int) ([]int, error) {
	if !c.Has(1) {
		return ones(d), nil
	}
	given, err := c.IntsAt(1)
	if err != nil {
		return nil, err
	}
	if c.Array(1).Rank() > 0 {
		return c.splitSizes(d, len(given), given)
	}
	if given[0] <= 0 {
		return nil, c.Errorf("split: got %d, want a positive size", given[0])
	}
	var sizes []int
	for ; d > 0; d -= given[0] {
		sizes = append(sizes, min(d, given[0]))
	}
	return sizes, nil
}

func splitToSequence(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	axis, err := c.normalAxis(c.Int("axis"), a.Rank())
	if err != nil {
		return err
	}
	sizes, err := c.pieceSizes(a.Shape()[axis])
	if err != nil {
		return err
	}
	parts, err := c.parts(a, axis, sizes)
	if err != nil {
		return err
	}
	s := &array.Sequence{Items: make([]array.Value, len(parts))}
	for i, p := range parts {
		if !c.Has(1) && c.IntOr("keepdims", 1) == 0 {
			if p, err = p.Reshape(slices.Delete(slices.Clone(p.Shape()), axis, axis+1)...); err != nil {
				return err
			}
		}
		s.Items[i] = p
	}
	c.Out[0] = s
	return nil
}

func inferSplitToSequence(c *Infer) error {
	in := c.Fact(0)
	elem := TensorFact(in.DType, nil)
	if in.Dims != nil {
		axis, err := c.normalAxis(c.Int("axis"), len(in.Dims))
		if err != nil {
			return err
		}
		elem.Dims = slices.Clone(in.Dims)
		switch {
		case c.HasIn(1):
			elem.Dims[axis] = sym.Expr{}
		case c.IntOr("keepdims", 1) == 0:
			elem.Dims = slices.Delete(elem.Dims, axis, axis+1)
		default:
			elem.Dims[axis] = sym.Int(1)
		}
	}
	c.Set(0, sequenceFact(elem))
	return nil
}

func concatFromSequence(c *Call) error {
	items, err := c.items(0)
	if err != nil {
		return err
	}
	if len(items) == 0 {
		return c.Errorf("input 0: got an empty sequence, want an item at least")
	}
	stack := c.Int("new_axis") != 0
	parts := make([]*array.Array, len(items))
	for i, v := range items {
		a, ok := v.(*array.Array)
		if !ok {
			return c.Errorf("item %d: got %s, want a tensor", i, v.Summary())
		}
		parts[i] = a
	}
	rank := parts[0].Rank()
	if stack {
		rank++
	}
	axis, err := c.normalAxis(c.Int("axis"), rank)
	if err != nil {
		return err
	}
	for i, a := range parts {
		if !stack {
			break
		}
		if a.Rank() != rank-1 {
			return c.Errorf("item %d: got rank %d, want %d as item 0 has", i, a.Rank(), rank-1)
		}
		if parts[i], err = a.Reshape(slices.Insert(slices.Clone(a.Shape()), axis, 1)...); err != nil {
			return err
		}
	}
	c.Out[0], err = c.joined(parts, axis)
	return err
}

func inferConcatFromSequence(c *Infer) error {
	elem := c.itemFact(0)
	out := TensorFact(elem.DType, nil)
	if elem.Dims != nil {
		rank := len(elem.Dims)
		if c.Int("new_axis") != 0 {
			rank++
		}
		axis, err := c.normalAxis(c.Int("axis"), rank)
		if err != nil {
			return err
		}
		out.Dims = slices.Clone(elem.Dims)
		if rank > len(elem.Dims) {
			out.Dims = slices.Insert(out.Dims, axis, sym.Expr{})
		}
		out.Dims[axis] = sym.Expr{}
	}
	c.Set(0, out)
	return nil
}

// optional wraps a value, or the absence of one.
func optional(c *Call) error {
	o := &array.Optional{}
	if c.Has(0) {
		o.Value = c.In[0]
	}
	c.Out[0] = o
	return nil
}

func inferOptional(c *Infer) error {
	of := c.Fact(0).ValueType()
	if a := c.Attr("type"); a != nil && !c.HasIn(0) {
		of, _ = a.Value.(*ir.Type)
	}
	c.Set(0, Fact{Kind: ir.OptionalKind, Type: &ir.Type{Kind: ir.OptionalKind, Of: of}})
	return nil
}

func optionalHasElement(c *Call) error {
	has := c.Has(0)
	if o, ok := c.Input(0).(*array.Optional); ok {
		has = o.Value != nil
	}
	c.Out[0] = array.Scalar(has)
	return nil
}

// Input returns input i, or nil when it is omitted.
func (c *Call) Input(i int) array.Value {
	if i >= len(c.In) {
		return nil
	}
	return c.In[i]
}

func inferOptionalHasElement(c *Infer) error {
	out := TensorFact(array.Bool, []sym.Expr{})
	switch k := c.Fact(0).Kind; {
	case !c.HasIn(0):
		out.Elems = []sym.Expr{sym.Int(0)}
	case k == ir.TensorKind || k == ir.SequenceKind:
		out.Elems = []sym.Expr{sym.Int(1)}
	}
	c.Set(0, out)
	return nil
}

func optionalGetElement(c *Call) error {
	v := c.Input(0)
	if o, ok := v.(*array.Optional); ok {
		v = o.Value
	}
	if v == nil {
		return c.Errorf("input 0: got an optional that holds nothing, want a value")
	}
	c.Out[0] = v
	return nil
}

func inferOptionalGetElement(c *Infer) error {
	f := c.Fact(0)
	if f.Kind == ir.OptionalKind && f.Type != nil {
		f = FactOf(f.Type.Of)
	}
	c.Set(0, f)
	return nil
}

var sequenceOps = []Op{
	{Name: "SequenceEmpty", Since: 11, Infer: inferSequenceEmpty, Eval: sequenceEmpty},
	{Name: "SequenceConstruct", Since: 11, Infer: inferSequenceConstruct, Eval: sequenceConstruct},
	{Name: "SequenceAt", Since: 11, Infer: inferSequenceAt, Eval: sequenceAt},
	{Name: "SequenceInsert", Since: 11, Infer: inferSequenceInsert, Eval: sequenceInsert},
	{Name: "SequenceErase", Since: 11, Infer: inferSame, Eval: sequenceErase},
	{Name: "SequenceLength", Since: 11, Infer: inferSequenceLength, Eval: sequenceLength},
	{Name: "SplitToSequence", Since: 11, Infer: inferSplitToSequence, Eval: splitToSequence},
	{Name: "ConcatFromSequence", Since: 11, Infer: inferConcatFromSequence, Eval: concatFromSequence},
	{Name: "Optional", Since: 15, Infer: inferOptional, Eval: optional},
	{Name: "OptionalHasElement", Since: 15, Infer: inferOptionalHasElement, Eval: optionalHasElement},
	{Name: "OptionalGetElement", Since: 15, Infer: inferOptionalGetElement, Eval: optionalGetElement},
}
