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
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
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
	// Providers are those of a native backend, best first; others have none.
	Providers []string
}

// Outcome is how a case ended.
type Outcome string

// The outcomes. A model that a backend refuses, and a run that fails, can't be
// run; one that runs agrees with what the case expects, or differs.
const (
	Agrees    Outcome = "agrees"
	Differs   Outcome = "differs"
	CannotRun Outcome = "cannot run"
	Invalid   Outcome = "invalid" // the case itself can't be read
)

// Result is the outcome of one case.
type Result struct {
	Case    string // the folder's name
	Dir     string
	Passed  bool
	Outcome Outcome
	Reason  string
	// Other is the outcome on the other backend of RunBoth, and Apart how the
	// results of the two differ, "" where they don't or one has none.
	Other *Result `json:",omitempty"`
	Apart string  `json:",omitempty"`
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
func Run(ctx context.Context, b runtime.Backend, dir string, l Loader, o Options) Result {
	r, _ := measure(ctx, b, dir, l, o)
	return r
}

// RunBoth runs one case on two backends and holds the results of the first
// against those of the second too, whatever the case expects.
func RunBoth(ctx context.Context, b, other runtime.Backend, dir string, l Loader, o Options) Result {
	r, c := measure(ctx, b, dir, l, o)
	second, d := measure(ctx, other, dir, l, o)
	r.Other = &second
	for _, set := range slices.Sorted(maps.Keys(c.ran)) {
		for _, p := range c.outputs {
			if d.ran[set] == nil || r.Apart != "" {
				break
			}
			if err := c.check(p.Name, c.ran[set].got[p.Name], d.ran[set].got[p.Name], c.ran[set].inputs); err != nil {
				r.Apart = oneLine(fmt.Errorf("%s: %w", set, err))
			}
		}
	}
	return r
}

// stopped is an error with the outcome that it means.
type stopped struct {
	outcome Outcome
	err     error
}

// Error returns the error's own text.
func (s *stopped) Error() string { return s.err.Error() }

// Unwrap returns the error.
func (s *stopped) Unwrap() error { return s.err }

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

func measure(ctx context.Context, b runtime.Backend, dir string, l Loader, o Options) (r Result, c *onecase) {
	r = Result{Case: filepath.Base(dir), Dir: dir, Outcome: Differs}
	c = &onecase{l: l, o: o, ran: map[string]*values{}}
	defer func() {
		if p := recover(); p != nil {
			r.Passed, r.Outcome, r.Reason = false, CannotRun, fmt.Sprintf("internal error: %v", p)
		}
	}()
	if err := c.run(ctx, b, dir); err != nil {
		var s *stopped
		if errors.As(err, &s) {
			r.Outcome = s.outcome
		}
		r.Reason = oneLine(err)
		return r, c
	}
	r.Passed, r.Outcome = true, Agrees
	return r, c
}

// onecase is a case as it is run.
type onecase struct {
	l       Loader
	o       Options
	x       map[string]*Exception
	outputs []runtime.Port
	ran     map[string]*values // by the name of the set
}

// values are what a set gives to a model, and what came of it.
type values struct{ inputs, got map[string]array.Value }

func (c *onecase) run(ctx context.Context, b runtime.Backend, dir string) error {
	m, err := c.l.Model(filepath.Join(dir, "model.onnx"))
	if err != nil {
		return &stopped{Invalid, err}
	}
	s, err := b.NewSession(ctx, m, runtime.Options{Providers: c.o.Providers})
	if err != nil {
		return &stopped{CannotRun, err}
	}
	defer s.Close()
	c.x, c.outputs = exceptionsOf(m), s.Outputs()
	sets, err := filepath.Glob(filepath.Join(dir, "test_data_set_*"))
	if err != nil {
		return &stopped{Invalid, err}
	}
	var first error
	for range max(1, c.o.Repeat) {
		for _, set := range sets {
			if err := c.runSet(ctx, s, set); err != nil && first == nil {
				first = fmt.Errorf("%s: %w", filepath.Base(set), err)
			}
		}
	}
	return first
}

func (c *onecase) runSet(ctx context.Context, s runtime.Session, set string) error {
	inputs := map[string]array.Value{}
	for i, p := range s.Inputs() {
		path := filepath.Join(set, fmt.Sprintf("input_%d.pb", i))
		if _, err := os.Stat(path); err != nil {
			continue // an input that the case leaves to its default
		}
		v, err := c.l.Value(path, p.Type)
		if err != nil {
			return &stopped{Invalid, err}
		}
		inputs[p.Name] = v
	}
	got, err := s.Run(ctx, inputs)
	if err != nil {
		return &stopped{CannotRun, err}
	}
	c.ran[filepath.Base(set)] = &values{inputs, got}
	for i, p := range s.Outputs() {
		want, err := c.l.Value(filepath.Join(set, fmt.Sprintf("output_%d.pb", i)), p.Type)
		if err != nil {
			return &stopped{Invalid, err}
		}
		if err := c.check(p.Name, got[p.Name], want, inputs); err != nil {
			return err
		}
	}
	return nil
}

// check holds one output against what it should be.
func (c *onecase) check(name string, got, want array.Value, inputs map[string]array.Value) error {
	e := c.x[name]
	if e != nil && e.inputs != nil && !e.inputs(inputs) {
		e = nil
	}
	if e != nil && e.Random {
		if err := alike(got, want); err != nil {
			return fmt.Errorf("output %q: %w", name, err)
		}
		return nil
	}
	if d := runtime.Compare(got, want, c.o.tolerance(want, e)); !d.OK {
		return fmt.Errorf("output %q: %s", name, d.Text())
	}
	return nil
}
