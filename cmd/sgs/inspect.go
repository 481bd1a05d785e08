package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/starlarkgs/starlarkgs/internal/spell"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/runtime"
)

// parts are what --show may name.
var parts = []string{"layers", "attrs", "weights", "shapes", "functions", "metadata"}

func newInspect(a *app) *cobra.Command {
	var show []string
	var asJSON, stats bool
	c := &cobra.Command{
		Use:   "inspect MODEL…|DATA",
		Short: "Show what a model, or a .npz file, holds",
		Args:  args("MODEL…", 1, -1),
		RunE: func(_ *cobra.Command, paths []string) error {
			for _, s := range show {
				if !slices.Contains(parts, s) {
					return usagef("--show: got %q, want one of %q%s", s, parts, spell.Hint(s, parts))
				}
			}
			for i, path := range paths {
				if i > 0 && !asJSON {
					fmt.Fprintln(a.stdout)
				}
				if filepath.Ext(path) == ".npz" {
					if err := a.inspectData(path); err != nil {
						return err
					}
					continue
				}
				m, err := openModel(path)
				if err != nil {
					return err
				}
				if asJSON {
					if err := a.inspectJSON(path, m); err != nil {
						return err
					}
					continue
				}
				(&inspector{w: a.stdout, m: m, show: show}).model(path)
				if stats {
					a.stats(m)
				}
			}
			return nil
		},
	}
	c.Flags().StringSliceVar(&show, "show", nil, "layers, attrs, weights, shapes, functions, metadata")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document for each model")
	c.Flags().BoolVar(&stats, "stats", false, "count parameters, bytes and operators")
	return c
}

func (a *app) inspectData(path string) error {
	vs, err := runtime.ReadNPZ(path)
	if err != nil {
		return &statusError{exitFile, err}
	}
	var ports []runtime.Port
	for name := range vs {
		ports = append(ports, runtime.Port{Name: name})
	}
	sort.Slice(ports, func(i, j int) bool { return ports[i].Name < ports[j].Name })
	fmt.Fprintf(a.stdout, "%s: %d arrays\n", path, len(vs))
	a.showValues(vs, ports)
	return nil
}

type inspector struct {
	w    io.Writer
	m    *ir.Model
	show []string
}

func (p *inspector) wants(part string) bool { return slices.Contains(p.show, part) }

func (p *inspector) model(path string) {
	m := p.m
	name, version := m.Producer()
	fmt.Fprintf(p.w, "%s\n  graph %q, IR version %d, opset %d", path, m.Graph().Name(), m.IRVersion(), m.Opset(""))
	for _, im := range m.Imports() {
		if !ir.IsStandard(im.Domain) {
			fmt.Fprintf(p.w, ", %s %d", clean(im.Domain), im.Version)
		}
	}
	if name != "" {
		fmt.Fprintf(p.w, ", made by %s", clean(strings.TrimSpace(name+" "+version)))
	}
	fmt.Fprintln(p.w)
	p.graph(m.Graph(), "  ")
	if p.wants("metadata") {
		for _, kv := range m.Metadata() {
			fmt.Fprintf(p.w, "  metadata %q: %q\n", kv.Key, kv.Value)
		}
		if m.Doc() != "" {
			fmt.Fprintf(p.w, "  doc: %q\n", m.Doc())
		}
	}
	if p.wants("functions") {
		for _, f := range m.Functions() {
			fmt.Fprintf(p.w, "  function %s\n", clean(f.Key()))
			p.graph(f.Body(), "    ")
		}
	} else if n := len(m.Functions()); n > 0 {
		fmt.Fprintf(p.w, "  %d functions\n", n)
	}
}

func (p *inspector) graph(g *ir.Graph, indent string) {
	p.tensors(indent+"inputs", g.Inputs())
	p.tensors(indent+"outputs", g.Outputs())
	inits := g.Initializers()
	fmt.Fprintf(p.w, "%sinitializers: %d, nodes: %d\n", indent, len(inits), g.NumNodes())
	if p.wants("layers") || p.wants("weights") {
		p.initializers(inits, indent+"  ")
	}
	if !p.wants("layers") {
		return
	}
	for i, n := range g.Nodes() {
		p.node(i, n, indent+"  ")
	}
}

func (p *inspector) tensors(title string, ts []*ir.Tensor) {
	fmt.Fprintf(p.w, "%s: %d\n", title, len(ts))
	w := tabwriter.NewWriter(p.w, 0, 0, 2, ' ', 0)
	for _, t := range ts {
		fmt.Fprintf(w, "    %s\t%s\n", clean(t.Name()), typeText(t))
	}
	w.Flush()
}

func typeText(t *ir.Tensor) string {
	if typ := t.Type(); typ != nil {
		return clean(typ.String())
	}
	return "?"
}

