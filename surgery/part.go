package surgery

import (
	"fmt"
	"slices"

	"github.com/starlarkgs/starlarkgs/ir"
)

// part returns a model made of the nodes of m's graph that keep selects. What a
// kept node reads and no kept node makes becomes an input, unless it is a
// constant, or freeze gives it values; what the kept nodes make becomes an
// output where wanted says so. Functions that are not called are dropped.
func part(m *ir.Model, keep map[*ir.Node]bool, freeze func(*ir.Tensor) *ir.Literal, wanted func(*ir.Tensor) bool) *ir.Model {
	g := m.Graph()
	c := ir.NewCopier()
	d := ir.NewModel(g.Name(), slices.Clone(m.Imports())...)
	d.SetIRVersion(m.IRVersion())
	d.SetProducer(m.Producer())
	h := d.Graph()
	var inputs, outputs []*ir.Tensor
	isInput := map[*ir.Tensor]bool{}
	need := func(t *ir.Tensor) {
		if t == nil || isInput[t] {
			return
		}
		p, _ := t.Producer()
		if p != nil && keep[p] || t.Graph() != g {
			return
		}
		isInput[t] = true
		u := c.Tensor(t)
		if t.IsConstant() && !t.IsGraphInput() {
			return
		}
		if l := freeze(t); l != nil {
			u.SetLiteral(l)
			return
		}
		u.SetLiteral(nil)
		inputs = append(inputs, u)
	}
	nodes := g.Nodes()
	for _, n := range nodes {
		if !keep[n] {
			continue
		}
		for i := range n.NumInputs() {
			need(n.Input(i))
		}
		for _, t := range n.Captures() {
			need(t)
		}
	}
	h.SetInputs(inputs...)
	for _, n := range nodes {
		if keep[n] {
			h.AddNode(c.Node(n))
		}
	}
	for _, n := range nodes {
		for _, t := range n.Outputs() {
			if keep[n] && t != nil && wanted(t) {
				outputs = append(outputs, c.Lookup(t))
			}
		}
	}
	h.SetOutputs(outputs...)
	fns := make([]*ir.Function, 0, len(m.Functions()))
	for _, f := range calledFunctions(m, h) {
		fns = append(fns, f.Copy())
	}
	d.SetFunctions(fns)
	return d
}

// calledFunctions returns the functions of m that nodes in g, its bodies, or
// functions so reached call, in the order of m.
func calledFunctions(m *ir.Model, g *ir.Graph) []*ir.Function {
	called := map[*ir.Function]bool{}
	var visit func(*ir.Graph)
	visit = func(g *ir.Graph) {
		for b := range g.All() {
			for _, n := range b.Nodes() {
				if f := m.Function(n.Domain(), n.Op(), n.Overload()); f != nil && !called[f] {
					called[f] = true
					visit(f.Body())
				}
			}
		}
	}
	visit(g)
	var fns []*ir.Function
	for _, f := range m.Functions() {
		if called[f] {
			fns = append(fns, f)
		}
	}
	return fns
}

// dropFunctions removes the functions that nothing calls.
func dropFunctions(m *ir.Model) bool {
	fns := calledFunctions(m, m.Graph())
	if len(fns) == len(m.Functions()) {
		return false
	}
	m.SetFunctions(fns)
	return true
}

// NameError tells that a model has no value, node, input or output of a name.
type NameError struct {
	What, Name string // "tensor", "Relu_0"
	Where      string // the graph
	Hint       string
}

// Error names what was asked for and the nearest name that there is.
func (e *NameError) Error() string {
	return fmt.Sprintf("%s has no %s named %q%s", e.Where, e.What, e.Name, e.Hint)
}
