// Package docs is the documentation of every name that a script can use, from the
// tables that also make the functions: what sgs doc prints and writes as pages.
//
//	x := docs.New(predeclared, env)
//	entry, err := x.Find("graph.layer")
package docs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"github.com/starlarkgs/starlarkgs/builtins/base"
	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/internal/spell"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

// The groups of entries beside the modules and types, whose groups have their
// names.
const (
	Functions = "functions"
	Operators = "operators"
)

// Entry is the documentation of one name.
type Entry struct {
	Name    string // as a script writes it: "np.zeros", "graph.layer", "graph.op.Conv"
	Group   string
	Summary string // one sentence
	Text    string // all, as plain text
}

// Index is the documentation of all names.
type Index struct {
	entries []*Entry
	byName  map[string]*Entry
	byBase  map[string][]*Entry // by what follows the last dot
}

// types are the types with fields or methods of their own.
var types = []struct{ name, doc string }{
	{"graph", "a graph: of a model, of a body, of a function"},
	{"node", "a node of a graph"},
	{"tensor", "a tensor: a variable, or a constant with its values"},
	{"function", "a model-local function, which has the methods of a graph as well"},
	{"array", "an array of values"},
	{"session", "a model that is ready to run"},
}

// New makes the index of what a host has predeclared and of its types.
func New(predeclared starlark.StringDict, env *value.Env) *Index {
	x := &Index{byName: map[string]*Entry{}, byBase: map[string][]*Entry{}}
	for _, name := range predeclared.Keys() {
		x.addValue(Functions, name, predeclared[name])
	}
	for _, t := range types {
		x.addType(t.name, t.doc, methodsOf(env, t.name))
	}
	for _, s := range newest() {
		name := "graph.op." + s.Name
		switch {
		case s.Domain != "":
			name = s.Domain + "." + s.Name
		case s.Own: // graph.op has it not
			name = "ai.onnx." + s.Name
		}
		x.add(&Entry{Name: name, Group: Operators, Summary: s.Signature(), Text: operatorText(s)})
	}
	x.sort()
	return x
}

// AddLibrary adds the structs that a file of the shipped library exports, with
// their members.
func (x *Index) AddLibrary(file string, exports starlark.StringDict) {
	for _, name := range exports.Keys() {
		s, ok := exports[name].(*starlarkstruct.Struct)
		if !ok || x.byName[name] != nil {
			continue
		}
		how := fmt.Sprintf("load(%q, %q)\n\n", file, name)
		x.add(&Entry{Name: name, Group: name, Summary: "a struct: the functions of " + file, Text: how + builtin.Help(s)})
		for _, member := range s.AttrNames() {
			if f, err := s.Attr(member); err == nil {
				x.add(&Entry{Name: name + "." + member, Group: name, Summary: builtin.Summary(f), Text: how + builtin.Help(f)})
			}
		}
	}
	x.sort()
}

// File returns the documentation of all that a file of scripts exports.
func File(name string, exports starlark.StringDict) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", name)
	for _, export := range exports.Keys() {
		if !strings.HasPrefix(export, "_") {
			fmt.Fprintf(&b, "\n%s", builtin.Help(exports[export]))
		}
	}
	return b.String()
}

func (x *Index) sort() {
	slices.SortStableFunc(x.entries, func(a, b *Entry) int { return cmp.Compare(a.Name, b.Name) })
}

// methodsOf returns the methods of a type, and its properties.
func methodsOf(env *value.Env, typ string) []*builtin.Func {
	t, ok := env.Methods[typ].(*builtin.Table)
	if typ == "array" {
		t, ok = value.ArrayMethods.(*builtin.Table)
	}
	if !ok {
		return nil
	}
	var out []*builtin.Func
	for _, name := range t.Names() {
		out = append(out, t.Lookup(name))
	}
	return out
}

