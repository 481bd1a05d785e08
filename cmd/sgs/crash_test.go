//go:build cgo && linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx"
)

// A library that crashes is an error of one line and status 4, of each command
// that runs a backend, and so is one that hangs over the limit.
func TestCrashingLibrary(t *testing.T) {
	dir := t.TempDir()
	model := filepath.Join(dir, "m.onnx")
	m := ir.NewModel("small", ir.Import{Version: 21})
	x, y := ir.NewTensor("x", ir.TensorType(array.Float32, ir.Ints(2))), ir.NewTensor("y", ir.TensorType(array.Float32, ir.Ints(2)))
	m.Graph().SetInputs(x)
	m.Graph().AddNode(ir.NewNode("Relu", []*ir.Tensor{x}, []*ir.Tensor{y}))
	m.Graph().SetOutputs(y)
	if _, err := onnx.Save(m, model, onnx.SaveOptions{}); err != nil {
		t.Fatal(err)
	}
	for code, want := range map[string]string{
		"*(volatile int *)8 = 1":                     "the worker process crashed with SIGSEGV",
		`fputs("a check failed\n", stderr); abort()`: "the worker process crashed with SIGABRT: a check failed",
		"for (volatile int i = 0;; i++)":             "the worker process hung and was killed: it took more than 1s",
		"raise(SIGKILL)":                             "the worker process was killed (SIGKILL), most likely for want of memory",
	} {
		source, lib := filepath.Join(dir, "bad.c"), filepath.Join(dir, "libbad.so")
		text := "#include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\nvoid *OrtGetApiBase(void) { " + code + "; return NULL; }\n"
		if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("cc", "-shared", "-fPIC", "-o", lib, source).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		limit := "1m"
		if strings.Contains(want, "1s") {
			limit = "1s"
		}
		for _, args := range [][]string{{"infer", model, "--backend", "onnxruntime"}, {"compare", model}, {"backends", "doctor"}} {
			status, _, errs := sgs(t, append(args, "--ort-lib", lib, "--call-timeout", limit)...)
			if status != exitBackend || !strings.Contains(errs, want) || strings.Count(errs, "\n") != 1 {
				t.Errorf("%v: got status %d and %q, want %d and %q", args[0], status, errs, exitBackend, want)
			}
		}
	}
}
