package ops_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// body is what a graph of a node does, on single numbers.
type body func(in []float64) []float64

// evalBody evaluates an operator whose bodies all do the same.
func (n nodeTest) evalBody(t *testing.T, b body) ([]array.Value, error) {
	t.Helper()
	s := n.site(t)
	c := &ops.Call{Site: s, In: n.in, Out: make([]array.Value, max(n.outs, 1)), Budget: &ops.Budget{MaxBytes: 1 << 12}}
	c.Run = func(_ *ir.Graph, in []array.Value) ([]array.Value, error) {
		var xs []float64
		for _, v := range in {
			w, err := v.(*array.Array).Cast(array.Float64)
			if err != nil {
				return nil, err
			}
			xs = append(xs, array.Data[float64](w)...)
		}
		var out []array.Value
		for i, y := range b(xs) {
			if i == 0 && n.op == "Loop" {
				out = append(out, array.Scalar(y != 0))
			} else {
				out = append(out, array.Scalar(y))
			}
		}
		return out, nil
	}
	err := n.entry(t, s).Eval(c)
	return c.Out, err
}

func graphAttr(name string) *ir.Attr { return ir.NewAttr(name, ir.NewGraph(name)) }

func TestLoop(t *testing.T) {
	// the state doubles; each iteration gives the state before
	double := func(in []float64) []float64 { return []float64{1, in[2] * 2, in[2]} }
	until := func(in []float64) []float64 { return []float64{b2f(in[2] < 10), in[2] * 2, in[2]} }
	one := array.Scalar(1.0)
	for _, test := range []struct {
		what  string
		in    []array.Value
		b     body
		final float64
		scan  []float64
	}{
		{"a count", ins(array.Scalar(int64(3)), nil, one), double, 8, []float64{1, 2, 4}},
		{"a count and a condition", ins(array.Scalar(int64(100)), array.Scalar(true), one), until, 32, []float64{1, 2, 4, 8, 16}},
		{"a condition", ins(nil, array.Scalar(true), one), until, 32, []float64{1, 2, 4, 8, 16}},
		{"a condition that is false", ins(array.Scalar(int64(3)), array.Scalar(false), one), double, 1, nil},
		{"a negative count", ins(array.Scalar(int64(-3)), nil, one), double, 1, nil},
	} {
		n := nodeTest{op: "Loop", opset: 16, attrs: attrs(graphAttr("body")), in: test.in, outs: 2}
		outs, err := n.evalBody(t, test.b)
		if err != nil {
			t.Fatal(err)
		}
		same(t, test.what, outs[0], array.Scalar(test.final))
		if scan := outs[1].(*array.Array); test.scan == nil && scan.Size() != 0 {
			t.Errorf("%s: got %v, want nothing", test.what, scan)
		} else if test.scan != nil {
			same(t, test.what, scan, nums([]int{len(test.scan)}, test.scan...))
		}
	}
	n := nodeTest{op: "Loop", opset: 16, attrs: attrs(graphAttr("body")), in: ins(nil, nil, one), outs: 2}
	if _, err := n.evalBody(t, double); err == nil || !strings.Contains(err.Error(), "memory budget") {
		t.Errorf("an endless loop: got error %v, want one that names the memory budget", err)
	}
}

