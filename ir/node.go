package ir

import (
	"fmt"
	"slices"
	"strings"
)

// Node is one operation: an operator's name and domain, attributes, input
// slots and outputs.
type Node struct {
	op, domain, overload, name, doc string

	attrs   []*Attr
	inputs  []*Use
	outputs []*Tensor
	meta    []Prop
	graph   *Graph
	chunk   *chunk

	// Extra is what the file said besides; it belongs to package onnx.
	Extra any
}

// NewNode returns a node of no graph yet that reads inputs (nil for an omitted
// one) and makes outputs (nil for an unwanted one).
func NewNode(op string, inputs, outputs []*Tensor, attrs ...*Attr) *Node {
	n := &Node{op: op}
	n.SetInputs(inputs...)
	n.SetOutputs(outputs...)
	for _, a := range attrs {
		n.SetAttr(a)
	}
	return n
}

func (n *Node) model() *Model {
	if n.graph != nil {
		return n.graph.Model()
	}
	return nil
}

// Op returns the operator's name.
func (n *Node) Op() string { return n.op }

// SetOp changes the operator.
func (n *Node) SetOp(s string) { set(n.model(), &n.op, s) }

// Domain returns the operator's domain; "" is ai.onnx.
func (n *Node) Domain() string { return n.domain }

// SetDomain changes the domain.
func (n *Node) SetDomain(s string) { set(n.model(), &n.domain, s) }

// Overload returns which overload of a model-local function is called.
func (n *Node) Overload() string { return n.overload }

// SetOverload changes the overload.
func (n *Node) SetOverload(s string) { set(n.model(), &n.overload, s) }

// Name returns the node's name, which may be empty.
func (n *Node) Name() string { return n.name }

// SetName renames the node.
func (n *Node) SetName(s string) {
	set(n.model(), &n.name, s)
	if n.graph != nil {
		n.graph.takeNode(s)
	}
}

// Doc returns the doc string.
func (n *Node) Doc() string { return n.doc }

// SetDoc sets the doc string.
func (n *Node) SetDoc(s string) { set(n.model(), &n.doc, s) }

// Metadata returns the metadata entries; callers must not change them.
func (n *Node) Metadata() []Prop { return n.meta }

// SetMetadata replaces the metadata.
func (n *Node) SetMetadata(p []Prop) { set(n.model(), &n.meta, p) }

// Graph returns the graph whose node list holds the node, or nil.
func (n *Node) Graph() *Graph { return n.graph }

// NumInputs returns the number of input slots, empty ones included.
func (n *Node) NumInputs() int { return len(n.inputs) }

// Input returns the tensor in slot i, or nil when the slot is empty or there
// is no such slot.
func (n *Node) Input(i int) *Tensor {
	if i < 0 || i >= len(n.inputs) {
		return nil
	}
	return n.inputs[i].tensor
}

// InputUse returns the edge of slot i.
func (n *Node) InputUse(i int) *Use { return n.inputs[i] }

// Inputs returns the tensors of the slots as a slice of its own.
func (n *Node) Inputs() []*Tensor {
	ts := make([]*Tensor, len(n.inputs))
	for i, u := range n.inputs {
		ts[i] = u.tensor
	}
	return ts
}

// SetInput makes slot i, which must exist, read t; nil empties it.
func (n *Node) SetInput(i int, t *Tensor) { n.inputs[i].Set(t) }

// InsertInput makes a new slot before slot i (at the end for i = NumInputs)
// that reads t.
func (n *Node) InsertInput(i int, t *Tensor) {
	u := &Use{node: n}
	n.insertSlot(i, u)
	if j := n.model().recording(); j != nil {
		j.add(func() { n.removeSlot(u.index) })
	}
	u.Set(t)
}

// RemoveInput removes slot i; later slots move down by one.
func (n *Node) RemoveInput(i int) {
	u := n.inputs[i]
	u.Set(nil)
	n.removeSlot(i)
	if j := n.model().recording(); j != nil {
		j.add(func() { n.insertSlot(i, u) })
	}
}

