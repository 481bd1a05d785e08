package surgery

import (
	"context"

	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops/infer"
	"github.com/starlarkgs/starlarkgs/runtime"
)

// SanitizeOptions says what Sanitize does; the zero value, with a backend, does
// all.
type SanitizeOptions struct {
	Backend            runtime.Backend
	NoFold, NoSimplify bool
	ExactOnly          bool
	SizeBudget         int64
	Exclude            []string
	Skip               func(*ir.Node) bool
}

// SanitizeReport tells what each step did.
type SanitizeReport struct {
	NodesBefore, NodesAfter int // bodies included
	Fold                    *FoldReport
	Simplify                map[string]int
	Rounds                  int
}

// maxRounds bounds the rounds of Sanitize; each one makes the model smaller, so
// few are ever needed.
const maxRounds = 20

// Sanitize infers, folds, simplifies and tidies until nothing changes any more.
// The model computes what it did before, but for rounding where a rule that is
// not exact applied; inputs and outputs keep names, order and types.
func Sanitize(ctx context.Context, m *ir.Model, o SanitizeOptions) (*SanitizeReport, error) {
	r := &SanitizeReport{NodesBefore: CountNodes(m.Graph()), Fold: &FoldReport{}, Simplify: map[string]int{}}
	err := m.Atomic(func() error { return sanitize(ctx, m, o, r) })
	r.NodesAfter = CountNodes(m.Graph())
	return r, err
}

func sanitize(ctx context.Context, m *ir.Model, o SanitizeOptions, r *SanitizeReport) error {
	g := m.Graph()
	if _, err := Cleanup(g, CleanupOptions{}); err != nil {
		return err
	}
	for range maxRounds {
		r.Rounds++
		before := CountNodes(g)
		changed := false
		if !o.NoFold {
			facts := infer.Facts(m)
			f, err := Fold(ctx, g, FoldOptions{Backend: o.Backend, SizeBudget: o.SizeBudget, Skip: o.Skip, Values: facts.Value})
			if err != nil {
				return err
			}
			r.Fold.Folded = append(r.Fold.Folded, f.Folded...)
			r.Fold.Skipped, r.Fold.Failed = f.Skipped, f.Failed
			changed = f.Changed()
		}
		if !o.NoSimplify {
			s, err := Simplify(ctx, g, SimplifyOptions{Exclude: o.Exclude, ExactOnly: o.ExactOnly})
			if err != nil {
				return err
			}
			for name, n := range s.Applied {
				r.Simplify[name] += n
				changed = true
			}
		}
		if _, err := Cleanup(g, CleanupOptions{}); err != nil {
			return err
		}
		if !changed && CountNodes(g) == before {
			break
		}
	}
	dropFunctions(m)
	_, err := g.Sort(true)
	return err
}

// CountNodes counts the nodes of g and of what is nested in it.
func CountNodes(g *ir.Graph) int {
	n := 0
	for b := range g.All() {
		n += b.NumNodes()
	}
	return n
}
