// Package gs is the module gs: ONNX-GraphSurgeon's constructors by its names,
// with the names, order and defaults of its parameters, for scripts that are
// ported from it. The values are those of the other constructors, and the work is
// package core's.
//
// None stands for the default of every parameter here, as there. Beside its own
// parameters a constructor takes by name those that GraphSurgeon lacks.
package gs

import (
	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/builtins/core"
)

// defaultOpset is GraphSurgeon's, not that of graph.
const defaultOpset = 11

// Module returns gs for one host.
func Module() *builtin.Module {
	funcs := []*builtin.Func{graphFunc, nodeFunc, variableFunc, constantFunc, functionFunc, tensorFunc, importFunc, exportFunc}
	return builtin.NewModule("gs", "ONNX-GraphSurgeon's names, for scripts that are ported from it", funcs, nil)
}

var graphFunc = &builtin.Func{
	Name: "gs.Graph", NoneIsDefault: true,
	Doc: "makes a model with a graph, as graph does, with GraphSurgeon's parameters and its default opset 11. import_domains is a dict from domain to version.",
	Params: []builtin.Param{
		builtin.Opt("nodes", builtin.NoList, "list of node", "the nodes"),
		builtin.Opt("inputs", builtin.NoList, "list of tensor", "the inputs"),
		builtin.Opt("outputs", builtin.NoList, "list of tensor", "the outputs"),
		builtin.Opt("name", "onnx_graphsurgeon_graph", "string", "the graph's name"),
		builtin.Opt("doc_string", "", "string", "the doc string").For("doc"),
		builtin.Opt("opset", defaultOpset, "int", "the version of the standard's operators"),
		builtin.Opt("import_domains", builtin.NoDict, "dict", "versions of further domains").For("imports"),
		builtin.Opt("producer_name", "", "string", "the tool that makes the model"),
		builtin.Opt("producer_version", "", "string", "its version"),
		builtin.Opt("functions", builtin.NoList, "list of function", "model-local functions"),
		builtin.Opt("ir_version", nil, "int", "the version of the file format, None for the lowest that fits the opset"),
		builtin.Key("metadata", builtin.NoDict, "dict", "metadata entries"),
	},
	Returns: "graph",
	Example: "x = gs.Variable(\"x\", np.float32, (1, 3))\ny = gs.Variable(\"y\", np.float32, (1, 3))\ng = gs.Graph([gs.Node(\"Relu\", inputs = [x], outputs = [y])], [x], [y], opset = None)\nassert.eq((g.opset, g.nodes[0].op), (11, \"Relu\"))",
	Attrs:   starlark.StringDict{"register": registerFunc.Value()},
	Fn:      core.NewGraph,
}

var registerFunc = &builtin.Func{
	Name: "gs.Graph.register", NoneIsDefault: true,
	Doc:     "returns a decorator that registers a function as a layer builder, as register does.",
	Params:  []builtin.Param{builtin.Opt("opsets", nil, "list of int", "the opsets that it serves, None for all")},
	Returns: "function",
	Example: "@gs.Graph.register(opsets = [11])\ndef twice(self, x):\n    return self.layer(op = \"Add\", inputs = [x, x], outputs = [\"twice\"])[0]\n\ng = gs.Graph(inputs = [gs.Variable(\"x\", np.float32, (2,))])\nassert.eq(g.twice(g.inputs[0]).name, \"twice_0\")",
	Fn:      core.Decorator,
}

var nodeFunc = &builtin.Func{
	Name: "gs.Node", NoneIsDefault: true,
	Doc: "makes a node of no graph yet, as node does, with GraphSurgeon's order of parameters.",
	Params: []builtin.Param{
		builtin.Req("op", "string", "the operator"),
		builtin.Opt("name", "", "string", "the node's name"),
		builtin.Opt("attrs", builtin.NoDict, "dict", "the attributes"),
		builtin.Opt("inputs", builtin.NoList, "list of tensor", "what it reads; None for an omitted input"),
		builtin.Opt("outputs", builtin.NoList, "list of tensor", "what it makes"),
		builtin.Opt("domain", "", "string", `the operator's domain, "" for the standard's`),
		builtin.Key("overload", "", "string", "the overload of a local function"),
		builtin.Key("doc", "", "string", "the doc string"),
	},
	Returns: "node",
	Example: "n = gs.Node(\"LeakyRelu\", \"act\", {\"alpha\": 0.2})\nassert.eq((n.op, n.name, n.attrs[\"alpha\"]), (\"LeakyRelu\", \"act\", 0.2))",
	Attrs:   starlark.StringDict{"AttributeRef": attributeRefFunc.Value()},
	Fn:      core.NewNode,
}

var attributeRefFunc = &builtin.Func{
	Name: "gs.Node.AttributeRef",
	Doc:  "stands, in a function's body, for an attribute of the function, as attr_ref does.",
	Params: []builtin.Param{
		builtin.Req("name", "string", "the function's attribute"),
		builtin.Req("type", "string or function", "its kind: int, float, str, gs.Tensor, gs.Graph, or a name such as \"ints\" for a list").For("kind"),
	},
	Returns: "attr_ref",
	Example: "n = gs.Node(\"LeakyRelu\", attrs = {\"alpha\": gs.Node.AttributeRef(\"slope\", float)})\nassert.eq(n.attrs[\"alpha\"], attr_ref(\"slope\", \"float\"))",
	Fn:      core.NewAttrRef,
}

var functionFunc = &builtin.Func{
	Name: "gs.Function", NoneIsDefault: true,
	Doc: "makes a model-local function, as function does, with GraphSurgeon's parameters. What it calls belongs into the graph's functions too.",
	Params: []builtin.Param{
		builtin.Req("name", "string", "the operator that it defines"),
		builtin.Opt("domain", "onnx_graphsurgeon", "string", "the operator's domain"),
		builtin.Opt("nodes", builtin.NoList, "list of node", "the nodes"),
		builtin.Opt("inputs", builtin.NoList, "list of tensor", "the inputs"),
		builtin.Opt("outputs", builtin.NoList, "list of tensor", "the outputs"),
		builtin.Opt("doc_string", "", "string", "the doc string").For("doc"),
		builtin.Opt("opset", defaultOpset, "int", "the version of the standard's operators"),
		builtin.Opt("import_domains", builtin.NoDict, "dict", "versions of further domains").For("imports"),
		builtin.Opt("functions", builtin.NoList, "list of function", "must be empty: a function calls those of its model"),
		builtin.Opt("attrs", builtin.NoDict, "dict", "each attribute's default, None for a required one"),
		builtin.Opt("ir_version", nil, "int", "must be None: a function has its model's"),
		builtin.Key("overload", "", "string", "the overload"),
	},
	Returns: "function",
	Example: "x, y = gs.Variable(\"x\"), gs.Variable(\"y\")\nf = gs.Function(\"Twice\", nodes = [gs.Node(\"Add\", inputs = [x, x], outputs = [y])], inputs = [x], outputs = [y])\nassert.eq((f.domain, f.opset), (\"onnx_graphsurgeon\", 11))",
	Fn: func(c *builtin.Call) (starlark.Value, error) {
		if len(c.List("functions")) > 0 {
			return nil, c.ArgErrorf("functions", "got functions, want none: append them to the graph's functions, where every function finds them")
		}
		if !c.IsNone("ir_version") {
			return nil, c.ArgErrorf("ir_version", "got %s, want None: a function has its model's", c.Value("ir_version"))
		}
		return core.NewFunction(c)
	},
}
