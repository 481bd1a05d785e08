package ir

import "slices"

// ExtraCopier is what an Extra implements when it refers to tensors: the copy
// of the object that it hangs on gets what CopyExtra returns.
type ExtraCopier interface {
	CopyExtra(tensor func(*Tensor) *Tensor) any
}

// Copier copies parts of a model. Weights are shared until one side writes.
// Tensors that were not copied, such as captures from around a copied body,
// stand for themselves.
type Copier struct {
	tensors map[*Tensor]*Tensor
}

// NewCopier returns a Copier that has copied nothing yet.
func NewCopier() *Copier { return &Copier{tensors: map[*Tensor]*Tensor{}} }

// Map makes to stand for from in what is copied later.
func (c *Copier) Map(from, to *Tensor) { c.tensors[from] = to }

// Lookup returns what stands for t in the copy: t itself when it was not copied.
func (c *Copier) Lookup(t *Tensor) *Tensor {
	if u, ok := c.tensors[t]; ok {
		return u
	}
	return t
}

func (c *Copier) extra(x any) any {
	if e, ok := x.(ExtraCopier); ok {
		return e.CopyExtra(c.Lookup)
	}
	return x
}

// Tensor copies t, without its edges, into no graph; a second call gives the
// same copy.
func (c *Copier) Tensor(t *Tensor) *Tensor {
	if t == nil {
		return nil
	}
	if u, ok := c.tensors[t]; ok {
		return u
	}
	u := &Tensor{name: t.name, typ: t.typ, doc: t.doc, meta: slices.Clone(t.meta), Extra: t.Extra}
	if t.literal != nil {
		u.literal = t.literal.Share()
	}
	c.tensors[t] = u
	return u
}

// Node copies n with its attributes and bodies into no graph. Its outputs are
// copied; its inputs are what stands for them.
func (c *Copier) Node(n *Node) *Node {
	m := &Node{op: n.op, domain: n.domain, overload: n.overload, name: n.name, doc: n.doc, meta: slices.Clone(n.meta)}
	ins := make([]*Tensor, len(n.inputs))
	for i, u := range n.inputs {
		if u.tensor != nil {
			ins[i] = c.Lookup(u.tensor)
		}
	}
	m.SetInputs(ins...)
	outs := make([]*Tensor, len(n.outputs))
	for i, t := range n.outputs {
		outs[i] = c.Tensor(t)
	}
	m.SetOutputs(outs...)
	attrs := make([]*Attr, len(n.attrs))
	for i, a := range n.attrs {
		attrs[i] = c.Attr(a)
	}
	m.SetAttrs(attrs)
	m.Extra = c.extra(n.Extra)
	return m
}

// Attr copies a: bodies are copied, tensor values shared until written.
func (c *Copier) Attr(a *Attr) *Attr {
	b := *a
	switch v := a.Value.(type) {
	case *Graph:
		b.Value = c.Graph(v)
	case []*Graph:
		gs := make([]*Graph, len(v))
		for i, g := range v {
			gs[i] = c.Graph(g)
		}
		b.Value = gs
	case *Literal:
		b.Value = v.Share()
	case []*Literal:
		ls := make([]*Literal, len(v))
		for i, l := range v {
			ls[i] = l.Share()
		}
		b.Value = ls
	}
	return &b
}

// Graph copies g and what is nested in it into a graph of no model.
func (c *Copier) Graph(g *Graph) *Graph {
	h := &Graph{}
	c.fill(h, g)
	return h
}

// fill copies the content of g into the empty graph h.
func (c *Copier) fill(h, g *Graph) {
	h.name, h.doc, h.meta = g.name, g.doc, slices.Clone(g.meta)
	for _, t := range g.Tensors() {
		c.Tensor(t).graph = h
	}
	for _, t := range g.Initializers() {
		h.declare(c.Lookup(t))
	}
	h.SetInputs(c.all(g.inputs)...)
	for _, n := range g.Nodes() {
		h.AddNode(c.Node(n))
	}
	h.SetOutputs(c.all(g.Outputs())...)
	h.Extra = c.extra(g.Extra)
}

func (c *Copier) all(ts []*Tensor) []*Tensor {
	out := make([]*Tensor, len(ts))
	for i, t := range ts {
		if t != nil {
			out[i] = c.Lookup(t)
		}
	}
	return out
}

// Copy returns a model that shares only weights with m, and those until one
// side writes them.
func (m *Model) Copy() *Model {
	return m.CopyGraph(m.graph, NewCopier())
}

// CopyGraph returns a new model whose graph is a copy of g, a body or the main
// graph, with the opsets and functions of g's model. Tensors that g captures
// stand for themselves, so a caller makes them inputs.
func (m *Model) CopyGraph(g *Graph, c *Copier) *Model {
	d := m.copyHead()
	c.fill(d.graph, g)
	fns := make([]*Function, len(m.functions))
	for i, f := range m.functions {
		fns[i] = f.Copy()
	}
	d.SetFunctions(fns)
	return d
}

// copyHead copies everything but graph and functions.
func (m *Model) copyHead() *Model {
	d := *m
	d.journal, d.frozen, d.functions = nil, false, nil
	d.imports, d.meta = slices.Clone(m.imports), slices.Clone(m.meta)
	d.graph = &Graph{name: m.graph.name, model: &d}
	return &d
}

// Copy returns a function of no model that shares only weights with f.
func (f *Function) Copy() *Function {
	d := *f
	d.imports, d.meta = slices.Clone(f.imports), slices.Clone(f.meta)
	d.required, d.defaults = slices.Clone(f.required), slices.Clone(f.defaults)
	d.body = &Graph{fn: &d}
	NewCopier().fill(d.body, f.body)
	return &d
}
