package gs

import (
	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/builtins/core"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

const reluModel = "x, y = gs.Variable(\"x\", np.float32, (2,)), gs.Variable(\"y\", np.float32, (2,))\ng = gs.Graph([gs.Node(\"Relu\", inputs = [x], outputs = [y])], [x], [y])\n"

var importFunc = &builtin.Func{
	Name:    "gs.import_onnx",
	Doc:     "returns a copy of a model, which shares its weights until one side writes. A model is a graph here, so this is for ported scripts, whose model stays as it was read.",
	Params:  []builtin.Param{builtin.Req("onnx_model", "graph", "the model")},
	Returns: "graph",
	Example: reluModel + "h = gs.import_onnx(g)\nh.nodes[0].op = \"Neg\"\nassert.eq((h != g, g.nodes[0].op), (True, \"Relu\"))",
	Fn:      func(c *builtin.Call) (starlark.Value, error) { return copied(c, "onnx_model") },
}

// copied returns a copy of the graph that the argument is.
func copied(c *builtin.Call, name string) (starlark.Value, error) {
	g, ok := c.Value(name).(value.Graph)
	if !ok {
		return nil, c.ArgErrorf(name, "got %s, want a graph, as onnx.read and open return it", c.Value(name).Type())
	}
	return core.CopyGraph(g), nil
}

var exportFunc = &builtin.Func{
	Name: "gs.export_onnx",
	Doc:  "returns a copy of a graph as a model, which shares its weights until one side writes. What is given by name beside do_type_check is set on the copy.",
	Params: []builtin.Param{
		builtin.Req("graph", "graph", "the graph"),
		builtin.Opt("do_type_check", true, "bool", "refuse inputs and outputs without an element type"),
		builtin.Key("producer_name", nil, "string", "the tool that makes the model"),
		builtin.Key("producer_version", nil, "string", "its version"),
		builtin.Key("domain", nil, "string", "the model's namespace"),
		builtin.Key("model_version", nil, "int", "the version of the graph"),
		builtin.Key("doc_string", nil, "string", "the doc string"),
		builtin.Key("ir_version", nil, "int", "the version of the file format"),
	},
	Returns: "graph",
	Example: reluModel + "m = gs.export_onnx(g, producer_name = \"me\")\nassert.true(m != g and m.producer_name == \"me\")\ny.dtype = None\nassert.fails(lambda: gs.export_onnx(g), \"output \\\"y\\\" has no dtype\")",
	Fn:      export,
}

func export(c *builtin.Call) (starlark.Value, error) {
	check := c.Bool("do_type_check")
	v, err := copied(c, "graph")
	if err != nil || c.Err() != nil {
		return nil, err
	}
	g := v.(value.Graph)
	if check {
		if err := typed(c, g.IR()); err != nil {
			return nil, err
		}
	}
	for _, p := range c.Func.Params[2:] {
		if c.IsNone(p.Name) {
			continue
		}
		if err := g.SetField(p.Name, c.Value(p.Name)); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// typed refuses inputs and outputs without an element type.
func typed(c *builtin.Call, g *ir.Graph) error {
	for _, io := range []struct {
		what string
		ts   []*ir.Tensor
	}{{"input", g.Inputs()}, {"output", g.Outputs()}} {
		for _, t := range io.ts {
			if t.Type() == nil || t.Type().Kind == ir.TensorKind && t.DType() == array.Undefined {
				return c.Errorf("%s %q has no dtype; set it, or give do_type_check = False", io.what, t.Name())
			}
		}
	}
	return nil
}