func (p *inspector) initializers(ts []*ir.Tensor, indent string) {
	for _, t := range ts {
		fmt.Fprintf(p.w, "%s%s  %s\n", indent, clean(t.Name()), typeText(t))
		if p.wants("weights") && t.Array() != nil {
			fmt.Fprintf(p.w, "%s\n", t.Array().String())
		}
	}
}

func (p *inspector) node(i int, n *ir.Node, indent string) {
	op := n.Op()
	if !ir.IsStandard(n.Domain()) {
		op = n.Domain() + "::" + op
	}
	fmt.Fprintf(p.w, "%s%d  %s  %s  (%s) → (%s)\n", indent, i, clean(op), clean(n.Name()), p.list(n.Inputs()), p.list(n.Outputs()))
	if p.wants("attrs") {
		for _, a := range n.Attrs() {
			fmt.Fprintf(p.w, "%s    %s = %s\n", indent, clean(a.Name), attrText(a))
		}
	}
	for _, b := range n.Bodies() {
		fmt.Fprintf(p.w, "%s    body %q\n", indent, b.Name())
		p.graph(b, indent+"      ")
	}
}

func (p *inspector) list(ts []*ir.Tensor) string {
	out := make([]string, len(ts))
	for i, t := range ts {
		switch {
		case t == nil:
			out[i] = "-"
		case p.wants("shapes"):
			out[i] = clean(t.Name()) + " " + typeText(t)
		default:
			out[i] = clean(t.Name())
		}
	}
	return strings.Join(out, ", ")
}

func attrText(a *ir.Attr) string {
	switch v := a.Value.(type) {
	case nil:
		return "reference to " + clean(a.Ref)
	case *ir.Literal:
		return "tensor " + v.DType().String() + fmt.Sprint(v.Sizes())
	case *ir.Graph:
		return fmt.Sprintf("graph %q, %d nodes", v.Name(), v.NumNodes())
	case string:
		return fmt.Sprintf("%q", v)
	}
	return clean(fmt.Sprint(a.Value))
}

// modelJSON is what inspect --json prints.
type modelJSON struct {
	Path         string           `json:"path"`
	Graph        string           `json:"graph"`
	IRVersion    int64            `json:"ir_version"`
	Imports      map[string]int64 `json:"imports"`
	Producer     string           `json:"producer"`
	Inputs       []tensorJSON     `json:"inputs"`
	Outputs      []tensorJSON     `json:"outputs"`
	Initializers []tensorJSON     `json:"initializers"`
	Nodes        []nodeJSON       `json:"nodes"`
}

type tensorJSON struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

type nodeJSON struct {
	Name    string   `json:"name"`
	Op      string   `json:"op"`
	Domain  string   `json:"domain,omitempty"`
	Inputs  []string `json:"inputs"`
	Outputs []string `json:"outputs"`
}

func (a *app) inspectJSON(path string, m *ir.Model) error {
	name, _ := m.Producer()
	j := modelJSON{Path: path, Graph: m.Graph().Name(), IRVersion: m.IRVersion(), Imports: map[string]int64{}, Producer: name}
	for _, im := range m.Imports() {
		j.Imports[im.Domain] = im.Version
	}
	list := func(ts []*ir.Tensor) []tensorJSON {
		out := []tensorJSON{}
		for _, t := range ts {
			out = append(out, tensorJSON{t.Name(), typeText(t)})
		}
		return out
	}
	names := func(ts []*ir.Tensor) []string {
		out := []string{}
		for _, t := range ts {
			if t == nil {
				out = append(out, "")
			} else {
				out = append(out, t.Name())
			}
		}
		return out
	}
	g := m.Graph()
	j.Inputs, j.Outputs, j.Initializers = list(g.Inputs()), list(g.Outputs()), list(g.Initializers())
	for _, n := range g.Nodes() {
		j.Nodes = append(j.Nodes, nodeJSON{n.Name(), n.Op(), n.Domain(), names(n.Inputs()), names(n.Outputs())})
	}
	e := jsonTo(a.stdout)
	e.SetIndent("", "  ")
	return e.Encode(j)
}

// stats counts what a model holds, bodies included.
func (a *app) stats(m *ir.Model) {
	params, bytes := 0, int64(0)
	ops := map[string]int{}
	for _, g := range m.Graphs() {
		for _, t := range g.Initializers() {
			if x := t.Array(); x != nil {
				params += x.Size()
				bytes += x.NBytes()
			}
		}
		for _, n := range g.Nodes() {
			ops[n.Op()]++
		}
	}
	fmt.Fprintf(a.stdout, "  parameters: %d, bytes of weights: %d\n", params, bytes)
	var names []string
	for op := range ops {
		names = append(names, op)
	}
	sort.Slice(names, func(i, j int) bool {
		return ops[names[i]] > ops[names[j]] || ops[names[i]] == ops[names[j]] && names[i] < names[j]
	})
	for _, op := range names {
		fmt.Fprintf(a.stdout, "  %5d %s\n", ops[op], clean(op))
	}
}
