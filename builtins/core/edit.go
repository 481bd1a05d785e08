package core

import (
	"fmt"
	"regexp"
	"strings"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

var graphMethods = []*builtin.Func{
	{
		Name:    "graph.tensors",
		Doc:     "returns the tensors by name, bodies not included: inputs, initializers, what nodes read and make. Of two that share a name the last one stands in the dict.",
		Params:  []builtin.Param{builtin.Opt("check_duplicates", false, "bool", "make two tensors of one name an error")},
		Returns: "dict",
		Example: pairSetup + "assert.eq(g.tensors()[\"x\"], x)",
		Fn:      tensors,
	},
	{
		Name: "graph.find",
		Doc:  "returns the nodes that fit all that is given. op, name and domain may be globs (* and ?); where is a function of a node.",
		Params: []builtin.Param{
			builtin.Opt("op", nil, "string", "the operator"),
			builtin.Opt("name", nil, "string", "the node's name"),
			builtin.Opt("domain", nil, "string", "the operator's domain"),
			builtin.Opt("where", nil, "function", "called with each node"),
			builtin.Opt("recursive", false, "bool", "look into bodies too"),
		},
		Returns: "list of node",
		Example: pairSetup + "assert.eq(g.find(op = \"Re*\"), [y.producer])",
		Fn:      find,
	},
	{
		Name:    "graph.node",
		Doc:     "returns the node of that name.",
		Params:  []builtin.Param{builtin.Req("name", "string", "the name")},
		Returns: "node",
		Example: pairSetup + "assert.eq(g.node(\"Relu_0\"), y.producer)",
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			c.Str("name")
			if err := c.Err(); err != nil {
				return nil, err
			}
			n, err := c.Env().AsNode(recvGraph(c), c.Value("name"), "name")
			return c.Env().Node(n), err
		},
	},
	{
		Name:    "graph.tensor",
		Doc:     "returns the tensor of that name: the graph's own, else that of a graph around it.",
		Params:  []builtin.Param{builtin.Req("name", "string", "the name")},
		Returns: "tensor",
		Example: pairSetup + "assert.eq(g.tensor(\"x\"), x)",
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			c.Str("name")
			if err := c.Err(); err != nil {
				return nil, err
			}
			t, err := c.Env().AsTensor(recvGraph(c), c.Value("name"), "name")
			return c.Env().Tensor(t), err
		},
	},
	{
		Name:    "graph.subgraphs",
		Doc:     "returns the bodies that the nodes' attributes hold.",
		Params:  []builtin.Param{builtin.Opt("recursive", false, "bool", "those inside them too")},
		Returns: "list of graph",
		Example: pairSetup + "assert.eq(g.subgraphs(), [])",
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			var bodies []*ir.Graph
			for _, n := range recvGraph(c).Nodes() {
				bodies = append(bodies, n.Bodies()...)
			}
			return subgraphs(c, bodies, c.Bool("recursive")), c.Err()
		},
	},
	{
		Name:    "graph.copy",
		Doc:     "returns a new graph (and model) that shares only weights, and those until one side writes.",
		Returns: "graph",
		Example: pairSetup + "c = g.copy()\nc.nodes[0].op = \"Abs\"\nassert.eq((len(c.nodes), g.nodes[0].op), (2, \"Relu\"))",
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			return CopyGraph(c.Recv.(value.Graph)), nil
		},
	},
}

// CopyGraph returns a copy that shares only weights.
func CopyGraph(v value.Graph) starlark.Value {
	g := v.IR()
	if m := g.Model(); m != nil && g.Function() == nil {
		d := m.CopyGraph(g, ir.NewCopier())
		d.Draft = m.Draft
		return v.Env().Graph(d.Graph())
	}
	return v.Env().Graph(ir.NewCopier().Graph(g))
}

func tensors(c *builtin.Call) (starlark.Value, error) {
	check := c.Bool("check_duplicates")
	d := starlark.NewDict(0)
	for _, t := range recvGraph(c).Tensors() {
		key := value.Text(t.Name())
		if _, found, _ := d.Get(key); found && check {
			return nil, c.Errorf("two tensors are named %q", t.Name())
		}
		if err := d.SetKey(key, c.Env().Tensor(t)); err != nil {
			return nil, err
		}
	}
	return d, c.Err()
}

