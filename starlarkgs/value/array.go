package value

import (
	"fmt"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/array"
)

// Array is an N-dimensional array, as a script holds it: NumPy's ndarray for
// every ONNX type. Slices are views of the same memory.
type Array struct {
	a      *array.Array
	owner  Tensor // the constant whose values these are, if any
	frozen bool
}

// NewArray returns the script's value for a.
func NewArray(a *array.Array) *Array { return &Array{a: a} }

// ArrayOf returns the values of the constant t: writing into them edits t, and
// is refused where t is frozen.
func (e *Env) ArrayOf(t Tensor, a *array.Array) *Array { return &Array{a: a, owner: t} }

// Array returns the array itself.
func (a *Array) Array() *array.Array { return a.a }

// checkMutable returns the error that forbids writing.
func (a *Array) checkMutable(verb string) error {
	if a.frozen {
		return fmt.Errorf("cannot %s frozen array: it is a value of a loaded file, which is read-only; use its copy()", verb)
	}
	if a.owner.t != nil {
		return a.owner.mutable(verb + " the values of")
	}
	return nil
}

// AsArray returns the array that v is or makes: an array, the values of a
// constant tensor, a number, bool or string, or nested lists of these. dt
// Undefined takes the type of the values, as NumPy does (int64, float64, bool,
// string); another one converts to it.
func AsArray(v starlark.Value, dt array.DType, what string) (*array.Array, error) {
	switch v := v.(type) {
	case *Array:
		return converted(v.a, dt, what)
	case Tensor:
		if a := v.t.Array(); a != nil {
			return converted(a, dt, what)
		}
		return nil, fmt.Errorf("%s: got the variable %q, want an array", what, v.t.Name())
	}
	b := &arrayBuilder{what: what}
	if err := b.add(v, 0); err != nil {
		return nil, err
	}
	return b.finish(dt)
}

func converted(a *array.Array, dt array.DType, what string) (*array.Array, error) {
	if dt == array.Undefined || dt == a.DType() {
		return a, nil
	}
	c, err := a.Cast(dt)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return c, nil
}

// arrayBuilder flattens nested lists.
type arrayBuilder struct {
	what   string
	shape  []int
	leaf   bool // the depth of scalars is known: len(shape)
	values []starlark.Value
	dt     array.DType
}

const maxDepth = 32

func (b *arrayBuilder) add(v starlark.Value, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%s: got lists nested deeper than %d", b.what, maxDepth)
	}
	if a, ok := v.(*Array); ok && a.a.Rank() == 0 {
		v = ElementValue(a.a, 0)
	}
	switch v.(type) {
	case starlark.Int, starlark.Float, starlark.Bool, starlark.String, starlark.Bytes:
		if b.leaf && depth != len(b.shape) || !b.leaf && len(b.shape) > depth {
			return b.ragged()
		}
		b.leaf = true
		b.values = append(b.values, v)
		return b.promote(v)
	}
	items, err := Items(v, b.what)
	if err != nil {
		return fmt.Errorf("%s: got %s, want numbers or lists of them", b.what, v.Type())
	}
	switch {
	case depth < len(b.shape):
		if b.shape[depth] != len(items) {
			return b.ragged()
		}
	case b.leaf:
		return b.ragged()
	default:
		b.shape = append(b.shape, len(items))
	}
	for _, x := range items {
		if err := b.add(x, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (b *arrayBuilder) ragged() error {
	return fmt.Errorf("%s: the nested lists are ragged: elements at one depth must have one length", b.what)
}

func (b *arrayBuilder) promote(v starlark.Value) error {
	var dt array.DType
	switch v.(type) {
	case starlark.Int:
		dt = array.Int64
	case starlark.Float:
		dt = array.Float64
	case starlark.Bool:
		dt = array.Bool
	default:
		dt = array.String
	}
	switch {
	case b.dt == array.Undefined || b.dt == dt:
		b.dt = dt
	case b.dt == array.String || dt == array.String:
		return fmt.Errorf("%s: got strings and numbers in one array", b.what)
	case b.dt == array.Float64 || dt == array.Float64:
		b.dt = array.Float64
	default:
		b.dt = array.Int64
	}
	return nil
}

func (b *arrayBuilder) finish(dt array.DType) (*array.Array, error) {
	natural := b.dt
	if natural == array.Undefined {
		natural = array.Float64 // as NumPy's empty list
	}
	if dt == array.Undefined {
		dt = natural
	}
	a, err := array.Make(dt, b.shape)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.what, err)
	}
	for i, v := range b.values {
		x, err := elementOf(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.what, err)
		}
		if err := a.SetAt(i, x); err != nil {
			return nil, fmt.Errorf("%s: %w", b.what, err)
		}
	}
	return a, nil
}

// elementOf returns the Go value of a scalar, as array.Array.SetAt takes it.
func elementOf(v starlark.Value) (any, error) {
	switch v := v.(type) {
	case starlark.Int:
		if n, ok := v.Int64(); ok {
			return n, nil
		}
		if n, ok := v.Uint64(); ok {
			return n, nil
		}
		return nil, fmt.Errorf("got %s, which does not fit into 64 bits", v)
	case starlark.Float:
		return float64(v), nil
	case starlark.Bool:
		return bool(v), nil
	case starlark.String:
		return string(v), nil
	case starlark.Bytes:
		return string(v), nil
	}
	return nil, fmt.Errorf("got %s, want a number, bool or string", v.Type())
}

// ElementValue returns element i, row-major, as a script's scalar; a complex
// number is a pair.
func ElementValue(a *array.Array, i int) starlark.Value {
	switch v := a.At(i).(type) {
	case int64:
		return starlark.MakeInt64(v)
	case uint64:
		return starlark.MakeUint64(v)
	case float64:
		if a.DType() == array.Float32 {
			return Float32(float32(v))
		}
		return starlark.Float(v)
	case bool:
		return starlark.Bool(v)
	case string:
		return Text(v)
	case complex128:
		return starlark.Tuple{starlark.Float(real(v)), starlark.Float(imag(v))}
	}
	return starlark.None
}