func (n *Node) insertSlot(i int, u *Use) {
	n.inputs = slices.Insert(n.inputs, i, u)
	n.renumber(i)
}

func (n *Node) removeSlot(i int) {
	n.inputs = slices.Delete(n.inputs, i, i+1)
	n.renumber(i)
}

func (n *Node) renumber(from int) {
	for i := from; i < len(n.inputs); i++ {
		n.inputs[i].index = i
	}
}

// SetInputs replaces all slots.
func (n *Node) SetInputs(ts ...*Tensor) {
	for i := len(n.inputs) - 1; i >= len(ts); i-- {
		n.RemoveInput(i)
	}
	for i, t := range ts {
		if i < len(n.inputs) {
			n.SetInput(i, t)
		} else {
			n.InsertInput(i, t)
		}
	}
}

// NumOutputs returns the number of outputs, empty ones included.
func (n *Node) NumOutputs() int { return len(n.outputs) }

// Output returns output i, or nil when it is unwanted or there is none.
func (n *Node) Output(i int) *Tensor {
	if i < 0 || i >= len(n.outputs) {
		return nil
	}
	return n.outputs[i]
}

// Outputs returns the outputs as a slice of its own.
func (n *Node) Outputs() []*Tensor { return slices.Clone(n.outputs) }

// SetOutput makes t output i, which must exist; t leaves the node that made it
// before, whose slot becomes empty. nil empties the slot.
func (n *Node) SetOutput(i int, t *Tensor) {
	if n.outputs[i] == t {
		return
	}
	if t != nil && t.producer != nil {
		t.producer.SetOutput(t.output, nil)
	}
	old := n.outputs[i]
	n.setOutput(i, t)
	if j := n.model().recording(); j != nil {
		j.add(func() { n.setOutput(i, old) })
	}
	if n.graph != nil && t != nil {
		n.graph.adopt(t)
	}
}

func (n *Node) setOutput(i int, t *Tensor) {
	if old := n.outputs[i]; old != nil {
		old.producer, old.output = nil, 0
	}
	n.outputs[i] = t
	if t != nil {
		t.producer, t.output = n, i
	}
}

// InsertOutput makes a new output slot before slot i that makes t.
func (n *Node) InsertOutput(i int, t *Tensor) {
	n.insertOutput(i)
	if j := n.model().recording(); j != nil {
		j.add(func() { n.removeOutput(i) })
	}
	n.SetOutput(i, t)
}

// RemoveOutput removes output slot i; later slots move down by one.
func (n *Node) RemoveOutput(i int) {
	n.SetOutput(i, nil)
	n.removeOutput(i)
	if j := n.model().recording(); j != nil {
		j.add(func() { n.insertOutput(i) })
	}
}

func (n *Node) insertOutput(i int) {
	n.outputs = slices.Insert(n.outputs, i, nil)
	n.renumberOutputs(i)
}

func (n *Node) removeOutput(i int) {
	n.outputs = slices.Delete(n.outputs, i, i+1)
	n.renumberOutputs(i)
}

func (n *Node) renumberOutputs(from int) {
	for i := from; i < len(n.outputs); i++ {
		if t := n.outputs[i]; t != nil {
			t.output = i
		}
	}
}

// SetOutputs replaces all outputs.
func (n *Node) SetOutputs(ts ...*Tensor) {
	for i := len(n.outputs) - 1; i >= len(ts); i-- {
		n.RemoveOutput(i)
	}
	for i, t := range ts {
		if i < len(n.outputs) {
			n.SetOutput(i, t)
		} else {
			n.InsertOutput(i, t)
		}
	}
}

// Attrs returns the attributes in order; callers must not change the slice.
func (n *Node) Attrs() []*Attr { return n.attrs }

// Attr returns the attribute of that name, or nil.
func (n *Node) Attr(name string) *Attr {
	for _, a := range n.attrs {
		if a.Name == name {
			return a
		}
	}
	return nil
}

