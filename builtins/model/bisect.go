package model

import (
	"context"
	"fmt"
	"sort"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops/infer"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
	"github.com/starlarkgs/starlarkgs/surgery"
)

func bisect(c *builtin.Call) (starlark.Value, error) {
	g, err := asGraph(c, "g")
	if err != nil {
		return nil, err
	}
	m, err := modelOf(g)
	if err != nil {
		return nil, err
	}
	var modes []string
	for _, mode := range surgery.Modes {
		modes = append(modes, string(mode))
	}
	sort.Strings(modes)
	check, mode := c.Callable("check"), c.Enum("mode", modes...)
	if err := c.Err(); err != nil {
		return nil, err
	}
	o := surgery.BisectOptions{Mode: surgery.Mode(mode), Check: func(_ context.Context, m *ir.Model) (bool, error) {
		v, err := c.Invoke(check, c.Env().Graph(m.Graph()))
		if err != nil {
			return false, err
		}
		return bool(v.Truth()), nil
	}}
	var facts *infer.Report
	o.Infer = func(m *ir.Model) error { facts = infer.Model(m); return nil }
	o.Values = func(t *ir.Tensor) *array.Array { return facts.Value(t) }
	found, err := surgery.Bisect(c.Context(), m, o)
	if err != nil {
		return nil, err
	}
	return bisectReport(c.Env(), found), nil
}

func bisectReport(env *value.Env, found *surgery.BisectReport) *Report {
	r := &Report{kind: "bisect", ok: true, fields: starlark.StringDict{"graph": env.Graph(found.Bad.Graph()), "good": starlark.None}}
	if found.Good != nil {
		r.fields["good"] = env.Graph(found.Good.Graph())
	}
	var steps []starlark.Value
	for _, s := range found.Steps {
		verdict := "fails"
		if s.Passes {
			verdict = "passes"
		}
		r.lines = append(r.lines, []string{fmt.Sprint(s.Number), fmt.Sprintf("%d nodes", s.Nodes), verdict, s.Why})
		steps = append(steps, starlarkstruct.FromStringDict(starlark.String("step"), starlark.StringDict{
			"number": starlark.MakeInt(s.Number), "nodes": starlark.MakeInt(s.Nodes), "passes": starlark.Bool(s.Passes), "why": starlark.String(s.Why)}))
	}
	r.fields["steps"] = starlark.NewList(steps)
	return r
}
