package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx"
	"github.com/starlarkgs/starlarkgs/runtime"
)

// backend runs the sessions of another in workers.
type backend struct {
	inner runtime.Backend
	o     Options

	mu   sync.Mutex
	idle []*process // of sessions that are closed
}

// most idle workers are kept.
const mostIdle = 2

// New returns the backend whose sessions run in workers; the backend as it is in
// a program that has not called Main.
func New(inner runtime.Backend, o Options) runtime.Backend {
	if !takesPart {
		return inner
	}
	return &backend{inner: inner, o: o}
}

// Name returns the name of the backend that the workers run.
func (b *backend) Name() string { return b.inner.Name() }

// Available asks that backend.
func (b *backend) Available() error { return b.inner.Available() }

// InProcess returns that backend.
func (b *backend) InProcess() runtime.Backend { return b.inner }

// Version returns the version that a worker finds.
func (b *backend) Version() (string, error) {
	out, err := b.describe()
	if err != nil {
		return "", err
	}
	return out.Version, nil
}

// Providers returns the providers of the library that a worker finds.
func (b *backend) Providers() ([]string, error) {
	out, err := b.describe()
	if err != nil {
		return nil, err
	}
	return out.Providers, nil
}

// describe asks a worker for what the library is.
func (b *backend) describe() (*reply, error) {
	p, err := b.take()
	if err != nil {
		return nil, err
	}
	out, err := p.call(context.Background(), &request{Op: opVersion, Backend: b.Name(), Setting: b.o.Setting}, b.Name()+": loading the library", b.o.Limit)
	if err != nil {
		return nil, err
	}
	b.give(p)
	if out.Failed != nil {
		return nil, out.Failed.err()
	}
	return out, nil
}

// take returns a worker that has no model.
func (b *backend) take() (*process, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.idle) > 0 {
		p := b.idle[len(b.idle)-1]
		b.idle = b.idle[:len(b.idle)-1]
		if p.alive() {
			return p, nil
		}
		p.kill()
	}
	return start()
}

// give takes a worker back.
func (b *backend) give(p *process) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.idle) < mostIdle {
		b.idle = append(b.idle, p)
		return
	}
	p.kill()
}

// NewSession opens the model in a worker.
func (b *backend) NewSession(ctx context.Context, m *ir.Model, o runtime.Options) (runtime.Session, error) {
	s := &session{b: b, m: m, o: o, inputs: runtime.InputPorts(m.Graph())}
	if err := s.scratch(); err != nil {
		return nil, err
	}
	names, err := s.open(ctx)
	if err != nil {
		s.clear()
		return nil, err
	}
	types := map[string]*ir.Type{}
	for _, t := range m.Graph().Tensors() {
		types[t.Name()] = t.Type()
	}
	for _, name := range names {
		s.outputs = append(s.outputs, runtime.Port{Name: name, Type: types[name]})
	}
	return s, nil
}

type session struct {
	b               *backend
	m               *ir.Model
	o               runtime.Options
	inputs, outputs []runtime.Port

	mu     sync.Mutex
	p      *process // nil after a crash, until the next call
	closed bool
	folder string // for files of the worker, or ""
	trace  []byte // the profile, once it is taken
}

// Inputs describes the model's inputs.
func (s *session) Inputs() []runtime.Port { return s.inputs }

// Outputs describes what Run returns.
func (s *session) Outputs() []runtime.Port { return s.outputs }

// scratch makes the folder for files of the worker: ours, so that what a worker
// that crashed leaves is removed.
func (s *session) scratch() (err error) {
	if s.o.Scratch == "" && s.o.Records() {
		s.o.Scratch, err = os.MkdirTemp("", "sgs-session-")
		s.folder = s.o.Scratch
	}
	return err
}

// clear removes the folder.
func (s *session) clear() {
	if s.folder != "" {
		_ = os.RemoveAll(s.folder) // in the system's folder for temporary files
	}
}

// Close gives the worker back.
func (s *session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	defer s.clear()
	if s.p == nil {
		return nil
	}
	_, err := s.call(context.Background(), &request{Op: opClose}, "closing")
	if s.p != nil {
		s.b.give(s.p)
		s.p = nil
	}
	return err
}