func b2f(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func TestIf(t *testing.T) {
	for _, yes := range []bool{true, false} {
		n := nodeTest{op: "If", opset: 16, attrs: attrs(graphAttr("then_branch"), graphAttr("else_branch")), in: ins(array.Scalar(yes))}
		s := n.site(t)
		c := &ops.Call{Site: s, In: n.in, Out: make([]array.Value, 1)}
		c.Run = func(g *ir.Graph, _ []array.Value) ([]array.Value, error) {
			return []array.Value{array.ScalarString(g.Name())}, nil
		}
		if err := n.entry(t, s).Eval(c); err != nil {
			t.Fatal(err)
		}
		want := map[bool]string{true: "then_branch", false: "else_branch"}[yes]
		if got := c.Out[0].(*array.Array).At(0); got != want {
			t.Errorf("If(%v) ran %v, want %s", yes, got, want)
		}
	}
}

func TestScan(t *testing.T) {
	sum := func(in []float64) []float64 { return []float64{in[0] + in[1], in[0] + in[1]} }
	x := nums([]int{3}, 1.0, 2, 4)
	zero := array.Scalar(0.0)
	for _, test := range []struct {
		what  string
		attrs []*ir.Attr
		final float64
		all   []float64
	}{
		{"forward", nil, 7, []float64{1, 3, 7}},
		{"from the end", attrs(attr("scan_input_directions", []int64{1})), 7, []float64{4, 6, 7}},
		{"prepending", attrs(attr("scan_output_directions", []int64{1})), 7, []float64{7, 3, 1}},
		{"by a negative axis", attrs(attr("scan_input_axes", []int64{-1})), 7, []float64{1, 3, 7}},
	} {
		n := nodeTest{op: "Scan", opset: 11, attrs: append(attrs(graphAttr("body"), attr("num_scan_inputs", int64(1))), test.attrs...), in: ins(zero, x), outs: 2}
		outs, err := n.evalBody(t, sum)
		if err != nil {
			t.Fatal(err)
		}
		same(t, test.what, outs[0], array.Scalar(test.final))
		same(t, test.what, outs[1], nums([]int{3}, test.all...))
	}
	old := nodeTest{op: "Scan", opset: 8, attrs: attrs(graphAttr("body"), attr("num_scan_inputs", int64(1))), outs: 2,
		in: ins(int64s(2, 3), nums([]int{2}, 0.0, 10), nums([]int{2, 3}, 1.0, 2, 4, 5, 6, 7))}
	outs, err := old.evalBody(t, sum)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "opset 8: states", outs[0], nums([]int{2}, 3.0, 28))
	same(t, "opset 8: outputs", outs[1], nums([]int{2, 3}, 1.0, 3, 0, 15, 21, 28))
}

// TestInferLoop infers bodies that keep, change and grow what they carry.
func TestInferLoop(t *testing.T) {
	n := nodeTest{op: "Loop", opset: 16, attrs: attrs(graphAttr("body")), outs: 3, in: ins(array.Scalar(int64(5)), array.Scalar(true), array.Scalar(0.0), array.Scalar(0.0))}
	s := n.site(t)
	kept, grown := ops.TensorFact(array.Float32, dims("N", "4")), ops.TensorFact(array.Float32, dims("1"))
	c := &ops.Infer{Site: s, In: []ops.Fact{elems("5"), {}, kept, grown}, Out: make([]ops.Fact, 3)}
	c.In[1].Const = array.Scalar(true)
	rounds := 0
	c.Run = func(_ *ir.Graph, in []ops.Fact) ([]ops.Fact, error) {
		rounds++
		longer := in[3]
		longer.Dims = []sym.Expr{in[3].Dims[0].AddInt(1)}
		return []ops.Fact{in[1], in[2], longer, ops.TensorFact(array.Int64, dims("2"))}, nil
	}
	if err := n.entry(t, s).Infer(c); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"N 4", "?", "5 2"} {
		if got := text(c.Out[i].Dims); got != want {
			t.Errorf("output %d: got sizes %s, want %s", i, got, want)
		}
	}
	if rounds > 6 {
		t.Errorf("the body was inferred %d times, want at most 6", rounds)
	}
}

