// Package reference is the built-in backend: it walks the graph in topological
// order and evaluates each node by the kernels of package ops. It needs nothing
// installed, is deterministic and right to the standard, and is the yardstick
// for the native backends.
//
// A session plans once (order, last uses, constants) and runs many times; a
// value is let go after its last use, so memory peaks at what is live. Bodies of
// If, Loop and Scan are evaluated with the values that they capture; model-local
// functions by their bodies. What is not supported is found when the session is
// made, all of it at once.
package reference

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops"
	"github.com/starlarkgs/starlarkgs/ops/schema"
	"github.com/starlarkgs/starlarkgs/runtime"
)

// Backend is the reference backend.
type Backend struct{}

// New returns the backend.
func New() *Backend { return &Backend{} }

// Name returns "reference".
func (*Backend) Name() string { return "reference" }

// Available returns nil: the backend is part of the program.
func (*Backend) Available() error { return nil }

const defaultMaxBytes = 8 << 30

// NewSession plans a model.
func (*Backend) NewSession(_ context.Context, m *ir.Model, o runtime.Options) (runtime.Session, error) {
	if err := runtime.CheckNoProviders("reference", o); err != nil {
		return nil, err
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = defaultMaxBytes
	}
	p := &planner{model: m, missing: map[string]int{}, plans: map[*ir.Graph]*plan{}}
	main, err := p.graph(m.Graph(), nil)
	if err != nil {
		return nil, err
	}
	if err := p.unsupported(); err != nil {
		return nil, err
	}
	s := &session{model: m, main: main, plans: p.plans, o: o}
	return s, s.selectOutputs()
}

// plan is a graph that is ready to be evaluated.
type plan struct {
	graph *ir.Graph
	steps []step
}

// step is one node.
type step struct {
	node   *ir.Node
	op     *ops.Op
	site   ops.Site
	fn     *ir.Function
	inputs []*ir.Tensor
	// free are the tensors of this graph whose last use the step is.
	free []*ir.Tensor
}

type planner struct {
	model   *ir.Model
	plans   map[*ir.Graph]*plan
	missing map[string]int
	where   map[string]string
	stack   []*ir.Function
}

func (p *planner) graph(g *ir.Graph, fn *ir.Function) (*plan, error) {
	if done := p.plans[g]; done != nil {
		return done, nil
	}
	order, err := g.Sorted()
	if err != nil {
		return nil, err
	}
	pl := &plan{graph: g, steps: make([]step, 0, len(order))}
	p.plans[g] = pl
	last := map[*ir.Tensor]int{}
	for i, n := range order {
		s, err := p.step(n, fn)
		if err != nil {
			return nil, err
		}
		for _, t := range append(n.Inputs(), n.Captures()...) {
			if t != nil {
				last[t] = i
			}
		}
		for _, t := range n.Outputs() {
			if t != nil {
				last[t] = i
			}
		}
		pl.steps = append(pl.steps, s)
	}
	for t, i := range last {
		if t.Graph() == g && !t.IsGraphOutput() && !t.IsConstant() {
			pl.steps[i].free = append(pl.steps[i].free, t)
		}
	}
	return pl, nil
}

func (p *planner) step(n *ir.Node, fn *ir.Function) (step, error) {
	g := n.Graph()
	opset := g.Opset(n.Domain())
	s := step{node: n, inputs: n.Inputs()}
	s.site = ops.Site{Node: n, Opset: opset}
	s.site.Schema, _ = schema.Lookup(n.Domain(), n.Op(), opset)
	if f := p.model.Function(n.Domain(), n.Op(), n.Overload()); f != nil {
		s.fn = f
		for _, up := range p.stack {
			if up == f {
				return s, fmt.Errorf("%s: function %q calls itself, by way of %d calls", n.Path(), f.Key(), len(p.stack))
			}
		}
		p.stack = append(p.stack, f)
		_, err := p.graph(f.Body(), f)
		p.stack = p.stack[:len(p.stack)-1]
		return s, err
	}
	s.op = ops.Lookup(n.Domain(), n.Op(), opset)
	if s.op == nil || s.op.Eval == nil {
		p.lacks(n, opset)
	} else if err := counts(s.site); err != nil {
		return s, err
	}
	for _, b := range n.Bodies() {
		if _, err := p.graph(b, fn); err != nil {
			return s, err
		}
	}
	return s, nil
}

