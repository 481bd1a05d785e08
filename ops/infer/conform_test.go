package infer_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx"
	"github.com/starlarkgs/starlarkgs/ops"
	"github.com/starlarkgs/starlarkgs/ops/infer"
)

// dataDependent are the operators whose output has a size that hangs on more
// than integers which decide it, such as how many elements are not zero; Cast
// stands behind a Range of floats.
var dataDependent = []string{"Compress", "NonZero", "NonMaxSuppression", "Unique", "StringNormalizer", "StringSplit", "ImageDecoder", "Loop", "Cast"}

// noRank are the cases whose outputs have no rank before a run: they come out of
// sequences whose elements differ.
var noRank = []string{"test_sequence_model1", "test_loop16_seq_none", "test_sequence_model5"}

// TestConformanceShapes infers every case of the standard and holds the result
// against its data. What is inferred never contradicts these; it is whole, or a
// reason is given and the shape would follow if the inputs' elements were known.
func TestConformanceShapes(t *testing.T) {
	root := corpus(t)
	cases, unknown := 0, 0
	for _, name := range []string{"node", "simple", "pytorch-converted", "pytorch-operator"} {
		dirs, err := filepath.Glob(filepath.Join(root, "onnx-backend", name, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range dirs {
			cases++
			unknown += checkCase(t, dir)
		}
	}
	if cases != 1654 {
		t.Errorf("%d cases, want 1654", cases)
	}
	t.Logf("%d outputs of %d cases hang on the elements of inputs", unknown, cases)
	if most := 319; unknown > most {
		t.Errorf("%d outputs are not known, want at most %d", unknown, most)
	}
}

func corpus(t *testing.T) string {
	t.Helper()
	root := os.Getenv("SGS_CORPUS")
	if root == "" {
		t.Skip("SGS_CORPUS is not set: the models of the corpus are not inferred")
	}
	return root
}

func open(t *testing.T, path string) *ir.Model {
	t.Helper()
	m, err := onnx.Open(path, onnx.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// checkCase returns how many outputs are not known.
func checkCase(t *testing.T, dir string) (unknown int) {
	t.Helper()
	name := filepath.Base(dir)
	m := open(t, filepath.Join(dir, "model.onnx"))
	bare, given := m.Copy(), m.Copy()
	forget(bare)
	forget(given)
	giveValues(given, dir)
	r, all := infer.Facts(bare), infer.Facts(given)
	for i, o := range bare.Graph().Outputs() {
		n, _ := o.Producer()
		want, err := onnx.ReadValue(filepath.Join(dir, "test_data_set_0", fmt.Sprintf("output_%d.pb", i)), m.Graph().Output(i).Type())
		if err != nil || n == nil {
			continue
		}
		if bad := contradiction(r.Fact(o), want); bad != "" {
			t.Errorf("%s: output %q of %s: %s", name, o.Name(), n.Op(), bad)
		}
		if r.Known(o) {
			continue
		}
		unknown++
		if f := r.Fact(o); f.Kind == ir.TensorKind && (f.DType == array.Undefined || f.Dims == nil) && !slices.Contains(noRank, name) {
			t.Errorf("%s: output %q of %s: neither type nor rank is known", name, o.Name(), n.Op())
		}
		if r.Why(o) == "" {
			t.Errorf("%s: output %q of %s is not known, and no reason is given", name, o.Name(), n.Op())
		}
		if !all.Known(given.Graph().Output(i)) && !slices.Contains(dataDependent, n.Op()) && !slices.Contains(noRank, name) {
			t.Errorf("%s: output %q of %s is not known even where all inputs are: %s", name, o.Name(), n.Op(), r.Why(o))
		}
	}
	return unknown
}

// forget drops what the model records of its outputs.
func forget(m *ir.Model) {
	for _, o := range m.Graph().Outputs() {
		if n, _ := o.Producer(); n != nil {
			o.SetType(nil)
		}
	}
}

// giveValues makes the inputs constants of the case's data.
func giveValues(m *ir.Model, dir string) {
	for i, in := range m.Graph().Inputs() {
		v, err := onnx.ReadValue(filepath.Join(dir, "test_data_set_0", fmt.Sprintf("input_%d.pb", i)), in.Type())
		if a, ok := v.(*array.Array); ok && err == nil && !in.IsConstant() {
			in.ReplaceUses(ir.NewConstant(in.Name(), a))
		}
	}
}

func contradiction(f ops.Fact, v array.Value) string {
	a, ok := v.(*array.Array)
	switch {
	case !ok || f.Kind == ir.NoKind || f.Kind == ir.OptionalKind:
		return ""
	case f.Kind != ir.TensorKind:
		return fmt.Sprintf("inferred kind %v, got a tensor", f.Kind)
	case f.DType != array.Undefined && f.DType != a.DType():
		return fmt.Sprintf("inferred %s, got %s", f.DType, a.DType())
	case f.Dims == nil:
		return ""
	case len(f.Dims) != a.Rank():
		return fmt.Sprintf("inferred rank %d, got %v", len(f.Dims), a.Shape())
	}
	for i, d := range f.Dims {
		if n, ok := d.Int(); ok && int(n) != a.Shape()[i] {
			return fmt.Sprintf("inferred %v, got %v", f.Dims, a.Shape())
		}
	}
	return ""
}

// TestRealModelShapes wants a shape for at least 99 % of the values of each real
// model, those of bodies included, of which the files record only the inputs'.
func TestRealModelShapes(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(corpus(t), "models", "*.onnx"))
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d models, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			m := open(t, file)
			for _, g := range m.Graphs() {
				for _, n := range g.Nodes() {
					for _, o := range n.Outputs() {
						if o != nil {
							o.SetType(nil)
						}
					}
				}
			}
			nameSizes(m, recurrent[filepath.Base(file)])
			r := infer.Facts(m)
			known, all := 0, 0
			reasons := map[string]int{}
			for _, g := range m.Graphs() {
				if r.Dead(g) {
					continue // its values are never made
				}
				for _, n := range g.Nodes() {
					for _, o := range n.Outputs() {
						if o == nil {
							continue
						}
						all++
						if r.Known(o) {
							known++
						} else {
							reasons[r.Why(o)]++
						}
					}
				}
			}
			if known*100 < all*99 {
				t.Errorf("%d of %d values are known, want 99 %%: %v", known, all, reasons)
			}
		})
	}
}

