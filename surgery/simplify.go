package surgery

import (
	"context"
	"fmt"
	"slices"

	"github.com/starlarkgs/starlarkgs/internal/progress"
	"github.com/starlarkgs/starlarkgs/internal/spell"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops/infer"
)

// Rule is one rewrite of Simplify: a file of its own, and a row of Rules.
type Rule struct {
	Name string
	Doc  string
	// Exact rules give bit-equal results; others state their bound in Doc.
	Exact bool
	// Apply rewrites what begins at n, and reports whether it did. The node may
	// be gone afterwards.
	Apply func(n *ir.Node, facts *infer.Report) bool
}

// Rules lists the rewrites in the order in which they are tried.
var Rules = []Rule{identityRule, dropoutRule, noopRule, castRule, transposeRule, reshapeRule, batchNormRule, addBiasRule, gemmRule, duplicateRule}

// SimplifyReport counts what the rules did.
type SimplifyReport struct{ Applied map[string]int }

// SimplifyOptions picks rules; the zero value takes all.
type SimplifyOptions struct {
	Exclude []string
	// ExactOnly leaves out rules whose results may differ in the last bits.
	ExactOnly bool
}

// Simplify rewrites the graph and those nested in it by the rules until none
// applies any more.
func Simplify(ctx context.Context, g *ir.Graph, o SimplifyOptions) (*SimplifyReport, error) {
	r := &SimplifyReport{Applied: map[string]int{}}
	rules, err := pick(o)
	if err != nil {
		return r, err
	}
	m := g.Model()
	if m == nil {
		return r, fmt.Errorf("%s is part of no model", g.Path())
	}
	return r, m.Atomic(func() error {
		changed := true
		for round := 0; changed; round++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			progress.Report(ctx, "simplify, round", round, 0)
			changed = false
			facts := infer.Facts(m)
			for b := range g.All() {
				if simplifyGraph(b, rules, facts, r) {
					changed = true
				}
			}
			if changed {
				if _, err := cleanup(g, CleanupOptions{SkipFunctions: true}); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func pick(o SimplifyOptions) ([]Rule, error) {
	var names []string
	for _, r := range Rules {
		names = append(names, r.Name)
	}
	for _, x := range o.Exclude {
		if !slices.Contains(names, x) {
			return nil, fmt.Errorf("exclude: got %q, want one of %q%s", x, names, spell.Hint(x, names))
		}
	}
	var rules []Rule
	for _, r := range Rules {
		if !slices.Contains(o.Exclude, r.Name) && (r.Exact || !o.ExactOnly) {
			rules = append(rules, r)
		}
	}
	return rules, nil
}

func simplifyGraph(g *ir.Graph, rules []Rule, facts *infer.Report, r *SimplifyReport) bool {
	changed := false
	for _, n := range g.Nodes() {
		for _, rule := range rules {
			if n.Graph() != g {
				break
			}
			if rule.Apply(n, facts) {
				r.Applied[rule.Name]++
				changed = true
			}
		}
	}
	return changed
}

// drop removes a node that passes its input in on as its output out, and
// reports whether that could be done: a graph output keeps its name.
func drop(n *ir.Node, in, out *ir.Tensor) bool {
	for i, t := range n.Outputs() {
		if t != nil && t != out && t.NumUses() > 0 {
			_ = i
			return false
		}
	}
	g := n.Graph()
	if out.IsGraphOutput() {
		p, slot := in.Producer()
		if p == nil || p.Graph() != g || in.IsGraphOutput() || in.IsGraphInput() {
			return false // the output needs a node that makes it
		}
		n.Discard()
		in.ReplaceUses(out)
		p.SetOutput(slot, out)
		return true
	}
	n.Discard()
	out.ReplaceUses(in)
	return true
}

// only reports whether t is read by n alone, once.
func only(t *ir.Tensor) bool { return t.NumUses() == 1 && !t.IsGraphOutput() }

// weights returns the values of a constant that no caller can override.
func weights(t *ir.Tensor) []float64 {
	if !isFixed(t) || t.Array().Load() != nil {
		return nil
	}
	x, err := t.Array().Float64s()
	if err != nil {
		return nil
	}
	return x
}
