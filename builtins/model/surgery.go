package model

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"text/tabwriter"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops/infer"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
	"github.com/starlarkgs/starlarkgs/surgery"
)

// Report is what a pass tells: a table for people, fields for scripts.
type Report struct {
	kind   string
	ok     bool
	lines  [][]string // rows of the table
	fields starlark.StringDict
}

var _ starlark.HasAttrs = (*Report)(nil)

// String returns the one-line form.
func (r *Report) String() string { return fmt.Sprintf("<%s report, ok = %v>", r.kind, r.ok) }

// Type returns "report".
func (r *Report) Type() string { return "report" }

// Freeze does nothing: a report never changes.
func (r *Report) Freeze() {}

// Truth is the verdict.
func (r *Report) Truth() starlark.Bool { return starlark.Bool(r.ok) }

// Hash fails.
func (r *Report) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable type: report") }

// Table returns the rows in columns.
func (r *Report) Table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", r.kind)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range r.lines {
		fmt.Fprintf(w, "  %s\n", strings.Join(row, "\t"))
	}
	_ = w.Flush() // a strings.Builder can't fail
	return strings.TrimRight(b.String(), "\n")
}

// Attr returns ok or a field.
func (r *Report) Attr(name string) (starlark.Value, error) {
	if name == "ok" {
		return starlark.Bool(r.ok), nil
	}
	if v := r.fields[name]; v != nil {
		return v, nil
	}
	if name == "to_dict" {
		f := &builtin.Func{Name: "report.to_dict", Doc: "returns the report as a dict.", Returns: "dict", Fn: func(*builtin.Call) (starlark.Value, error) {
			d := starlark.NewDict(len(r.fields) + 1)
			for _, k := range append(r.fields.Keys(), "ok") {
				v, err := r.Attr(k)
				if err != nil {
					return nil, err
				}
				if err := d.SetKey(starlark.String(k), v); err != nil {
					return nil, err
				}
			}
			return d, nil
		}}
		return f.Value(), nil
	}
	return nil, nil
}

// AttrNames lists the fields.
func (r *Report) AttrNames() []string { return append(r.fields.Keys(), "ok", "to_dict") }

func foldReport(f *surgery.FoldReport) *Report {
	r := &Report{kind: "fold", ok: len(f.Failed) == 0, fields: starlark.StringDict{}}
	for _, part := range []struct {
		name string
		list []surgery.FoldEntry
	}{{"folded", f.Folded}, {"skipped", f.Skipped}, {"failed", f.Failed}} {
		var vs []starlark.Value
		for _, e := range part.list {
			vs = append(vs, entry(e))
		}
		r.fields[part.name] = starlark.NewList(vs)
		r.lines = append(r.lines, []string{part.name, fmt.Sprint(len(part.list))})
	}
	for _, e := range append(slices.Clone(f.Failed), f.Skipped...) {
		r.lines = append(r.lines, []string{e.Op, e.Node, e.Reason})
	}
	return r
}

func sanitizeReport(s *surgery.SanitizeReport) *Report {
	r := foldReport(s.Fold)
	r.kind = "sanitize"
	head := [][]string{{"nodes", fmt.Sprintf("%d → %d", s.NodesBefore, s.NodesAfter)}}
	var rules []string
	for name := range s.Simplify {
		rules = append(rules, name)
	}
	sort.Strings(rules)
	for _, name := range rules {
		head = append(head, []string{name, fmt.Sprint(s.Simplify[name])})
	}
	r.lines = append(head, r.lines...)
	r.fields["nodes_before"], r.fields["nodes_after"] = starlark.MakeInt(s.NodesBefore), starlark.MakeInt(s.NodesAfter)
	return r
}

// done keeps a graph's report and returns the graph for chaining.
func (k *Kit) done(g value.Graph, r *Report, err error) (starlark.Value, error) {
	if err != nil {
		return nil, err
	}
	k.report[g.IR()] = r
	return g, nil
}

func plainReport(kind string, changed bool) *Report {
	return &Report{kind: kind, ok: true, fields: starlark.StringDict{"changed": starlark.Bool(changed)}, lines: [][]string{{"changed", fmt.Sprint(changed)}}}
}

