package surgery

import (
	"math"
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops"
	"github.com/starlarkgs/starlarkgs/ops/infer"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

var identityRule = Rule{Name: "identity", Exact: true, Doc: "drops Identity", Apply: func(n *ir.Node, _ *infer.Report) bool {
	return n.Is("Identity") && n.Input(0) != nil && n.Output(0) != nil && drop(n, n.Input(0), n.Output(0))
}}

var dropoutRule = Rule{Name: "dropout", Exact: true, Doc: "drops Dropout that is not in training mode", Apply: func(n *ir.Node, _ *infer.Report) bool {
	if !n.Is("Dropout") || n.Graph().Opset("") < 7 || n.Input(0) == nil || n.Output(0) == nil {
		return false
	}
	if t := n.Input(2); t != nil && (!isFixed(t) || t.Array().Load() != nil || t.Array().Size() != 1 || t.Array().At(0) == true) {
		return false
	}
	return drop(n, n.Input(0), n.Output(0))
}}

func sameDims(a, b ops.Fact) bool {
	if a.Dims == nil || b.Dims == nil || len(a.Dims) != len(b.Dims) {
		return false
	}
	for i := range a.Dims {
		if !a.Dims[i].Equal(b.Dims[i]) {
			return false
		}
	}
	return true
}

// noopRule drops what leaves its first input as it is.
var noopRule = Rule{Name: "no-op", Exact: true, Doc: "drops Reshape, Expand, Slice, Pad, Tile, Flatten, Concat of one, Transpose, Cast, Resize and Squeeze that change nothing, and + 0, - 0, × 1, ÷ 1",
	Apply: func(n *ir.Node, facts *infer.Report) bool {
		in, out := n.Input(0), n.Output(0)
		if in == nil || out == nil || !ir.IsStandard(n.Domain()) {
			return false
		}
		a, b := facts.Fact(in), facts.Fact(out)
		switch n.Op() {
		case "Concat", "Max", "Min", "Sum", "Mean":
			return n.NumInputs() == 1 && drop(n, in, out)
		case "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Expand", "Tile":
			return sameDims(a, b) && drop(n, in, out)
		case "Transpose":
			return identityPerm(n, a) && drop(n, in, out)
		case "Cast":
			return a.DType != array.Undefined && a.DType == b.DType && drop(n, in, out)
		case "Pad":
			return sameDims(a, b) && onlyZeros(n) && drop(n, in, out)
		case "Slice":
			return sameDims(a, b) && forward(n) && drop(n, in, out)
		case "Add", "Sub", "Mul", "Div":
			return neutral(n, facts)
		}
		return false
	}}

func identityPerm(n *ir.Node, a ops.Fact) bool {
	attr := n.Attr("perm")
	if attr == nil {
		return len(a.Dims) == 1 && a.Dims != nil
	}
	perm, _ := attr.Value.([]int64)
	for i, p := range perm {
		if int(p) != i {
			return false
		}
	}
	return len(perm) > 0
}

// onlyZeros reports whether a Pad adds nothing at all, cutting included.
func onlyZeros(n *ir.Node) bool {
	var pads []float64
	if a := n.Attr("pads"); a != nil {
		vs, _ := a.Value.([]int64)
		for _, v := range vs {
			pads = append(pads, float64(v))
		}
	} else {
		pads = weights(n.Input(1))
	}
	return pads != nil && !slices.ContainsFunc(pads, func(v float64) bool { return v != 0 })
}

// forward reports whether all steps of a Slice are 1; one that keeps the sizes
// then takes everything.
func forward(n *ir.Node) bool {
	if n.Graph().Opset("") < 10 || n.Input(4) == nil {
		return true
	}
	steps := weights(n.Input(4))
	return steps != nil && !slices.ContainsFunc(steps, func(v float64) bool { return v != 1 })
}

// neutral drops + 0, - 0, × 1 and ÷ 1 where the other operand alone gives the
// result's shape. + 0 turns -0 into 0, which compares equal.
func neutral(n *ir.Node, facts *infer.Report) bool {
	want := 0.0
	if n.Op() == "Mul" || n.Op() == "Div" {
		want = 1
	}
	for i := range 2 {
		other := 1 - i
		if i == 0 && (n.Op() == "Sub" || n.Op() == "Div") {
			continue
		}
		c, x := n.Input(i), n.Input(other)
		if c == nil || x == nil || !isFixed(c) || c.Array().Size() > 1024 {
			continue
		}
		if !facts.Fact(x).DType.IsFloat() && !facts.Fact(x).DType.IsInt() || !sameDims(facts.Fact(x), facts.Fact(n.Output(0))) {
			continue
		}
		w := weights(c)
		if w != nil && !slices.ContainsFunc(w, func(v float64) bool { return v != want }) {
			return drop(n, x, n.Output(0))
		}
	}
	return false
}

// castRule joins two casts of which the first loses nothing.
var castRule = Rule{Name: "cast-cast", Exact: true, Doc: "joins two Casts when the first one widens", Apply: func(n *ir.Node, facts *infer.Report) bool {
	if !n.Is("Cast") || n.Input(0) == nil {
		return false
	}
	p, _ := n.Input(0).Producer()
	if p == nil || !p.Is("Cast") || p.Graph() != n.Graph() || p.Input(0) == nil {
		return false
	}
	from, mid := facts.Fact(p.Input(0)).DType, facts.Fact(n.Input(0)).DType
	if !widens(from, mid) {
		return false
	}
	n.SetInput(0, p.Input(0))
	return true
}}

func widens(from, to array.DType) bool {
	switch {
	case from == array.Undefined || to == array.Undefined:
		return false
	case from == array.Bool:
		return to.IsInt() || to.IsFloat()
	case from.IsSigned() && to.IsSigned(), from.IsUnsigned() && to.IsUnsigned():
		return to.Bits() >= from.Bits()
	case from == array.Float16 || from == array.BFloat16:
		return to == array.Float32 || to == array.Float64
	case from == array.Float32:
		return to == array.Float64
	}
	return false
}

var transposeRule = Rule{Name: "transpose-transpose", Exact: true, Doc: "joins two Transposes", Apply: func(n *ir.Node, _ *infer.Report) bool {
	if !n.Is("Transpose") || n.Input(0) == nil {
		return false
	}
	p, _ := n.Input(0).Producer()
	if p == nil || !p.Is("Transpose") || p.Graph() != n.Graph() {
		return false
	}
	a, okA := permOf(p)
	b, okB := permOf(n)
	if !okA || !okB || len(a) != len(b) {
		return false
	}
	joined := make([]int64, len(a))
	for i, k := range b {
		if k < 0 || int(k) >= len(a) {
			return false
		}
		joined[i] = a[k]
	}
	n.SetInput(0, p.Input(0))
	n.SetAttr(ir.NewAttr("perm", joined))
	return true
}}

func permOf(n *ir.Node) ([]int64, bool) {
	a := n.Attr("perm")
	if a == nil {
		return nil, false
	}
	perm, ok := a.Value.([]int64)
	return perm, ok
}

// reshapeRule lets a Reshape read what another reshaping read, and gives a
// Reshape whose output has at most one unknown size a constant target.
var reshapeRule = Rule{Name: "reshape", Exact: true, Doc: "joins Reshapes, and makes the target of a Reshape constant where at most one size is unknown", Apply: func(n *ir.Node, facts *infer.Report) bool {
	if !n.Is("Reshape") || n.Graph().Opset("") < 5 || n.Input(0) == nil || n.Input(1) == nil {
		return false
	}
	out := facts.Fact(n.Output(0)).Dims
	if out == nil || facts.Fact(n.Output(0)).DType == array.Undefined {
		return false
	}
	target, fixed := reshapeTarget(facts.Fact(n.Input(0)).Dims, out)
	if !fixed {
		return false
	}
	if !isFixed(n.Input(1)) {
		n.SetInput(1, ir.NewConstant(n.Input(1).Name(), array.FromSlice(target)))
		n.DelAttr("allowzero")
		return true
	}
	return joinReshape(n, target)
}}

// reshapeTarget returns a target whose one unknown size, if any, is -1.
func reshapeTarget(in, out []sym.Expr) ([]int64, bool) {
	target := make([]int64, len(out))
	open := 0
	for i, d := range out {
		n, ok := d.Int()
		if !ok || n == 0 {
			n = -1
			open++
		}
		target[i] = n
	}
	return target, open <= 1 && in != nil && !hasZero(out)
}

func hasZero(dims []sym.Expr) bool {
	return slices.ContainsFunc(dims, func(d sym.Expr) bool { n, ok := d.Int(); return ok && n == 0 })
}

func joinReshape(n *ir.Node, target []int64) bool {
	p, _ := n.Input(0).Producer()
	if p == nil || p.Graph() != n.Graph() || p.Input(0) == nil || !only(n.Input(0)) {
		return false
	}
	if !p.Is("Reshape") && !p.Is("Squeeze") && !p.Is("Unsqueeze") && !p.Is("Flatten") {
		return false
	}
	n.SetInput(0, p.Input(0))
	n.SetInput(1, ir.NewConstant(n.Input(1).Name(), array.FromSlice(target)))
	return true
}

// batchNormRule folds the affine map of a BatchNormalization into the Conv,
// ConvTranspose or Gemm before it. The products are rounded once more than
// before: relative differences of some 1e-6 are usual.
var batchNormRule = Rule{Name: "conv-batchnorm", Doc: "folds BatchNormalization into the Conv before it; results differ by rounding (relative 1e-5)", Apply: func(n *ir.Node, _ *infer.Report) bool {
	if !n.Is("BatchNormalization") || n.Input(0) == nil {
		return false
	}
	if a := n.Attr("training_mode"); a != nil && a.Value != int64(0) {
		return false
	}
	for _, t := range n.Outputs()[1:] {
		if t != nil && t.NumUses() > 0 {
			return false
		}
	}
	p, _ := n.Input(0).Producer()
	if p == nil || !(p.Is("Conv") || p.Is("ConvTranspose")) || p.Graph() != n.Graph() || !only(n.Input(0)) {
		return false
	}
	scale, bias, mean, variance := weights(n.Input(1)), weights(n.Input(2)), weights(n.Input(3)), weights(n.Input(4))
	if scale == nil || bias == nil || mean == nil || variance == nil {
		return false
	}
	eps := 1e-5
	if a := n.Attr("epsilon"); a != nil {
		if v, ok := a.Value.(float32); ok {
			eps = float64(v)
		}
	}
	mul, add := make([]float64, len(scale)), make([]float64, len(scale))
	for i := range scale {
		mul[i] = scale[i] / math.Sqrt(variance[i]+eps)
		add[i] = bias[i] - mean[i]*mul[i]
	}
	return foldAffine(p, n, mul, add)
}}

// foldAffine multiplies the output channels of a convolution by mul and adds
// add, and lets it make the output of n, which goes.
func foldAffine(p, n *ir.Node, mul, add []float64) bool {
	w := p.Input(1)
	if !isFixed(w) || w.Array().Load() != nil || w.Array().DType() != array.Float32 {
		return false
	}
	channels, axis := channelsOf(p, w.Array())
	if channels != len(mul) {
		return false
	}
	old := make([]float64, channels)
	if b := p.Input(2); b != nil {
		if old = weights(b); len(old) != channels {
			return false
		}
	}
	values := scaleChannels(p, w.Array(), axis, mul)
	if values == nil {
		return false
	}
	shift := make([]float32, channels)
	for i := range shift {
		shift[i] = float32(old[i]*mul[i] + add[i])
	}
	p.SetInput(1, ir.NewConstant(w.Name(), values))
	bias := ir.NewConstant(w.Name()+"_bias", array.FromSlice(shift))
	if b := p.Input(2); b != nil {
		bias.SetName(b.Name())
	}
	if p.NumInputs() < 3 {
		p.InsertInput(2, bias)
	} else {
		p.SetInput(2, bias)
	}
	out := n.Output(0)
	n.Discard()
	p.SetOutput(0, out)
	return true
}

// channelsOf returns the output channels of a convolution and the axis of its
// weights that they lie on.
func channelsOf(p *ir.Node, w *array.Array) (channels, axis int) {
	if w.Rank() < 3 {
		return -1, 0
	}
	if p.Is("Conv") {
		return w.Shape()[0], 0
	}
	return w.Shape()[1] * groupOf(p), 1
}

func groupOf(n *ir.Node) int {
	if a := n.Attr("group"); a != nil {
		if v, ok := a.Value.(int64); ok {
			return int(v)
		}
	}
	return 1
}

func scaleChannels(p *ir.Node, w *array.Array, axis int, mul []float64) *array.Array {
	inner := 1
	for _, d := range w.Shape()[axis+1:] {
		inner *= d
	}
	out := w.Copy()
	data := array.MutableData[float32](out)
	per := w.Shape()[axis]
	rows, group := w.Shape()[0], groupOf(p)
	for i := range data {
		ch := i / inner % per
		if axis == 1 { // ConvTranspose: the group follows from the input channel
			ch += i / inner / per / (rows / group) * per
		}
		data[i] = float32(float64(data[i]) * mul[ch])
	}
	return out
}

// addBiasRule folds an addition of one number for each channel into the Conv
// before it.
var addBiasRule = Rule{Name: "conv-add", Doc: "folds an addition for each channel into the bias of the Conv before it; results differ by rounding (relative 1e-6)", Apply: func(n *ir.Node, facts *infer.Report) bool {
	if !n.Is("Add") && !n.Is("Mul") {
		return false
	}
	for i := range 2 {
		x, c := n.Input(i), n.Input(1-i)
		if x == nil || c == nil || !isFixed(c) || !only(x) {
			continue
		}
		p, _ := x.Producer()
		if p == nil || !(p.Is("Conv") || p.Is("ConvTranspose")) || p.Graph() != n.Graph() || !isFixed(p.Input(1)) {
			continue
		}
		channels, _ := channelsOf(p, p.Input(1).Array())
		values := perChannel(c, channels, len(p.Input(1).Array().Shape()))
		if values == nil {
			continue
		}
		if n.Is("Add") {
			one := make([]float64, channels)
			for k := range one {
				one[k] = 1
			}
			return foldAffine(p, n, one, values)
		}
		return foldAffine(p, n, values, make([]float64, channels))
	}
	return false
}}

// perChannel returns a constant's values by channel when it broadcasts along
// nothing else.
func perChannel(t *ir.Tensor, channels, rank int) []float64 {
	shape := t.Array().Shape()
	if len(shape) > rank {
		return nil
	}
	at := 1 - (rank - len(shape)) // of the channel axis in the constant
	for i, d := range shape {
		if d != 1 && (i != at || d != channels) {
			return nil
		}
	}
	w := weights(t)
	if len(w) == 1 {
		w = slices.Repeat(w, channels)
	}
	if len(w) != channels {
		return nil
	}
	return w
}

// gemmRule joins MatMul and Add of matrices into Gemm.
var gemmRule = Rule{Name: "matmul-add", Doc: "joins MatMul and Add of matrices into Gemm; results differ by rounding (relative 1e-6)", Apply: func(n *ir.Node, facts *infer.Report) bool {
	if !n.Is("Add") || n.Graph().Opset("") < 7 {
		return false
	}
	for i := range 2 {
		x, c := n.Input(i), n.Input(1-i)
		if x == nil || c == nil || !only(x) || !isFixed(c) {
			continue
		}
		p, _ := x.Producer()
		if p == nil || !p.Is("MatMul") || p.Graph() != n.Graph() {
			continue
		}
		a, b := facts.Fact(p.Input(0)), facts.Fact(p.Input(1))
		if len(a.Dims) != 2 || len(b.Dims) != 2 || a.DType != array.Float32 || !sameDims(facts.Fact(x), facts.Fact(n.Output(0))) {
			continue
		}
		if c.Array().Rank() > 2 || c.Array().Rank() == 0 {
			continue
		}
		out := n.Output(0)
		n.Discard()
		p.SetOp("Gemm")
		p.InsertInput(2, c)
		p.SetOutput(0, out)
		return true
	}
	return false
}}

// duplicateRule lets the uses of a node that computes what an earlier one does
// read the earlier one's outputs.
var duplicateRule = Rule{Name: "duplicate", Exact: true, Doc: "joins nodes that compute the same of the same inputs", Apply: func(n *ir.Node, _ *infer.Report) bool {
	in := firstInput(n)
	if in == nil || len(n.Bodies()) > 0 || unfoldable(n) != "" && n.Op() != "Shape" {
		return false
	}
	g := n.Graph()
	for u := range in.Uses() {
		k := u.Node()
		if k == nil || k == n || k.Graph() != g || !sameCall(k, n) || g.IndexOf(k) > g.IndexOf(n) {
			continue
		}
		for i, t := range n.Outputs() {
			if t != nil && (k.Output(i) == nil || t.IsGraphOutput()) {
				return false
			}
		}
		outs := n.Outputs()
		n.Discard()
		for i, t := range outs {
			if t != nil {
				t.ReplaceUses(k.Output(i))
			}
		}
		return true
	}
	return false
}}

func firstInput(n *ir.Node) *ir.Tensor {
	for i := range n.NumInputs() {
		if t := n.Input(i); t != nil && !t.IsConstant() {
			return t
		}
	}
	return nil
}

const maxUsesSearched = 64

func sameCall(a, b *ir.Node) bool {
	if a.Op() != b.Op() || a.Domain() != b.Domain() || a.NumInputs() != b.NumInputs() || a.NumOutputs() != b.NumOutputs() || len(a.Attrs()) != len(b.Attrs()) {
		return false
	}
	for i := range a.NumInputs() {
		if !sameValue(a.Input(i), b.Input(i)) {
			return false
		}
	}
	for _, x := range a.Attrs() {
		y := b.Attr(x.Name)
		if y == nil || !sameAttr(x, y) {
			return false
		}
	}
	return true
}

func sameValue(a, b *ir.Tensor) bool {
	if a == b {
		return true
	}
	return isFixed(a) && isFixed(b) && a.Array().NBytes() <= maxUsesSearched*16 && a.Array().Load() == nil && b.Array().Load() == nil && array.Equal(a.Array(), b.Array())
}

func sameAttr(a, b *ir.Attr) bool {
	if a.Kind != b.Kind || a.Ref != b.Ref {
		return false
	}
	switch x := a.Value.(type) {
	case int64, float32, string, nil:
		return a.Value == b.Value
	case []int64:
		return slices.Equal(x, b.Value.([]int64))
	case []float32:
		return slices.Equal(x, b.Value.([]float32))
	case []string:
		return slices.Equal(x, b.Value.([]string))
	case *ir.Literal:
		y := b.Value.(*ir.Literal)
		return x.Array != nil && y.Array != nil && x.Array.Load() == nil && y.Array.Load() == nil && array.Equal(x.Array, y.Array)
	}
	return false
}
