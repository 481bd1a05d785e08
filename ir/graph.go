package ir

import (
	"fmt"
	"iter"
	"slices"
)

// Graph is a list of nodes with inputs, outputs and initializers: the graph of
// a model, the body of a function, or a body that a node's attribute holds.
type Graph struct {
	name, doc string
	meta      []Prop

	inputs  []*Tensor
	outputs []*Use
	inits   []*Tensor // nil where one was removed
	holes   int
	nodes   nodeList

	model *Model    // of a graph that is no node's body
	fn    *Function // whose body the graph is
	owner *Node     // whose attribute holds the graph
	names *nameIndex

	// Extra is what the file said besides; it belongs to package onnx.
	Extra any
}

// NewGraph returns an empty graph of no model: the body of an If, Loop or Scan
// to be. A model's graph is made by NewModel.
func NewGraph(name string) *Graph { return &Graph{name: name} }

// Model returns the model that the graph is part of, or nil for a body whose
// node is in no graph.
func (g *Graph) Model() *Model { return g.Root().model }

// Root returns the outermost graph around g, which may be g itself.
func (g *Graph) Root() *Graph {
	for g.owner != nil && g.owner.graph != nil {
		g = g.owner.graph
	}
	return g
}

// Owner returns the node whose attribute holds the graph, or nil.
func (g *Graph) Owner() *Node { return g.owner }

// Function returns the function whose body g is, or is nested in, or nil.
func (g *Graph) Function() *Function { return g.Root().fn }

// Parent returns the graph around g, or nil.
func (g *Graph) Parent() *Graph {
	if g.owner == nil {
		return nil
	}
	return g.owner.graph
}

// Encloses reports whether h is g or lies, however deep, inside it.
func (g *Graph) Encloses(h *Graph) bool {
	for h != nil && h != g {
		h = h.Parent()
	}
	return h != nil
}

// Imports returns the opset imports in force: the function's or the model's.
func (g *Graph) Imports() []Import {
	r := g.Root()
	switch {
	case r.fn != nil:
		return r.fn.imports
	case r.model != nil:
		return r.model.imports
	}
	return nil
}

// SetImports replaces the opset imports in force: the function's or the model's.
// A graph of neither has none.
func (g *Graph) SetImports(im []Import) {
	switch r := g.Root(); {
	case r.fn != nil:
		r.fn.SetImports(im)
	case r.model != nil:
		r.model.SetImports(im)
	}
}

// Opset returns the version imported for the domain, 0 when there is none.
func (g *Graph) Opset(domain string) int { return findImport(g.Imports(), domain) }

// Name returns the graph's name.
func (g *Graph) Name() string { return g.name }

// SetName renames the graph.
func (g *Graph) SetName(s string) { set(g.Model(), &g.name, s) }

// Doc returns the doc string.
func (g *Graph) Doc() string { return g.doc }

// SetDoc sets the doc string.
func (g *Graph) SetDoc(s string) { set(g.Model(), &g.doc, s) }

// Metadata returns the metadata entries; callers must not change them.
func (g *Graph) Metadata() []Prop { return g.meta }

// SetMetadata replaces the metadata.
func (g *Graph) SetMetadata(p []Prop) { set(g.Model(), &g.meta, p) }

// Label returns what an error calls the graph: graph "main".
func (g *Graph) Label() string {
	if g.fn != nil {
		return fmt.Sprintf("function %q", g.fn.Key())
	}
	return fmt.Sprintf("graph %q", g.name)
}

// Path returns the way from the model to the graph: graph / node / branch.
func (g *Graph) Path() string {
	if g.owner == nil {
		return g.Label()
	}
	for _, a := range g.owner.attrs {
		for i, b := range a.Graphs() {
			if b != g {
				continue
			}
			if a.Kind == AttrGraphs {
				return fmt.Sprintf("%s / %s[%d]", g.owner.Path(), a.Name, i)
			}
			return g.owner.Path() + " / " + a.Name
		}
	}
	return g.owner.Path()
}

