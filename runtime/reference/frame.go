package reference

import (
	"context"
	"fmt"
	"sort"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/mmap"
	"github.com/starlarkgs/starlarkgs/internal/progress"
	"github.com/starlarkgs/starlarkgs/internal/spell"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops"
	"github.com/starlarkgs/starlarkgs/runtime"
)

// frame is one evaluation of a graph: the main one, a body, or a function's.
type frame struct {
	s      *session
	ctx    context.Context
	outer  *frame // of a body: where its captures are found
	values map[*ir.Tensor]array.Value
	attrs  []*ir.Attr // of the node that calls the function
	inFn   bool
	out    map[string]array.Value // taps; nil in functions
	depth  int
	arena  *arena
	made   []*block // by the step that runs
}

const maxFrames = 500

func (f *frame) tap(t *ir.Tensor, v array.Value) {
	if f.out == nil {
		return
	}
	if name, ok := f.s.taps[t]; ok {
		f.arena.disown(v)
		f.out[name] = v
	}
}

// value returns what t holds: computed, constant, or of a graph around.
func (f *frame) value(t *ir.Tensor) (array.Value, error) {
	for g := f; g != nil; g = g.outer {
		if v, ok := g.values[t]; ok {
			return v, nil
		}
	}
	if a := t.Array(); a != nil {
		return a, a.Load()
	}
	if l := t.Literal(); l != nil && l.Sparse != nil {
		return dense(l.Sparse)
	}
	return nil, fmt.Errorf("value %q: nothing makes it, and it is neither an input nor a constant", t.Name())
}

// run evaluates the steps of a plan.
func (f *frame) run(p *plan) error {
	report := func(int) {}
	if f.outer == nil {
		report = progress.Reporter(f.ctx, "run", len(p.steps))
	}
	for i := range p.steps {
		if err := f.ctx.Err(); err != nil {
			return err
		}
		report(i)
		st := &p.steps[i]
		if err := f.guarded(st); err != nil {
			return err
		}
		for _, t := range st.free {
			f.unset(t)
		}
	}
	return nil
}

// guarded evaluates a step. A mapped file that is cut under it is an error, and
// so is a panic, which is a bug of a kernel: one node must not end the session.
func (f *frame) guarded(st *step) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s: internal error: %v", st.node.Path(), r)
		}
	}()
	return mmap.Guard(func() error { return f.step(st) })
}

func (f *frame) step(st *step) error {
	ins := make([]array.Value, len(st.inputs))
	for i, t := range st.inputs {
		if t == nil {
			continue
		}
		v, err := f.value(t)
		if err != nil {
			return fmt.Errorf("%s: input %d: %w", st.node.Path(), i, err)
		}
		ins[i] = v
	}
	f.made = f.made[:0]
	outs, err := f.eval(st, ins)
	if err != nil {
		return err
	}
	for i, t := range st.node.Outputs() {
		if t == nil {
			continue
		}
		if i >= len(outs) || outs[i] == nil {
			return fmt.Errorf("%s: output %d: the operator gives none", st.node.Path(), i)
		}
		f.set(t, outs[i])
		f.tap(t, outs[i])
	}
	f.arena.settle(f.made)
	return nil
}

// set gives a tensor its value.
func (f *frame) set(t *ir.Tensor, v array.Value) {
	f.arena.hold(v)
	f.values[t] = v
}

// unset takes a value away after its last use.
func (f *frame) unset(t *ir.Tensor) {
	if v, ok := f.values[t]; ok {
		delete(f.values, t)
		f.arena.drop(v)
	}
}

// end lets the values of a frame go, but for its results.
func (f *frame) end(results []array.Value) {
	for _, v := range results {
		f.arena.disown(v)
	}
	for _, v := range f.values {
		f.arena.drop(v)
	}
}

func (f *frame) eval(st *step, ins []array.Value) ([]array.Value, error) {
	if st.fn != nil {
		return f.call(st, ins)
	}
	c := &ops.Call{Site: st.site, In: ins, Out: make([]array.Value, st.node.NumOutputs()), Budget: &ops.Budget{MaxBytes: f.s.o.MaxBytes}, Seed: f.s.o.Seed}
	c.Alloc = func(n int) []byte { return f.arena.alloc(n, &f.made) }
	if f.inFn {
		c.Attrs = f.resolved(st.node)
	}
	c.Run = f.body
	err := st.op.Eval(c)
	return c.Out, err
}

