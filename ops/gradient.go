package ops

import (
	"fmt"
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops/schema"
)

// tape differentiates the part of a graph between some tensors, by reverse
// accumulation: the nodes are evaluated in order, then each, from the last to
// the first, gives its inputs the gradients that its rule says.
type tape struct {
	c      *Call
	values map[*ir.Tensor]*array.Array
	grads  map[*ir.Tensor]*array.Array
	depend map[*ir.Tensor]bool // on the tensors that are differentiated by
	order  []*ir.Node
	err    error // the first of apply's
}

func gradient(c *Call) error {
	xs, zs := c.Strs("xs"), c.Strs("zs")
	if len(c.In) < len(xs)+len(zs) {
		return c.Errorf("got %d inputs, want %d: one for each of xs and zs", len(c.In), len(xs)+len(zs))
	}
	t := &tape{c: c, values: map[*ir.Tensor]*array.Array{}, grads: map[*ir.Tensor]*array.Array{}, depend: map[*ir.Tensor]bool{}}
	named := map[string]*ir.Tensor{}
	if g := c.Node.Graph(); g != nil {
		for _, u := range g.Tensors() {
			named[u.Name()] = u
		}
	}
	var by []*ir.Tensor
	for i, name := range slices.Concat(xs, zs) {
		v, err := c.Need(i)
		if err != nil {
			return err
		}
		u := named[name]
		if u == nil {
			return c.Errorf("xs, zs: got %q, which is no tensor of the graph", name)
		}
		t.values[u] = v
		if i < len(xs) {
			t.depend[u] = true
			by = append(by, u)
		}
	}
	y := named[c.Str("y")]
	if y == nil {
		return c.Errorf("y: got %q, which is no tensor of the graph", c.Str("y"))
	}
	if err := t.backward(y); err != nil {
		return err
	}
	for i, u := range by {
		if !c.Wants(i) {
			continue
		}
		if t.grads[u] == nil {
			return c.Errorf("y: %q does not depend on %q", y.Name(), u.Name())
		}
		c.Out[i] = t.grads[u]
	}
	return nil
}

func (t *tape) backward(y *ir.Tensor) error {
	v, err := t.forward(y, 0)
	if err != nil {
		return err
	}
	one, err := array.Scalar(float64(1)).Cast(v.DType())
	if err != nil {
		return err
	}
	seed, err := one.BroadcastTo(v.Shape())
	if err != nil {
		return err
	}
	t.grads[y] = seed.Copy()
	for _, n := range slices.Backward(t.order) {
		g := t.grads[n.Output(0)]
		if g == nil || !t.depend[n.Output(0)] {
			continue
		}
		if err := t.node(n, g); err != nil {
			return err
		}
	}
	return nil
}

const maxTape = 10_000 // nodes one behind another

// forward returns the value of a tensor, evaluating what makes it.
func (t *tape) forward(u *ir.Tensor, depth int) (*array.Array, error) {
	if v := t.values[u]; v != nil {
		return v, nil
	}
	n, out := u.Producer()
	switch {
	case n == nil && u.Array() != nil:
		return u.Array(), u.Array().Load()
	case n == nil:
		return nil, t.c.Errorf("y: it depends on %q, which is neither a constant nor in xs or zs", u.Name())
	case n == t.c.Node || depth > maxTape:
		return nil, t.c.Errorf("y: it depends on the gradient itself, or on more than %d nodes one behind another", maxTape)
	}
	ins := make([]array.Value, n.NumInputs())
	for i := range ins {
		in := n.Input(i)
		if in == nil {
			continue
		}
		v, err := t.forward(in, depth+1)
		if err != nil {
			return nil, err
		}
		ins[i] = v
		t.depend[n.Output(0)] = t.depend[n.Output(0)] || t.depend[in]
	}
	outs, err := t.eval(n, n.Graph().Opset(n.Domain()), ins)
	if err != nil {
		return nil, err
	}
	for i, v := range outs {
		if a, ok := v.(*array.Array); ok && n.Output(i) != nil {
			t.values[n.Output(i)] = a
		}
	}
	t.order = append(t.order, n)
	if t.values[u] == nil {
		return nil, t.c.Errorf("y: output %d of %s is no tensor", out, n.Label())
	}
	return t.values[u], nil
}

// eval calls the kernel of a node.
func (t *tape) eval(n *ir.Node, opset int, ins []array.Value) ([]array.Value, error) {
	op := lookup(n.Domain(), n.Op(), opset)
	if op == nil || op.Eval == nil {
		return nil, t.c.Errorf("%s: this backend can't evaluate it", n.Label())
	}
	s, _ := schema.Lookup(n.Domain(), n.Op(), opset)
	c := &Call{Site: Site{Node: n, Opset: opset, Schema: s}, In: ins, Out: make([]array.Value, max(1, n.NumOutputs())), Run: t.c.Run, Budget: t.c.Budget, Seed: t.c.Seed}
	return c.Out, op.Eval(c)
}

// lookup is Lookup; a table can't name what looks it up.
var lookup func(domain, name string, opset int) *Op

func init() { lookup = Lookup }

// node gives the inputs of a node their part of the gradient g of its output.
func (t *tape) node(n *ir.Node, g *array.Array) error {
	rule := gradientRules[n.Op()]
	if rule == nil || !ir.IsStandard(n.Domain()) {
		return t.c.Errorf("%s: there is no rule for the gradient of %s", n.Label(), n.Op())
	}
	s := &step{tape: t, n: n, g: g, out: t.values[n.Output(0)]}
	for i := range n.NumInputs() {
		var v *array.Array
		if u := n.Input(i); u != nil {
			v, _ = t.forward(u, 0) // it was evaluated before
		}
		s.in = append(s.in, v)
	}
	grads := rule(s)
	if t.err != nil {
		return t.err
	}
	for i, u := range n.Inputs() {
		if u == nil || !t.depend[u] {
			continue
		}
		if i >= len(grads) || grads[i] == nil {
			return t.c.Errorf("%s: there is no rule for the gradient by input %d of %s", n.Label(), i, n.Op())
		}
		if t.grads[u] == nil {
			t.grads[u] = grads[i]
		} else {
			t.grads[u] = t.apply("Add", nil, t.grads[u], grads[i])
		}
	}
	return t.err
}

// rulesOpset is the opset in which rules are written.
const rulesOpset = 21

// apply evaluates an operator; after a failure it returns nil, and the tape has
// the error.
func (t *tape) apply(op string, attrs []*ir.Attr, ins ...*array.Array) *array.Array {
	if t.err != nil {
		return nil
	}
	values := make([]array.Value, len(ins))
	for i, a := range ins {
		if a != nil {
			values[i] = a
		}
	}
	n := ir.NewNode(op, make([]*ir.Tensor, len(ins)), []*ir.Tensor{ir.NewTensor("gradient", nil)}, attrs...)
	outs, err := t.eval(n, rulesOpset, values)
	if err != nil {
		t.err = fmt.Errorf("gradient of %s: %w", t.c.Node.Label(), err)
		return nil
	}
	a, _ := outs[0].(*array.Array)
	return a
}

// inferGradient gives each gradient the type of what it is taken by.
func inferGradient(c *Infer) error {
	for i := range c.Out {
		f := c.Fact(i)
		c.Set(i, TensorFact(f.DType, f.Dims))
	}
	return nil
}

var gradientOps = []Op{
	{Domain: trainingDomain, Name: "Gradient", Since: 1, Infer: inferGradient, Eval: gradient},
}
