package value

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/array/num"
	"github.com/starlarkgs/starlarkgs/ir"
)

var (
	_ starlark.Sequence    = (*Array)(nil)
	_ starlark.Mapping     = (*Array)(nil)
	_ starlark.HasSetKey   = (*Array)(nil)
	_ starlark.HasSetIndex = (*Array)(nil)
	_ starlark.Sliceable   = (*Array)(nil)
	_ starlark.HasBinary   = (*Array)(nil)
	_ starlark.HasUnary    = (*Array)(nil)
	_ starlark.HasAttrs    = (*Array)(nil)
	_ starlark.Comparable  = (*Array)(nil)
)

// String returns the one-line form: array([1, 2], dtype=int64).
func (a *Array) String() string {
	return fmt.Sprintf("array(%s, dtype=%s)", a.a, a.a.DType())
}

// Table returns what print shows of the array alone.
func (a *Array) Table() string { return a.a.String() }

// Type returns "array".
func (a *Array) Type() string { return "array" }

// Freeze makes the array read-only.
func (a *Array) Freeze() { a.frozen = true }

// Truth is true when the array is not empty and all its elements are.
func (a *Array) Truth() starlark.Bool {
	for i := range a.a.Size() {
		if !ElementValue(a.a, i).Truth() {
			return false
		}
	}
	return a.a.Size() > 0
}

// Hash fails: an array may change.
func (a *Array) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable type: array") }

// CompareSameType refuses: a comparison in Starlark always gives a bool.
func (a *Array) CompareSameType(op syntax.Token, _ starlark.Value, _ int) (bool, error) {
	return false, fmt.Errorf("array %s array: a comparison gives one bool here; use %s for the elements, or np.array_equal(a, b)", op, elementwise[op])
}

var elementwise = map[syntax.Token]string{syntax.EQL: "np.equal(a, b)", syntax.NEQ: "np.not_equal(a, b)", syntax.LT: "np.less(a, b)",
	syntax.LE: "np.less_equal(a, b)", syntax.GT: "np.greater(a, b)", syntax.GE: "np.greater_equal(a, b)"}

var arrayOps = map[syntax.Token]*num.Binary{syntax.PLUS: num.Add, syntax.MINUS: num.Subtract, syntax.STAR: num.Multiply, syntax.SLASH: num.Divide,
	syntax.SLASHSLASH: num.FloorDivide, syntax.PERCENT: num.Mod, syntax.AMP: num.And, syntax.PIPE: num.Or, syntax.CIRCUMFLEX: num.Xor,
	syntax.LTLT: num.LeftShift, syntax.GTGT: num.RightShift}

// Binary computes element by element, broadcasting; in looks an element up.
func (a *Array) Binary(op syntax.Token, y starlark.Value, side starlark.Side) (starlark.Value, error) {
	if op == syntax.IN && side == starlark.Right {
		return a.contains(y)
	}
	f := arrayOps[op]
	if f == nil {
		return nil, nil
	}
	if t, isTensor := y.(Tensor); isTensor {
		return t.Binary(op, a, !side)
	}
	other, err := AsOperand(y, f.Name)
	if err != nil {
		return nil, err
	}
	x := num.Operand{A: a.a}
	if side == starlark.Right {
		x, other = other, x
	}
	out, err := f.Apply(x, other)
	if err != nil {
		return nil, err
	}
	return NewArray(out), nil
}

func (a *Array) contains(y starlark.Value) (starlark.Value, error) {
	for i := range a.a.Size() {
		if eq, err := starlark.Equal(ElementValue(a.a, i), y); err != nil || eq {
			return starlark.Bool(eq), err
		}
	}
	return starlark.False, nil
}

// AsOperand returns v as an operand of an element-wise function: numbers and
// bools are weak.
func AsOperand(v starlark.Value, what string) (num.Operand, error) {
	weak := false
	switch v.(type) {
	case starlark.Int, starlark.Float, starlark.Bool:
		weak = true
	}
	a, err := AsArray(v, array.Undefined, what)
	return num.Operand{A: a, Weak: weak}, err
}