// Inputs returns the inputs as a slice of its own.
func (g *Graph) Inputs() []*Tensor { return slices.Clone(g.inputs) }

// SetInputs replaces the inputs. What produces an input, if anything, is left
// alone; a pass that isolates a part of a graph cuts it.
func (g *Graph) SetInputs(ts ...*Tensor) {
	old := g.inputs
	g.setInputs(slices.Clone(ts))
	if j := g.Model().recording(); j != nil {
		j.add(func() { g.setInputs(old) })
	}
	for _, t := range ts {
		g.adopt(t)
	}
}

func (g *Graph) setInputs(ts []*Tensor) {
	for _, t := range g.inputs {
		t.inputOf--
	}
	g.inputs = ts
	for _, t := range ts {
		t.inputOf++
	}
}

// NumOutputs returns the number of outputs.
func (g *Graph) NumOutputs() int { return len(g.outputs) }

// Output returns output i.
func (g *Graph) Output(i int) *Tensor { return g.outputs[i].tensor }

// Outputs returns the outputs as a slice of its own.
func (g *Graph) Outputs() []*Tensor {
	ts := make([]*Tensor, len(g.outputs))
	for i, u := range g.outputs {
		ts[i] = u.tensor
	}
	return ts
}

// SetOutput makes t output i, which must exist.
func (g *Graph) SetOutput(i int, t *Tensor) { g.outputs[i].Set(t) }

// SetOutputs replaces the outputs. A body may name a tensor of an enclosing
// graph as its output.
func (g *Graph) SetOutputs(ts ...*Tensor) {
	for _, u := range g.outputs {
		u.Set(nil)
	}
	uses := make([]*Use, len(ts))
	for i := range uses {
		uses[i] = &Use{graph: g, index: i}
	}
	set(g.Model(), &g.outputs, uses)
	for i, t := range ts {
		uses[i].Set(t)
	}
}

// Initializers returns the constants that the graph declares, in order, as a
// slice of its own.
func (g *Graph) Initializers() []*Tensor {
	ts := make([]*Tensor, 0, len(g.inits)-g.holes)
	for _, t := range g.inits {
		if t != nil {
			ts = append(ts, t)
		}
	}
	return ts
}

// AddInitializer declares the constant t in the graph; one that an enclosing
// graph declares stays there.
func (g *Graph) AddInitializer(t *Tensor) {
	g.adopt(t)
	if t.graph == g && t.initPos == 0 {
		g.declare(t)
	}
}

// RemoveInitializer takes the constant t out of the graph, which then no
// longer owns it; its uses stay.
func (g *Graph) RemoveInitializer(t *Tensor) {
	if t.graph != g || t.initPos == 0 {
		return
	}
	g.undeclare(t)
	set(g.Model(), &t.graph, nil)
}

func (g *Graph) declare(t *Tensor) {
	g.inits = append(g.inits, t)
	t.initPos = len(g.inits)
	if j := g.Model().recording(); j != nil {
		j.add(func() { g.dropInit(t) })
	}
}

// undeclare leaves a hole in the list, so that removing is O(1); holes are
// squeezed out once they are the larger half and no journal knows positions.
func (g *Graph) undeclare(t *Tensor) {
	pos := t.initPos - 1
	g.dropInit(t)
	if j := g.Model().recording(); j != nil {
		j.add(func() {
			g.inits[pos] = t
			g.holes--
			t.initPos = pos + 1
		})
		return
	}
	if g.holes*2 > len(g.inits) {
		g.squeeze()
	}
}

func (g *Graph) dropInit(t *Tensor) {
	g.inits[t.initPos-1] = nil
	g.holes++
	t.initPos = 0
}

func (g *Graph) squeeze() {
	g.inits = slices.DeleteFunc(g.inits, func(t *Tensor) bool { return t == nil })
	g.holes = 0
	for i, t := range g.inits {
		t.initPos = i + 1
	}
}

