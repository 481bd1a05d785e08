package model

import (
	"fmt"
	"slices"
	"sort"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/builtins/core"
	"github.com/starlarkgs/starlarkgs/internal/spell"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
	"github.com/starlarkgs/starlarkgs/surgery"
)

// Match is one place where a pattern fits, as a script sees it.
type Match struct {
	m     *surgery.Match
	names []string // of the pattern's parameters
	env   *value.Env
}

var (
	_ starlark.HasAttrs = (*Match)(nil)
	_ starlark.Mapping  = (*Match)(nil)
)

// String returns the one-line form.
func (m *Match) String() string {
	return fmt.Sprintf("<match of %d nodes at %s>", len(m.m.Nodes), m.m.Outputs[0].Label())
}

// Type returns "match".
func (m *Match) Type() string { return "match" }

// Freeze does nothing: a match never changes.
func (m *Match) Freeze() {}

// Truth is true.
func (m *Match) Truth() starlark.Bool { return true }

// Hash fails.
func (m *Match) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable type: match") }

// AttrNames lists the fields.
func (m *Match) AttrNames() []string { return []string{"graph", "nodes", "outputs"} }

// Attr returns a field.
func (m *Match) Attr(name string) (starlark.Value, error) {
	switch name {
	case "graph":
		return m.env.Graph(m.m.Graph), nil
	case "nodes":
		return valueList(m.m.Nodes, m.env.Node), nil
	case "outputs":
		return valueList(m.m.Outputs, m.env.Tensor), nil
	}
	return nil, nil
}

func valueList[T any](xs []T, f func(T) starlark.Value) *starlark.List {
	out := make([]starlark.Value, len(xs))
	for i, x := range xs {
		out[i] = f(x)
	}
	return starlark.NewList(out)
}

// Get returns the tensor of a parameter or of a node that the pattern names;
// None where it stands in a part that is missing.
func (m *Match) Get(k starlark.Value) (starlark.Value, bool, error) {
	name, ok := starlark.AsString(k)
	if !ok {
		return nil, false, fmt.Errorf("match: got a key of type %s, want the name of a parameter", k.Type())
	}
	if t := m.m.Values[name]; t != nil {
		return m.env.Tensor(t), true, nil
	}
	if slices.Contains(m.names, name) {
		return starlark.None, true, nil
	}
	return nil, false, fmt.Errorf("match: nothing in the pattern is named %q%s", name, spell.Hint(name, m.keys()))
}

func (m *Match) keys() []string {
	keys := slices.Clone(m.names)
	for name := range m.m.Values {
		if !slices.Contains(keys, name) {
			keys = append(keys, name)
		}
	}
	sort.Strings(keys)
	return keys
}

const patternDoc = ` A pattern is a function of op and tensors that says with the builders of graph.op what to look for: op.NAME(inputs…, attributes that must be set or be the default); numbers and arrays fit constants; op.Maybe(x) is an optional part, op.Either(a, b) an alternative, op.Any(…) a node of any operator, op.Any() any value; name = "n" makes a node's output m["n"]. Inputs of Add, Mul and other commutative operators may stand in any order. A match whose inner values are used outside it is refused: report.refused says where and why.`

const patternSetup = "g = graph(inputs = [variable(\"x\", \"float32\", [2])])\ng.outputs = [g.op.Relu(g.op.Add(g.op.Mul(g.inputs[0], 2.0), 1.0))]\n"

var patternParam = builtin.Req("pattern", "function", "what to look for")

func (k *Kit) patternFuncs() []*builtin.Func {
	model := builtin.Req("g", "graph or path", "the model")
	return []*builtin.Func{
		{
			Name: "match", Doc: "returns the places where a pattern fits, in topological order, bodies included; they may overlap." + patternDoc,
			Params: []builtin.Param{model, patternParam}, Returns: "list of match",
			Example: patternSetup + "m = match(g, lambda op, x, b: op.Add(op.Mul(x, 2.0), b))[0]\nassert.eq((m[\"x\"], [n.op for n in m.nodes]), (g.inputs[0], [\"Mul\", \"Add\"]))",
			Fn: func(c *builtin.Call) (starlark.Value, error) {
				g, err := asGraph(c, "g")
				if err != nil {
					return nil, err
				}
				return k.match(c, g)
			},
		},
		onCopy("rewrite", "returns a copy in which the matches of a pattern are replaced: see graph.rewrite.",
			patternSetup+"h = rewrite(g, lambda op, x: op.Mul(x, 2.0), lambda op, x: op.Add(x, x))\nassert.eq(([n.op for n in h.nodes], len(g.find(op = \"Mul\"))), ([\"Add\", \"Add\", \"Relu\"], 1))",
			k.rewrite, append([]builtin.Param{patternParam}, rewriteParams...)),
	}
}

var rewriteParams = []builtin.Param{
	builtin.Req("replacement", "function", "makes what takes the place of a match"),
	builtin.Opt("where", nil, "function", "called with a match, says whether to replace it"),
}