// Unary computes - + ~ element by element.
func (a *Array) Unary(op syntax.Token) (starlark.Value, error) {
	name := map[syntax.Token]string{syntax.MINUS: "negative", syntax.PLUS: "positive", syntax.TILDE: "invert"}[op]
	if name == "" {
		return nil, nil
	}
	out, err := num.Lookup(name).Apply(a.a)
	if err != nil {
		return nil, err
	}
	return NewArray(out), nil
}

// Len returns the size of the first axis.
func (a *Array) Len() int {
	if a.a.Rank() == 0 {
		return 0
	}
	return a.a.Shape()[0]
}

// Index returns element i of the first axis: a view, or a scalar.
func (a *Array) Index(i int) starlark.Value {
	v, err := a.at([]array.Index{{Kind: array.AtIndex, At: i}})
	if err != nil {
		return starlark.None // the interpreter has checked the bounds
	}
	return v
}

// at returns the view that the key selects; one element comes back as a scalar
// when integers alone selected it.
func (a *Array) at(key []array.Index) (starlark.Value, error) {
	v, err := a.a.View(key)
	if err != nil {
		return nil, err
	}
	scalar := len(key) > 0
	for _, k := range key {
		scalar = scalar && k.Kind == array.AtIndex
	}
	if scalar && v.Rank() == 0 {
		if err := v.Load(); err != nil {
			return nil, err
		}
		return ElementValue(v, 0), nil
	}
	return &Array{a: v, owner: a.owner, frozen: a.frozen}, nil
}

// Slice cuts the first axis: a view.
func (a *Array) Slice(start, end, step int) starlark.Value {
	k := array.Index{Kind: array.SliceIndex, Step: step}
	if step > 0 {
		k.Start, k.Stop = &start, &end
	} else {
		k.Start = &start
		if end >= 0 {
			k.Stop = &end
		}
	}
	v, err := a.at([]array.Index{k})
	if err != nil {
		return starlark.None // the interpreter has checked that the array has a first axis
	}
	return v
}

// Iterate walks the first axis.
func (a *Array) Iterate() starlark.Iterator {
	vs := make([]starlark.Value, a.Len())
	for i := range vs {
		vs[i] = a.Index(i)
	}
	return &snapshotIterator{vs}
}

// Get returns a[key] for keys that are no plain int: tuples, slices, None,
// index arrays and masks.
func (a *Array) Get(key starlark.Value) (starlark.Value, bool, error) {
	v, err := a.get(key)
	return v, err == nil, err
}

func (a *Array) get(key starlark.Value) (starlark.Value, error) {
	basic, advanced, err := asKey(key, a.a.Rank())
	if err != nil {
		return nil, err
	}
	if advanced == nil {
		return a.at(basic)
	}
	picked, err := a.pick(basic, advanced)
	if err != nil {
		return nil, err
	}
	return NewArray(picked), nil
}

// SetIndex stores into element i of the first axis.
func (a *Array) SetIndex(i int, v starlark.Value) error {
	return a.SetKey(starlark.MakeInt(i), v)
}

// SetKey stores v, broadcast, into what the key selects.
func (a *Array) SetKey(key, v starlark.Value) error {
	if err := a.checkMutable("write into"); err != nil {
		return err
	}
	basic, advanced, err := asKey(key, a.a.Rank())
	if err != nil {
		return err
	}
	x, err := AsArray(v, array.Undefined, "value")
	if err != nil {
		return err
	}
	if advanced != nil {
		return a.storePicked(basic, advanced, x)
	}
	view, err := a.a.View(basic)
	if err != nil {
		return err
	}
	if x, err = fitTo(x, a.a.DType(), view.Shape()); err != nil {
		return err
	}
	return a.logged(func() (*array.Array, error) { return view.Copy(), nil }, func(x *array.Array) error { return store(view, x) }, x)
}