// syncInitializer follows a change of a tensor of g between variable and constant.
func (g *Graph) syncInitializer(t *Tensor, wasConstant bool) {
	switch {
	case t.literal != nil && t.initPos == 0:
		g.declare(t)
	case t.literal == nil && wasConstant && t.initPos != 0:
		g.undeclare(t)
	}
}

// adopt makes t, when it belongs to no graph, a tensor of g. One that dangles
// in a body, neither made nor fed there, moves out to the graph that uses it.
func (g *Graph) adopt(t *Tensor) {
	if t == nil || t.graph == g {
		return
	}
	if t.graph != nil {
		if t.producer != nil || t.inputOf > 0 || !g.Encloses(t.graph) {
			return
		}
		if t.initPos != 0 {
			t.graph.undeclare(t)
		}
	}
	g.own(t)
	if t.literal != nil && t.initPos == 0 && t.producer == nil {
		g.declare(t)
	}
}

func (g *Graph) own(t *Tensor) {
	set(g.Model(), &t.graph, g)
	g.take(t.name)
}

// NumNodes returns the number of nodes, those of bodies not counted.
func (g *Graph) NumNodes() int { return g.nodes.count }

// Nodes returns the nodes in order. The slice is a snapshot: it must not be
// changed by the caller, and edits of the graph do not change it.
func (g *Graph) Nodes() []*Node { return g.nodes.all() }

// Node returns node i.
func (g *Graph) Node(i int) *Node { return g.nodes.at(i) }

// IndexOf returns the position of n in the node list, or -1.
func (g *Graph) IndexOf(n *Node) int {
	if n.graph != g {
		return -1
	}
	return g.nodes.index(n)
}

// Next returns the node after n in the node list, or nil.
func (g *Graph) Next(n *Node) *Node { return g.nodes.after(n) }

// AddNode appends n, which leaves the graph that it was in.
func (g *Graph) AddNode(n *Node) { g.InsertBefore(nil, n) }

// InsertAfter puts n after mark.
func (g *Graph) InsertAfter(mark, n *Node) { g.InsertBefore(g.nodes.after(mark), n) }

// InsertBefore puts n, which leaves the graph that it was in, before mark, or
// at the end when mark is nil. Its outputs and those of its inputs that belong
// to no graph become the graph's.
func (g *Graph) InsertBefore(mark, n *Node) {
	if mark == n {
		return
	}
	if n.graph != nil {
		n.graph.RemoveNode(n)
	}
	g.place(mark, n)
	if j := g.Model().recording(); j != nil {
		j.add(func() { g.unplace(n) })
	}
	g.takeNode(n.name)
	for _, t := range n.outputs {
		if t != nil && t.graph != g {
			g.moveIn(t)
		}
	}
	for _, u := range n.inputs {
		g.adopt(u.tensor)
	}
	g.adoptBodies(n)
}

func (g *Graph) moveIn(t *Tensor) {
	if t.graph != nil && t.initPos != 0 {
		t.graph.undeclare(t)
	}
	g.own(t)
}

// adoptBodies brings the names in the bodies of n to the index of names.
func (g *Graph) adoptBodies(n *Node) {
	if r := g.Root(); r.names != nil {
		for _, b := range n.Bodies() {
			b.eachName(r.names)
		}
	}
}

// RemoveNode takes n out of the node list; its edges stay (see Node.Remove).
func (g *Graph) RemoveNode(n *Node) {
	next := g.unplace(n)
	if j := g.Model().recording(); j != nil {
		j.add(func() { g.place(next, n) })
	}
}

func (g *Graph) place(mark, n *Node) {
	g.nodes.insertBefore(mark, n)
	n.graph = g
}

func (g *Graph) unplace(n *Node) *Node {
	next := g.nodes.remove(n)
	n.graph = nil
	return next
}

// Reorder makes nodes, which must be a permutation of the node list, its order.
func (g *Graph) Reorder(nodes []*Node) {
	old := g.nodes.all()
	g.nodes.reorder(nodes)
	if j := g.Model().recording(); j != nil {
		j.add(func() { g.nodes.reorder(old) })
	}
}

