package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx"
	"github.com/starlarkgs/starlarkgs/runtime"
	"github.com/starlarkgs/starlarkgs/runtime/reference"
)

// sgs runs a command line and returns its exit status and output.
func sgs(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = execute(context.Background(), args, strings.NewReader(""), &out, &errs)
	return status, out.String(), errs.String()
}

func corpus(t *testing.T, path string) string {
	t.Helper()
	root := os.Getenv("SGS_CORPUS")
	if root == "" {
		t.Skip("SGS_CORPUS is not set: the models of the corpus are not tested")
	}
	return filepath.Join(root, path)
}

// needNative skips a test of the native backend where none is installed, unless
// SGS_REQUIRE_ORT says that it must be.
func needNative(t *testing.T) {
	t.Helper()
	a := &app{}
	for _, b := range a.backends() {
		if b.Name() != "onnxruntime" {
			continue
		}
		if err := b.Available(); err == nil {
			return
		}
	}
	if os.Getenv("SGS_REQUIRE_ORT") == "1" {
		t.Fatal("SGS_REQUIRE_ORT is set, and ONNX Runtime is not there")
	}
	t.Skip("ONNX Runtime is not installed: run sgs backends install onnxruntime")
}

func TestQuickstart(t *testing.T) {
	dir := t.TempDir()
	status, out, errs := sgs(t, "run", "--allow-write", dir, "--allow-read", dir, "../../scripts/examples/quickstart.star", dir)
	if status != 0 {
		t.Fatalf("status %d: %s", status, errs)
	}
	for _, want := range []string{"folded: 12 nodes, then 8", "extracted: 5 of 8 nodes", "class  score"} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
}

// TestContribExample runs a block of ONNX Runtime's own operators against the same
// one of the standard's, on both backends.
func TestContribExample(t *testing.T) {
	needNative(t)
	status, out, errs := sgs(t, "run", "../../scripts/examples/contrib.star", "reference", "onnxruntime")
	if status != 0 {
		t.Fatalf("status %d: %s", status, errs)
	}
	want := "fused: 7 nodes, plain: 27; both make [\"N\", \"S\", 8]\nreference: they agree\nonnxruntime: they agree\n"
	if out != want {
		t.Errorf("got %q, want %q", out, want)
	}
}

