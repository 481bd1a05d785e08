package ops_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ops"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// iota returns the numbers 0, 1, 2, … in the given shape.
func iota64(shape ...int) *array.Array {
	n := 1
	for _, d := range shape {
		n *= d
	}
	vs := make([]int64, n)
	for i := range vs {
		vs[i] = int64(i)
	}
	return nums(shape, vs...)
}

func TestReshape(t *testing.T) {
	for _, test := range []struct {
		in, target, want []int
		allowZero        int64
		err              string
	}{
		{in: []int{2, 3}, target: []int{3, 2}, want: []int{3, 2}},
		{in: []int{2, 3, 4}, target: []int{0, -1}, want: []int{2, 12}},
		{in: []int{2, 3, 4}, target: []int{-1, 0, 2}, want: []int{4, 3, 2}},
		{in: []int{0, 3}, target: []int{0, 5}, want: []int{0, 5}},
		{in: []int{0, 3}, target: []int{3, 0}, allowZero: 1, want: []int{3, 0}},
		{in: []int{4}, target: []int{}, err: "does not fit the 4 elements"},
		{in: []int{2, 3}, target: []int{-1, -1}, err: "at most one -1"},
		{in: []int{2, 3}, target: []int{4, -1}, err: "does not fit the 6 elements"},
		{in: []int{2, 3}, target: []int{1, 1, 0}, err: "copies a size that an input of rank 2 does not have"},
		{in: []int{2}, target: []int{1 << 40, 1 << 40}, err: "overflows"},
	} {
		target := make([]int64, len(test.target))
		for i, d := range test.target {
			target[i] = int64(d)
		}
		n := nodeTest{op: "Reshape", opset: 14, attrs: attrs(attr("allowzero", test.allowZero)), in: ins(iota64(test.in...), nums([]int{len(target)}, target...))}
		if test.err != "" {
			if got := n.fails(t); !strings.Contains(got, test.err) {
				t.Errorf("Reshape(%v, %v) failed with %q, want %q", test.in, test.target, got, test.err)
			}
			continue
		}
		same(t, fmt.Sprintf("Reshape(%v, %v)", test.in, test.target), n.eval(t)[0], iota64(test.want...))
	}
	old := nodeTest{op: "Reshape", opset: 1, attrs: attrs(attr("shape", []int64{3, 2})), in: ins(floats32(0, 1, 2, 3, 4, 5))}
	same(t, "Reshape in opset 1", old.eval(t)[0], nums([]int{3, 2}, []float32{0, 1, 2, 3, 4, 5}...))
}

// TestAxes tests the operators whose axes were attributes before opset 13.
func TestAxes(t *testing.T) {
	x := iota64(1, 2, 1, 3)
	for _, test := range []struct {
		op   string
		axes []int64
		want []int
	}{
		{"Squeeze", []int64{0}, []int{2, 1, 3}},
		{"Squeeze", []int64{-2, 0}, []int{2, 3}},
		{"Squeeze", nil, []int{2, 3}},
		{"Unsqueeze", []int64{-1, 0}, []int{1, 1, 2, 1, 3, 1}},
		{"Unsqueeze", []int64{2}, []int{1, 2, 1, 1, 3}},
	} {
		n := nodeTest{op: test.op, opset: 13, in: ins(x)}
		old := nodeTest{op: test.op, opset: 11, in: ins(x)}
		if test.axes != nil {
			n.in = ins(x, int64s(test.axes...))
			old.attrs = attrs(attr("axes", test.axes))
		}
		for _, n := range []nodeTest{n, old} {
			same(t, fmt.Sprintf("%s %v, opset %d", test.op, test.axes, n.opset), n.eval(t)[0], iota64(test.want...))
		}
	}
	bad := nodeTest{op: "Squeeze", opset: 13, in: ins(x, int64s(1))}
	if got, want := bad.fails(t), "axes: axis 1 has size 2, want 1"; !strings.Contains(got, want) {
		t.Errorf("got error %q, want %q", got, want)
	}
}

