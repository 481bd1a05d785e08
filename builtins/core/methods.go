package core

import (
	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

func recvNode(c *builtin.Call) *ir.Node     { return c.Recv.(value.Node).IR() }
func recvTensor(c *builtin.Call) *ir.Tensor { return c.Recv.(value.Tensor).IR() }
func recvGraph(c *builtin.Call) *ir.Graph   { return c.Recv.(value.Graph).IR() }

// mutable asks whether the receiver may be changed.
func mutable(c *builtin.Call, verb string) error {
	return c.Recv.(interface{ CheckMutable(string) error }).CheckMutable(verb)
}

const pairSetup = "x = variable(\"x\", \"float32\", [2])\ng = graph(inputs = [x])\ny = g.op.Relu(x)\nz = g.op.Neg(y)\n"

var nodeMethods = []*builtin.Func{
	{
		Name: "node.i",
		Doc:  "returns the node that makes input k, or None.",
		Params: []builtin.Param{
			builtin.Opt("k", 0, "int", "which input"),
			builtin.Opt("producer", 0, "int", "which producer: a tensor has at most one"),
		},
		Returns: "node",
		Example: pairSetup + "assert.eq(z.producer.i(), y.producer)",
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			k, p := c.Int("k"), c.Int("producer")
			t, err := inputAt(c, k)
			if err != nil || t == nil || p != 0 {
				return starlark.None, err
			}
			n, _ := t.Producer()
			return c.Env().Node(n), nil
		},
	},
	{
		Name: "node.o",
		Doc:  "returns a node that reads output k.",
		Params: []builtin.Param{
			builtin.Opt("consumer", 0, "int", "which consumer"),
			builtin.Opt("k", 0, "int", "which output"),
		},
		Returns: "node",
		Example: pairSetup + "assert.eq(y.producer.o(), z.producer)",
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			i, k := c.Int("consumer"), c.Int("k")
			if err := c.Err(); err != nil {
				return nil, err
			}
			t := recvNode(c).Output(k)
			if t == nil {
				return nil, c.ArgErrorf("k", "%s has no output %d", recvNode(c).Label(), k)
			}
			return consumerAt(c, t, i)
		},
	},
	{
		Name:    "node.copy",
		Doc:     "returns a copy of the node, of no graph: it reads the same tensors and makes new ones of the same names; bodies are copied, weights shared until one side writes.",
		Returns: "node",
		Example: pairSetup + "c = z.producer.copy()\nassert.true(c != z.producer and c.inputs[0] == y and c.graph == None)",
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			return c.Env().Node(ir.NewCopier().Node(recvNode(c))), nil
		},
	},
	{
		Name:    "node.subgraphs",
		Doc:     "returns the bodies that the attributes hold.",
		Params:  []builtin.Param{builtin.Opt("recursive", false, "bool", "those inside them too")},
		Returns: "list of graph",
		Example: pairSetup + "assert.eq(z.producer.subgraphs(), [])",
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			return subgraphs(c, recvNode(c).Bodies(), c.Bool("recursive")), c.Err()
		},
	},
	{
		Name:    "node.inputs_by_name",
		Doc:     "returns the inputs as a dict from the schema's names; a variadic input is a list.",
		Returns: "dict",
		Example: pairSetup + "assert.eq(z.producer.inputs_by_name()[\"X\"], y)",
		Fn:      inputsByName,
	},
	{
		Name:    "node.bypass",
		Doc:     "removes the node and gives its first input to all uses of its first output. A graph output keeps its name.",
		Example: pairSetup + "g.outputs = [z]\ny.producer.bypass()\nassert.eq(z.producer.inputs[0], x)",
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			if err := mutable(c, "bypass"); err != nil {
				return nil, err
			}
			return starlark.None, bypass(recvNode(c))
		},
	},
	{
		Name:    "node.remove",
		Doc:     "takes the node out of its graph and cuts its edges. It refuses while an output is used, captured or a graph output, and names the users, unless force is True.",
		Params:  []builtin.Param{builtin.Opt("force", false, "bool", "remove it all the same: used outputs become tensors without a producer")},
		Example: pairSetup + "z.producer.remove()\nassert.eq(len(g.nodes), 1)",
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			force := c.Bool("force")
			if err := mutable(c, "remove"); err != nil || c.Err() != nil {
				return nil, err
			}
			if force {
				recvNode(c).Discard()
				return starlark.None, nil
			}
			return starlark.None, recvNode(c).Remove()
		},
	},
}

func inputAt(c *builtin.Call, k int) (*ir.Tensor, error) {
	if err := c.Err(); err != nil {
		return nil, err
	}
	n := recvNode(c)
	if k < 0 {
		k += n.NumInputs()
	}
	if k < 0 || k >= n.NumInputs() {
		return nil, c.ArgErrorf("k", "got %d, want less than %d, the number of inputs of %s", k, n.NumInputs(), n.Label())
	}
	return n.Input(k), nil
}

func consumerAt(c *builtin.Call, t *ir.Tensor, i int) (starlark.Value, error) {
	k := 0
	for u := range t.Uses() {
		if u.Node() == nil {
			continue
		}
		if k == i {
			return c.Env().Node(u.Node()), nil
		}
		k++
	}
	return nil, c.ArgErrorf("consumer", "got %d, want less than %d, the number of uses of tensor %q", i, k, t.Name())
}

