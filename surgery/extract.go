package surgery

import (
	"fmt"
	"slices"
	"strings"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/spell"
	"github.com/starlarkgs/starlarkgs/ir"
)

// Cut names a tensor at the border of an extraction, with the type that it
// shall have there.
type Cut struct {
	Name string
	// Type overrides the recorded type where it says something: an Undefined
	// element type and a nil shape leave what is recorded or inferred.
	DType array.DType
	Shape ir.Shape
}

// ExtractOptions says where to cut. No inputs or no outputs means the model's own.
type ExtractOptions struct {
	Inputs, Outputs []Cut
	// Infer fills in types that are not recorded; nil leaves them.
	Infer func(*ir.Model) error
}

// UnboundError tells that the part between the cuts reads values that nothing
// in it makes.
type UnboundError struct {
	Graph string
	Names []string
	Users []string
}

// Error names the values and a node that reads each.
func (e *UnboundError) Error() string {
	const most = 5
	var parts []string
	for i, name := range e.Names {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d more", len(e.Names)-most))
			break
		}
		parts = append(parts, fmt.Sprintf("%q (read by %s)", name, e.Users[i]))
	}
	return fmt.Sprintf("%s: the cut is unbounded: nothing makes %s; make each an input, or cut after it", e.Graph, strings.Join(parts, ", "))
}

// Extract cuts, in place, the part of the model between the tensors named as
// inputs and as outputs: what makes an input is cut off, what no output needs
// is dropped, functions that are no longer called go. It fails, and leaves the
// model as it was, when a name is unknown, when the cut leaves a value that is
// read but not made, or when the element type of an input can't be told.
func Extract(m *ir.Model, o ExtractOptions) error {
	return m.Atomic(func() error { return extract(m, o) })
}

func extract(m *ir.Model, o ExtractOptions) error {
	g := m.Graph()
	if err := checkVisible(m); err != nil {
		return err
	}
	ins, err := cutTensors(g, o.Inputs, g.Inputs())
	if err != nil {
		return err
	}
	outs, err := cutTensors(g, o.Outputs, g.Outputs())
	if err != nil {
		return err
	}
	if o.Infer != nil && slices.ContainsFunc(append(slices.Clone(ins), outs...), untyped) {
		if err := o.Infer(m); err != nil {
			return err
		}
	}
	setCutTypes(o.Inputs, ins)
	for _, t := range ins {
		if p, i := t.Producer(); p != nil {
			p.SetOutput(i, nil)
		}
		if len(o.Inputs) > 0 && t.IsConstant() {
			typ := t.Type()
			t.SetLiteral(nil)
			t.SetType(typ)
		}
	}
	setCutTypes(o.Outputs, outs)
	g.SetInputs(ins...)
	g.SetOutputs(outs...)
	if _, err := Cleanup(g, CleanupOptions{}); err != nil {
		return err
	}
	dropFunctions(m)
	if err := checkBound(g); err != nil {
		return err
	}
	return checkTyped(ins)
}

func cutTensors(g *ir.Graph, cuts []Cut, own []*ir.Tensor) ([]*ir.Tensor, error) {
	if len(cuts) == 0 {
		return own, nil
	}
	byName := map[string]*ir.Tensor{}
	for _, t := range g.Tensors() {
		if byName[t.Name()] == nil {
			byName[t.Name()] = t
		}
	}
	ts := make([]*ir.Tensor, len(cuts))
	for i, c := range cuts {
		t := byName[c.Name]
		if t == nil {
			return nil, unknownName(g, c.Name)
		}
		if slices.Contains(ts[:i], t) {
			return nil, fmt.Errorf("%s: tensor %q is named twice", g.Label(), c.Name)
		}
		ts[i] = t
	}
	return ts, nil
}

// unknownName tells that g has no such tensor; one that lies in a body is
// pointed out.
func unknownName(g *ir.Graph, name string) error {
	var names []string
	for b := range g.All() {
		for _, t := range b.Tensors() {
			if b == g {
				names = append(names, t.Name())
			} else if t.Name() == name {
				return fmt.Errorf("tensor %q is in a body (%s): a cut can be made in the main graph only", name, b.Path())
			}
		}
	}
	return &NameError{What: "tensor", Name: name, Where: g.Label(), Hint: spell.Hint(name, names)}
}

func untyped(t *ir.Tensor) bool {
	return t.DType() == array.Undefined && t.Type() == nil || t.Shape() == nil
}

func setCutTypes(cuts []Cut, ts []*ir.Tensor) {
	for i, c := range cuts {
		if c.DType != array.Undefined {
			ts[i].SetType(ir.TensorType(c.DType, ts[i].Shape()))
		}
		if c.Shape != nil {
			ts[i].SetType(ir.TensorType(ts[i].DType(), c.Shape))
		}
	}
}

// checkBound fails when a node, or an output, reads what nothing makes.
func checkBound(g *ir.Graph) error {
	e := &UnboundError{Graph: g.Label()}
	for _, t := range g.Tensors() {
		if p, _ := t.Producer(); p != nil || t.IsConstant() || t.IsGraphInput() || t.NumUses() == 0 {
			continue
		}
		user := "the graph's outputs"
		if ns := t.Consumers(); len(ns) > 0 {
			user = ns[0].Label()
		}
		e.Names, e.Users = append(e.Names, t.Name()), append(e.Users, user)
	}
	if len(e.Names) > 0 {
		return e
	}
	return nil
}

func checkTyped(ins []*ir.Tensor) error {
	for _, t := range ins {
		if typ := t.Type(); typ == nil || typ.Kind == ir.TensorKind && typ.Elem == array.Undefined {
			return fmt.Errorf("input %q: its element type is neither recorded nor to be inferred; give it: %s:auto:float32", t.Name(), t.Name())
		}
	}
	return nil
}

// checkVisible fails when a node reads a value that is not visible where the
// node is, as a graph under construction may.
func checkVisible(m *ir.Model) error {
	for _, g := range m.Graphs() {
		for _, n := range g.Nodes() {
			for i := range n.NumInputs() {
				if t := n.Input(i); t != nil && (t.Graph() == nil || !t.Graph().Encloses(g)) {
					return fmt.Errorf("%s: input %d: value %q belongs to another graph", n.Path(), i, t.Name())
				}
			}
		}
	}
	return nil
}
