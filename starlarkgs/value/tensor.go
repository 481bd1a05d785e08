package value

import (
	"fmt"
	"unsafe"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
)

// Tensor is a value of a graph, as a script holds it.
type Tensor struct {
	t   *ir.Tensor
	env *Env
}

var (
	_ starlark.HasSetField = Tensor{}
	_ starlark.HasBinary   = Tensor{}
	_ starlark.HasUnary    = Tensor{}
	_ starlark.Mapping     = Tensor{}
)

// Tensor returns the script's value for t; None for nil.
func (e *Env) Tensor(t *ir.Tensor) starlark.Value {
	if t == nil {
		return starlark.None
	}
	return Tensor{t, e}
}

// IR returns the tensor of the model.
func (t Tensor) IR() *ir.Tensor { return t.t }

// Env returns the host's environment.
func (t Tensor) Env() *Env { return t.env }

// String returns the one-line form.
func (t Tensor) String() string {
	typ := "?"
	if tt := t.t.Type(); tt != nil {
		typ = tt.String()
	}
	return fmt.Sprintf("<%s %q %s>", t.kind(), t.t.Name(), typ)
}

func (t Tensor) kind() string {
	if t.t.IsConstant() {
		return "constant"
	}
	return "variable"
}

// Table returns what print shows of the tensor alone.
func (t Tensor) Table() string { return t.env.Table(t) }

// Type returns "tensor".
func (t Tensor) Type() string { return "tensor" }

// Freeze freezes the model that the tensor is part of.
func (t Tensor) Freeze() {
	if g := t.t.Graph(); g != nil {
		if m := g.Model(); m != nil {
			m.Freeze()
			return
		}
	}
	t.env.freezeLoose(t.t)
}

// Truth is true: a tensor is not its values.
func (t Tensor) Truth() starlark.Bool { return true }

// Hash goes by identity.
func (t Tensor) Hash() (uint32, error) { return hashPointer(unsafe.Pointer(t.t)), nil }

func hashPointer(p unsafe.Pointer) uint32 {
	x := uint64(uintptr(p)) * 0x9E3779B97F4A7C15
	return uint32(x >> 32)
}

// model returns the model that the tensor is part of, or nil.
func (t Tensor) model() *ir.Model {
	if t.t == nil || t.t.Graph() == nil {
		return nil
	}
	return t.t.Graph().Model()
}

func (t Tensor) mutable(verb string) error {
	return t.env.checkMutable(t.t.Graph(), t.t, verb)
}

// Attr returns a field or method.
func (t Tensor) Attr(name string) (starlark.Value, error) {
	return tensorFields.attr(t.env, t, t, "tensor", name)
}

// AttrNames lists fields and methods.
func (t Tensor) AttrNames() []string { return attrNames(t.env, "tensor", tensorFields.names()) }

// SetField assigns a field.
func (t Tensor) SetField(name string, v starlark.Value) error {
	if err := t.mutable("assign " + name + " of"); err != nil {
		return err
	}
	return tensorFields.setField(t.env, t, "tensor", name, v)
}

var arith = map[syntax.Token]string{syntax.PLUS: "Add", syntax.MINUS: "Sub", syntax.STAR: "Mul", syntax.SLASH: "Div"}

var noArith = map[syntax.Token]string{syntax.PERCENT: "Mod", syntax.SLASHSLASH: "Floor of Div", syntax.AMP: "And or BitwiseAnd",
	syntax.PIPE: "Or or BitwiseOr", syntax.CIRCUMFLEX: "Xor or BitwiseXor", syntax.LTLT: "BitShift", syntax.GTGT: "BitShift"}

// Binary builds the node of + - * / in the graph of the tensors.
func (t Tensor) Binary(op syntax.Token, y starlark.Value, side starlark.Side) (starlark.Value, error) {
	name, ok := arith[op]
	if !ok {
		if other := noArith[op]; other != "" {
			return nil, fmt.Errorf("tensor %s: no operator builds this node; use g.op.%s", op, other)
		}
		return nil, nil
	}
	if side == starlark.Right {
		return t.env.Arith(t.env, name, y, t)
	}
	return t.env.Arith(t.env, name, t, y)
}

// Unary builds the node of unary minus.
func (t Tensor) Unary(op syntax.Token) (starlark.Value, error) {
	switch op {
	case syntax.MINUS:
		return t.env.Arith(t.env, "Neg", t, nil)
	case syntax.PLUS:
		return t, nil
	}
	return nil, nil
}

// Get builds the nodes of t[key].
func (t Tensor) Get(key starlark.Value) (starlark.Value, bool, error) {
	v, err := t.env.Index(t.env, t, key)
	return v, err == nil, err
}

var tensorFields *fieldTable[Tensor]

