package ops_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops"
	"github.com/starlarkgs/starlarkgs/ops/schema"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// nodeTest is one operator on given inputs. The operator may have its domain
// before it, as "ai.onnx.ml::Scaler".
type nodeTest struct {
	op    string
	opset int
	attrs []*ir.Attr
	in    []array.Value
	outs  int          // number of outputs; 0 is 1
	omit  map[int]bool // outputs that nobody asks for
}

func attr(name string, v any) *ir.Attr { return ir.NewAttr(name, v) }

func attrs(as ...*ir.Attr) []*ir.Attr { return as }

func ins(vs ...array.Value) []array.Value { return vs }

// nums returns an array of numbers of the given shape.
func nums[T array.Elem](shape []int, vs ...T) *array.Array {
	return array.FromSlice(vs, append([]int{}, shape...)...)
}

func int64s(vs ...int64) *array.Array { return array.FromSlice(vs, len(vs)) }

func floats32(vs ...float32) *array.Array { return array.FromSlice(vs, len(vs)) }

func strs(vs ...string) *array.Array { return array.FromStrings(vs, len(vs)) }

// site builds the node, and the place where it stands.
func (n nodeTest) site(t *testing.T) ops.Site {
	t.Helper()
	domain, name, ok := strings.Cut(n.op, "::")
	if !ok {
		domain, name = "", n.op
	}
	m := ir.NewModel("test", ir.Import{Domain: domain, Version: int64(n.opset)})
	inputs := make([]*ir.Tensor, len(n.in))
	for i, v := range n.in {
		if v != nil {
			inputs[i] = ir.NewTensor(fmt.Sprintf("in%d", i), nil)
		}
	}
	outputs := make([]*ir.Tensor, max(n.outs, 1))
	for i := range outputs {
		if !n.omit[i] {
			outputs[i] = ir.NewTensor(fmt.Sprintf("out%d", i), nil)
		}
	}
	node := ir.NewNode(name, inputs, outputs, n.attrs...)
	node.SetDomain(domain)
	m.Graph().AddNode(node)
	s, ok := schema.Lookup(domain, name, n.opset)
	if !ok {
		t.Fatalf("no schema of %s in opset %d", n.op, n.opset)
	}
	return ops.Site{Node: node, Schema: s, Opset: n.opset}
}

func (n nodeTest) entry(t *testing.T, s ops.Site) *ops.Op {
	t.Helper()
	op := ops.Lookup(s.Node.Domain(), s.Node.Op(), n.opset)
	if op == nil || op.Eval == nil {
		t.Fatalf("no kernel of %s in opset %d", n.op, n.opset)
	}
	return op
}

// eval computes the outputs, and checks that inference agrees with them,
// whether it knows the inputs' values or their types alone.
func (n nodeTest) eval(t *testing.T) []array.Value {
	t.Helper()
	s := n.site(t)
	op := n.entry(t, s)
	c := &ops.Call{Site: s, In: n.in, Out: make([]array.Value, max(n.outs, 1))}
	if err := op.Eval(c); err != nil {
		t.Fatalf("%s: %v", n.op, err)
	}
	for _, known := range []bool{true, false} {
		n.checkInfer(t, s, op, c.Out, known)
	}
	return c.Out
}

// fails evaluates what must fail, and returns the error's text.
func (n nodeTest) fails(t *testing.T) string {
	t.Helper()
	s := n.site(t)
	c := &ops.Call{Site: s, In: n.in, Out: make([]array.Value, max(n.outs, 1)), Budget: &ops.Budget{MaxBytes: 1 << 20}}
	err := n.entry(t, s).Eval(c)
	if err == nil {
		t.Fatalf("%s%v: got %v, want an error", n.op, n.in, c.Out[0])
	}
	return err.Error()
}

func (n nodeTest) checkInfer(t *testing.T, s ops.Site, op *ops.Op, outs []array.Value, known bool) {
	t.Helper()
	if op.Infer == nil {
		return
	}
	c := &ops.Infer{Site: s, In: make([]ops.Fact, len(n.in)), Out: make([]ops.Fact, len(outs))}
	fresh := 0
	c.Fresh = func() sym.Expr { fresh++; return sym.Symbol(fmt.Sprintf("s%d", fresh)) }
	for i, v := range n.in {
		if a, ok := v.(*array.Array); ok {
			c.In[i] = ops.TensorFact(a.DType(), sym.Ints(a.Shape()))
			if known {
				c.In[i].Const = a
			}
		}
	}
	if err := op.Infer(c); err != nil {
		t.Fatalf("%s: inference: %v", n.op, err)
	}
	for i, v := range outs {
		if a, ok := v.(*array.Array); ok && c.Out[i].Kind == ir.TensorKind {
			checkFact(t, fmt.Sprintf("%s: output %d", n.op, i), c.Out[i], a)
		}
	}
}

// checkFact fails where a fact says what is not so of a.
func checkFact(t *testing.T, what string, f ops.Fact, a *array.Array) {
	t.Helper()
	if f.DType != array.Undefined && f.DType != a.DType() {
		t.Errorf("%s: inferred %s, computed %s", what, f.DType, a.DType())
	}
	if f.Dims == nil {
		return
	}
	if len(f.Dims) != a.Rank() {
		t.Errorf("%s: inferred sizes %v, computed %s", what, f.Dims, a.Summary())
		return
	}
	for i, d := range f.Dims {
		if n, ok := d.Int(); ok && int(n) != a.Shape()[i] {
			t.Errorf("%s: inferred sizes %v, computed %s", what, f.Dims, a.Summary())
		}
	}
	if f.Elems == nil {
		return
	}
	vs, err := a.Int64s()
	if err != nil || len(vs) != len(f.Elems) {
		t.Errorf("%s: inferred elements %v, computed %v", what, f.Elems, a)
		return
	}
	for i, e := range f.Elems {
		if n, ok := e.Int(); ok && n != vs[i] {
			t.Errorf("%s: inferred elements %v, computed %v", what, f.Elems, a)
		}
	}
}

// same fails unless got is want: numbers to a relative 1e-5.
func same(t *testing.T, what string, got, want array.Value) {
	t.Helper()
	a, ok := got.(*array.Array)
	b, isArray := want.(*array.Array)
	if !ok || !isArray {
		t.Errorf("%s: got %v, want %v", what, got, want)
		return
	}
	equal := a.DType() == b.DType() && fmt.Sprint(a.Shape()) == fmt.Sprint(b.Shape())
	for i := 0; equal && i < a.Size(); i++ {
		equal = closeElems(a.At(i), b.At(i))
	}
	if !equal {
		t.Errorf("%s: got %s %v, want %s %v", what, a.Summary(), a, b.Summary(), b)
	}
}

func closeElems(x, y any) bool {
	a, ok := x.(float64)
	b, isFloat := y.(float64)
	if !ok || !isFloat {
		return x == y
	}
	return a == b || math.Abs(a-b) <= 1e-6+1e-5*math.Abs(b) || math.IsNaN(a) && math.IsNaN(b)
}
