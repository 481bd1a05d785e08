package value

import (
	"fmt"
	"unsafe"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/ir"
)

// Graph is a graph as a script holds it: a model's (and the model with it), a
// body, or a local function, whose Starlark type is "function".
type Graph struct {
	g   *ir.Graph
	env *Env
}

var _ starlark.HasSetField = Graph{}

// Graph returns the script's value for g; None for nil.
func (e *Env) Graph(g *ir.Graph) starlark.Value {
	if g == nil {
		return starlark.None
	}
	return Graph{g, e}
}

// IR returns the graph of the model.
func (g Graph) IR() *ir.Graph { return g.g }

// Env returns the host's environment.
func (g Graph) Env() *Env { return g.env }

// String returns the one-line form.
func (g Graph) String() string {
	return fmt.Sprintf("<%s %q opset %d, %d nodes, (%s) -> (%s)>", g.Type(), g.g.Name(), g.g.Opset(""), g.g.NumNodes(),
		tensorNames(g.g.Inputs()), tensorNames(g.g.Outputs()))
}

// Table returns what print shows of the graph alone.
func (g Graph) Table() string { return g.env.Table(g) }

// Type returns "graph", or "function" for a model-local function.
func (g Graph) Type() string {
	if g.g.Owner() == nil && g.g.Function() != nil {
		return "function"
	}
	return "graph"
}

// Freeze freezes the model.
func (g Graph) Freeze() {
	if m := g.g.Model(); m != nil {
		m.Freeze()
		return
	}
	g.env.freezeLoose(g.g)
}

// Truth is true.
func (g Graph) Truth() starlark.Bool { return true }

// Hash goes by identity.
func (g Graph) Hash() (uint32, error) { return hashPointer(unsafe.Pointer(g.g)), nil }

func (g Graph) mutable(verb string) error {
	return g.env.checkMutable(g.g, g.g, verb)
}

// CheckMutable returns the error that forbids the edit verb when the model is frozen.
func (g Graph) CheckMutable(verb string) error { return g.mutable(verb) }

// Attr returns a field, a method, the builder registered under the name, or
// the caller of the local function of that name.
func (g Graph) Attr(name string) (starlark.Value, error) {
	if g.Type() == "function" {
		if f := functionFields.byName[name]; f != nil {
			return f.get(g)
		}
	}
	v, err := graphFields.attr(g.env, g, g, "graph", name)
	if v != nil || err != nil {
		return v, err
	}
	return g.builder(name)
}

func (g Graph) builder(name string) (starlark.Value, error) {
	b, err := g.env.Builders.Lookup(name, g.g.Opset(""))
	if err != nil {
		return nil, err
	}
	if b != nil {
		return Bound{b, g}, nil
	}
	if f := g.localFunction(name); f != nil {
		if m := g.env.Methods["function_call"]; m != nil {
			return m.Bind(starlark.Tuple{g, g.env.Graph(f.Body())}, "call")
		}
	}
	if opsets := g.env.Builders.OpsetsOf(name); len(opsets) > 0 {
		return nil, fmt.Errorf("graph.%s: the builder is registered for opsets %v, the graph has opset %d", name, opsets, g.g.Opset(""))
	}
	return nil, nil
}

func (g Graph) localFunction(name string) *ir.Function {
	m := g.g.Model()
	if m == nil {
		return nil
	}
	for _, f := range m.Functions() {
		if f.Name() == name {
			return f
		}
	}
	return nil
}

// AttrNames lists fields, methods, builders and local functions.
func (g Graph) AttrNames() []string {
	names := g.env.Builders.Names(g.g.Opset(""))
	if m := g.g.Model(); m != nil {
		for _, f := range m.Functions() {
			names = append(names, f.Name())
		}
	}
	if g.Type() == "function" {
		names = append(names, functionFields.names()...)
	}
	return attrNames(g.env, "graph", graphFields.names(), names...)
}

// SetField assigns a field.
func (g Graph) SetField(name string, v starlark.Value) error {
	if err := g.mutable("assign " + name + " of"); err != nil {
		return err
	}
	if g.Type() == "function" && functionFields.byName[name] != nil {
		return functionFields.setField(g.env, g, "function", name, v)
	}
	return graphFields.setField(g.env, g, g.Type(), name, v)
}

// Bound is a registered builder bound to a graph: graph.NAME.
type Bound struct {
	b *Builder
	g Graph
}

var _ starlark.Callable = Bound{}

// Name returns the builder's name.
func (b Bound) Name() string { return b.b.Name }

// String returns the one-line form.
func (b Bound) String() string {
	return fmt.Sprintf("<builder %s of graph %q>", b.b.Name, b.g.g.Name())
}

// Type returns "builder".
func (b Bound) Type() string { return "builder" }

