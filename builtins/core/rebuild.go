package core

import (
	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops/schema"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

// rebuilders is what a replacement builds with: a field for each operator of
// the standard, as graph.op has it, one for each operator of another domain,
// and the graph.
type rebuilders struct{ operators }

var _ starlark.HasAttrs = rebuilders{}

// Rebuilders returns the builders for a replacement in g.
func Rebuilders(g value.Graph) starlark.Value { return rebuilders{operators{g}} }

// AttrNames lists the operators, and the graph.
func (o rebuilders) AttrNames() []string { return append(o.operators.AttrNames(), "graph") }

// Attr returns the graph, or the builder of an operator's node, which takes a
// domain too.
func (o rebuilders) Attr(name string) (starlark.Value, error) {
	if name == "graph" {
		return o.g, nil
	}
	standard, _ := schema.Standard(name, o.g.IR().Opset(""))
	f := &builtin.Func{
		Name: "op." + name,
		Doc:  "makes a node of the operator.",
		Params: []builtin.Param{
			builtin.Rest("inputs", "tensor", "what it reads"),
			builtin.Key("outputs", nil, "int or list of string", "how many outputs, or their names"),
			builtin.Key("name", nil, "string", "the node's name"),
			builtin.Key("domain", "", "string", "the operator's domain"),
			builtin.RestKw("attrs", "attribute or input", "attributes, or inputs by their schema names"),
		},
		Returns: "tensor or tuple of tensor",
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			if standard != nil && ir.IsStandard(c.Str("domain")) {
				return o.build(c, standard)
			}
			return o.buildForeign(c, name)
		},
	}
	return f.Value(), nil
}

// buildForeign makes a node of an operator that the standard has not.
func (o rebuilders) buildForeign(c *builtin.Call, op string) (starlark.Value, error) {
	if err := o.g.CheckMutable("add a node to"); err != nil {
		return nil, err
	}
	b := &nodeBuilder{thread: c.Thread, env: c.Env(), g: o.g.IR(), op: op, domain: c.Str("domain"), name: c.Str("name"), check: true,
		inputs: append([]starlark.Value(nil), c.Rest...), attrs: c.Kw}
	return b.finish(c, &schema.Schema{Name: op, MinOutputs: 1, MaxOutputs: 1 << 16})
}

// results returns the one output of a node, or the tuple of several.
func (b *nodeBuilder) results(n *ir.Node) starlark.Value {
	outs := make(starlark.Tuple, n.NumOutputs())
	for i := range outs {
		outs[i] = b.env.Tensor(n.Output(i))
	}
	if len(outs) == 1 {
		return outs[0]
	}
	return outs
}
