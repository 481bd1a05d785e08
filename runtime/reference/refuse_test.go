package reference_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx"
	"github.com/starlarkgs/starlarkgs/ops/infer"
	"github.com/starlarkgs/starlarkgs/runtime"
	"github.com/starlarkgs/starlarkgs/runtime/reference"
	"github.com/starlarkgs/starlarkgs/runtime/runtimetest"
)

// late are the operators that refuse some wrong sizes or attributes only when they
// run: most of them hang on the elements of inputs, which inference does not have.
var late = []string{
	"Adagrad", "Adam", "AffineGrid", "Attention", "Bernoulli", "BitCast", "Cast",
	"CausalConvWithState", "CenterCropPad", "Col2Im", "Compress", "ConvInteger", "ConvTranspose",
	"CumProd", "CumSum", "DFT", "DeformConv", "DequantizeLinear", "Expand", "EyeLike",
	"FlexAttention", "GRU", "Gather", "GatherND", "GridSample", "ImageDecoder", "LRN", "LSTM",
	"LabelEncoder", "LinearAttention", "LpNormalization", "MatMulInteger", "MaxUnpool",
	"MeanVarianceNormalization", "MelWeightMatrix", "Momentum", "NegativeLogLikelihoodLoss",
	"NonMaxSuppression", "OneHot", "Pad", "QLinearConv", "QLinearMatMul", "QuantizeLinear", "RNN",
	"Range", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
	"ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare", "Reshape", "Resize", "ReverseSequence",
	"RoiAlign", "RotaryEmbedding", "STFT", "Scan", "SequenceInsert", "SequenceMap", "Slice",
	"SoftmaxCrossEntropyLoss", "Split", "SplitToSequence", "Squeeze", "StringConcat",
	"StringNormalizer", "TensorScatter", "TfIdfVectorizer", "TopK", "TreeEnsemble", "Unsqueeze",
	"Upsample",
}

// TestWrongSizesAreRefusedEarly takes the standard's cases of one node, changes one
// size, one rank or one attribute at a time, and wants inference to refuse what the
// kernel refuses: who builds a model learns of it at that line.
func TestWrongSizesAreRefusedEarly(t *testing.T) {
	root := os.Getenv("SGS_CORPUS")
	if root == "" {
		t.Skip("SGS_CORPUS is not set: the conformance cases are not changed")
	}
	dirs, err := runtimetest.Find([]string{filepath.Join(root, "onnx-backend", "node")})
	if err != nil {
		t.Fatal(err)
	}
	tried, seen := 0, map[string]bool{}
	for _, dir := range dirs {
		w := newWrongCase(t, dir)
		if w == nil {
			continue
		}
		w.sizes()
		w.attrs()
		tried += w.refused
		for _, text := range w.late {
			op := w.model.Graph().Node(0).Op()
			if seen[op] = true; !slices.Contains(late, op) {
				t.Errorf("%s: only the kernel refuses %s", filepath.Base(dir), text)
			}
		}
	}
	for _, op := range late {
		if !seen[op] {
			t.Errorf("%s refuses all early, and is listed as late", op)
		}
	}
	if tried < 5000 {
		t.Errorf("%d wrong nodes were refused, want at least 5000: the changes change nothing", tried)
	}
}

// wrongCase is a case whose node is made wrong.
type wrongCase struct {
	model   *ir.Model
	in      map[string]array.Value
	refused int      // by the kernel
	late    []string // of these, what inference takes
}

// newWrongCase reads a case; it is nil when the case has more than one node.
func newWrongCase(t *testing.T, dir string) *wrongCase {
	t.Helper()
	m, err := onnx.Open(filepath.Join(dir, "model.onnx"), onnx.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if m.Graph().NumNodes() != 1 {
		return nil
	}
	w := &wrongCase{model: m, in: map[string]array.Value{}}
	for i, p := range m.Graph().Inputs() {
		if v, err := onnx.ReadValue(filepath.Join(dir, "test_data_set_0", fmt.Sprintf("input_%d.pb", i)), p.Type()); err == nil {
			w.in[p.Name()] = v
		}
	}
	return w
}

// try runs a changed model both ways.
func (w *wrongCase) try(what string, m *ir.Model, in map[string]array.Value) {
	for _, o := range m.Graph().Outputs() {
		o.SetType(nil)
	}
	problems := infer.Facts(m).Problems
	ctx := context.Background()
	s, err := reference.New().NewSession(ctx, m, runtime.Options{})
	if err == nil {
		_, err = s.Run(ctx, in)
		s.Close()
	}
	if err != nil {
		w.refused++
		if len(problems) == 0 {
			w.late = append(w.late, what+": "+err.Error())
		}
	}
}

// sizes makes each size of each input one more, and takes and adds an axis.
func (w *wrongCase) sizes() {
	for i, p := range w.model.Graph().Inputs() {
		a, ok := w.in[p.Name()].(*array.Array)
		if !ok {
			continue
		}
		for d, n := range a.Shape() {
			shape := slices.Clone(a.Shape())
			shape[d] = n + 1
			w.reshape(i, a, shape)
		}
		if a.Rank() > 0 {
			w.reshape(i, a, a.Shape()[1:])
		}
		w.reshape(i, a, append([]int{1}, a.Shape()...))
	}
}

func (w *wrongCase) reshape(i int, a *array.Array, shape []int) {
	m := w.model.Copy()
	p := m.Graph().Inputs()[i]
	p.SetType(ir.TensorType(a.DType(), ir.Ints(shape...)))
	in := map[string]array.Value{}
	for name, v := range w.in {
		in[name] = v
	}
	in[p.Name()] = array.New(a.DType(), shape...)
	w.try(fmt.Sprintf("input %d as %v", i, shape), m, in)
}

// attrs gives each attribute values that are out of range.
func (w *wrongCase) attrs() {
	for _, a := range w.model.Graph().Node(0).Attrs() {
		switch v := a.Value.(type) {
		case int64:
			w.set(a.Name, int64(99))
			w.set(a.Name, int64(-99))
		case []int64:
			w.set(a.Name, append(slices.Clone(v), 1))
		case string:
			w.set(a.Name, "nonsense")
		}
	}
}

func (w *wrongCase) set(name string, value any) {
	m := w.model.Copy()
	m.Graph().Node(0).SetAttr(ir.NewAttr(name, value))
	w.try(fmt.Sprintf("attribute %s = %v", name, value), m, w.in)
}