// TestTransposeAll moves enough elements for tiles and goroutines, and checks
// each by its position.
func TestTransposeAll(t *testing.T) {
	shape := []int{37, 70, 33}
	for _, perm := range [][]int64{{0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		x := iota64(shape...)
		for _, dt := range []array.DType{array.Int64, array.Int32, array.Int16, array.Complex128} {
			in, err := x.Cast(dt)
			if err != nil {
				t.Fatal(err)
			}
			got := nodeTest{op: "Transpose", opset: 13, attrs: attrs(attr("perm", perm)), in: ins(in)}.eval(t)[0].(*array.Array)
			view, err := in.Transpose(int(perm[0]), int(perm[1]), int(perm[2]))
			if err != nil {
				t.Fatal(err)
			}
			if want := view.Contiguous(); !array.Equal(got, want) {
				t.Errorf("Transpose %v of %s: got other elements than those of the view", perm, dt)
			}
		}
	}
}

// TestPacked checks that types of less than a byte are moved as others are.
func TestPacked(t *testing.T) {
	wide := nums([]int{2, 5}, []int8{1, -2, 3, -4, 5, 6, -7, -8, 0, 7}...)
	for _, n := range []nodeTest{
		{op: "Transpose", opset: 21, in: ins(wide)},
		{op: "Pad", opset: 21, in: ins(wide, int64s(1, -1, 0, 2))},
		{op: "Pad", opset: 21, attrs: attrs(attr("mode", "edge")), in: ins(wide, int64s(0, 1, 0, 2))},
		{op: "Identity", opset: 21, in: ins(wide)},
		{op: "Reshape", opset: 21, in: ins(wide, int64s(5, 2))},
		{op: "Squeeze", opset: 21, in: ins(wide)},
	} {
		want, err := n.eval(t)[0].(*array.Array).Cast(array.Int4)
		if err != nil {
			t.Fatal(err)
		}
		narrow, err := wide.Cast(array.Int4)
		if err != nil {
			t.Fatal(err)
		}
		n.in[0] = narrow
		same(t, n.op+" of int4", n.eval(t)[0], want)
	}
}

func TestOldForms(t *testing.T) {
	x := nums([]int{2, 3}, []float32{1, 2, 3, 4, 5, 6}...)
	for _, test := range []struct {
		n    nodeTest
		want *array.Array
	}{
		{nodeTest{op: "Tile", opset: 1, in: ins(x, array.Scalar(float32(2)), array.Scalar(float32(0)))},
			nums([]int{4, 3}, []float32{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}...)},
		{nodeTest{op: "Slice", opset: 1, attrs: attrs(attr("starts", []int64{0, 1}), attr("ends", []int64{1, 1 << 40})), in: ins(x)},
			nums([]int{1, 2}, []float32{2, 3}...)},
		{nodeTest{op: "Pad", opset: 1, attrs: attrs(attr("paddings", []int64{0, 1, 0, 0}), attr("value", float32(9))), in: ins(x)},
			nums([]int{2, 4}, []float32{9, 1, 2, 3, 9, 4, 5, 6}...)},
		{nodeTest{op: "Pad", opset: 2, attrs: attrs(attr("pads", []int64{0, 0, 1, 0}), attr("mode", "edge")), in: ins(x)},
			nums([]int{3, 3}, []float32{1, 2, 3, 4, 5, 6, 4, 5, 6}...)},
		{nodeTest{op: "Split", opset: 1, attrs: attrs(attr("axis", int64(1))), in: ins(x, floats32(1, 2)), outs: 2},
			nums([]int{2, 1}, []float32{1, 4}...)},
		{nodeTest{op: "Split", opset: 2, attrs: attrs(attr("axis", int64(0))), in: ins(x), outs: 2}, nums([]int{1, 3}, []float32{1, 2, 3}...)},
		{nodeTest{op: "Concat", opset: 1, in: ins(x, x)}, nums([]int{2, 6}, []float32{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}...)},
		{nodeTest{op: "Scatter", opset: 9, in: ins(x, nums([]int{1, 3}, []int64{1, 0, 1}...), nums([]int{1, 3}, []float32{7, 8, 9}...))},
			nums([]int{2, 3}, []float32{1, 8, 3, 7, 5, 9}...)},
		{nodeTest{op: "TopK", opset: 1, attrs: attrs(attr("k", int64(1))), in: ins(x), outs: 2}, nums([]int{2, 1}, []float32{3, 6}...)},
	} {
		same(t, fmt.Sprintf("%s in opset %d", test.n.op, test.n.opset), test.n.eval(t)[0], test.want)
	}
}

func TestSplitUneven(t *testing.T) {
	x := iota64(5)
	n := nodeTest{op: "Split", opset: 18, attrs: attrs(attr("num_outputs", int64(3))), in: ins(x), outs: 3}
	for i, want := range []*array.Array{int64s(0, 1), int64s(2, 3), int64s(4)} {
		same(t, fmt.Sprintf("part %d", i), n.eval(t)[i], want)
	}
	n = nodeTest{op: "Split", opset: 13, in: ins(x), outs: 2}
	if got, want := n.fails(t), "5 does not divide into 2 equal parts"; !strings.Contains(got, want) {
		t.Errorf("got error %q, want %q", got, want)
	}
}

// symbolic infers the operator on sizes and elements given as text.
func symbolic(t *testing.T, n nodeTest, facts ...ops.Fact) ops.Fact {
	t.Helper()
	n.in = make([]array.Value, len(facts))
	for i := range n.in {
		n.in[i] = array.Scalar(int64(0)) // a stand-in, so that the input is there
	}
	s := n.site(t)
	c := &ops.Infer{Site: s, In: facts, Out: make([]ops.Fact, max(n.outs, 1)), Fresh: func() sym.Expr { return sym.Symbol("fresh") }}
	if err := n.entry(t, s).Infer(c); err != nil {
		t.Fatalf("%s: %v", n.op, err)
	}
	return c.Out[0]
}

func dims(texts ...string) []sym.Expr {
	out := make([]sym.Expr, len(texts))
	for i, s := range texts {
		if s != "?" {
			out[i] = sym.FromText(s)
		}
	}
	return out
}

// elems is the fact of an int64 vector of these elements.
func elems(texts ...string) ops.Fact {
	f := ops.TensorFact(array.Int64, []sym.Expr{sym.Int(int64(len(texts)))})
	f.Elems = dims(texts...)
	return f
}

func text(es []sym.Expr) string {
	parts := make([]string, len(es))
	for i, e := range es {
		parts[i] = e.String()
	}
	return strings.Join(parts, " ")
}

func TestSymbolicShapes(t *testing.T) {
	x := ops.TensorFact(array.Float32, dims("N", "3", "H", "W"))
	shape := symbolic(t, nodeTest{op: "Shape", opset: 13}, x)
	if got := text(shape.Elems); got != "N 3 H W" {
		t.Errorf("Shape: got %s, want N 3 H W", got)
	}
	picked := symbolic(t, nodeTest{op: "Gather", opset: 13}, shape, elems("2", "-4"))
	if got := text(picked.Elems); got != "H N" {
		t.Errorf("Gather: got %s, want H N", got)
	}
	joined := symbolic(t, nodeTest{op: "Concat", opset: 13, attrs: attrs(attr("axis", int64(0)))}, picked, elems("-1"))
	if got := text(joined.Elems); got != "H N -1" {
		t.Errorf("Concat: got %s, want H N -1", got)
	}
	for _, test := range []struct{ target, want string }{
		{"N -1", "N " + sym.FromText("3*H*W").String()},
		{"0 -1", "N " + sym.FromText("3*H*W").String()},
		{"-1 3", sym.FromText("N*H*W").String() + " 3"},
		{"0 0 -1", "N 3 " + sym.FromText("H*W").String()},
		{"7 -1", "7 ?"},
	} {
		got := symbolic(t, nodeTest{op: "Reshape", opset: 14}, x, elems(strings.Fields(test.target)...))
		if text(got.Dims) != test.want {
			t.Errorf("Reshape to %s: got %s, want %s", test.target, text(got.Dims), test.want)
		}
	}
	if got := text(symbolic(t, nodeTest{op: "Reshape", opset: 14}, ops.TensorFact(array.Float32, dims("?", "4", "6")), elems("0", "-1")).Dims); got != "? 24" {
		t.Errorf("Reshape of an unknown batch: got %s, want ? 24", got)
	}
}

func TestSymbolicSlice(t *testing.T) {
	for _, test := range []struct{ size, start, end, step, want string }{
		{"N", "0", "9223372036854775807", "1", "N"},
		{"N", "1", "9223372036854775807", "1", "max(-1+N,0)"},
		{"N", "0", "-1", "1", "max(-1+N,0)"},
		{"N", "-1", "9223372036854775807", "1", "min(N,1)"},
		{"N", "0", "2", "1", "min(N,2)"},
		{"N", "0", "N", "1", "N"},
		{"2*N", "0", "N", "1", "N"},
		{"2*N", "N", "9223372036854775807", "1", "N"},
		{"N", "-1", "-9223372036854775807", "-1", "N"},
		{"2*N", "0", "9223372036854775807", "2", "N"},
		{"N", "M", "?", "1", "?"},
		{"?", "0", "2", "1", "?"},
		{"10", "2", "-1", "3", "3"},
	} {
		in := ops.TensorFact(array.Float32, dims(test.size))
		got := symbolic(t, nodeTest{op: "Slice", opset: 13}, in, elems(test.start), elems(test.end), elems("0"), elems(test.step))
		want := "?"
		if test.want != "?" {
			want = sym.FromText(test.want).String()
		}
		if text(got.Dims) != want {
			t.Errorf("%s[%s:%s:%s]: got %s, want %s", test.size, test.start, test.end, test.step, text(got.Dims), want)
		}
	}
}

// TestBudget checks that sizes are judged before memory is taken.
func TestBudget(t *testing.T) {
	x := iota64(2)
	for _, n := range []nodeTest{
		{op: "Tile", opset: 13, in: ins(x, int64s(1<<62))},
		{op: "Expand", opset: 13, in: ins(array.Scalar(int64(1)), int64s(1<<40))},
		{op: "Pad", opset: 13, in: ins(x, int64s(1<<40, 0))},
		{op: "CenterCropPad", opset: 18, in: ins(x, int64s(1<<40))},
		{op: "OneHot", opset: 11, in: ins(x, array.Scalar(int64(1<<40)), int64s(0, 1))},
		{op: "HannWindow", opset: 17, in: ins(array.Scalar(int64(1 << 40)))},
		{op: "ReverseSequence", opset: 10, in: ins(iota64(2, 2), int64s(1, 9))},
	} {
		if got := n.fails(t); !strings.Contains(got, "budget") && !strings.Contains(got, "want") {
			t.Errorf("%s: got error %q, want one that names the limit", n.op, got)
		}
	}
}