// glob returns the test of a pattern in which * stands for any text, ? for one
// character; nil for a pattern that is None.
func glob(c *builtin.Call, name string) func(string) bool {
	if c.IsNone(name) {
		return func(string) bool { return true }
	}
	p := c.Str(name)
	if !strings.ContainsAny(p, "*?") {
		return func(s string) bool { return s == p }
	}
	re := regexp.QuoteMeta(p)
	re = strings.ReplaceAll(strings.ReplaceAll(re, `\*`, ".*"), `\?`, ".")
	return regexp.MustCompile("(?s)^" + re + "$").MatchString
}

func find(c *builtin.Call) (starlark.Value, error) {
	op, name, domain := glob(c, "op"), glob(c, "name"), glob(c, "domain")
	where, recursive := c.Callable("where"), c.Bool("recursive")
	if err := c.Err(); err != nil {
		return nil, err
	}
	graphs := []*ir.Graph{recvGraph(c)}
	if recursive {
		graphs = graphs[:0]
		for b := range recvGraph(c).All() {
			graphs = append(graphs, b)
		}
	}
	out := []starlark.Value{}
	for _, g := range graphs {
		for _, n := range g.Nodes() {
			if !op(n.Op()) || !name(n.Name()) || !domain(n.Domain()) {
				continue
			}
			v := c.Env().Node(n)
			if where != nil {
				yes, err := c.Invoke(where, v)
				if err != nil {
					return nil, err
				}
				if !yes.Truth() {
					continue
				}
			}
			out = append(out, v)
		}
	}
	return starlark.NewList(out), nil
}

var editMethods = []*builtin.Func{
	{
		Name: "graph.insert_after",
		Doc:  "puts a node that reads tensor, *inputs between the tensor and all its uses, and returns the new tensor. A graph output keeps its name.",
		Params: []builtin.Param{
			builtin.Req("tensor", "tensor or name", "after which"),
			builtin.Req("op", "string", "the operator"),
			builtin.Opt("inputs", builtin.NoList, "list", "further inputs, as in layer"),
			builtin.Opt("attrs", builtin.NoDict, "dict", "the attributes"),
			builtin.Opt("name", nil, "string", "the node's name"),
			builtin.Opt("domain", "", "string", "the operator's domain"),
		},
		Returns: "tensor",
		Example: pairSetup + "t = g.insert_after(y, \"Abs\")\nassert.eq(z.producer.inputs[0], t)",
		Fn:      insertAfter,
	},
	{
		Name: "graph.insert_before",
		Doc:  "puts a node between input slot of node and what it reads there, for that one input, and returns the new tensor.",
		Params: []builtin.Param{
			builtin.Req("node", "node or name", "before which"),
			builtin.Req("slot", "int", "which input"),
			builtin.Req("op", "string", "the operator"),
			builtin.Opt("inputs", builtin.NoList, "list", "further inputs, as in layer"),
			builtin.Opt("attrs", builtin.NoDict, "dict", "the attributes"),
			builtin.Opt("name", nil, "string", "the node's name"),
			builtin.Opt("domain", "", "string", "the operator's domain"),
		},
		Returns: "tensor",
		Example: pairSetup + "t = g.insert_before(z.producer, 0, \"Abs\")\nassert.eq((z.producer.inputs[0], t.producer.inputs[0]), (t, y))",
		Fn:      insertBefore,
	},
	{
		Name:    "graph.bypass",
		Doc:     "removes a node and gives its first input to all uses of its first output. A graph output keeps its name.",
		Params:  []builtin.Param{builtin.Req("node", "node or name", "which")},
		Example: pairSetup + "g.bypass(y.producer)\nassert.eq(z.producer.inputs[0], x)",
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			n, err := c.Env().AsNode(recvGraph(c), c.Value("node"), "node")
			if err != nil {
				return nil, err
			}
			if err := mutable(c, "edit"); err != nil {
				return nil, err
			}
			return starlark.None, bypass(n)
		},
	},
	{
		Name: "graph.replace",
		Doc:  "makes every use of the tensor old a use of new: nodes' inputs, captures in bodies and graph outputs.",
		Params: []builtin.Param{
			builtin.Req("old", "tensor or name", "what is used"),
			builtin.Req("new", "tensor or name", "what is used from now on"),
		},
		Example: pairSetup + "g.replace(y, x)\nassert.eq(z.producer.inputs[0], x)",
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			g := recvGraph(c)
			old, err := c.Env().AsTensor(g, c.Value("old"), "old")
			if err != nil {
				return nil, err
			}
			by, err := c.Env().AsTensor(g, c.Value("new"), "new")
			if err != nil {
				return nil, err
			}
			if err := mutable(c, "edit"); err != nil {
				return nil, err
			}
			old.ReplaceUses(by)
			return starlark.None, nil
		},
	},
	{
		Name: "graph.rename",
		Doc:  "renames tensors (or nodes) by a dict from old to new name, or a function of a name; names may be swapped. Returns how many changed.",
		Params: []builtin.Param{
			builtin.Req("mapping_or_fn", "dict or function", "old to new"),
			builtin.Opt("nodes", false, "bool", "rename nodes instead of tensors"),
		},
		Returns: "int",
		Example: pairSetup + "g.rename({\"x\": \"input\"})\nassert.eq(x.name, \"input\")",
		Fn:      rename,
	},
	{
		Name: "graph.set_dim",
		Doc:  "sets one dimension of a tensor's recorded shape: an int, a symbol or None.",
		Params: []builtin.Param{
			builtin.Req("input", "tensor or name", "whose shape"),
			builtin.Req("axis", "int", "which dimension"),
			builtin.Req("value", "int, string or None", "the size"),
		},
		Example: pairSetup + "g.set_dim(\"x\", 0, \"N\")\nassert.eq(x.shape, [\"N\"])",
		Fn:      setDim,
	},
}

