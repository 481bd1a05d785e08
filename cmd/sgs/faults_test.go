//go:build cgo && linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx"
	"github.com/starlarkgs/starlarkgs/runtime"
)

// layers of layered.
const layers = 4

// layered is a model of two inputs, first and other, and layers in a row: layer k
// makes m_k from the value before it by the weight w_k, d_k = m_k - other, and
// h_k = Tanh(d_k). change may plant a fault.
func layered(t *testing.T, first string, change func(g *ir.Graph)) string {
	t.Helper()
	m := ir.NewModel("layered", ir.Import{Version: 21})
	g := m.Graph()
	typ := func() *ir.Type { return ir.TensorType(array.Float32, ir.Ints(2, 4)) }
	x, other := ir.NewTensor(first, typ()), ir.NewTensor("other", typ())
	g.SetInputs(x, other)
	for k := range layers {
		name := func(of string) string { return fmt.Sprintf("%s_%d", of, k) }
		w := make([]float32, 16)
		for i := range w {
			w[i] = float32(i%5+k)/8 - 0.5
		}
		weight := ir.NewConstant(name("w"), array.FromSlice(w, 4, 4))
		product, apart, next := ir.NewTensor(name("m"), typ()), ir.NewTensor(name("d"), typ()), ir.NewTensor(name("h"), typ())
		for _, n := range []*ir.Node{
			ir.NewNode("MatMul", []*ir.Tensor{x, weight}, []*ir.Tensor{product}),
			ir.NewNode("Sub", []*ir.Tensor{product, other}, []*ir.Tensor{apart}),
			ir.NewNode("Tanh", []*ir.Tensor{apart}, []*ir.Tensor{next}),
		} {
			n.SetName(strings.ToLower(n.Op()) + fmt.Sprint(k))
			g.AddNode(n)
		}
		x = next
	}
	g.SetOutputs(x)
	if change != nil {
		change(g)
	}
	path := filepath.Join(t.TempDir(), "layered.onnx")
	if _, err := onnx.Save(m, path, onnx.SaveOptions{}); err != nil {
		t.Fatal(err)
	}
	return path
}

// planted sets one element of the weight of layer k.
func planted(k int, v float32) func(*ir.Graph) {
	return func(g *ir.Graph) {
		w := g.Nodes()[3*k].Input(1)
		a := w.Array().Copy()
		array.MutableData[float32](a)[5] = v
		w.SetArray(a)
	}
}

// turned swaps the inputs of the Sub of layer k.
func turned(k int) func(*ir.Graph) {
	return func(g *ir.Graph) {
		n := g.Nodes()[3*k+1]
		a, b := n.Input(0), n.Input(1)
		n.SetInput(0, b)
		n.SetInput(1, a)
	}
}

// fault is a row of the matrix: a command line, its exit status, and words of what
// it prints on either stream.
type fault struct {
	name   string
	args   []string
	status int
	want   []string
	// kill, where set, is the file that tells that the worker runs; it is killed
	// then.
	kill string
}

// inLayers are the faults in layer k of a model.
func inLayers(t *testing.T, backend string, k int) []fault {
	good := layered(t, "x", nil)
	on := []string{"--backend", backend, "--seed", "3"}
	name := func(what string) string { return fmt.Sprintf("%s in layer %d, %s", what, k, backend) }
	args := func(a ...string) []string { return append(a, on...) }
	nan := layered(t, "x", planted(k, float32(math.NaN())))
	inf := layered(t, "x", planted(k, float32(math.Inf(1))))
	first := fmt.Sprintf(`is "m_%d"`, k)
	firstBad := fmt.Sprintf(`the first value that does, in topological order, is "m_%d" of node "matmul%d" (MatMul): 2 `, k, k)
	constant := fmt.Sprintf(`of 8 elements, the first at [0 1]; the constant "w_%d" that it reads has 1 `, k)
	return []fault{
		{name: name("nothing"), args: args("infer", good, "--validate")},
		{name: name("NaN"), args: args("infer", nan, "--validate"), status: exitBad, want: []string{`sgs: validate: "h_3" holds NaN or Inf; ` + firstBad + "NaN " + constant + "NaN of 16 elements"}},
		{name: name("NaN, every value"), args: args("infer", nan, "--validate", "--outputs", "all"), status: exitBad, want: []string{firstBad}},
		{name: name("Inf, every value"), args: args("infer", inf, "--validate", "--outputs", "all"), status: exitBad, want: []string{firstBad + "Inf"}},
		{name: name("NaN"), args: args("compare", good, nan), status: exitBad, want: []string{first}},
		{name: name("wrong weight"), args: args("compare", good, layered(t, "x", planted(k, 3))), status: exitBad, want: []string{first}},
		{name: name("wrong weight, every value"), args: args("compare", good, layered(t, "x", planted(k, 3)), "--layers"), status: exitBad, want: []string{first}},
		{name: name("swapped inputs of a node"), args: args("compare", good, layered(t, "x", turned(k))), status: exitBad, want: []string{fmt.Sprintf(`is "d_%d"`, k)}},
		{name: name("nothing"), args: args("compare", good, layered(t, "x", nil)), want: []string{"the results agree"}},
	}
}