// store copies x, of the same shape, element by element.
func store(to, x *array.Array) error {
	for i := range to.Size() {
		if err := to.SetAt(i, x.At(i)); err != nil {
			return err
		}
	}
	return nil
}

// logged calls write with x. Where the array is a constant of a model, what
// read returned before is written back by an undo; and at once when write fails.
func (a *Array) logged(read func() (*array.Array, error), write func(*array.Array) error, x *array.Array) error {
	m := a.owner.model()
	if m == nil {
		return write(x)
	}
	if revert := a.a.Unwritten(); revert != nil {
		m.Logged(0, revert)
		if err := write(x); err != nil {
			revert()
			return err
		}
		return nil
	}
	old, err := read()
	if err != nil {
		return err
	}
	m.Logged(old.NBytes(), func() { _ = write(old) }) // it fitted before
	if err := write(x); err != nil {
		_ = write(old)
		return err
	}
	return nil
}

// fitTo broadcasts x to shape, and converts it where kinds differ; numbers that
// do not fit are refused when they are stored.
func fitTo(x *array.Array, dt array.DType, shape []int) (*array.Array, error) {
	for x.Rank() > len(shape) && x.Shape()[0] == 1 {
		y, err := x.Reshape(x.Shape()[1:]...)
		if err != nil {
			return nil, err
		}
		x = y
	}
	if (x.DType() == array.String) != (dt == array.String) {
		return nil, fmt.Errorf("value: got %s, want %s", x.DType(), dt)
	}
	if x.DType().IsComplex() && !dt.IsComplex() {
		return nil, fmt.Errorf("value: got %s, want %s", x.DType(), dt)
	}
	return x.BroadcastTo(shape)
}

// arrayFields are the properties of an array.
var arrayFields = newFieldTable([]field[*Array]{
	{name: "T", doc: "the array with its axes reversed", get: func(a *Array) (starlark.Value, error) {
		t, err := a.a.Transpose()
		if err != nil {
			return nil, err
		}
		return &Array{a: t, owner: a.owner, frozen: a.frozen}, nil
	}},
	{name: "dtype", doc: "the element type, a string", get: func(a *Array) (starlark.Value, error) { return DTypeValue(a.a.DType()), nil }},
	{name: "nbytes", doc: "the bytes of the elements", get: func(a *Array) (starlark.Value, error) { return starlark.MakeInt64(a.a.NBytes()), nil }},
	{name: "ndim", doc: "how many axes it has", get: func(a *Array) (starlark.Value, error) { return starlark.MakeInt(a.a.Rank()), nil }},
	{name: "shape", doc: "the sizes of the axes, a frozen list", get: func(a *Array) (starlark.Value, error) { return ShapeValue(ir.Ints(a.a.Shape()...)), nil }},
	{name: "size", doc: "how many elements it has", get: func(a *Array) (starlark.Value, error) { return starlark.MakeInt(a.a.Size()), nil }},
})

// Attr returns a property or method.
func (a *Array) Attr(name string) (starlark.Value, error) {
	if f := arrayFields.byName[name]; f != nil {
		return f.get(a)
	}
	if ArrayMethods == nil {
		return nil, nil
	}
	return ArrayMethods.Bind(a, name)
}

// ArrayMethods is the table of array's methods, which package builtins/np sets
// once, as it is loaded: an array knows no host.
var ArrayMethods Methods

// AttrNames lists properties and methods.
func (a *Array) AttrNames() []string {
	names := arrayFields.names()
	if ArrayMethods != nil {
		names = append(names, ArrayMethods.Names()...)
	}
	return names
}

// View returns the script's value for a view of a's memory.
func (a *Array) View(v *array.Array) *Array { return &Array{a: v, owner: a.owner, frozen: a.frozen} }
