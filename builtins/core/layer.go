package core

import (
	"fmt"
	"slices"
	"strconv"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops/schema"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

var layerMethods = []*builtin.Func{
	{
		Name: "graph.layer",
		Doc:  "makes a node and its outputs, appends it to the graph, and returns the list of outputs. In outputs a string S becomes a new variable S_N; in inputs a string names a tensor of the graph, arrays, numbers and lists become constants, None is an omitted input. The operator's schema is checked, and the outputs' types are inferred as far as they follow.",
		Params: []builtin.Param{
			builtin.Req("op", "string", "the operator"),
			builtin.Opt("inputs", builtin.NoList, "list", "what it reads"),
			builtin.Opt("outputs", builtin.NoList, "list", "what it makes: names or tensors"),
			builtin.Opt("attrs", builtin.NoDict, "dict", "the attributes"),
			builtin.Opt("name", nil, "string", "the node's name; None makes OP_N"),
			builtin.Opt("domain", "", "string", `the operator's domain, "" for the standard's`),
			builtin.Opt("check", true, "bool", "check the call against the operator's schema"),
		},
		Returns: "list of tensor",
		Example: "g = graph(inputs = [variable(\"x\", \"float32\", [1, 3])])\ny = g.layer(\"Relu\", inputs = [\"x\"], outputs = [\"y\"])[0]\nassert.eq((y.name, y.shape), (\"y_0\", [1, 3]))",
		Fn:      layer,
	},
	{
		Name:     "graph.op",
		Doc:      "the builders of the standard's operators: graph.op.NAME(inputs…, attr = …, outputs = None, name = None) makes any operator's node from its schema. An input may be given by its schema name; outputs is how many or their names. One output comes back as a tensor, several as a tuple.",
		Property: true,
		Returns:  "operators",
		Example:  "g = graph(inputs = [variable(\"x\", \"float32\", [1, 3])])\ny = g.op.Softmax(g.inputs[0], axis = -1)\nassert.eq(y.producer.attrs[\"axis\"], -1)",
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			return operators{c.Recv.(value.Graph)}, nil
		},
	},
}

