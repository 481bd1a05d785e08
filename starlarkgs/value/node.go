package value

import (
	"fmt"
	"strconv"
	"strings"
	"unsafe"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/ir"
)

// Node is an operation of a graph, as a script holds it.
type Node struct {
	n   *ir.Node
	env *Env
}

var _ starlark.HasSetField = Node{}

// Node returns the script's value for n; None for nil.
func (e *Env) Node(n *ir.Node) starlark.Value {
	if n == nil {
		return starlark.None
	}
	return Node{n, e}
}

// IR returns the node of the model.
func (n Node) IR() *ir.Node { return n.n }

// Env returns the host's environment.
func (n Node) Env() *Env { return n.env }

// String returns the one-line form.
func (n Node) String() string {
	op := n.n.Op()
	if !ir.IsStandard(n.n.Domain()) {
		op = n.n.Domain() + "::" + op
	}
	return fmt.Sprintf("<node %q %s(%s) -> %s>", n.n.Name(), plain(op), tensorNames(n.n.Inputs()), tensorNames(n.n.Outputs()))
}

func tensorNames(ts []*ir.Tensor) string {
	names := make([]string, len(ts))
	for i, t := range ts {
		if names[i] = "None"; t != nil {
			names[i] = plain(t.Name())
		}
	}
	return strings.Join(names, ", ")
}

// plain returns the text, quoted where a terminal would obey a part of it.
func plain(s string) string {
	if quoted := strconv.Quote(s); quoted[1:len(quoted)-1] != s {
		return quoted
	}
	return s
}

// Table returns what print shows of the node alone.
func (n Node) Table() string { return n.env.Table(n) }

// Type returns "node".
func (n Node) Type() string { return "node" }

// Freeze freezes the model that the node is part of.
func (n Node) Freeze() {
	if g := n.n.Graph(); g != nil && g.Model() != nil {
		g.Model().Freeze()
		return
	}
	n.env.freezeLoose(n.n)
}

// Truth is true.
func (n Node) Truth() starlark.Bool { return true }

// Hash goes by identity.
func (n Node) Hash() (uint32, error) { return hashPointer(unsafe.Pointer(n.n)), nil }

func (n Node) mutable(verb string) error {
	return n.env.checkMutable(n.n.Graph(), n.n, verb)
}

// Attr returns a field or method.
func (n Node) Attr(name string) (starlark.Value, error) {
	return nodeFields.attr(n.env, n, n, "node", name)
}

// AttrNames lists fields and methods.
func (n Node) AttrNames() []string { return attrNames(n.env, "node", nodeFields.names()) }

// SetField assigns a field.
func (n Node) SetField(name string, v starlark.Value) error {
	if err := n.mutable("assign " + name + " of"); err != nil {
		return err
	}
	return nodeFields.setField(n.env, n, "node", name, v)
}

var nodeFields *fieldTable[Node]

func init() {
	nodeFields = newFieldTable([]field[Node]{
		nodeText("op", "the operator's name", (*ir.Node).Op, (*ir.Node).SetOp),
		nodeText("domain", `the operator's domain; "" is the standard's`, (*ir.Node).Domain, (*ir.Node).SetDomain),
		nodeText("overload", "which overload of a local function is called", (*ir.Node).Overload, (*ir.Node).SetOverload),
		nodeText("name", "the node's name", (*ir.Node).Name, (*ir.Node).SetName),
		nodeText("doc", "the doc string", (*ir.Node).Doc, (*ir.Node).SetDoc),
		{"metadata", "a live dict of metadata entries", func(n Node) (starlark.Value, error) { return n.env.dict(nodeMeta{n}), nil }, func(n Node, v starlark.Value) error { return n.env.dict(nodeMeta{n}).assign(v) }},
		{"attrs", "the attributes as an ordered live dict", func(n Node) (starlark.Value, error) { return n.env.dict(nodeAttrs{n}), nil }, func(n Node, v starlark.Value) error { return n.env.dict(nodeAttrs{n}).assign(v) }},
		{"inputs", "the tensors read, a live list; None is an omitted optional input", func(n Node) (starlark.Value, error) { return List{nodeInputs{n}, n.env}, nil }, setNodeInputs},
		{"outputs", "the tensors made, a live list", func(n Node) (starlark.Value, error) { return List{nodeOutputs{n}, n.env}, nil }, setNodeOutputs},
		{"graph", "the graph that the node is in, or None", func(n Node) (starlark.Value, error) { return n.env.Graph(n.n.Graph()), nil }, nil},
	})
}

func nodeText(name, doc string, get func(*ir.Node) string, set func(*ir.Node, string)) field[Node] {
	return field[Node]{name, doc, func(n Node) (starlark.Value, error) { return Text(get(n.n)), nil }, func(n Node, v starlark.Value) error {
		s, err := AsText(v, "node."+name)
		if err == nil {
			set(n.n, s)
		}
		return err
	}}
}

func setNodeInputs(n Node, v starlark.Value) error {
	l := List{nodeInputs{n}, n.env}
	return l.assign(v, func(x starlark.Value) error {
		_, err := n.env.slot(n.n.Graph(), x, l.src.what())
		return err
	})
}

func setNodeOutputs(n Node, v starlark.Value) error {
	l := List{nodeOutputs{n}, n.env}
	return l.assign(v, func(x starlark.Value) error {
		_, err := n.env.madeHere(n.n, x)
		return err
	})
}

// CheckMutable returns the error that forbids the edit verb when the node is frozen.
func (n Node) CheckMutable(verb string) error { return n.mutable(verb) }
