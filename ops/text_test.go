package ops_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
)

func TestStringNormalizer(t *testing.T) {
	in := strs("Monday", "TUESDAY", "monday")
	for _, test := range []struct {
		attrs []*ir.Attr
		want  *array.Array
	}{
		{nil, in},
		{attrs(attr("case_change_action", "UPPER")), strs("MONDAY", "TUESDAY", "MONDAY")},
		{attrs(attr("stopwords", []string{"monday"})), strs("TUESDAY")},
		{attrs(attr("stopwords", []string{"monday"}), attr("is_case_sensitive", int64(1)), attr("case_change_action", "LOWER")), strs("monday", "tuesday")},
		{attrs(attr("stopwords", []string{"monday", "tuesday"})), strs("")},
	} {
		same(t, fmt.Sprint(test.want), nodeTest{op: "StringNormalizer", opset: 10, attrs: test.attrs, in: ins(in)}.eval(t)[0], test.want)
	}
	turkish := nodeTest{op: "StringNormalizer", opset: 10, attrs: attrs(attr("case_change_action", "LOWER"), attr("locale", "tr_TR")), in: ins(strs("IĞ"))}
	same(t, "Turkish", turkish.eval(t)[0], strs("ığ"))
	bad := nodeTest{op: "StringNormalizer", opset: 10, attrs: attrs(attr("case_change_action", "Upper")), in: ins(in)}
	if got, want := bad.fails(t), `case_change_action: got "Upper", want "NONE", "LOWER" or "UPPER"`; !strings.Contains(got, want) {
		t.Errorf("got error %q, want %q", got, want)
	}
}

func TestStringSplit(t *testing.T) {
	for _, test := range []struct {
		in, delimiter string
		most          int64 // -1 is no attribute
		want          string
	}{
		{"a b  c ", "", -1, "a|b|c"},
		{" a b  c ", "", 1, "a|b  c "},
		{"a b", "", 0, "a b"},
		{"", "", -1, ""},
		{"a,,b,", ",", -1, "a||b|"},
		{"a,,b", ",", 1, "a|,b"},
		{"a--b", "--", -1, "a|b"},
	} {
		n := nodeTest{op: "StringSplit", opset: 20, attrs: attrs(attr("delimiter", test.delimiter)), in: ins(strs(test.in)), outs: 2}
		if test.most >= 0 {
			n.attrs = append(n.attrs, attr("maxsplit", test.most))
		}
		if got := strings.Join(n.eval(t)[0].(*array.Array).Strings(), "|"); got != test.want {
			t.Errorf("%q split at %q, %d times: got %q, want %q", test.in, test.delimiter, test.most, got, test.want)
		}
	}
}

func TestRegexFullMatch(t *testing.T) {
	n := nodeTest{op: "RegexFullMatch", opset: 20, attrs: attrs(attr("pattern", "a|ab")), in: ins(strs("ab", "abc", "a"))}
	same(t, "the whole string", n.eval(t)[0], array.FromSlice([]bool{true, false, true}))
	n.attrs = attrs(attr("pattern", "("))
	if got, want := n.fails(t), "pattern: "; !strings.Contains(got, want) {
		t.Errorf("got error %q, want %q", got, want)
	}
}

func TestLabels(t *testing.T) {
	ml := "ai.onnx.ml::"
	old := nodeTest{op: ml + "LabelEncoder", opset: 1, attrs: attrs(attr("classes_strings", []string{"x", "y"})), in: ins(strs("y", "?"))}
	same(t, "strings to numbers", old.eval(t)[0], int64s(1, -1))
	old.in = ins(int64s(0, 7))
	same(t, "numbers to strings", old.eval(t)[0], strs("x", "_Unused"))
	byTensor := nodeTest{op: ml + "LabelEncoder", opset: 4, attrs: attrs(attr("keys_tensor", array.FromSlice([]float64{1, 2, 1})),
		attr("values_tensor", array.FromSlice([]int16{5, 6, 7})), attr("default_tensor", array.FromSlice([]int16{-3}))), in: ins(array.FromSlice([]float64{1, 2, 9}))}
	same(t, "the last of equal keys", byTensor.eval(t)[0], array.FromSlice([]int16{7, 6, -3}))
	nan := float32(math.NaN())
	byFloat := nodeTest{op: ml + "LabelEncoder", opset: 4, attrs: attrs(attr("keys_floats", []float32{nan, 0}), attr("values_strings", []string{"none", "zero"})),
		in: ins(floats32(float32(math.Copysign(0, -1)), nan, 3))}
	same(t, "NaN and -0", byFloat.eval(t)[0], strs("zero", "none", "_Unused"))

	m := &array.Map{Keys: int64s(3, 1), Values: ins(array.Scalar(float32(2.5)), array.Scalar(float32(4)))}
	cast := nodeTest{op: ml + "CastMap", opset: 1, in: ins(m)}
	same(t, "by ascending key", cast.eval(t)[0], nums([]int{1, 2}, []float32{4, 2.5}...))
	cast.attrs = attrs(attr("map_form", "SPARSE"), attr("max_map", int64(5)), attr("cast_to", "TO_INT64"))
	same(t, "by place", cast.eval(t)[0], nums([]int{1, 5}, []int64{0, 4, 0, 2, 0}...))
	cast.attrs = attrs(attr("map_form", "SPARSE"), attr("max_map", int64(3)))
	if got, want := cast.fails(t), "got key 3, want 0 to 2"; !strings.Contains(got, want) {
		t.Errorf("got error %q, want %q", got, want)
	}
	dict := nodeTest{op: ml + "DictVectorizer", opset: 1, attrs: attrs(attr("int64_vocabulary", []int64{1, 2, 3})), in: ins(m)}
	same(t, "a dictionary", dict.eval(t)[0], nums([]int{1, 3}, []float32{4, 0, 2.5}...))

	zip := nodeTest{op: ml + "ZipMap", opset: 1, attrs: attrs(attr("classlabels_strings", []string{"u", "v"})), in: ins(nums([]int{2, 2}, []float32{1, 2, 3, 4}...))}
	s := zip.eval(t)[0].(*array.Sequence)
	if len(s.Items) != 2 {
		t.Fatalf("ZipMap: got %d maps, want 2", len(s.Items))
	}
	second := s.Items[1].(*array.Map)
	same(t, "keys", second.Keys, strs("u", "v"))
	same(t, "values", second.Values[1], array.Scalar(float32(4)))
	zip.in = ins(nums([]int{1, 3}, []float32{1, 2, 3}...))
	if got, want := zip.fails(t), "as many columns as class labels"; !strings.Contains(got, want) {
		t.Errorf("got error %q, want %q", got, want)
	}
}

