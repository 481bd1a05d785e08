package schema

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestFacts holds the data against what the standard's operator pages say.
func TestFacts(t *testing.T) {
	tests := []struct {
		name   string
		opset  int
		since  int
		counts string // inputs and outputs
		want   string // the signature
	}{
		{"Conv", 1, 1, "2..3 1..1", `Conv(X, W, B=None, *, auto_pad="NOTSET", dilations=None, group=1, kernel_shape=None, pads=None, strides=None) -> Y`},
		{"Conv", 11, 11, "2..3 1..1", `Conv(X, W, B=None, *, auto_pad="NOTSET", dilations=None, group=1, kernel_shape=None, pads=None, strides=None) -> Y`},
		{"Conv", 28, 22, "2..3 1..1", `Conv(X, W, B=None, *, auto_pad="NOTSET", dilations=None, group=1, kernel_shape=None, pads=None, strides=None) -> Y`},
		{"Split", 1, 1, "1..2 1..*", `Split(input, split=None, *, axis=None, split=None) -> outputs...`},
		{"Split", 10, 2, "1..1 1..*", `Split(input, *, axis=0, split=None) -> outputs`},
		{"Split", 12, 11, "1..1 1..*", `Split(input, *, axis=0, split=None) -> outputs`},
		{"Split", 17, 13, "1..2 1..*", `Split(input, split=None, *, axis=0) -> outputs`},
		{"Split", 18, 18, "1..2 1..*", `Split(input, split=None, *, axis=0, num_outputs=None) -> outputs`},
		{"Clip", 10, 6, "1..1 1..1", `Clip(input, *, max=3.4028235e+38, min=-3.4028235e+38) -> output`},
		{"Clip", 11, 11, "1..3 1..1", `Clip(input, min=None, max=None) -> output`},
		{"Softmax", 12, 11, "1..1 1..1", `Softmax(input, *, axis=1) -> output`},
		{"Softmax", 13, 13, "1..1 1..1", `Softmax(input, *, axis=-1) -> output`},
		{"BatchNormalization", 13, 9, "5..5 1..5", `BatchNormalization(X, scale, B, mean, var, *, epsilon=1e-05, momentum=0.9) -> Y, mean, var, saved_mean, saved_var`},
		{"BatchNormalization", 21, 15, "5..5 1..3", `BatchNormalization(X, scale, B, input_mean, input_var, *, epsilon=1e-05, momentum=0.9, training_mode=0) -> Y, running_mean, running_var`},
		{"Cast", 12, 9, "1..1 1..1", `Cast(input, *, to) -> output`},
		{"LeakyRelu", 16, 16, "1..1 1..1", `LeakyRelu(X, *, alpha=0.01) -> Y`},
		{"Concat", 13, 13, "1..* 1..1", `Concat(*inputs, axis) -> concat_result`},
		{"Loop", 13, 13, "2..* 1..*", `Loop(M=None, cond=None, *v_initial, body) -> v_final_and_scan_outputs`},
		{"RNN", 22, 22, "3..6 0..2", `RNN(X, W, R, B=None, sequence_lens=None, initial_h=None, *, activation_alpha=None, activation_beta=None, ` +
			`activations=["Tanh", "Tanh"], clip=None, direction="forward", hidden_size=None, layout=0) -> Y, Y_h`},
		{"MeanVarianceNormalization", 13, 13, "1..1 1..1", `MeanVarianceNormalization(X, *, axes=[0, 2, 3]) -> Y`},
		{"Dropout", 28, 22, "1..3 1..2", `Dropout(data, ratio=None, training_mode=None, *, seed=None) -> output, mask`},
		{"ReduceSum", 13, 13, "1..2 1..1", `ReduceSum(data, axes=None, *, keepdims=1, noop_with_empty_axes=0) -> reduced`},
		{"ReduceMax", 17, 13, "1..1 1..1", `ReduceMax(data, *, axes=None, keepdims=1) -> reduced`},
		{"Pad", 1, 1, "1..1 1..1", `Pad(data, *, mode="constant", paddings, value=0.0) -> output`},
	}
	for _, tt := range tests {
		s, ok := Lookup("", tt.name, tt.opset)
		if !ok {
			t.Errorf("Lookup(%s, %d) found nothing", tt.name, tt.opset)
			continue
		}
		if s.Since != tt.since {
			t.Errorf("Lookup(%s, %d).Since = %d, want %d", tt.name, tt.opset, s.Since, tt.since)
		}
		counts := strings.ReplaceAll(fmt.Sprintf("%d..%d %d..%d", s.MinInputs, s.MaxInputs, s.MinOutputs, s.MaxOutputs), fmt.Sprint(Unbounded), "*")
		if counts != tt.counts {
			t.Errorf("%s-%d: counts %s, want %s", tt.name, s.Since, counts, tt.counts)
		}
		if got := s.Signature(); got != tt.want {
			t.Errorf("%s-%d:\n got %s\nwant %s", tt.name, s.Since, got, tt.want)
		}
	}
}

