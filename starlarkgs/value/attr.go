package value

import (
	"fmt"
	"math"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/spell"
	"github.com/starlarkgs/starlarkgs/ir"
)

// AttrRef stands, in a function's body, for an attribute of the function.
type AttrRef struct {
	Name string
	Kind ir.AttrKind
}

// String returns the one-line form.
func (r AttrRef) String() string { return fmt.Sprintf("attr_ref(%q, %q)", r.Name, r.Kind) }

// Type returns "attr_ref".
func (r AttrRef) Type() string { return "attr_ref" }

// Freeze does nothing.
func (r AttrRef) Freeze() {}

// Truth is true.
func (r AttrRef) Truth() starlark.Bool { return true }

// Hash goes by the name.
func (r AttrRef) Hash() (uint32, error) { return starlark.String(r.Name).Hash() }

// AttrValue returns the value of an attribute as a script reads it. Lists are
// frozen: an attribute is changed by assigning a whole one.
func (e *Env) AttrValue(a *ir.Attr) starlark.Value {
	if a.Ref != "" {
		return AttrRef{a.Ref, a.Kind}
	}
	switch v := a.Value.(type) {
	case int64:
		return starlark.MakeInt64(v)
	case float32:
		return Float32(v)
	case string:
		return Text(v)
	case []int64:
		return listOf(v, func(n int64) starlark.Value { return starlark.MakeInt64(n) })
	case []float32:
		return listOf(v, func(f float32) starlark.Value { return Float32(f) })
	case []string:
		return listOf(v, Text)
	case *ir.Graph:
		return e.Graph(v)
	case []*ir.Graph:
		return listOf(v, e.Graph)
	case *ir.Literal:
		return e.literal(v)
	case []*ir.Literal:
		return listOf(v, e.literal)
	case *ir.Type:
		return e.TypeValue(v)
	case []*ir.Type:
		return listOf(v, e.TypeValue)
	case *ir.Sparse:
		return Sparse{v}
	case []*ir.Sparse:
		return listOf(v, func(s *ir.Sparse) starlark.Value { return Sparse{s} })
	}
	return starlark.None
}

func listOf[T any](vs []T, f func(T) starlark.Value) starlark.Value {
	out := make([]starlark.Value, len(vs))
	for i, v := range vs {
		out[i] = f(v)
	}
	return frozenList(out)
}

func (e *Env) literal(l *ir.Literal) starlark.Value {
	if l.Sparse != nil {
		return Sparse{l.Sparse}
	}
	return NewArray(l.Array)
}

// StoreAttr converts what a script gives for the attribute name of n (nil for
// an attribute of no node): the schema's kind decides, else the value does.
func (e *Env) StoreAttr(n *ir.Node, name string, v starlark.Value) (*ir.Attr, error) {
	kind := ir.AttrUndefined
	if n != nil && e.AttrKind != nil {
		kind = e.AttrKind(n, name)
	}
	if r, ok := v.(AttrRef); ok {
		if kind != ir.AttrUndefined && kind != r.Kind {
			return nil, fmt.Errorf("attribute %q: got a reference to %s attribute %q, want %s", name, r.Kind, r.Name, kind)
		}
		return ir.RefAttr(name, r.Name, r.Kind), nil
	}
	x, err := e.attrValue(kind, v)
	if err != nil {
		return nil, fmt.Errorf("attribute %q: %w", name, err)
	}
	return ir.NewAttr(name, x), nil
}

// attrValue converts v to the Go value of an attribute of that kind.
func (e *Env) attrValue(kind ir.AttrKind, v starlark.Value) (any, error) {
	switch kind {
	case ir.AttrUndefined:
		return e.freeAttr(v)
	case ir.AttrInt:
		if s, ok := v.(starlark.String); ok {
			dt, err := array.ParseDType(string(s))
			if err != nil {
				return nil, fmt.Errorf("got %s, want an int (or the name of a dtype)%s", v, spell.Hint(string(s), array.DTypeNames()))
			}
			return int64(dt), nil
		}
		if f, ok := v.(starlark.Float); ok && float64(f) == math.Trunc(float64(f)) {
			return int64(f), nil
		}
		return AsInt(v, "value")
	case ir.AttrFloat:
		return asFloat32(v)
	case ir.AttrString:
		return AsText(v, "value")
	case ir.AttrInts, ir.AttrFloats, ir.AttrStrings, ir.AttrTensors, ir.AttrGraphs, ir.AttrSparseTensors, ir.AttrTypes:
		return e.attrList(kind, v)
	case ir.AttrTensor:
		return e.asLiteral(v)
	}
	return e.attrObject(kind, v)
}

func (e *Env) attrObject(kind ir.AttrKind, v starlark.Value) (any, error) {
	switch v := v.(type) {
	case Graph:
		if kind == ir.AttrGraph {
			return e.body(v)
		}
	case Sparse:
		if kind == ir.AttrSparseTensor {
			return v.s, nil
		}
	case Type:
		if kind == ir.AttrType {
			return v.t, nil
		}
	}
	return nil, fmt.Errorf("got %s, want %s", v.Type(), kind)
}

