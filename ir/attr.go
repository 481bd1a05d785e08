package ir

import (
	"fmt"

	"github.com/starlarkgs/starlarkgs/array"
)

// AttrKind is the kind of an attribute's value; the numbers are those of
// AttributeProto.AttributeType.
type AttrKind uint8

// The kinds of attribute. The Go type that Value holds is beside each.
const (
	AttrUndefined     AttrKind = 0
	AttrFloat         AttrKind = 1  // float32
	AttrInt           AttrKind = 2  // int64
	AttrString        AttrKind = 3  // string (bytes)
	AttrTensor        AttrKind = 4  // *Literal
	AttrGraph         AttrKind = 5  // *Graph
	AttrFloats        AttrKind = 6  // []float32
	AttrInts          AttrKind = 7  // []int64
	AttrStrings       AttrKind = 8  // []string
	AttrTensors       AttrKind = 9  // []*Literal
	AttrGraphs        AttrKind = 10 // []*Graph
	AttrSparseTensor  AttrKind = 11 // *Sparse
	AttrSparseTensors AttrKind = 12 // []*Sparse
	AttrType          AttrKind = 13 // *Type
	AttrTypes         AttrKind = 14 // []*Type
)

var attrKindNames = [...]string{"undefined", "float", "int", "string", "tensor", "graph", "floats", "ints", "strings",
	"tensors", "graphs", "sparse_tensor", "sparse_tensors", "type", "types"}

// String returns the kind's name as ONNX's documents write it, in lower case.
func (k AttrKind) String() string {
	if int(k) < len(attrKindNames) {
		return attrKindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// AttrKinds returns the kinds that a value can have, in the order of their numbers.
func AttrKinds() []AttrKind {
	kinds := make([]AttrKind, 0, len(attrKindNames)-1)
	for k := AttrFloat; k <= AttrTypes; k++ {
		kinds = append(kinds, k)
	}
	return kinds
}

// Attr is one attribute of a node. It is not changed once a node has it: set
// a new one.
type Attr struct {
	Name  string
	Kind  AttrKind
	Value any    // as AttrKind's constants say; nil for a reference
	Ref   string // in a function's body: the attribute of the function that it stands for, or ""
	Doc   string
	Extra any // what the file said besides; package onnx's
}

// NewAttr returns the attribute whose kind follows from the Go type of v: int64
// (or int), float32, string, *Literal, *array.Array, *Graph, *Sparse, *Type, and
// slices of these. Another type is a bug and panics.
func NewAttr(name string, v any) *Attr {
	a := &Attr{Name: name, Value: v}
	switch v := v.(type) {
	case int:
		a.Kind, a.Value = AttrInt, int64(v)
	case int64:
		a.Kind = AttrInt
	case float32:
		a.Kind = AttrFloat
	case string:
		a.Kind = AttrString
	case *array.Array:
		a.Kind, a.Value = AttrTensor, &Literal{Array: v}
	case *Literal:
		a.Kind = AttrTensor
	case *Graph:
		a.Kind = AttrGraph
	case []float32:
		a.Kind = AttrFloats
	case []int64:
		a.Kind = AttrInts
	case []string:
		a.Kind = AttrStrings
	case []*Literal:
		a.Kind = AttrTensors
	case []*Graph:
		a.Kind = AttrGraphs
	case *Sparse:
		a.Kind = AttrSparseTensor
	case []*Sparse:
		a.Kind = AttrSparseTensors
	case *Type:
		a.Kind = AttrType
	case []*Type:
		a.Kind = AttrTypes
	default:
		panic(fmt.Sprintf("internal error: attribute %q of Go type %T", name, v))
	}
	return a
}

// RefAttr returns the attribute that stands for the attribute ref of the
// function in whose body the node is.
func RefAttr(name, ref string, kind AttrKind) *Attr {
	return &Attr{Name: name, Kind: kind, Ref: ref}
}

// Graphs returns the bodies that the attribute holds.
func (a *Attr) Graphs() []*Graph {
	switch v := a.Value.(type) {
	case *Graph:
		return []*Graph{v}
	case []*Graph:
		return v
	}
	return nil
}

// Literal is the value of a constant tensor or of a tensor attribute.
type Literal struct {
	Array *array.Array // dense values; nil when Sparse is set
	// Sparse holds the values of a sparse constant.
	Sparse *Sparse
	// Name and Doc are those of a tensor attribute's TensorProto; a constant
	// tensor has its own.
	Name, Doc string
	// Storage says how the file held the values (raw or typed field, external
	// entries); it belongs to package onnx, and nil means raw.
	Storage any
}

// DType returns the element type.
func (l *Literal) DType() array.DType {
	if l.Sparse != nil {
		return l.Sparse.Values.DType()
	}
	return l.Array.DType()
}

// heapBytes returns how much memory the values take that nothing else knows.
func (l *Literal) heapBytes() int64 {
	if l.Array == nil || l.Array.Source() != nil {
		return 0
	}
	return l.Array.NBytes()
}

// Sizes returns the shape; callers must not change it.
func (l *Literal) Sizes() []int {
	if l.Sparse != nil {
		return l.Sparse.Dims
	}
	return l.Array.Shape()
}

// Share returns a literal of the same bytes whose later edits do not reach l,
// nor l's edits it.
func (l *Literal) Share() *Literal {
	c := *l
	if l.Array != nil {
		c.Array = l.Array.Share()
	}
	return &c
}

// Sparse is a sparse tensor in ONNX's coordinate form: Indices is int64 of
// shape [nnz] (linear) or [nnz, rank], in ascending order.
type Sparse struct {
	Values, Indices *array.Array
	Dims            []int
	Name            string
	Extra           any // package onnx's
}

// Prop is one entry of metadata: names and values in file order.
type Prop struct {
	Key, Value string
	Extra      any // package onnx's
}