// swapped are the faults of inputs that are given to one another's names.
func swapped(t *testing.T, backend string) []fault {
	dir, model := t.TempDir(), layered(t, "x", nil)
	a, b := array.FromSlice([]float32{1, 2, 3, 4, 5, 6, 7, 8}, 2, 4), array.FromSlice(make([]float32, 8), 2, 4)
	write := func(name string, in map[string]array.Value) string {
		path := filepath.Join(dir, name)
		if err := runtime.WriteNPZ(path, in); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good.npz", map[string]array.Value{"x": a, "other": b})
	other := write("swapped.npz", map[string]array.Value{"x": b, "other": a})
	turned, err := a.Reshape(4, 2)
	if err != nil {
		t.Fatal(err)
	}
	saved := filepath.Join(dir, "saved.npz")
	return []fault{
		{name: "inputs to hold against, " + backend, args: []string{"infer", model, "--backend", backend, "--inputs", good, "--outputs", "all", "--save-outputs", saved}},
		{name: "inputs as they were, " + backend, args: []string{"compare", model, "--backend", backend, "--inputs", good, "--outputs", "all", "--load-outputs", saved}, want: []string{"the results agree"}},
		{name: "swapped inputs, " + backend, args: []string{"compare", model, "--backend", backend, "--inputs", other, "--outputs", "all", "--load-outputs", saved}, status: exitBad, want: []string{`is "m_0"`}},
		{name: "an input of another shape, " + backend, args: []string{"infer", model, "--backend", backend, "--inputs", write("shape.npz", map[string]array.Value{"x": a, "other": turned})},
			status: exitBad, want: []string{`sgs: input "other": got float32[4,2], want`}},
		{name: "an input of another name, " + backend, args: []string{"infer", model, "--backend", backend, "--inputs", write("name.npz", map[string]array.Value{"x": a, "othr": b})},
			status: exitUsage, want: []string{`sgs: input "othr": the model has no such input, want ["x" "other"] (did you mean "other"?)`}},
	}
}

// inBackend are the faults of the native backend itself.
func inBackend(t *testing.T) []fault {
	model := layered(t, "x", nil)
	none := filepath.Join(t.TempDir(), "none.so")
	stub := func(version string) string {
		return library(t, `#include <stdint.h>
#include <stddef.h>
static const void *get_api(uint32_t v) { return NULL; }
static const char *get_version(void) { return "`+version+`"; }
typedef struct { const void *(*get_api)(uint32_t); const char *(*get_version)(void); } base;
const base *OrtGetApiBase(void) { static const base b = {get_api, get_version}; return &b; }
`)
	}
	other := library(t, "int nothing;")
	text := filepath.Join(t.TempDir(), "text.so")
	if err := os.WriteFile(text, []byte("no library\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cases := filepath.Join(t.TempDir(), "case")
	if err := os.MkdirAll(filepath.Join(cases, "test_data_set_0"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(model, filepath.Join(cases, "model.onnx")); err != nil {
		t.Fatal(err)
	}
	lib, waiting := shim(t)
	var rows []fault
	for what, lib := range map[string]struct{ path, want string }{
		"missing library":         {none, none},
		"wrong version":           {stub("1.4.0"), `got ONNX Runtime "1.4.0", want 1.24 or later`},
		"no library of that name": {other, other},
		"no library at all":       {text, text},
	} {
		for _, args := range [][]string{{"infer", model, "--backend", "onnxruntime"}, {"compare", model}, {"backends", "doctor"}, {"conform", cases, "--backend", "onnxruntime"}} {
			rows = append(rows, fault{name: what + ", " + args[0], args: append(args, "--ort-lib", lib.path), status: exitBackend, want: []string{"onnxruntime", lib.want}})
		}
	}
	script := fmt.Sprintf("run(%q, {\"x\": np.zeros([2, 4], \"float32\"), \"other\": np.zeros([2, 4], \"float32\")}, backend = \"onnxruntime\")", model)
	waits := layered(t, "wait", nil)
	slow := strings.ReplaceAll(strings.ReplaceAll(script, model, waits), `"x"`, `"wait"`)
	killed := `onnxruntime: running graph "layered": the worker process was killed (SIGKILL)`
	return append(rows,
		fault{name: "missing provider", args: []string{"infer", model, "--backend", "onnxruntime", "--provider", "cuda"}, status: exitBackend, want: []string{`provider "cuda"`}},
		fault{name: "missing provider, compare", args: []string{"compare", model, "--backend", "reference", "--backend", "onnxruntime:tensorrt"}, status: exitBackend, want: []string{`provider "tensorrt"`}},
		fault{name: "unknown backend", args: []string{"infer", model, "--backend", "onxruntime"}, status: exitUsage, want: []string{`did you mean "onnxruntime"?`}},
		fault{name: "missing library, script", args: []string{"run", "--allow-read", filepath.Dir(model), "-c", script, "--ort-lib", none}, status: exitBad, want: []string{"-c:1:4: ", none}},
		fault{name: "killed worker", args: []string{"infer", waits, "--backend", "onnxruntime", "--ort-lib", lib}, kill: waiting, status: exitBackend, want: []string{"sgs: " + killed}},
		fault{name: "killed worker, compare", args: []string{"compare", waits, "--ort-lib", lib}, kill: waiting, status: exitBackend, want: []string{"sgs: " + killed}},
		fault{name: "killed worker, script", args: []string{"run", "--allow-read", filepath.Dir(waits), "--ort-lib", lib, "-c", slow}, kill: waiting, status: exitBad, want: []string{"-c:1:4: run: " + killed}},
		fault{name: "a worker again", args: []string{"infer", model, "--backend", "onnxruntime", "--ort-lib", lib}},
	)
}

// TestFaults plants faults, and holds the verdict and the exit status of each
// command line against what the command line's contract says.
func TestFaults(t *testing.T) {
	needNative(t)
	var rows []fault
	for _, backend := range []string{"reference", "onnxruntime"} {
		for k := range layers {
			rows = append(rows, inLayers(t, backend, k)...)
		}
		rows = append(rows, swapped(t, backend)...)
	}
	for _, f := range append(rows, inBackend(t)...) {
		t.Run(f.name, func(t *testing.T) {
			status, out, errs := f.run(t)
			if status != f.status {
				t.Errorf("sgs %v: got status %d, want %d\n%s%s", f.args, status, f.status, out, errs)
			}
			for _, want := range f.want {
				if !strings.Contains(out+errs, want) {
					t.Errorf("sgs %v: got %q %q, want %q", f.args, out, errs, want)
				}
			}
			if f.args[0] != "run" && strings.Count(errs, "\n") > 1 {
				t.Errorf("sgs %v: got %q, want one line", f.args, errs)
			}
		})
	}
}

func (f fault) run(t *testing.T) (status int, stdout, stderr string) {
	if f.kill == "" {
		return sgs(t, f.args...)
	}
	_ = os.Remove(f.kill) // of the row before
	c := command(t.Context(), f.args...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); !fileExists(f.kill) && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	for _, pid := range workersOf(t, c.Process.Pid) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}
	err := c.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), out.String(), errs.String()
}

// workersOf returns the worker processes that a process, or one that it started,
// has started.
func workersOf(t *testing.T, parent int) []int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var out []int
	for _, file := range files {
		text, err := os.ReadFile(file)
		_, rest, ok := strings.Cut(string(text), ") ")
		if err != nil || !ok || strings.Fields(rest)[1] != strconv.Itoa(parent) {
			continue
		}
		dir := filepath.Dir(file)
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			t.Fatal(err)
		}
		if line, err := os.ReadFile(filepath.Join(dir, "cmdline")); err == nil && bytes.Contains(line, []byte("(worker)")) {
			out = append(out, pid)
		} else {
			out = append(out, workersOf(t, pid)...)
		}
	}
	return out
}