func init() {
	tensorFields = newFieldTable([]field[Tensor]{
		{"name", "the tensor's name; names are resolved when the model is saved", func(t Tensor) (starlark.Value, error) { return Text(t.t.Name()), nil }, func(t Tensor, v starlark.Value) error {
			s, err := AsText(v, "tensor.name")
			if err == nil {
				t.t.SetName(s)
			}
			return err
		}},
		{"dtype", `the element type, such as "float32", or None`, func(t Tensor) (starlark.Value, error) { return DTypeValue(t.t.DType()), nil }, setTensorDType},
		{"shape", "a frozen list of int, string (a symbol) and None, or None for an unknown rank", func(t Tensor) (starlark.Value, error) { return ShapeValue(t.t.Shape()), nil }, setTensorShape},
		{"type", "the whole type, sequences, maps and optionals included", func(t Tensor) (starlark.Value, error) { return t.env.TypeValue(t.t.Type()), nil }, setTensorType},
		{"doc", "the doc string", func(t Tensor) (starlark.Value, error) { return Text(t.t.Doc()), nil }, func(t Tensor, v starlark.Value) error {
			s, err := AsText(v, "tensor.doc")
			if err == nil {
				t.t.SetDoc(s)
			}
			return err
		}},
		{"metadata", "a live dict of metadata entries", func(t Tensor) (starlark.Value, error) { return t.env.dict(tensorMeta{t}), nil }, func(t Tensor, v starlark.Value) error { return t.env.dict(tensorMeta{t}).assign(v) }},
		{"values", "the array of a constant, None for a variable; written through", tensorValues, setTensorValues},
		{"kind", `"variable" or "constant"`, func(t Tensor) (starlark.Value, error) { return starlark.String(t.kind()), nil }, nil},
		{"inputs", "the producer as a live list of at most one node", func(t Tensor) (starlark.Value, error) { return List{producerList{t}, t.env}, nil }, func(t Tensor, v starlark.Value) error { return t.assignNodes(List{producerList{t}, t.env}, v) }},
		{"outputs", "a live list with a node for each use", func(t Tensor) (starlark.Value, error) { return List{consumerList{t}, t.env}, nil }, func(t Tensor, v starlark.Value) error { return t.assignNodes(List{consumerList{t}, t.env}, v) }},
		{"producer", "the node that makes the tensor, or None", func(t Tensor) (starlark.Value, error) { p, _ := t.t.Producer(); return t.env.Node(p), nil }, nil},
		{"consumers", "each node that reads the tensor, once", tensorConsumers, nil},
		{"uses", "the pairs (node, slot) of the edges to nodes", tensorUses, nil},
		{"graph", "the graph that the tensor belongs to, or None", func(t Tensor) (starlark.Value, error) { return t.env.Graph(t.t.Graph()), nil }, nil},
		{"nbytes", "the size of the values in bytes, None where it is not known", tensorBytes, nil},
		{"location", `where the values lie: "memory", "file" or, for external data, its path; None for a variable`, tensorLocation, nil},
	})
}

func (t Tensor) assignNodes(l List, v starlark.Value) error {
	return l.assign(v, func(x starlark.Value) error {
		_, err := t.env.AsNode(t.t.Graph(), x, l.src.what())
		return err
	})
}

func setTensorDType(t Tensor, v starlark.Value) error {
	dt, err := AsDType(v, "tensor.dtype")
	if err != nil {
		return err
	}
	if a := t.t.Array(); a != nil && dt != a.DType() {
		return fmt.Errorf("tensor.dtype: constant %q holds %s values; convert them: t.values = t.values.astype(%q)", t.t.Name(), a.DType(), dt)
	}
	t.t.SetDType(dt)
	return nil
}

func setTensorShape(t Tensor, v starlark.Value) error {
	s, err := AsShape(v, "tensor.shape")
	if err != nil {
		return err
	}
	if t.t.IsConstant() {
		return fmt.Errorf("tensor.shape: constant %q has the shape of its values; reshape them: t.values = t.values.reshape(…)", t.t.Name())
	}
	t.t.SetShape(s)
	return nil
}

func setTensorType(t Tensor, v starlark.Value) error {
	switch v := v.(type) {
	case Type:
		t.t.SetType(v.t)
		return nil
	case starlark.NoneType:
		t.t.SetType(nil)
		return nil
	}
	return fmt.Errorf("tensor.type: got %s, want a type (another tensor's .type) or None", v.Type())
}

func tensorValues(t Tensor) (starlark.Value, error) {
	a := t.t.Array()
	if a == nil {
		return starlark.None, nil
	}
	return t.env.ArrayOf(t, a), nil
}

func setTensorValues(t Tensor, v starlark.Value) error {
	if v == starlark.None {
		t.t.SetLiteral(nil)
		return nil
	}
	a, err := AsArray(v, array.Undefined, "tensor.values")
	if err != nil {
		return err
	}
	t.t.SetArray(a.Share())
	return nil
}

func tensorConsumers(t Tensor) (starlark.Value, error) {
	var vs []starlark.Value
	for _, n := range t.t.Consumers() {
		vs = append(vs, t.env.Node(n))
	}
	return starlark.NewList(vs), nil
}

func tensorUses(t Tensor) (starlark.Value, error) {
	var vs []starlark.Value
	for u := range t.t.Uses() {
		if u.Node() != nil {
			vs = append(vs, starlark.Tuple{t.env.Node(u.Node()), starlark.MakeInt(u.Index())})
		}
	}
	return starlark.NewList(vs), nil
}

func tensorBytes(t Tensor) (starlark.Value, error) {
	if a := t.t.Array(); a != nil {
		return starlark.MakeInt64(a.NBytes()), nil
	}
	sizes, ok := t.t.Shape().Static()
	if !ok || t.t.DType().Bits() == 0 {
		return starlark.None, nil
	}
	n := int64(1)
	for _, d := range sizes {
		n *= int64(d)
	}
	return starlark.MakeInt64((n*int64(t.t.DType().Bits()) + 7) / 8), nil
}

func tensorLocation(t Tensor) (starlark.Value, error) {
	a := t.t.Array()
	if a == nil {
		return starlark.None, nil
	}
	if s, ok := a.Source().(interface{ Location() string }); ok {
		return Text(s.Location()), nil
	}
	if a.Source() != nil {
		return starlark.String("file"), nil
	}
	return starlark.String("memory"), nil
}

// CheckMutable returns the error that forbids the edit verb when the tensor is frozen.
func (t Tensor) CheckMutable(verb string) error { return t.mutable(verb) }
