package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx"
	"github.com/starlarkgs/starlarkgs/runtime"
	"github.com/starlarkgs/starlarkgs/runtime/reference"
)

// TestRealModelsEqualONNXRuntime runs each real model on ten random inputs:
// |a-b| ≤ 1e-5 + 1e-4·|b| for every element of every output.
func TestRealModelsEqualONNXRuntime(t *testing.T) {
	needNative(t)
	for _, m := range []struct {
		file   string
		shapes map[string][]int
		rate   []int64 // what the input sr is, in turn
	}{
		{"ch_PP-OCRv4_det_infer.onnx", map[string][]int{"x": {1, 3, 96, 128}}, nil},
		{"ch_ppocr_mobile_v2.0_cls_infer.onnx", map[string][]int{"x": {2, 3, 48, 192}}, nil},
		{"embedding_model.onnx", nil, nil},
		{"melspectrogram.onnx", map[string][]int{"input": {1, 16000}}, nil},
		{"silero_vad_op18_ifless.onnx", map[string][]int{"input": {1, 576}, "state": {2, 1, 128}}, nil},
		{"silero_vad_v5.onnx", map[string][]int{"input": {1, 256}, "state": {2, 1, 128}}, []int64{8000}},
		{"silero_vad_v5.onnx", map[string][]int{"input": {1, 512}, "state": {2, 1, 128}}, []int64{16000}},
		{"silero_vad_legacy.onnx", map[string][]int{"input": {1, 512}, "h": {2, 1, 64}, "c": {2, 1, 64}}, []int64{16000, 8000}},
		{"timer_v0.1.onnx", nil, nil},
	} {
		t.Run(fmt.Sprint(m.file, m.rate), func(t *testing.T) {
			path := corpus(t, filepath.Join("models", m.file))
			ours, theirs := sessions(t, open(t, path))
			for seed := range uint64(10) {
				in, err := runtime.RandomInputs(open(t, path).Graph(), runtime.InputOptions{Seed: seed, Shapes: m.shapes})
				if err != nil {
					t.Fatal(err)
				}
				if m.rate != nil {
					in["sr"] = array.Scalar(m.rate[int(seed)%len(m.rate)])
				}
				a, b := run(t, ours, in), run(t, theirs, in)
				for name := range b {
					if d := runtime.Compare(a[name], b[name], runtime.Tolerance{Rtol: 1e-4, Atol: 1e-5}); !d.OK {
						t.Errorf("seed %d: output %q: %s", seed, name, d.Text())
					}
				}
			}
		})
	}
}

