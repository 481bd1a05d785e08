package starlarkgs_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/starlarkgs"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

func ExampleHost_RunSource() {
	h := starlarkgs.New(starlarkgs.Options{Stdout: os.Stdout})
	globals, err := h.RunSource(context.Background(), "build.star", `
g = graph("small", inputs = [variable("x", "float32", ["N", 4])])
g.outputs = [g.op.Relu(g.inputs[0])]
print(g)
`, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	var model *ir.Model = globals["g"].(value.Graph).IR().Model()
	fmt.Println(model.Graph().Node(0).Op())
	// Output:
	// graph "small"  opset 21, 1 node, 0 initializers
	//   in   x       float32[N,4]
	//   out  Relu_0  float32[N,4]
	//   0  Relu  x  → Relu_0  float32[N,4]
	// Relu
}

// A program gives scripts names of its own, and calls what they define.
func ExampleHost_Call() {
	h := starlarkgs.New(starlarkgs.Options{Predeclared: starlark.StringDict{"limit": starlark.MakeInt(3)}})
	globals, err := h.RunSource(context.Background(), "check.star", `
def check(g):
    return len(g.nodes) < limit
`, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	m := ir.NewModel("empty", ir.Import{Version: 21})
	v, err := h.Call(context.Background(), globals["check"], h.Env().Graph(m.Graph()))
	fmt.Println(v, err)
	// Output: True <nil>
}

func ExampleHost_Eval() {
	h := starlarkgs.New(starlarkgs.Options{})
	h.Define("x", starlark.MakeInt(20))
	v, err := h.Eval(context.Background(), "np.arange(3).sum() + x")
	fmt.Println(v, err)
	// Output: 23 <nil>
}

// An error tells where it arose and, when a limit stopped the script, that.
func ExampleError() {
	h := starlarkgs.New(starlarkgs.Options{MaxSteps: 1000})
	_, err := h.RunSource(context.Background(), "loop.star", "n = 0\nwhile True:\n    n += 1\n", nil)
	var e *starlarkgs.Error
	fmt.Println(errors.As(err, &e), errors.Is(err, starlarkgs.ErrLimit))
	fmt.Println(e.Pos.Line, e.Msg)
	// Output:
	// true true
	// 3 the script took more than its limit of 1000 steps
}