func subgraphs(c *builtin.Call, bodies []*ir.Graph, recursive bool) starlark.Value {
	vs := []starlark.Value{}
	for _, b := range bodies {
		if !recursive {
			vs = append(vs, c.Env().Graph(b))
			continue
		}
		for h := range b.All() {
			vs = append(vs, c.Env().Graph(h))
		}
	}
	return starlark.NewList(vs)
}

func inputsByName(c *builtin.Call) (starlark.Value, error) {
	n := recvNode(c)
	opset := 0
	if g := n.Graph(); g != nil {
		opset = g.Opset(n.Domain())
	}
	s := lookup(n, opset)
	if s == nil {
		return nil, c.Errorf("%s: no schema describes the operator", n.Label())
	}
	d := starlark.NewDict(n.NumInputs())
	for i := range n.NumInputs() {
		p := s.Inputs[min(i, len(s.Inputs)-1)]
		v := c.Env().Tensor(n.Input(i))
		if isVariadic(p) {
			old, _, err := d.Get(starlark.String(p.Name))
			if err != nil {
				return nil, err
			}
			list, ok := old.(*starlark.List)
			if !ok {
				list = starlark.NewList(nil)
			}
			if err := list.Append(v); err != nil {
				return nil, err
			}
			v = list
		}
		if err := d.SetKey(starlark.String(p.Name), v); err != nil {
			return nil, err
		}
	}
	return d, nil
}

var tensorMethods = []*builtin.Func{
	{
		Name: "tensor.i",
		Doc:  "returns the tensor that the producer reads as input tensor_idx, as GraphSurgeon's i.",
		Params: []builtin.Param{
			builtin.Opt("tensor_idx", 0, "int", "which input of the producer"),
			builtin.Opt("producer_idx", 0, "int", "which producer: a tensor has at most one"),
		},
		Returns: "tensor",
		Example: pairSetup + "assert.eq(z.i(), y)",
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			k, p := c.Int("tensor_idx"), c.Int("producer_idx")
			if err := c.Err(); err != nil {
				return nil, err
			}
			n, _ := recvTensor(c).Producer()
			if n == nil || p != 0 {
				return starlark.None, nil
			}
			return c.Env().Tensor(n.Input(k)), nil
		},
	},
	{
		Name: "tensor.o",
		Doc:  "returns the tensor that a consumer makes, as GraphSurgeon's o.",
		Params: []builtin.Param{
			builtin.Opt("consumer_idx", 0, "int", "which consumer"),
			builtin.Opt("tensor_idx", 0, "int", "which output of the consumer"),
		},
		Returns: "tensor",
		Example: pairSetup + "assert.eq(y.o(), z)",
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			i, k := c.Int("consumer_idx"), c.Int("tensor_idx")
			if err := c.Err(); err != nil {
				return nil, err
			}
			uses := recvTensor(c).UseList()
			for _, u := range uses {
				if u.Node() == nil {
					continue
				}
				if i == 0 {
					return c.Env().Tensor(u.Node().Output(k)), nil
				}
				i--
			}
			return starlark.None, nil
		},
	},
	{
		Name:    "tensor.copy",
		Doc:     "returns a tensor of the same name, type and values, of no graph and without edges.",
		Returns: "tensor",
		Example: pairSetup + "c = x.copy()\nassert.true(c != x and c.name == \"x\" and c.shape == [2])",
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			return c.Env().Tensor(ir.NewCopier().Tensor(recvTensor(c))), nil
		},
	},
	{
		Name:    "tensor.is_empty",
		Doc:     "reports whether the tensor has no name, as GraphSurgeon's placeholder for an omitted input.",
		Returns: "bool",
		Example: "assert.true(variable(\"\").is_empty())",
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			return starlark.Bool(recvTensor(c).Name() == ""), nil
		},
	},
	{
		Name:    "tensor.to_constant",
		Doc:     "makes the tensor itself a constant of these values and returns it; its name and edges stay. A producer is cut off.",
		Params:  []builtin.Param{builtin.Req("values", "array", "the values")},
		Returns: "tensor",
		Example: pairSetup + "y.to_constant([1.0, 2.0])\nassert.eq((y.kind, y.producer), (\"constant\", None))",
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			t := recvTensor(c)
			if err := mutable(c, "convert"); err != nil {
				return nil, err
			}
			dt := array.Undefined
			if _, isArray := c.Value("values").(*value.Array); !isArray {
				dt = t.DType()
			}
			a, err := literalArray(c.Value("values"), dt, "tensor.to_constant: values")
			if err != nil {
				return nil, err
			}
			if p, i := t.Producer(); p != nil {
				p.SetOutput(i, nil)
			}
			t.SetArray(a)
			return c.Recv, nil
		},
	},
	{
		Name: "tensor.to_variable",
		Doc:  "makes the tensor itself a variable and returns it; its name and edges stay. What is None is kept.",
		Params: []builtin.Param{
			builtin.Opt("dtype", nil, "dtype", "the element type"),
			builtin.Opt("shape", nil, "list", "the shape"),
		},
		Returns: "tensor",
		Example: "w = constant(\"w\", [1, 2])\nassert.eq((w.to_variable().kind, w.shape), (\"variable\", [2]))",
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			t := recvTensor(c)
			dt, shape := builtin.Arg(c, "dtype", value.AsDType), builtin.Arg(c, "shape", value.AsShape)
			if err := mutable(c, "convert"); err != nil || c.Err() != nil {
				return nil, err
			}
			if dt == array.Undefined {
				dt = t.DType()
			}
			if shape == nil {
				shape = t.Shape()
			}
			t.SetLiteral(nil)
			t.SetType(ir.TensorType(dt, shape))
			return c.Recv, nil
		},
	},
}
