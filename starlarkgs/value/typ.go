package value

import (
	"fmt"
	"unsafe"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/starlarkgs/starlarkgs/ir"
)

// Type is the ONNX type of a value, as a script holds it: read-only.
type Type struct{ t *ir.Type }

// TypeValue returns the script's value for t; None for nil.
func (e *Env) TypeValue(t *ir.Type) starlark.Value {
	if t == nil {
		return starlark.None
	}
	return Type{t}
}

var (
	_ starlark.HasAttrs   = Type{}
	_ starlark.Comparable = Type{}
)

// String returns the type's short form, as float32[N,3] or seq(int64[]).
func (t Type) String() string { return t.t.String() }

// Type returns "type".
func (t Type) Type() string { return "type" }

// Freeze does nothing: a type never changes.
func (t Type) Freeze() {}

// Truth is true.
func (t Type) Truth() starlark.Bool { return true }

// Hash goes by the text.
func (t Type) Hash() (uint32, error) { return starlark.String(t.t.String()).Hash() }

// CompareSameType compares by what the types say.
func (t Type) CompareSameType(op syntax.Token, y starlark.Value, _ int) (bool, error) {
	equal := t.t.Equal(y.(Type).t)
	switch op {
	case syntax.EQL:
		return equal, nil
	case syntax.NEQ:
		return !equal, nil
	}
	return false, fmt.Errorf("type %s type: types have no order", op)
}

// Attr returns kind, dtype, shape, key, of, domain or name.
func (t Type) Attr(name string) (starlark.Value, error) {
	switch name {
	case "kind":
		return starlark.String(typeKinds[t.t.Kind]), nil
	case "dtype":
		return DTypeValue(t.t.Elem), nil
	case "shape":
		return ShapeValue(t.t.Shape), nil
	case "key":
		return DTypeValue(t.t.Key), nil
	case "of":
		if t.t.Of == nil {
			return starlark.None, nil
		}
		return Type{t.t.Of}, nil
	case "domain":
		return Text(t.t.Domain), nil
	case "name":
		return Text(t.t.Name), nil
	}
	return nil, nil
}

var typeKinds = [...]string{"unknown", "tensor", "sparse", "sequence", "optional", "map", "opaque"}

// AttrNames lists the fields.
func (t Type) AttrNames() []string {
	return []string{"domain", "dtype", "key", "kind", "name", "of", "shape"}
}

// Sparse is a sparse array, as attributes and initializers hold it: read-only.
type Sparse struct{ s *ir.Sparse }

var _ starlark.HasAttrs = Sparse{}

// String returns the one-line form.
func (s Sparse) String() string {
	return fmt.Sprintf("<sparse %s%v, %d values>", s.s.Values.DType(), s.s.Dims, s.s.Values.Size())
}

// Type returns "sparse_array".
func (s Sparse) Type() string { return "sparse_array" }

// Freeze does nothing: the script can't change it.
func (s Sparse) Freeze() {}

// Truth is true.
func (s Sparse) Truth() starlark.Bool { return true }

// Hash goes by identity.
func (s Sparse) Hash() (uint32, error) { return hashPointer(unsafe.Pointer(s.s)), nil }

// Attr returns values, indices, shape or dtype.
func (s Sparse) Attr(name string) (starlark.Value, error) {
	switch name {
	case "values":
		return NewArray(s.s.Values), nil
	case "indices":
		return NewArray(s.s.Indices), nil
	case "shape":
		return ShapeValue(ir.Ints(s.s.Dims...)), nil
	case "dtype":
		return DTypeValue(s.s.Values.DType()), nil
	}
	return nil, nil
}

// AttrNames lists the fields.
func (s Sparse) AttrNames() []string { return []string{"dtype", "indices", "shape", "values"} }

// IR returns the sparse tensor.
func (s Sparse) IR() *ir.Sparse { return s.s }