func TestSequences(t *testing.T) {
	a, b, c := floats32(1), floats32(2, 3), floats32(4)
	seq := &array.Sequence{Items: ins(a, b)}
	items := func(n nodeTest) string {
		var parts []string
		for _, v := range n.eval(t)[0].(*array.Sequence).Items {
			parts = append(parts, fmt.Sprint(v))
		}
		return strings.Join(parts, " ")
	}
	for _, test := range []struct {
		n    nodeTest
		want string
	}{
		{nodeTest{op: "SequenceEmpty", opset: 11}, ""},
		{nodeTest{op: "SequenceConstruct", opset: 11, in: ins(a, b, c)}, "[1.] [2. 3.] [4.]"},
		{nodeTest{op: "SequenceInsert", opset: 11, in: ins(seq, c)}, "[1.] [2. 3.] [4.]"},
		{nodeTest{op: "SequenceInsert", opset: 11, in: ins(seq, c, array.Scalar(int64(0)))}, "[4.] [1.] [2. 3.]"},
		{nodeTest{op: "SequenceInsert", opset: 11, in: ins(seq, c, array.Scalar(int64(-1)))}, "[1.] [4.] [2. 3.]"},
		{nodeTest{op: "SequenceErase", opset: 11, in: ins(seq)}, "[1.]"},
		{nodeTest{op: "SequenceErase", opset: 11, in: ins(seq, array.Scalar(int64(-2)))}, "[2. 3.]"},
		{nodeTest{op: "SplitToSequence", opset: 11, in: ins(floats32(1, 2, 3), array.Scalar(int64(2)))}, "[1. 2.] [3.]"},
		{nodeTest{op: "SplitToSequence", opset: 11, in: ins(floats32(1, 2, 3), int64s(1, 2))}, "[1.] [2. 3.]"},
		{nodeTest{op: "SplitToSequence", opset: 11, in: ins(floats32(1, 2)), attrs: attrs(attr("keepdims", int64(0)))}, "1.0 2.0"},
	} {
		if got := items(test.n); got != test.want {
			t.Errorf("%s%v: got %q, want %q", test.n.op, test.n.in, got, test.want)
		}
	}
	if len(seq.Items) != 2 {
		t.Errorf("the sequence that was read has %d items now, want 2", len(seq.Items))
	}
	same(t, "SequenceAt", nodeTest{op: "SequenceAt", opset: 11, in: ins(seq, array.Scalar(int64(-1)))}.eval(t)[0], b)
	same(t, "SequenceLength", nodeTest{op: "SequenceLength", opset: 11, in: ins(seq)}.eval(t)[0], array.Scalar(int64(2)))
	cat := nodeTest{op: "ConcatFromSequence", opset: 11, attrs: attrs(attr("axis", int64(0))), in: ins(seq)}
	same(t, "ConcatFromSequence", cat.eval(t)[0], floats32(1, 2, 3))
	stack := nodeTest{op: "ConcatFromSequence", opset: 11, attrs: attrs(attr("axis", int64(-1)), attr("new_axis", int64(1))), in: ins(&array.Sequence{Items: ins(b, b)})}
	same(t, "stacked", stack.eval(t)[0], nums([]int{2, 2}, []float32{2, 2, 3, 3}...))
	if got, want := (nodeTest{op: "SequenceAt", opset: 11, in: ins(seq, array.Scalar(int64(2)))}).fails(t), "position: got 2, want -2 to 1"; !strings.Contains(got, want) {
		t.Errorf("got error %q, want %q", got, want)
	}
}

func TestOptional(t *testing.T) {
	x := floats32(1)
	full, empty := &array.Optional{Value: x}, &array.Optional{}
	for _, test := range []struct {
		in   array.Value
		want bool
	}{{full, true}, {empty, false}, {x, true}, {nil, false}} {
		n := nodeTest{op: "OptionalHasElement", opset: 18, in: ins(test.in)}
		same(t, fmt.Sprint(test.in), n.eval(t)[0], array.Scalar(test.want))
	}
	same(t, "OptionalGetElement", nodeTest{op: "OptionalGetElement", opset: 18, in: ins(full)}.eval(t)[0], x)
	if got, want := (nodeTest{op: "OptionalGetElement", opset: 18, in: ins(empty)}).fails(t), "holds nothing"; !strings.Contains(got, want) {
		t.Errorf("got error %q, want %q", got, want)
	}
	o := nodeTest{op: "Optional", opset: 15, in: ins(x)}.eval(t)[0].(*array.Optional)
	same(t, "Optional", o.Value, x)
}

func TestSequenceMap(t *testing.T) {
	seq := &array.Sequence{Items: ins(array.Scalar(1.0), array.Scalar(2.0))}
	n := nodeTest{op: "SequenceMap", opset: 17, attrs: attrs(graphAttr("body")), in: ins(seq, array.Scalar(10.0)), outs: 2}
	outs, err := n.evalBody(t, func(in []float64) []float64 { return []float64{in[0] + in[1], in[0] * in[1]} })
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"[11.0 12.0]", "[10.0 20.0]"} {
		if got := fmt.Sprint(outs[i].(*array.Sequence).Items); got != want {
			t.Errorf("output %d: got %s, want %s", i, got, want)
		}
	}
}
