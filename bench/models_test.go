package bench

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/onnx"
	"github.com/starlarkgs/starlarkgs/runtime"
	"github.com/starlarkgs/starlarkgs/runtime/onnxruntime"
	"github.com/starlarkgs/starlarkgs/runtime/reference"
)

// models are the real models of the corpus with the sizes that they run at.
var models = []struct {
	file   string
	shapes map[string][]int
	scalar map[string]int64 // inputs that choose a branch
}{
	{file: "ch_PP-OCRv4_det_infer.onnx", shapes: map[string][]int{"x": {1, 3, 640, 640}}},
	{file: "ch_ppocr_mobile_v2.0_cls_infer.onnx", shapes: map[string][]int{"x": {1, 3, 48, 192}}},
	{file: "embedding_model.onnx"},
	{file: "melspectrogram.onnx", shapes: map[string][]int{"input": {1, 16000}}},
	{file: "silero_vad_op18_ifless.onnx", shapes: map[string][]int{"input": {1, 576}, "state": {2, 1, 128}}},
	{file: "silero_vad_v5.onnx", shapes: map[string][]int{"input": {1, 512}, "state": {2, 1, 128}}, scalar: map[string]int64{"sr": 16000}},
	{file: "silero_vad_legacy.onnx", shapes: map[string][]int{"input": {1, 512}, "h": {2, 1, 64}, "c": {2, 1, 64}}, scalar: map[string]int64{"sr": 16000}},
	{file: "timer_v0.1.onnx"},
}

// BenchmarkModels runs each real model on each backend. Two runs of one process
// are compared, on the processors that GOMAXPROCS gives to both.
func BenchmarkModels(b *testing.B) {
	root := os.Getenv("SGS_CORPUS")
	if root == "" {
		b.Skip("SGS_CORPUS is not set: there are no models to run")
	}
	for _, m := range models {
		for _, backend := range []runtime.Backend{reference.New(), onnxruntime.New("")} {
			b.Run(m.file+"/"+backend.Name(), func(b *testing.B) {
				model, err := onnx.Open(filepath.Join(root, "models", m.file), onnx.OpenOptions{})
				if err != nil {
					b.Fatal(err)
				}
				inputs, err := runtime.RandomInputs(model.Graph(), runtime.InputOptions{Seed: 1, Shapes: m.shapes})
				if err != nil {
					b.Fatal(err)
				}
				for name, v := range m.scalar {
					inputs[name] = array.FromSlice([]int64{v})
					if s := inputs[name].(*array.Array); s != nil {
						inputs[name], err = s.Reshape()
						if err != nil {
							b.Fatal(err)
						}
					}
				}
				s, err := backend.NewSession(context.Background(), model, runtime.Options{})
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close()
				b.ReportAllocs()
				for b.Loop() {
					if _, err := s.Run(context.Background(), inputs); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