const smallGraph = "g = graph(inputs = [variable(\"x\", \"float32\", [2])])\nx = g.inputs[0]\ng.outputs = [g.op.Add(g.op.Relu(x), g.op.Mul(np.array([1, 2], \"float32\"), np.array([3, 4], \"float32\")))]\ng.op.Abs(x)\n"

var foldParams = []builtin.Param{
	builtin.Opt("size_budget", nil, "int", "bytes by which the model may grow, None for 64 KiB or 5 %, -1 for no bound"),
	builtin.Opt("ops", nil, "list of string", "fold these operators only"),
	builtin.Opt("skip", builtin.NoList, "list of string", "names of nodes to leave alone"),
	builtin.Opt("backend", "reference", "string", "what evaluates"),
	builtin.Opt("fold_shapes", true, "bool", "fold what follows from shapes"),
	builtin.Opt("strict", false, "bool", "make a node that fails to evaluate an error"),
	builtin.Key("should_exclude_node", nil, "function", "called with a node, says whether to leave it alone"),
	builtin.Key("size_threshold", nil, "int", "leave a node alone that has a result of more bytes"),
	builtin.Key("recurse_subgraphs", true, "bool", "fold in bodies too"),
	builtin.Key("recurse_functions", true, "bool", "fold in functions too"),
	builtin.Key("flatten_subgraphs", true, "bool", "put the branch in the place of an If whose condition is constant"),
	builtin.Key("error_ok", true, "bool", "GraphSurgeon's opposite of strict"),
	isolateParam,
	builtin.Key("partitioning", nil, "string", `None, "basic" or "recursive", as in GraphSurgeon; without effect, since each node is evaluated by itself`),
}

func (k *Kit) surgeryMethods() []*builtin.Func {
	return []*builtin.Func{
		{
			Name: "graph.report", Doc: "the report of the last pass over the graph, or None.", Property: true, Returns: "report", Example: smallGraph + "assert.true(g.cleanup().report)",
			Fn: func(c *builtin.Call) (starlark.Value, error) {
				if r := k.report[c.Recv.(value.Graph).IR()]; r != nil {
					return r, nil
				}
				return starlark.None, nil
			},
		},
		{
			Name: "graph.cleanup", Doc: "drops nodes and initializers that no output needs, and returns the graph.",
			Params: []builtin.Param{
				builtin.Opt("remove_unused_node_outputs", false, "bool", "empty outputs of live nodes that nobody reads"), builtin.Opt("recurse_subgraphs", true, "bool", "clean bodies too"),
				builtin.Opt("remove_unused_graph_inputs", false, "bool", "drop inputs that nobody reads"), builtin.Opt("recurse_functions", true, "bool", "clean functions too"),
			},
			Returns: "graph", Example: smallGraph + "assert.eq(len(g.cleanup().nodes), 3)",
			Fn: func(c *builtin.Call) (starlark.Value, error) {
				g := c.Recv.(value.Graph)
				o := surgery.CleanupOptions{UnusedNodeOutputs: c.Bool("remove_unused_node_outputs"), UnusedGraphInputs: c.Bool("remove_unused_graph_inputs"),
					SkipBodies: !c.Bool("recurse_subgraphs"), SkipFunctions: !c.Bool("recurse_functions")}
				if err := ready(c, g); err != nil {
					return nil, err
				}
				changed, err := surgery.Cleanup(g.IR(), o)
				return k.done(g, plainReport("cleanup", changed), err)
			},
		},
		{
			Name: "graph.toposort", Doc: "orders nodes after what they read, stably, and returns the graph.",
			Params:  []builtin.Param{builtin.Opt("recurse", true, "bool", "sort bodies too"), builtin.Key("recurse_subgraphs", true, "bool", "GraphSurgeon's name of recurse")},
			Returns: "graph", Example: smallGraph + "assert.eq(len(g.toposort().nodes), 4)",
			Fn: func(c *builtin.Call) (starlark.Value, error) {
				g, recurse := c.Recv.(value.Graph), c.Bool("recurse") && c.Bool("recurse_subgraphs")
				if err := ready(c, g); err != nil {
					return nil, err
				}
				changed, err := g.IR().Sort(recurse)
				return k.done(g, plainReport("toposort", changed), err)
			},
		},
		{
			Name: "graph.infer_shapes", Doc: "infers types and shapes, records them on the tensors, and returns the graph. What can't be known stays unknown: graph.report.unknown says why of each. Symbols that inference makes begin with \"?\".",
			Params: []builtin.Param{
				builtin.Opt("strict", false, "bool", "make values that stay unknown an error, and record nothing then"),
				builtin.Opt("strip_generated", false, "bool", "leave sizes unknown in which symbols stand that inference made"),
			},
			Returns: "graph", Example: smallGraph + "assert.eq(g.infer_shapes(strict = True).outputs[0].shape, [2])\nassert.eq(g.report.unknown, {})",
			Fn: func(c *builtin.Call) (starlark.Value, error) {
				g, o := c.Recv.(value.Graph), infer.Options{Strict: c.Bool("strict"), Strip: c.Bool("strip_generated")}
				if err := ready(c, g); err != nil {
					return nil, err
				}
				return k.infer(g, o)
			},
		},
		{
			Name: "graph.fold_constants", Doc: "computes what is constant, node by node, and returns the graph.", Params: foldParams,
			Returns: "graph", Example: smallGraph + "assert.eq(len(g.fold_constants().cleanup().nodes), 2)",
			Fn: func(c *builtin.Call) (starlark.Value, error) { return k.fold(c, c.Recv.(value.Graph)) },
		},
		{
			Name: "graph.simplify", Doc: "rewrites by rules until none applies, and returns the graph.", Params: []builtin.Param{builtin.Opt("exclude", builtin.NoList, "list of string", "rules to leave out"), builtin.Opt("exact", false, "bool", "only rules that give bit-equal results")},
			Returns: "graph", Example: smallGraph + "assert.eq(type(g.simplify()), \"graph\")",
			Fn: func(c *builtin.Call) (starlark.Value, error) { return k.simplify(c, c.Recv.(value.Graph)) },
		},
		{
			Name: "graph.sanitize", Doc: "infers, folds, simplifies and tidies to a fixed point, and returns the graph.", Params: sanitizeParams,
			Returns: "graph", Example: smallGraph + "assert.eq(len(g.sanitize().nodes), 2)",
			Fn: func(c *builtin.Call) (starlark.Value, error) { return k.sanitize(c, c.Recv.(value.Graph)) },
		},
		{
			Name: "graph.extract", Doc: "cuts the part between inputs and outputs out, in place, and returns the graph.", Params: extractParams,
			Returns: "graph", Example: smallGraph + "mid = g.find(op = \"Relu\")[0].outputs[0]\ng.extract(outputs = [mid])\nassert.eq([n.op for n in g.nodes], [\"Relu\"])",
			Fn: func(c *builtin.Call) (starlark.Value, error) { return k.extract(c, c.Recv.(value.Graph)) },
		},
	}
}