// resolved returns the attributes of a node in a function's body, with those of
// the call in the place of references.
func (f *frame) resolved(n *ir.Node) []*ir.Attr {
	out := make([]*ir.Attr, 0, len(n.Attrs()))
	for _, a := range n.Attrs() {
		if a.Ref == "" {
			out = append(out, a)
			continue
		}
		for _, b := range f.attrs {
			if b.Name == a.Ref {
				c := *b
				c.Name = a.Name
				out = append(out, &c)
			}
		}
	}
	return out
}

// body evaluates a body of a node with inputs.
func (f *frame) body(g *ir.Graph, inputs []array.Value) ([]array.Value, error) {
	inner := &frame{s: f.s, ctx: f.ctx, outer: f, values: map[*ir.Tensor]array.Value{}, attrs: f.attrs, inFn: f.inFn, out: f.out, depth: f.depth + 1, arena: f.arena}
	return inner.results(g, inputs)
}

func (f *frame) results(g *ir.Graph, inputs []array.Value) ([]array.Value, error) {
	if f.depth > maxFrames {
		return nil, fmt.Errorf("%s: graphs are nested deeper than %d", g.Path(), maxFrames)
	}
	formal := g.Inputs()
	if len(inputs) > len(formal) {
		return nil, fmt.Errorf("%s: got %d inputs, want %d", g.Path(), len(inputs), len(formal))
	}
	for i, t := range formal {
		if i < len(inputs) && inputs[i] != nil {
			f.set(t, inputs[i])
		}
	}
	if err := f.run(f.s.plans[g]); err != nil {
		return nil, err
	}
	outs := make([]array.Value, g.NumOutputs())
	for i := range outs {
		v, err := f.value(g.Output(i))
		if err != nil {
			return nil, fmt.Errorf("%s: output %d: %w", g.Path(), i, err)
		}
		outs[i] = v
	}
	f.end(outs)
	return outs, nil
}

// call evaluates a model-local function.
func (f *frame) call(st *step, ins []array.Value) ([]array.Value, error) {
	attrs := st.node.Attrs()
	if f.inFn {
		attrs = f.resolved(st.node)
	}
	_, defaults := st.fn.Attrs()
	all := append([]*ir.Attr(nil), attrs...)
	for _, d := range defaults {
		given := false
		for _, a := range attrs {
			given = given || a.Name == d.Name
		}
		if !given {
			all = append(all, d)
		}
	}
	inner := &frame{s: f.s, ctx: f.ctx, values: map[*ir.Tensor]array.Value{}, attrs: all, inFn: true, depth: f.depth + 1, arena: f.arena}
	for i, t := range st.fn.Body().Inputs() {
		if i >= len(ins) || ins[i] == nil {
			inner.values[t] = nil // an omitted optional input
		}
	}
	return inner.results(st.fn.Body(), ins)
}

// dense spreads a sparse constant.
func dense(s *ir.Sparse) (array.Value, error) {
	out, err := array.Make(s.Values.DType(), s.Dims)
	if err != nil {
		return nil, err
	}
	at, err := s.Indices.Int64s()
	if err != nil {
		return nil, err
	}
	n := s.Values.Size()
	for i := range n {
		pos := 0
		if s.Indices.Rank() == 2 {
			for k, d := range s.Dims {
				j := at[i*len(s.Dims)+k]
				if j < 0 || int(j) >= d {
					return nil, fmt.Errorf("sparse constant %q: index %d is out of range for dimension %d of size %d", s.Name, j, k, d)
				}
				pos = pos*d + int(j)
			}
		} else if pos = int(at[i]); pos < 0 || pos >= out.Size() {
			return nil, fmt.Errorf("sparse constant %q: index %d is out of range for %d elements", s.Name, pos, out.Size())
		}
		if err := out.SetAt(pos, s.Values.At(i)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func sortStrings(s []string) { sort.Strings(s) }

// find returns the tensor of g, or of a body, of that name.
func find(g *ir.Graph, name string) *ir.Tensor {
	for b := range g.All() {
		for _, t := range b.Tensors() {
			if t.Name() == name {
				return t
			}
		}
	}
	return nil
}

func unknownOutput(g *ir.Graph, name string) error {
	var names []string
	for _, t := range g.Tensors() {
		names = append(names, t.Name())
	}
	return &runtime.NameError{Text: fmt.Sprintf("output %q: %s has no such value%s", name, g.Label(), spell.Hint(name, names))}
}
