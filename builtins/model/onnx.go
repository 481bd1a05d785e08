package model

import (
	"strings"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/builtins/core"
	"github.com/starlarkgs/starlarkgs/onnx"
	"github.com/starlarkgs/starlarkgs/ops/infer"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

// ONNX returns the module onnx: the names of the onnx package that scripts use
// around GraphSurgeon. A model is a graph here.
func (k *Kit) ONNX() *builtin.Module {
	read := *openFunc
	read.Name = "onnx.read"
	read.Doc = "opens a model file, as open does: onnx.load by another name, since load is a keyword. " + upper(openFunc.Doc)
	read.Example = demoModel + "onnx.save(g, \"demo.onnx\")\nassert.eq(onnx.read(\"demo.onnx\").name, \"demo\")"
	return builtin.NewModule("onnx", "the onnx package's names, for scripts that are ported", []*builtin.Func{&read, onnxSave}, starlark.StringDict{
		"shape_inference": builtin.NewModule("onnx.shape_inference", "inference of types and shapes", []*builtin.Func{k.onnxInfer()}, nil),
		"TensorProto":     builtin.NewModule("onnx.TensorProto", "the element types by ONNX's names", nil, dtypeNames()),
	})
}

const demoModel = "g = graph(\"demo\", inputs = [variable(\"x\", \"float32\", [1])])\ng.outputs = [g.op.Relu(g.inputs[0])]\n"

func upper(doc string) string { return strings.ToUpper(doc[:1]) + doc[1:] }

// dtypeNames are the dtypes by the names of TensorProto: FLOAT is "float32".
func dtypeNames() starlark.StringDict {
	d := starlark.StringDict{}
	for _, dt := range array.DTypes() {
		d[dt.ONNXName()] = starlark.String(dt.String())
	}
	return d
}

var onnxSave = &builtin.Func{
	Name: "onnx.save", Doc: "writes a model to a file, as graph.save does, with the onnx package's parameters.",
	Params: []builtin.Param{
		builtin.Req("proto", "graph", "the model"), builtin.Req("f", "string", "the file; its extension says the format"),
		builtin.Key("save_as_external_data", false, "bool", "write weights into files of their own; else they stay where they are, and over 2 GB all go outside"),
		builtin.Key("all_tensors_to_one_file", true, "bool", "one file for all external weights"),
		builtin.Key("location", nil, "string", "the file of external weights, beside the model"),
		builtin.Key("size_threshold", 1024, "int", "the bytes from which a weight goes outside"),
	},
	Returns: "list of string", Example: demoModel + "onnx.save(g, \"demo.onnx\")\nassert.eq(open(\"demo.onnx\").nodes[0].op, \"Relu\")",
	Fn: func(c *builtin.Call) (starlark.Value, error) {
		g, ok := c.Value("proto").(value.Graph)
		if !ok {
			return nil, c.ArgErrorf("proto", "got %s, want a graph", c.Value("proto").Type())
		}
		o := onnx.SaveOptions{External: onnx.External("auto"), Threshold: max(int64(c.Int("size_threshold")), 1), Location: c.Str("location")}
		if c.Bool("save_as_external_data") {
			o.External = onnx.External("each")
			if c.Bool("all_tensors_to_one_file") {
				o.External = onnx.External("single")
			}
		}
		path := c.Str("f")
		if err := c.Err(); err != nil {
			return nil, err
		}
		return write(c, g, path, o)
	},
}

func (k *Kit) onnxInfer() *builtin.Func {
	return &builtin.Func{
		Name: "onnx.shape_inference.infer_shapes", Doc: "returns a copy of a model on whose tensors the inferred types and shapes are recorded. graph.infer_shapes does so in place.",
		Params: []builtin.Param{
			builtin.Req("model", "graph", "the model, which is not changed"),
			builtin.Opt("check_type", false, "bool", "the types are checked in any case"),
			builtin.Opt("strict_mode", false, "bool", "make values that stay unknown an error"),
			builtin.Opt("data_prop", false, "bool", "small integer tensors are followed in any case"),
		},
		Returns: "graph", Example: demoModel + "g.outputs[0].shape = None\nassert.eq(onnx.shape_inference.infer_shapes(g).outputs[0].shape, [1])\nassert.eq(g.outputs[0].shape, None)",
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			g, ok := c.Value("model").(value.Graph)
			if !ok {
				return nil, c.ArgErrorf("model", "got %s, want a graph", c.Value("model").Type())
			}
			strict := c.Bool("strict_mode")
			if err := c.Err(); err != nil {
				return nil, err
			}
			return k.infer(core.CopyGraph(g).(value.Graph), infer.Options{Strict: strict})
		},
	}
}