// bypass removes n and lets the uses of its first output read its first input.
func bypass(n *ir.Node) error {
	in, out := n.Input(0), n.Output(0)
	if in == nil || out == nil {
		return fmt.Errorf("%s: bypass: the node has no first input and output to join", n.Path())
	}
	for _, t := range n.Outputs()[1:] {
		if t != nil && t.NumUses() > 0 {
			return fmt.Errorf("%s: bypass: its output %q is used too", n.Path(), t.Name())
		}
	}
	if out.IsGraphOutput() {
		return bypassOutput(n, in, out)
	}
	out.ReplaceUses(in)
	return n.Remove()
}

// bypassOutput keeps the name of a graph output: what makes the input makes the
// output instead.
func bypassOutput(n *ir.Node, in, out *ir.Tensor) error {
	p, slot := in.Producer()
	if p == nil || in.IsGraphOutput() || in.IsGraphInput() || p.Graph() != n.Graph() {
		out.ReplaceUses(in)
		return n.Remove()
	}
	n.Discard()
	in.ReplaceUses(out)
	p.SetOutput(slot, out)
	return nil
}

// insertBuilder prepares the node that an insertion makes.
func insertBuilder(c *builtin.Call, g *ir.Graph, t starlark.Value) *nodeBuilder {
	op := c.Str("op")
	return &nodeBuilder{
		thread: c.Thread, env: c.Env(), g: g, op: op, domain: c.Str("domain"), name: c.Str("name"), check: true,
		inputs: append([]starlark.Value{t}, c.List("inputs")...), attrs: c.Items("attrs"),
		outputs: []starlark.Value{starlark.String(op)},
	}
}

func insertAfter(c *builtin.Call) (starlark.Value, error) {
	g := recvGraph(c)
	t, err := c.Env().AsTensor(g, c.Value("tensor"), "tensor")
	if err != nil {
		return nil, err
	}
	if t.Graph() != nil {
		g = t.Graph()
	}
	b := insertBuilder(c, g, c.Env().Tensor(t))
	if err := mutable(c, "add a node to"); err != nil || c.Err() != nil {
		return nil, err
	}
	uses := t.UseList()
	if p, _ := t.Producer(); p != nil && p.Graph() == g {
		b.before = g.Next(p)
	} else if g.NumNodes() > 0 {
		b.before = g.Node(0)
	}
	n, err := b.build()
	if err != nil {
		return nil, err
	}
	out := n.Output(0)
	for _, u := range uses {
		u.Set(out)
	}
	if name := t.Name(); out.IsGraphOutput() && !t.IsGraphInput() {
		t.SetName(g.FreshName(name))
		out.SetName(name)
	}
	return c.Env().Tensor(out), nil
}