func TestAllowedTypes(t *testing.T) {
	tests := []struct {
		name  string
		opset int
		input int
		want  string
	}{
		{"Conv", 1, 0, "float64, float32 or float16"},
		{"Conv", 11, 2, "float64, float32 or float16"},
		{"Conv", 22, 0, "bfloat16, float64, float32 or float16"},
		{"Gather", 13, 1, "int32 or int64"},
		{"Reshape", 21, 1, "int64"},
		{"If", 1, 0, "bool"},
		{"Relu", 14, 0, "bfloat16, float64, float32, float16, int16, int32, int64 or int8"},
		{"SequenceLength", 11, 0, "seq(tensor(bool)), seq(tensor(complex128)), seq(tensor(complex64)), seq(tensor(double)), seq(tensor(float)), " +
			"seq(tensor(float16)), seq(tensor(int16)), seq(tensor(int32)), seq(tensor(int64)), seq(tensor(int8)), seq(tensor(string)), " +
			"seq(tensor(uint16)), seq(tensor(uint32)), seq(tensor(uint64)) or seq(tensor(uint8))"},
	}
	for _, tt := range tests {
		s, _ := Lookup("", tt.name, tt.opset)
		if got := plainList(s.Allowed(s.Input(tt.input))); got != tt.want {
			t.Errorf("%s-%d input %d: got %s, want %s", tt.name, s.Since, tt.input, got, tt.want)
		}
	}
}

// TestKinds pins the kinds of attributes to operators that have one of each.
func TestKinds(t *testing.T) {
	tests := []struct {
		domain, name, attr string
		want               Kind
	}{
		{"", "LeakyRelu", "alpha", 1}, {"", "Concat", "axis", 2}, {"", "Conv", "auto_pad", 3}, {"", "ConstantOfShape", "value", 4},
		{"", "If", "then_branch", 5}, {"", "LSTM", "activation_alpha", 6}, {"", "Conv", "pads", 7}, {"", "LSTM", "activations", 8},
		{"", "Constant", "sparse_value", 11}, {"", "Optional", "type", 13}, {"ai.onnx.ml", "TreeEnsemble", "nodes_splits", 4},
	}
	for _, tt := range tests {
		s, ok := Lookup(tt.domain, tt.name, 28)
		if !ok || s.Attr(tt.attr) == nil {
			t.Errorf("%s has no %s", tt.name, tt.attr)
		} else if got := s.Attr(tt.attr).Kind; got != tt.want {
			t.Errorf("%s.%s is of kind %d, want %d", tt.name, tt.attr, got, tt.want)
		}
	}
	if KindTypes != 14 || len(kindNames) != int(KindTypes)+1 {
		t.Errorf("got %d kinds with %d names, want 14 and one more for none", KindTypes, len(kindNames))
	}
}

// TestConsistent holds every schema against itself.
func TestConsistent(t *testing.T) {
	types := map[Kind]reflect.Type{
		KindFloat: reflect.TypeFor[float32](), KindInt: reflect.TypeFor[int64](), KindString: reflect.TypeFor[string](),
		KindFloats: reflect.TypeFor[[]float32](), KindInts: reflect.TypeFor[[]int64](), KindStrings: reflect.TypeFor[[]string](),
	}
	for _, s := range All() {
		label := fmt.Sprintf("%s-%d", s.Name, s.Since)
		for i, a := range s.Attrs {
			if a.Default != nil && reflect.TypeOf(a.Default) != types[a.Kind] {
				t.Errorf("%s.%s: default %T of kind %d", label, a.Name, a.Default, a.Kind)
			}
			if a.Required && a.Default != nil {
				t.Errorf("%s.%s is required and has the default %v", label, a.Name, a.Default)
			}
			if i > 0 && s.Attrs[i-1].Name >= a.Name {
				t.Errorf("%s: attributes %q, %q are out of order", label, s.Attrs[i-1].Name, a.Name)
			}
			if a.Kind < KindFloat || a.Kind > KindTypes || s.Attr(a.Name) == nil {
				t.Errorf("%s.%s: kind %d, found %v", label, a.Name, a.Kind, s.Attr(a.Name) != nil)
			}
		}
		for side, ps := range [][]Param{s.Inputs, s.Outputs} {
			for i, p := range ps {
				if p.Option == Variadic && i != len(ps)-1 {
					t.Errorf("%s: %s is variadic and not the last", label, p.Name)
				}
				for _, typ := range s.Allowed(&p) {
					if !strings.HasSuffix(typ, ")") {
						t.Errorf("%s: side %d: %s may be of type %q, which is none", label, side, p.Name, typ)
					}
				}
			}
		}
		if (s.ContextFunction || len(s.FunctionOpsets) > 0) != s.Function {
			t.Errorf("%s: function %v, of opsets %v, by context %v", label, s.Function, s.FunctionOpsets, s.ContextFunction)
		}
	}
}

