package starlarkgs_test

import (
	"context"
	"testing"

	"github.com/starlarkgs/starlarkgs/starlarkgs"
)

// TestProgress asks that each kind of long work tells of its steps, in order.
func TestProgress(t *testing.T) {
	const script = `
g = graph(inputs = [variable("x", "float32", [2])])
t = g.inputs[0]
for i in range(8):
    t = g.op.Add(t, g.op.Neg(constant("c%d" % i, np.array([1.0, 2.0], "float32"))))
g.outputs = [t]
run(g, {"x": np.zeros([2], "float32")})
fold(g)
simplify(g)
bisect(g, check = lambda model: False)
`
	last := map[string]starlarkgs.Progress{}
	h := starlarkgs.New(starlarkgs.Options{Progress: func(p starlarkgs.Progress) {
		if p.Done > 0 && p.Done <= last[p.Task].Done && p.Task == "run" {
			t.Errorf("got %+v after %+v", p, last[p.Task])
		}
		last[p.Task] = p
	}})
	if _, err := h.RunSource(context.Background(), "p.star", script, nil); err != nil {
		t.Fatal(err)
	}
	if p := last["run"]; p.Total != 16 || p.Done != 15 {
		t.Errorf("run: got %+v at last, want step 15 of 16", p)
	}
	for _, task := range []string{`fold graph ""`, "simplify, round", "bisect, checks"} {
		if _, ok := last[task]; !ok {
			t.Errorf("%s: got no word of it; of %v", task, last)
		}
	}
}
