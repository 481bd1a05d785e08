package value

import (
	"fmt"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/ir"
)

// The sources of the live lists. Each is a comparable struct, so two views of
// one list are equal.
type (
	nodeInputs   struct{ n Node }
	nodeOutputs  struct{ n Node }
	producerList struct{ t Tensor }
	consumerList struct{ t Tensor }
	graphInputs  struct{ g Graph }
	graphOutputs struct{ g Graph }
	graphNodes   struct{ g Graph }
	functionList struct{ g Graph }
)

func (s nodeInputs) typ() string               { return "tensor_list" }
func (s nodeInputs) what() string              { return "inputs of " + s.n.n.Label() }
func (s nodeInputs) len() int                  { return s.n.n.NumInputs() }
func (s nodeInputs) at(i int) starlark.Value   { return s.n.env.Tensor(s.n.n.Input(i)) }
func (s nodeInputs) remove(i int) error        { s.n.n.RemoveInput(i); return nil }
func (s nodeInputs) mutable(verb string) error { return s.n.mutable(verb + " the inputs of") }
func (s nodeInputs) set(i int, v starlark.Value) error {
	t, err := s.n.env.slot(s.n.n.Graph(), v, s.what())
	if err == nil {
		s.n.n.SetInput(i, t)
	}
	return err
}
func (s nodeInputs) insert(i int, v starlark.Value) error {
	t, err := s.n.env.slot(s.n.n.Graph(), v, s.what())
	if err == nil {
		s.n.n.InsertInput(i, t)
	}
	return err
}

func (s nodeOutputs) typ() string               { return "tensor_list" }
func (s nodeOutputs) what() string              { return "outputs of " + s.n.n.Label() }
func (s nodeOutputs) len() int                  { return s.n.n.NumOutputs() }
func (s nodeOutputs) at(i int) starlark.Value   { return s.n.env.Tensor(s.n.n.Output(i)) }
func (s nodeOutputs) remove(i int) error        { s.n.n.RemoveOutput(i); return nil }
func (s nodeOutputs) mutable(verb string) error { return s.n.mutable(verb + " the outputs of") }
func (s nodeOutputs) set(i int, v starlark.Value) error {
	t, err := s.n.env.madeHere(s.n.n, v)
	if err == nil {
		s.n.n.SetOutput(i, t)
	}
	return err
}
func (s nodeOutputs) insert(i int, v starlark.Value) error {
	t, err := s.n.env.madeHere(s.n.n, v)
	if err == nil {
		s.n.n.InsertOutput(i, t)
	}
	return err
}

// madeHere returns the tensor that v names as an output of n: it must belong to
// the graph of n, or to none.
func (e *Env) madeHere(n *ir.Node, v starlark.Value) (*ir.Tensor, error) {
	t, err := e.slot(n.Graph(), v, "outputs of "+n.Label())
	if err != nil || t == nil {
		return t, err
	}
	if g := n.Graph(); g != nil && t.Graph() != nil && t.Graph() != g {
		return nil, fmt.Errorf("outputs of %s: tensor %q belongs to %s, want one of %s or of none", n.Label(), t.Name(), t.Graph().Path(), g.Path())
	}
	return t, nil
}

func (s producerList) typ() string { return "node_list" }
func (s producerList) what() string {
	return fmt.Sprintf("inputs (producers) of tensor %q", s.t.t.Name())
}
func (s producerList) len() int {
	if p, _ := s.t.t.Producer(); p != nil {
		return 1
	}
	return 0
}
func (s producerList) at(int) starlark.Value {
	p, _ := s.t.t.Producer()
	return s.t.env.Node(p)
}
func (s producerList) remove(int) error {
	p, i := s.t.t.Producer()
	p.SetOutput(i, nil)
	return nil
}
func (s producerList) mutable(verb string) error { return s.t.mutable(verb + " the inputs of") }
func (s producerList) set(_ int, v starlark.Value) error {
	return s.insert(0, v)
}
func (s producerList) insert(_ int, v starlark.Value) error {
	n, err := s.t.env.AsNode(s.t.t.Graph(), v, s.what())
	if err == nil {
		n.InsertOutput(n.NumOutputs(), s.t.t)
	}
	return err
}

