//go:build cgo

package onnxruntime

// #include "native.h"
import "C"

import (
	"context"
	"fmt"
	goruntime "runtime"
	"strings"
	"sync"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/runtime"
)

type session struct {
	n    *native
	plan *plan
	mu   sync.Mutex
	// recorder holds what the first runs did.
	recorder *recorder
	// made is set when a shape that was foretold was wrong: the runtime makes all
	// outputs from then on.
	made bool
}

// Inputs describes the model's inputs.
func (s *session) Inputs() []runtime.Port { return s.plan.inputs }

// Outputs describes what Run returns.
func (s *session) Outputs() []runtime.Port { return s.plan.outputs }

// Close frees the session.
func (s *session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n.close()
	s.recorder.drop()
	return nil
}

// Run evaluates the model. The runtime reads the inputs where they lie, and
// writes outputs whose shapes are known into the arrays that are returned.
func (s *session) Run(ctx context.Context, inputs map[string]array.Value) (map[string]array.Value, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.n.session == nil {
		return nil, fmt.Errorf("onnxruntime: the session is closed")
	}
	if err := runtime.CheckInputs(s.plan.inputs, inputs); err != nil {
		return nil, err
	}
	results, err := s.run(ctx, inputs)
	if err != nil && !s.made && wrongShape(err) {
		s.made = true
		results, err = s.run(ctx, inputs)
	}
	if err != nil {
		return nil, err
	}
	if err := s.recorder.after(s.n); err != nil {
		return nil, err
	}
	return results, nil
}

// wrongShape reports whether the runtime refused the memory of an output: the
// model says a shape that its nodes do not make.
func wrongShape(err error) bool {
	text := err.Error()
	return strings.Contains(text, "has shape") && strings.Contains(text, "pre-allocated") || strings.Contains(text, "shape verification failed")
}

func (s *session) run(ctx context.Context, inputs map[string]array.Value) (map[string]array.Value, error) {
	c, outs := &call{}, make([]*array.Array, len(s.plan.made))
	defer c.free()
	if err := s.feed(c, inputs); err != nil {
		return nil, err
	}
	if err := s.room(c, inputs, outs); err != nil {
		return nil, err
	}
	finish := s.watch(ctx)
	err := s.n.run(c)
	goruntime.KeepAlive(inputs)
	if cancelled := finish(); cancelled != nil {
		return nil, cancelled
	}
	if err != nil {
		return nil, fmt.Errorf("onnxruntime: %w", err)
	}
	return s.collect(c, outs)
}

// watch asks the runtime to stop when ctx is done. finish ends that, and returns
// why the run was stopped, if it was.
func (s *session) watch(ctx context.Context) (finish func() error) {
	if ctx.Done() == nil {
		return func() error { return nil }
	}
	asked := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		s.n.terminate(true)
		close(asked)
	})
	return func() error {
		if stop() {
			return nil
		}
		<-asked
		s.n.terminate(false)
		return context.Cause(ctx)
	}
}

// feed makes the slots of the inputs that are given; the others have defaults.
func (s *session) feed(c *call, inputs map[string]array.Value) error {
	for i, p := range s.plan.inputs {
		v := inputs[p.Name]
		if v == nil {
			continue
		}
		slot, err := c.input(v)
		if err != nil {
			return fmt.Errorf("onnxruntime: input %q: %w", p.Name, err)
		}
		c.ins, c.names = append(c.ins, slot), append(c.names, s.n.ins[i])
	}
	return nil
}

// room makes the slots of the outputs, with memory where the shape is known.
func (s *session) room(c *call, inputs map[string]array.Value, outs []*array.Array) error {
	var sizes map[string]int64
	for i, r := range s.plan.made {
		slot := C.sgs_slot{}
		if r.dims != nil && !s.made {
			if sizes == nil {
				sizes = symbols(s.plan.inputs, inputs)
			}
			outs[i] = s.plan.room(r, sizes)
		}
		if outs[i] != nil {
			var err error
			if slot, err = c.slot(outs[i]); err != nil {
				return fmt.Errorf("onnxruntime: output %q: %w", r.name, err)
			}
			if slot.bytes == 0 { // the runtime makes what has no memory
				outs[i], slot = nil, C.sgs_slot{}
			}
		}
		c.outs = append(c.outs, slot)
	}
	return nil
}

// collect returns the outputs: those that the runtime made are copied.
func (s *session) collect(c *call, outs []*array.Array) (map[string]array.Value, error) {
	results := make(map[string]array.Value, len(outs))
	for i, r := range s.plan.made {
		if outs[i] != nil {
			results[r.name] = outs[i]
			continue
		}
		v, err := fromNative(c.outs[i].value)
		if err != nil {
			return nil, fmt.Errorf("onnxruntime: output %q: %w", r.name, err)
		}
		results[r.name] = v
	}
	return results, nil
}

// free gives back the values of inputs and outputs that are not memory of ours.
func (c *call) free() {
	for _, slots := range [][]C.sgs_slot{c.ins, c.outs} {
		for _, s := range slots {
			if s.value != nil {
				C.sgs_release_value(s.value)
			}
		}
	}
}
