// Package runtimetest runs the conformance cases of the ONNX standard on any
// backend: folders with a model.onnx and test_data_set_*/input_*.pb and
// output_*.pb.
//
// A case passes when every output of every data set is close to what the data
// says. The tolerance is 1e-3 relative and 1e-7 absolute but for Exceptions and
// narrow types; a model that a backend can't run is a failure with its reason.
package runtimetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/nofile"
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
			return nil, nofile.Explain(err)
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
	x := exceptionsOf(m)
	sets, err := filepath.Glob(filepath.Join(dir, "test_data_set_*"))
	if err != nil {
		return err
	}
	for range max(1, o.Repeat) {
		for _, set := range sets {
			if err := runSet(ctx, s, set, l, o, x); err != nil {
				return fmt.Errorf("%s: %w", filepath.Base(set), err)
			}
		}
	}
	return nil
}

func runSet(ctx context.Context, s runtime.Session, set string, l Loader, o Options, x map[string]*Exception) error {
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
		e := x[p.Name]
		if e != nil && e.inputs != nil && !e.inputs(inputs) {
			e = nil
		}
		if e != nil && e.Random {
			if err := alike(got[p.Name], want); err != nil {
				return fmt.Errorf("output %q: %w", p.Name, err)
			}
			continue
		}
		if d := runtime.Compare(got[p.Name], want, o.tolerance(want, e)); !d.OK {
			return fmt.Errorf("output %q: %s", p.Name, d.Text())
		}
	}
	return nil
}
