package ops

import (
	"fmt"
	"math"
	"testing"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
)

// gradCase is an operator on which a gradient is taken.
type gradCase struct {
	op     string
	shapes [][]int // of the inputs that it is taken by
	fixed  []*array.Array
	attrs  []*ir.Attr
}

var gradCases = []gradCase{
	{op: "Identity", shapes: [][]int{{2, 3}}},
	{op: "Add", shapes: [][]int{{2, 3}, {3}}}, {op: "Sub", shapes: [][]int{{2, 1}, {2, 3}}},
	{op: "Mul", shapes: [][]int{{2, 3}, {1, 3}}}, {op: "Div", shapes: [][]int{{2, 3}, {2, 1}}}, {op: "Pow", shapes: [][]int{{2, 3}, {3}}},
	{op: "Neg", shapes: [][]int{{4}}}, {op: "Abs", shapes: [][]int{{4}}}, {op: "Exp", shapes: [][]int{{4}}}, {op: "Log", shapes: [][]int{{4}}},
	{op: "Sqrt", shapes: [][]int{{4}}}, {op: "Reciprocal", shapes: [][]int{{4}}}, {op: "Sin", shapes: [][]int{{4}}}, {op: "Cos", shapes: [][]int{{4}}},
	{op: "Tanh", shapes: [][]int{{4}}}, {op: "Sigmoid", shapes: [][]int{{4}}}, {op: "Softplus", shapes: [][]int{{4}}}, {op: "Relu", shapes: [][]int{{4}}},
	{op: "LeakyRelu", shapes: [][]int{{4}}, attrs: []*ir.Attr{ir.NewAttr("alpha", float32(0.25))}},
	{op: "MatMul", shapes: [][]int{{2, 3}, {3, 4}}}, {op: "MatMul", shapes: [][]int{{5, 2, 3}, {3, 4}}}, {op: "MatMul", shapes: [][]int{{3}, {3, 4}}},
	{op: "MatMul", shapes: [][]int{{2, 3}, {3}}}, {op: "MatMul", shapes: [][]int{{3}, {3}}},
	{op: "Gemm", shapes: [][]int{{2, 3}, {3, 4}, {4}}, attrs: []*ir.Attr{ir.NewAttr("alpha", float32(0.5)), ir.NewAttr("beta", float32(2))}},
	{op: "Gemm", shapes: [][]int{{3, 2}, {4, 3}, {2, 1}}, attrs: []*ir.Attr{ir.NewAttr("transA", 1), ir.NewAttr("transB", 1)}},
	{op: "Conv", shapes: [][]int{{2, 4, 5, 5}, {6, 2, 3, 3}, {6}}, attrs: []*ir.Attr{ir.NewAttr("group", 2), ir.NewAttr("pads", []int64{1, 0, 1, 2}), ir.NewAttr("strides", []int64{2, 1})}},
	{op: "Softmax", shapes: [][]int{{2, 3, 2}}, attrs: []*ir.Attr{ir.NewAttr("axis", 1)}},
	{op: "ReduceSum", shapes: [][]int{{2, 3, 2}}, fixed: []*array.Array{array.FromSlice([]int64{1, -1})}, attrs: []*ir.Attr{ir.NewAttr("keepdims", 0)}},
	{op: "ReduceMean", shapes: [][]int{{2, 3}}}, {op: "ReduceMean", shapes: [][]int{{2, 3}}, fixed: []*array.Array{array.FromSlice([]int64{0})}},
	{op: "Concat", shapes: [][]int{{2, 3}, {2, 1}}, attrs: []*ir.Attr{ir.NewAttr("axis", -1)}},
	{op: "Reshape", shapes: [][]int{{2, 3}}, fixed: []*array.Array{array.FromSlice([]int64{3, 2})}},
	{op: "Flatten", shapes: [][]int{{2, 3, 2}}}, {op: "Squeeze", shapes: [][]int{{2, 1}}}, {op: "Unsqueeze", shapes: [][]int{{2}}, fixed: []*array.Array{array.FromSlice([]int64{0})}},
	{op: "Transpose", shapes: [][]int{{2, 3, 4}}, attrs: []*ir.Attr{ir.NewAttr("perm", []int64{1, 2, 0})}},
}

