package reference

import (
	"context"
	"fmt"
	goruntime "runtime"
	"testing"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/runtime"
)

// chain makes a model of n nodes one after the other over a float32 vector.
func chain(n int, ops ...string) *ir.Model {
	m := ir.NewModel("chain", ir.Import{Version: 21})
	x := ir.NewTensor("x", ir.TensorType(array.Float32, nil))
	m.Graph().SetInputs(x)
	for i := range n {
		y := ir.NewTensor(fmt.Sprintf("y%d", i), nil)
		ins := []*ir.Tensor{x}
		op := ops[i%len(ops)]
		if op == "Add" {
			ins = append(ins, x)
		}
		m.Graph().AddNode(ir.NewNode(op, ins, []*ir.Tensor{y}))
		x = y
	}
	m.Graph().SetOutputs(x)
	return m
}

func newSession(t testing.TB, m *ir.Model, o runtime.Options) *session {
	t.Helper()
	s, err := New().NewSession(context.Background(), m, o)
	if err != nil {
		t.Fatal(err)
	}
	return s.(*session)
}

func run(t testing.TB, s *session, in map[string]array.Value) map[string]array.Value {
	t.Helper()
	out, err := s.Run(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestMemoryIsTheLiveSet runs a long chain: two values are alive at a time.
func TestMemoryIsTheLiveSet(t *testing.T) {
	const n = 1 << 18 // a megabyte
	s := newSession(t, chain(60, "Abs", "Neg", "Identity", "Add"), runtime.Options{})
	run(t, s, map[string]array.Value{"x": array.New(array.Float32, n)})
	if got := s.arenas[0].peak; got > 3*4*n {
		t.Errorf("%d bytes were in use at once, want at most three values of %d", got, 4*n)
	}
	if got := s.arenas[0].bytes; got > 3*4*n {
		t.Errorf("%d bytes are kept, want at most three values of %d", got, 4*n)
	}
}

// TestSecondRunAllocatesOutputs compares what a later run allocates with what it
// returns.
func TestSecondRunAllocatesOutputs(t *testing.T) {
	const n = 1 << 18
	s := newSession(t, chain(60, "Abs", "Neg", "Add"), runtime.Options{})
	in := map[string]array.Value{"x": array.New(array.Float32, n)}
	run(t, s, in)
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	run(t, s, in)
	goruntime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 4*n+200_000 {
		t.Errorf("the second run allocates %d bytes, want about %d for its output", got, 4*n)
	}
}

// TestResultsStay keeps the results of a run over later ones, views of one
// memory among them.
func TestResultsStay(t *testing.T) {
	s := newSession(t, chain(7, "Abs", "Identity", "Neg", "Add"), runtime.Options{Outputs: []string{runtime.All}})
	in := func(v float32) map[string]array.Value {
		a := array.New(array.Float32, 5000)
		for i := range array.MutableData[float32](a) {
			array.MutableData[float32](a)[i] = v
		}
		return map[string]array.Value{"x": a}
	}
	first := run(t, s, in(3))
	for v := range 5 {
		run(t, s, in(float32(v)))
	}
	for name, want := range map[string]float32{"y0": 3, "y1": 3, "y2": -3, "y3": -6, "y4": 6, "y5": 6, "y6": -6} {
		for i, got := range array.Data[float32](first[name].(*array.Array)) {
			if got != want {
				t.Fatalf("%s[%d] = %v after later runs, want %v", name, i, got, want)
			}
		}
	}
}
