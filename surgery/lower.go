package surgery

import (
	"fmt"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
)

// lowerConstant makes the output of a Constant node a constant tensor and
// removes the node; false when the node's value stays (a reference to an
// attribute of a function).
func lowerConstant(n *ir.Node) (bool, error) {
	t := n.Output(0)
	if t == nil || n.Graph() == nil || len(n.Attrs()) == 0 {
		return false, nil
	}
	a := n.Attrs()[0]
	if a.Ref != "" {
		return false, nil
	}
	l, err := constantValue(a)
	if err != nil {
		return false, fmt.Errorf("%s: %w", n.Path(), err)
	}
	n.Discard()
	t.SetLiteral(l)
	return true, nil
}

// constantValue returns the value that the attribute of a Constant node gives:
// its element types are those of the operator's definition.
func constantValue(a *ir.Attr) (*ir.Literal, error) {
	var v *array.Array
	switch x := a.Value.(type) {
	case *ir.Literal:
		l := x.Share()
		l.Name, l.Doc = "", ""
		return l, nil
	case *ir.Sparse:
		return &ir.Literal{Sparse: x}, nil
	case float32:
		v = array.Scalar(x)
	case int64:
		v = array.Scalar(x)
	case string:
		v = array.ScalarString(x)
	case []float32:
		v = array.FromSlice(x)
	case []int64:
		v = array.FromSlice(x)
	case []string:
		v = array.FromStrings(x)
	default:
		return nil, fmt.Errorf("attribute %q: got %s, want value, value_int, value_float, value_string or a list of these", a.Name, a.Kind)
	}
	return &ir.Literal{Array: v}, nil
}

// inlineIf puts the branch that a constant condition picks in the place of an If.
func (f *folder) inlineIf(n *ir.Node) error {
	cond := n.Input(0).Array()
	if err := cond.Load(); err != nil {
		return f.failed(n, err)
	}
	if cond.Size() != 1 {
		f.skipped(n, fmt.Sprintf("its condition has %d elements, want 1", cond.Size()))
		return nil
	}
	name := "else_branch"
	if cond.At(0) == true {
		name = "then_branch"
	}
	a := n.Attr(name)
	if a == nil || len(a.Graphs()) != 1 || a.Graphs()[0].NumOutputs() != n.NumOutputs() {
		f.skipped(n, fmt.Sprintf("it has no %s with as many outputs as the node", name))
		return nil
	}
	f.folded(n, fmt.Sprintf("its condition is constant, so %s takes its place", name), 0)
	body := a.Graphs()[0]
	inner := body.Nodes()
	inlineBody(n, body)
	for _, k := range inner {
		if err := f.node(k); err != nil {
			return err
		}
		if k.Graph() == nil {
			continue
		}
		for _, b := range k.Bodies() {
			if err := f.graph(b); err != nil {
				return err
			}
		}
	}
	return nil
}

// inlineBody moves the nodes and initializers of a body of n before n, gives
// n's outputs to what the body's outputs are, and removes n. Names that collide
// are resolved when the model is written; graph outputs keep theirs.
func inlineBody(n *ir.Node, body *ir.Graph) {
	g := n.Graph()
	for _, t := range body.Initializers() {
		body.RemoveInitializer(t)
		g.AddInitializer(t)
	}
	results := body.Outputs()
	body.SetOutputs()
	for _, k := range body.Nodes() {
		g.InsertBefore(n, k)
	}
	outs := n.Outputs()
	n.Discard()
	for i, t := range outs {
		if t != nil {
			takeOver(g, t, results[i])
		}
	}
}

// takeOver makes the uses of old uses of by. Where old is an output of a graph,
// its name and type stay: what makes by makes old instead, unless by is needed
// elsewhere as it is.
func takeOver(g *ir.Graph, old, by *ir.Tensor) {
	if !old.IsGraphOutput() {
		old.ReplaceUses(by)
		return
	}
	p, slot := by.Producer()
	switch {
	case p != nil && p.Graph() == g && !by.IsGraphOutput():
		by.ReplaceUses(old)
		p.SetOutput(slot, old)
	case by.IsConstant() && !by.IsGraphInput():
		old.SetLiteral(by.Literal().Share())
	default:
		k := ir.NewNode("Identity", []*ir.Tensor{by}, nil)
		g.AddNode(k)
		k.SetOutputs(old)
	}
}