func insertBefore(c *builtin.Call) (starlark.Value, error) {
	n, err := c.Env().AsNode(recvGraph(c), c.Value("node"), "node")
	if err != nil {
		return nil, err
	}
	slot := c.Int("slot")
	if err := c.Err(); err != nil {
		return nil, err
	}
	t := n.Input(slot)
	if t == nil {
		return nil, c.ArgErrorf("slot", "%s reads nothing at input %d", n.Label(), slot)
	}
	g := n.Graph()
	if g == nil {
		return nil, c.ArgErrorf("node", "%s is in no graph", n.Label())
	}
	b := insertBuilder(c, g, c.Env().Tensor(t))
	if err := mutable(c, "add a node to"); err != nil || c.Err() != nil {
		return nil, err
	}
	b.before = n
	made, err := b.build()
	if err != nil {
		return nil, err
	}
	n.SetInput(slot, made.Output(0))
	return c.Env().Tensor(made.Output(0)), nil
}

// named is what rename changes: a tensor or a node.
type named interface {
	Name() string
	SetName(string)
}

func rename(c *builtin.Call) (starlark.Value, error) {
	nodes := c.Bool("nodes")
	if err := mutable(c, "rename in"); err != nil || c.Err() != nil {
		return nil, err
	}
	var things []named
	if nodes {
		for _, n := range recvGraph(c).Nodes() {
			things = append(things, n)
		}
	} else {
		for _, t := range recvGraph(c).Tensors() {
			things = append(things, t)
		}
	}
	next, err := newNames(c, things)
	if err != nil {
		return nil, err
	}
	count := 0
	for i, x := range things {
		if next[i] != x.Name() {
			x.SetName(next[i])
			count++
		}
	}
	return starlark.MakeInt(count), nil
}

// newNames returns the name that each thing is to have; nothing is renamed
// before all are known.
func newNames(c *builtin.Call, things []named) ([]string, error) {
	next := make([]string, len(things))
	fn, isFn := c.Value("mapping_or_fn").(starlark.Callable)
	if !isFn {
		return next, mapNames(c, things, next)
	}
	for i, x := range things {
		v, err := c.Invoke(fn, value.Text(x.Name()))
		if err != nil {
			return nil, err
		}
		if next[i], err = value.AsText(v, "result of the function for "+x.Name()); err != nil {
			return nil, err
		}
	}
	return next, nil
}

func mapNames(c *builtin.Call, things []named, next []string) error {
	to := map[string]string{}
	for _, item := range c.Items("mapping_or_fn") {
		old, err := value.AsText(item[0], "mapping_or_fn")
		if err != nil {
			return err
		}
		if to[old], err = value.AsText(item[1], "mapping_or_fn"); err != nil {
			return err
		}
	}
	have := make(map[string]bool, len(things))
	var all []string
	for i, x := range things {
		have[x.Name()] = true
		all = append(all, x.Name())
		next[i] = x.Name()
		if name, ok := to[x.Name()]; ok {
			next[i] = name
		}
	}
	for old := range to {
		if !have[old] {
			return fmt.Errorf("mapping_or_fn: nothing is named %q%s", old, hint(old, all))
		}
	}
	return c.Err()
}

func setDim(c *builtin.Call) (starlark.Value, error) {
	t, err := c.Env().AsTensor(recvGraph(c), c.Value("input"), "input")
	if err != nil {
		return nil, err
	}
	axis := c.Int("axis")
	d := builtin.Arg(c, "value", value.AsDim)
	if err := mutable(c, "set a dimension in"); err != nil || c.Err() != nil {
		return nil, err
	}
	shape := append(ir.Shape{}, t.Shape()...)
	if axis < 0 {
		axis += len(shape)
	}
	if axis < 0 || axis >= len(shape) {
		return nil, c.ArgErrorf("axis", "got %d, want less than %d, the rank of tensor %q", c.Int("axis"), len(shape), t.Name())
	}
	if t.IsConstant() {
		return nil, c.ArgErrorf("input", "tensor %q is a constant, whose shape is that of its values", t.Name())
	}
	shape[axis] = d
	t.SetShape(shape)
	return starlark.None, nil
}