// recurrent are sizes that models need whose bodies choose by them between ranks.
var recurrent = map[string][]int{"silero_vad_v5.onnx": {1, 512}, "silero_vad_legacy.onnx": {1, 512}}

// nameSizes gives every size of an input that is not a number a symbol, or the
// number that the model is used with.
func nameSizes(m *ir.Model, sizes []int) {
	for _, in := range m.Graph().Inputs() {
		shape := slices.Clone(in.Shape())
		for i := range shape {
			if _, ok := shape[i].Size(); !ok && sizes != nil {
				shape[i] = ir.Num(1)
				if in.Name() == "input" {
					shape[i] = ir.Num(int64(sizes[i]))
				}
			}
		}
		for i, d := range shape {
			if _, ok := d.Size(); !ok && d.Symbol() == "" {
				shape[i] = ir.Sym(fmt.Sprintf("%s_%d", in.Name(), i))
			}
		}
		if !in.IsConstant() && shape != nil {
			in.SetShape(shape)
		}
		if in.Name() == "sr" {
			in.ReplaceUses(ir.NewConstant("sr", array.Scalar(int64(16000))))
		}
	}
}

// TestDynamicFlatten is what exporters write for x.flatten(1), with the batch
// taken from the input's own shape.
func TestDynamicFlatten(t *testing.T) {
	m := ir.NewModel("flatten", ir.Import{Version: 17})
	g := m.Graph()
	x := ir.NewTensor("x", ir.TensorType(array.Float32, ir.Shape{ir.Sym("N"), ir.Sym("C"), ir.Sym("H"), ir.Sym("W")}))
	g.SetInputs(x)
	add := func(op string, ins ...*ir.Tensor) *ir.Tensor {
		out := ir.NewTensor(g.FreshName(op), nil)
		g.AddNode(ir.NewNode(op, ins, []*ir.Tensor{out}))
		return out
	}
	number := func(v ...int64) *ir.Tensor {
		a := array.FromSlice(v, len(v))
		return ir.NewConstant(g.FreshName("k"), a)
	}
	scalar := func(v int64) *ir.Tensor { return ir.NewConstant(g.FreshName("k"), array.Scalar(v)) }
	shape := add("Shape", x)
	size := func(i int64) *ir.Tensor { return add("Gather", shape, scalar(i)) }
	flat := add("Mul", add("Mul", size(1), size(2)), size(3))
	target := ir.NewTensor("target", nil)
	g.AddNode(ir.NewNode("Concat", []*ir.Tensor{add("Unsqueeze", size(0), number(0)), add("Unsqueeze", flat, number(0))}, []*ir.Tensor{target}, ir.NewAttr("axis", 0)))
	y := add("Reshape", x, target)
	g.SetOutputs(y)
	r := infer.Model(m)
	if got := y.Type().String(); got != "float32[N,C*H*W]" || !r.Known(y) {
		t.Errorf("got %s, want float32[N,C*H*W]", got)
	}
}
