// Package runtimetest runs the conformance cases of the ONNX standard on any
// backend: folders with a model.onnx and test_data_set_*/input_*.pb and
// output_*.pb.
//
// A case passes when every output of every data set is close to what the data
// says. The tolerance is 1e-3 relative and 1e-7 absolute but for the exceptions
// below; a model that a backend can't run is a failure with its reason.
package runtimetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/runtime"
)

// Loader reads what package onnx reads; a backend's package may not import it.
type Loader struct {
	Model func(path string) (*ir.Model, error)
	Value func(path string, typ *ir.Type) (array.Value, error)
}

// Options says how to run cases.
type Options struct {
	Rtol, Atol float64 // 0 means 1e-3 and 1e-7
	// Repeat is how often a session runs each set, to find what a run leaves
	// behind; 0 is once.
	Repeat int
}

// narrowAtol is the wider tolerances:
// absolute, for float16 and bfloat16 results, whose own last place is wider
// than the standard tolerance.
var narrowAtol = map[array.DType]float64{array.Float16: 1e-3, array.BFloat16: 2e-2}

// Result is the outcome of one case.
type Result struct {
	Case   string // the folder's name
	Dir    string
	Passed bool
	Reason string
}

// Find returns the folders below dirs that hold a case.
func Find(dirs []string) ([]string, error) {
	var out []string
	for _, dir := range dirs {
		if _, err := os.Stat(dir); err != nil {
			return nil, err
		}
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.Name() == "model.onnx" {
				if sets, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "test_data_set_*")); len(sets) > 0 {
					out = append(out, filepath.Dir(path))
				}
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	sort.Strings(out)
	return out, nil
}

// Run runs one case. A panic in the backend is a failure.
func Run(ctx context.Context, b runtime.Backend, dir string, l Loader, o Options) (r Result) {
	r = Result{Case: filepath.Base(dir), Dir: dir}
	defer func() {
		if p := recover(); p != nil {
			r.Passed, r.Reason = false, fmt.Sprintf("internal error: %v", p)
		}
	}()
	if err := run(ctx, b, dir, l, o); err != nil {
		r.Reason = strings.ReplaceAll(err.Error(), "\n", "; ")
		return r
	}
	r.Passed = true
	return r
}

func run(ctx context.Context, b runtime.Backend, dir string, l Loader, o Options) error {
	m, err := l.Model(filepath.Join(dir, "model.onnx"))
	if err != nil {
		return err
	}
	s, err := b.NewSession(ctx, m, runtime.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	sets, err := filepath.Glob(filepath.Join(dir, "test_data_set_*"))
	if err != nil {
		return err
	}
	for range max(1, o.Repeat) {
		for _, set := range sets {
			if err := runSet(ctx, s, set, l, o); err != nil {
				return fmt.Errorf("%s: %w", filepath.Base(set), err)
			}
		}
	}
	return nil
}

func runSet(ctx context.Context, s runtime.Session, set string, l Loader, o Options) error {
	inputs := map[string]array.Value{}
	for i, p := range s.Inputs() {
		path := filepath.Join(set, fmt.Sprintf("input_%d.pb", i))
		if _, err := os.Stat(path); err != nil {
			continue // an input that the case leaves to its default
		}
		v, err := l.Value(path, p.Type)
		if err != nil {
			return err
		}
		inputs[p.Name] = v
	}
	got, err := s.Run(ctx, inputs)
	if err != nil {
		return err
	}
	for i, p := range s.Outputs() {
		path := filepath.Join(set, fmt.Sprintf("output_%d.pb", i))
		want, err := l.Value(path, p.Type)
		if err != nil {
			return err
		}
		if d := runtime.Compare(got[p.Name], want, tolerance(want, o)); !d.OK {
			return fmt.Errorf("output %q: %s", p.Name, d.Text())
		}
	}
	return nil
}

func tolerance(want array.Value, o Options) runtime.Tolerance {
	t := runtime.Tolerance{Rtol: o.Rtol, Atol: o.Atol, EqualNaN: true}
	if t.Rtol == 0 {
		t.Rtol = 1e-3
	}
	if t.Atol == 0 {
		t.Atol = 1e-7
		if a, ok := want.(*array.Array); ok && narrowAtol[a.DType()] != 0 {
			t.Atol = narrowAtol[a.DType()]
		}
	}
	return t
}
