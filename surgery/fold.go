package surgery

import (
	"context"
	"fmt"
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/progress"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops/schema"
	"github.com/starlarkgs/starlarkgs/runtime"
)

// FoldOptions says what Fold computes.
type FoldOptions struct {
	// Backend evaluates nodes; it is required.
	Backend runtime.Backend
	// SizeBudget bounds the bytes by which folding may make the model grow: 0
	// is the default of 64 KiB or 5 % of the weights, whichever is more, and a
	// negative one no bound.
	SizeBudget int64
	// Ops restricts folding to these operators; empty means all.
	Ops []string
	// Skip leaves a node alone; nil skips none.
	Skip func(*ir.Node) bool
	// Values returns what is known of a tensor from shapes alone, such as the
	// output of Shape of a static shape; nil, or a nil result, is nothing.
	Values func(*ir.Tensor) *array.Array
	// Strict makes a node that fails to evaluate an error.
	Strict bool
	// MaxResult leaves a node alone that has a larger result, in bytes; 0 is no bound.
	MaxResult int64
	// KeepBodies and KeepFunctions leave what is in bodies and in functions alone,
	// KeepIf an If whose condition is constant.
	KeepBodies, KeepFunctions, KeepIf bool
}

// FoldEntry tells what became of one node.
type FoldEntry struct {
	Node   string // its path
	Op     string
	Reason string
	Bytes  int64 // by which the model grew, negative when it shrank
}

// FoldReport tells what Fold did.
type FoldReport struct {
	Folded, Skipped, Failed []FoldEntry
}

// Changed reports whether anything was folded.
func (r *FoldReport) Changed() bool { return len(r.Folded) > 0 }

// Fold computes what is constant, node by node: a node that can't be evaluated
// does not stop the rest. Values that a caller may override (initializers that
// are graph inputs too), random operators, operators that nobody knows and the
// quantization of weights are left alone. A Constant node becomes an
// initializer, an If whose condition is constant its branch. Graph outputs keep
// their names, order and types. It edits g and all graphs nested in it, and its
// model's functions when g is the main graph.
func Fold(ctx context.Context, g *ir.Graph, o FoldOptions) (*FoldReport, error) {
	f := &folder{ctx: ctx, o: o, report: &FoldReport{}}
	run := func() error { return f.all(g) }
	if m := g.Model(); m != nil {
		return f.report, m.Atomic(run)
	}
	return f.report, run()
}

type folder struct {
	ctx    context.Context
	o      FoldOptions
	report *FoldReport
	left   int64 // of the size budget
}

const (
	minBudget     = 64 << 10
	budgetPercent = 5
)

func (f *folder) all(g *ir.Graph) error {
	f.left = f.o.SizeBudget
	if f.left == 0 {
		f.left = max(minBudget, weightBytes(g)*budgetPercent/100)
	}
	if err := f.graph(g); err != nil {
		return err
	}
	m := g.Model()
	if m == nil || m.Graph() != g || f.o.KeepFunctions {
		return nil
	}
	for _, fn := range m.Functions() {
		if err := f.graph(fn.Body()); err != nil {
			return err
		}
	}
	return nil
}

func weightBytes(g *ir.Graph) int64 {
	n := int64(0)
	for b := range g.All() {
		for _, t := range b.Initializers() {
			if a := t.Array(); a != nil {
				n += a.NBytes()
			}
		}
	}
	return n
}

