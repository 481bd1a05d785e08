package surgery

import (
	"fmt"
	"slices"

	"github.com/starlarkgs/starlarkgs/ir"
)

// CleanupOptions says what Cleanup drops besides nodes that no output needs.
// The zero value is GraphSurgeon's default but for bodies and functions, which
// All sets.
type CleanupOptions struct {
	// UnusedNodeOutputs empties the output slots of live nodes that nobody
	// reads, and drops them at the end of the list.
	UnusedNodeOutputs bool
	// UnusedGraphInputs drops inputs of the main graph that nobody reads; those
	// of bodies and functions stay, since callers count on them.
	UnusedGraphInputs bool
	// SkipBodies and SkipFunctions leave these alone.
	SkipBodies, SkipFunctions bool
}

// Cleanup drops what no output of the graph needs: nodes, initializers, and
// edges of nodes that are in no graph. Captures of bodies count as needs.
// Inputs and outputs of the graph stay, in name, order and type; a node that
// makes a graph input is cut off from it first, so that naming a middle tensor
// as an input isolates what lies behind it. It reports whether anything changed.
func Cleanup(g *ir.Graph, o CleanupOptions) (changed bool, err error) {
	run := func() error {
		changed, err = cleanup(g, o)
		return err
	}
	if m := g.Model(); m != nil {
		err = m.Atomic(run)
	} else {
		err = run()
	}
	return changed && err == nil, err
}

func cleanup(g *ir.Graph, o CleanupOptions) (bool, error) {
	changed := false
	m := g.Model()
	if !o.SkipFunctions && m != nil && m.Graph() == g {
		for _, f := range m.Functions() {
			c, err := cleanup(f.Body(), CleanupOptions{UnusedNodeOutputs: o.UnusedNodeOutputs, SkipBodies: o.SkipBodies, SkipFunctions: true})
			if err != nil {
				return changed, err
			}
			changed = changed || c
		}
	}
	if !o.SkipBodies {
		inner := CleanupOptions{UnusedNodeOutputs: o.UnusedNodeOutputs, SkipFunctions: true}
		for _, n := range g.Nodes() {
			for _, b := range n.Bodies() {
				c, err := cleanup(b, inner)
				if err != nil {
					return changed, err
				}
				changed = changed || c
			}
		}
	}
	c, err := sweep(g, o)
	return changed || c, err
}

// sweep does one graph, its bodies being clean.
func sweep(g *ir.Graph, o CleanupOptions) (bool, error) {
	changed := cutInputs(g)
	live, err := reachable(g)
	if err != nil {
		return changed, err
	}
	nodes := g.Nodes()
	for _, n := range slices.Backward(nodes) {
		if !live[n] {
			n.Discard()
			changed = true
		}
	}
	changed = dropStrays(g) || changed
	for _, t := range g.Initializers() {
		if t.NumUses() == 0 && !t.IsGraphInput() {
			g.RemoveInitializer(t)
			changed = true
		}
	}
	if o.UnusedNodeOutputs {
		changed = dropOutputs(g) || changed
	}
	if o.UnusedGraphInputs {
		changed = dropInputs(g) || changed
	}
	return changed, nil
}

// cutInputs frees graph inputs from nodes that make them.
func cutInputs(g *ir.Graph) bool {
	changed := false
	for _, t := range g.Inputs() {
		if p, i := t.Producer(); p != nil {
			p.SetOutput(i, nil)
			changed = true
		}
	}
	return changed
}

// reachable returns the nodes of g that an output needs.
func reachable(g *ir.Graph) (map[*ir.Node]bool, error) {
	live := make(map[*ir.Node]bool, g.NumNodes())
	var todo []*ir.Node
	need := func(t *ir.Tensor) {
		if t == nil {
			return
		}
		if p, _ := t.Producer(); p != nil && p.Graph() == g && !live[p] {
			live[p] = true
			todo = append(todo, p)
		}
	}
	for i, t := range g.Outputs() {
		if err := checkMade(g, i, t); err != nil {
			return nil, err
		}
		need(t)
	}
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for i := range n.NumInputs() {
			need(n.Input(i))
		}
		for _, t := range n.Captures() {
			need(t)
		}
	}
	return live, nil
}

// checkMade refuses an output that nothing makes: sweeping back from it would
// empty the graph silently.
func checkMade(g *ir.Graph, i int, t *ir.Tensor) error {
	p, _ := t.Producer()
	switch {
	case t.IsConstant(), t.IsGraphInput():
		return nil
	case p == nil && t.Graph() == g:
		return fmt.Errorf("%s: output %d %q: got a tensor that no node makes, want a node's output, an input or a constant", g.Path(), i, t.Name())
	case p != nil && p.Graph() == nil:
		return fmt.Errorf("%s: output %d %q is made by %s, which is not in the graph: append it to the nodes", g.Path(), i, t.Name(), p.Label())
	}
	return nil
}

// dropStrays cuts the edges to nodes that are in no graph, and into their bodies.
func dropStrays(g *ir.Graph) bool {
	changed := false
	for _, t := range g.Tensors() {
		for u := range t.Uses() {
			if stray(u) {
				u.Cut()
				changed = true
			}
		}
	}
	return changed
}

// stray reports whether the edge leads to a node in no graph, or into its body.
func stray(u *ir.Use) bool {
	n := u.Node()
	if n == nil {
		n = u.Graph().Owner()
	}
	for n != nil && n.Graph() != nil {
		n = n.Graph().Owner()
	}
	return n != nil
}

// dropOutputs empties outputs of nodes that nobody reads, the first one of a
// node excepted, and removes empty slots at the end.
func dropOutputs(g *ir.Graph) bool {
	changed := false
	for _, n := range g.Nodes() {
		for i := n.NumOutputs() - 1; i > 0; i-- {
			if t := n.Output(i); t != nil && t.NumUses() == 0 {
				n.SetOutput(i, nil)
				changed = true
			}
			if n.Output(i) == nil && i == n.NumOutputs()-1 {
				n.RemoveOutput(i)
				changed = true
			}
		}
	}
	return changed
}

func dropInputs(g *ir.Graph) bool {
	var kept []*ir.Tensor
	for _, t := range g.Inputs() {
		if t.NumUses() > 0 {
			kept = append(kept, t)
		}
	}
	if len(kept) == len(g.Inputs()) {
		return false
	}
	g.SetInputs(kept...)
	return true
}
