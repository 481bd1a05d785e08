package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx"
)

// negated writes a model of one Neg and returns its path.
func negated(t *testing.T) string {
	t.Helper()
	m := ir.NewModel("one", ir.Import{Version: 21})
	g := m.Graph()
	typ := ir.TensorType(array.Float32, ir.Ints(2))
	x, y := ir.NewTensor("x", typ), ir.NewTensor("y", typ)
	g.SetInputs(x)
	g.AddNode(ir.NewNode("Neg", []*ir.Tensor{x}, []*ir.Tensor{y}))
	g.SetOutputs(y)
	path := filepath.Join(t.TempDir(), "neg.onnx")
	if _, err := onnx.Save(m, path, onnx.SaveOptions{}); err != nil {
		t.Fatal(err)
	}
	return path
}

// A run on a native backend says which provider ran which nodes.
func TestPlacement(t *testing.T) {
	needNative(t)
	path := negated(t)
	status, out, errs := sgs(t, "infer", path, "--provider", "cpu", "-v")
	if status != 0 || !strings.Contains(out, "placement: 1 of 1 nodes on cpu\n  cpu: Neg\n    Neg ") {
		t.Errorf("status %d, %q, %s; want one Neg on cpu", status, out, errs)
	}
	status, out, errs = sgs(t, "compare", path)
	if status != 0 || !strings.Contains(out, "placement of b: 1 of 1 nodes on cpu\n") || strings.Contains(out, "placement of a") {
		t.Errorf("status %d, %q, %s; want one node on cpu, of b", status, out, errs)
	}
	status, out, errs = sgs(t, "compare", path, "--json")
	var r struct {
		A []any `json:"placement_a"`
		B []struct {
			Provider string
			Nodes    []struct{ Name, Op string }
		} `json:"placement_b"`
	}
	if err := json.Unmarshal([]byte(out), &r); status != 0 || err != nil {
		t.Fatalf("status %d, %v, %s", status, err, errs)
	}
	if len(r.A) != 0 || len(r.B) != 1 || r.B[0].Provider != "cpu" || r.B[0].Nodes[0].Op != "Neg" {
		t.Errorf("got %+v, want a Neg on cpu of b", r)
	}
}

// Providers and options that can't be had are errors with the documented status,
// never a run on the CPU that says nothing.
func TestProviderFlags(t *testing.T) {
	needNative(t)
	path := negated(t)
	for _, c := range []struct {
		args   string
		status int
		want   string
	}{
		{"infer --provider qnn", exitBackend, `provider "qnn" is missing from this library`},
		{"infer --provider webgpy", exitUsage, `did you mean "webgpu"?`},
		{"infer --provider qnn --provider-fallback", 0, `sgs: warning: the backend is not available: provider "qnn"`},
		{"infer --provider cpu --backend reference", exitUsage, "the backend reference has none"},
		{"infer --session-option threads=1", exitUsage, "the backend reference has none"},
		{"infer --backend onnxruntime --session-option threads=1", 0, ""},
		{"infer --backend onnxruntime --session-option threads", exitUsage, "want NAME=VALUE"},
		{"infer --backend onnxruntime --session-option thread=1", exitUsage, `did you mean "threads"?`},
		{"infer --provider cpu --provider-option cpu.x=1", exitUsage, `option "x": got one that the provider does not take`},
		{"infer --provider cpu --provider-option cuda.device_id=1", exitUsage, `options of provider "cuda": got no such provider`},
		{"infer --provider cpu --provider-option device_id=1", exitUsage, "want PROVIDER.KEY=VALUE"},
		{"compare --backend reference --backend onnxruntime:qnn", exitBackend, `provider "qnn" is missing`},
		{"compare --backend reference --backend onnxruntime:qnn --provider-fallback", 0, `warning: `},
		{"compare --backend reference --backend onnxruntime --session-option optimization=none", 0, ""},
		{"compare --provider-option cuda.device_id=1", exitUsage, `options of provider "cuda"`},
		{"compare --backend reference:cpu --backend onnxruntime", exitUsage, "the backend reference has none"},
	} {
		args := strings.Fields(c.args)
		status, _, errs := sgs(t, append(args, path)...)
		if status != c.status || !strings.Contains(errs, c.want) || (c.want == "") != (errs == "") {
			t.Errorf("%s: got status %d and %q, want %d and %q", c.args, status, errs, c.status, c.want)
		}
	}
}
