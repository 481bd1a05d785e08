package schema

import (
	"strings"
	"testing"
)

func TestData(t *testing.T) {
	if got := MaxOpset(""); got < 28 {
		t.Errorf("MaxOpset(\"\") = %d, want at least 28", got)
	}
	all := All()
	if len(all) < 659 {
		t.Errorf("len(All()) = %d, want at least 659, the count of the package", len(all))
	}
	for _, s := range all {
		if s.MinInputs > s.MaxInputs || s.MinOutputs > s.MaxOutputs {
			t.Errorf("%s-%d: counts %d..%d, %d..%d", s.Name, s.Since, s.MinInputs, s.MaxInputs, s.MinOutputs, s.MaxOutputs)
		}
		for _, p := range append(s.Inputs, s.Outputs...) {
			if p.Name == "" || p.Type == "" {
				t.Errorf("%s-%d: a parameter without name or type: %+v", s.Name, s.Since, p)
			}
		}
		if s.Signature() == "" {
			t.Errorf("%s-%d: no signature", s.Name, s.Since)
		}
	}
}

func TestLookup(t *testing.T) {
	tests := []struct {
		name         string
		opset, since int
	}{
		{"Conv", 1, 1}, {"Conv", 10, 1}, {"Conv", 11, 11}, {"Conv", 21, 11}, {"Conv", 22, 22},
		{"Split", 1, 1}, {"Split", 2, 2}, {"Split", 12, 11}, {"Split", 13, 13}, {"Split", 18, 18},
		{"Clip", 6, 6}, {"Clip", 11, 11}, {"Relu", 28, 14},
	}
	for _, tt := range tests {
		s, ok := Lookup("ai.onnx", tt.name, tt.opset)
		if !ok || s.Since != tt.since {
			t.Errorf("Lookup(%s, %d).Since = %v, want %d", tt.name, tt.opset, s, tt.since)
		}
	}
	if _, ok := Lookup("", "Gelu", 19); ok {
		t.Error("Lookup(Gelu, 19) succeeded: it came with opset 20")
	}
	conv, _ := Lookup("", "Conv", 11)
	if d := conv.Attr("auto_pad").Default; d != "NOTSET" {
		t.Errorf("Conv.auto_pad = %v, want NOTSET", d)
	}
	if d := conv.Attr("group").Default; d != int64(1) {
		t.Errorf("Conv.group = %v, want 1", d)
	}
	bn, _ := Lookup("", "BatchNormalization", 15)
	if d := bn.Attr("epsilon").Default; d != float32(1e-5) {
		t.Errorf("BatchNormalization.epsilon = %v, want 1e-5", d)
	}
	rnd, _ := Lookup("", "RandomNormal", 1)
	if rnd.Deterministic || !conv.Deterministic {
		t.Error("RandomNormal must be random and Conv not")
	}
	if got := IRVersionFor(21); got != 10 {
		t.Errorf("IRVersionFor(21) = %d, want 10", got)
	}
	if got := Nearest("", "Convv"); got != "Conv" {
		t.Errorf("Nearest(Convv) = %q, want Conv", got)
	}
}

func TestTypeNames(t *testing.T) {
	for onnx, numpy := range map[string]string{"tensor(float)": "float32", "tensor(double)": "float64", "tensor(int64)": "int64", "tensor(bfloat16)": "bfloat16",
		"tensor(float8e8m0)": "float8_e8m0fnu", "tensor(float6e3m2)": "float6_e3m2fn", "tensor(string)": "string"} {
		if got := ElementOf(onnx); got != numpy {
			t.Errorf("ElementOf(%s) = %q, want %q", onnx, got, numpy)
		}
		if got := TypeString(numpy); got != onnx {
			t.Errorf("TypeString(%s) = %q, want %q", numpy, got, onnx)
		}
	}
	if got := ElementOf("seq(tensor(float))"); got != "" {
		t.Errorf("ElementOf of a sequence = %q, want none", got)
	}
}

