package core

import (
	"fmt"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/ops/schema"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

// operators is graph.op: a field for each operator of the standard in the
// graph's opset.
type operators struct{ g value.Graph }

var _ starlark.HasAttrs = operators{}

func (o operators) String() string {
	return fmt.Sprintf("<operators of opset %d>", o.g.IR().Opset(""))
}
func (o operators) Type() string          { return "operators" }
func (o operators) Freeze()               {}
func (o operators) Truth() starlark.Bool  { return true }
func (o operators) Hash() (uint32, error) { return o.g.Hash() }

// AttrNames lists the operators.
func (o operators) AttrNames() []string { return schema.Names("", o.g.IR().Opset("")) }

// Attr returns the builder of the operator's node.
func (o operators) Attr(name string) (starlark.Value, error) {
	opset := o.g.IR().Opset("")
	s, ok := schema.Standard(name, opset)
	if !ok {
		return nil, missing(name, opset)
	}
	f := &builtin.Func{
		Name: "graph.op." + name,
		Doc:  s.Signature(),
		Params: []builtin.Param{
			builtin.Rest("inputs", "tensor", "what it reads"),
			builtin.Key("outputs", nil, "int or list of string", "how many outputs, or their names"),
			builtin.Key("name", nil, "string", "the node's name"),
			builtin.RestKw("attrs", "attribute or input", "attributes, or inputs by their schema names"),
		},
		Returns: "tensor or tuple of tensor",
		Fn:      func(c *builtin.Call) (starlark.Value, error) { return o.build(c, s) },
	}
	return f.Value(), nil
}

// missing is the error for an operator that the standard has not, or not in this
// opset, or that nobody knows.
func missing(name string, opset int) error {
	switch vs := schema.Versions("", name); {
	case len(vs) == 0:
		return fmt.Errorf("graph.op: got operator %q, want one of the standard's in opset %d%s", name, opset, hint(name, schema.Names("", opset)))
	case vs[len(vs)-1].Own:
		return fmt.Errorf("operator %q: got one of ONNX Runtime's own, want one of the standard's (graph.layer makes the others)", name)
	default:
		return fmt.Errorf("operator %q: the graph has opset %d, want at least %d", name, opset, sinceFirst(vs))
	}
}

func (o operators) build(c *builtin.Call, s *schema.Schema) (starlark.Value, error) {
	if err := o.g.CheckMutable("add a node to"); err != nil {
		return nil, err
	}
	b := &nodeBuilder{
		thread: c.Thread, env: c.Env(), g: o.g.IR(), op: s.Name, domain: "", name: c.Str("name"), check: true,
		inputs: append([]starlark.Value(nil), c.Rest...),
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	for _, kv := range c.Kw {
		name := string(kv[0].(starlark.String))
		if i := s.InputIndex(name); i >= 0 && s.Attr(name) == nil {
			if err := b.namedInput(i, name, kv[1]); err != nil {
				return nil, c.Errorf("%v", err)
			}
			continue
		}
		if s.Attr(name) == nil {
			return nil, c.Errorf("unexpected keyword argument %q%s", name, hint(name, append(s.AttrNames(), s.InputNames()...)))
		}
		b.attrs = append(b.attrs, kv)
	}
	return b.finish(c, s)
}

// finish builds the node with the outputs that the call names, of as many as the
// schema allows, and returns them.
func (b *nodeBuilder) finish(c *builtin.Call, s *schema.Schema) (starlark.Value, error) {
	outputs, err := outputNames(c, s, b)
	if err != nil {
		return nil, err
	}
	b.outputs = outputs
	n, err := b.build()
	if err != nil {
		return nil, err
	}
	return b.results(n), nil
}

func (b *nodeBuilder) namedInput(i int, name string, v starlark.Value) error {
	for len(b.inputs) <= i {
		b.inputs = append(b.inputs, starlark.None)
	}
	if b.inputs[i] != starlark.None {
		return fmt.Errorf("input %q is given twice", name)
	}
	b.inputs[i] = v
	return nil
}

// outputNames returns the names of the outputs: those asked for, or as many as
// the schema requires or the attributes fix.
func outputNames(c *builtin.Call, s *schema.Schema, b *nodeBuilder) ([]starlark.Value, error) {
	v := c.Value("outputs")
	switch v := v.(type) {
	case starlark.NoneType:
		return defaultNames(s, fixedOutputs(s, b)), nil
	case starlark.Int:
		n := builtin.Arg(c, "outputs", builtin.AsInt)
		if c.Err() == nil && (n < 1 || n > s.MaxOutputs) {
			return nil, c.ArgErrorf("outputs", "got %d, want %s", n, between(max(1, s.MinOutputs), s.MaxOutputs))
		}
		return defaultNames(s, n), c.Err()
	case starlark.String:
		return []starlark.Value{v}, nil
	}
	return c.List("outputs"), c.Err()
}

func between(lo, hi int) string {
	if lo == hi {
		return fmt.Sprint(lo)
	}
	return fmt.Sprintf("%d to %d", lo, hi)
}

func defaultNames(s *schema.Schema, n int) []starlark.Value {
	names := make([]starlark.Value, n)
	for i := range names {
		names[i] = starlark.String(s.Name)
	}
	return names
}

// fixedOutputs counts the outputs that the schema requires or the attributes
// fix: those of Split by num_outputs or the length of split, of If, Loop, Scan
// and SequenceMap by their bodies' outputs.
func fixedOutputs(s *schema.Schema, b *nodeBuilder) int {
	n := max(1, s.MinOutputs)
	for _, kv := range b.attrs {
		switch name := string(kv[0].(starlark.String)); name {
		case "num_outputs":
			if k, err := value.AsInt(kv[1], name); err == nil && k > 0 {
				n = int(k)
			}
		case "split":
			if k := starlark.Len(kv[1]); k > 0 {
				n = k
			}
		case "then_branch", "body":
			n = max(n, bodyOutputs(s.Name, kv[1], b))
		}
	}
	if s.Name == "Split" && n == 1 && len(b.inputs) > 1 {
		if k := starlark.Len(b.inputs[1]); k > 0 {
			return k
		}
		if t, ok := b.inputs[1].(value.Tensor); ok && t.IR().Array() != nil {
			return t.IR().Array().Size()
		}
	}
	return n
}

func bodyOutputs(op string, v starlark.Value, b *nodeBuilder) int {
	g, ok := v.(value.Graph)
	if !ok {
		return 1
	}
	n := g.IR().NumOutputs()
	if op == "Loop" {
		n-- // the condition stays inside
	}
	return n
}

// functionCall is g.NAME of a local function.
var functionCall = []*builtin.Func{{
	Name: "graph.call",
	Doc:  "makes a node that calls a model-local function, and returns its outputs.",
	Params: []builtin.Param{
		builtin.Opt("inputs", builtin.NoList, "list", "what it reads"),
		builtin.Opt("outputs", nil, "list", "names or tensors; None takes the function's names"),
		builtin.Opt("attrs", builtin.NoDict, "dict", "the attributes"),
		builtin.Opt("name", nil, "string", "the node's name"),
	},
	Returns: "list of tensor",
	Example: "x = variable(\"x\", \"float32\", [2])\nf = function(\"Twice\", inputs = [variable(\"a\")])\nf.outputs = f.layer(\"Add\", inputs = [\"a\", \"a\"], outputs = [\"b\"])\ng = graph(inputs = [x], imports = {\"local\": 1}, functions = [f])\nassert.eq(g.Twice(inputs = [x])[0].producer.domain, \"local\")",
	Fn:      callFunction,
}}

func callFunction(c *builtin.Call) (starlark.Value, error) {
	pair := c.Recv.(starlark.Tuple)
	g, f := pair[0].(value.Graph), pair[1].(value.Graph).IR().Function()
	if err := g.CheckMutable("add a node to"); err != nil {
		return nil, err
	}
	b := &nodeBuilder{
		thread: c.Thread, env: c.Env(), g: g.IR(), op: f.Name(), domain: f.Domain(), name: c.Str("name"), check: true,
		inputs: c.List("inputs"), attrs: c.Items("attrs"),
	}
	if c.IsNone("outputs") {
		for _, t := range f.Body().Outputs() {
			b.outputs = append(b.outputs, starlark.String(t.Name()))
		}
	} else {
		b.outputs = c.List("outputs")
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	n, err := b.build()
	if err != nil {
		return nil, err
	}
	n.SetOverload(f.Overload())
	outs := make([]starlark.Value, n.NumOutputs())
	for i := range outs {
		outs[i] = b.env.Tensor(n.Output(i))
	}
	return starlark.NewList(outs), nil
}