// body returns the graph that becomes a node's body; one that is a body
// already, or a model's main graph that was read from a file, is copied.
func (e *Env) body(g Graph) (*ir.Graph, error) {
	if g.g.Function() != nil && g.g.Owner() == nil {
		return nil, fmt.Errorf("got a function, want a graph")
	}
	m := g.g.Model()
	if g.g.Owner() == nil && (m == nil || m.Draft && !m.Frozen()) {
		return g.g, nil
	}
	return ir.NewCopier().Graph(g.g), nil
}

func asFloat32(v starlark.Value) (float32, error) {
	f, ok := starlark.AsFloat(v)
	if b, isBool := v.(starlark.Bool); isBool {
		ok = true
		if b {
			f = 1
		}
	}
	if !ok {
		return 0, fmt.Errorf("got %s, want a float", v.Type())
	}
	if r := float32(f); !math.IsInf(float64(r), 0) || math.IsInf(f, 0) {
		return r, nil
	}
	return 0, fmt.Errorf("got %g, which does not fit into float32", f)
}

func (e *Env) asLiteral(v starlark.Value) (*ir.Literal, error) {
	if t, ok := v.(Tensor); ok {
		l := t.t.Literal()
		if l == nil {
			return nil, fmt.Errorf("got the variable %q, want an array or a constant", t.t.Name())
		}
		c := l.Share()
		c.Name = t.t.Name()
		return c, nil
	}
	a, err := AsArray(v, array.Undefined, "value")
	if err != nil {
		return nil, err
	}
	return &ir.Literal{Array: a.Share()}, nil
}

// elementKind returns the kind of one element of a list kind.
func elementKind(kind ir.AttrKind) ir.AttrKind {
	switch kind {
	case ir.AttrFloats, ir.AttrInts, ir.AttrStrings, ir.AttrTensors, ir.AttrGraphs:
		return kind - (ir.AttrFloats - ir.AttrFloat)
	case ir.AttrSparseTensors:
		return ir.AttrSparseTensor
	case ir.AttrTypes:
		return ir.AttrType
	}
	return ir.AttrUndefined
}

func (e *Env) attrList(kind ir.AttrKind, v starlark.Value) (any, error) {
	if _, ok := v.(starlark.String); ok {
		return nil, fmt.Errorf("got a string, want a list (%s)", kind)
	}
	items, err := Items(v, "value")
	if err != nil {
		return nil, fmt.Errorf("got %s, want a list (%s)", v.Type(), kind)
	}
	one := elementKind(kind)
	xs := make([]any, len(items))
	for i, x := range items {
		if xs[i], err = e.attrValue(one, x); err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
	}
	switch kind {
	case ir.AttrFloats:
		return collect[float32](xs), nil
	case ir.AttrInts:
		return collect[int64](xs), nil
	case ir.AttrStrings:
		return collect[string](xs), nil
	case ir.AttrTensors:
		return collect[*ir.Literal](xs), nil
	case ir.AttrGraphs:
		return collect[*ir.Graph](xs), nil
	case ir.AttrTypes:
		return collect[*ir.Type](xs), nil
	}
	return collect[*ir.Sparse](xs), nil
}

func collect[T any](xs []any) []T {
	out := make([]T, len(xs))
	for i, x := range xs {
		out[i] = x.(T)
	}
	return out
}

// freeAttr converts v by its own type, where no schema says what is wanted.
func (e *Env) freeAttr(v starlark.Value) (any, error) {
	kind := kindOf(v)
	if kind != ir.AttrUndefined {
		return e.attrValue(kind, v)
	}
	items, err := Items(v, "value")
	if err != nil {
		return nil, fmt.Errorf("got %s, want an int, float, string, array, graph, type, or a list of one of these", v.Type())
	}
	if len(items) == 0 {
		return nil, fmt.Errorf("got an empty list, whose kind can't be told without a schema of the operator")
	}
	list := kindOf(items[0])
	for _, x := range items[1:] {
		k := kindOf(x)
		if k == ir.AttrFloat && list == ir.AttrInt {
			list = k
		}
	}
	switch list {
	case ir.AttrFloat, ir.AttrInt, ir.AttrString, ir.AttrTensor, ir.AttrGraph:
		list += ir.AttrFloats - ir.AttrFloat
	case ir.AttrSparseTensor:
		list = ir.AttrSparseTensors
	case ir.AttrType:
		list = ir.AttrTypes
	default:
		return nil, fmt.Errorf("got a list of %s, want a list of int, float, string, array, graph or type", items[0].Type())
	}
	return e.attrList(list, v)
}

func kindOf(v starlark.Value) ir.AttrKind {
	switch v := v.(type) {
	case starlark.Int, starlark.Bool:
		return ir.AttrInt
	case starlark.Float:
		return ir.AttrFloat
	case starlark.String, starlark.Bytes:
		return ir.AttrString
	case *Array:
		return ir.AttrTensor
	case Tensor:
		if l := v.t.Literal(); l != nil && l.Sparse != nil {
			return ir.AttrSparseTensor
		}
		return ir.AttrTensor
	case Graph:
		return ir.AttrGraph
	case Sparse:
		return ir.AttrSparseTensor
	case Type:
		return ir.AttrType
	}
	return ir.AttrUndefined
}
