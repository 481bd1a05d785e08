package starlarkgs_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/internal/mmap"
	"github.com/starlarkgs/starlarkgs/starlarkgs"
)

// TestCutWeights cuts the file of a model's weights under a script that has
// mapped it: whatever reads them then fails with path and offset, and the
// process lives.
func TestCutWeights(t *testing.T) {
	if goruntime.GOOS == "windows" {
		t.Skip("a mapped file can't be cut here")
	}
	ctx := context.Background()
	for _, expr := range []string{
		"w.values.sum()", "w.values + 1", "w.values.tolist()", "np.exp(w.values)", "np.matmul(w.values, w.values)",
		"w.values.copy()", "[x for x in w.values]", "w.values[100000]", "np.array_equal(w.values, np.ones([1 << 20], 'float32'))",
		"run(g, {'x': np.ones([1 << 20], 'float32')})", "np.sort(w.values)", "w.values.astype('float16')", "w.values[1:].tobytes()",
	} {
		dir := t.TempDir()
		h := starlarkgs.New(starlarkgs.Options{ReadDirs: []string{dir}, WriteDirs: []string{dir}})
		path := filepath.Join(dir, "m.onnx")
		h.Define("path", starlark.String(path))
		_, err := h.Chunk(ctx, "setup", `
g = graph("m", inputs = [variable("x", "float32", [1 << 20])])
g.outputs = [g.op.Add("x", np.ones([1 << 20], "float32"))]
g.save(path, external = "single")
g = open(path)
w = g.nodes[0].inputs[1]
assert_mapped = w.values[0]
`)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path+".data", 10_000); err != nil {
			t.Fatal(err)
		}
		_, err = h.Chunk(ctx, "cut", "result = "+expr)
		if !errors.Is(err, mmap.ErrFault) || !strings.Contains(err.Error(), "m.onnx.data: offset 0x") {
			t.Errorf("%s: got %v, want a fault with path and offset", expr, err)
		}
		if _, err := h.Chunk(ctx, "after", "g.nodes[0].name = 'alive'"); err != nil {
			t.Errorf("%s: the host is dead: %v", expr, err)
		}
	}
}