// All ranges over g and every graph nested in it, outer ones first.
func (g *Graph) All() iter.Seq[*Graph] {
	return func(yield func(*Graph) bool) { g.walk(yield) }
}

func (g *Graph) walk(yield func(*Graph) bool) bool {
	if !yield(g) {
		return false
	}
	for _, n := range g.Nodes() {
		for _, b := range n.Bodies() {
			if !b.walk(yield) {
				return false
			}
		}
	}
	return true
}

// Captures returns the tensors of graphs around g that nodes in g or deeper, or
// the outputs of these graphs, use; each once, in the order met.
func (g *Graph) Captures() []*Tensor {
	var found []*Tensor
	seen := map[*Tensor]bool{}
	for b := range g.All() {
		b.eachUsed(func(t *Tensor) {
			if t.graph != nil && !g.Encloses(t.graph) && !seen[t] {
				seen[t] = true
				found = append(found, t)
			}
		})
	}
	return found
}

// eachUsed calls f for what the nodes of g itself and its outputs use.
func (g *Graph) eachUsed(f func(*Tensor)) {
	g.eachEdge(func(u *Use) { f(u.tensor) })
}

// eachEdge calls f for the edges into the nodes of g itself and its outputs; f
// may cut them.
func (g *Graph) eachEdge(f func(*Use)) {
	for _, n := range g.Nodes() {
		for _, u := range n.inputs {
			if u.tensor != nil {
				f(u)
			}
		}
	}
	for _, u := range g.outputs {
		if u.tensor != nil {
			f(u)
		}
	}
}

// cutCaptures cuts the edges from tensors around g, which is about to leave its
// model with its node.
func (g *Graph) cutCaptures() {
	for b := range g.All() {
		b.eachEdge(func(u *Use) {
			if t := u.tensor; t.graph != nil && !g.Encloses(t.graph) {
				u.Cut()
			}
		})
	}
}

// Captures returns the tensors that the bodies of n use from around them.
func (n *Node) Captures() []*Tensor {
	var found []*Tensor
	for _, b := range n.Bodies() {
		for _, t := range b.Captures() {
			if !slices.Contains(found, t) {
				found = append(found, t)
			}
		}
	}
	return found
}

// AncestorIn returns the node of g that is n or holds n in one of its bodies,
// or nil.
func (n *Node) AncestorIn(g *Graph) *Node {
	for n != nil && n.graph != g {
		if n.graph == nil {
			return nil
		}
		n = n.graph.owner
	}
	return n
}

// Tensors returns every tensor of g itself, bodies not included, each once:
// inputs, initializers, then for each node in order what it uses that nothing
// makes and what it makes, outputs.
// Tensors of enclosing graphs that g captures are not among them.
func (g *Graph) Tensors() []*Tensor {
	ts := make([]*Tensor, 0, len(g.inputs)+len(g.inits)+g.nodes.count)
	for i, t := range g.inputs {
		if t.inputOf == 1 || !slices.Contains(g.inputs[:i], t) {
			ts = append(ts, t)
		}
	}
	for _, t := range g.inits {
		if t != nil && !t.IsGraphInput() {
			ts = append(ts, t)
		}
	}
	// What has none of these places is rare: one that is used and never made, or
	// made by a node that is in no graph.
	var odd map[*Tensor]bool
	add := func(t *Tensor) {
		if t == nil || t.graph != g && t.graph != nil || t.IsGraphInput() || t.initPos != 0 || odd[t] {
			return
		}
		if t.producer != nil && t.producer.graph == g {
			return // comes with its node
		}
		if odd == nil {
			odd = map[*Tensor]bool{}
		}
		odd[t] = true
		ts = append(ts, t)
	}
	for _, n := range g.Nodes() {
		for _, u := range n.inputs {
			add(u.tensor)
		}
		for _, t := range n.outputs {
			if t != nil && !t.IsGraphInput() && t.initPos == 0 {
				ts = append(ts, t)
			}
		}
	}
	for _, u := range g.outputs {
		add(u.tensor)
	}
	return ts
}
