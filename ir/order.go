package ir

import (
	"fmt"
	"strings"
)

// CycleError tells that a graph can't be ordered; Nodes lie on the cycle, each
// reading what the next one makes.
type CycleError struct {
	Graph *Graph
	Nodes []*Node
}

// Error names the nodes on the cycle.
func (e *CycleError) Error() string {
	const most = 8
	var names []string
	for i, n := range e.Nodes {
		if i == most {
			names = append(names, fmt.Sprintf("… %d more", len(e.Nodes)-most))
			break
		}
		names = append(names, n.Label())
	}
	return fmt.Sprintf("%s: the nodes form a cycle: %s reads the first one's output", e.Graph.Path(), strings.Join(names, " reads "))
}

// Sorted returns the nodes of g so that each comes after those whose outputs
// it, or a body of it, reads. The order is stable: a list that is in order
// already is returned as it is, and a node moves only before one that needs it.
// It is linear in nodes and edges and does not recurse over nodes.
func (g *Graph) Sorted() ([]*Node, error) {
	s := &sorter{g: g, state: make(map[*Node]int, g.nodes.count), order: make([]*Node, 0, g.nodes.count)}
	for _, n := range g.Nodes() {
		if err := s.visit(n); err != nil {
			return nil, err
		}
	}
	return s.order, nil
}

// InOrder reports whether every node comes after those it depends on.
func (g *Graph) InOrder() bool {
	// Most of what a node reads was made shortly before: of the chunk at hand the
	// nodes are remembered, of those before it only which they are.
	before, here := map[*chunk]bool{}, make(map[*Node]bool, chunkSize)
	for c := g.nodes.first; c != nil; c = c.next {
		clear(here)
		for _, n := range c.nodes {
			late := false
			eachDependency(g, n, func(d *Node) { late = late || !here[d] && !before[d.chunk] })
			if late {
				return false
			}
			here[n] = true
		}
		before[c] = true
	}
	return true
}

// Sort orders the nodes of g, and with recursive those of the graphs nested in
// it, as Sorted does, and reports whether anything moved.
func (g *Graph) Sort(recursive bool) (changed bool, err error) {
	graphs := []*Graph{g}
	if recursive {
		graphs = graphs[:0]
		for b := range g.All() {
			graphs = append(graphs, b)
		}
	}
	for _, b := range graphs {
		if b.InOrder() {
			continue
		}
		order, err := b.Sorted()
		if err != nil {
			return changed, err
		}
		b.Reorder(order)
		changed = true
	}
	return changed, nil
}

// dependencies returns the nodes of g whose outputs n or its bodies read.
func dependencies(g *Graph, n *Node) []*Node {
	deps := make([]*Node, 0, len(n.inputs))
	eachDependency(g, n, func(d *Node) { deps = append(deps, d) })
	return deps
}

func eachDependency(g *Graph, n *Node, f func(*Node)) {
	add := func(t *Tensor) {
		if t != nil && t.producer != nil && t.producer.graph == g {
			f(t.producer)
		}
	}
	for _, u := range n.inputs {
		add(u.tensor)
	}
	if len(n.attrs) > 0 {
		for _, b := range n.Bodies() {
			for h := range b.All() {
				h.eachUsed(add)
			}
		}
	}
}

const (
	unseen = iota
	open   // on the path
	done
)

type sorter struct {
	g     *Graph
	state map[*Node]int
	order []*Node
	path  []frame
}

type frame struct {
	node *Node
	deps []*Node
}

// visit emits what root depends on, then root, by a depth-first walk with a
// stack of its own.
func (s *sorter) visit(root *Node) error {
	s.push(root)
	for len(s.path) > 0 {
		f := &s.path[len(s.path)-1]
		if len(f.deps) == 0 {
			s.state[f.node] = done
			s.order = append(s.order, f.node)
			s.path = s.path[:len(s.path)-1]
			continue
		}
		d := f.deps[0]
		f.deps = f.deps[1:]
		if s.state[d] == open {
			return s.cycle(d)
		}
		s.push(d)
	}
	return nil
}

func (s *sorter) push(n *Node) {
	if s.state[n] == unseen {
		s.state[n] = open
		s.path = append(s.path, frame{n, dependencies(s.g, n)})
	}
}

func (s *sorter) cycle(d *Node) error {
	e := &CycleError{Graph: s.g}
	for i := range s.path {
		if s.path[i].node == d || len(e.Nodes) > 0 {
			e.Nodes = append(e.Nodes, s.path[i].node)
		}
	}
	return e
}
