// Package bench measures opening, editing and saving of large models, side by
// side with what bounds them: the copying of a file that is then synced, and the
// same work on a tenth of the nodes.
//
//	go test ./bench -bench .
//	bench/table.sh
//
// The models are made on the first use, in a folder that goes with the run.
// SGS_BENCH_MB is the size of the weights, 1024 by default.
package bench

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx"
	"github.com/starlarkgs/starlarkgs/runtime/worker"
	"github.com/starlarkgs/starlarkgs/surgery"
)

// dir is where the models are.
var dir string

func TestMain(m *testing.M) {
	worker.Main(workers)
	debug.SetGCPercent(300) // as the command does
	var err error
	if dir, err = os.MkdirTemp(os.Getenv("SGS_BENCH_DIR"), "sgs-bench-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status := m.Run()
	os.RemoveAll(dir)
	os.Exit(status)
}

// once makes each model once.
var once sync.Map

// made returns the path of a model, which save makes on the first call.
func made(b *testing.B, name string, save func(path string) error) string {
	b.Helper()
	path := filepath.Join(dir, name+".onnx")
	done, _ := once.LoadOrStore(name, sync.OnceValue(func() error { return save(path) }))
	if err := done.(func() error)(); err != nil {
		b.Fatal(err)
	}
	return path
}

// layers is how many weights the large models have.
const layers = 64

func megabytes() int {
	if n, err := strconv.Atoi(os.Getenv("SGS_BENCH_MB")); err == nil && n > 0 {
		return n
	}
	return 1024
}

// large returns the path of a model with many weights: of an odd length, so that
// nothing in the file is aligned.
func large(b *testing.B, external onnx.External) string {
	return made(b, "large-"+string(external), func(path string) error {
		m := ir.NewModel("large", ir.Import{Version: 21})
		g := m.Graph()
		n := megabytes()<<20/layers/4 - 3
		x := ir.NewTensor("x", ir.TensorType(array.Float32, ir.Shape{ir.Num(int64(n))}))
		g.SetInputs(x)
		raw := make([]byte, 4*n)
		for i := range raw {
			raw[i] = byte(i * 31 >> 3)
		}
		for i := range layers {
			a, err := array.FromBytes(array.Float32, []int{n}, raw)
			if err != nil {
				return err
			}
			w, y := ir.NewConstant(fmt.Sprintf("w%d", i), a), ir.NewTensor(fmt.Sprintf("y%d", i), nil)
			g.AddInitializer(w)
			node := ir.NewNode("Add", []*ir.Tensor{x, w}, []*ir.Tensor{y})
			node.SetName(fmt.Sprintf("add%d", i))
			g.AddNode(node)
			x = y
		}
		g.SetOutputs(x)
		_, err := onnx.Save(m, path, onnx.SaveOptions{External: external})
		return err
	})
}

// chain returns the path of a model of n nodes in a row.
func chain(b *testing.B, n int) string {
	return made(b, fmt.Sprintf("chain-%d", n), func(path string) error {
		m := ir.NewModel("chain", ir.Import{Version: 21})
		g := m.Graph()
		x := ir.NewTensor("x", ir.TensorType(array.Float32, ir.Shape{ir.Num(1)}))
		g.SetInputs(x)
		for i := range n {
			y := ir.NewTensor(fmt.Sprintf("y%d", i), nil)
			node := ir.NewNode("Relu", []*ir.Tensor{x}, []*ir.Tensor{y})
			node.SetName(fmt.Sprintf("relu%d", i))
			g.AddNode(node)
			x = y
		}
		g.SetOutputs(x)
		_, err := onnx.Save(m, path, onnx.SaveOptions{})
		return err
	})
}

// diamonds returns the path of a model of n levels of two branches that join.
func diamonds(b *testing.B, n int) string {
	return made(b, fmt.Sprintf("diamonds-%d", n), func(path string) error {
		m := ir.NewModel("diamonds", ir.Import{Version: 21})
		g := m.Graph()
		x := ir.NewTensor("x", ir.TensorType(array.Float32, ir.Shape{ir.Num(1)}))
		g.SetInputs(x)
		add := func(op, name string, in ...*ir.Tensor) *ir.Tensor {
			y := ir.NewTensor(name, nil)
			g.AddNode(ir.NewNode(op, in, []*ir.Tensor{y}))
			return y
		}
		for i := range n {
			x = add("Add", fmt.Sprintf("y%d", i), add("Relu", fmt.Sprintf("l%d", i), x), add("Neg", fmt.Sprintf("r%d", i), x))
		}
		g.SetOutputs(x)
		_, err := onnx.Save(m, path, onnx.SaveOptions{})
		return err
	})
}

// peak reports the most memory that the process has had resident, mapped pages
// counted, since the last call to restart.
func peak(b *testing.B) {
	about, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return // no such figure here
	}
	_, after, _ := strings.Cut(string(about), "VmHWM:")
	if n, err := strconv.Atoi(strings.Fields(after + " 0")[0]); err == nil {
		b.ReportMetric(float64(n)/1024, "peak-MiB")
	}
}

