package ir

import "slices"

// Import is one entry of an opset import list.
type Import struct {
	Domain  string
	Version int64
	Extra   any // package onnx's
}

func findImport(imports []Import, domain string) int {
	for _, im := range imports {
		if im.Domain == domain || IsStandard(im.Domain) && IsStandard(domain) {
			return int(im.Version)
		}
	}
	return 0
}

// Model is what a file holds: a graph, model-local functions, the opsets they
// are written in, and what is said about them.
type Model struct {
	irVersion                     int64
	producerName, producerVersion string
	domain                        string
	modelVersion                  int64
	doc                           string
	meta                          []Prop
	imports                       []Import
	graph                         *Graph
	functions                     []*Function
	journal                       *journal
	frozen                        bool
	// Draft marks a model that was made, not read: its graph may yet become a
	// body, so uses of other graphs' tensors are allowed until it is run or saved.
	Draft bool
	Extra any // what the file said besides; package onnx's
}

// NewModel returns a model with an empty graph of that name.
func NewModel(graphName string, imports ...Import) *Model {
	m := &Model{imports: imports}
	m.graph = &Graph{name: graphName, model: m}
	return m
}

// Graph returns the model's graph.
func (m *Model) Graph() *Graph { return m.graph }

// IRVersion returns the version of the file format, 0 when it is not fixed:
// the writer then takes the lowest that fits.
func (m *Model) IRVersion() int64 { return m.irVersion }

// SetIRVersion sets the version of the file format.
func (m *Model) SetIRVersion(v int64) { set(m, &m.irVersion, v) }

// Producer returns the name and version of the tool that made the model.
func (m *Model) Producer() (name, version string) { return m.producerName, m.producerVersion }

// SetProducer sets the name and version of the tool that made the model.
func (m *Model) SetProducer(name, version string) {
	set(m, &m.producerName, name)
	set(m, &m.producerVersion, version)
}

// Domain returns the model's namespace.
func (m *Model) Domain() string { return m.domain }

// SetDomain sets the model's namespace.
func (m *Model) SetDomain(s string) { set(m, &m.domain, s) }

// ModelVersion returns the version of the graph encoded.
func (m *Model) ModelVersion() int64 { return m.modelVersion }

// SetModelVersion sets the version of the graph encoded.
func (m *Model) SetModelVersion(v int64) { set(m, &m.modelVersion, v) }

// Doc returns the doc string.
func (m *Model) Doc() string { return m.doc }

// SetDoc sets the doc string.
func (m *Model) SetDoc(s string) { set(m, &m.doc, s) }

// Metadata returns the metadata entries; callers must not change them.
func (m *Model) Metadata() []Prop { return m.meta }

// SetMetadata replaces the metadata.
func (m *Model) SetMetadata(p []Prop) { set(m, &m.meta, p) }

// Imports returns the opset imports; callers must not change them.
func (m *Model) Imports() []Import { return m.imports }

// SetImports replaces the opset imports.
func (m *Model) SetImports(im []Import) { set(m, &m.imports, im) }

// Opset returns the version imported for the domain, 0 when there is none.
func (m *Model) Opset(domain string) int { return findImport(m.imports, domain) }

// SetOpset imports version v of the domain.
func (m *Model) SetOpset(domain string, v int) {
	next := slices.Clone(m.imports)
	for i := range next {
		if next[i].Domain == domain || IsStandard(next[i].Domain) && IsStandard(domain) {
			next[i].Version = int64(v)
			m.SetImports(next)
			return
		}
	}
	m.SetImports(append(next, Import{Domain: domain, Version: int64(v)}))
}

// Functions returns the model-local functions; callers must not change the slice.
func (m *Model) Functions() []*Function { return m.functions }

// SetFunctions replaces the model-local functions, which become the model's.
func (m *Model) SetFunctions(fns []*Function) {
	set(m, &m.functions, slices.Clone(fns))
	for _, f := range fns {
		f.body.model = m
	}
}

// Function returns the function that a node with that domain, operator and
// overload calls, or nil.
func (m *Model) Function(domain, name, overload string) *Function {
	for _, f := range m.functions {
		if f.name == name && f.overload == overload && (f.domain == domain || IsStandard(f.domain) && IsStandard(domain)) {
			return f
		}
	}
	return nil
}

// Graphs returns every graph of the model: the main one, the bodies of
// functions, and what is nested in them, outer ones first.
func (m *Model) Graphs() []*Graph {
	var gs []*Graph
	roots := []*Graph{m.graph}
	for _, f := range m.functions {
		roots = append(roots, f.body)
	}
	for _, r := range roots {
		gs = slices.AppendSeq(gs, r.All())
	}
	return gs
}

// Freeze marks the model as read-only. Package ir does not check the mark: it
// is for those who hand models out.
func (m *Model) Freeze() { m.frozen = true }

// Frozen reports whether Freeze was called.
func (m *Model) Frozen() bool { return m.frozen }

// Function is a model-local function: a graph whose nodes may refer to the
// attributes of the calling node, with opset imports of its own. Its body holds
// no initializers in a file; the writer makes them Constant nodes.
type Function struct {
	domain, name, overload, doc string
	required                    []string
	defaults                    []*Attr
	imports                     []Import
	meta                        []Prop
	body                        *Graph
	Extra                       any // what the file said besides; package onnx's
}

// NewFunction returns a function with an empty body.
func NewFunction(domain, name, overload string, imports ...Import) *Function {
	f := &Function{domain: domain, name: name, overload: overload, imports: imports}
	f.body = &Graph{name: name, fn: f}
	return f
}

func (f *Function) model() *Model { return f.body.model }

// Domain returns the domain of the operator that the function defines.
func (f *Function) Domain() string { return f.domain }

// Name returns the operator's name.
func (f *Function) Name() string { return f.name }

// Overload returns the overload, "" for the only one.
func (f *Function) Overload() string { return f.overload }

// SetID renames the function; nodes that call it are left alone.
func (f *Function) SetID(domain, name, overload string) {
	set(f.model(), &f.domain, domain)
	set(f.model(), &f.name, name)
	set(f.model(), &f.overload, overload)
}

// Key returns domain::name, with :overload when there is one.
func (f *Function) Key() string {
	key := f.domain + "::" + f.name
	if f.overload != "" {
		key += ":" + f.overload
	}
	return key
}

// Doc returns the doc string.
func (f *Function) Doc() string { return f.doc }

// SetDoc sets the doc string.
func (f *Function) SetDoc(s string) { set(f.model(), &f.doc, s) }

// Attrs returns the attributes that a call must give and those with a default;
// callers must not change the slices.
func (f *Function) Attrs() (required []string, defaults []*Attr) { return f.required, f.defaults }

// SetAttrs declares the attributes.
func (f *Function) SetAttrs(required []string, defaults []*Attr) {
	set(f.model(), &f.required, required)
	set(f.model(), &f.defaults, defaults)
}

// Imports returns the opset imports; callers must not change them.
func (f *Function) Imports() []Import { return f.imports }

// SetImports replaces the opset imports.
func (f *Function) SetImports(im []Import) { set(f.model(), &f.imports, im) }

// Metadata returns the metadata entries; callers must not change them.
func (f *Function) Metadata() []Prop { return f.meta }

// SetMetadata replaces the metadata.
func (f *Function) SetMetadata(p []Prop) { set(f.model(), &f.meta, p) }

// Body returns the function's graph.
func (f *Function) Body() *Graph { return f.body }