// onCopy makes the function that does to a copy of a model what f does in place.
func onCopy(name, doc, example string, f func(*builtin.Call, value.Graph) (starlark.Value, error), params []builtin.Param) *builtin.Func {
	return &builtin.Func{Name: name, Doc: doc, Returns: "graph", Example: example,
		Params: append([]builtin.Param{builtin.Req("g", "graph or path", "the model, which is not changed")}, params...),
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			g, err := asGraph(c, "g")
			if err != nil {
				return nil, err
			}
			m, err := modelOf(g)
			if err != nil {
				return nil, err
			}
			return f(c, c.Env().Graph(m.Copy().Graph()).(value.Graph))
		}}
}

// surgeryFuncs are the functions that work on a copy.
func (k *Kit) surgeryFuncs() []*builtin.Func {
	return []*builtin.Func{
		onCopy("fold", "returns a copy in which what is constant is computed.", smallGraph+"assert.eq(len(fold(g).cleanup().nodes), 2)", k.fold, foldParams),
		onCopy("simplify", "returns a copy that is rewritten by rules.", smallGraph+"assert.eq(type(simplify(g)), \"graph\")", k.simplify,
			[]builtin.Param{builtin.Opt("exclude", builtin.NoList, "list of string", "rules to leave out"), builtin.Opt("exact", false, "bool", "only rules that give bit-equal results")}),
		onCopy("sanitize", "returns a copy that is folded, simplified and tidied.", smallGraph+"assert.eq(len(sanitize(g).nodes), 2)", k.sanitize, sanitizeParams),
		onCopy("extract", "returns the part between inputs and outputs as a model.", smallGraph+"assert.eq(len(extract(g, outputs = [\"Relu_0\"]).nodes), 1)", k.extract, extractParams),
	}
}

