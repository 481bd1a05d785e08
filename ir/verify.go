package ir

import (
	"errors"
	"fmt"
)

// Verify checks that the model's structure is sound: edges agree at both ends,
// nodes and tensors know their graph, every value that is used is visible
// where it is used, and no tensor is made twice. It returns all faults joined,
// or nil. It does not ask whether operators are used rightly.
func (m *Model) Verify() error {
	v := &verifier{uses: map[*Use]bool{}}
	for _, g := range m.Graphs() {
		v.graph(g)
	}
	for _, g := range m.Graphs() {
		v.lists(g)
	}
	return errors.Join(v.errs...)
}

type verifier struct {
	uses map[*Use]bool // edges found at slots
	errs []error
}

func (v *verifier) failf(format string, args ...any) {
	const most = 20
	if len(v.errs) < most {
		v.errs = append(v.errs, fmt.Errorf(format, args...))
	}
}

func (v *verifier) graph(g *Graph) {
	for _, t := range g.inputs {
		if t.graph != g {
			v.failf("%s: input %q belongs to another graph", g.Path(), t.name)
		}
	}
	for i, u := range g.outputs {
		v.uses[u] = true
		if u.graph != g || u.index != i || u.node != nil {
			v.failf("%s: output %d: the edge does not know its slot", g.Path(), i)
		}
		if u.tensor == nil {
			v.failf("%s: output %d is empty", g.Path(), i)
			continue
		}
		v.visible(g, u.tensor, g.Path())
	}
	for i, t := range g.inits {
		if t != nil && (t.initPos != i+1 || t.graph != g || t.literal == nil) {
			v.failf("%s: initializer %q does not know its place", g.Path(), t.name)
		}
	}
	for _, n := range g.Nodes() {
		v.node(g, n)
	}
}

func (v *verifier) node(g *Graph, n *Node) {
	if n.graph != g {
		v.failf("%s: %s is in the list of a graph that it does not know", g.Path(), n.Label())
	}
	for i, u := range n.inputs {
		v.uses[u] = true
		if u.node != n || u.index != i || u.graph != nil {
			v.failf("%s: input %d: the edge does not know its slot", n.Path(), i)
		}
		if u.tensor != nil {
			v.visible(g, u.tensor, n.Path())
		}
	}
	for i, t := range n.outputs {
		if t == nil {
			continue
		}
		if t.producer != n || t.output != i {
			v.failf("%s: output %d %q does not know its producer", n.Path(), i, t.name)
		}
		if t.graph != g {
			v.failf("%s: output %d %q belongs to another graph", n.Path(), i, t.name)
		}
	}
	for _, b := range n.Bodies() {
		if b.owner != n {
			v.failf("%s: a body does not know its node", n.Path())
		}
	}
}

func (v *verifier) visible(g *Graph, t *Tensor, where string) {
	if t.graph == nil || !t.graph.Encloses(g) {
		v.failf("%s: value %q is not visible here", where, t.name)
	}
}

// lists walks the use list of every tensor of g: each of its edges must stand
// at a slot, or at one of a node that is in no graph.
func (v *verifier) lists(g *Graph) {
	for _, t := range g.Tensors() {
		count, prev := 0, (*Use)(nil)
		for u := t.first; u != nil; u = u.next {
			if u.tensor != t || u.prev != prev {
				v.failf("%s: the use list of %q is broken", g.Path(), t.name)
				return
			}
			if !v.uses[u] && u.home() != nil && u.home().Model() == g.Model() && g.Model() != nil {
				v.failf("%s: %q has a use that stands at no slot", g.Path(), t.name)
			}
			count++
			prev = u
		}
		if count != t.useCount || t.last != prev {
			v.failf("%s: %q counts %d uses, want %d", g.Path(), t.name, t.useCount, count)
		}
	}
}
