package ops_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops"
	"github.com/starlarkgs/starlarkgs/ops/schema"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

func contribCases(t *testing.T) []oracleCase {
	t.Helper()
	data, err := os.ReadFile("testdata/contrib.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []oracleCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

// key is the operator with its domain.
func (o *oracleCase) key() string { return o.Domain + "::" + o.Op }

// TestContrib holds the kernels of ONNX Runtime's own operators against what it
// gave for the same nodes, and inference against the kernels: testdata/contrib.py
// made the file.
func TestContrib(t *testing.T) {
	for i, c := range contribCases(t) {
		t.Run(fmt.Sprintf("%s_%d", c.Op, i), func(t *testing.T) {
			n := c.test(t)
			if op := ops.Lookup(c.Domain, c.Op, c.Opset); op != nil && op.Eval == nil {
				n.checkDeclared(t, op, &c)
				return
			}
			outs := n.eval(t)
			for k, want := range c.Out {
				if want == nil {
					continue
				}
				within(t, fmt.Sprintf("output %d", k), outs[k], want.array(t).(*array.Array))
			}
			n.checkSymbols(t, ops.Lookup(c.Domain, c.Op, c.Opset), outs)
		})
	}
}

// TestContribNarrow runs the float32 cases in the other float types that the
// schema allows, which ONNX Runtime's CPU mostly has not: a kernel must agree to
// the precision of the type, in outputs of the right types.
func TestContribNarrow(t *testing.T) {
	ran := map[array.DType]int{}
	for i, c := range contribCases(t) {
		op := ops.Lookup(c.Domain, c.Op, c.Opset)
		if mode := c.Attrs["mode"].S; op == nil || op.Eval == nil || mode != nil && *mode == "nearest" {
			continue // nearest rounds places, which a narrow type shifts
		}
		for dt, tol := range map[array.DType]float64{array.Float16: 1e-2, array.BFloat16: 8e-2, array.Float64: 1e-4} {
			n := c.test(t)
			if !n.retype(t, dt) {
				continue
			}
			ran[dt]++
			outs := n.eval(t)
			for k, want := range c.Out {
				if want != nil {
					near(t, fmt.Sprintf("%s_%d of %s: output %d", c.Op, i, dt, k), outs[k].(*array.Array), want.array(t).(*array.Array), tol)
				}
			}
		}
	}
	if ran[array.Float16] < 100 || ran[array.BFloat16] < 40 || ran[array.Float64] < 30 {
		t.Errorf("ran %v cases, want more", ran)
	}
}

// retype casts the float32 inputs whose type may be dt, and reports whether the
// node fits its schema then and differs.
func (n *nodeTest) retype(t *testing.T, dt array.DType) bool {
	t.Helper()
	s := n.site(t).Schema
	to, changed := schema.TypeString(dt.String()), false
	call := schema.Call{Outputs: make([]string, max(n.outs, 1))}
	for _, a := range n.attrs {
		call.Attrs = append(call.Attrs, schema.GivenAttr{Name: a.Name, Kind: schema.Kind(a.Kind)})
	}
	for i, v := range n.in {
		a, ok := v.(*array.Array)
		if !ok {
			call.Inputs = append(call.Inputs, schema.Omitted)
			continue
		}
		if a.DType() == array.Float32 && slices.Contains(s.Allowed(s.Input(i)), to) {
			cast, err := a.Cast(dt)
			if err != nil {
				t.Fatal(err)
			}
			n.in[i], a, changed = cast, cast, true
		}
		call.Inputs = append(call.Inputs, schema.TypeString(a.DType().String()))
	}
	return changed && len(s.Check(call)) == 0
}

// near fails unless got is want, to a tolerance that its own type does not spoil.
func near(t *testing.T, what string, got, want *array.Array, tol float64) {
	t.Helper()
	if fmt.Sprint(got.Shape()) != fmt.Sprint(want.Shape()) {
		t.Errorf("%s: got %s, want %s", what, got.Summary(), want.Summary())
		return
	}
	for k := range want.Size() {
		x, ok := got.At(k).(float64)
		y, isFloat := want.At(k).(float64)
		if y < -1e30 && x <= -6e4 && !math.IsInf(x, -1) {
			continue // both are the lowest numbers of their types
		}
		if ok != isFloat || ok && !(math.Abs(x-y) <= tol*(1+math.Abs(y))) {
			t.Errorf("%s: element %d of %s: got %v, want %v", what, k, got.Summary(), got.At(k), want.At(k))
			return
		}
	}
}

// checkDeclared holds the inference of an operator without a kernel against what
// ONNX Runtime gave.
func (n nodeTest) checkDeclared(t *testing.T, op *ops.Op, c *oracleCase) {
	t.Helper()
	outs := make([]array.Value, len(c.Out))
	for i, o := range c.Out {
		outs[i] = o.array(t)
	}
	for _, known := range []bool{true, false} {
		n.checkInfer(t, n.site(t), op, outs, known)
	}
	n.checkSymbols(t, op, outs)
}

// within fails unless got is want: floats to the precision of the type, integers
// exactly.
func within(t *testing.T, what string, got array.Value, want *array.Array) {
	t.Helper()
	a, ok := got.(*array.Array)
	if !ok || a.DType() != want.DType() || fmt.Sprint(a.Shape()) != fmt.Sprint(want.Shape()) {
		t.Errorf("%s: got %v, want %s", what, got, want.Summary())
		return
	}
	tol := map[array.DType]float64{array.Float16: 2e-3, array.Float32: 2e-5, array.Float64: 1e-12}[a.DType()]
	for i := range a.Size() {
		x, y := a.At(i), want.At(i)
		v, isFloat := x.(float64)
		if !isFloat && x != y {
			t.Errorf("%s: element %d of %s: got %v, want %v\n%v\n%v", what, i, a.Summary(), x, y, a, want)
			return
		}
		if w, _ := y.(float64); isFloat && !(math.Abs(v-w) <= tol*(1+math.Abs(w))) {
			t.Errorf("%s: element %d of %s: got %v, want %v\n%v\n%v", what, i, a.Summary(), v, w, a, want)
			return
		}
	}
}

// checkSymbols infers with a symbol for every size of every input: what comes out
// must be, of these sizes, what the kernel made.
func (n nodeTest) checkSymbols(t *testing.T, op *ops.Op, outs []array.Value) {
	t.Helper()
	s := n.site(t)
	c := &ops.Infer{Site: s, In: make([]ops.Fact, len(n.in)), Out: make([]ops.Fact, len(outs))}
	c.Fresh = func() sym.Expr { return sym.Symbol("fresh") }
	sizes := map[string]int64{}
	for i, v := range n.in {
		a, ok := v.(*array.Array)
		if !ok {
			continue
		}
		dims := []sym.Expr{}
		for k, d := range a.Shape() {
			name := fmt.Sprintf("d%d_%d", i, k)
			sizes[name] = int64(d)
			dims = append(dims, sym.Symbol(name))
		}
		c.In[i] = ops.TensorFact(a.DType(), dims)
	}
	if err := op.Infer(c); err != nil {
		t.Fatalf("inference of symbols: %v", err)
	}
	for i, v := range outs {
		a, ok := v.(*array.Array)
		if !ok || c.Out[i].Dims == nil {
			continue
		}
		f := c.Out[i]
		f.Dims = append([]sym.Expr{}, f.Dims...)
		for k, d := range f.Dims {
			if v, ok := d.Eval(func(name string) (int64, bool) { n, ok := sizes[name]; return n, ok }); ok {
				f.Dims[k] = sym.Int(v)
			} else {
				f.Dims[k] = sym.Expr{}
			}
		}
		checkFact(t, fmt.Sprintf("output %d of symbols %v", i, c.Out[i].Dims), f, a)
	}
}

// TestContribCovered holds every entry of ONNX Runtime's own operators against
// the cases: a kernel without one is not known to be right.
func TestContribCovered(t *testing.T) {
	counts := map[string]int{}
	for _, c := range contribCases(t) {
		counts[c.key()]++
	}
	for _, op := range ops.All() {
		s, ok := schema.Lookup(op.Domain, op.Name, op.Since)
		if !ok || !s.Own {
			continue
		}
		if op.Infer == nil {
			t.Errorf("%s::%s: has no inference", op.Domain, op.Name)
		}
		if n := counts[op.Domain+"::"+op.Name]; op.Eval != nil && n < 2 {
			t.Errorf("%s::%s: has a kernel and %d cases, want 2 or more", op.Domain, op.Name, n)
		}
	}
}

// TestContribBent bends good cases a little, an input or an attribute at a time:
// a kernel answers with an error or a result, and never beyond its budget.
func TestContribBent(t *testing.T) {
	rounds := 12
	if testing.Short() {
		rounds = 2
	}
	for i, c := range contribCases(t) {
		for r := range rounds {
			h := nonsense{rand.New(rand.NewPCG(uint64(i), uint64(r)))}
			n := c.test(t)
			if op := ops.Lookup(c.Domain, c.Op, c.Opset); op == nil || op.Eval == nil {
				break
			}
			what := h.bend(&n)
			if trouble := h.run(t, n); trouble != "" && trouble != "neither an output nor an error" {
				t.Errorf("case %d, round %d: %s, %s: %s", i, r, n.op, what, trouble)
				break
			}
		}
	}
}

// bend changes one thing about a node, and says what.
func (h nonsense) bend(n *nodeTest) string {
	if k := h.IntN(len(n.in) + 1); k < len(n.in) {
		switch h.IntN(4) {
		case 0:
			n.in = n.in[:k]
			return fmt.Sprintf("only %d inputs", k)
		case 1:
			n.in[k] = h.reshaped(n.in[k])
			return fmt.Sprintf("input %d reshaped", k)
		}
		n.in[k] = h.value()
		return fmt.Sprintf("input %d is another", k)
	}
	if len(n.attrs) == 0 {
		n.outs = 4
		return "four outputs"
	}
	k := h.IntN(len(n.attrs))
	old := n.attrs[k]
	bent := ir.NewAttr(old.Name, h.int())
	switch v := old.Value.(type) {
	case []int64:
		bent = ir.NewAttr(old.Name, append(slices.Clone(v), h.int())[h.IntN(2):])
	case float32:
		bent = ir.NewAttr(old.Name, float32(h.IntN(5)-2))
	case string:
		bent = ir.NewAttr(old.Name, "Softmax")
	}
	n.attrs[k] = bent
	return fmt.Sprintf("attribute %s = %v", bent.Name, bent.Value)
}

// reshaped drops the last element, or puts an axis before the others.
func (h nonsense) reshaped(v array.Value) array.Value {
	a, ok := v.(*array.Array)
	if !ok || a.Size() == 0 {
		return h.value()
	}
	shape := append([]int{1}, a.Shape()...)
	if h.IntN(2) == 0 {
		shape = []int{a.Size()}
	}
	out, err := a.Reshape(shape...)
	if err != nil {
		return h.value()
	}
	return out
}
