//go:build cgo && linux

package onnxruntime_test

import (
	"context"
	"fmt"
	"os"
	goruntime "runtime"
	"testing"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/runtime"
)

// resident returns the bytes of the process that lie in memory.
func resident(t *testing.T) int64 {
	t.Helper()
	goruntime.GC()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// relu is a model of one node.
func relu() *ir.Model {
	x := ir.NewTensor("x", ir.TensorType(array.Float32, ir.Ints(4)))
	y := ir.NewTensor("y", ir.TensorType(array.Float32, ir.Ints(4)))
	m := ir.NewModel("relu", ir.Import{Version: 17})
	g := m.Graph()
	g.SetInputs(x)
	g.AddNode(ir.NewNode("Relu", []*ir.Tensor{x}, []*ir.Tensor{y}))
	g.SetOutputs(y)
	return m
}

// Sessions leave nothing behind: of 10,000 that are made, run and closed, the
// last 9,000 add less than 4 MB.
func TestSessionsLeaveNoMemory(t *testing.T) {
	b := backend(t)
	if testing.Short() {
		t.Skip("takes 10,000 sessions")
	}
	m, in := relu(), map[string]array.Value{"x": array.FromSlice([]float32{-1, 0, 1, 2})}
	want := array.FromSlice([]float32{0, 0, 1, 2})
	var before int64
	for i := range 10_000 {
		if i == 1000 {
			before = resident(t)
		}
		s, err := b.NewSession(context.Background(), m, runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		out, err := s.Run(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		if d := runtime.Compare(out["y"], want, runtime.Tolerance{}); !d.OK {
			t.Fatal(d.Text())
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if grown := resident(t) - before; grown >= 4<<20 {
		t.Errorf("got %d bytes more after 9,000 sessions, want less than %d", grown, 4<<20)
	} else {
		t.Logf("%d bytes more after 9,000 sessions", grown)
	}
}
