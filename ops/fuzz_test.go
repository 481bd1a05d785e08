package ops_test

import (
	"math/rand/v2"
	"testing"

	"github.com/starlarkgs/starlarkgs/ops"
	"github.com/starlarkgs/starlarkgs/ops/schema"
)

// FuzzKernels calls a kernel with inputs and attributes that the seeds choose:
// an error or a result, never a panic, within the budget.
func FuzzKernels(f *testing.F) {
	all := ops.All()
	for i := range all {
		f.Add(uint16(i), uint64(i), uint64(1))
	}
	f.Fuzz(func(t *testing.T, which uint16, a, b uint64) {
		op := all[int(which)%len(all)]
		s, ok := schema.Lookup(op.Domain, op.Name, op.Since)
		if !ok || op.Eval == nil {
			return
		}
		c, text := hostile{rand.New(rand.NewPCG(a, b))}.call(op, s)
		if r := panics(func() { _ = op.Eval(c) }); r != "" {
			t.Errorf("%s\n%s", text, r)
		}
	})
}

// FuzzInference infers a node whose inputs and attributes the seeds choose.
func FuzzInference(f *testing.F) {
	all := ops.All()
	for i := range all {
		f.Add(uint16(i), uint64(i), uint64(2))
	}
	f.Fuzz(func(t *testing.T, which uint16, a, b uint64) {
		op := all[int(which)%len(all)]
		s, ok := schema.Lookup(op.Domain, op.Name, op.Since)
		if !ok || op.Infer == nil {
			return
		}
		h := hostile{rand.New(rand.NewPCG(a, b))}
		c, text := h.call(op, s)
		if r := panics(func() { _ = op.Infer(h.infer(c)) }); r != "" {
			t.Errorf("%s\n%s", text, r)
		}
	})
}
