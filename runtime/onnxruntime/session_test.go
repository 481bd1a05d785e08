//go:build cgo

package onnxruntime_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/mmap"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/runtime"
	"github.com/starlarkgs/starlarkgs/runtime/onnxruntime"
)

// backend returns the backend; a test that has none is skipped, or fails where
// it is required.
func backend(t testing.TB) *onnxruntime.Backend {
	t.Helper()
	b := onnxruntime.New("")
	if err := b.Available(); err != nil {
		if os.Getenv("SGS_REQUIRE_ORT") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return b
}

// model returns one of a single node.
func model(op string, ins, outs []*ir.Tensor, attrs ...*ir.Attr) *ir.Model {
	m := ir.NewModel("one", ir.Import{Version: 21}, ir.Import{Domain: "ai.onnx.ml", Version: 3})
	g := m.Graph()
	var fed []*ir.Tensor
	for _, t := range ins {
		if !t.IsConstant() {
			fed = append(fed, t)
		}
	}
	g.SetInputs(fed...)
	g.AddNode(ir.NewNode(op, ins, outs, attrs...))
	g.SetOutputs(outs...)
	return m
}

func run(t *testing.T, m *ir.Model, inputs map[string]array.Value) map[string]array.Value {
	t.Helper()
	s, err := backend(t).NewSession(context.Background(), m, runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	out, err := s.Run(context.Background(), inputs)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func tensor(name string, dt array.DType, dims ...any) *ir.Tensor {
	shape := make(ir.Shape, len(dims))
	for i, d := range dims {
		switch d := d.(type) {
		case int:
			shape[i] = ir.Num(int64(d))
		case string:
			shape[i] = ir.Sym(d)
		}
	}
	return ir.NewTensor(name, ir.TensorType(dt, shape))
}

// filled returns an array whose bytes count up, as bools 0 and 1.
func filled(dt array.DType, shape ...int) *array.Array {
	if dt == array.String {
		texts := make([]string, array.New(array.Uint8, shape...).Size())
		for i := range texts {
			texts[i] = fmt.Sprintf("ü\x00%d", i)
		}
		return array.FromStrings(texts, shape...)
	}
	raw := make([]byte, array.New(dt, shape...).NBytes())
	for i := range raw {
		raw[i] = byte(i*7 + 1)
		if dt == array.Bool {
			raw[i] &= 1
		}
	}
	a, err := array.FromBytes(dt, shape, raw)
	if err != nil {
		panic(err)
	}
	return a
}

// Values of every type come back as they went in: of rank 0 and empty ones too.
func TestEveryType(t *testing.T) {
	lacking := map[array.DType]bool{ // no Identity of them in ONNX Runtime
		array.Complex64: true, array.Complex128: true, array.Uint4: true, array.Int4: true, array.Uint2: true, array.Int2: true,
		array.Float4E2M1: true, array.Float8E8M0: true, array.Float6E2M3: true, array.Float6E3M2: true,
	}
	for _, dt := range array.DTypes() {
		if lacking[dt] {
			continue
		}
		for _, shape := range [][]int{{}, {0}, {3}, {2, 0, 3}, {2, 3}} {
			dims := make([]any, len(shape))
			for i, d := range shape {
				dims[i] = d
			}
			in := filled(dt, shape...)
			m := model("Identity", []*ir.Tensor{tensor("x", dt, dims...)}, []*ir.Tensor{tensor("y", dt, dims...)})
			if out := run(t, m, map[string]array.Value{"x": in}); !array.Equal(in, out["y"].(*array.Array)) {
				t.Errorf("%s: got %v, want %v", in.Summary(), out["y"], in)
			}
		}
	}
}

// Packed types of several elements a byte go in and come out.
func TestPackedTypes(t *testing.T) {
	for _, dt := range []array.DType{array.Uint4, array.Int4} {
		in := filled(dt, 5)
		for _, to := range []array.DType{array.Float32, array.Float16, array.Int8} {
			out := run(t, model("Cast", []*ir.Tensor{tensor("x", dt, 5)}, []*ir.Tensor{tensor("y", to, 5)}, ir.NewAttr("to", int64(to))), map[string]array.Value{"x": in})
			if want, err := in.Cast(to); err != nil || !array.Equal(want, out["y"].(*array.Array)) {
				t.Errorf("%s to %s: got %v, want %v", dt, to, out["y"], want)
			}
		}
	}
}

// What is no tensor goes in and comes out.
func TestSequencesAndMaps(t *testing.T) {
	half := filled(array.Float16, 2)
	seq := ir.NewTensor("s", &ir.Type{Kind: ir.SequenceKind, Of: ir.TensorType(array.Float16, nil)})
	out := run(t, model("SequenceConstruct", []*ir.Tensor{tensor("x", array.Float16, 2), tensor("x2", array.Float16, 2)}, []*ir.Tensor{seq}),
		map[string]array.Value{"x": half, "x2": half})
	want := &array.Sequence{Items: []array.Value{half, half}}
	if d := runtime.Compare(out["s"], want, runtime.Tolerance{}); !d.OK {
		t.Error(d.Text())
	}
	back := ir.NewTensor("n", ir.TensorType(array.Int64, ir.Shape{}))
	out = run(t, model("SequenceLength", []*ir.Tensor{seq}, []*ir.Tensor{back}), map[string]array.Value{"s": want})
	if d := runtime.Compare(out["n"], array.Scalar(int64(2)), runtime.Tolerance{}); !d.OK {
		t.Error(d.Text())
	}
}

// A model without inputs runs.
func TestNoInputs(t *testing.T) {
	c := ir.NewConstant("c", array.FromSlice([]float32{-1, 2}))
	out := run(t, model("Relu", []*ir.Tensor{c}, []*ir.Tensor{tensor("y", array.Float32, 2)}), nil)
	if d := runtime.Compare(out["y"], array.FromSlice([]float32{0, 2}), runtime.Tolerance{}); !d.OK {
		t.Error(d.Text())
	}
}

// Inputs are read where they lie, and outputs whose shape follows from the
// inputs are written into what Run returns: nothing of them is copied, and Go
// allocates the outputs alone. What the runtime makes is copied, once.
func TestNothingIsCopied(t *testing.T) {
	const n = 1 << 20
	s, err := backend(t).NewSession(context.Background(), model("Relu", []*ir.Tensor{tensor("x", array.Float32, "N", 4)}, []*ir.Tensor{tensor("y", array.Float32, "N", 4)}), runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	in := map[string]array.Value{"x": array.FromSlice(make([]float32, 4*n), n, 4)}
	before := onnxruntime.Copied.Load()
	var start, end goruntime.MemStats
	goruntime.ReadMemStats(&start)
	if _, err := s.Run(context.Background(), in); err != nil {
		t.Fatal(err)
	}
	goruntime.ReadMemStats(&end)
	if got := onnxruntime.Copied.Load() - before; got != 0 {
		t.Errorf("got %d bytes copied, want none", got)
	}
	if got := end.TotalAlloc - start.TotalAlloc; got > 16*n+64<<10 {
		t.Errorf("got %d bytes allocated, want the output's %d", got, 16*n)
	}
	run(t, model("NonZero", []*ir.Tensor{tensor("x", array.Float32, 3)}, []*ir.Tensor{ir.NewTensor("y", ir.TensorType(array.Int64, nil))}),
		map[string]array.Value{"x": array.FromSlice([]float32{0, 1, 1})})
	if got := onnxruntime.Copied.Load() - before; got != 16 {
		t.Errorf("got %d bytes copied of an output of unknown shape, want 16", got)
	}
}

// A model that says a wrong shape of its output runs as the runtime lets it.
func TestWrongShapeIsForgiven(t *testing.T) {
	x, shape := tensor("x", array.Float32, 4), tensor("shape", array.Int64, 2)
	m := model("Reshape", []*ir.Tensor{x, shape}, []*ir.Tensor{tensor("y", array.Float32, 4, 1)})
	out := run(t, m, map[string]array.Value{"x": filled(array.Float32, 4), "shape": array.FromSlice([]int64{2, 2})})
	if got := out["y"].Summary(); got != "float32[2,2]" {
		t.Errorf("got %s, want float32[2,2]", got)
	}
}

// A model of more than 2 GB runs from the very file that its weights lie in, with
// an edited weight beside them, which is handed over.
func TestMoreThanTwoGigabytes(t *testing.T) {
	const rows, wide = 1100, 1 << 19 // 2.3 GB, of which the file system holds one row
	path := filepath.Join(t.TempDir(), "weights")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	last := filled(array.Float32, wide)
	raw, err := last.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		raw[i] &= 0x3f // no NaN
	}
	if _, err := f.WriteAt(raw, (rows-1)*wide*4); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	mapped, err := mmap.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	section, err := mapped.Section(0, rows*wide*4)
	if err != nil {
		t.Fatal(err)
	}
	weights, err := array.NewLazy(array.Float32, []int{rows, wide}, section)
	if err != nil {
		t.Fatal(err)
	}
	edited := array.New(array.Float32, wide)
	array.MutableData[float32](edited)[7] = 5
	i, mid, y := tensor("i", array.Int64), tensor("mid", array.Float32, wide), tensor("y", array.Float32, wide)
	m := model("Gather", []*ir.Tensor{ir.NewConstant("w", weights), i}, []*ir.Tensor{mid})
	g := m.Graph()
	g.AddNode(ir.NewNode("Add", []*ir.Tensor{mid, ir.NewConstant("edited", edited)}, []*ir.Tensor{y}))
	g.SetOutputs(y)
	out := run(t, m, map[string]array.Value{"i": array.Scalar(int64(rows - 1))})
	want := last.Copy()
	array.MutableData[float32](want)[7] += 5
	if d := runtime.Compare(out["y"], want, runtime.Tolerance{}); !d.OK {
		t.Error(d.Text())
	}
}

// A cancelled run ends between two nodes, and the session goes on.
func TestCancel(t *testing.T) {
	s, err := backend(t).NewSession(context.Background(), endless(), runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, trip := range []int64{1 << 40, 3} {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		start := time.Now()
		_, err = s.Run(ctx, map[string]array.Value{"n": array.Scalar(trip)})
		cancel()
		if want := trip > 3; errors.Is(err, context.DeadlineExceeded) != want {
			t.Errorf("%d trips: got %v after %v, want it stopped: %v", trip, err, time.Since(start), want)
		}
	}
}

// endless returns a loop that runs as often as its input says.
func endless() *ir.Model {
	m := ir.NewModel("loop", ir.Import{Version: 21})
	body := ir.NewGraph("body")
	i, on, v := tensor("i", array.Int64), tensor("on", array.Bool), tensor("v", array.Float32)
	on2, v2 := tensor("on2", array.Bool), tensor("v2", array.Float32)
	body.SetInputs(i, on, v)
	body.AddNode(ir.NewNode("Identity", []*ir.Tensor{on}, []*ir.Tensor{on2}))
	body.AddNode(ir.NewNode("Neg", []*ir.Tensor{v}, []*ir.Tensor{v2}))
	body.SetOutputs(on2, v2)
	n, y := tensor("n", array.Int64), tensor("y", array.Float32)
	g := m.Graph()
	g.SetInputs(n)
	g.AddNode(ir.NewNode("Loop", []*ir.Tensor{n, ir.NewConstant("yes", array.Scalar(true)), ir.NewConstant("zero", array.Scalar(float32(0)))}, []*ir.Tensor{y}, ir.NewAttr("body", body)))
	g.SetOutputs(y)
	return m
}

// A second library in one process is refused, and the one that is loaded named.
func TestOneLibrary(t *testing.T) {
	b := backend(t)
	if _, err := b.Version(); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "libother.so")
	if err := os.WriteFile(other, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := onnxruntime.New(other).Version()
	if err == nil || !errors.Is(err, runtime.ErrUnavailable) || !strings.Contains(err.Error(), other) || !strings.Contains(err.Error(), "which is loaded") {
		t.Errorf("got %v, want an error with both libraries", err)
	}
}

// Options that a provider does not take are refused by name.
func TestProviderOptions(t *testing.T) {
	for _, test := range []struct {
		providers []string
		options   map[string]map[string]string
		want      string
	}{
		{[]string{"directml"}, map[string]map[string]string{"directml": {"devise_id": "1"}}, `option "devise_id": got one that the provider does not take, want one of ["device_id"] (did you mean "device_id"?)`},
		{[]string{"directml"}, map[string]map[string]string{"directml": {"device_id": "one"}}, `option "device_id": got "one", want a number`},
		{[]string{"cpu"}, map[string]map[string]string{"cpu": {"threads": "1"}}, `provider "cpu": option "threads"`},
		{[]string{"cpu"}, map[string]map[string]string{"cuda": {"device_id": "1"}}, `options of provider "cuda": got no such provider, want one of ["cpu"]`},
	} {
		_, err := backend(t).NewSession(context.Background(), endless(), runtime.Options{Providers: test.providers, ProviderOptions: test.options})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: got %v, want %s", test.options, err, test.want)
		}
	}
}
