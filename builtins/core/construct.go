package core

import (
	"fmt"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

const defaultOpset = 21

var constructors = []*builtin.Func{
	{
		Name: "graph",
		Doc:  "makes a model with a graph. opset None is 21; ir_version None is the lowest that fits the opset. A graph that becomes the body of an If, Loop or Scan takes its model's opset, imports and functions.",
		Params: []builtin.Param{
			builtin.Opt("name", "", "string", "the graph's name"),
			builtin.Opt("opset", nil, "int", "the version of the standard's operators"),
			builtin.Opt("ir_version", nil, "int", "the version of the file format"),
			builtin.Opt("inputs", builtin.NoList, "list of tensor", "the inputs"),
			builtin.Opt("outputs", builtin.NoList, "list of tensor", "the outputs"),
			builtin.Opt("nodes", builtin.NoList, "list of node", "the nodes"),
			builtin.Opt("imports", builtin.NoDict, "dict", "versions of further domains"),
			builtin.Opt("functions", builtin.NoList, "list of function", "model-local functions"),
			builtin.Opt("doc", "", "string", "the doc string"),
			builtin.Opt("metadata", builtin.NoDict, "dict", "metadata entries"),
			builtin.Opt("producer_name", "", "string", "the tool that makes the model"),
			builtin.Opt("producer_version", "", "string", "its version"),
		},
		Returns: "graph",
		Example: "x = variable(\"x\", \"float32\", [1, 4])\ng = graph(\"demo\", inputs = [x])\ng.outputs = g.layer(\"Relu\", inputs = [x], outputs = [\"y\"])\nassert.eq(len(g.nodes), 1)",
		Fn:      NewGraph,
	},
	{
		Name: "node",
		Doc:  "makes a node of no graph yet; append it to a graph's nodes.",
		Params: []builtin.Param{
			builtin.Req("op", "string", "the operator"),
			builtin.Opt("inputs", builtin.NoList, "list of tensor", "what it reads; None for an omitted input"),
			builtin.Opt("outputs", builtin.NoList, "list of tensor", "what it makes"),
			builtin.Opt("attrs", builtin.NoDict, "dict", "the attributes"),
			builtin.Opt("name", "", "string", "the node's name"),
			builtin.Opt("domain", "", "string", `the operator's domain, "" for the standard's`),
			builtin.Opt("overload", "", "string", "the overload of a local function"),
			builtin.Opt("doc", "", "string", "the doc string"),
		},
		Returns: "node",
		Example: "x, y = variable(\"x\"), variable(\"y\")\nn = node(\"Relu\", inputs = [x], outputs = [y])\nassert.eq(y.producer, n)",
		Fn:      NewNode,
	},
	{
		Name: "tensor",
		Doc:  "makes a variable, or with values a constant, of no graph yet.",
		Params: []builtin.Param{
			builtin.Req("name", "string", "its name"),
			builtin.Opt("dtype", nil, "dtype", "the element type"),
			builtin.Opt("shape", nil, "list", "sizes: int, string (a symbol) or None; None alone is an unknown rank"),
			builtin.Opt("values", nil, "array", "the values of a constant"),
			builtin.Opt("doc", "", "string", "the doc string"),
		},
		Returns: "tensor",
		Example: "t = tensor(\"x\", \"float32\", [\"N\", 3])\nassert.eq(t.shape, [\"N\", 3])\nassert.eq(tensor(\"w\", values = [1, 2]).kind, \"constant\")",
		Fn:      newTensor,
	},
	{
		Name: "variable",
		Doc:  "makes a variable of no graph yet.",
		Params: []builtin.Param{
			builtin.Req("name", "string", "its name"),
			builtin.Opt("dtype", nil, "dtype", "the element type"),
			builtin.Opt("shape", nil, "list", "sizes: int, string (a symbol) or None; None alone is an unknown rank"),
			builtin.Opt("doc", "", "string", "the doc string"),
		},
		Returns: "tensor",
		Example: "assert.eq(variable(\"x\", \"float32\", [1, 3]).dtype, \"float32\")",
		Fn:      NewVariable,
	},
	{
		Name: "constant",
		Doc:  "makes a constant of no graph yet.",
		Params: []builtin.Param{
			builtin.Req("name", "string", "its name"),
			builtin.Req("values", "array", "its values: an array, a number or nested lists"),
			builtin.Opt("doc", "", "string", "the doc string"),
		},
		Returns: "tensor",
		Example: "assert.eq(constant(\"axes\", [0, 1]).dtype, \"int64\")",
		Fn:      NewConstant,
	},
	{
		Name: "function",
		Doc:  "makes a model-local function; append it to a graph's functions.",
		Params: []builtin.Param{
			builtin.Req("name", "string", "the operator that it defines"),
			builtin.Opt("domain", "local", "string", "the operator's domain"),
			builtin.Opt("inputs", builtin.NoList, "list of tensor", "the inputs"),
			builtin.Opt("outputs", builtin.NoList, "list of tensor", "the outputs"),
			builtin.Opt("nodes", builtin.NoList, "list of node", "the nodes"),
			builtin.Opt("attrs", builtin.NoDict, "dict", "each attribute's default, None for a required one"),
			builtin.Opt("opset", nil, "int", "the version of the standard's operators, None for 21"),
			builtin.Opt("imports", builtin.NoDict, "dict", "versions of further domains"),
			builtin.Opt("overload", "", "string", "the overload"),
			builtin.Opt("doc", "", "string", "the doc string"),
		},
		Returns: "function",
		Example: "x = variable(\"x\")\nf = function(\"Twice\", inputs = [x])\nf.outputs = f.layer(\"Add\", inputs = [x, x], outputs = [\"y\"])\nassert.eq(f.domain, \"local\")",
		Fn:      NewFunction,
	},
	{
		Name: "attr_ref",
		Doc:  "stands, in a function's body, for an attribute of the function.",
		Params: []builtin.Param{
			builtin.Req("name", "string", "the function's attribute"),
			builtin.Req("kind", "string", `"int", "float", "string", "tensor", "graph" or their plural; int and float stand for theirs`),
		},
		Returns: "attr_ref",
		Example: "n = node(\"LeakyRelu\", attrs = {\"alpha\": attr_ref(\"slope\", \"float\")})\nassert.eq(str(n.attrs[\"alpha\"]), 'attr_ref(\"slope\", \"float\")')",
		Fn:      NewAttrRef,
	},
}

// NewGraph is the work of graph, and of gs.Graph, whose parameters may have other names.
func NewGraph(c *builtin.Call) (starlark.Value, error) {
	opset := defaultOpset
	if !c.IsNone("opset") {
		opset = c.Int("opset")
	}
	m := ir.NewModel(c.Str("name"), ir.Import{Version: int64(opset)})
	m.Draft = true
	if opset < 1 {
		return nil, c.ArgErrorf("opset", "got %d, want a version from 1 on", opset)
	}
	if v := c.Int("ir_version"); !c.IsNone("ir_version") {
		m.SetIRVersion(int64(v))
	}
	m.SetProducer(c.Str("producer_name"), c.Str("producer_version"))
	g := c.Env().Graph(m.Graph()).(value.Graph)
	for _, field := range []string{"imports", "functions", "doc", "metadata"} {
		if err := setUnlessDefault(c, g, field); err != nil {
			return nil, err
		}
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	return g, fill(c, g)
}

// fill sets inputs, nodes and outputs, in this order so that names given for
// outputs are found.
func fill(c *builtin.Call, g value.Graph) error {
	for _, field := range []string{"inputs", "nodes", "outputs"} {
		if err := g.SetField(field, c.Value(field)); err != nil {
			return err
		}
	}
	return nil
}

// setUnlessDefault assigns a field from the argument of its name; a default
// leaves the field as it is.
func setUnlessDefault(c *builtin.Call, x starlark.HasSetField, field string) error {
	if !c.Given(field) {
		return nil
	}
	if field == "imports" {
		for _, item := range c.Items("imports") {
			imports, err := x.Attr("imports")
			if err != nil {
				return err
			}
			if err := imports.(value.Dict).SetKey(item[0], item[1]); err != nil {
				return err
			}
		}
		return nil
	}
	return x.SetField(field, c.Value(field))
}

// NewNode is the work of node and gs.Node.
func NewNode(c *builtin.Call) (starlark.Value, error) {
	n := ir.NewNode(c.Str("op"), nil, nil)
	n.SetName(c.Str("name"))
	n.SetDomain(c.Str("domain"))
	n.SetOverload(c.Str("overload"))
	n.SetDoc(c.Str("doc"))
	if err := c.Err(); err != nil {
		return nil, err
	}
	v := c.Env().Node(n).(value.Node)
	for _, field := range []string{"attrs", "inputs", "outputs"} {
		if err := v.SetField(field, c.Value(field)); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func newTensor(c *builtin.Call) (starlark.Value, error) {
	if t := c.Value("dtype").Type(); t == "array" || t == "list" {
		return nil, c.ArgErrorf("dtype", "got %s, want a dtype such as \"float32\"; values go by name (values = …), or use constant(name, values)", t)
	}
	if c.IsNone("values") {
		return NewVariable(c)
	}
	dt := builtin.Arg(c, "dtype", value.AsDType)
	shape := builtin.Arg(c, "shape", value.AsShape)
	if err := c.Err(); err != nil {
		return nil, err
	}
	a, err := literalArray(c.Value("values"), dt, "tensor: values")
	if err != nil {
		return nil, err
	}
	if sizes, ok := shape.Static(); shape != nil && ok {
		if a, err = a.Reshape(sizes...); err != nil {
			return nil, c.ArgErrorf("shape", "%v", err)
		}
	}
	return finishTensor(c, ir.NewConstant(c.Str("name"), a))
}

// NewVariable is the work of variable and gs.Variable.
func NewVariable(c *builtin.Call) (starlark.Value, error) {
	dt := builtin.Arg(c, "dtype", value.AsDType)
	shape := builtin.Arg(c, "shape", value.AsShape)
	var typ *ir.Type
	if dt != array.Undefined || shape != nil {
		typ = ir.TensorType(dt, shape)
	}
	return finishTensor(c, ir.NewTensor(c.Str("name"), typ))
}

// NewConstant is the work of constant.
func NewConstant(c *builtin.Call) (starlark.Value, error) {
	a, err := literalArray(c.Value("values"), array.Undefined, "constant: values")
	if err != nil {
		return nil, err
	}
	return finishTensor(c, ir.NewConstant(c.Str("name"), a))
}

func finishTensor(c *builtin.Call, t *ir.Tensor) (starlark.Value, error) {
	t.SetDoc(c.Str("doc"))
	return c.Env().Tensor(t), c.Err()
}

// literalArray is the array of a constant: an array that the script holds is
// shared until one side writes.
func literalArray(v starlark.Value, dt array.DType, what string) (*array.Array, error) {
	a, err := value.AsArray(v, dt, what)
	if err != nil {
		return nil, err
	}
	return a.Share(), nil
}

// NewFunction is the work of function and gs.Function.
func NewFunction(c *builtin.Call) (starlark.Value, error) {
	opset := defaultOpset
	if !c.IsNone("opset") {
		opset = c.Int("opset")
	}
	f := ir.NewFunction(c.Str("domain"), c.Str("name"), c.Str("overload"), ir.Import{Version: int64(opset)})
	f.SetDoc(c.Str("doc"))
	if err := c.Err(); err != nil {
		return nil, err
	}
	g := c.Env().Graph(f.Body()).(value.Graph)
	for _, field := range []string{"imports", "attrs"} {
		if err := setUnlessDefault(c, g, field); err != nil {
			return nil, err
		}
	}
	return g, fill(c, g)
}

// NewAttrRef is the work of attr_ref and gs.Node.AttributeRef.
func NewAttrRef(c *builtin.Call) (starlark.Value, error) {
	name := c.Str("name")
	kind := builtin.Arg(c, "kind", asAttrKind)
	return value.AttrRef{Name: name, Kind: kind}, c.Err()
}

// asAttrKind takes the name of a kind, or int, float, str and the constructors
// that stand for one, as GraphSurgeon's AttributeRef takes Python's types.
func asAttrKind(v starlark.Value, what string) (ir.AttrKind, error) {
	word, ok := starlark.AsString(v)
	if fn, isFn := v.(starlark.Callable); isFn {
		word, ok = fn.Name(), true
		if stands := kindWords[word]; stands != "" {
			word = stands
		}
	}
	var names []string
	for _, k := range ir.AttrKinds() {
		if ok && k.String() == word {
			return k, nil
		}
		names = append(names, k.String())
	}
	if !ok {
		return 0, fmt.Errorf("%s: got %s, want the name of a kind, such as \"float\"", what, v.Type())
	}
	return 0, fmt.Errorf("%s: got %q, want the name of a kind, such as \"float\"%s", what, word, hint(word, names))
}

var kindWords = map[string]string{"str": "string", "gs.Tensor": "tensor", "tensor": "tensor", "gs.Graph": "graph", "bool": "int"}
