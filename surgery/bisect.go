package surgery

import (
	"context"
	"errors"
	"fmt"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/progress"
	"github.com/starlarkgs/starlarkgs/ir"
)

// Mode is a way to search for the smallest failing model.
type Mode string

// The modes of Bisect.
const (
	// DDMin halves from the outputs and from the inputs, then removes nodes by
	// delta debugging until no single one can go.
	DDMin Mode = "ddmin"
	// Halve is the first two steps of DDMin, as Polygraphy's bisect.
	Halve Mode = "bisect"
	// Linear tries every node from the outputs, then from the inputs.
	Linear Mode = "linear"
)

// Modes lists the modes, the default first.
var Modes = []Mode{DDMin, Halve, Linear}

// BisectOptions says how to search.
type BisectOptions struct {
	Mode Mode // "" is DDMin
	// Check reports whether a model passes. An error stops the search.
	Check func(ctx context.Context, m *ir.Model) (passes bool, err error)
	// KeepInputs and KeepOutputs leave the search for later inputs, or for
	// earlier outputs, out.
	KeepInputs, KeepOutputs bool
	// Infer fills in types, as far as it can, before the search; nil leaves
	// what is recorded.
	Infer func(*ir.Model) error
	// Values returns what a tensor of the original holds, where that is known,
	// for the small integer tensors (shapes, axes, indices) that a cut leaves
	// without a producer: made inputs, they would be fed what no shape can be.
	// It may return nil.
	Values func(*ir.Tensor) *array.Array
	// Step is told of each check; nil does nothing.
	Step func(BisectStep)
}

// BisectStep is one check of a candidate.
type BisectStep struct {
	Number int // from 1; the first is the original
	Nodes  int
	Passes bool
	Why    string // what was tried
}

// BisectReport is what a search found.
type BisectReport struct {
	// Bad is the smallest model found that fails. Good is the passing one
	// closest below it in size, or nil when none passed.
	Bad, Good *ir.Model
	Steps     []BisectStep
}

// ErrPasses tells that the original model passes the check, so that there is
// nothing to search.
var ErrPasses = errors.New("the model passes the check, so there is nothing to reduce")

// maxChecks bounds a search whose check is not monotone.
const maxChecks = 100_000

// Bisect searches for the smallest part of m's graph that fails the check. m
// is not changed.
func Bisect(ctx context.Context, m *ir.Model, o BisectOptions) (*BisectReport, error) {
	if o.Mode == "" {
		o.Mode = DDMin
	}
	s := &search{ctx: ctx, o: o, m: m.Copy(), report: &BisectReport{}, seen: map[string]bool{}}
	return s.report, s.run()
}

type search struct {
	ctx    context.Context
	o      BisectOptions
	m      *ir.Model // the original, with types filled in
	order  []*ir.Node
	index  map[*ir.Node]int
	report *BisectReport
	seen   map[string]bool // verdicts by the set of nodes kept
}

func (s *search) run() error {
	fails, err := s.try(s.m.Copy(), "the original")
	if err != nil {
		return err
	}
	if !fails {
		return ErrPasses
	}
	if s.o.Infer != nil {
		// what can't be inferred, since the model is broken, stays as recorded
		_ = s.o.Infer(s.m)
	}
	lowerConstants(s.m.Graph())
	if s.order, err = s.m.Graph().Sorted(); err != nil {
		return err
	}
	s.index = make(map[*ir.Node]int, len(s.order))
	for i, n := range s.order {
		s.index[n] = i
	}
	kept := s.order
	if !s.o.KeepOutputs {
		if kept, err = s.byOutputs(kept); err != nil {
			return err
		}
	}
	if !s.o.KeepInputs {
		if kept, err = s.byInputs(kept); err != nil {
			return err
		}
	}
	if s.o.Mode == DDMin && !s.o.KeepInputs && !s.o.KeepOutputs {
		return s.ddmin(kept)
	}
	return nil
}

// lowerConstants makes the outputs of Constant nodes constants, so that they
// count as weights, not as nodes.
func lowerConstants(g *ir.Graph) {
	for b := range g.All() {
		for _, n := range b.Nodes() {
			if n.Is("Constant") {
				// one that can't be lowered stays a node
				_, _ = lowerConstant(n)
			}
		}
	}
}

// try checks one candidate and reports whether it fails.
func (s *search) try(m *ir.Model, why string) (fails bool, err error) {
	if err := s.ctx.Err(); err != nil {
		return false, err
	}
	if len(s.report.Steps) >= maxChecks {
		return false, fmt.Errorf("bisect: %d checks were not enough", maxChecks)
	}
	passes, err := s.o.Check(progress.Without(s.ctx), m.Copy())
	if err != nil {
		return false, fmt.Errorf("check %d (%s): %w", len(s.report.Steps)+1, why, err)
	}
	step := BisectStep{len(s.report.Steps) + 1, m.Graph().NumNodes(), passes, why}
	s.report.Steps = append(s.report.Steps, step)
	progress.Report(s.ctx, "bisect, checks", step.Number, 0)
	if s.o.Step != nil {
		s.o.Step(step)
	}
	s.note(m, passes)
	return !passes, nil
}

// note keeps the smallest bad model and the largest good one below it.
func (s *search) note(m *ir.Model, passes bool) {
	size := func(m *ir.Model) int { return m.Graph().NumNodes() }
	r := s.report
	if !passes {
		if r.Bad == nil || size(m) <= size(r.Bad) {
			r.Bad = m
		}
		return
	}
	if r.Good == nil || size(m) > size(r.Good) && size(m) < size(s.m) {
		r.Good = m
	}
}