func TestCheck(t *testing.T) {
	f, i := "tensor(float)", "tensor(int64)"
	tests := []struct {
		name, op string
		call     Call
		want     string // of the errors joined by "; "
	}{
		{"good", "Conv", Call{Inputs: []string{f, f}, Outputs: []string{f}, Attrs: []GivenAttr{{"group", 2}}}, ""},
		{"too many inputs", "Conv", Call{Inputs: []string{f, f, f, f}, Outputs: []string{f}}, "got 4 inputs, want 2 to 3: X, W, B (optional)"},
		{"omitted", "Conv", Call{Inputs: []string{f, Omitted}, Outputs: []string{f}}, "input 1 (W): got none, want a value: it is required"},
		{"misspelt", "Conv", Call{Inputs: []string{f, f}, Outputs: []string{f}, Attrs: []GivenAttr{{"kernel_shap", 7}}}, `attribute "kernel_shap": Conv has no such attribute (did you mean "kernel_shape"?)`},
		{"kind", "Conv", Call{Inputs: []string{f, f}, Outputs: []string{f}, Attrs: []GivenAttr{{"group", 1}}}, `attribute "group": got a float, want an int`},
		{"required", "Cast", Call{Inputs: []string{f}, Outputs: []string{f}}, `attribute "to": got none, want an int: it is required`},
		{"dtype", "Conv", Call{Inputs: []string{i, f}, Outputs: []string{f}}, "input 0 (X): got int64, want float64, float32 or float16"},
		{"tied", "Add", Call{Inputs: []string{f, i}, Outputs: []string{f}}, "input 1 (B): got int64, want float32 as input 0 (A)"},
		{"an output's type", "Relu", Call{Inputs: []string{f}, Outputs: []string{i}}, "output 0 (Y): got int64, want float32 as input 0 (X)"},
		{"an output's type not allowed", "Shape", Call{Inputs: []string{f}, Outputs: []string{f}}, "output 0 (shape): got float32, want int64"},
		{"too many outputs", "Relu", Call{Inputs: []string{f}, Outputs: []string{"", ""}}, "got 2 outputs, want 1: Y"},
		{"too few inputs", "Add", Call{Inputs: []string{f}, Outputs: []string{f}}, "got 1 input, want 2: A, B"},
		{"several faults", "Cast", Call{Inputs: []string{f}, Outputs: []string{f}, Attrs: []GivenAttr{{"too", 2}}},
			`attribute "too": Cast has no such attribute (did you mean "to"?); attribute "to": got none, want an int: it is required`},
		{"a variadic list of one type", "Concat", Call{Inputs: []string{f, f, i}, Outputs: []string{f}, Attrs: []GivenAttr{{"axis", 2}}},
			"input 2 (inputs): got int64, want float32 as input 0 (inputs)"},
		{"a variadic list of any types", "Loop", Call{Inputs: []string{Omitted, Omitted, f, i}, Outputs: []string{f, i}, Attrs: []GivenAttr{{"body", 5}}}, ""},
		{"an optional input omitted", "Resize", Call{Inputs: []string{f, Omitted, f}, Outputs: []string{f}}, ""},
		{"a kind that is none", "Conv", Call{Inputs: []string{f, f}, Outputs: []string{f}, Attrs: []GivenAttr{{"group", 99}}}, `attribute "group": got kind 99, want an int`},
		{"variadic", "Concat", Call{Outputs: []string{f}, Attrs: []GivenAttr{{"axis", 2}}}, "got 0 inputs, want at least 1: inputs…"},
		{"unknown types pass", "Add", Call{Inputs: []string{"", i}, Outputs: []string{""}}, ""},
	}
	for _, tt := range tests {
		s, _ := Lookup("", tt.op, 21)
		var got []string
		for _, err := range s.Check(tt.call) {
			got = append(got, err.Error())
		}
		if text := strings.Join(got, "; "); text != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, text, tt.want)
		}
	}
}