func TestDeterminism(t *testing.T) {
	random := map[string]bool{}
	for _, s := range All() {
		if s.Own && s.Declared != Undeclared {
			t.Errorf("%s is declared %s, want nothing declared", s.Name, s.Declared)
		}
		if !s.Deterministic && !s.Own {
			random[s.Name] = true
			if s.Declared != NotPure {
				t.Errorf("%s-%d draws random numbers but is declared %s", s.Name, s.Since, s.Declared)
			}
		}
	}
	want := []string{"Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
	var got []string
	for name := range random {
		got = append(got, name)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("random operators: got %q, want %q", got, want)
	}
	for name, declared := range map[string]Determinism{"If": NotPure, "AffineGrid": NotPure, "DepthToSpace": Undeclared, "Add": Pure} {
		if s, _ := Lookup("", name, 28); s.Declared != declared || !s.Deterministic {
			t.Errorf("%s: declared %s, deterministic %v, want %s and true", name, s.Declared, s.Deterministic, declared)
		}
	}
}

func TestFunctions(t *testing.T) {
	tests := []struct {
		name    string
		opset   int
		opsets  []int
		context bool
	}{
		{"Mish", 18, []int{18}, false}, {"LayerNormalization", 17, []int{17, 18}, true}, {"Gelu", 20, []int{20}, true},
		{"Celu", 12, []int{12}, true}, {"Celu", 28, []int{28}, false}, {"Conv", 22, nil, false},
	}
	for _, tt := range tests {
		s, _ := Lookup("", tt.name, tt.opset)
		if !slices.Equal(s.FunctionOpsets, tt.opsets) || s.ContextFunction != tt.context || s.Function != (tt.opsets != nil) {
			t.Errorf("%s-%d: opsets %v, context %v, function %v, want %v, %v", tt.name, s.Since, s.FunctionOpsets, s.ContextFunction, s.Function, tt.opsets, tt.context)
		}
	}
}

func TestIRVersionFor(t *testing.T) {
	want := []int{3, 3, 3, 3, 3, 3, 3, 3, 3, 4, 5, 6, 7, 7, 7, 8, 8, 8, 8, 9, 9, 10, 10, 11, 12, 13, 13, 13, 14} // by opset
	for opset, v := range want {
		if got := IRVersionFor(opset); got != v {
			t.Errorf("IRVersionFor(%d) = %d, want %d", opset, got, v)
		}
	}
	if got := IRVersionFor(1000); got != want[len(want)-1] {
		t.Errorf("IRVersionFor(1000) = %d, want the newest known", got)
	}
}

func TestDomains(t *testing.T) {
	counts := map[string]int{}
	for _, s := range All() {
		counts[s.Domain]++
	}
	for domain, want := range map[string]struct{ schemas, newest int }{
		"": {629, 28}, "ai.onnx.ml": {25, 5}, "ai.onnx.preview": {1, 1}, "ai.onnx.preview.training": {4, 1},
		"com.microsoft": {150, 1},
	} {
		if counts[domain] < want.schemas || MaxOpset(domain) < want.newest {
			t.Errorf("domain %q: %d schemas up to opset %d, want at least %d, %d", domain, counts[domain], MaxOpset(domain), want.schemas, want.newest)
		}
	}
	if got := Domains(); !slices.Equal(got, []string{"", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training", "com.microsoft"}) {
		t.Errorf("Domains() = %q", got)
	}
	if MaxOpset("org.example") != 0 || Versions("org.example", "Gelu") != nil || Names("org.example", 1) != nil {
		t.Error("a domain that nobody defines has schemas")
	}
	if MaxOpset("ai.onnx") != MaxOpset("") || len(Versions("ai.onnx", "Split")) != 5 {
		t.Errorf("ai.onnx: opset %d, %d versions of Split, want the same as of the empty domain, 5", MaxOpset("ai.onnx"), len(Versions("ai.onnx", "Split")))
	}
}

// TestOwn holds ONNX Runtime's own operators against its documentation of them.
func TestOwn(t *testing.T) {
	tests := []struct{ domain, name, counts, want string }{
		{"com.microsoft", "Gelu", "1..1 1..1", `Gelu(X) -> Y`},
		{"com.microsoft", "FusedMatMul", "2..2 1..1", `FusedMatMul(A, B, *, alpha=1.0, transA=0, transB=0, transBatchA=0, transBatchB=0) -> Y`},
		{"com.microsoft", "QuickGelu", "1..1 1..1", `QuickGelu(X, *, alpha=1.702) -> Y`},
		{"com.microsoft", "SkipLayerNormalization", "3..5 1..4",
			`SkipLayerNormalization(input, skip, gamma, beta=None, bias=None, *, epsilon=1e-12) -> output, mean, inv_std_var, input_skip_bias_sum`},
		{"com.microsoft", "QLinearConcat", "3..* 1..1", `QLinearConcat(Y_scale, Y_zero_point, *inputs, axis) -> Y`},
		{"com.microsoft", "FusedConv", "2..4 1..1", `FusedConv(X, W, B=None, Z=None, *, activation=None, activation_params=None, auto_pad="NOTSET", ` +
			`dilations=None, group=1, kernel_shape=None, pads=None, strides=None) -> Y`},
		{"", "SimplifiedLayerNormalization", "2..2 1..2", `SimplifiedLayerNormalization(X, scale, *, axis=-1, epsilon=1e-05, stash_type=1) -> Y, inv_std_var`},
		{"", "LayerNormalization", "2..3 1..3", `LayerNormalization(X, Scale, B=None, *, axis=-1, epsilon=1e-05, stash_type=1) -> Y, Mean, InvStdDev`},
	}
	for _, tt := range tests {
		s, ok := Lookup(tt.domain, tt.name, 1)
		if !ok || !s.Own {
			t.Errorf("Lookup(%s, %s, 1) = %+v, want one of ONNX Runtime's own", tt.domain, tt.name, s)
			continue
		}
		counts := strings.ReplaceAll(fmt.Sprintf("%d..%d %d..%d", s.MinInputs, s.MaxInputs, s.MinOutputs, s.MaxOutputs), fmt.Sprint(Unbounded), "*")
		if got := s.Signature(); got != tt.want || counts != tt.counts {
			t.Errorf("%s: got %s %s\nwant %s %s", tt.name, counts, got, tt.counts, tt.want)
		}
	}
	if _, ok := Standard("LayerNormalization", 16); ok {
		t.Error("Standard(LayerNormalization, 16): the standard has it from opset 17 on")
	}
	if s, ok := Standard("LayerNormalization", 17); !ok || s.Own {
		t.Errorf("Standard(LayerNormalization, 17) = %+v, want the standard's", s)
	}
	for _, s := range All() {
		if s.Own == (s.Domain != "com.microsoft" && s.Name != "SimplifiedLayerNormalization" && !(s.Name == "LayerNormalization" && s.Since == 1)) {
			t.Errorf("%s::%s-%d: own is %v", s.Domain, s.Name, s.Since, s.Own)
		}
	}
	if RuntimeVersion() == "" || PackageVersion() == "" {
		t.Errorf("made of onnx %q and onnxruntime %q, want the versions of both", PackageVersion(), RuntimeVersion())
	}
}

func TestNames(t *testing.T) {
	names := Names("", 28)
	if !slices.IsSorted(names) || slices.Contains(names, "Upsample") || slices.Contains(names, "Scatter") {
		t.Errorf("Names(28) = %q, want sorted, and none that is deprecated", names)
	}
	if slices.Contains(names, "SimplifiedLayerNormalization") || slices.Contains(Names("", 16), "LayerNormalization") {
		t.Error("Names of the standard's domain holds what the standard does not define")
	}
	if slices.Contains(Names("", 19), "Gelu") || !slices.Contains(Names("", 20), "Gelu") || !slices.Contains(Names("", 9), "Upsample") {
		t.Error("Names: Gelu came with opset 20, Upsample went with opset 10")
	}
	if s, ok := Lookup("", "Upsample", 10); !ok || !s.Deprecated || s.Since != 10 {
		t.Errorf("Lookup(Upsample, 10) = %+v, want its deprecation", s)
	}
	if s, _ := Lookup("", "Upsample", 1); !s.Experimental {
		t.Error("Upsample-1 is not experimental")
	}
}

// TestPacked makes sure that the file says nothing of when it was made.
func TestPacked(t *testing.T) {
	if len(packed) < 18 || !slices.Equal(packed[:10], []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 0xff}) {
		t.Errorf("schemas.gz begins with % x, want no flags, no time", packed[:min(10, len(packed))])
	}
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		read()
	}
}

func BenchmarkDecodeOne(b *testing.B) {
	e := load().entries[key{"", "Conv"}][0]
	for b.Loop() {
		decode(key{"", "Conv"}, e.since, e.text)
	}
}

func BenchmarkDecodeAll(b *testing.B) {
	for b.Loop() {
		for k, es := range read().entries {
			for _, e := range es {
				e.get(k)
			}
		}
	}
}