func open(t *testing.T, path string) *ir.Model {
	t.Helper()
	m, err := onnx.Open(path, onnx.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// sessions opens a model on the reference backend and on ONNX Runtime.
func sessions(t *testing.T, m *ir.Model) (ours, theirs runtime.Session) {
	t.Helper()
	for _, b := range (&app{}).backends() {
		s, err := b.NewSession(context.Background(), m, runtime.Options{})
		if err != nil {
			t.Fatalf("%s: %v", b.Name(), err)
		}
		t.Cleanup(func() { _ = s.Close() })
		if b.Name() == (&reference.Backend{}).Name() {
			ours = s
		} else {
			theirs = s
		}
	}
	return ours, theirs
}

func run(t *testing.T, s runtime.Session, in map[string]array.Value) map[string]array.Value {
	t.Helper()
	out, err := s.Run(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestLightModels runs the standard's small copies of large networks. Their
// weights are made by ConstantOfShape: as they are, every output is 0.001, so
// each is also run with random weights, scaled by what a unit sums over, and
// held against ONNX Runtime, to a thousandth of the range of each value.
func TestLightModels(t *testing.T) {
	needNative(t)
	files, err := filepath.Glob(filepath.Join(corpus(t, "onnx-backend/light"), "*.onnx"))
	if err != nil || len(files) != 9 {
		t.Fatalf("got %d models and %v, want 9", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			m := open(t, file)
			ins := m.Graph().Inputs()
			x := ins[0]
			for _, in := range ins {
				if !in.IsConstant() {
					x = in
				}
			}
			in := map[string]array.Value{x.Name(): ramp(t, x)}
			want, err := onnx.ReadValue(strings.TrimSuffix(file, ".onnx")+"_output_0.pb", m.Graph().Output(0).Type())
			if err != nil {
				t.Fatal(err)
			}
			s, err := reference.New().NewSession(context.Background(), m, runtime.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if d := runtime.Compare(run(t, s, in)[m.Graph().Output(0).Name()], want, runtime.Tolerance{Rtol: 1e-3, Atol: 1e-7}); !d.OK {
				t.Errorf("with the weights of the file: %s", d.Text())
			}
			randomWeights(t, m)
			compareAll(t, m, in)
		})
	}
}

// ramp returns 0 … n−1 over n in the shape of a tensor.
func ramp(t *testing.T, x *ir.Tensor) *array.Array {
	t.Helper()
	var shape []int
	for _, d := range x.Shape() {
		n, ok := d.Size()
		if !ok {
			t.Fatalf("%s: got shape %v, want numbers", x.Name(), x.Shape())
		}
		shape = append(shape, int(n))
	}
	a := array.New(array.Float32, shape...)
	data := array.MutableData[float32](a)
	for i := range data {
		data[i] = float32(i) / float32(len(data))
	}
	return a
}

// randomWeights puts constants in the place of the nodes ConstantOfShape.
func randomWeights(t *testing.T, m *ir.Model) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range m.Graph().Nodes() {
		if n.Op() != "ConstantOfShape" {
			continue
		}
		sizes, err := n.Input(0).Array().Int64s()
		if err != nil {
			t.Fatal(err)
		}
		var shape []int
		fan := 1.0
		for i, d := range sizes {
			shape = append(shape, int(d))
			if i > 0 {
				fan *= float64(d)
			}
		}
		a := array.New(array.Float32, shape...)
		data := array.MutableData[float32](a)
		for i := range data {
			if len(shape) == 1 { // scales, shifts, means and variances
				data[i] = 0.5 + r.Float32()
			} else {
				data[i] = float32(r.NormFloat64() / math.Sqrt(fan))
			}
		}
		n.Output(0).ReplaceUses(ir.NewConstant(n.Output(0).Name()+"_random", a))
		n.Discard()
	}
}

// compareAll compares every value of the model.
func compareAll(t *testing.T, m *ir.Model, in map[string]array.Value) {
	t.Helper()
	var results []map[string]array.Value
	for _, b := range (&app{}).backends() {
		s, err := b.NewSession(context.Background(), m, runtime.Options{Outputs: []string{runtime.All}})
		if err != nil {
			t.Fatalf("%s: %v", b.Name(), err)
		}
		results = append(results, run(t, s, in))
		_ = s.Close()
	}
	compared := 0
	masks := map[string]bool{} // of Dropout, which is open outside training
	for _, n := range m.Graph().Nodes() {
		if n.Op() == "Dropout" && n.Output(1) != nil {
			masks[n.Output(1).Name()] = true
		}
	}
	for name, v := range results[1] {
		a, ok := v.(*array.Array)
		if !ok || masks[name] || a.DType() != array.Float32 || a.Size() == 0 {
			continue
		}
		b, ok := results[0][name].(*array.Array)
		if !ok || b.DType() != array.Float32 || b.Size() != a.Size() {
			t.Errorf("value %q: got %s, want %s", name, results[0][name].Summary(), a.Summary())
			continue
		}
		compared++
		if off, span := worst(b, a); !(off <= 1e-3*span+1e-6) {
			t.Errorf("value %q: it is off by %g, with a range of %g", name, off, span)
		}
	}
	if compared < len(m.Graph().Nodes())/2 {
		t.Errorf("%d values were compared, want most of %d nodes' outputs", compared, len(m.Graph().Nodes()))
	}
}

// worst returns the largest difference of two arrays, and the range of b.
func worst(a, b *array.Array) (off, span float64) {
	x, y := array.Data[float32](a.Contiguous()), array.Data[float32](b.Contiguous())
	lo, hi := y[0], y[0]
	for i, v := range y {
		off = max(off, math.Abs(float64(x[i])-float64(v)))
		lo, hi = min(lo, v), max(hi, v)
	}
	return off, float64(hi) - float64(lo)
}
