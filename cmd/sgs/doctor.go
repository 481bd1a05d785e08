package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/ortlib"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/runtime"
)

// diagnosis is what doctor tells of the native backend.
type diagnosis struct {
	Backend   string          `json:"backend"`
	State     string          `json:"state"`
	Why       string          `json:"why,omitempty"` // of a library that is missing or broken
	Version   string          `json:"version,omitempty"`
	Library   string          `json:"library,omitempty"`
	FoundBy   string          `json:"found_by,omitempty"`
	MaxOpset  int64           `json:"max_opset,omitempty"`
	MaxIR     int64           `json:"max_ir_version,omitempty"`
	Providers []providerState `json:"providers,omitempty"`
	err       error
}

// The states of a backend or provider.
const (
	present = "present"
	missing = "missing"
	broken  = "broken"
)

type providerState struct {
	Name  string `json:"name"`
	State string `json:"state"`
	Note  string `json:"note,omitempty"` // what to install, or the runtime's own words
}

// trialLimit bounds one call of a provider's trial.
const trialLimit = 2 * time.Minute

// diagnose loads the library and tries each provider, in processes of their own.
func (a *app) diagnose(ctx context.Context) *diagnosis {
	d := &diagnosis{Backend: "onnxruntime"}
	a.callTimeout = cmp.Or(a.callTimeout, trialLimit)
	version, providers, err := nativeLibrary(a)
	if err != nil {
		d.State, d.Why, d.err = broken, err.Error(), err
		if _, _, err := ortlib.Find(a.ortLib); err != nil {
			d.State = missing
		}
		return d
	}
	d.State, d.Version = present, version
	if d.Library, d.FoundBy, err = ortlib.Find(a.ortLib); err != nil {
		d.State, d.Why, d.err = missing, err.Error(), err
		return d
	}
	b := a.onnxRuntime()
	d.MaxOpset = highest(7, func(n int64) bool { return opens(ctx, b, trial(n, 4), runtime.Options{}) == nil })
	d.MaxIR = highest(4, func(n int64) bool { return opens(ctx, b, trial(7, n), runtime.Options{}) == nil })
	for _, name := range allProviders(providers) {
		d.Providers = append(d.Providers, try(ctx, b, name, slices.Contains(providers, name)))
	}
	return d
}

// highest returns the last number from first on for which ok holds, 0 where it does
// not hold for the first.
func highest(first int64, ok func(int64) bool) int64 {
	const most = 1000
	n := first
	for n < most && ok(n) {
		n++
	}
	if n == first {
		return 0
	}
	return n - 1
}

// allProviders lists the known ones, then those that the library has besides.
func allProviders(has []string) []string {
	names := runtime.ProviderNames()
	for _, name := range has {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// try runs a small model on a provider.
func try(ctx context.Context, b runtime.Backend, name string, has bool) providerState {
	if !has {
		return providerState{name, missing, "it comes with " + runtime.FindProvider(name).Install}
	}
	err := opens(ctx, b, trial(13, 7), runtime.Options{Providers: []string{name}, Profile: 1})
	if err == nil {
		return providerState{Name: name, State: present}
	}
	words := strings.TrimPrefix(err.Error(), runtime.ErrUnavailable.Error()+": ")
	if !slices.Contains(runtime.ProviderNames(), name) { // it may be for other operators than the trial's
		return providerState{name, present, "a trial with MatMul and Relu: " + words}
	}
	if needs := runtime.FindProvider(name).Needs; needs != "" {
		words += " (it needs " + needs + ")"
	}
	return providerState{name, broken, words}
}

// opens runs a model of an input x once.
func opens(ctx context.Context, b runtime.Backend, m *ir.Model, o runtime.Options) error {
	s, err := b.NewSession(ctx, m, o)
	if err != nil {
		return err
	}
	defer s.Close()
	_, err = s.Run(ctx, map[string]array.Value{"x": array.New(array.Float32, trialSize, trialSize)})
	return err
}

const trialSize = 8

// trial is a model that every runtime and provider should run: Relu(x · x).
func trial(opset, irVersion int64) *ir.Model {
	m := ir.NewModel("trial", ir.Import{Version: opset})
	m.SetIRVersion(irVersion)
	typ := ir.TensorType(array.Float32, ir.Ints(trialSize, trialSize))
	x, mid, y := ir.NewTensor("x", typ), ir.NewTensor("mid", typ), ir.NewTensor("y", typ)
	g := m.Graph()
	g.SetInputs(x)
	g.AddNode(ir.NewNode("MatMul", []*ir.Tensor{x, x}, []*ir.Tensor{mid}))
	g.AddNode(ir.NewNode("Relu", []*ir.Tensor{mid}, []*ir.Tensor{y}))
	g.SetOutputs(y)
	return m
}

// doctor tells what each backend and provider is, or why it fails. A library that is
// missing or can't be loaded is exit status 4; providers never are, since no machine
// has them all.
func (a *app) doctor(ctx context.Context, asJSON bool) error {
	d := a.diagnose(ctx)
	if asJSON {
		all := []*diagnosis{{Backend: "reference", State: present}, d}
		e := jsonTo(a.stdout)
		e.SetIndent("", "  ")
		if err := e.Encode(all); err != nil {
			return err
		}
	} else {
		a.printDiagnosis(d)
	}
	if d.err != nil {
		return &statusError{exitBackend, d.err}
	}
	return nil
}

func (a *app) printDiagnosis(d *diagnosis) {
	fmt.Fprintln(a.stdout, "reference: present, built in")
	if d.err != nil {
		return // the error says it
	}
	fmt.Fprintf(a.stdout, "onnxruntime: present, version %s, %s (found by %s)\n", d.Version, d.Library, d.FoundBy)
	fmt.Fprintf(a.stdout, "  opsets of ai.onnx up to %d, IR versions up to %d\n", d.MaxOpset, d.MaxIR)
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	defer w.Flush()
	for _, p := range d.Providers {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", clean(p.Name), p.State, printable(p.Note))
	}
}
