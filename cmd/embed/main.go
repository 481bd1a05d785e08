// Command embed shows how a program embeds the host: it gives scripts a
// function of its own, runs two hosts at the same time, cancels one of them, and
// goes on when a function of its own panics.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/starlarkgs"
)

// build registers a builder, uses it, and reports.
const build = `
@register()
def block(self, x):
    return self.op.%s(x)

g = graph("made", inputs = [variable("x", "float32", [4])])
g.outputs = [g.block(g.inputs[0])]
report(g.nodes[0].op)
`

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(out io.Writer) error {
	var mu sync.Mutex // two hosts report at the same time
	ops := map[string]string{}
	var group sync.WaitGroup
	for _, name := range []string{"Relu", "Tanh"} {
		group.Go(func() {
			h := starlarkgs.New(starlarkgs.Options{Predeclared: starlark.StringDict{"report": reporter(func(op string) {
				mu.Lock()
				defer mu.Unlock()
				ops[name] = op
			})}})
			if _, err := h.RunSource(context.Background(), name+".star", fmt.Sprintf(build, name), nil); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		})
	}
	group.Wait()
	fmt.Fprintf(out, "each host has its own block: %s, %s\n", ops["Relu"], ops["Tanh"])
	if err := cancelled(out); err != nil {
		return err
	}
	return survives(out)
}

// reporter makes a function of the host: its entry describes the parameters, and
// checks and messages come from that.
func reporter(f func(string)) starlark.Value {
	return (&builtin.Func{
		Name: "report", Doc: "tells the program the name of an operator.", Params: []builtin.Param{builtin.Req("op", "string", "the operator")},
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			op := c.Str("op")
			if err := c.Err(); err != nil {
				return nil, err
			}
			f(op)
			return nil, nil
		},
	}).Value()
}

func cancelled(out io.Writer) error {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := starlarkgs.New(starlarkgs.Options{}).RunSource(ctx, "loop.star", "while True: pass", nil)
	if !errors.Is(err, starlarkgs.ErrLimit) {
		return fmt.Errorf("an endless loop: got %w, want a limit", err)
	}
	fmt.Fprintln(out, "an endless loop was stopped")
	return nil
}

func survives(out io.Writer) error {
	bad := (&builtin.Func{Name: "bad", Doc: "panics.", Fn: func(*builtin.Call) (starlark.Value, error) { panic("a bug") }}).Value()
	h := starlarkgs.New(starlarkgs.Options{Stdout: out, Predeclared: starlark.StringDict{"bad": bad}})
	_, err := h.RunSource(context.Background(), "bad.star", "bad()", nil)
	var bug *builtin.PanicError
	if !errors.As(err, &bug) {
		return fmt.Errorf("a panic: got %w, want a PanicError", err)
	}
	_, err = h.RunSource(context.Background(), "good.star", `print("the host lives on")`, nil)
	return err
}
