//go:build cgo

package onnxruntime

import (
	"context"
	"fmt"
	"sync"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/ortlib"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx"
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
		return fmt.Errorf("%w: %w", runtime.ErrUnavailable, err)
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
		return fmt.Errorf("%w: %w", runtime.ErrUnavailable, err)
	}
	if loaded != "" {
		return nil
	}
	ort.SetSharedLibraryPath(lib)
	if err := ort.InitializeEnvironment(ort.WithLogLevelFatal()); err != nil {
		return fmt.Errorf("%w: %s (found by %s): %v", runtime.ErrUnavailable, lib, where, err)
	}
	loaded = lib
	return nil
}

// Version returns the version of the library, loading it.
func (b *Backend) Version() (string, error) {
	if err := b.load(); err != nil {
		return "", err
	}
	return ort.GetVersion(), nil
}

// NewSession hands the model over.
func (b *Backend) NewSession(_ context.Context, m *ir.Model, o runtime.Options) (runtime.Session, error) {
	if err := b.load(); err != nil {
		return nil, err
	}
	p, err := prepare(m, o)
	if err != nil {
		return nil, err
	}
	data, err := onnx.Marshal(p.model)
	if err != nil {
		return nil, fmt.Errorf("onnxruntime: %w", err)
	}
	options, err := sessionOptions(o)
	if err != nil {
		return nil, err
	}
	defer options.Destroy()
	s, err := ort.NewDynamicAdvancedSessionWithONNXData(data, p.inputNames(), p.outputNames(), options)
	if err != nil {
		return nil, fmt.Errorf("onnxruntime: %w", err)
	}
	return &session{s: s, plan: p}, nil
}

// sessionOptions appends the providers in their order; cpu is always there, last.
func sessionOptions(o runtime.Options) (*ort.SessionOptions, error) {
	options, err := ort.NewSessionOptions()
	if err != nil {
		return nil, fmt.Errorf("onnxruntime: %w", err)
	}
	for _, name := range o.Providers {
		if err := appendProvider(options, name, o.ProviderOptions[name]); err != nil {
			options.Destroy()
			return nil, fmt.Errorf("%w: provider %q: %v", runtime.ErrUnavailable, name, err)
		}
	}
	return options, nil
}

func appendProvider(options *ort.SessionOptions, name string, settings map[string]string) error {
	switch name {
	case "cpu":
		return nil
	case "cuda":
		c, err := ort.NewCUDAProviderOptions()
		if err != nil {
			return err
		}
		defer c.Destroy()
		if err := c.Update(settings); err != nil {
			return err
		}
		return options.AppendExecutionProviderCUDA(c)
	case "tensorrt":
		c, err := ort.NewTensorRTProviderOptions()
		if err != nil {
			return err
		}
		defer c.Destroy()
		if err := c.Update(settings); err != nil {
			return err
		}
		return options.AppendExecutionProviderTensorRT(c)
	case "coreml":
		return options.AppendExecutionProviderCoreMLV2(settings)
	case "directml":
		return options.AppendExecutionProviderDirectML(0)
	case "openvino":
		return options.AppendExecutionProviderOpenVINO(settings)
	case "webgpu":
		name = "WebGPU"
	}
	return options.AppendExecutionProvider(name, settings)
}

type session struct {
	s    *ort.DynamicAdvancedSession
	plan *plan
	mu   sync.Mutex
}

// Inputs describes the model's inputs.
func (s *session) Inputs() []runtime.Port { return s.plan.inputs }

// Outputs describes what Run returns.
func (s *session) Outputs() []runtime.Port { return s.plan.outputs }

// Close frees the session.
func (s *session) Close() error { return s.s.Destroy() }

// Run evaluates the model.
func (s *session) Run(ctx context.Context, inputs map[string]array.Value) (map[string]array.Value, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := runtime.CheckInputs(s.plan.inputs, inputs); err != nil {
		return nil, err
	}
	ins := make([]ort.Value, 0, len(s.plan.fed))
	defer func() {
		for _, v := range ins {
			_ = v.Destroy() // nothing can be done about a value that is not freed
		}
	}()
	for _, f := range s.plan.fed {
		v, err := toNative(f.value(inputs))
		if err != nil {
			return nil, fmt.Errorf("onnxruntime: input %q: %w", f.name, err)
		}
		ins = append(ins, v)
	}
	outs := make([]ort.Value, len(s.plan.made))
	if err := s.s.Run(ins, outs); err != nil {
		return nil, fmt.Errorf("onnxruntime: %w", err)
	}
	results := map[string]array.Value{}
	for i, v := range outs {
		a, err := fromNative(v)
		_ = v.Destroy()
		if err != nil {
			return nil, fmt.Errorf("onnxruntime: output %q: %w", s.plan.made[i].name, err)
		}
		if results[s.plan.made[i].name], err = s.plan.made[i].restore(a); err != nil {
			return nil, fmt.Errorf("onnxruntime: output %q: %w", s.plan.made[i].name, err)
		}
	}
	return results, nil
}