func layer(c *builtin.Call) (starlark.Value, error) {
	g := c.Recv.(value.Graph)
	b := &nodeBuilder{
		thread: c.Thread, env: c.Env(), g: g.IR(), op: c.Str("op"), domain: c.Str("domain"), name: c.Str("name"),
		check: c.Bool("check"), inputs: c.List("inputs"), outputs: c.List("outputs"), attrs: c.Items("attrs"),
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	if err := g.CheckMutable("add a node to"); err != nil {
		return nil, err
	}
	n, err := b.build()
	if err != nil {
		return nil, err
	}
	outs := make([]starlark.Value, n.NumOutputs())
	for i := range outs {
		outs[i] = b.env.Tensor(n.Output(i))
	}
	return starlark.NewList(outs), nil
}

// nodeBuilder makes one node in a graph. Nothing is changed when it fails.
type nodeBuilder struct {
	thread           *starlark.Thread
	env              *value.Env
	g                *ir.Graph
	op, domain, name string
	check            bool
	inputs, outputs  []starlark.Value
	attrs            []starlark.Tuple

	schema *schema.Schema
	n      *ir.Node
	made   []*ir.Tensor // constants made of literals
	before *ir.Node     // where the node goes; nil appends
}

func (b *nodeBuilder) build() (*ir.Node, error) {
	if err := b.findSchema(); err != nil {
		return nil, err
	}
	b.n = ir.NewNode(b.op, nil, nil)
	b.n.SetDomain(b.domain)
	ins, err := b.inputTensors()
	if err != nil {
		return nil, err
	}
	for _, item := range b.attrs {
		if err := b.setAttr(item[0], item[1]); err != nil {
			return nil, err
		}
	}
	if b.n.Holds(b.g) {
		return nil, b.abandon(fmt.Errorf("attrs: got a body of which the node would be a part: a graph can't hold itself"))
	}
	b.n.SetInputs(ins...)
	if err := b.checkCall(); err != nil {
		return nil, b.abandon(err)
	}
	if err := b.setOutputs(); err != nil {
		return nil, b.abandon(err)
	}
	return b.n, b.place()
}

// abandon cuts the edges of a node that is not to be.
func (b *nodeBuilder) abandon(err error) error {
	b.n.Discard()
	return err
}

func (b *nodeBuilder) place() error {
	if b.name == "" {
		b.name = b.g.FreshNodeName(b.op)
	}
	b.n.SetName(b.name)
	b.g.InsertBefore(b.before, b.n)
	imports := b.g.Imports()
	b.importDomain()
	if b.env.InferNode == nil {
		return nil
	}
	if err := b.env.InferNode(b.n); err != nil && b.check {
		b.n.Discard()
		b.g.SetImports(imports)
		for _, t := range b.made {
			b.g.RemoveInitializer(t)
		}
		return err
	}
	return nil
}

// importDomain imports the operator's domain where the model does not yet: a
// file that uses a domain has to. A domain without schemas gets version 1.
func (b *nodeBuilder) importDomain() {
	if !ir.IsStandard(b.domain) && b.g.Opset(b.domain) == 0 {
		b.g.SetImports(append(slices.Clone(b.g.Imports()), ir.Import{Domain: b.domain, Version: int64(b.opset())}))
	}
}

// opset is the version of the operator's domain that is imported, or that will be.
func (b *nodeBuilder) opset() int {
	if v := b.g.Opset(b.domain); v != 0 || ir.IsStandard(b.domain) {
		return v
	}
	return max(1, schema.MaxOpset(b.domain))
}

// findSchema looks the operator up. One that nobody knows of a domain that is
// known is built all the same, since plug-ins live there, with a warning.
func (b *nodeBuilder) findSchema() error {
	if b.op == "" {
		return fmt.Errorf("op: got an empty string, want the name of an operator")
	}
	opset := b.opset()
	s, ok := schema.Lookup(b.domain, b.op, opset)
	if ok {
		b.schema = s
		return nil
	}
	if schema.MaxOpset(b.domain) == 0 || !b.check || b.isFunction() {
		return nil
	}
	if vs := schema.Versions(b.domain, b.op); len(vs) > 0 {
		return fmt.Errorf("operator %q: the graph has opset %d, want at least %d", b.op, opset, sinceFirst(vs))
	}
	near := schema.Nearest(b.domain, b.op)
	if near != "" {
		near = fmt.Sprintf(" (did you mean %q?)", near)
	}
	whose := "the standard's"
	if !ir.IsStandard(b.domain) {
		whose = "domain " + strconv.Quote(b.domain)
	}
	b.env.Warn(b.thread, "operator %q is not one of %s up to opset %d%s; the node is built unchecked", b.op, whose, schema.MaxOpset(b.domain), near)
	return nil
}

// sinceFirst returns the first opset in which the standard has the operator.
func sinceFirst(vs []*schema.Schema) int {
	for _, s := range vs { // oldest first
		if !s.Own {
			return s.Since
		}
	}
	return vs[0].Since
}

func (b *nodeBuilder) isFunction() bool {
	m := b.g.Model()
	return m != nil && m.Function(b.domain, b.op, "") != nil
}

func slot(i int) string { return "inputs[" + strconv.Itoa(i) + "]" }

func (b *nodeBuilder) inputTensors() ([]*ir.Tensor, error) {
	ins := make([]*ir.Tensor, len(b.inputs))
	var literals []int
	for i, v := range b.inputs {
		what := slot(i)
		switch v.(type) {
		case starlark.NoneType:
		case value.Tensor, starlark.String:
			t, err := b.env.AsTensor(b.g, v, what)
			if err != nil {
				return nil, err
			}
			ins[i] = t
		case value.Node:
			return nil, fmt.Errorf("%s: got a node, want a tensor (one of its outputs)", what)
		default:
			literals = append(literals, i)
		}
	}
	// literals come last: they take the dtype of the tensors beside them
	for _, i := range literals {
		a, err := literalArray(b.inputs[i], b.literalType(ins, i), slot(i))
		if err != nil {
			return nil, err
		}
		ins[i] = ir.NewConstant(b.g.FreshName("const"), a)
		b.made = append(b.made, ins[i])
	}
	return ins, nil
}

// literalType returns the dtype that the operator needs of the literal at input
// i: that of a tensor which the schema ties to it, else the first that suits the
// literal among those allowed. An array keeps its own.
func (b *nodeBuilder) literalType(ins []*ir.Tensor, i int) array.DType {
	if _, isArray := b.inputs[i].(*value.Array); isArray {
		return array.Undefined
	}
	natural := naturalType(b.inputs[i])
	if b.schema == nil {
		if natural == array.Float64 {
			return array.Float32
		}
		return natural
	}
	if dt := tiedType(b.schema, i, func(k int) array.DType {
		if k < len(ins) && ins[k] != nil {
			return ins[k].DType()
		}
		return array.Undefined
	}); dt != array.Undefined && suits(natural, dt) {
		return dt
	}
	allowed := inputTypes(b.schema, i)
	for _, dt := range preferred[natural] {
		for _, a := range allowed {
			if a == dt {
				return dt
			}
		}
	}
	return natural
}

// preferred lists, for what a literal is made of, the dtypes that it may take,
// best first. Floats are float32 in ONNX unless something says otherwise.
var preferred = map[array.DType][]array.DType{
	array.Bool:    {array.Bool},
	array.Int64:   {array.Int64, array.Int32, array.Float32, array.Float64},
	array.Float64: {array.Float32, array.Float64, array.Float16, array.BFloat16},
	array.String:  {array.String},
}

// suits reports whether a literal of that nature may become a dt without loss
// of meaning: a float no integer, a number no bool.
func suits(natural, dt array.DType) bool {
	switch natural {
	case array.Bool:
		return dt == array.Bool
	case array.Int64:
		return dt.IsInt() || dt.IsFloat() || dt.IsComplex()
	case array.Float64:
		return dt.IsFloat() || dt.IsComplex()
	}
	return natural == dt
}

// naturalType returns what a literal is made of: Bool, Int64, Float64, String.
func naturalType(v starlark.Value) array.DType {
	a, err := value.AsArray(v, array.Undefined, "")
	if err != nil {
		return array.Undefined // the conversion proper tells the error
	}
	return a.DType()
}

func (b *nodeBuilder) setAttr(key, v starlark.Value) error {
	name, err := value.AsText(key, "attrs")
	if err != nil {
		return err
	}
	if v == starlark.None {
		return nil // as if it were not given
	}
	if b.schema != nil && b.check && b.schema.Attr(name) == nil {
		return fmt.Errorf("attribute %q: %s has no such attribute%s", name, b.op, hint(name, b.schema.AttrNames()))
	}
	n := b.n
	if b.schema == nil {
		n = nil
	}
	a, err := b.env.StoreAttr(n, name, v)
	if err != nil {
		return fmt.Errorf("%s: %w", b.op, err)
	}
	b.n.SetAttr(a)
	return nil
}

func (b *nodeBuilder) setOutputs() error {
	outs := make([]*ir.Tensor, len(b.outputs))
	for i, v := range b.outputs {
		switch v := v.(type) {
		case starlark.NoneType:
		case starlark.String:
			outs[i] = ir.NewTensor(b.g.FreshName(string(v)), nil)
		case value.Tensor:
			t := v.IR()
			if g := t.Graph(); g != nil && g != b.g {
				return fmt.Errorf("outputs[%d]: tensor %q belongs to %s", i, t.Name(), g.Path())
			}
			outs[i] = t
		default:
			return fmt.Errorf("outputs[%d]: got %s, want a string, a tensor or None", i, v.Type())
		}
	}
	b.n.SetOutputs(outs...)
	return nil
}

// attrKind tells the kind that the schema of the node's operator gives an attribute.
func attrKind(n *ir.Node, name string) ir.AttrKind {
	opset := 0
	if g := n.Graph(); g != nil {
		opset = g.Opset(n.Domain())
	}
	s := lookup(n, opset)
	if s == nil {
		return ir.AttrUndefined
	}
	if a := s.Attr(name); a != nil {
		return ir.AttrKind(a.Kind)
	}
	return ir.AttrUndefined
}

// lookup returns the schema of a node; for one of no graph, the newest.
func lookup(n *ir.Node, opset int) *schema.Schema {
	if opset == 0 {
		opset = schema.MaxOpset(n.Domain())
	}
	s, _ := schema.Lookup(n.Domain(), n.Op(), opset)
	return s
}
