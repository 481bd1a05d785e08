package ops_test

import (
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops"
	"github.com/starlarkgs/starlarkgs/ops/schema"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// nonsense makes inputs and attributes that fit a schema's kinds and nothing else.
type nonsense struct{ *rand.Rand }

func (h nonsense) pick(vs ...int64) int64 { return vs[h.IntN(len(vs))] }

func (h nonsense) int() int64 {
	return h.pick(0, 1, 2, 3, -1, -2, 4, 7, 1<<31, -1<<31, 1<<62, -1<<63)
}

func (h nonsense) small() int { return int(h.pick(0, 1, 1, 2, 2, 3, 4)) }

func (h nonsense) array() *array.Array {
	dts := []array.DType{array.Float32, array.Float32, array.Int64, array.Int64, array.Int32, array.Bool, array.String, array.Float16, array.Float64,
		array.Uint8, array.Int4, array.Complex64}
	dt := dts[h.IntN(len(dts))]
	shape := make([]int, h.small())
	for i := range shape {
		shape[i] = h.small()
	}
	a := array.New(dt, shape...)
	for i := range a.Size() {
		switch {
		case dt == array.String:
			_ = a.SetAt(i, fmt.Sprint(h.IntN(3)))
		case dt == array.Bool:
			_ = a.SetAt(i, h.IntN(2) == 0)
		case dt == array.Int64 && h.IntN(8) == 0:
			_ = a.SetAt(i, h.int())
		case dt.IsInt():
			_ = a.SetAt(i, int64(h.IntN(4)))
		default:
			_ = a.SetAt(i, float64(h.IntN(9)-4)/2)
		}
	}
	return a
}

func (h nonsense) value() array.Value {
	switch h.IntN(16) {
	case 0:
		return &array.Sequence{Items: []array.Value{h.array(), h.array()}}
	case 1:
		return &array.Map{Keys: array.FromSlice([]int64{1, 5}, 2), Values: []array.Value{h.array(), array.Scalar(float32(1))}}
	case 2:
		return &array.Optional{}
	case 3:
		return nil
	}
	return h.array()
}

// attr returns a value of the attribute's kind, or nil for one that is left out.
func (h nonsense) attr(a *schema.Attr) *ir.Attr {
	if h.IntN(3) == 0 && !a.Required || h.IntN(20) == 0 {
		return nil
	}
	list := make([]int64, h.small())
	for i := range list {
		list[i] = h.int()
	}
	switch ir.AttrKind(a.Kind) {
	case ir.AttrInt:
		return ir.NewAttr(a.Name, h.int())
	case ir.AttrInts:
		return ir.NewAttr(a.Name, list)
	case ir.AttrFloat:
		return ir.NewAttr(a.Name, float32(h.IntN(9)-4)/2)
	case ir.AttrFloats:
		fs := make([]float32, len(list))
		for i, n := range list {
			fs[i] = float32(n)
		}
		return ir.NewAttr(a.Name, fs)
	case ir.AttrString:
		return ir.NewAttr(a.Name, []string{"", "none", "add", "SAME_UPPER", "reflect", "bidirectional", "LEAF", "SOFTMAX", "x("}[h.IntN(9)])
	case ir.AttrStrings:
		return ir.NewAttr(a.Name, slices.Repeat([]string{"Tanh", "a", "LEAF"}[h.IntN(3):][:1], len(list)))
	case ir.AttrTensor:
		return ir.NewAttr(a.Name, h.array())
	case ir.AttrGraph:
		return ir.NewAttr(a.Name, ir.NewGraph("body"))
	}
	return nil
}

func (h nonsense) test(s *schema.Schema) (nodeTest, bool) {
	n := nodeTest{op: s.Name, opset: s.Since, outs: max(s.MinOutputs, min(s.MaxOutputs, 1+h.IntN(3)))}
	if s.Domain != "" {
		n.op = s.Domain + "::" + s.Name
	}
	for i := range s.Attrs {
		if a := h.attr(&s.Attrs[i]); a != nil {
			n.attrs = append(n.attrs, a)
		}
	}
	for range s.MinInputs + h.IntN(min(s.MaxInputs, s.MinInputs+4)-s.MinInputs+1) {
		n.in = append(n.in, h.value())
	}
	op := ops.Lookup(s.Domain, s.Name, s.Since)
	return n, op != nil && op.Eval != nil
}

// run evaluates and infers; a panic is returned with its stack.
func (h nonsense) run(t *testing.T, n nodeTest) (trouble string) {
	defer func() {
		if r := recover(); r != nil {
			trouble = fmt.Sprintf("%v\n%s", r, debug.Stack())
		}
	}()
	s := n.site(t)
	op := n.entry(t, s)
	c := &ops.Call{Site: s, In: n.in, Out: make([]array.Value, max(n.outs, 1)), Budget: &ops.Budget{MaxBytes: 1 << 20}}
	rounds := 0
	c.Run = func(*ir.Graph, []array.Value) ([]array.Value, error) {
		if rounds++; rounds > 20 {
			return nil, fmt.Errorf("enough")
		}
		return []array.Value{array.Scalar(true), h.array(), h.array()}, nil
	}
	if err := op.Eval(c); err == nil && c.Out[0] == nil {
		return "neither an output nor an error"
	}
	if op.Infer == nil {
		return ""
	}
	i := &ops.Infer{Site: s, In: make([]ops.Fact, len(n.in)), Out: make([]ops.Fact, len(c.Out))}
	i.Fresh = func() sym.Expr { return sym.Symbol("s") }
	i.Run = func(*ir.Graph, []ops.Fact) ([]ops.Fact, error) { return make([]ops.Fact, 2), nil }
	for k, v := range n.in {
		if a, ok := v.(*array.Array); ok && h.IntN(4) > 0 {
			i.In[k] = ops.TensorFact(a.DType(), sym.Ints(a.Shape()))
			if h.IntN(2) == 0 {
				i.In[k].Const = a
			}
		}
	}
	_ = op.Infer(i) // an error is an answer
	return ""
}

// structured are the operators that are tested: those that move, pick, order and
// nest values, for whom sizes and places come from data.
var structured = []string{"Shape", "Size", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Concat", "Split", "Expand", "Tile",
	"DepthToSpace", "SpaceToDepth", "Slice", "Pad", "Trilu", "ReverseSequence", "CenterCropPad", "Compress", "Gather", "GatherElements", "GatherND",
	"OneHot", "Scatter", "ScatterElements", "ScatterND", "TensorScatter", "If", "Loop", "Scan", "SequenceMap", "LSTM", "GRU", "RNN", "TopK", "Unique",
	"NonZero", "NonMaxSuppression", "SequenceEmpty", "SequenceConstruct", "SequenceAt", "SequenceInsert", "SequenceErase", "SequenceLength",
	"SplitToSequence", "ConcatFromSequence", "Optional", "OptionalHasElement", "OptionalGetElement", "StringConcat", "StringSplit",
	"StringNormalizer", "RegexFullMatch", "TfIdfVectorizer", "DFT", "STFT", "HannWindow", "HammingWindow", "BlackmanWindow", "MelWeightMatrix"}

// tested reports whether the operator is one of them, or of another domain.
func tested(s *schema.Schema) bool { return s.Domain != "" || slices.Contains(structured, s.Name) }

// TestNonsense feeds operators values of the wrong kinds, huge numbers and bodies
// that give anything: an error is an answer, a panic is not.
func TestNonsense(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 30
	}
	for _, s := range schema.All() {
		if !tested(s) {
			continue
		}
		h := nonsense{rand.New(rand.NewPCG(1, uint64(s.Since)))}
		failed := 0
		for range rounds {
			n, ok := h.test(s)
			if !ok || failed > 0 {
				break
			}
			if trouble := h.run(t, n); trouble != "" {
				failed++
				var in []string
				for _, v := range n.in {
					if v == nil {
						in = append(in, "none")
					} else {
						in = append(in, v.Summary())
					}
				}
				t.Errorf("%s, opset %d, on %v: %s", n.op, n.opset, in, trouble)
			}
		}
	}
}