// SetAttr sets the attribute a.Name: in its place when the node has one of
// that name, else at the end. A body graph becomes the node's.
func (n *Node) SetAttr(a *Attr) {
	next := slices.Clone(n.attrs)
	i := slices.IndexFunc(next, func(b *Attr) bool { return b.Name == a.Name })
	if i < 0 {
		next = append(next, a)
	} else {
		next[i] = a
	}
	n.SetAttrs(next)
}

// DelAttr removes the attribute of that name and reports whether there was one.
func (n *Node) DelAttr(name string) bool {
	i := slices.IndexFunc(n.attrs, func(b *Attr) bool { return b.Name == name })
	if i < 0 {
		return false
	}
	n.SetAttrs(slices.Delete(slices.Clone(n.attrs), i, i+1))
	return true
}

// SetAttrs replaces all attributes; the slice becomes the node's.
func (n *Node) SetAttrs(attrs []*Attr) {
	old := n.attrs
	n.setAttrs(attrs)
	if j := n.model().recording(); j != nil {
		j.add(func() { n.setAttrs(old) })
	}
	if n.graph != nil {
		n.graph.adoptBodies(n)
	}
}

func (n *Node) setAttrs(attrs []*Attr) {
	for _, a := range n.attrs {
		for _, g := range a.Graphs() {
			g.owner = nil
		}
	}
	n.attrs = attrs
	for _, a := range attrs {
		for _, g := range a.Graphs() {
			g.owner = n
		}
	}
}

// Bodies returns the graphs that the attributes hold, in order.
func (n *Node) Bodies() []*Graph {
	var gs []*Graph
	for _, a := range n.attrs {
		gs = append(gs, a.Graphs()...)
	}
	return gs
}

// Holds reports whether g is a body of the node, or lies in one.
func (n *Node) Holds(g *Graph) bool {
	return slices.ContainsFunc(n.Bodies(), func(b *Graph) bool { return b.Encloses(g) })
}

// Is reports whether the node is one of the standard's operator op.
func (n *Node) Is(op string) bool { return n.op == op && IsStandard(n.domain) }

// IsStandard reports whether the domain is the standard's default one.
func IsStandard(domain string) bool { return domain == "" || domain == "ai.onnx" }

// Remove takes the node out of its graph and cuts its edges. While an output
// is used, or is a graph's output, it refuses and names the users.
func (n *Node) Remove() error {
	for _, t := range n.outputs {
		if t != nil && t.useCount > 0 {
			return fmt.Errorf("%s: cannot remove it: output %q is used by %s", n.Label(), t.name, t.usersText())
		}
	}
	n.Discard()
	return nil
}

// Discard takes the node out of its graph and cuts all its edges, used outputs
// included: those become tensors without a producer. What its bodies capture is
// cut off too.
func (n *Node) Discard() {
	for i := range n.inputs {
		n.SetInput(i, nil)
	}
	for _, b := range n.Bodies() {
		b.cutCaptures()
	}
	for i := range n.outputs {
		n.SetOutput(i, nil)
	}
	if n.graph != nil {
		n.graph.RemoveNode(n)
	}
}

const maxUsersNamed = 4

func (t *Tensor) usersText() string {
	var users []string
	for u := range t.Uses() {
		switch {
		case len(users) == maxUsersNamed:
			return strings.Join(users, ", ") + fmt.Sprintf(" and %d more", t.useCount-maxUsersNamed)
		case u.node != nil:
			users = append(users, u.node.Label())
		default:
			users = append(users, "the outputs of "+u.graph.Label())
		}
	}
	return strings.Join(users, ", ")
}

// Label returns what an error calls the node: node "conv1" (Conv).
func (n *Node) Label() string {
	name, op := n.name, plain(n.op)
	if name == "" {
		for _, t := range n.outputs {
			if t != nil && t.name != "" {
				return fmt.Sprintf("node (%s) that makes %q", op, t.name)
			}
		}
		return fmt.Sprintf("node (%s)", op)
	}
	return fmt.Sprintf("node %q (%s)", name, op)
}

// Path returns the way from the model to the node: graph / node / branch / node.
func (n *Node) Path() string {
	if n.graph == nil || n.graph.owner == nil {
		return n.Label()
	}
	return n.graph.Path() + " / " + n.Label()
}