// graph folds the nodes of g, then those of its bodies, so that constants flow
// inwards.
func (f *folder) graph(g *ir.Graph) error {
	order, err := g.Sorted()
	if err != nil {
		return err
	}
	report := progress.Reporter(f.ctx, "fold "+g.Label(), len(order))
	for i, n := range order {
		if err := f.ctx.Err(); err != nil {
			return err
		}
		report(i)
		if n.Graph() != g {
			continue // went with an inlined If
		}
		if err := f.node(n); err != nil {
			return err
		}
		if n.Graph() != g || f.o.KeepBodies {
			continue
		}
		for _, b := range n.Bodies() {
			if err := f.graph(b); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *folder) node(n *ir.Node) error {
	if g := n.Graph(); f.o.Skip != nil && (f.o.Skip(n) || n.Graph() != g) {
		return nil // the callback may have taken the node away
	}
	if len(f.o.Ops) > 0 && !slices.Contains(f.o.Ops, n.Op()) {
		return nil
	}
	if n.Is("Constant") {
		lowered, err := lowerConstant(n)
		if err != nil {
			return f.failed(n, err)
		}
		if lowered {
			f.folded(n, "a constant", 0)
		}
		return nil
	}
	if n.Is("If") && isFixed(n.Input(0)) && !f.o.KeepIf {
		return f.inlineIf(n)
	}
	if f.fromShapes(n) {
		return nil
	}
	if !constantInputs(n) {
		return nil
	}
	if why := unfoldable(n); why != "" {
		f.skipped(n, why)
		return nil
	}
	return f.evaluate(n)
}

func (f *folder) folded(n *ir.Node, why string, bytes int64) {
	f.report.Folded = append(f.report.Folded, FoldEntry{n.Label(), n.Op(), why, bytes})
}

func (f *folder) skipped(n *ir.Node, why string) {
	f.report.Skipped = append(f.report.Skipped, FoldEntry{n.Path(), n.Op(), why, 0})
}

func (f *folder) failed(n *ir.Node, err error) error {
	f.report.Failed = append(f.report.Failed, FoldEntry{n.Path(), n.Op(), err.Error(), 0})
	if f.o.Strict {
		return fmt.Errorf("fold: %w", err)
	}
	return nil
}

// isFixed reports whether t is a constant that no caller can override.
func isFixed(t *ir.Tensor) bool {
	return t != nil && t.IsConstant() && !t.IsGraphInput() && t.Array() != nil
}

// constantInputs reports whether all that n and its bodies read is constant.
func constantInputs(n *ir.Node) bool {
	for i := range n.NumInputs() {
		if t := n.Input(i); t != nil && !isFixed(t) {
			return false
		}
	}
	for _, t := range n.Captures() {
		if !isFixed(t) {
			return false
		}
	}
	return true
}

// unfoldable says why a node whose inputs are constant must stay, or "".
func unfoldable(n *ir.Node) string {
	g := n.Graph()
	s, ok := schema.Lookup(n.Domain(), n.Op(), g.Opset(n.Domain()))
	switch {
	case !ok:
		return "no schema describes the operator, so it may be anything"
	case !s.Deterministic:
		return "its result is random"
	case n.Op() == "QuantizeLinear" || n.Op() == "DequantizeLinear" || n.Op() == "DynamicQuantizeLinear":
		return "folding it would undo the quantization of weights"
	case n.Op() == "Dropout" && (n.NumOutputs() > 1 || n.Input(2) != nil), n.Op() == "BatchNormalization" && n.NumOutputs() > 1:
		return "it may run in training mode"
	}
	for _, a := range n.Attrs() {
		if a.Ref != "" {
			return fmt.Sprintf("attribute %q is the function's %q", a.Name, a.Ref)
		}
	}
	for _, b := range n.Bodies() {
		for h := range b.All() {
			for _, inner := range h.Nodes() {
				if why := unfoldable(inner); why != "" {
					return fmt.Sprintf("%s: %s", inner.Label(), why)
				}
			}
		}
	}
	return ""
}

// fromShapes makes constants of outputs whose values follow from shapes.
func (f *folder) fromShapes(n *ir.Node) bool {
	if f.o.Values == nil || n.NumOutputs() == 0 || unfoldable(n) != "" || len(n.Bodies()) > 0 {
		return false
	}
	values := make([]*array.Array, n.NumOutputs())
	for i := range values {
		t := n.Output(i)
		if t == nil {
			continue
		}
		if values[i] = f.o.Values(t); values[i] == nil {
			return false
		}
	}
	if why := f.tooLarge(values); why != "" {
		f.skipped(n, why)
		return true
	}
	f.replace(n, values, "its value follows from shapes")
	return true
}

// tooLarge says which result is over the bound, or "".
func (f *folder) tooLarge(values []*array.Array) string {
	for i, a := range values {
		if a != nil && f.o.MaxResult > 0 && a.NBytes() > f.o.MaxResult {
			return fmt.Sprintf("output %d takes %d bytes, want at most %d (the size threshold)", i, a.NBytes(), f.o.MaxResult)
		}
	}
	return ""
}

// evaluate runs the node alone and makes its outputs constants.
func (f *folder) evaluate(n *ir.Node) error {
	values, err := f.run(n)
	if err != nil {
		return f.failed(n, err)
	}
	if why := f.tooLarge(values); why != "" {
		f.skipped(n, why)
		return nil
	}
	grown := growth(n, values)
	if f.o.SizeBudget >= 0 && grown > f.left {
		f.skipped(n, fmt.Sprintf("its value would make the model %d bytes larger, want at most %d (the size budget)", grown, f.left))
		return nil
	}
	if grown > 0 {
		f.left -= grown
	}
	f.replace(n, values, "its inputs are constant")
	return nil
}

// growth is what the outputs take, less the inputs that nothing else reads.
func growth(n *ir.Node, values []*array.Array) int64 {
	bytes := int64(0)
	for _, a := range values {
		if a != nil {
			bytes += a.NBytes()
		}
	}
	seen := map[*ir.Tensor]bool{}
	for i := range n.NumInputs() {
		if t := n.Input(i); t != nil && !seen[t] && len(t.Consumers()) == 1 && !t.IsGraphOutput() {
			seen[t] = true
			bytes -= t.Array().NBytes()
		}
	}
	return bytes
}

// run evaluates the node in a model of its own.
func (f *folder) run(n *ir.Node) ([]*array.Array, error) {
	m, outputs := single(n)
	s, err := f.o.Backend.NewSession(progress.Without(f.ctx), m, runtime.Options{})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	got, err := s.Run(progress.Without(f.ctx), nil)
	if err != nil {
		return nil, err
	}
	values := make([]*array.Array, n.NumOutputs())
	for i, name := range outputs {
		if name == "" {
			continue
		}
		a, ok := got[name].(*array.Array)
		if !ok {
			return nil, fmt.Errorf("%s: output %d: got %s, which no initializer can hold", n.Path(), i, got[name].Summary())
		}
		values[i] = a
	}
	return values, nil
}

// single returns a model of a copy of n alone, and the names of its outputs
// ("" for an unwanted one).
func single(n *ir.Node) (*ir.Model, []string) {
	g := n.Graph()
	m := ir.NewModel("fold", slices.Clone(g.Imports())...)
	if model := g.Model(); model != nil {
		m.SetIRVersion(model.IRVersion())
	}
	c := ir.NewCopier()
	h := m.Graph()
	need := append(n.Inputs(), n.Captures()...)
	for i, t := range need {
		if t != nil {
			u := c.Tensor(t)
			u.SetName(fmt.Sprintf("in%d", i))
			h.AddInitializer(u)
		}
	}
	k := c.Node(n)
	h.AddNode(k)
	names := make([]string, k.NumOutputs())
	var outs []*ir.Tensor
	for i, t := range k.Outputs() {
		if t != nil {
			names[i] = fmt.Sprintf("out%d", i)
			t.SetName(names[i])
			outs = append(outs, t)
		}
	}
	h.SetOutputs(outs...)
	return m, names
}

// replace makes the outputs constants and removes the node.
func (f *folder) replace(n *ir.Node, values []*array.Array, why string) {
	f.folded(n, why, growth0(n, values))
	outs := n.Outputs()
	n.Discard()
	for i, t := range outs {
		if t != nil && values[i] != nil {
			t.SetArray(values[i])
		}
	}
}

// growth0 is growth for a node whose inputs need not be constants.
func growth0(n *ir.Node, values []*array.Array) int64 {
	for i := range n.NumInputs() {
		if t := n.Input(i); t != nil && t.Array() == nil {
			bytes := int64(0)
			for _, a := range values {
				if a != nil {
					bytes += a.NBytes()
				}
			}
			return bytes
		}
	}
	return growth(n, values)
}