// forestAttrs are those of a TreeEnsemble of one tree: is feature 0 a member of
// {1, 4}, and, if not, is feature 1 above 0.5?
func forestAttrs() []*ir.Attr {
	ints := func(name string, vs ...int64) *ir.Attr { return attr(name, vs) }
	return attrs(attr("nodes_splits", floats32(0, 0.5)), attr("nodes_modes", array.FromSlice([]uint8{6, 3})), ints("nodes_featureids", 0, 1),
		ints("nodes_truenodeids", 0, 1), ints("nodes_trueleafs", 1, 1), ints("nodes_falsenodeids", 1, 2), ints("nodes_falseleafs", 0, 1),
		attr("leaf_weights", floats32(10, 20, 30)), ints("leaf_targetids", 0, 1, 0), ints("tree_roots", 0), attr("n_targets", int64(2)),
		attr("membership_values", floats32(1, 4, float32(math.NaN()))))
}

func TestTreeEnsemble(t *testing.T) {
	x := nums([]int{3, 2}, []float32{4, 0, 2, 1, 2, 0}...)
	n := nodeTest{op: "ai.onnx.ml::TreeEnsemble", opset: 5, attrs: forestAttrs(), in: ins(x)}
	same(t, "scores", n.eval(t)[0], nums([]int{3, 2}, []float32{10, 0, 0, 20, 30, 0}...))
	for name, test := range map[string]struct {
		value []int64
		want  string
	}{
		"nodes_falsenodeids": {[]int64{0, 2}, "run in a circle"},
		"nodes_featureids":   {[]int64{0, 7}, "nodes_featureids: got 7, want 0 to 1"},
		"leaf_targetids":     {[]int64{0, 2, 0}, "leaf_targetids: got 2, want 0 to 1"},
		"tree_roots":         {[]int64{5}, "tree_roots: got 5, want 0 to 1"},
	} {
		bad := n
		bad.attrs = attrs(attr(name, test.value))
		for _, a := range forestAttrs() {
			if a.Name != name {
				bad.attrs = append(bad.attrs, a)
			}
		}
		if got := bad.fails(t); !strings.Contains(got, test.want) {
			t.Errorf("%s: got error %q, want %q", name, got, test.want)
		}
	}
}

// TestOptimizers compares one step with its formula, worked out by NumPy.
func TestOptimizers(t *testing.T) {
	training := "ai.onnx.preview.training::"
	rate, count := array.Scalar(float32(0.1)), array.Scalar(int64(2))
	x, g, v, h := floats32(1, -2), floats32(0.5, 3), floats32(0.2, -0.1), floats32(0.3, 0.7)
	for _, test := range []struct {
		n    nodeTest
		want []*array.Array
	}{
		{nodeTest{op: training + "Adagrad", opset: 1, attrs: attrs(attr("decay_factor", float32(0.5)), attr("norm_coefficient", float32(0.01))), in: ins(rate, count, x, g, h), outs: 2},
			[]*array.Array{floats32(0.9659273, -2.0481387), floats32(0.5601, 9.5804)}},
		{nodeTest{op: training + "Momentum", opset: 1, attrs: attrs(attr("alpha", float32(0.9)), attr("beta", float32(0.5)), attr("norm_coefficient", float32(0)), attr("mode", "standard")),
			in: ins(rate, count, x, g, v), outs: 2}, []*array.Array{floats32(0.957, -2.141), floats32(0.43, 1.41)}},
		{nodeTest{op: training + "Momentum", opset: 1, attrs: attrs(attr("alpha", float32(0.9)), attr("beta", float32(0.5)), attr("norm_coefficient", float32(0)), attr("mode", "nesterov")),
			in: ins(rate, count, x, g, v), outs: 2}, []*array.Array{floats32(0.9113, -2.4269), floats32(0.43, 1.41)}},
		{nodeTest{op: training + "Adam", opset: 1, in: ins(rate, count, x, g, v, h), outs: 3},
			[]*array.Array{floats32(0.9901178, -2.0058717), floats32(0.23, 0.21), floats32(0.29995, 0.7083)}},
	} {
		for i, got := range test.n.eval(t) {
			for k := range 2 {
				a, b := got.(*array.Array).At(k).(float64), test.want[i].At(k).(float64)
				if math.Abs(a-b) > 1e-5 {
					t.Errorf("%s: output %d: got %v, want %v", test.n.op, i, got, test.want[i])
				}
			}
		}
	}
}