func TestExitStatus(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var model bytes.Buffer
	model.Write([]byte{0x08, 8, 0x3a})
	model.Write(binary.AppendUvarint(nil, 5000))
	model.WriteString(strings.Repeat("\n", 10))
	tests := []struct {
		name   string
		args   []string
		status int
		stderr string
	}{
		{"no such command", []string{"inspec"}, 2, `unknown command "inspec" (did you mean "inspect"?)`},
		{"no model", []string{"inspect"}, 2, "got 0 arguments"},
		{"no such file", []string{"inspect", dir + "/none.onnx"}, 3, "no such file"},
		{"empty", []string{"inspect", write("empty.onnx", "")}, 3, "the file is empty"},
		{"git lfs", []string{"inspect", write("lfs.onnx", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 4242\n")}, 3, "Git LFS pointer (to a file of 4242 bytes)"},
		{"html", []string{"inspect", write("page.onnx", "<!DOCTYPE html><html></html>")}, 3, "HTML page"},
		{"zip", []string{"inspect", write("zip.onnx", "PK\x03\x04xxxx")}, 3, "zip archive"},
		{"truncated", []string{"inspect", write("cut.onnx", model.String())}, 3, "the file is truncated"},
		{"script error", []string{"run", "-c", "x = 1 // 0"}, 1, "-c:1:7: floored division by zero"},
		{"fail", []string{"run", "-c", "fail(\"no\")"}, 1, "no"},
		{"limit", []string{"run", "--max-steps", "1000", "-c", "while True: pass"}, 1, "limit of 1000 steps"},
		{"timeout", []string{"run", "--timeout", "50ms", "-c", "while True: pass"}, 1, "longer than its limit of 50ms"},
		{"bad flag", []string{"infer", "m.onnx", "--sed", "1"}, 2, "unknown flag"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, _, errs := sgs(t, tt.args...)
			if status != tt.status || !strings.Contains(errs, tt.stderr) {
				t.Errorf("sgs %v: status %d, stderr %q; want %d and %q", tt.args, status, errs, tt.status, tt.stderr)
			}
		})
	}
}

// models are the corpus models with inputs to run them on.
var models = []struct {
	file  string
	flags []string
	// atMost is the nodes that sanitize may leave, bodies included.
	atMost int
}{
	{"ch_ppocr_mobile_v2.0_cls_infer", []string{"--shape", "x:[1,3,48,192]"}, 220},
	{"silero_vad_v5", []string{"--shape", "input:[1,512]", "--range", "sr:[16000,16000]"}, 252},
	{"silero_vad_v5", []string{"--shape", "input:[1,256]", "--range", "sr:[8000,8000]"}, 252},
	{"silero_vad_legacy", []string{"--shape", "input:[1,512]", "--range", "sr:[16000,16000]"}, 162},
	{"melspectrogram", []string{"--shape", "input:[1,16000]"}, 20},
	{"embedding_model", []string{"--shape", "input_1:[1,76,32,1]"}, 65},
	{"timer_v0.1", nil, 8},
	{"ch_PP-OCRv4_det_infer", []string{"--shape", "x:[1,3,256,256]"}, 330},
}

// TestBackendsAgree runs the corpus models on both backends, and the sanitized
// model against the original.
func TestBackendsAgree(t *testing.T) {
	needNative(t)
	for i, m := range models {
		t.Run(fmt.Sprintf("%d-%s", i, m.file), func(t *testing.T) {
			path := corpus(t, "models/"+m.file+".onnx")
			if status, out, errs := sgs(t, append([]string{"compare", path, "--seed", "1"}, m.flags...)...); status != 0 {
				t.Errorf("compare: status %d\n%s%s", status, out, errs)
			}
			small := filepath.Join(t.TempDir(), "small.onnx")
			if status, out, errs := sgs(t, "sanitize", path, "-o", small); status != 0 {
				t.Fatalf("sanitize: status %d\n%s%s", status, out, errs)
			}
			if status, out, errs := sgs(t, append([]string{"compare", path, small, "--backend", "onnxruntime", "--seed", "2"}, m.flags...)...); status != 0 {
				t.Errorf("the sanitized model differs: status %d\n%s%s", status, out, errs)
			}
			checkSanitized(t, small, m.atMost)
		})
	}
}

func checkSanitized(t *testing.T, path string, atMost int) {
	t.Helper()
	m, err := onnx.Open(path, onnx.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, g := range m.Graphs() {
		for _, k := range g.Nodes() {
			n++
			if k.Is("Constant") {
				t.Errorf("%s: a Constant is left", k.Path())
			}
		}
	}
	if n > atMost {
		t.Errorf("%d nodes are left, want at most %d", n, atMost)
	}
}

func TestWrongLengthsFailOnBoth(t *testing.T) {
	needNative(t)
	path := corpus(t, "models/silero_vad_v5.onnx")
	for _, b := range []string{"reference", "onnxruntime"} {
		if status, _, _ := sgs(t, "infer", path, "--shape", "input:[1,512]", "--range", "sr:[8000,8000]", "--backend", b); status != 1 {
			t.Errorf("%s: status %d, want 1", b, status)
		}
	}
}

// TestCompareNamesTheFirstDifference changes one weight at a time and asks for
// the first value that it reaches.
func TestCompareNamesTheFirstDifference(t *testing.T) {
	path := corpus(t, "models/ch_ppocr_mobile_v2.0_cls_infer.onnx")
	rng := rand.New(rand.NewSource(1))
	for range 5 {
		m, err := onnx.Open(path, onnx.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		convs := []*ir.Node{}
		for _, n := range m.Graph().Nodes() {
			if n.Is("Conv") {
				convs = append(convs, n)
			}
		}
		n := convs[rng.Intn(len(convs))]
		w := n.Input(1)
		a := w.Array()
		if p, _ := w.Producer(); p != nil && p.Is("Constant") {
			a = p.Attr("value").Value.(*ir.Literal).Array
			p.SetOutput(0, nil)
		}
		a = a.Copy()
		x := array.MutableData[float32](a)
		x[rng.Intn(len(x))] += 1
		w.SetArray(a)
		changed := filepath.Join(t.TempDir(), "changed.onnx")
		if _, err := onnx.Save(m, changed, onnx.SaveOptions{}); err != nil {
			t.Fatal(err)
		}
		status, out, errs := sgs(t, "compare", path, changed, "--shape", "x:[1,3,48,192]", "--seed", "1")
		want := fmt.Sprintf("is %q", n.Output(0).Name())
		if status != 1 || !strings.Contains(out, want) {
			t.Errorf("status %d, output %q, want 1 and the name of %s's output\n%s", status, out, n.Label(), errs)
		}
	}
}

// TestExtractedParts cuts parts out of a model and compares what they compute
// with what the whole computes there.
func TestExtractedParts(t *testing.T) {
	path := corpus(t, "models/ch_PP-OCRv4_det_infer.onnx")
	m, err := onnx.Open(path, onnx.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	inputs, err := runtime.RandomInputs(m.Graph(), runtime.InputOptions{Seed: 3, Shapes: map[string][]int{"x": {1, 3, 64, 64}}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := reference.New().NewSession(t.Context(), m, runtime.Options{Outputs: []string{runtime.All}})
	if err != nil {
		t.Fatal(err)
	}
	values, err := s.Run(t.Context(), inputs)
	if err != nil {
		t.Fatal(err)
	}
	var chain []*ir.Node
	for _, n := range m.Graph().Nodes() {
		if n.Is("Conv") || n.Is("Add") {
			chain = append(chain, n)
		}
	}
	rng := rand.New(rand.NewSource(7))
	done := 0
	for tries := 0; done < 10 && tries < 400; tries++ {
		from, to := chain[rng.Intn(len(chain))], chain[rng.Intn(len(chain))]
		if from == to {
			continue
		}
		if checkPart(t, path, from.Output(0).Name(), to.Output(0).Name(), values) {
			done++
		}
	}
	if done < 10 {
		t.Errorf("only %d parts could be cut, want 10", done)
	}
}

// checkPart reports whether the cut is bounded, and checks what it computes.
func checkPart(t *testing.T, path, from, to string, values map[string]array.Value) bool {
	t.Helper()
	dir := t.TempDir()
	part := filepath.Join(dir, "part.onnx")
	status, _, errs := sgs(t, "extract", path, "-o", part, "--input", from, "--output", to)
	if status == 1 && strings.Contains(errs, "unbounded") {
		return false
	}
	if status != 0 {
		t.Fatalf("extract %s to %s: status %d: %s", from, to, status, errs)
	}
	m, err := onnx.Open(part, onnx.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if m.Graph().Inputs()[0].NumUses() == 0 {
		return false // the part does not depend on the cut
	}
	feed := map[string]array.Value{from: values[from]}
	for _, b := range (&app{}).backends() {
		if b.Available() != nil {
			continue
		}
		s, err := b.NewSession(t.Context(), m, runtime.Options{})
		if err != nil {
			t.Fatalf("%s: %s to %s: %v", b.Name(), from, to, err)
		}
		got, err := s.Run(t.Context(), feed)
		if err != nil {
			t.Fatalf("%s: %s to %s: %v", b.Name(), from, to, err)
		}
		if d := runtime.Compare(got[to], values[to], runtime.Tolerance{Rtol: 1e-4, Atol: 1e-4}); !d.OK {
			t.Errorf("%s: %s to %s: %s", b.Name(), from, to, d.Text())
		}
		s.Close()
	}
	return true
}

func TestReduce(t *testing.T) {
	dir := t.TempDir()
	hasMul := filepath.Join(dir, "hasmul.star")
	runs := filepath.Join(dir, "runs.star")
	for path, text := range map[string]string{
		hasMul: "def check(model):\n    return len(model.find(op = \"Mul\")) == 0\n",
		runs:   "def check(model):\n    return try_call(run, model, random_inputs(model, seed = 1))[1] == None\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "out.onnx")
	status, stdout, errs := sgs(t, "reduce", corpus(t, "nvidia/examples/cli_debug_02_reducing_failing_onnx_models.onnx"), "--check-script", hasMul, "-o", out)
	if status != 0 || !opsAre(t, out, "Mul") {
		t.Errorf("status %d\n%s%s", status, stdout, errs)
	}
	if status, _, errs := sgs(t, "reduce", corpus(t, "models/timer_v0.1.onnx"), "--check-script", runs, "-o", out); status != 1 || !strings.Contains(errs, "passes the check") {
		t.Errorf("a model that passes: status %d, %s", status, errs)
	}
	broken := filepath.Join(dir, "broken.onnx")
	for _, tt := range []struct{ model, op, edit string }{
		{"ch_PP-OCRv4_det_infer", "Conv", "n.attrs[\"strides\"] = [1, 1, 1]"},
		{"ch_ppocr_mobile_v2.0_cls_infer", "Reshape", "n.inputs[1] = constant(\"target\", [7, 11])"},
	} {
		script := fmt.Sprintf("g = open(%q)\nns = g.find(op = %q)\nn = ns[len(ns) // 2]\n%s\ng.save(%q)\n", corpus(t, "models/"+tt.model+".onnx"), tt.op, tt.edit, broken)
		if status, _, errs := sgs(t, "run", "--allow-read", "/", "--allow-write", dir, "-c", script); status != 0 {
			t.Fatal(errs)
		}
		status, stdout, errs := sgs(t, "reduce", broken, "--shape", "x:[1,3,64,64]", "--check-script", runs, "-o", out)
		if status != 0 || !opsAre(t, out, tt.op) {
			t.Errorf("%s: status %d\n%s%s", tt.model, status, stdout, errs)
		}
		if n := strings.Count(errs, "check "); n > 60 {
			t.Errorf("%s: %d checks, want at most 60", tt.model, n)
		}
	}
}

func opsAre(t *testing.T, path string, want ...string) bool {
	t.Helper()
	m, err := onnx.Open(path, onnx.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range m.Graph().Nodes() {
		got = append(got, n.Op())
	}
	return strings.Join(got, ",") == strings.Join(want, ",")
}

// TestModelsAreNotOverwritten asks that what a command writes beside a model does
// not take its place.
func TestModelsAreNotOverwritten(t *testing.T) {
	t.Chdir(t.TempDir())
	run := func(args ...string) (int, string) {
		var out, errs bytes.Buffer
		status := execute(t.Context(), args, strings.NewReader(""), &out, &errs)
		return status, errs.String()
	}
	if status, text := run("run", "-c", `g = graph(inputs = [variable("x", "float32", [2])]); g.outputs = [g.op.Relu("x")]; g.save("m.onnx")`); status != 0 {
		t.Fatal(text)
	}
	want, err := os.ReadFile("m.onnx")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"sanitize", "m.onnx", "-o", "q.onnx", "--report", "m.onnx"},
		{"sanitize", "m.onnx", "-o", "q.onnx", "--report", "./q.onnx"},
		{"infer", "m.onnx", "--save-outputs", "m.onnx"},
		{"infer", "m.onnx", "--save-inputs", "./m.onnx"},
		{"infer", "m.onnx", "--iterations", "0"},
		{"infer", "m.onnx", "--warm-up", "-5"},
		{"infer", "m.onnx", "--call-timeout", "-1s"},
		{"run", "--timeout", "-1s", "-c", "x = 1"},
	} {
		if status, text := run(args...); status != exitUsage || !strings.Contains(text, "want") {
			t.Errorf("%q: got status %d, %s, want %d", args, status, text, exitUsage)
		}
	}
	if got, err := os.ReadFile("m.onnx"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the model was changed: %v", err)
	}
}
