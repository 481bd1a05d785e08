package starlarkgs_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"sync"
	"testing"

	"github.com/starlarkgs/starlarkgs/starlarkgs"
)

// everything is a script that goes through most of what there is.
const everything = `
@register()
def block(self, x, scale = 2.0):
    return self.op.Mul(self.op.%s(x), scale)

x = variable("x", "float32", ["N", 64])
g = graph("all", inputs = [x])
t = x
rng = np.random(7)
for i in range(20):
    t = g.block(g.op.MatMul(t, rng.normal([64, 64]).astype("float32")), scale = float(i + 1))
w = g.op.Add(np.ones([64], "float32"), np.ones([64], "float32"))
g.outputs = [g.op.Softmax(g.op.Add(t, w))]
g.sanitize()
out = run(g, random_inputs(g, seed = 3, shapes = {"x": [5, 64]}))
y = out[g.outputs[0].name]
g.nodes[0].doc = str(y.sum())
g.save(argv[0])
assert.eq([b.name for b in registered()], ["block"])
`

// TestParallelHosts runs hosts side by side; the race detector of the gate
// looks on. Each has a registry of its own.
func TestParallelHosts(t *testing.T) {
	t.Chdir(t.TempDir())
	var group sync.WaitGroup
	for i, op := range []string{"Relu", "Tanh", "Relu", "Tanh"} {
		group.Go(func() {
			h, out := newHost(t)
			if _, err := h.RunSource(context.Background(), "all.star", fmt.Sprintf(everything, op), []string{fmt.Sprintf("%d.onnx", i)}); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	group.Wait()
	sameFiles(t, "0.onnx", "2.onnx", true)
	sameFiles(t, "1.onnx", "3.onnx", true)
	sameFiles(t, "0.onnx", "1.onnx", false)
}

// TestDeterminism runs one script twice, and on one core: the same bytes.
func TestDeterminism(t *testing.T) {
	t.Chdir(t.TempDir())
	run := func(path string) {
		h, _ := newHost(t)
		if _, err := h.RunSource(context.Background(), "all.star", fmt.Sprintf(everything, "Relu"), []string{path}); err != nil {
			t.Fatal(err)
		}
	}
	run("a.onnx")
	run("b.onnx")
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(1))
	run("c.onnx")
	goruntime.GOMAXPROCS(4)
	run("d.onnx")
	for _, other := range []string{"b.onnx", "c.onnx", "d.onnx"} {
		sameFiles(t, "a.onnx", other, true)
	}
}

func sameFiles(t *testing.T, a, b string, want bool) {
	t.Helper()
	x, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := os.ReadFile(b)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(x, y) != want {
		t.Errorf("%s and %s: equal is %v, want %v", a, b, !want, want)
	}
}

// FuzzScript runs any text as a script, in a host with small limits and in an
// empty folder: it ends, with a result or with an error that has a text, and
// the host lives on.
func FuzzScript(f *testing.F) {
	for _, pattern := range []string{"testdata/*.star", "../scripts/examples/*.star"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			for _, chunk := range bytes.Split(text, []byte("\n---\n")) {
				f.Add(string(chunk))
			}
		}
	}
	f.Fuzz(func(t *testing.T, src string) {
		h := starlarkgs.New(starlarkgs.Options{MaxSteps: 20_000, MaxMem: 512 << 20, ReadDirs: []string{}, WriteDirs: []string{}})
		_, err := h.RunSource(context.Background(), "fuzz.star", src, nil)
		if err != nil && err.Error() == "" {
			t.Error("an error without a text")
		}
		if _, err := h.RunSource(context.Background(), "after.star", "x = 1", nil); err != nil {
			t.Errorf("the host is dead: %v", err)
		}
	})
}
