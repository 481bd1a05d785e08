// Package infer walks a model and tells, for every value, what is known of its
// type, its sizes and, for small integer tensors, its elements, before the
// model runs.
//
// It never fails as a whole: what can't be known stays unknown, and a node whose
// inputs contradict its operator is listed with the reason. Sizes are symbolic
// (package ops/sym): symbols that the user gave are kept, those that the engine
// makes begin with "?".
package infer

import (
	"fmt"
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops"
	"github.com/starlarkgs/starlarkgs/ops/schema"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// GeneratedPrefix begins the symbols that the engine makes.
const GeneratedPrefix = "?"

// Conflict is a recorded type that inference contradicts.
type Conflict struct{ Value, Recorded, Inferred string }

// Problem is a node that can't be inferred, with the reason.
type Problem struct{ Node, Reason string }

// Report tells what an inference found.
type Report struct {
	Conflicts []Conflict
	Problems  []Problem
	facts     map[*ir.Tensor]ops.Fact
	dead      map[*ir.Graph]bool
}

// Dead reports whether a body never runs, since what chooses it is known, or lies
// in one that never runs.
func (r *Report) Dead(g *ir.Graph) bool {
	for ; g != nil; g = g.Parent() {
		if r.dead[g] {
			return true
		}
	}
	return false
}

// Fact returns what is known of a tensor.
func (r *Report) Fact(t *ir.Tensor) ops.Fact { return r.facts[t] }

// Value returns the elements of an integer tensor that shapes alone determine,
// as an array; nil when they are not all known.
func (r *Report) Value(t *ir.Tensor) *array.Array {
	f := r.facts[t]
	if f.Const != nil {
		return f.Const
	}
	if f.Elems == nil || f.Dims == nil || !(f.DType.IsInt() || f.DType == array.Bool) {
		return nil
	}
	shape, ok := sym.AllInts(f.Dims)
	if !ok {
		return nil
	}
	ns := make([]int64, len(f.Elems))
	for i, e := range f.Elems {
		n, ok := e.Int()
		if !ok {
			return nil
		}
		ns[i] = n
	}
	n := 1
	for _, d := range shape {
		n *= d
	}
	if n != len(ns) {
		return nil
	}
	a, err := array.FromSlice(ns, shape...).Cast(f.DType)
	if err != nil {
		return nil
	}
	return a
}

// Options says what of an inference is recorded. The zero value records all.
type Options struct {
	// Strip leaves out sizes in which a symbol stands that the engine made.
	Strip bool
	// Strict makes values of which something is not known an error, and then
	// records nothing.
	Strict bool
}

// Model infers every value of the model and records the types on its tensors.
func Model(m *ir.Model) *Report {
	r, _ := ModelWith(m, Options{}) // only a strict one fails
	return r
}

// ModelWith is Model with options.
func ModelWith(m *ir.Model, o Options) (*Report, error) {
	e := newEngine(m)
	e.record = true
	e.graph(m.Graph(), nil)
	if left := e.report.Unknown(m); o.Strict && len(left) > 0 {
		return e.report, &UnknownError{left}
	}
	e.write(o.Strip)
	return e.report, nil
}

// write records what was found on the tensors. It comes last, since a body that
// runs again and again is inferred in rounds, of which only the last is right.
func (e *engine) write(strip bool) {
	for g := range e.model.Graph().All() {
		for _, n := range g.Nodes() {
			for _, t := range n.Outputs() {
				if t == nil {
					continue
				}
				f := e.report.facts[t]
				if strip {
					f = stripped(f)
				}
				if typ := TypeOf(f); typ != nil && !typ.Equal(t.RecordedType()) {
					t.SetType(typ)
				}
			}
		}
	}
}

// Facts infers every value of the model and records nothing.
func Facts(m *ir.Model) *Report {
	e := newEngine(m)
	e.graph(m.Graph(), nil)
	return e.report
}

type engine struct {
	model  *ir.Model
	report *Report
	record bool
	fresh  int
	stack  []*ir.Function
	attrs  []*ir.Attr // of the calling node, in a function
	inFn   bool
}

func newEngine(m *ir.Model) *engine {
	return &engine{model: m, report: &Report{facts: map[*ir.Tensor]ops.Fact{}}}
}

// FactOf returns what is recorded of a tensor: its type, and a constant's value.
func FactOf(t *ir.Tensor) ops.Fact {
	typ := t.Type()
	if typ == nil {
		return ops.Fact{}
	}
	f := ops.Fact{Kind: typ.Kind, DType: typ.Elem, Type: typ}
	if typ.Kind != ir.TensorKind {
		return f
	}
	if typ.Shape != nil {
		f.Dims = make([]sym.Expr, len(typ.Shape))
		for i, d := range typ.Shape {
			if n, ok := d.Size(); ok {
				f.Dims[i] = sym.Int(n)
			} else if d.Symbol() != "" {
				f.Dims[i] = sym.FromText(d.Symbol())
			}
		}
	}
	if a := t.Array(); a != nil && !t.IsGraphInput() {
		f.Const = a
	}
	return f
}

func (e *engine) fact(t *ir.Tensor) ops.Fact {
	if t == nil {
		return ops.Fact{}
	}
	if f, ok := e.report.facts[t]; ok {
		return f
	}
	f := FactOf(t)
	if p, _ := t.Producer(); p != nil && e.record {
		f = ops.Fact{}
	}
	if f.Const != nil && f.Const.Size() <= ops.MaxElems {
		// a weight that can't be read stays unknown; reading it tells why
		if err := f.Const.Load(); err != nil {
			f.Const = nil
		}
	}
	if e.report.facts != nil {
		e.report.facts[t] = f
	}
	return f
}

// graph infers the nodes of g in order, on facts of its inputs where they are
// given, and returns those of its outputs.
func (e *engine) graph(g *ir.Graph, inputs []ops.Fact) []ops.Fact {
	if e.report.facts == nil { // for a single node that has bodies
		e.report.facts = map[*ir.Tensor]ops.Fact{}
	}
	for i, t := range g.Inputs() {
		f := FactOf(t)
		if i < len(inputs) {
			f = sharpen(inputs[i], f)
		}
		e.report.facts[t] = f
	}
	order, err := g.Sorted()
	if err != nil {
		e.problem(g.Path(), err)
		order = g.Nodes()
	}
	for _, n := range order {
		e.node(n)
	}
	outs := make([]ops.Fact, g.NumOutputs())
	for i := range outs {
		outs[i] = e.fact(g.Output(i))
	}
	return outs
}

func (e *engine) problem(where string, err error) {
	e.report.Problems = append(e.report.Problems, Problem{where, err.Error()})
}

func (e *engine) node(n *ir.Node) {
	outs, err := e.outputs(n)
	if err != nil {
		e.problem(n.Path(), err)
	}
	for i, t := range n.Outputs() {
		if t == nil {
			continue
		}
		var f ops.Fact
		if i < len(outs) {
			f = outs[i]
		}
		e.settle(t, f)
	}
}

// settle joins what was inferred of a value with what is recorded, and records
// the result.
func (e *engine) settle(t *ir.Tensor, f ops.Fact) {
	recorded := FactOf(t)
	joined := sharpen(f, recorded)
	if f.DType != array.Undefined && recorded.DType != array.Undefined && f.DType != recorded.DType || contradict(f.Dims, recorded.Dims) {
		e.report.Conflicts = append(e.report.Conflicts, Conflict{t.Name(), t.Type().String(), TypeOf(f).String()})
		joined = f
	}
	for i, d := range joined.Dims {
		if !d.Known() {
			e.fresh++
			joined.Dims[i] = sym.Symbol(fmt.Sprintf("%s%d", GeneratedPrefix, e.fresh))
		}
	}
	e.report.facts[t] = joined
}

func contradict(a, b []sym.Expr) bool {
	if a == nil || b == nil {
		return false
	}
	if len(a) != len(b) {
		return true
	}
	for i := range a {
		x, ok := a[i].Int()
		y, ok2 := b[i].Int()
		if ok && ok2 && x != y {
			return true
		}
	}
	return false
}

// sharpen takes from f what it says, and the rest from what is recorded. Of two
// symbols the recorded one, which the user gave, stays.
func sharpen(f, recorded ops.Fact) ops.Fact {
	if f.Kind == ir.NoKind {
		return recorded
	}
	if f.DType == array.Undefined {
		f.DType = recorded.DType
	}
	if f.Type == nil {
		f.Type = recorded.Type
	}
	switch {
	case f.Dims == nil:
		f.Dims = recorded.Dims
	case len(f.Dims) == len(recorded.Dims):
		dims := append([]sym.Expr{}, f.Dims...)
		for i, d := range recorded.Dims {
			if _, isNum := dims[i].Int(); !isNum && d.Known() && (!dims[i].Known() || isUsers(d) && !isUsers(dims[i])) {
				dims[i] = d
			}
		}
		f.Dims = dims
	default:
		f.Dims = append([]sym.Expr{}, f.Dims...)
	}
	return f
}

// isUsers reports whether no symbol of the expression is a generated one.
// stripped returns a fact without sizes that generated symbols stand in.
func stripped(f ops.Fact) ops.Fact {
	f.Dims = slices.Clone(f.Dims)
	for i, d := range f.Dims {
		if !isUsers(d) {
			f.Dims[i] = sym.Expr{}
		}
	}
	return f
}

func isUsers(e sym.Expr) bool {
	for _, s := range e.Symbols() {
		if len(s) >= len(GeneratedPrefix) && s[:len(GeneratedPrefix)] == GeneratedPrefix {
			return false
		}
	}
	return true
}

// TypeOf returns the type that a fact describes, or nil.
func TypeOf(f ops.Fact) *ir.Type {
	switch {
	case f.Kind == ir.NoKind || f.Kind == ir.TensorKind && f.DType == array.Undefined:
		return nil
	case f.Kind != ir.TensorKind:
		return f.Type
	}
	var shape ir.Shape
	if f.Dims != nil {
		shape = make(ir.Shape, len(f.Dims))
		for i, d := range f.Dims {
			if n, ok := d.Int(); ok {
				shape[i] = ir.Num(n)
			} else if d.Known() {
				shape[i] = ir.Sym(d.String())
			}
		}
	}
	return ir.TensorType(f.DType, shape)
}

func (e *engine) outputs(n *ir.Node) ([]ops.Fact, error) {
	ins := make([]ops.Fact, n.NumInputs())
	for i := range ins {
		ins[i] = e.fact(n.Input(i))
	}
	if f := e.model.Function(n.Domain(), n.Op(), n.Overload()); f != nil {
		return e.call(n, f, ins)
	}
	opset := n.Graph().Opset(n.Domain())
	s, _ := schema.Lookup(n.Domain(), n.Op(), opset)
	c := &ops.Infer{Site: ops.Site{Node: n, Schema: s, Opset: opset}, In: ins, Out: make([]ops.Fact, n.NumOutputs())}
	if e.inFn {
		c.Attrs = e.resolved(n)
	}
	c.Run = func(body *ir.Graph, inputs []ops.Fact) ([]ops.Fact, error) { return e.graph(body, inputs), nil }
	c.Visit = func(body *ir.Graph) {
		problems, conflicts := len(e.report.Problems), len(e.report.Conflicts)
		e.graph(body, nil)
		if e.report.dead == nil {
			e.report.dead = map[*ir.Graph]bool{}
		}
		e.report.dead[body] = true
		e.report.Problems, e.report.Conflicts = e.report.Problems[:problems], e.report.Conflicts[:conflicts]
	}
	c.Fresh = func() sym.Expr {
		e.fresh++
		return sym.Symbol(fmt.Sprintf("%s%d", GeneratedPrefix, e.fresh))
	}
	return e.apply(c, n, s, opset)
}

func (e *engine) apply(c *ops.Infer, n *ir.Node, s *schema.Schema, opset int) ([]ops.Fact, error) {
	if op := ops.Lookup(n.Domain(), n.Op(), opset); op != nil && op.Infer != nil {
		err := check(op, c)
		if err == nil {
			err = op.Infer(c)
		}
		if err != nil {
			c.Out = make([]ops.Fact, n.NumOutputs())
		}
		return c.Out, err
	}
	if s != nil {
		byConstraints(s, c)
	}
	return c.Out, nil
}

func check(op *ops.Op, c *ops.Infer) error {
	for _, f := range op.Checks {
		if err := f(c); err != nil {
			return err
		}
	}
	return nil
}

// byConstraints gives the outputs the element types that the schema ties to
// those of inputs.
func byConstraints(s *schema.Schema, c *ops.Infer) {
	bound := map[string]array.DType{}
	for i, f := range c.In {
		if p := s.Input(i); p != nil && f.DType != array.Undefined {
			bound[p.Type] = f.DType
		}
	}
	for i := range c.Out {
		p := s.Output(i)
		if p == nil {
			continue
		}
		dt := bound[p.Type]
		if name := schema.ElementOf(p.Type); dt == array.Undefined && name != "" {
			if d, err := array.ParseDType(name); err == nil {
				dt = d
			}
		}
		if dt != array.Undefined {
			c.Out[i] = ops.TensorFact(dt, nil)
		}
	}
}

func (e *engine) resolved(n *ir.Node) []*ir.Attr {
	out := make([]*ir.Attr, 0, len(n.Attrs()))
	for _, a := range n.Attrs() {
		if a.Ref == "" {
			out = append(out, a)
			continue
		}
		for _, b := range e.attrs {
			if b.Name == a.Ref {
				c := *b
				c.Name = a.Name
				out = append(out, &c)
			}
		}
	}
	return out
}

const maxCalls = 64

// call infers a model-local function by its body, afresh for each call.
func (e *engine) call(n *ir.Node, f *ir.Function, ins []ops.Fact) ([]ops.Fact, error) {
	for _, up := range e.stack {
		if up == f || len(e.stack) > maxCalls {
			return nil, fmt.Errorf("%s: function %q calls itself", n.Path(), f.Key())
		}
	}
	attrs := n.Attrs()
	if e.inFn {
		attrs = e.resolved(n)
	}
	_, defaults := f.Attrs()
	inner := &engine{model: e.model, report: &Report{facts: map[*ir.Tensor]ops.Fact{}}, fresh: e.fresh, stack: append(e.stack, f),
		attrs: append(append([]*ir.Attr{}, attrs...), defaults...), inFn: true}
	outs := inner.graph(f.Body(), ins)
	e.fresh = inner.fresh
	e.report.Problems = append(e.report.Problems, inner.report.Problems...)
	return outs, nil
}

// Node infers the outputs of one node that is being built, from what is recorded
// of its inputs, and records their types. It returns an error where the inputs
// contradict the operator.
func Node(n *ir.Node) error {
	g := n.Graph()
	m := g.Model()
	if m == nil {
		m = ir.NewModel("")
	}
	e := &engine{model: m, report: &Report{}}
	outs, err := e.outputs(n)
	if err != nil {
		return err
	}
	for i, t := range n.Outputs() {
		if t == nil || i >= len(outs) || t.RecordedType() != nil {
			continue
		}
		if typ := typeLike(n, outs[i]); typ != nil {
			t.SetType(typ)
		}
	}
	return nil
}

// typeLike is TypeOf, but that an output which an operator gave the very sizes
// of its first input shares that one's type.
func typeLike(n *ir.Node, f ops.Fact) *ir.Type {
	if n.NumInputs() > 0 && n.Input(0) != nil && len(f.Dims) > 0 {
		if typ := n.Input(0).Type(); typ != nil && typ.Kind == f.Kind && typ.Elem == f.DType && typ.Denotation == "" && sameSizes(f.Dims, typ.Shape) {
			return typ
		}
	}
	return TypeOf(f)
}

func sameSizes(dims []sym.Expr, shape ir.Shape) bool {
	return slices.EqualFunc(dims, shape, func(e sym.Expr, d ir.Dim) bool {
		if d.Denotation != "" {
			return false
		}
		if n, ok := d.Size(); ok {
			m, known := e.Int()
			return known && m == n
		}
		return e.IsWord(d.Symbol())
	})
}
