package ops

import (
	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// Fact is what is known of a value before the model runs. The zero Fact knows
// nothing.
type Fact struct {
	// Kind is the kind of value; TensorKind for the most part.
	Kind  ir.TypeKind
	DType array.DType // element type of a tensor, or Undefined
	// Dims are a tensor's sizes; nil when the rank is not known. An unknown
	// size is the zero Expr.
	Dims []sym.Expr
	// Elems are the elements, row-major, of an integer (or bool) tensor of at
	// most MaxElems elements whose Dims are numbers; nil when nothing is known
	// of them. Single ones may be unknown. They may be symbolic, as those of
	// Shape's output.
	Elems []sym.Expr
	// Const is the value, when it is a constant.
	Const *array.Array
	// Type is the whole type of what is not a tensor.
	Type *ir.Type
}

// MaxElems bounds the tensors whose elements inference follows.
const MaxElems = 1024

// Tensor returns the fact of a tensor of that type and these sizes.
func TensorFact(dt array.DType, dims []sym.Expr) Fact {
	return Fact{Kind: ir.TensorKind, DType: dt, Dims: dims}
}

// joinDims puts sizes one behind another. The result is not nil, which would
// mean an unknown rank, as slices.Concat's is when there are none.
func joinDims(parts ...[]sym.Expr) []sym.Expr {
	out := []sym.Expr{}
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// Rank returns the rank, or -1 when it is not known.
func (f Fact) Rank() int {
	if f.Dims == nil {
		return -1
	}
	return len(f.Dims)
}

// Infer is one inference of an operator's outputs.
type Infer struct {
	Site
	In  []Fact // the zero Fact for an omitted input; see HasIn
	Out []Fact // one for each output of the node
	// Run infers a body of the node from facts of its inputs.
	Run func(body *ir.Graph, inputs []Fact) ([]Fact, error)
	// Visit, when set, infers a body that does not run, for the sake of its own
	// values alone.
	Visit func(body *ir.Graph)
	// Fresh returns a new generated symbol, for a size that only data decides
	// but that two outputs share.
	Fresh func() sym.Expr

	isPart bool // of another operator: In alone says what is given
}

// HasIn reports whether input i is given.
func (c *Infer) HasIn(i int) bool {
	if c.isPart {
		return i < len(c.In) && c.In[i].Kind != ir.NoKind
	}
	return i < c.Node.NumInputs() && c.Node.Input(i) != nil
}

// Fact returns what is known of input i; the zero Fact when it is omitted.
func (c *Infer) Fact(i int) Fact {
	if i >= len(c.In) {
		return Fact{}
	}
	return c.In[i]
}

// Set records what is known of output i, when the node has it.
func (c *Infer) Set(i int, f Fact) {
	if i < len(c.Out) {
		c.Out[i] = f
	}
}

// Ints returns the elements of input i when all of them are known numbers.
func (c *Infer) IntsAt(i int) ([]int, bool) {
	f := c.Fact(i)
	if f.Const != nil {
		vs, err := f.Const.Int64s()
		if err != nil {
			return nil, false
		}
		out := make([]int, len(vs))
		for k, v := range vs {
			out[k] = int(v)
		}
		return out, true
	}
	if f.Elems == nil {
		return nil, false
	}
	out := make([]int, len(f.Elems))
	for k, e := range f.Elems {
		v, ok := e.Int()
		if !ok {
			return nil, false
		}
		out[k] = int(v)
	}
	return out, true
}

// lengthAt returns the number of elements of input i, a vector.
func (c *Infer) lengthAt(i int) (int, bool) {
	d := c.Fact(i).Dims
	if len(d) != 1 {
		return 0, false
	}
	n, ok := d[0].Int()
	return int(n), ok && n < 64
}

// ElemsAt returns the elements of input i, symbolic ones included, or nil.
func (c *Infer) ElemsAt(i int) []sym.Expr {
	f := c.Fact(i)
	if f.Elems != nil || f.Const == nil || f.Const.Size() > MaxElems || !(f.Const.DType().IsInt() || f.Const.DType() == array.Bool) {
		return f.Elems
	}
	vs, err := f.Const.Int64s()
	if err != nil {
		return nil
	}
	out := make([]sym.Expr, len(vs))
	for k, v := range vs {
		out[k] = sym.Int(v)
	}
	return out
}