func ready(c *builtin.Call, g value.Graph) error {
	if err := g.CheckMutable("edit"); err != nil {
		return err
	}
	return c.Err()
}

func (k *Kit) infer(g value.Graph, o infer.Options) (starlark.Value, error) {
	m, err := modelOf(g)
	if err != nil {
		return nil, err
	}
	r, err := infer.ModelWith(m, o)
	return k.done(g, inferReport(r, m), err)
}

func inferReport(r *infer.Report, m *ir.Model) *Report {
	out := &Report{kind: "infer_shapes", ok: len(r.Problems) == 0, fields: starlark.StringDict{}}
	var problems, conflicts []starlark.Value
	for _, p := range r.Problems {
		problems = append(problems, starlark.String(p.Reason))
		out.lines = append(out.lines, []string{"problem", p.Reason})
	}
	for _, x := range r.Conflicts {
		text := fmt.Sprintf("%q: recorded %s, inferred %s", x.Value, x.Recorded, x.Inferred)
		conflicts = append(conflicts, starlark.String(text))
		out.lines = append(out.lines, []string{"conflict", text})
	}
	unknown := starlark.NewDict(0)
	for _, u := range r.Unknown(m) {
		_ = unknown.SetKey(starlark.String(u.Value), starlark.String(u.Reason)) // a fresh dict takes any string
		out.lines = append(out.lines, []string{"unknown", fmt.Sprintf("%q: %s", u.Value, u.Reason)})
	}
	out.fields["unknown"] = unknown
	out.fields["problems"], out.fields["conflicts"] = starlark.NewList(problems), starlark.NewList(conflicts)
	return out
}

func (k *Kit) fold(c *builtin.Call, g value.Graph) (starlark.Value, error) {
	o := surgery.FoldOptions{SizeBudget: int64(c.Int("size_budget")), Ops: c.Strs("ops"), Strict: c.Bool("strict") || !c.Bool("error_ok"),
		Skip: excluded(c), MaxResult: int64(c.Int("size_threshold")),
		KeepBodies: !c.Bool("recurse_subgraphs"), KeepFunctions: !c.Bool("recurse_functions"), KeepIf: !c.Bool("flatten_subgraphs")}
	shapes := c.Bool("fold_shapes")
	if !c.IsNone("partitioning") {
		c.Enum("partitioning", "basic", "recursive")
	}
	if !c.IsNone("size_threshold") && o.MaxResult < 1 {
		c.Fail(c.ArgErrorf("size_threshold", "got %d, want 1 or more, or None for no bound", o.MaxResult))
	}
	var err error
	if o.Backend, err = k.backend(c, c.Str("backend")); err != nil {
		return nil, err
	}
	if err := ready(c, g); err != nil {
		return nil, err
	}
	if m := g.IR().Model(); shapes && m != nil {
		o.Values = infer.Facts(m).Value
	}
	r, err := surgery.Fold(c.Context(), g.IR(), o)
	if err == nil {
		err = c.Err() // of should_exclude_node
	}
	return k.done(g, foldReport(r), err)
}

// excluded returns which nodes folding leaves alone, by the arguments skip and
// should_exclude_node. After an error of the latter it is all of them.
func excluded(c *builtin.Call) func(*ir.Node) bool {
	skip := c.Strs("skip")
	if c.IsNone("should_exclude_node") {
		return func(n *ir.Node) bool { return n.Name() != "" && slices.Contains(skip, n.Name()) }
	}
	fn := c.Callable("should_exclude_node")
	return func(n *ir.Node) bool {
		if c.Err() != nil || n.Name() != "" && slices.Contains(skip, n.Name()) {
			return true
		}
		v, err := c.Invoke(fn, c.Env().Node(n))
		if err != nil {
			c.Fail(err)
			return true
		}
		return bool(v.Truth())
	}
}