// counts returns the error of a node with more operands than its operator has, which
// no kernel would look at. Omitted ones at the end do not count; one that is missing
// is the kernel's to tell.
func counts(c ops.Site) error {
	if c.Schema == nil {
		return nil
	}
	given := func(ts []*ir.Tensor) int {
		n := len(ts)
		for n > 0 && ts[n-1] == nil {
			n--
		}
		return n
	}
	in, out := max(given(c.Node.Inputs()), c.Schema.MinInputs), max(given(c.Node.Outputs()), c.Schema.MinOutputs)
	if err := c.Schema.CheckCounts(in, out); err != nil {
		return c.Errorf("%w", err)
	}
	return nil
}

func (p *planner) lacks(n *ir.Node, opset int) {
	name := n.Op()
	if !ir.IsStandard(n.Domain()) {
		name = n.Domain() + "::" + name
	}
	key := fmt.Sprintf("%s (opset %d)", name, opset)
	if p.missing[key] == 0 {
		if p.where == nil {
			p.where = map[string]string{}
		}
		p.where[key] = n.Path()
	}
	p.missing[key]++
}

func (p *planner) unsupported() error {
	if len(p.missing) == 0 {
		return nil
	}
	var parts []string
	for key, n := range p.missing {
		parts = append(parts, fmt.Sprintf("%s × %d, first %s", key, n, p.where[key]))
	}
	sortStrings(parts)
	return fmt.Errorf("the reference backend lacks %s: %w", strings.Join(parts, "; "), runtime.ErrUnsupported)
}

type session struct {
	model *ir.Model
	main  *plan
	plans map[*ir.Graph]*plan
	o     runtime.Options
	taps  map[*ir.Tensor]string // values to return
	order []*ir.Tensor

	mu     sync.Mutex
	arenas []*arena // of runs that are over
}

// selectOutputs finds the values to return.
func (s *session) selectOutputs() error {
	s.taps = map[*ir.Tensor]string{}
	g := s.model.Graph()
	tap := func(t *ir.Tensor) {
		if t != nil && t.Name() != "" {
			if _, ok := s.taps[t]; !ok {
				s.order = append(s.order, t)
			}
			s.taps[t] = t.Name()
		}
	}
	switch {
	case s.o.Outputs == nil:
		for _, t := range g.Outputs() {
			tap(t)
		}
	case len(s.o.Outputs) == 1 && s.o.Outputs[0] == runtime.All:
		for _, st := range s.main.steps {
			for _, t := range st.node.Outputs() {
				tap(t)
			}
		}
		for _, t := range g.Outputs() {
			tap(t)
		}
	default:
		for _, name := range s.o.Outputs {
			t := find(g, name)
			if t == nil {
				return unknownOutput(g, name)
			}
			tap(t)
		}
	}
	return nil
}

// Inputs describes the model's inputs.
func (s *session) Inputs() []runtime.Port { return runtime.InputPorts(s.model.Graph()) }

// Outputs describes what Run returns.
func (s *session) Outputs() []runtime.Port {
	var ports []runtime.Port
	for _, t := range s.order {
		ports = append(ports, runtime.Port{Name: t.Name(), Type: t.Type()})
	}
	return ports
}

// Close lets the memory of past runs go.
func (s *session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arenas = nil
	return nil
}

// Run evaluates the model.
func (s *session) Run(ctx context.Context, inputs map[string]array.Value) (map[string]array.Value, error) {
	if err := runtime.CheckInputs(s.Inputs(), inputs); err != nil {
		return nil, err
	}
	a := s.arena()
	f := &frame{s: s, ctx: ctx, values: map[*ir.Tensor]array.Value{}, out: map[string]array.Value{}, arena: a}
	for _, t := range s.model.Graph().Inputs() {
		if v := inputs[t.Name()]; v != nil {
			if a, ok := v.(*array.Array); ok {
				if err := a.Load(); err != nil {
					return nil, err
				}
			}
			f.values[t] = v
			f.tap(t, v)
		}
	}
	if err := f.run(s.main); err != nil {
		return nil, err
	}
	for _, t := range s.model.Graph().Outputs() {
		v, err := f.value(t)
		if err != nil {
			return nil, err
		}
		f.tap(t, v)
	}
	f.end(nil)
	s.keep(a)
	return f.out, nil
}

// arena returns one that no run uses; keep hands it back when a run has ended well.
func (s *session) arena() *arena {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.arenas); n > 0 {
		a := s.arenas[n-1]
		s.arenas = s.arenas[:n-1]
		return a
	}
	return &arena{}
}

func (s *session) keep(a *arena) {
	a.forget()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arenas = append(s.arenas, a)
}