// tryNodes checks the model made of these nodes; a set that was checked before
// is not checked again.
func (s *search) tryNodes(nodes []*ir.Node, why string) (bool, error) {
	if len(nodes) == 0 {
		return false, nil
	}
	keep := make(map[*ir.Node]bool, len(nodes))
	key := make([]byte, (len(s.order)+7)/8)
	for _, n := range nodes {
		keep[n] = true
		i := s.index[n]
		key[i/8] |= 1 << (i % 8)
	}
	if fails, known := s.seen[string(key)]; known {
		return fails, nil
	}
	fails, err := s.try(part(s.m, keep, s.frozen, s.wanted(keep)), why)
	s.seen[string(key)] = fails
	return fails, err
}

// wanted makes outputs of what no kept node reads, and of the outputs of the
// original that are still made.
func (s *search) wanted(keep map[*ir.Node]bool) func(*ir.Tensor) bool {
	return func(t *ir.Tensor) bool {
		if t.IsGraphOutput() {
			return true
		}
		for u := range t.Uses() {
			if n := u.Node(); n != nil && keep[n.AncestorIn(s.m.Graph())] {
				return false
			}
		}
		return true
	}
}

// maxFrozen bounds the tensors that a cut freezes to values.
const maxFrozen = 64

// frozen gives a small integer tensor that a cut leaves without a producer its
// value.
func (s *search) frozen(t *ir.Tensor) *ir.Literal {
	if s.o.Values == nil || t.IsGraphInput() {
		return nil
	}
	a := s.o.Values(t)
	if a == nil || !(a.DType().IsInt() || a.DType() == array.Bool) || a.Size() > maxFrozen {
		return nil
	}
	return &ir.Literal{Array: a}
}

// cone returns those of nodes that the node at the end needs, itself included.
func cone(g *ir.Graph, nodes []*ir.Node, end *ir.Node) []*ir.Node {
	needs := map[*ir.Node]bool{end: true}
	for i := len(nodes) - 1; i >= 0; i-- {
		n := nodes[i]
		if !needs[n] {
			continue
		}
		mark := func(t *ir.Tensor) {
			if t == nil {
				return
			}
			if p, _ := t.Producer(); p != nil && p.Graph() == g {
				needs[p] = true
			}
		}
		for k := range n.NumInputs() {
			mark(n.Input(k))
		}
		for _, t := range n.Captures() {
			mark(t)
		}
	}
	var out []*ir.Node
	for _, n := range nodes {
		if needs[n] {
			out = append(out, n)
		}
	}
	return out
}

// byOutputs looks for the first node, in order, whose cone fails.
func (s *search) byOutputs(nodes []*ir.Node) ([]*ir.Node, error) {
	best := nodes
	probe := func(i int) (bool, error) {
		c := cone(s.m.Graph(), nodes, nodes[i])
		fails, err := s.tryNodes(c, fmt.Sprintf("up to %s", nodes[i].Label()))
		if fails && len(c) <= len(best) {
			best = c
		}
		return fails, err
	}
	err := s.first(len(nodes), probe)
	return best, err
}

// byInputs looks for the last place, in order, behind which the nodes still fail.
func (s *search) byInputs(nodes []*ir.Node) ([]*ir.Node, error) {
	best := nodes
	probe := func(i int) (bool, error) {
		from := len(nodes) - 1 - i
		fails, err := s.tryNodes(nodes[from:], fmt.Sprintf("from %s on", nodes[from].Label()))
		if fails && len(nodes)-from < len(best) {
			best = nodes[from:]
		}
		return fails, err
	}
	err := s.first(len(nodes), probe)
	return best, err
}

// first probes for the lowest of n indices that fails: by halving, which takes
// the verdicts for monotone, or one by one.
func (s *search) first(n int, probe func(int) (bool, error)) error {
	if s.o.Mode == Linear {
		for i := range n {
			if fails, err := probe(i); fails || err != nil {
				return err
			}
		}
		return nil
	}
	lo, hi := 0, n-1
	for lo < hi {
		mid := (lo + hi) / 2
		fails, err := probe(mid)
		if err != nil {
			return err
		}
		if fails {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	_, err := probe(lo)
	return err
}

// ddmin removes parts of the nodes, ever smaller ones, while what is left
// fails (Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing
// Input, 2002). At its end no single node can go.
func (s *search) ddmin(nodes []*ir.Node) error {
	pieces := 2
	for len(nodes) >= 2 {
		next, err := s.reduceOnce(nodes, pieces)
		if err != nil {
			return err
		}
		switch {
		case next != nil:
			nodes = next
			pieces = max(pieces-1, 2)
		case pieces >= len(nodes):
			return nil
		default:
			pieces = min(pieces*2, len(nodes))
		}
	}
	return nil
}

// reduceOnce returns one of the pieces, or the rest without one of them, that
// fails; nil when none does.
func (s *search) reduceOnce(nodes []*ir.Node, pieces int) ([]*ir.Node, error) {
	bounds := func(i int) (int, int) { return i * len(nodes) / pieces, (i + 1) * len(nodes) / pieces }
	for i := range pieces {
		lo, hi := bounds(i)
		fails, err := s.tryNodes(nodes[lo:hi], fmt.Sprintf("%d nodes from %s on", hi-lo, nodes[lo].Label()))
		if fails || err != nil {
			return nodes[lo:hi], err
		}
	}
	if pieces == 2 {
		return nil, nil // the rest without one half is the other half
	}
	for i := range pieces {
		lo, hi := bounds(i)
		rest := append(append([]*ir.Node(nil), nodes[:lo]...), nodes[hi:]...)
		fails, err := s.tryNodes(rest, fmt.Sprintf("without %d nodes from %s on", hi-lo, nodes[lo].Label()))
		if fails || err != nil {
			return rest, err
		}
	}
	return nil, nil
}
