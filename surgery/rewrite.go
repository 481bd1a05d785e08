package surgery

import (
	"context"
	"fmt"
	"slices"

	"github.com/starlarkgs/starlarkgs/ir"
)

// RewriteReport tells what Rewrite did.
type RewriteReport struct {
	Rewritten int
	Refused   []Refusal
}

// Rewrite replaces the matches of a pattern in g and the graphs nested in it,
// in topological order; of those that overlap, the first. replace makes nodes
// in the match's graph and returns what takes the place of its outputs; these
// nodes take part in no further match. What takes the place of a value takes
// its name too. Nodes of the match go, and so do the constants that only they
// read. When anything fails, the graph is as it was.
func Rewrite(ctx context.Context, g *ir.Graph, p *Pattern, replace func(*Match) ([]*ir.Tensor, error), o MatchOptions) (*RewriteReport, error) {
	m := g.Model()
	if m == nil {
		return nil, fmt.Errorf("%s is part of no model", g.Path())
	}
	r := &RewriteReport{}
	return r, m.Atomic(func() error {
		changed := map[*ir.Graph]bool{}
		refused, err := eachMatch(ctx, g, p, o, func(found *Match) error {
			made, err := replace(found)
			if err != nil {
				return err
			}
			r.Rewritten++
			changed[found.Graph] = true
			return substitute(found, made)
		})
		r.Refused = refused
		if err != nil {
			return err
		}
		for b := range g.All() {
			if !changed[b] {
				continue
			}
			if _, err := b.Sort(false); err != nil {
				return err
			}
		}
		return nil
	})
}

// substitute puts the tensors made in the place of the outputs of a match, and
// removes its nodes.
func substitute(found *Match, made []*ir.Tensor) error {
	if len(made) != len(found.Outputs) {
		return fmt.Errorf("replacement: got %d tensors, want %d, one for each output of the pattern", len(made), len(found.Outputs))
	}
	old := map[*ir.Node]bool{}
	for _, n := range found.Nodes {
		old[n] = true
	}
	for i, t := range found.Outputs {
		if made[i] != t {
			supplant(found, t, made[i])
		}
	}
	for _, n := range slices.Backward(found.Nodes) {
		if !slices.ContainsFunc(n.Outputs(), func(t *ir.Tensor) bool { return t != nil && t.NumUses() > 0 }) {
			discard(n)
		}
	}
	return nil
}

// supplant gives the uses of old to by, and the name where by is a new value.
func supplant(found *Match, old, by *ir.Tensor) {
	g := found.Graph
	p, _ := by.Producer()
	fresh := p != nil && p.Graph() == g && !slices.Contains(found.Nodes, p) && by != old && !by.IsGraphOutput() && by.NumUses() == 0
	if !fresh && old.IsGraphOutput() {
		n := ir.NewNode("Identity", []*ir.Tensor{by}, []*ir.Tensor{ir.NewTensor("", old.RecordedType())})
		n.SetName(g.FreshNodeName("Identity"))
		g.AddNode(n)
		by, fresh = n.Output(0), true
	}
	if fresh {
		name := old.Name()
		old.SetName(g.FreshName(name))
		by.SetName(name)
		if by.RecordedType() == nil {
			by.SetType(old.RecordedType())
		}
	}
	old.ReplaceUses(by)
}

// discard removes a node that nobody needs, and the constants that only it read.
func discard(n *ir.Node) {
	read := reads(n)
	n.Discard()
	for _, t := range read {
		if t.NumUses() > 0 {
			continue
		}
		if p, _ := t.Producer(); p != nil && p.Is("Constant") {
			p.Discard()
		} else if t.IsConstant() && !t.IsGraphInput() && t.Graph() != nil {
			t.Graph().RemoveInitializer(t)
		}
	}
}
