package gs

import (
	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/builtins/core"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

var variableFunc = &builtin.Func{
	Name: "gs.Variable", NoneIsDefault: true,
	Doc: "makes a variable of no graph yet, as variable does.",
	Params: []builtin.Param{
		builtin.Req("name", "string", "its name"),
		builtin.Opt("dtype", nil, "dtype", "the element type"),
		builtin.Opt("shape", nil, "list", "sizes: int, string (a symbol), None or gs.Tensor.DYNAMIC; None alone is an unknown rank"),
		builtin.Opt("type", "tensor_type", "string", "tensor_type, or sequence_type or optional_type of such a tensor"),
		builtin.Key("doc", "", "string", "the doc string"),
	},
	Returns: "tensor",
	Example: "x = gs.Variable(\"x\", dtype = np.float32, shape = (gs.Tensor.DYNAMIC, 3))\nassert.eq((x.dtype, x.shape), (\"float32\", [None, 3]))\nassert.eq(str(gs.Variable(\"s\", np.float32, type = \"sequence_type\").type), \"seq(float32[...])\")",
	Attrs:   starlark.StringDict{"DYNAMIC": dynamic, "empty": emptyFunc("gs.Variable.empty").Value()},
	Fn:      variable,
}

func variable(c *builtin.Call) (starlark.Value, error) {
	kind := c.Enum("type", "tensor_type", "sequence_type", "optional_type")
	v, err := core.NewVariable(c)
	if err != nil || kind == "tensor_type" {
		return v, err
	}
	t := v.(value.Tensor).IR()
	of := t.Type()
	if of == nil {
		of = ir.TensorType(array.Undefined, nil)
	}
	wrapped := &ir.Type{Kind: ir.SequenceKind, Of: of}
	if kind == "optional_type" {
		wrapped.Kind = ir.OptionalKind
	}
	t.SetType(wrapped)
	return v, nil
}

var constantFunc = &builtin.Func{
	Name: "gs.Constant", NoneIsDefault: true,
	Doc: "makes a constant of no graph yet, as constant does.",
	Params: []builtin.Param{
		builtin.Req("name", "string", "its name"),
		builtin.Req("values", "array", "its values: an array, a number or nested lists"),
		builtin.Opt("data_location", nil, "any", "not kept: save decides where values lie"),
		builtin.Opt("export_dtype", nil, "dtype", "the type to which the values are converted, at once: arrays have every ONNX type"),
		builtin.Key("doc", "", "string", "the doc string"),
	},
	Returns: "tensor",
	Example: "w = gs.Constant(\"w\", np.ones((2, 3), dtype = np.float32), export_dtype = onnx.TensorProto.BFLOAT16)\nassert.eq((w.dtype, w.shape), (\"bfloat16\", [2, 3]))",
	Fn:      constant,
}

func constant(c *builtin.Call) (starlark.Value, error) {
	dt := builtin.Arg(c, "export_dtype", value.AsDType)
	v, err := core.NewConstant(c)
	if err != nil || dt == array.Undefined {
		return v, err
	}
	t := v.(value.Tensor).IR()
	a, err := t.Array().Cast(dt)
	if err != nil {
		return nil, c.ArgErrorf("export_dtype", "%v", err)
	}
	t.SetArray(a)
	return v, nil
}

// dynamic is the size that stands for an unknown one.
var dynamic = starlark.MakeInt(-1)

var tensorFunc = &builtin.Func{
	Name:    "gs.Tensor",
	Doc:     "makes nothing: it stands for the kind of tensor attributes, and holds DYNAMIC, the size that is not known. gs.Variable and gs.Constant make tensors.",
	Params:  []builtin.Param{builtin.Rest("args", "any", ""), builtin.RestKw("kwargs", "any", "")},
	Example: "assert.eq(gs.Tensor.DYNAMIC, -1)\nassert.fails(lambda: gs.Tensor(\"x\"), \"gs.Variable or gs.Constant\")",
	Attrs:   starlark.StringDict{"DYNAMIC": dynamic, "empty": emptyFunc("gs.Tensor.empty").Value()},
	Fn: func(c *builtin.Call) (starlark.Value, error) {
		return nil, c.Errorf("got a call, want gs.Variable or gs.Constant: a tensor is one or the other")
	},
}

// emptyFunc returns the maker of a tensor without a name.
func emptyFunc(name string) *builtin.Func {
	return &builtin.Func{
		Name: name, Doc: "makes a tensor without a name, which stands for an omitted input or output; None does the same.",
		Returns: "tensor", Example: "assert.true(" + name + "().is_empty())",
		Fn: func(c *builtin.Call) (starlark.Value, error) { return c.Env().Tensor(ir.NewTensor("", nil)), nil },
	}
}