// call makes a call, and forgets the worker when that is no more.
func (s *session) call(ctx context.Context, r *request, what string) (*reply, error) {
	out, err := s.p.call(ctx, r, fmt.Sprintf("%s: %s %s", s.b.Name(), what, s.m.Graph().Label()), s.b.o.Limit)
	var still *stopped
	switch {
	case errors.As(err, &still):
		return nil, still.cause
	case err != nil:
		s.p = nil
		return nil, err
	}
	for _, why := range out.Told {
		s.o.Fallback(why)
	}
	if out.Failed != nil {
		return nil, out.Failed.err()
	}
	return out, nil
}

// largeWeight is the bytes from which a weight is not sent through the socket.
const largeWeight = 64 << 10

// open opens the model in a worker and returns the names of its outputs.
func (s *session) open(ctx context.Context) ([]string, error) {
	w := &writer{}
	model, err := onnx.MarshalWithout(s.m, func(t *ir.Tensor) (string, int64, bool) {
		a := t.Array()
		if a.NBytes() < largeWeight {
			return "", 0, false
		}
		if at, ok := onnx.PlaceOf(a); ok {
			return fileLocation + at.Path, at.Offset, true
		}
		return "shared", w.place(a), true
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.b.Name(), err)
	}
	if s.p, err = s.b.take(); err != nil {
		return nil, err
	}
	if err := w.copyTo(s.p.inputs); err != nil {
		s.drop()
		return nil, err
	}
	out, err := s.call(ctx, &request{Op: opOpen, Backend: s.b.Name(), Setting: s.b.o.Setting, Model: model, Options: s.o, Tells: s.o.Fallback != nil}, "opening")
	if err != nil {
		s.drop()
		return nil, err
	}
	if err := s.p.inputs.shrink(); err != nil { // the worker has its own copy of the weights
		return nil, err
	}
	return out.Names, nil
}

// drop gives back the worker of a session that could not be opened.
func (s *session) drop() {
	if s.p != nil {
		s.b.give(s.p)
		s.p = nil
	}
}

// ready makes sure that there is a worker with the model.
func (s *session) ready(ctx context.Context) error {
	if s.closed {
		return fmt.Errorf("%s: the session is closed", s.b.Name())
	}
	if s.p != nil && !s.p.alive() {
		s.p.kill()
		s.p = nil
	}
	if s.p != nil {
		return nil
	}
	_, err := s.open(ctx)
	return err
}

// Run evaluates the model.
func (s *session) Run(ctx context.Context, inputs map[string]array.Value) (map[string]array.Value, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := runtime.CheckInputs(s.inputs, inputs); err != nil {
		return nil, err
	}
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	r := &request{Op: opRun}
	w := &writer{}
	for _, p := range s.inputs {
		if inputs[p.Name] == nil {
			continue
		}
		v, err := w.value(p.Name, inputs[p.Name])
		if err != nil {
			return nil, err
		}
		r.Inputs = append(r.Inputs, v)
	}
	if err := w.copyTo(s.p.inputs); err != nil {
		return nil, err
	}
	out, err := s.call(ctx, r, "running")
	if err != nil {
		return nil, err
	}
	return s.results(out)
}

// Profile takes the recording from the worker.
func (s *session) Profile() (*runtime.Profile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trace == nil {
		if s.p == nil {
			return nil, fmt.Errorf("%s: the session has no profile: nothing ran, or the session was closed", s.b.Name())
		}
		out, err := s.call(context.Background(), &request{Op: opProfile}, "taking the profile of")
		if err != nil {
			return nil, err
		}
		s.trace = out.Trace
	}
	p, err := runtime.ReadProfile(bytes.NewReader(s.trace))
	if err != nil {
		return nil, err
	}
	p.Trace = s.trace
	return p, nil
}

func (s *session) results(out *reply) (map[string]array.Value, error) {
	results := make(map[string]array.Value, len(out.Outputs))
	for _, v := range out.Outputs {
		var err error
		if results[v.Name], err = v.read(s.p.outputs, true); err != nil {
			return nil, fmt.Errorf("output %q: %w", v.Name, err)
		}
	}
	return results, nil
}
