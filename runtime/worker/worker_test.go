//go:build cgo && linux

package worker_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx"
	"github.com/starlarkgs/starlarkgs/runtime"
	"github.com/starlarkgs/starlarkgs/runtime/worker"
)

// echo is a backend whose outputs are its inputs, in their order, and the weights
// of the model after them.
type echo struct{}

func (echo) Name() string     { return "echo" }
func (echo) Available() error { return nil }
func (echo) NewSession(_ context.Context, m *ir.Model, o runtime.Options) (runtime.Session, error) {
	switch {
	case o.Seed == 1:
		return nil, &runtime.NameError{Text: "no such value"}
	case o.Seed == 2:
		panic("something is wrong")
	}
	return echoing{m, o}, nil
}
func (echo) Version() (string, error)     { return "7.1", nil }
func (echo) Providers() ([]string, error) { return []string{"cpu", "acme"}, nil }

type echoing struct {
	m *ir.Model
	o runtime.Options
}

// Profile is one node for each run that was asked for; what it writes to its
// folder it does not remove.
func (s echoing) Profile() (*runtime.Profile, error) {
	if s.o.Profile == 9 {
		return nil, errors.New("nothing ran")
	}
	event := `{"cat": "Node", "name": "n_kernel_time", "dur": 1, "args": {"op_name": "Echo", "provider": "CPUExecutionProvider"}}`
	raw := []byte("[" + strings.Join(slices.Repeat([]string{event}, s.o.Profile), ",") + "]")
	return &runtime.Profile{Trace: raw}, os.WriteFile(filepath.Join(s.o.Scratch, "left"), raw, 0o644)
}

func (s echoing) Inputs() []runtime.Port { return runtime.InputPorts(s.m.Graph()) }
func (echoing) Close() error             { return nil }
func (s echoing) Outputs() []runtime.Port {
	ports := s.Inputs()
	for _, t := range s.m.Graph().Initializers() {
		ports = append(ports, runtime.Port{Name: t.Name(), Type: t.Type()})
	}
	return ports
}

func (s echoing) Run(_ context.Context, in map[string]array.Value) (map[string]array.Value, error) {
	if s.o.Fallback != nil {
		s.o.Fallback("acme is away")
	}
	out := map[string]array.Value{}
	for name, v := range in {
		out[name] = v
	}
	for _, t := range s.m.Graph().Initializers() {
		out[t.Name()] = t.Array()
	}
	return out, nil
}