// Funcs returns every table entry that scripts can reach, each once, by name.
func Funcs(predeclared starlark.StringDict, env *value.Env) []*builtin.Func {
	seen := map[*builtin.Func]bool{}
	for _, v := range predeclared {
		visit(v, func(f *builtin.Func) { seen[f] = true })
	}
	for typ := range env.Methods {
		for _, f := range methodsOf(env, typ) {
			seen[f] = true
		}
	}
	for _, f := range methodsOf(env, "array") {
		seen[f] = true
	}
	var out []*builtin.Func
	for f := range seen {
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b *builtin.Func) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// described is a function of a table, or a module that is one too.
type described interface{ Func() *builtin.Func }

// visit calls f for the entries in a value: its own, or those of a module.
func visit(v starlark.Value, f func(*builtin.Func)) {
	if c, ok := v.(described); ok {
		f(c.Func())
	}
	for _, m := range members(v) {
		visit(m, f)
	}
}

// members returns what a module, or a function with attributes, holds, by name.
func members(v starlark.Value) starlark.StringDict {
	if c, ok := v.(*builtin.Callable); ok {
		return c.Func().Attrs // as gs.Graph.register
	}
	m, ok := v.(starlark.HasAttrs)
	if _, self := v.(base.Self); self || !ok || v.Type() != "module" { // sgs holds all again
		return nil
	}
	out := starlark.StringDict{}
	for _, name := range m.AttrNames() {
		if x, err := m.Attr(name); err == nil && x != nil {
			out[name] = x
		}
	}
	return out
}

func (x *Index) addValue(group, name string, v starlark.Value) {
	e := &Entry{Name: name, Group: group, Summary: "a " + v.Type(), Text: builtin.Help(v)}
	switch v := v.(type) {
	case *builtin.Callable:
		e.Summary = v.Func().Summary()
	case described:
		e.Summary = v.Func().Summary()
		e.Text = v.Func().Help() + "\n" + e.Text
	case *builtin.Module:
		e.Summary = v.Doc
	case *starlark.List:
		e.Summary = "the arguments of the script, as strings" // argv
		e.Text = name + "\n\n  " + e.Summary + "\n"
	}
	x.add(e)
	if all := members(v); len(all) > 0 {
		for _, member := range all.Keys() {
			x.addValue(name, name+"."+member, all[member])
		}
	}
}

// addType adds a type with its fields and methods. A function of the same name,
// which makes such a value, gets the type's members.
func (x *Index) addType(typ, doc string, methods []*builtin.Func) {
	var fields, calls [][2]string
	for _, f := range value.Fields(typ) {
		use := "field of " + typ + ", read-only"
		if f.Settable {
			use = "field of " + typ + ", assignable"
		}
		x.add(&Entry{Name: typ + "." + f.Name, Group: typ, Summary: f.Doc, Text: fmt.Sprintf("%s.%s\n\n  %s\n\n  %s\n", typ, f.Name, f.Doc, use)})
		fields = append(fields, [2]string{f.Name, f.Doc})
	}
	for _, f := range methods {
		x.add(&Entry{Name: typ + "." + f.Base(), Group: typ, Summary: f.Summary(), Text: f.Help()})
		calls = append(calls, [2]string{strings.TrimPrefix(f.Signature(), typ), f.Summary()})
	}
	var b strings.Builder
	fmt.Fprintf(&b, "type %s\n\n  %s\n", typ, doc)
	builtin.Section(&b, "Fields", fields)
	builtin.Section(&b, "Methods", calls)
	if made := x.byName[typ]; made != nil {
		made.Text += "\n" + b.String()
		return
	}
	x.add(&Entry{Name: typ, Group: typ, Summary: doc, Text: b.String()})
}

// add puts an entry in, unless its name is there: a member of a type that another
// table gives too.
func (x *Index) add(e *Entry) {
	if x.byName[e.Name] != nil {
		return
	}
	x.byName[e.Name] = e
	x.entries = append(x.entries, e)
	last := e.Name[strings.LastIndexByte(e.Name, '.')+1:]
	x.byBase[last] = append(x.byBase[last], e)
}

// Entries returns all entries, by name.
func (x *Index) Entries() []*Entry { return x.entries }

// Find returns the documentation of a name, which may leave out what qualifies
// it, as "layer" for "graph.layer". Where several end so, it is that of all.
func (x *Index) Find(name string) (*Entry, error) {
	name = strings.TrimPrefix(name, "sgs.")
	if e := x.byName[name]; e != nil {
		return e, nil
	}
	if method, ok := strings.CutPrefix(name, "function."); ok && x.byName["graph."+method] != nil {
		return x.byName["graph."+method], nil
	}
	switch found := x.byBase[name]; len(found) {
	case 0:
	case 1:
		return found[0], nil
	default:
		all := &Entry{Name: name}
		for _, e := range found {
			all.Text = strings.TrimPrefix(all.Text+"\n"+e.Text, "\n")
		}
		return all, nil
	}
	near := spell.Hint(name, x.names())
	return nil, fmt.Errorf("got the name %q, which nothing has%s", name, near)
}

// names returns all names, and what follows their dots.
func (x *Index) names() []string {
	var out []string
	for _, e := range x.entries {
		out = append(out, e.Name)
	}
	for last := range x.byBase {
		if x.byName[last] == nil {
			out = append(out, last)
		}
	}
	slices.Sort(out)
	return out
}

// Overview lists the groups and their names, for sgs doc without a name.
func (x *Index) Overview() string {
	var b strings.Builder
	b.WriteString("sgs doc NAME explains one name; these there are:\n")
	for _, g := range x.groups() {
		var rows [][2]string
		for _, e := range g.Entries {
			if g.Name != Operators {
				rows = append(rows, [2]string{e.Name, e.Summary})
			}
		}
		if g.Name == Operators {
			rows = [][2]string{{"graph.op.NAME", fmt.Sprintf("%d operators of the standard, as sgs doc Conv", len(g.Entries))}}
		}
		builtin.Section(&b, g.Name, rows)
	}
	return b.String()
}

// group is the entries of one group.
type group struct {
	Name    string
	Entries []*Entry
}

// groups returns the groups: functions, then modules and types by name, then
// operators.
func (x *Index) groups() []*group {
	byName := map[string]*group{}
	var out []*group
	for _, e := range x.entries {
		g := byName[e.Group]
		if g == nil {
			g = &group{Name: e.Group}
			byName[e.Group] = g
			out = append(out, g)
		}
		g.Entries = append(g.Entries, e)
	}
	rank := map[string]int{Functions: -1, Operators: 1}
	slices.SortFunc(out, func(a, b *group) int {
		return cmp.Or(cmp.Compare(rank[a.Name], rank[b.Name]), cmp.Compare(a.Name, b.Name))
	})
	return out
}
