package ir

import (
	"iter"
	"strconv"

	"github.com/starlarkgs/starlarkgs/array"
)

// Tensor is a value of a graph: a variable, or a constant when it has a
// Literal. It has at most one producer, and a Use for each edge out of it.
type Tensor struct {
	name    string
	typ     *Type
	literal *Literal
	doc     string
	meta    []Prop
	graph   *Graph

	producer *Node
	output   int // slot of the producer

	first, last *Use
	useCount    int
	inputOf     int // how often the graph lists it as an input
	initPos     int // 1 + index among the graph's initializers, 0 for none

	// Extra is what the file said besides; it belongs to package onnx.
	Extra any
}

// NewTensor returns a variable of no graph yet; typ may be nil.
func NewTensor(name string, typ *Type) *Tensor { return &Tensor{name: name, typ: typ} }

// NewConstant returns a constant of no graph yet.
func NewConstant(name string, a *array.Array) *Tensor {
	return &Tensor{name: name, literal: &Literal{Array: a}}
}

func (t *Tensor) model() *Model {
	if t.graph == nil {
		return nil
	}
	return t.graph.Model()
}

// Name returns the name, which may be empty.
func (t *Tensor) Name() string { return t.name }

// Label returns what an error calls the tensor: tensor "x".
func (t *Tensor) Label() string { return "tensor " + strconv.Quote(t.name) }

// SetName renames the tensor. Names are resolved when the model is written.
func (t *Tensor) SetName(name string) {
	set(t.model(), &t.name, name)
	if t.graph != nil {
		t.graph.take(name)
	}
}

// Doc returns the doc string.
func (t *Tensor) Doc() string { return t.doc }

// SetDoc sets the doc string.
func (t *Tensor) SetDoc(s string) { set(t.model(), &t.doc, s) }

// Metadata returns the metadata entries; callers must not change them.
func (t *Tensor) Metadata() []Prop { return t.meta }

// SetMetadata replaces the metadata.
func (t *Tensor) SetMetadata(p []Prop) { set(t.model(), &t.meta, p) }

// Graph returns the graph that the tensor belongs to, or nil.
func (t *Tensor) Graph() *Graph { return t.graph }

// Type returns the type: a constant's own, or what is recorded, or nil.
func (t *Tensor) Type() *Type {
	if t.literal == nil {
		return t.typ
	}
	kind := TensorKind
	if t.literal.Sparse != nil {
		kind = SparseKind
	}
	return &Type{Kind: kind, Elem: t.literal.DType(), Shape: Ints(t.literal.Sizes()...)}
}

// RecordedType returns the type that was set, which a constant may have too
// (the value_info or the graph input of its name).
func (t *Tensor) RecordedType() *Type { return t.typ }

// SetType records a type; nil forgets it.
func (t *Tensor) SetType(typ *Type) { set(t.model(), &t.typ, typ) }

// DType returns the element type, or Undefined.
func (t *Tensor) DType() array.DType {
	if t.literal != nil {
		return t.literal.DType()
	}
	if t.typ == nil {
		return array.Undefined
	}
	return t.typ.Elem
}

// Shape returns the shape, nil when the rank is not known.
func (t *Tensor) Shape() Shape {
	if typ := t.Type(); typ != nil {
		return typ.Shape
	}
	return nil
}

// SetDType records the element type and keeps the shape.
func (t *Tensor) SetDType(dt array.DType) { t.SetType(TensorType(dt, t.Shape())) }

// SetShape records the shape and keeps the element type.
func (t *Tensor) SetShape(s Shape) { t.SetType(TensorType(t.DType(), s)) }

// Literal returns a constant's value, or nil.
func (t *Tensor) Literal() *Literal { return t.literal }

// Array returns the dense values of a constant, or nil.
func (t *Tensor) Array() *array.Array {
	if t.literal == nil {
		return nil
	}
	return t.literal.Array
}

// IsConstant reports whether the tensor holds values. One that is a graph
// input too may be overridden by the caller: see IsGraphInput.
func (t *Tensor) IsConstant() bool { return t.literal != nil }

// IsGraphInput reports whether its graph lists the tensor as an input.
func (t *Tensor) IsGraphInput() bool { return t.inputOf > 0 }

// IsGraphOutput reports whether a graph lists the tensor as an output.
func (t *Tensor) IsGraphOutput() bool {
	for u := t.first; u != nil; u = u.next {
		if u.graph != nil {
			return true
		}
	}
	return false
}

// SetLiteral makes the tensor a constant of the value l, or a variable when l
// is nil; its recorded type is kept. The producer, if any, is left alone.
func (t *Tensor) SetLiteral(l *Literal) {
	was := t.literal
	m := t.model()
	set(m, &t.literal, l)
	if j := m.recording(); j != nil && was != nil {
		j.weigh(was.heapBytes())
	}
	if t.graph != nil {
		t.graph.syncInitializer(t, was != nil)
	}
}

// SetArray makes the tensor a constant of the given values.
func (t *Tensor) SetArray(a *array.Array) { t.SetLiteral(&Literal{Array: a}) }

// Producer returns the node that makes the tensor and the output slot, or nil.
func (t *Tensor) Producer() (*Node, int) { return t.producer, t.output }

// NumUses returns the number of edges out of the tensor, graph outputs included.
func (t *Tensor) NumUses() int { return t.useCount }

// Uses ranges over the edges in the order in which they were made; the body of
// the loop may unlink the current one.
func (t *Tensor) Uses() iter.Seq[*Use] {
	return func(yield func(*Use) bool) {
		for u := t.first; u != nil; {
			next := u.next
			if !yield(u) {
				return
			}
			u = next
		}
	}
}

// UseList returns the edges as a slice of its own.
func (t *Tensor) UseList() []*Use {
	uses := make([]*Use, 0, t.useCount)
	for u := range t.Uses() {
		uses = append(uses, u)
	}
	return uses
}

// Consumers returns each node that reads the tensor once, in the order of its
// first use.
func (t *Tensor) Consumers() []*Node {
	seen := make(map[*Node]bool, t.useCount)
	var nodes []*Node
	for u := range t.Uses() {
		if u.node != nil && !seen[u.node] {
			seen[u.node] = true
			nodes = append(nodes, u.node)
		}
	}
	return nodes
}

// ReplaceUses makes every use of t a use of by: nodes' inputs, captures in
// bodies and graph outputs alike.
func (t *Tensor) ReplaceUses(by *Tensor) {
	if t == by {
		return
	}
	for _, u := range t.UseList() {
		u.Set(by)
	}
}
