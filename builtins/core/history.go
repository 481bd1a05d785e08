package core

import (
	"fmt"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/ir"
)

// Checkpoint is a state of a model that graph.rollback returns to.
type Checkpoint struct{ state ir.Checkpoint }

// String tells which graph's state it is.
func (c *Checkpoint) String() string {
	return fmt.Sprintf("<checkpoint of %s>", c.state.Model().Graph().Label())
}

// Type returns "checkpoint".
func (c *Checkpoint) Type() string { return "checkpoint" }

// Freeze does nothing: a checkpoint never changes.
func (c *Checkpoint) Freeze() {}

// Truth reports true.
func (c *Checkpoint) Truth() starlark.Bool { return true }

// Hash fails.
func (c *Checkpoint) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable type: checkpoint") }

var historyMethods = []*builtin.Func{
	{
		Name:    "graph.checkpoint",
		Doc:     "remembers the state of the whole model, for rollback.",
		Returns: "checkpoint",
		Example: pairSetup + "before = g.checkpoint()\ng.op.Abs(z)\ng.rollback(before)\nassert.eq(len(g.nodes), 2)",
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			m, err := history(c, "remember a state of")
			if err != nil {
				return nil, err
			}
			return &Checkpoint{m.Checkpoint()}, nil
		},
	},
	{
		Name:    "graph.rollback",
		Doc:     "takes back every edit of the model made since the checkpoint, which stays valid.",
		Params:  []builtin.Param{builtin.Req("point", "checkpoint", "what checkpoint returned")},
		Example: pairSetup + "before = g.checkpoint()\ny.name = \"other\"\ng.rollback(before)\nassert.eq(y.name, \"Relu_0\")",
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			point, ok := c.Value("point").(*Checkpoint)
			if !ok {
				return nil, c.ArgErrorf("point", "got %s, want a checkpoint", c.Value("point").Type())
			}
			m, err := history(c, "roll back")
			if err != nil {
				return nil, err
			}
			return nil, m.Rollback(point.state)
		},
	},
	{
		Name:    "graph.undo",
		Doc:     "takes back the last n edits of the model, or all that history() lists, and returns how many. A call, such as cleanup(), is one edit, an assignment is one.",
		Params:  []builtin.Param{builtin.Opt("n", 1, "int", "how many")},
		Returns: "int",
		Example: pairSetup + "g.nodes[0].op = \"Abs\"\nassert.eq(g.undo(), 1)\nassert.eq(g.nodes[0].op, \"Relu\")",
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			n := c.Int("n")
			if n < 0 {
				return nil, c.ArgErrorf("n", "got %d, want 0 or more", n)
			}
			m, err := history(c, "undo edits of")
			if err != nil || c.Err() != nil {
				return nil, err
			}
			done, err := m.Undo(n)
			return starlark.MakeInt(done), err
		},
	},
	{
		Name:    "graph.history",
		Doc:     "lists the edits of the model that undo() can take back, the last one last.",
		Returns: "list of string",
		Example: pairSetup + "g.nodes[0].op = \"Abs\"\nassert.eq(g.history()[-1], 'assign op of node \"Relu_0\" (Relu)')",
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			list := []starlark.Value{}
			if m := recvGraph(c).Model(); m != nil {
				for _, e := range m.History() {
					list = append(list, starlark.String(e.Label))
				}
			}
			return starlark.NewList(list), nil
		},
	},
}

// history returns the model that a graph is part of, when it may change.
func history(c *builtin.Call, verb string) (*ir.Model, error) {
	m := recvGraph(c).Model()
	if m == nil {
		return nil, fmt.Errorf("got %s, which is part of no model", recvGraph(c).Label())
	}
	return m, mutable(c, verb)
}