// isolated returns what comes back of inputs and weights from a worker.
func isolated(t *testing.T, m *ir.Model, in map[string]array.Value) map[string]array.Value {
	t.Helper()
	s, err := worker.New(echo{}, worker.Options{}).NewSession(context.Background(), m, runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var out map[string]array.Value
	for range 2 { // the second has memory that was used
		if out, err = s.Run(context.Background(), in); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// Values of every type and kind go to a worker and come back as they were.
func TestValues(t *testing.T) {
	m := ir.NewModel("values", ir.Import{Version: 21})
	in := map[string]array.Value{}
	var ports []*ir.Tensor
	add := func(name string, v array.Value) {
		in[name] = v
		ports = append(ports, ir.NewTensor(name, nil))
	}
	for _, dt := range array.DTypes() {
		for name, shape := range map[string][]int{"scalar": {}, "empty": {2, 0}, "odd": {3, 1}} {
			a := array.New(dt, shape...)
			if dt != array.String && a.Size() > 0 {
				raw, err := a.Bytes()
				if err != nil {
					t.Fatal(err)
				}
				raw[0] = 1
			}
			add(dt.String()+name, a)
		}
	}
	text, half := array.FromStrings([]string{"", "a\x00b", "\xff"}), array.New(array.Float16, 2)
	add("text", text)
	add("large", array.New(array.Float32, 1<<20))
	add("sequence", &array.Sequence{Items: []array.Value{text, half, &array.Sequence{}}})
	add("map", &array.Map{Keys: array.FromSlice([]int64{4, 5}), Values: []array.Value{half, half}})
	add("none", &array.Optional{})
	add("some", &array.Optional{Value: half})
	m.Graph().SetInputs(ports...)
	out := isolated(t, m, in)
	for name, v := range in {
		if out[name] == nil || out[name].Summary() != v.Summary() {
			t.Errorf("%s: got %v, want %s", name, out[name], v.Summary())
			continue
		}
		if a, ok := v.(*array.Array); ok && !array.Equal(a, out[name].(*array.Array)) {
			t.Errorf("%s: got %v, want %v", name, out[name], v)
		}
	}
}

// Weights come to the worker from the file that they lie in, from memory when
// they were edited, and within the model when they are small.
func TestWeights(t *testing.T) {
	m := ir.NewModel("weights", ir.Import{Version: 21})
	g := m.Graph()
	for i, n := range []int{3, 1 << 16, 1 << 17} {
		a := array.New(array.Float32, n)
		data := array.MutableData[float32](a)
		for k := range data {
			data[k] = float32(k + i)
		}
		name := string(rune('a' + i))
		g.AddNode(ir.NewNode("Identity", []*ir.Tensor{ir.NewConstant(name, a)}, []*ir.Tensor{ir.NewTensor(name+"out", nil)}))
	}
	g.SetOutputs(g.Nodes()[0].Outputs()[0])
	path := filepath.Join(t.TempDir(), "m.onnx")
	if _, err := onnx.Save(m, path, onnx.SaveOptions{}); err != nil {
		t.Fatal(err)
	}
	opened, err := onnx.Open(path, onnx.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range opened.Graph().Initializers() {
		if w.Name() == "c" {
			array.MutableData[float32](w.Array())[5] = -1
		}
	}
	for range 2 { // the second time over, the file is no longer at its path
		out := isolated(t, opened, nil)
		for _, w := range opened.Graph().Initializers() {
			if got, ok := out[w.Name()].(*array.Array); !ok || !array.Equal(got, w.Array()) {
				t.Errorf("%s: got %v, want %v", w.Name(), out[w.Name()], w.Array())
			}
		}
		if err := os.Rename(path, path+".old"); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("another file"), 0o644); err != nil {
			t.Fatal(err)
		}
		path += ".old"
	}
}

// Errors of a backend in a worker are what they are in-process; a panic is one.
func TestErrors(t *testing.T) {
	b := worker.New(echo{}, worker.Options{})
	m := ir.NewModel("errors", ir.Import{Version: 21})
	var name *runtime.NameError
	if _, err := b.NewSession(context.Background(), m, runtime.Options{Seed: 1}); !errors.As(err, &name) || err.Error() != "no such value" {
		t.Errorf("got %v, want a NameError", err)
	}
	if _, err := b.NewSession(context.Background(), m, runtime.Options{Seed: 2}); err == nil || !strings.Contains(err.Error(), "internal error: something is wrong") {
		t.Errorf("got %v, want the panic as an error", err)
	}
	var crash *worker.Crash
	if _, err := b.NewSession(context.Background(), m, runtime.Options{}); err != nil || errors.As(err, &crash) {
		t.Errorf("got %v, want the worker to go on", err)
	}
}

// Profiles, warnings and what a library has come from a worker, and the folder for
// its files goes with the session.
func TestProfileAndFallback(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	b := worker.New(echo{}, worker.Options{})
	var told []string
	s, err := b.NewSession(context.Background(), identity(), runtime.Options{Profile: 2, Fallback: func(why string) { told = append(told, why) }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(context.Background(), map[string]array.Value{"x": array.New(array.Int64, 1)}); err != nil {
		t.Fatal(err)
	}
	p, err := s.(runtime.Profiled).Profile()
	if err != nil || len(p.Nodes) != 1 || p.Nodes[0].Op != "Echo" || p.Nodes[0].Runs != 2 || len(p.Trace) == 0 {
		t.Errorf("got %+v, %v, want two runs of Echo", p, err)
	}
	if !slices.Equal(told, []string{"acme is away"}) {
		t.Errorf("told %q, want that acme is away", told)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("got %v, %v, want an empty folder", left, err)
	}
	if s, err = b.NewSession(context.Background(), identity(), runtime.Options{Profile: 9}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.(runtime.Profiled).Profile(); err == nil || err.Error() != "nothing ran" {
		t.Errorf("got %v, want the worker's error", err)
	}
	if names, err := b.(interface{ Providers() ([]string, error) }).Providers(); err != nil || !slices.Equal(names, []string{"cpu", "acme"}) {
		t.Errorf("got %q, %v, want cpu and acme", names, err)
	}
}
