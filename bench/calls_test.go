package bench

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx"
	"github.com/starlarkgs/starlarkgs/runtime"
	"github.com/starlarkgs/starlarkgs/runtime/onnxruntime"
	"github.com/starlarkgs/starlarkgs/runtime/worker"
)

// workers returns the backend of a worker process: see TestMain.
func workers(_, library string) runtime.Backend { return onnxruntime.New(library) }

// calls are models whose calls are timed: of next to no work, of an image, of
// 10 MB in and out, and of some 10 ms of work.
var calls = []struct {
	name   string
	shape  []int
	layers int
}{
	{"tiny", []int{4}, 0},
	{"image", []int{1, 3, 224, 224}, 0},
	{"wide", []int{2560, 1024}, 0},
	{"layers", []int{128, 512}, 6},
}

// called returns the model: one Relu, or products with a weight, one on another.
func called(shape []int, layers int) *ir.Model {
	m := ir.NewModel("called", ir.Import{Version: 17})
	g := m.Graph()
	dims := make([]int64, len(shape))
	for i, d := range shape {
		dims[i] = int64(d)
	}
	typ := ir.TensorType(array.Float32, ir.Ints(dims...))
	x := ir.NewTensor("x", typ)
	g.SetInputs(x)
	last := x
	for i := range layers {
		w := array.New(array.Float32, shape[len(shape)-1], shape[len(shape)-1])
		for k, data := 0, array.MutableData[float32](w); k < len(data); k++ {
			data[k] = float32(k%7-3) / 64
		}
		name := string(rune('a' + i))
		next := ir.NewTensor("p"+name, typ)
		g.AddNode(ir.NewNode("MatMul", []*ir.Tensor{last, ir.NewConstant("w"+name, w)}, []*ir.Tensor{next}))
		last = next
	}
	y := ir.NewTensor("y", typ)
	g.AddNode(ir.NewNode("Relu", []*ir.Tensor{last}, []*ir.Tensor{y}))
	g.SetOutputs(y)
	return m
}

func half(shape []int) map[string]array.Value {
	a := array.New(array.Float32, shape...)
	for i, data := 0, array.MutableData[float32](a); i < len(data); i++ {
		data[i] = 0.5
	}
	return map[string]array.Value{"x": a}
}

// BenchmarkCalls times calls in-process; calls.py runs the same models, which go
// to the folder that SGS_CALLS_DIR names, by ONNX Runtime's own Python package.
func BenchmarkCalls(b *testing.B) {
	for _, c := range calls {
		b.Run(c.name, func(b *testing.B) {
			m := called(c.shape, c.layers)
			if dir := os.Getenv("SGS_CALLS_DIR"); dir != "" {
				if _, err := onnx.Save(m, filepath.Join(dir, c.name+".onnx"), onnx.SaveOptions{}); err != nil {
					b.Fatal(err)
				}
			}
			s, err := onnxruntime.New("").NewSession(context.Background(), m, runtime.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			in := half(c.shape)
			for b.Loop() {
				if _, err := s.Run(context.Background(), in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkIsolation runs each model in-process and in a worker, block by block,
// and reports the medians and their ratio. The goal is 1.05 for the model of some
// 10 ms. The first runs of a block are not timed: the threads of the other side
// still spin.
func BenchmarkIsolation(b *testing.B) {
	for _, c := range calls {
		b.Run(c.name, func(b *testing.B) {
			var sessions [2]runtime.Session
			for i, backend := range []runtime.Backend{onnxruntime.New(""), worker.New(onnxruntime.New(""), worker.Options{})} {
				s, err := backend.NewSession(context.Background(), called(c.shape, c.layers), runtime.Options{})
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close()
				sessions[i] = s
			}
			in := half(c.shape)
			var times [2][]time.Duration
			for b.Loop() {
				for i, s := range sessions {
					for k := range 12 {
						start := time.Now()
						if _, err := s.Run(context.Background(), in); err != nil {
							b.Fatal(err)
						}
						if k >= 2 {
							times[i] = append(times[i], time.Since(start))
						}
					}
				}
			}
			slices.Sort(times[0])
			slices.Sort(times[1])
			inside, outside := times[0][len(times[0])/2], times[1][len(times[1])/2]
			b.ReportMetric(float64(inside.Microseconds())/1e3, "ms-in-process")
			b.ReportMetric(float64(outside.Microseconds())/1e3, "ms-isolated")
			b.ReportMetric(float64(outside)/float64(inside), "ratio")
		})
	}
}