// TestGradientRules holds every rule against differences of the kernel's own
// results, in float64: of sum(op(x)²), so that no two elements weigh the same.
func TestGradientRules(t *testing.T) {
	tested := map[string]bool{}
	for i, gc := range gradCases {
		tested[gc.op] = true
		t.Run(fmt.Sprint(gc.op, i), func(t *testing.T) { gc.check(t) })
	}
	for op := range gradientRules {
		if !tested[op] {
			t.Errorf("the rule of %s is not tested", op)
		}
	}
}

func (gc gradCase) check(t *testing.T) {
	g := ir.NewModel("g", ir.Import{Version: 21}, ir.Import{Domain: trainingDomain, Version: 1}).Graph()
	var xs []*ir.Tensor
	var names []string
	var values []array.Value
	for i, shape := range gc.shapes {
		a := array.New(array.Float64, shape...)
		for k := range a.Size() {
			_ = a.SetAt(k, 0.3+float64((k*7+i*3)%11)*0.21) // positive, where every operator is smooth
		}
		x := ir.NewTensor(fmt.Sprint("x", i), ir.TensorType(array.Float64, nil))
		xs, names, values = append(xs, x), append(names, x.Name()), append(values, a)
	}
	g.SetInputs(xs...)
	ins := append([]*ir.Tensor{}, xs...)
	for i, a := range gc.fixed {
		ins = append(ins, ir.NewConstant(fmt.Sprint("c", i), a))
	}
	out, square, y := ir.NewTensor("out", nil), ir.NewTensor("square", nil), ir.NewTensor("y", nil)
	g.AddNode(ir.NewNode(gc.op, ins, []*ir.Tensor{out}, gc.attrs...))
	g.AddNode(ir.NewNode("Mul", []*ir.Tensor{out, out}, []*ir.Tensor{square}))
	g.AddNode(ir.NewNode("ReduceSum", []*ir.Tensor{square}, []*ir.Tensor{y}, ir.NewAttr("keepdims", 0)))
	outs := make([]*ir.Tensor, len(xs))
	for i := range outs {
		outs[i] = ir.NewTensor(fmt.Sprint("d", i), nil)
	}
	n := ir.NewNode("Gradient", xs, outs, ir.NewAttr("xs", names), ir.NewAttr("y", "y"))
	n.SetDomain(trainingDomain)
	g.AddNode(n)
	c := &Call{Site: Site{Node: n, Opset: 1}, In: values, Out: make([]array.Value, len(xs))}
	if err := gradient(c); err != nil {
		t.Fatal(err)
	}
	value := func() float64 { // of y, with the values as they are now
		d := &Call{Site: Site{Node: n, Opset: 1}, In: values, Out: make([]array.Value, len(xs))}
		tp := &tape{c: d, values: map[*ir.Tensor]*array.Array{}, depend: map[*ir.Tensor]bool{}}
		for i, x := range xs {
			tp.values[x] = values[i].(*array.Array)
		}
		v, err := tp.forward(y, 0)
		if err != nil {
			t.Fatal(err)
		}
		return v.At(0).(float64)
	}
	const h = 1e-5
	for i, v := range values {
		a, got := array.MutableData[float64](v.(*array.Array)), array.Data[float64](c.Out[i].(*array.Array))
		for k := range a {
			was := a[k]
			a[k] = was + h
			above := value()
			a[k] = was - h
			want := (above - value()) / (2 * h)
			a[k] = was
			if math.Abs(got[k]-want) > 1e-5*(1+math.Abs(want)) {
				t.Errorf("gradient by input %d, element %d: got %v, want %v", i, k, got[k], want)
			}
		}
	}
}

// TestGradientErrors wants an error where there is no rule, never a zero.
func TestGradientErrors(t *testing.T) {
	g := ir.NewModel("g", ir.Import{Version: 21}).Graph()
	x, y := ir.NewTensor("x", nil), ir.NewTensor("y", nil)
	g.SetInputs(x)
	g.AddNode(ir.NewNode("Floor", []*ir.Tensor{x}, []*ir.Tensor{y}))
	n := ir.NewNode("Gradient", []*ir.Tensor{x}, []*ir.Tensor{ir.NewTensor("d", nil)}, ir.NewAttr("xs", []string{"x"}), ir.NewAttr("y", "y"))
	g.AddNode(n)
	c := &Call{Site: Site{Node: n, Opset: 1}, In: []array.Value{array.Scalar(float64(1.5))}, Out: make([]array.Value, 1)}
	if err := gradient(c); err == nil || c.Out[0] != nil {
		t.Errorf("got %v and %v, want an error and no gradient", c.Out[0], err)
	}
}
