//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx"
)

// bigScripts rename, insert, extract, and save in every way. Each is a process of
// its own.
var bigScripts = []string{`
g = open(argv[0] + "/m.onnx")
g.rename({"x": "input"})
g.insert_after(g.nodes[0].outputs[0], "Relu")
g.save(argv[0] + "/m.onnx")
g.save(argv[0] + "/single/n.onnx")
last = g.nodes[len(g.nodes) - 1]
part = extract(g, inputs = [last.inputs[0].name], outputs = [last.outputs[0].name])
part.save(argv[0] + "/part/n.onnx")
print("nodes", len(g.nodes), len(part.nodes))
`, `
g = open(argv[0] + "/single/n.onnx")
g.save(argv[0] + "/shards/n.onnx", max_shard = 1 << 30)
g.save(argv[0] + "/tensors/n.onnx", location = "w.safetensors")
g = open(argv[0] + "/shards/n.onnx")
g.save(argv[0] + "/shards/n.onnx", max_shard = 2 << 30)
print("nodes", len(g.nodes), 1)
`}

// TestBig, which needs files with holes and /proc, takes models of gigabytes, of holes that take no disk, through a
// script, and wants little memory of it, mapped pages counted.
func TestBig(t *testing.T) {
	if dir := os.Getenv("SGS_TEST_BIG"); dir != "" {
		runBig(t, dir)
		return
	}
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const limit = 256 << 10 // KiB
	for _, c := range []struct {
		name   string
		n      int
		size   int64
		counts string
	}{{"one tensor of 5 GB", 1, 5 << 30, "2 1"}, {"12,000 tensors, 8 GB", 12_000, 700_416, "12001 1"}} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			writeBig(t, dir, c.n, c.size)
			for i := range bigScripts {
				cmd := exec.Command(os.Args[0], "-test.run=^TestBig$")
				cmd.Env = append(os.Environ(), "SGS_TEST_BIG="+dir, "SGS_TEST_BIG_SCRIPT="+strconv.Itoa(i))
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				if !strings.Contains(string(out), "nodes "+c.counts+"\n") {
					t.Errorf("got %s, want node counts %s", out, c.counts)
				}
				peak := 0
				if _, after, ok := strings.Cut(string(out), "peak KiB "); ok {
					peak, _ = strconv.Atoi(strings.Fields(after)[0])
				}
				if peak == 0 || peak > limit {
					t.Errorf("script %d: got a peak of %d KiB, want at most %d", i, peak, limit)
				}
				t.Logf("script %d: peak %d KiB", i, peak)
			}
			checkBig(t, dir, c.n, c.size)
		})
	}
}

// hole is a weight of zeros but for its first bytes, of which nothing is held.
type hole struct {
	n    int64
	head string
}

func (h hole) Len() int64             { return h.n }
func (h hole) Bytes() ([]byte, error) { return nil, fmt.Errorf("the weight was read as a whole") }

func (h hole) ReadAt(p []byte, off int64) (int, error) {
	clear(p)
	if off < int64(len(h.head)) {
		copy(p, h.head[off:])
	}
	return len(p), nil
}

// NextData tells that all is zeros after the first bytes.
func (h hole) NextData(off int64) (from, to int64) {
	if end := int64(len(h.head)); off < end {
		return off, end
	}
	return h.n, h.n
}

// writeBig writes a chain of additions whose weights lie in one file, a hole but
// for a few bytes at the beginning of each.
func writeBig(t *testing.T, dir string, n int, size int64) {
	t.Helper()
	m := ir.NewModel("big", ir.Import{Version: 21})
	g := m.Graph()
	x := ir.NewTensor("x", ir.TensorType(array.Float32, ir.Shape{ir.Num(size / 4)}))
	g.SetInputs(x)
	for i := range n {
		a, err := array.NewLazy(array.Float32, []int{int(size / 4)}, hole{size, fmt.Sprintf("%08d", i)})
		if err != nil {
			t.Fatal(err)
		}
		w := ir.NewConstant(fmt.Sprintf("w%d", i), a)
		g.AddInitializer(w)
		y := ir.NewTensor(fmt.Sprintf("y%d", i), nil)
		g.AddNode(ir.NewNode("Add", []*ir.Tensor{x, w}, []*ir.Tensor{y}))
		x = y
	}
	g.SetOutputs(x)
	if _, err := onnx.Save(m, filepath.Join(dir, "m.onnx"), onnx.SaveOptions{External: onnx.ExternalSingle}); err != nil {
		t.Fatal(err)
	}
	for _, sub := range []string{"single", "shards", "tensors", "part"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// runBig runs the script in this process and prints the most memory that it has
// had resident.
func runBig(t *testing.T, dir string) {
	debug.SetGCPercent(gcPercent) // as the command does
	script := filepath.Join(dir, "big.star")
	i, err := strconv.Atoi(os.Getenv("SGS_TEST_BIG_SCRIPT"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(script, []byte(bigScripts[i]), 0o644); err != nil {
		t.Fatal(err)
	}
	status, out, errs := sgs(t, "run", "--allow-read", dir, "--allow-write", dir, script, dir)
	if status != 0 {
		t.Fatalf("got status %d: %s", status, errs)
	}
	fmt.Print(out)
	about, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, peak, _ := strings.Cut(string(about), "VmHWM:")
	fmt.Println("peak KiB", strings.Fields(peak)[0])
}

// checkBig looks whether what the script saved holds the weights, their first
// bytes at least, and takes no disk for what was a hole.
func checkBig(t *testing.T, dir string, n int, size int64) {
	t.Helper()
	for _, path := range []string{"m.onnx", "single/n.onnx", "shards/n.onnx", "tensors/n.onnx", "part/n.onnx"} {
		m, err := onnx.Open(filepath.Join(dir, path), onnx.OpenOptions{Strict: true})
		if err != nil {
			t.Error(err)
			continue
		}
		for _, w := range m.Graph().Initializers() {
			head := make([]byte, 8)
			src := w.Array().Source()
			if _, err := src.ReadAt(head, 0); err != nil || "w"+strings.TrimLeft(string(head[:7]), "0")+string(head[7:]) != w.Name() || src.Len() != size {
				t.Fatalf("%s: weight %q begins with %q: %v", path, w.Name(), head, err)
			}
		}
		if got := len(m.Graph().Initializers()); got != n && path != "part/n.onnx" {
			t.Errorf("%s: got %d weights, want %d", path, got, n)
		}
	}
	used := int64(0)
	err := filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil {
			used += info.Sys().(*syscall.Stat_t).Blocks * 512
		}
		return err
	})
	if err != nil || used > int64(n)*6*8192+100<<20 {
		t.Errorf("the files take %d bytes of disk: %v", used, err)
	}
}