func (k *Kit) simplify(c *builtin.Call, g value.Graph) (starlark.Value, error) {
	o := surgery.SimplifyOptions{Exclude: c.Strs("exclude"), ExactOnly: c.Bool("exact")}
	if err := ready(c, g); err != nil {
		return nil, err
	}
	s, err := surgery.Simplify(c.Context(), g.IR(), o)
	r := &Report{kind: "simplify", ok: true, fields: starlark.StringDict{}}
	d := starlark.NewDict(len(s.Applied))
	var names []string
	for name := range s.Applied {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		_ = d.SetKey(starlark.String(name), starlark.MakeInt(s.Applied[name])) // strings are hashable
		r.lines = append(r.lines, []string{name, fmt.Sprint(s.Applied[name])})
	}
	r.fields["applied"] = d
	return k.done(g, r, err)
}

var sanitizeParams = []builtin.Param{
	builtin.Opt("fold", true, "bool", "compute what is constant"), builtin.Opt("simplify", true, "bool", "rewrite by rules"),
	builtin.Opt("exclude", builtin.NoList, "list of string", "rules to leave out"), builtin.Opt("exact", false, "bool", "only rules that give bit-equal results"),
	builtin.Opt("size_budget", nil, "int", "bytes by which folding may make the model grow"),
}

func (k *Kit) sanitize(c *builtin.Call, g value.Graph) (starlark.Value, error) {
	o := surgery.SanitizeOptions{Backend: k.backends[0], NoFold: !c.Bool("fold"), NoSimplify: !c.Bool("simplify"), ExactOnly: c.Bool("exact"),
		Exclude: c.Strs("exclude"), SizeBudget: int64(c.Int("size_budget"))}
	if err := ready(c, g); err != nil {
		return nil, err
	}
	m, err := modelOf(g)
	if err != nil {
		return nil, err
	}
	r, err := surgery.Sanitize(c.Context(), m, o)
	return k.done(g, sanitizeReport(r), err)
}

var extractParams = []builtin.Param{
	builtin.Opt("inputs", builtin.NoList, "list", "names, tensors or (name, shape, dtype); empty means the model's own"),
	builtin.Opt("outputs", builtin.NoList, "list", "names, tensors or (name, dtype); empty means the model's own"),
}

func (k *Kit) extract(c *builtin.Call, g value.Graph) (starlark.Value, error) {
	var o surgery.ExtractOptions
	for _, side := range []struct {
		name string
		to   *[]surgery.Cut
	}{{"inputs", &o.Inputs}, {"outputs", &o.Outputs}} {
		for i, v := range c.List(side.name) {
			cut, err := asCut(v, fmt.Sprintf("%s[%d]", side.name, i))
			if err != nil {
				return nil, err
			}
			*side.to = append(*side.to, cut)
		}
	}
	if err := ready(c, g); err != nil {
		return nil, err
	}
	m, err := modelOf(g)
	if err != nil {
		return nil, err
	}
	o.Infer = func(m *ir.Model) error { infer.Model(m); return nil }
	before := g.IR().NumNodes()
	err = surgery.Extract(m, o)
	r := plainReport("extract", true)
	r.lines = append(r.lines, []string{"nodes", fmt.Sprintf("%d → %d", before, g.IR().NumNodes())})
	return k.done(g, r, err)
}

func asCut(v starlark.Value, what string) (surgery.Cut, error) {
	switch v := v.(type) {
	case value.Tensor:
		return surgery.Cut{Name: v.IR().Name()}, nil
	case starlark.String:
		return surgery.Cut{Name: string(v)}, nil
	case starlark.Tuple:
		if len(v) == 0 || len(v) > 3 {
			break
		}
		cut, err := asCut(v[0], what)
		if err != nil {
			return cut, err
		}
		for _, part := range v[1:] {
			if s, ok := part.(starlark.String); ok && s == "auto" {
				continue
			}
			if _, isText := part.(starlark.String); isText {
				cut.DType, err = value.AsDType(part, what)
			} else {
				cut.Shape, err = value.AsShape(part, what)
			}
			if err != nil {
				return cut, err
			}
		}
		return cut, nil
	}
	return surgery.Cut{}, fmt.Errorf("%s: got %s, want a name, a tensor, or (name, shape, dtype)", what, v.Type())
}

// entry is what became of one node, as a struct.
func entry(e surgery.FoldEntry) starlark.Value {
	return starlarkstruct.FromStringDict(starlark.String("entry"), starlark.StringDict{
		"node": value.Text(e.Node), "op": value.Text(e.Op), "reason": value.Text(e.Reason), "bytes": starlark.MakeInt64(e.Bytes)})
}