// Freeze does nothing.
func (b Bound) Freeze() {}

// Truth is true.
func (b Bound) Truth() starlark.Bool { return true }

// Hash goes by the graph.
func (b Bound) Hash() (uint32, error) { return b.g.Hash() }

// Builder returns what is registered.
func (b Bound) Builder() *Builder { return b.b }

// CallInternal calls the builder with the graph as its first argument.
func (b Bound) CallInternal(t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	return starlark.Call(t, b.b.Fn, append(starlark.Tuple{b.g}, args...), kwargs)
}

var graphFields, functionFields *fieldTable[Graph]

func init() {
	graphFields = newFieldTable([]field[Graph]{
		graphText("name", "the graph's name", (*ir.Graph).Name, (*ir.Graph).SetName),
		{"inputs", "the graph's inputs, a live list of tensors", func(g Graph) (starlark.Value, error) { return List{graphInputs{g}, g.env}, nil }, func(g Graph, v starlark.Value) error { return g.assignTensors(List{graphInputs{g}, g.env}, v) }},
		{"outputs", "the graph's outputs, a live list of tensors", func(g Graph) (starlark.Value, error) { return List{graphOutputs{g}, g.env}, nil }, func(g Graph, v starlark.Value) error { return g.assignTensors(List{graphOutputs{g}, g.env}, v) }},
		{"nodes", "the nodes, a live list", func(g Graph) (starlark.Value, error) { return List{graphNodes{g}, g.env}, nil }, setGraphNodes},
		{"functions", "the model-local functions, a live list", func(g Graph) (starlark.Value, error) { return List{functionList{g}, g.env}, nil }, func(g Graph, v starlark.Value) error {
			l := functionList{g}
			return List{l, g.env}.assign(v, func(x starlark.Value) error { _, err := l.function(x); return err })
		}},
		{"opset", "the version of the standard's operators", func(g Graph) (starlark.Value, error) { return starlark.MakeInt(g.g.Opset("")), nil }, setGraphOpset},
		{"imports", "the opset imports, a live dict from domain to version", readImports, setImports},
		{"import_domains", "GraphSurgeon's name of imports", readImports, setImports},
		modelInt("ir_version", "the version of the file format; 0 is the lowest that fits", (*ir.Model).IRVersion, (*ir.Model).SetIRVersion),
		modelInt("model_version", "the version of the graph encoded", (*ir.Model).ModelVersion, (*ir.Model).SetModelVersion),
		modelText("producer_name", "the tool that made the model", func(m *ir.Model) string { n, _ := m.Producer(); return n }, func(m *ir.Model, s string) { _, v := m.Producer(); m.SetProducer(s, v) }),
		modelText("producer_version", "that tool's version", func(m *ir.Model) string { _, v := m.Producer(); return v }, func(m *ir.Model, s string) { n, _ := m.Producer(); m.SetProducer(n, s) }),
		modelText("domain", "the model's namespace", (*ir.Model).Domain, (*ir.Model).SetDomain),
		{"doc", "the doc string: the model's for its main graph, else the graph's", graphDoc, setGraphDoc},
		{"doc_string", "GraphSurgeon's name of doc", graphDoc, setGraphDoc},
		{"metadata", "a live dict of metadata: the model's for its main graph, else the graph's", func(g Graph) (starlark.Value, error) { return g.env.dict(graphMeta{g}), nil }, func(g Graph, v starlark.Value) error { return g.env.dict(graphMeta{g}).assign(v) }},
	})
	functionFields = newFieldTable([]field[Graph]{
		{"name", "the operator's name that the function defines", func(g Graph) (starlark.Value, error) { return Text(g.g.Function().Name()), nil }, setFunctionID(0)},
		{"domain", "the operator's domain", func(g Graph) (starlark.Value, error) { return Text(g.g.Function().Domain()), nil }, setFunctionID(1)},
		{"overload", "the overload", func(g Graph) (starlark.Value, error) { return Text(g.g.Function().Overload()), nil }, setFunctionID(2)},
		{"attrs", "the attributes: a dict from name to default, None for a required one", functionAttrs, setFunctionAttrs},
	})
}

func (g Graph) main() *ir.Model {
	if m := g.g.Model(); m != nil && m.Graph() == g.g {
		return m
	}
	return nil
}

func graphText(name, doc string, get func(*ir.Graph) string, set func(*ir.Graph, string)) field[Graph] {
	return field[Graph]{name, doc, func(g Graph) (starlark.Value, error) { return Text(get(g.g)), nil }, func(g Graph, v starlark.Value) error {
		s, err := AsText(v, "graph."+name)
		if err == nil {
			set(g.g, s)
		}
		return err
	}}
}