// restart begins a measurement: what was used to make the models is given back,
// and where the system can do it the peak is counted anew.
func restart(b *testing.B) {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // the peak then counts from the start
	b.ResetTimer()
}

func check(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func open(b *testing.B, path string) *ir.Model {
	b.Helper()
	m, err := onnx.Open(path, onnx.OpenOptions{})
	check(b, err)
	return m
}

func save(b *testing.B, m *ir.Model, path string, o onnx.SaveOptions) {
	b.Helper()
	_, err := onnx.Save(m, path, o)
	check(b, err)
}

// BenchmarkCopySync is the yardstick of a durable save: cp and sync of the copy.
func BenchmarkCopySync(b *testing.B) {
	path := large(b, onnx.ExternalNone)
	restart(b)
	for b.Loop() {
		from, err := os.Open(path)
		check(b, err)
		to, err := os.Create(filepath.Join(dir, "copy"))
		check(b, err)
		_, err = io.Copy(to, from) // by copy_file_range, as cp does
		check(b, err)
		check(b, to.Sync())
		check(b, to.Close())
		check(b, from.Close())
	}
}

// BenchmarkOpenInspect opens the large model and looks at every layer.
func BenchmarkOpenInspect(b *testing.B) {
	path := large(b, onnx.ExternalNone)
	restart(b)
	for b.Loop() {
		m := open(b, path)
		size := int64(0)
		for _, n := range m.Graph().Nodes() {
			for i := range n.NumInputs() {
				if t := n.Input(i); t.IsConstant() {
					size += t.Array().NBytes()
				}
			}
		}
		if size < int64(megabytes()-1)<<20 {
			b.Fatalf("got %d bytes of weights", size)
		}
	}
	peak(b)
}

// edit opens a model, renames a node and its output, and inserts a node.
func edit(b *testing.B, path string, round int) *ir.Model {
	b.Helper()
	m := open(b, path)
	g := m.Graph()
	g.Node(0).SetName(fmt.Sprintf("edited%d", round))
	g.Node(0).Output(0).SetName("a longer name than it had")
	return m
}

// BenchmarkEditSave edits the large model and saves it over itself.
func BenchmarkEditSave(b *testing.B) {
	path := large(b, onnx.ExternalNone)
	restart(b)
	for i := 0; b.Loop(); i++ {
		save(b, edit(b, path, i), path, onnx.SaveOptions{})
	}
	peak(b)
}

// BenchmarkKeepExternal does so where the weights lie in a file that stays.
func BenchmarkKeepExternal(b *testing.B) {
	path := large(b, onnx.ExternalSingle)
	restart(b)
	for i := 0; b.Loop(); i++ {
		save(b, edit(b, path, i), path, onnx.SaveOptions{External: onnx.ExternalKeep})
	}
	peak(b)
}

// tidy opens a model, cleans and sorts it, and saves it elsewhere.
func tidy(b *testing.B, path string) {
	restart(b)
	for b.Loop() {
		m := open(b, path)
		_, err := surgery.Cleanup(m.Graph(), surgery.CleanupOptions{})
		check(b, err)
		_, err = m.Graph().Sort(true)
		check(b, err)
		save(b, m, filepath.Join(dir, "out.onnx"), onnx.SaveOptions{})
	}
	peak(b)
}

func BenchmarkChain100k(b *testing.B)    { tidy(b, chain(b, 100_000)) }
func BenchmarkChain1M(b *testing.B)      { tidy(b, chain(b, 1_000_000)) }
func BenchmarkDiamonds100k(b *testing.B) { tidy(b, diamonds(b, 100_000)) }

// BenchmarkSort100kDiamonds sorts alone, without the file.
func BenchmarkSort100kDiamonds(b *testing.B) {
	m := open(b, diamonds(b, 100_000))
	restart(b)
	for b.Loop() {
		_, err := m.Graph().Sort(true)
		check(b, err)
	}
}