func (k *Kit) patternMethods() []*builtin.Func {
	return []*builtin.Func{
		{
			Name: "graph.match", Doc: "returns the places in the graph and its bodies where a pattern fits: see match.",
			Params: []builtin.Param{patternParam}, Returns: "list of match",
			Example: patternSetup + "assert.eq([m.outputs for m in g.match(lambda op, x: op.Relu(x))], [list(g.outputs)])",
			Fn:      func(c *builtin.Call) (starlark.Value, error) { return k.match(c, c.Recv.(value.Graph)) },
		},
		{
			Name: "graph.rewrite",
			Doc: "replaces the matches of a pattern in the graph and its bodies, in topological order, of those that overlap the first, and returns the graph; report.rewritten counts them." + patternDoc +
				" replacement is a function of op and of those parameters that it needs (match is the match itself); op has the builders of graph.op, takes domain too, and op.graph. What it returns takes the place and the names of the match's outputs. When it fails, the graph is as it was.",
			Params: append([]builtin.Param{patternParam}, rewriteParams...), Returns: "graph",
			Example: patternSetup + "g.rewrite(lambda op, x, b: op.Relu(op.Add(x, b)), lambda op, x, b: op.Max(op.Add(x, b), 0.0), where = lambda m: m[\"b\"].kind == \"constant\")\nassert.eq((g.report.rewritten, g.nodes[2].op), (1, \"Max\"))",
			Fn: func(c *builtin.Call) (starlark.Value, error) {
				g := c.Recv.(value.Graph)
				if err := ready(c, g); err != nil {
					return nil, err
				}
				return k.rewrite(c, g)
			},
		},
	}
}

func (k *Kit) match(c *builtin.Call, g value.Graph) (starlark.Value, error) {
	p, names, err := tracePattern(c)
	if err != nil {
		return nil, err
	}
	found, refused, err := surgery.Find(c.Context(), g.IR(), p, surgery.MatchOptions{})
	if err != nil {
		return nil, err
	}
	k.report[g.IR()] = matchReport("match", "matches", len(found), refused)
	return valueList(found, func(m *surgery.Match) starlark.Value { return &Match{m, names, c.Env()} }), nil
}

func (k *Kit) rewrite(c *builtin.Call, g value.Graph) (starlark.Value, error) {
	p, names, err := tracePattern(c)
	if err != nil {
		return nil, err
	}
	replace, err := replacement(c, names)
	if err != nil {
		return nil, err
	}
	var o surgery.MatchOptions
	if where := c.Callable("where"); where != nil {
		o.Where = func(m *surgery.Match) (bool, error) {
			v, err := c.Invoke(where, &Match{m, names, c.Env()})
			return err == nil && bool(v.Truth()), err
		}
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	r, err := surgery.Rewrite(c.Context(), g.IR(), p, replace, o)
	if err != nil {
		return nil, err
	}
	return k.done(g, matchReport("rewrite", "rewritten", r.Rewritten, r.Refused), nil)
}

// replacement returns what calls the script's function for a match.
func replacement(c *builtin.Call, names []string) (func(*surgery.Match) ([]*ir.Tensor, error), error) {
	fn, ok := c.Value("replacement").(*starlark.Function)
	if !ok {
		return nil, c.ArgErrorf("replacement", "got %s, want a function: def replacement(op, x): return op.Abs(x)", c.Value("replacement").Type())
	}
	params, err := tensorParams(c, "replacement", fn)
	if err != nil {
		return nil, err
	}
	return func(m *surgery.Match) ([]*ir.Tensor, error) {
		found := &Match{m, names, c.Env()}
		args := starlark.Tuple{core.Rebuilders(c.Env().Graph(m.Graph).(value.Graph))}
		for _, name := range params {
			if name == "match" && !slices.Contains(names, name) {
				args = append(args, found)
				continue
			}
			v, _, err := found.Get(starlark.String(name))
			if err != nil {
				return nil, c.ArgErrorf("replacement", "parameter %q: nothing in the pattern has that name%s", name, spell.Hint(name, found.keys()))
			}
			args = append(args, v)
		}
		made, err := starlark.Call(c.Thread, fn, args, nil)
		if err != nil {
			return nil, err
		}
		var out []*ir.Tensor
		for _, v := range several(made) {
			t, ok := v.(value.Tensor)
			if !ok {
				return nil, c.ArgErrorf("replacement", "returned %s, want tensors", v.Type())
			}
			out = append(out, t.IR())
		}
		return out, nil
	}, nil
}

// matchReport tells what was found, and what was refused and why.
func matchReport(kind, counted string, n int, refused []surgery.Refusal) *Report {
	r := &Report{kind: kind, ok: true, lines: [][]string{{counted, fmt.Sprint(n)}, {"refused", fmt.Sprint(len(refused))}}}
	list := make([]starlark.Value, len(refused))
	for i, x := range refused {
		r.lines = append(r.lines, []string{x.Node.Label(), x.Reason})
		list[i] = entry(surgery.FoldEntry{Node: x.Node.Name(), Op: x.Node.Op(), Reason: x.Reason})
	}
	r.fields = starlark.StringDict{counted: starlark.MakeInt(n), "refused": starlark.NewList(list)}
	return r
}
