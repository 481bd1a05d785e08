package reference_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx"
	"github.com/starlarkgs/starlarkgs/runtime/reference"
	"github.com/starlarkgs/starlarkgs/runtime/runtimetest"
)

// TestConformance runs the standard's cases; those that pass now must go on to.
func TestConformance(t *testing.T) {
	root := os.Getenv("SGS_CORPUS")
	if root == "" {
		t.Skip("SGS_CORPUS is not set: the conformance cases are not run")
	}
	var folders []string
	for _, name := range []string{"node", "simple", "pytorch-converted", "pytorch-operator"} {
		folders = append(folders, filepath.Join(root, "onnx-backend", name))
	}
	dirs, err := runtimetest.Find(folders)
	if err != nil {
		t.Fatal(err)
	}
	l := runtimetest.Loader{Model: func(path string) (*ir.Model, error) { return onnx.Open(path, onnx.OpenOptions{}) }, Value: onnx.ReadValue}
	passed := 0
	for _, dir := range dirs {
		r := runtimetest.Run(context.Background(), reference.New(), dir, l, runtimetest.Options{Repeat: 3})
		if r.Passed {
			passed++
		} else {
			t.Logf("%s: %s", r.Case, r.Reason)
		}
	}
	t.Logf("%d of %d cases pass", passed, len(dirs))
	const atLeast = 1653
	if passed < atLeast {
		t.Errorf("%d cases pass, want at least %d", passed, atLeast)
	}
}
