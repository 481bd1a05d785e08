//go:build cgo

package onnxruntime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/starlarkgs/starlarkgs/internal/ortlib"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/runtime"
)

// Backend is ONNX Runtime.
type Backend struct {
	// Library is the path of the shared library; "" looks for it.
	Library string
}

// New returns the backend; library may be "".
func New(library string) *Backend { return &Backend{Library: library} }

// Name returns "onnxruntime".
func (*Backend) Name() string { return "onnxruntime" }

// Available reports whether a library is there.
func (b *Backend) Available() error {
	if _, _, err := ortlib.Find(b.Library); err != nil {
		return fmt.Errorf("%s: %w: %w", b.Name(), runtime.ErrUnavailable, err)
	}
	return nil
}

var (
	loadMu sync.Mutex
	loaded string // the library in use: a process can hold one
)

// load makes the library ready.
func (b *Backend) load() error {
	loadMu.Lock()
	defer loadMu.Unlock()
	lib, where, err := ortlib.Find(b.Library)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", b.Name(), runtime.ErrUnavailable, err)
	}
	if loaded != "" {
		return sameLibrary(lib, where)
	}
	ort.SetSharedLibraryPath(lib)
	if err := ort.InitializeEnvironment(ort.WithLogLevelFatal()); err != nil {
		return fmt.Errorf("%s: %w: %s (found by %s): %w", b.Name(), runtime.ErrUnavailable, lib, where, whyNot(lib, err))
	}
	if err := attach(lib); err != nil {
		return fmt.Errorf("%s: %w: %s (found by %s): %w", b.Name(), runtime.ErrUnavailable, lib, where, err)
	}
	loaded = lib
	return nil
}

// sameLibrary refuses a library other than the one that is loaded.
func sameLibrary(lib, where string) error {
	a, errA := os.Stat(lib)
	b, errB := os.Stat(loaded)
	if lib == loaded || errA == nil && errB == nil && os.SameFile(a, b) {
		return nil
	}
	return fmt.Errorf("onnxruntime: %w: got the library %s (found by %s), want %s, which is loaded: a process holds one", runtime.ErrUnavailable, lib, where, loaded)
}

// Version returns the version of the library, loading it.
func (b *Backend) Version() (string, error) {
	if err := b.load(); err != nil {
		return "", err
	}
	return ort.GetVersion(), nil
}

// Providers lists the providers that the library has, loading it.
func (b *Backend) Providers() ([]string, error) {
	if err := b.load(); err != nil {
		return nil, err
	}
	return available()
}

// NewSession hands the model over.
func (b *Backend) NewSession(_ context.Context, m *ir.Model, o runtime.Options) (runtime.Session, error) {
	if err := b.load(); err != nil {
		return nil, err
	}
	s, err := open(m, o)
	if err != nil && o.Fallback != nil && errors.Is(err, errCreate) && len(o.Providers) > 0 {
		o.Fallback(fmt.Sprintf("providers %q can't be used: %v", o.Providers, err))
		o.Providers, o.ProviderOptions = nil, nil
		return open(m, o)
	}
	return s, err
}

// errCreate tells that the runtime could not make a session of the model.
var errCreate = errors.New("onnxruntime")

func open(m *ir.Model, o runtime.Options) (runtime.Session, error) {
	p, err := prepare(m, o)
	if err != nil {
		return nil, err
	}
	options, providers, err := sessionOptions(o)
	if err != nil {
		return nil, err
	}
	defer options.Destroy()
	data, err := marshal(p.model, options)
	if err != nil {
		return nil, fmt.Errorf("onnxruntime: %w", err)
	}
	r, err := record(options, o, providers)
	if err != nil {
		return nil, err
	}
	n, err := newNative(data, options, p.inputNames(), p.outputNames())
	if err != nil {
		r.drop()
		return nil, fmt.Errorf("%w: %w", errCreate, err)
	}
	return &session{n: n, plan: p, recorder: r}, nil
}