func (g Graph) model(what string) (*ir.Model, error) {
	if m := g.g.Model(); m != nil {
		return m, nil
	}
	return nil, fmt.Errorf("graph.%s: %s is part of no model", what, g.g.Label())
}

func modelText(name, doc string, get func(*ir.Model) string, set func(*ir.Model, string)) field[Graph] {
	return field[Graph]{name, doc, func(g Graph) (starlark.Value, error) {
		m, err := g.model(name)
		if err != nil {
			return nil, err
		}
		return Text(get(m)), nil
	}, func(g Graph, v starlark.Value) error {
		m, err := g.model(name)
		if err != nil {
			return err
		}
		s, err := AsText(v, "graph."+name)
		if err == nil {
			set(m, s)
		}
		return err
	}}
}

func modelInt(name, doc string, get func(*ir.Model) int64, set func(*ir.Model, int64)) field[Graph] {
	return field[Graph]{name, doc, func(g Graph) (starlark.Value, error) {
		m, err := g.model(name)
		if err != nil {
			return nil, err
		}
		return starlark.MakeInt64(get(m)), nil
	}, func(g Graph, v starlark.Value) error {
		m, err := g.model(name)
		if err != nil {
			return err
		}
		n, err := AsInt(v, "graph."+name)
		if err == nil {
			set(m, n)
		}
		return err
	}}
}

func graphDoc(g Graph) (starlark.Value, error) {
	if m := g.main(); m != nil && m.Doc() != "" {
		return Text(m.Doc()), nil
	}
	if g.Type() == "function" {
		return Text(g.g.Function().Doc()), nil
	}
	return Text(g.g.Doc()), nil
}

func setGraphDoc(g Graph, v starlark.Value) error {
	s, err := AsText(v, "graph.doc")
	if err != nil {
		return err
	}
	switch m := g.main(); {
	case m != nil:
		m.SetDoc(s)
	case g.Type() == "function":
		g.g.Function().SetDoc(s)
	default:
		g.g.SetDoc(s)
	}
	return nil
}

func readImports(g Graph) (starlark.Value, error) { return g.env.dict(graphImports{g}), nil }

func setImports(g Graph, v starlark.Value) error { return g.env.dict(graphImports{g}).assign(v) }

func setGraphOpset(g Graph, v starlark.Value) error {
	n, err := AsInt(v, "graph.opset")
	if err != nil {
		return err
	}
	if n < 1 {
		return fmt.Errorf("graph.opset: got %d, want a version from 1 on", n)
	}
	return g.setImport("", int(n))
}

func (g Graph) setImport(domain string, v int) error {
	imports := append([]ir.Import(nil), g.g.Imports()...)
	found := false
	for i := range imports {
		if imports[i].Domain == domain || ir.IsStandard(imports[i].Domain) && ir.IsStandard(domain) {
			imports[i].Version, found = int64(v), true
		}
	}
	if !found {
		imports = append(imports, ir.Import{Domain: domain, Version: int64(v)})
	}
	return g.setImports(imports)
}

func (g Graph) setImports(imports []ir.Import) error {
	if f := g.g.Function(); f != nil {
		f.SetImports(imports)
		return nil
	}
	m, err := g.model("imports")
	if err == nil {
		m.SetImports(imports)
	}
	return err
}

func (g Graph) assignTensors(l List, v starlark.Value) error {
	return l.assign(v, func(x starlark.Value) error {
		if in, ok := l.src.(graphInputs); ok {
			_, err := in.tensor(x)
			return err
		}
		_, err := g.env.AsTensor(g.g, x, l.src.what())
		return err
	})
}

func setGraphNodes(g Graph, v starlark.Value) error {
	l := List{graphNodes{g}, g.env}
	items, err := Items(v, "graph.nodes")
	if err != nil {
		return err
	}
	seen := map[starlark.Value]bool{}
	return l.assign(starlark.Tuple(items), func(x starlark.Value) error {
		n, ok := x.(Node)
		if !ok {
			return fmt.Errorf("graph.nodes: got %s, want a node", x.Type())
		}
		if seen[n] {
			return fmt.Errorf("graph.nodes: %s is listed twice", n.n.Label())
		}
		seen[n] = true
		if h := n.n.Graph(); h != nil && h != g.g {
			return fmt.Errorf("graph.nodes: %s belongs to %s", n.n.Label(), h.Path())
		}
		return nil
	})
}

func setFunctionID(part int) func(Graph, starlark.Value) error {
	return func(g Graph, v starlark.Value) error {
		s, err := AsText(v, "function."+[]string{"name", "domain", "overload"}[part])
		if err != nil {
			return err
		}
		f := g.g.Function()
		id := [3]string{f.Name(), f.Domain(), f.Overload()}
		id[part] = s
		f.SetID(id[1], id[0], id[2])
		return nil
	}
}