// edges returns the uses by nodes; a graph's output list is not among them.
func (s consumerList) edges() []*ir.Use {
	uses := make([]*ir.Use, 0, s.t.t.NumUses())
	for u := range s.t.t.Uses() {
		if u.Node() != nil {
			uses = append(uses, u)
		}
	}
	return uses
}
func (s consumerList) typ() string { return "node_list" }
func (s consumerList) what() string {
	return fmt.Sprintf("outputs (consumers) of tensor %q", s.t.t.Name())
}
func (s consumerList) len() int                  { return len(s.edges()) }
func (s consumerList) at(i int) starlark.Value   { return s.t.env.Node(s.edges()[i].Node()) }
func (s consumerList) remove(i int) error        { s.edges()[i].Set(nil); return nil }
func (s consumerList) mutable(verb string) error { return s.t.mutable(verb + " the outputs of") }
func (s consumerList) set(i int, v starlark.Value) error {
	old := s.edges()[i]
	if err := s.insert(0, v); err != nil {
		return err
	}
	old.Set(nil)
	return nil
}
func (s consumerList) insert(_ int, v starlark.Value) error {
	n, err := s.t.env.AsNode(s.t.t.Graph(), v, s.what())
	if err == nil {
		n.InsertInput(n.NumInputs(), s.t.t)
	}
	return err
}

func (s graphInputs) typ() string               { return "tensor_list" }
func (s graphInputs) what() string              { return "inputs of " + s.g.g.Label() }
func (s graphInputs) len() int                  { return len(s.g.g.Inputs()) }
func (s graphInputs) at(i int) starlark.Value   { return s.g.env.Tensor(s.g.g.Inputs()[i]) }
func (s graphInputs) mutable(verb string) error { return s.g.mutable(verb + " the inputs of") }
func (s graphInputs) remove(i int) error {
	ts := s.g.g.Inputs()
	s.g.g.SetInputs(append(ts[:i], ts[i+1:]...)...)
	return nil
}
func (s graphInputs) set(i int, v starlark.Value) error {
	t, err := s.tensor(v)
	if err != nil {
		return err
	}
	ts := s.g.g.Inputs()
	ts[i] = t
	s.g.g.SetInputs(ts...)
	return nil
}
func (s graphInputs) insert(i int, v starlark.Value) error {
	t, err := s.tensor(v)
	if err != nil {
		return err
	}
	ts := append(s.g.g.Inputs(), nil)
	copy(ts[i+1:], ts[i:])
	ts[i] = t
	s.g.g.SetInputs(ts...)
	return nil
}
func (s graphInputs) tensor(v starlark.Value) (*ir.Tensor, error) {
	t, err := s.g.env.AsTensor(s.g.g, v, s.what())
	if err == nil && t.Graph() != nil && t.Graph() != s.g.g {
		return nil, fmt.Errorf("%s: tensor %q belongs to %s", s.what(), t.Name(), t.Graph().Path())
	}
	return t, err
}

func (s graphOutputs) typ() string               { return "tensor_list" }
func (s graphOutputs) what() string              { return "outputs of " + s.g.g.Label() }
func (s graphOutputs) len() int                  { return s.g.g.NumOutputs() }
func (s graphOutputs) at(i int) starlark.Value   { return s.g.env.Tensor(s.g.g.Output(i)) }
func (s graphOutputs) mutable(verb string) error { return s.g.mutable(verb + " the outputs of") }
func (s graphOutputs) remove(i int) error {
	ts := s.g.g.Outputs()
	s.g.g.SetOutputs(append(ts[:i], ts[i+1:]...)...)
	return nil
}
func (s graphOutputs) set(i int, v starlark.Value) error {
	t, err := s.g.env.AsTensor(s.g.g, v, s.what())
	if err == nil {
		s.g.g.SetOutput(i, t)
	}
	return err
}
func (s graphOutputs) insert(i int, v starlark.Value) error {
	t, err := s.g.env.AsTensor(s.g.g, v, s.what())
	if err != nil {
		return err
	}
	ts := append(s.g.g.Outputs(), nil)
	copy(ts[i+1:], ts[i:])
	ts[i] = t
	s.g.g.SetOutputs(ts...)
	return nil
}

