// Package runtime runs models: Backend and Session are the small interfaces that
// the built-in reference backend and the native ones implement, and a Go program
// may add its own. Beside them stands what all share: checking and making
// inputs, reading and writing values, comparing results.
//
//	Backend   opens a session of a model, or says why it can't
//	Session   runs it, again and again
//	Profiled  a session that tells which provider ran which node (profile.go)
//	Inputs    makes seeded random inputs (random.go)
//	Compare   tells how far two results are apart (compare.go)
package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/spell"
	"github.com/starlarkgs/starlarkgs/ir"
)

// ErrUnavailable tells that a backend is missing or can't be used here.
var ErrUnavailable = errors.New("the backend is not available")

// ErrUnsupported tells that a backend lacks an operator of the model.
var ErrUnsupported = errors.New("unsupported operator")

// Labelled puts what an error is about before it, unless it says so itself.
func Labelled(label string, err error) error {
	if strings.HasPrefix(err.Error(), label+": ") {
		return err
	}
	return fmt.Errorf("%s: %w", label, err)
}

// InputError tells that the inputs of a run do not fit the model.
type InputError struct{ text string }

// Error says which input, and how it does not fit.
func (e *InputError) Error() string { return e.text }

func inputErrorf(format string, args ...any) error {
	return &InputError{fmt.Sprintf(format, args...)}
}

// Backend runs models of one kind of runtime.
type Backend interface {
	// Name is how users choose it: "reference", "onnxruntime".
	Name() string
	// Available returns nil, or why the backend can't be used and what to install.
	Available() error
	// NewSession prepares a model. The model must not be edited while the
	// session is open.
	NewSession(ctx context.Context, m *ir.Model, o Options) (Session, error)
}

// Isolated is a backend that runs in other processes.
type Isolated interface {
	Backend
	// InProcess returns the backend that runs in this process.
	InProcess() Backend
}

// InProcess returns what runs in this process for a backend: itself, if it is not
// isolated.
func InProcess(b Backend) Backend {
	if i, ok := b.(Isolated); ok {
		return i.InProcess()
	}
	return b
}

// Options says how a session runs.
type Options struct {
	// Providers are the execution providers of a native backend, best first.
	Providers []string
	// ProviderOptions are the options of each provider.
	ProviderOptions map[string]map[string]string
	// Settings are the options of a native session, by name: see the backend.
	Settings map[string]string
	// Fallback, where set, is told why a provider can't be used or ran no node, and
	// the session goes on without it; else that is an error.
	Fallback func(why string)
	// Profile is how many runs a native session records, from the first one; below
	// 0 are all until the recording is taken. See Profiled.
	Profile int
	// Scratch is the folder for files that a session makes and removes; "" is the
	// system's.
	Scratch string
	// Outputs names the values to return; nil is the model's outputs. The one
	// name All stands for every value.
	Outputs []string
	// MaxBytes bounds what one evaluation may allocate at once; 0 is 8 GiB.
	MaxBytes int64
	// Seed is what random operators without a seed of their own draw from.
	Seed uint64
	// Memory, where set, may give the memory of an output; it is aligned and holds
	// anything. A nil slice means that the session makes its own.
	Memory func(bytes int) []byte
}

// Records tells whether a native session makes a recording: for its user, or to see
// that a provider which was asked for ran something.
func (o Options) Records() bool {
	return o.Profile != 0 || slices.ContainsFunc(o.Providers, func(name string) bool { return !IsProvider(name, "cpu") })
}

// All, as the only name of Options.Outputs, asks for every value.
const All = "*"

// Session is a model that is ready to run.
type Session interface {
	// Inputs and Outputs describe what Run takes and gives, in order.
	Inputs() []Port
	Outputs() []Port
	// Run evaluates the model on values by input name.
	Run(ctx context.Context, inputs map[string]array.Value) (map[string]array.Value, error)
	Close() error
}

// Port is an input or output of a model.
type Port struct {
	Name string
	Type *ir.Type // nil when nothing is known
	// Optional inputs have a default: an initializer of the same name.
	Optional bool
}

// InputPorts returns the inputs of a model as ports.
func InputPorts(g *ir.Graph) []Port {
	var ports []Port
	for _, t := range g.Inputs() {
		typ := t.RecordedType()
		if typ == nil {
			typ = t.Type()
		}
		ports = append(ports, Port{t.Name(), typ, t.IsConstant()})
	}
	return ports
}

// OutputPorts returns the outputs of a model as ports.
func OutputPorts(g *ir.Graph) []Port {
	var ports []Port
	for _, t := range g.Outputs() {
		ports = append(ports, Port{Name: t.Name(), Type: t.Type()})
	}
	return ports
}

// CheckInputs holds the given inputs against what a model takes: none may miss,
// none be unknown, types, ranks and fixed sizes must fit, and a symbol must have
// one size.
func CheckInputs(ports []Port, given map[string]array.Value) error {
	known := map[string]Port{}
	var names []string
	for _, p := range ports {
		known[p.Name] = p
		names = append(names, p.Name)
	}
	var extra []string
	for name := range given {
		if _, ok := known[name]; !ok {
			extra = append(extra, name)
		}
	}
	sort.Strings(extra)
	for _, name := range extra {
		return &NameError{Text: fmt.Sprintf("input %q: the model has no such input, want %q%s", name, names, spell.Hint(name, names))}
	}
	symbols := map[string]int{}
	for _, p := range ports {
		v, ok := given[p.Name]
		if !ok || v == nil {
			if p.Optional || p.Type != nil && p.Type.Kind == ir.OptionalKind {
				continue
			}
			return inputErrorf("input %q: got none, want %s", p.Name, p.Type)
		}
		if err := checkInput(p, v, symbols); err != nil {
			return err
		}
	}
	return nil
}

func checkInput(p Port, v array.Value, symbols map[string]int) error {
	if p.Type == nil || p.Type.Kind != ir.TensorKind {
		return nil
	}
	a, ok := v.(*array.Array)
	if !ok || p.Type.Elem != array.Undefined && a.DType() != p.Type.Elem {
		return inputErrorf("input %q: got %s, want %s", p.Name, v.Summary(), p.Type)
	}
	if p.Type.Shape == nil {
		return nil
	}
	if a.Rank() != len(p.Type.Shape) {
		return inputErrorf("input %q: got %s, want rank %d: %s", p.Name, a.Summary(), len(p.Type.Shape), p.Type)
	}
	for i, d := range p.Type.Shape {
		got := a.Shape()[i]
		if n, fixed := d.Size(); fixed && int(n) != got {
			return inputErrorf("input %q: got %s, want size %d at dimension %d: %s", p.Name, a.Summary(), n, i, p.Type)
		}
		symbols[d.Symbol()] = got
	}
	return nil
}

// NameError tells that a model has no value of a name.
type NameError struct{ Text string }

// Error names what was asked for and the nearest name.
func (e *NameError) Error() string { return e.Text }