func functionAttrs(g Graph) (starlark.Value, error) {
	required, defaults := g.g.Function().Attrs()
	d := starlark.NewDict(len(required) + len(defaults))
	for _, name := range required {
		if err := d.SetKey(Text(name), starlark.None); err != nil {
			return nil, err
		}
	}
	for _, a := range defaults {
		if err := d.SetKey(Text(a.Name), g.env.AttrValue(a)); err != nil {
			return nil, err
		}
	}
	d.Freeze()
	return d, nil
}

func setFunctionAttrs(g Graph, v starlark.Value) error {
	d, ok := v.(starlark.IterableMapping)
	if !ok {
		return fmt.Errorf("function.attrs: got %s, want a dict from name to default, None for a required one", v.Type())
	}
	var required []string
	var defaults []*ir.Attr
	for _, item := range d.Items() {
		name, err := AsText(item[0], "function.attrs")
		if err != nil {
			return err
		}
		if item[1] == starlark.None {
			required = append(required, name)
			continue
		}
		a, err := g.env.StoreAttr(nil, name, item[1])
		if err != nil {
			return err
		}
		defaults = append(defaults, a)
	}
	g.g.Function().SetAttrs(required, defaults)
	return nil
}

// Find returns the tensor of g or of a graph around it that bears the name, or
// nil: the nearest one, and in a graph the first in its order.
func Find(g *ir.Graph, name string) *ir.Tensor {
	for ; g != nil; g = g.Parent() {
		for _, t := range g.Tensors() {
			if t.Name() == name {
				return t
			}
		}
	}
	return nil
}

// FindNode returns the node of g of that name, or nil.
func FindNode(g *ir.Graph, name string) *ir.Node {
	for _, n := range g.Nodes() {
		if n.Name() == name {
			return n
		}
	}
	return nil
}

// AsTensor returns the tensor that v is or names in g.
func (e *Env) AsTensor(g *ir.Graph, v starlark.Value, what string) (*ir.Tensor, error) {
	switch v := v.(type) {
	case Tensor:
		return e.usable(g, v.t, what)
	case starlark.String:
		if g == nil {
			return nil, fmt.Errorf("%s: got the name %q, which says nothing outside a graph; give the tensor itself", what, string(v))
		}
		if t := Find(g, string(v)); t != nil {
			return t, nil
		}
		return nil, fmt.Errorf("%s: %s has no tensor named %q%s", what, g.Label(), string(v), e.hint(string(v), TensorNames(g)))
	}
	return nil, fmt.Errorf("%s: got %s, want a tensor or the name of one", what, v.Type())
}

// slot is AsTensor where None stands for an omitted value.
func (e *Env) slot(g *ir.Graph, v starlark.Value, what string) (*ir.Tensor, error) {
	if v == starlark.None {
		return nil, nil
	}
	return e.AsTensor(g, v, what)
}

// usable returns t, or for another graph's constant a copy of it, when t may
// be used in g. A graph that a script makes may yet become a body, so it may
// use tensors of other graphs until it is run or saved.
func (e *Env) usable(g *ir.Graph, t *ir.Tensor, what string) (*ir.Tensor, error) {
	h := t.Graph()
	if g == nil || h == nil || h == g || h.Encloses(g) || g.Encloses(h) {
		return t, nil
	}
	if t.IsConstant() {
		return ir.NewCopier().Tensor(t), nil
	}
	if m := g.Model(); m == nil || m.Draft {
		return t, nil
	}
	return nil, fmt.Errorf("%s: tensor %q belongs to %s, which does not enclose %s", what, t.Name(), h.Path(), g.Path())
}

// TensorNames returns the names of the tensors that are visible in g.
func TensorNames(g *ir.Graph) []string {
	var names []string
	for ; g != nil; g = g.Parent() {
		for _, t := range g.Tensors() {
			names = append(names, t.Name())
		}
	}
	return names
}

// AsNode returns the node that v is or names in g.
func (e *Env) AsNode(g *ir.Graph, v starlark.Value, what string) (*ir.Node, error) {
	switch v := v.(type) {
	case Node:
		return v.n, nil
	case starlark.String:
		if g == nil {
			return nil, fmt.Errorf("%s: got the name %q, which says nothing outside a graph; give the node itself", what, string(v))
		}
		if n := FindNode(g, string(v)); n != nil {
			return n, nil
		}
		var names []string
		for _, n := range g.Nodes() {
			names = append(names, n.Name())
		}
		return nil, fmt.Errorf("%s: %s has no node named %q%s", what, g.Label(), string(v), e.hint(string(v), names))
	}
	return nil, fmt.Errorf("%s: got %s, want a node or the name of one", what, v.Type())
}