func (s graphNodes) typ() string               { return "node_list" }
func (s graphNodes) what() string              { return "nodes of " + s.g.g.Label() }
func (s graphNodes) len() int                  { return s.g.g.NumNodes() }
func (s graphNodes) at(i int) starlark.Value   { return s.g.env.Node(s.g.g.Node(i)) }
func (s graphNodes) mutable(verb string) error { return s.g.mutable(verb + " the nodes of") }
func (s graphNodes) remove(i int) error        { s.g.g.RemoveNode(s.g.g.Node(i)); return nil }
func (s graphNodes) set(i int, v starlark.Value) error {
	n, err := s.node(v)
	if err != nil || s.g.g.Node(i) == n {
		return err
	}
	if err := holdsItself(n, s.g.g); err != nil {
		return err
	}
	old := s.g.g.Node(i)
	s.g.g.InsertBefore(old, n)
	s.g.g.RemoveNode(old)
	return nil
}
func (s graphNodes) insert(i int, v starlark.Value) error {
	n, err := s.node(v)
	if err != nil {
		return err
	}
	if n.Graph() == s.g.g {
		return fmt.Errorf("%s: %s is in the list already", s.what(), n.Label())
	}
	if err := holdsItself(n, s.g.g); err != nil {
		return err
	}
	var mark *ir.Node
	if i < s.g.g.NumNodes() {
		mark = s.g.g.Node(i)
	}
	s.g.g.InsertBefore(mark, n)
	return nil
}

// holdsItself refuses to put a node into a graph that is, or lies in, a body of
// the node.
func holdsItself(n *ir.Node, g *ir.Graph) error {
	if n.Holds(g) {
		return fmt.Errorf("%s: got %s, of which that graph is a part: a graph can't hold itself", g.Label(), n.Label())
	}
	return nil
}

func (s graphNodes) node(v starlark.Value) (*ir.Node, error) {
	n, ok := v.(Node)
	if !ok {
		return nil, fmt.Errorf("%s: got %s, want a node", s.what(), v.Type())
	}
	if g := n.n.Graph(); g != nil && g != s.g.g {
		return nil, fmt.Errorf("%s: %s belongs to %s: remove it there first, or add its copy()", s.what(), n.n.Label(), g.Path())
	}
	return n.n, s.g.env.bringIn(s.g.g, n.n)
}

// bringIn makes what the node reads usable in g: constants of other graphs are
// copied in, variables of other graphs refused.
func (e *Env) bringIn(g *ir.Graph, n *ir.Node) error {
	for i := range n.NumInputs() {
		t := n.Input(i)
		if t == nil {
			continue
		}
		u, err := e.usable(g, t, "inputs of "+n.Label())
		if err != nil {
			return err
		}
		n.SetInput(i, u)
	}
	return nil
}

func (s functionList) typ() string  { return "function_list" }
func (s functionList) what() string { return "functions of " + s.g.g.Label() }
func (s functionList) list() []*ir.Function {
	if m := s.g.g.Model(); m != nil {
		return m.Functions()
	}
	return nil
}
func (s functionList) len() int                  { return len(s.list()) }
func (s functionList) at(i int) starlark.Value   { return s.g.env.Graph(s.list()[i].Body()) }
func (s functionList) mutable(verb string) error { return s.g.mutable(verb + " the functions of") }
func (s functionList) remove(i int) error {
	fns := append([]*ir.Function(nil), s.list()...)
	s.g.g.Model().SetFunctions(append(fns[:i], fns[i+1:]...))
	return nil
}
func (s functionList) set(i int, v starlark.Value) error {
	f, err := s.function(v)
	if err != nil {
		return err
	}
	fns := append([]*ir.Function(nil), s.list()...)
	fns[i] = f
	s.g.g.Model().SetFunctions(fns)
	return nil
}
func (s functionList) insert(i int, v starlark.Value) error {
	f, err := s.function(v)
	if err != nil {
		return err
	}
	fns := append(append([]*ir.Function(nil), s.list()...), nil)
	copy(fns[i+1:], fns[i:])
	fns[i] = f
	s.g.g.Model().SetFunctions(fns)
	return nil
}
func (s functionList) function(v starlark.Value) (*ir.Function, error) {
	g, ok := v.(Graph)
	if !ok || g.Type() != "function" {
		return nil, fmt.Errorf("%s: got %s, want a function", s.what(), v.Type())
	}
	f := g.g.Function()
	for _, old := range s.list() {
		if old != f && old.Key() == f.Key() {
			return nil, fmt.Errorf("%s: there is a function %q already", s.what(), f.Key())
		}
	}
	if s.g.g.Model() == nil {
		return nil, fmt.Errorf("%s: a body takes its functions from the model that it is part of", s.what())
	}
	return f, nil
}
