//go:build cgo

package onnxruntime_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/runtime"
)

func neg() *ir.Model {
	return model("Neg", []*ir.Tensor{tensor("x", array.Float32, "N", 4)}, []*ir.Tensor{tensor("y", array.Float32, "N", 4)})
}

// The recording has the runs that were asked for, and leaves no file.
func TestProfile(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, c := range []struct{ asked, runs, want int }{{1, 3, 1}, {2, 3, 2}, {-1, 3, 3}} {
		s, err := backend(t).NewSession(context.Background(), neg(), runtime.Options{Profile: c.asked})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.(runtime.Profiled).Profile(); err == nil {
			t.Error("before a run: got a profile, want an error")
		}
		for range c.runs {
			if _, err := s.Run(context.Background(), map[string]array.Value{"x": array.New(array.Float32, 1, 4)}); err != nil {
				t.Fatal(err)
			}
		}
		p, err := s.(runtime.Profiled).Profile()
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Nodes) != 1 || p.Nodes[0].Op != "Neg" || p.Nodes[0].Provider != "cpu" || p.Nodes[0].Runs != c.want || len(p.Trace) == 0 {
			t.Errorf("asked for %d of %d runs: got %+v, want %d of Neg on cpu", c.asked, c.runs, p.Nodes, c.want)
		}
		s.Close()
	}
	s, err := backend(t).NewSession(context.Background(), neg(), runtime.Options{Profile: 1})
	if err != nil {
		t.Fatal(err)
	}
	s.Close() // without a run
	left, err := os.ReadDir(os.TempDir())
	if err != nil || len(left) > 0 {
		t.Errorf("got %v, %v, want an empty folder", left, err)
	}
	s, err = backend(t).NewSession(context.Background(), neg(), runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.(runtime.Profiled).Profile(); err == nil {
		t.Error("a session that records nothing: got a profile, want an error")
	}
}

// What a session can be told is taken by the runtime, and what it can't is refused
// by name.
func TestSettings(t *testing.T) {
	for name, text := range map[string]string{
		"optimization": "layout", "threads": "1", "inter_op_threads": "1", "execution_mode": "parallel", "mem_pattern": "false",
		"cpu_mem_arena": "False", "deterministic": "true", "dimension.N": "2", "session.disable_prepacking": "1", "acme.anything": "x",
	} {
		s, err := backend(t).NewSession(context.Background(), neg(), runtime.Options{Settings: map[string]string{name: text}})
		if err != nil {
			t.Errorf("%s=%s: %v", name, text, err)
			continue
		}
		s.Close()
	}
	for _, c := range []struct{ name, text, want string }{
		{"optimization", "max", `got "max", want none, basic, extended, layout or all`},
		{"threads", "-1", "want a number of threads"}, {"deterministic", "ja", "want true or false"}, {"execution_mode", "", "want sequential or parallel"},
		{"thread", "1", `did you mean "threads"?`}, {"dimension.N", "x", "want the size of a symbol"},
		{"session.disable_prepaking", "1", `did you mean "session.disable_prepacking"?`},
		{runtime.CustomOps, filepath.Join(t.TempDir(), "no.so"), "no.so"},
	} {
		_, err := backend(t).NewSession(context.Background(), neg(), runtime.Options{Settings: map[string]string{c.name: c.text}})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.name) {
			t.Errorf("%s=%s: got %v, want %s", c.name, c.text, err, c.want)
		}
	}
}

// The optimisation level is the runtime's: without it, nothing is fused.
func TestOptimizationIsTheRuntimes(t *testing.T) {
	m := ir.NewModel("pair", ir.Import{Version: 21})
	x, mid, y := tensor("x", array.Float32, 2), tensor("mid", array.Float32, 2), tensor("y", array.Float32, 2)
	m.Graph().SetInputs(x)
	m.Graph().AddNode(ir.NewNode("Identity", []*ir.Tensor{x}, []*ir.Tensor{mid}))
	m.Graph().AddNode(ir.NewNode("Neg", []*ir.Tensor{mid}, []*ir.Tensor{y}))
	m.Graph().SetOutputs(y)
	for level, want := range map[string]int{"none": 2, "all": 1} {
		s, err := backend(t).NewSession(context.Background(), m, runtime.Options{Profile: 1, Settings: map[string]string{"optimization": level}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Run(context.Background(), map[string]array.Value{"x": array.New(array.Float32, 2)}); err != nil {
			t.Fatal(err)
		}
		p, err := s.(runtime.Profiled).Profile()
		if err != nil || len(p.Nodes) != want {
			t.Errorf("%s: got %+v, %v, want %d nodes", level, p, err, want)
		}
		s.Close()
	}
}

// A library of operators is loaded where it is named, and its words are told.
func TestCustomOpsLibraryIsCalled(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil || goruntime.GOOS != "linux" {
		t.Skip("no C compiler for a library of operators")
	}
	dir := t.TempDir()
	source, lib := filepath.Join(dir, "ops.c"), filepath.Join(dir, "libops.so")
	// the first function of the table makes a status
	code := `typedef struct { void *(*create_status)(int, const char *); } api;
typedef struct { const api *(*get_api)(unsigned); } base;
void *RegisterCustomOps(void *options, const base *b) { return b->get_api(1)->create_status(1, "the library was asked"); }
`
	if err := os.WriteFile(source, []byte(code), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-o", lib, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_, err = backend(t).NewSession(context.Background(), neg(), runtime.Options{Settings: map[string]string{runtime.CustomOps: lib}})
	if err == nil || !strings.Contains(err.Error(), "the library was asked") {
		t.Errorf("got %v, want the words of the library", err)
	}
}

// A provider that can't be had is an error; where a fallback is allowed it is told,
// and the CPU runs the model.
func TestMissingProvider(t *testing.T) {
	o := runtime.Options{Providers: []string{"qnn", "cpu"}, Profile: 1}
	_, err := backend(t).NewSession(context.Background(), neg(), o)
	if !errors.Is(err, runtime.ErrUnavailable) || !strings.Contains(err.Error(), `provider "qnn" is missing from this library`) {
		t.Fatalf("got %v, want an error about qnn", err)
	}
	var told []string
	o.Fallback = func(why string) { told = append(told, why) }
	s, err := backend(t).NewSession(context.Background(), neg(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Run(context.Background(), map[string]array.Value{"x": array.New(array.Float32, 1, 4)}); err != nil {
		t.Fatal(err)
	}
	p, err := s.(runtime.Profiled).Profile()
	if err != nil || p.PlacementText() != "1 of 1 nodes on cpu" {
		t.Errorf("got %v, %v, want one node on cpu", p, err)
	}
	if len(told) != 1 || !strings.Contains(told[0], `"qnn"`) {
		t.Errorf("got %q, want one warning about qnn", told)
	}
	o.Providers, o.Fallback = []string{"webgpy"}, nil
	var wrong *runtime.OptionError
	if _, err := backend(t).NewSession(context.Background(), neg(), o); !errors.As(err, &wrong) || !strings.Contains(err.Error(), `did you mean "webgpu"?`) {
		t.Errorf("got %v, want a hint", err)
	}
}

// Providers names what the library has; the CPU is always there.
func TestProvidersOfTheLibrary(t *testing.T) {
	names, err := backend(t).Providers()
	if err != nil || !strings.Contains(strings.Join(names, " "), "cpu") {
		t.Errorf("got %q, %v, want cpu among them", names, err)
	}
}
