package infer

import (
	"fmt"
	"strings"

	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops"
)

// Known reports whether type and shape of a tensor are known: in numbers, in
// symbols that the user gave, and in expressions of these.
func (r *Report) Known(t *ir.Tensor) bool { return known(r.facts[t]) }

func known(f ops.Fact) bool {
	switch {
	case f.Kind == ir.NoKind:
		return false
	case f.Kind != ir.TensorKind:
		return true
	case f.DType == 0 || f.Dims == nil:
		return false
	}
	for _, d := range f.Dims {
		if !d.Known() || !isUsers(d) {
			return false
		}
	}
	return true
}

// Why tells why a tensor is not Known: at the first place, going back from it,
// where something is lost. It returns "" for one that is.
func (r *Report) Why(t *ir.Tensor) string {
	if r.Known(t) {
		return ""
	}
	seen := map[*ir.Tensor]bool{}
	for {
		seen[t] = true
		n, _ := t.Producer()
		if n == nil {
			return fmt.Sprintf("the shape of %q is not recorded", t.Name())
		}
		for _, p := range r.Problems {
			if p.Node == n.Path() {
				return p.Reason
			}
		}
		back := r.lost(n)
		if back == nil || seen[back] {
			return r.whyNode(n)
		}
		t = back
	}
}

// Unknown is a value of which type or shape is not known, and why.
type Unknown struct{ Value, Reason string }

// Unknown lists the values of the model's graph, and of the bodies that run, that
// are not Known, in the order in which they are made.
func (r *Report) Unknown(m *ir.Model) (out []Unknown) {
	for g := range m.Graph().All() {
		if r.Dead(g) {
			continue
		}
		for _, n := range g.Nodes() {
			for _, t := range n.Outputs() {
				if t != nil && !r.Known(t) {
					out = append(out, Unknown{t.Name(), r.Why(t)})
				}
			}
		}
	}
	return out
}

// UnknownError tells what a strict inference could not find out.
type UnknownError struct{ Values []Unknown }

// Error names the first values with their reasons.
func (e *UnknownError) Error() string {
	const most = 5
	var lines []string
	for i, u := range e.Values {
		if i == most {
			lines = append(lines, fmt.Sprintf("and %d more", len(e.Values)-most))
			break
		}
		lines = append(lines, fmt.Sprintf("%q: %s", u.Value, u.Reason))
	}
	what := fmt.Sprintf("%d values are", len(e.Values))
	if len(e.Values) == 1 {
		what = "a value is"
	}
	return what + " not known:\n  " + strings.Join(lines, "\n  ")
}

// lost returns an input of a node that is not known itself, or nil.
func (r *Report) lost(n *ir.Node) *ir.Tensor {
	for _, t := range append(n.Inputs(), n.Captures()...) {
		if t != nil && !t.IsConstant() && !r.Known(t) {
			return t
		}
	}
	return nil
}

func (r *Report) whyNode(n *ir.Node) string {
	for i, t := range n.Inputs() {
		if f := r.facts[t]; t != nil && f.Kind == ir.TensorKind && f.DType.IsInt() && f.Const == nil && i > 0 {
			return fmt.Sprintf("%s: the shape hangs on the elements of input %d, %q, which only a run knows", n.Path(), i, t.Name())
		}
	}
	return fmt.Sprintf("%s: the shape hangs on the elements of its inputs, which only a run knows", n.Path())
}
