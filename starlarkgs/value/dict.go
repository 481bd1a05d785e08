package value

import (
	"fmt"
	"sort"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/starlarkgs/starlarkgs/ir"
)

// dictSource is one ordered mapping of a model. Implementations are small
// comparable structs.
type dictSource interface {
	typ() string
	what() string
	keys() []string
	get(key string) (starlark.Value, bool)
	set(key string, v starlark.Value) error
	delete(key string)
	mutable(verb string) error
}

// Dict is a live view of a mapping with Starlark's dict API.
type Dict struct {
	src dictSource
	env *Env
}

var (
	_ starlark.HasSetKey       = Dict{}
	_ starlark.IterableMapping = Dict{}
	_ starlark.Sequence        = Dict{}
	_ starlark.HasAttrs        = Dict{}
	_ starlark.HasBinary       = Dict{}
)

func (e *Env) dict(src dictSource) Dict { return Dict{src, e} }

// String returns the one-line form.
func (d Dict) String() string { return d.plain().String() }

// Type is not "dict": no view equals a dict.
func (d Dict) Type() string { return d.src.typ() }

// Freeze does nothing: the model that the view is of is frozen, or not.
func (d Dict) Freeze() {}

// Truth reports whether the mapping has entries.
func (d Dict) Truth() starlark.Bool { return d.Len() > 0 }

// Hash fails, as for a dict.
func (d Dict) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable type: %s", d.Type()) }

// Len returns the number of entries.
func (d Dict) Len() int { return len(d.src.keys()) }

// plain returns the entries as a dict of its own.
func (d Dict) plain() *starlark.Dict {
	out := starlark.NewDict(d.Len())
	for _, item := range d.Items() {
		// keys are strings, so this can't fail
		_ = out.SetKey(item[0], item[1])
	}
	return out
}

// Get returns the entry of a key.
func (d Dict) Get(key starlark.Value) (starlark.Value, bool, error) {
	k, err := AsText(key, d.src.what())
	if err != nil {
		return nil, false, err
	}
	v, ok := d.src.get(k)
	if !ok {
		return nil, false, fmt.Errorf("key %q not in %s%s", k, d.src.what(), d.env.hint(k, d.src.keys()))
	}
	return v, true, nil
}

// SetKey sets an entry.
func (d Dict) SetKey(key, v starlark.Value) error {
	k, err := AsText(key, d.src.what())
	if err != nil {
		return err
	}
	if err := d.src.mutable(fmt.Sprintf("set %q of", k)); err != nil {
		return err
	}
	return d.src.set(k, v)
}

// Items returns the entries.
func (d Dict) Items() []starlark.Tuple {
	keys := d.src.keys()
	items := make([]starlark.Tuple, 0, len(keys))
	for _, k := range keys {
		if v, ok := d.src.get(k); ok {
			items = append(items, starlark.Tuple{Text(k), v})
		}
	}
	return items
}

func (d Dict) keyValues() []starlark.Value {
	keys := d.src.keys()
	vs := make([]starlark.Value, len(keys))
	for i, k := range keys {
		vs[i] = Text(k)
	}
	return vs
}

// Iterate walks the keys that the mapping has now.
func (d Dict) Iterate() starlark.Iterator { return &snapshotIterator{d.keyValues()} }

// Binary implements in.
func (d Dict) Binary(op syntax.Token, y starlark.Value, side starlark.Side) (starlark.Value, error) {
	if op != syntax.IN || side != starlark.Right {
		return nil, nil
	}
	k, err := AsText(y, d.src.what())
	if err != nil {
		return starlark.False, nil
	}
	_, ok := d.src.get(k)
	return starlark.Bool(ok), nil
}

// assign replaces all entries; nothing changes when one of them is refused.
func (d Dict) assign(v starlark.Value) error {
	if v == starlark.Value(d) {
		return nil
	}
	m, ok := v.(starlark.IterableMapping)
	if !ok {
		return fmt.Errorf("%s: got %s, want a dict", d.src.what(), v.Type())
	}
	old, items := d.Items(), m.Items()
	d.clear()
	for _, item := range items {
		if err := d.SetKey(item[0], item[1]); err != nil {
			d.clear()
			for _, o := range old {
				if err := d.SetKey(o[0], o[1]); err != nil {
					return err
				}
			}
			return err
		}
	}
	return nil
}

func (d Dict) clear() {
	for _, k := range d.src.keys() {
		d.src.delete(k)
	}
}

type dictMethod func(d Dict, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error)

var dictMethods = map[string]dictMethod{
	"keys": func(d Dict, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return starlark.NewList(d.keyValues()), starlark.UnpackPositionalArgs(name, args, kwargs, 0)
	},
	"values": func(d Dict, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var vs []starlark.Value
		for _, item := range d.Items() {
			vs = append(vs, item[1])
		}
		return starlark.NewList(vs), starlark.UnpackPositionalArgs(name, args, kwargs, 0)
	},
	"items": func(d Dict, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var vs []starlark.Value
		for _, item := range d.Items() {
			vs = append(vs, item)
		}
		return starlark.NewList(vs), starlark.UnpackPositionalArgs(name, args, kwargs, 0)
	},
	"get": dictGet, "pop": dictPop, "popitem": dictPopItem, "setdefault": dictSetDefault, "update": dictUpdate,
	"clear": func(d Dict, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if err := starlark.UnpackPositionalArgs(name, args, kwargs, 0); err != nil {
			return nil, err
		}
		d.clear()
		return starlark.None, nil
	},
}

var dictReads = map[string]bool{"keys": true, "values": true, "items": true, "get": true}

// Attr returns a method of Starlark's dict API.
func (d Dict) Attr(name string) (starlark.Value, error) {
	f := dictMethods[name]
	if f == nil {
		return nil, nil
	}
	return starlark.NewBuiltin(name, func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if !dictReads[name] {
			if err := d.src.mutable(name + " on"); err != nil {
				return nil, err
			}
		}
		return f(d, name, args, kwargs)
	}).BindReceiver(d), nil
}

// AttrNames lists the methods.
func (d Dict) AttrNames() []string {
	names := make([]string, 0, len(dictMethods))
	for name := range dictMethods {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

func dictGet(d Dict, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var key, dflt starlark.Value = nil, starlark.None
	if err := starlark.UnpackPositionalArgs(name, args, kwargs, 1, &key, &dflt); err != nil {
		return nil, err
	}
	if k, err := AsText(key, name); err == nil {
		if v, ok := d.src.get(k); ok {
			return v, nil
		}
	}
	return dflt, nil
}

func dictPop(d Dict, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var key, dflt starlark.Value
	if err := starlark.UnpackPositionalArgs(name, args, kwargs, 1, &key, &dflt); err != nil {
		return nil, err
	}
	v, _, err := d.Get(key)
	if err != nil {
		if dflt != nil {
			return dflt, nil
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	d.src.delete(string(textOf(key)))
	return v, nil
}

func textOf(v starlark.Value) starlark.String {
	s, _ := AsText(v, "")
	return starlark.String(s)
}

func dictPopItem(d Dict, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := starlark.UnpackPositionalArgs(name, args, kwargs, 0); err != nil {
		return nil, err
	}
	items := d.Items()
	if len(items) == 0 {
		return nil, fmt.Errorf("%s: %s are empty", name, d.src.what())
	}
	d.src.delete(string(textOf(items[0][0])))
	return items[0], nil
}

func dictSetDefault(d Dict, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var key, dflt starlark.Value = nil, starlark.None
	if err := starlark.UnpackPositionalArgs(name, args, kwargs, 1, &key, &dflt); err != nil {
		return nil, err
	}
	if v, ok, _ := d.Get(key); ok {
		return v, nil
	}
	return dflt, d.SetKey(key, dflt)
}

func dictUpdate(d Dict, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var from starlark.Value = starlark.NewDict(0)
	if err := starlark.UnpackPositionalArgs(name, args, nil, 0, &from); err != nil {
		return nil, err
	}
	m, ok := from.(starlark.IterableMapping)
	if !ok {
		return nil, fmt.Errorf("%s: got %s, want a dict", name, from.Type())
	}
	for _, item := range append(m.Items(), kwargs...) {
		if err := d.SetKey(item[0], item[1]); err != nil {
			return nil, err
		}
	}
	return starlark.None, nil
}

// nodeAttrs is a node's attributes.
type nodeAttrs struct{ n Node }

func (s nodeAttrs) typ() string               { return "attrs" }
func (s nodeAttrs) what() string              { return "attributes of " + s.n.n.Label() }
func (s nodeAttrs) mutable(verb string) error { return s.n.mutable(verb + " the attributes of") }
func (s nodeAttrs) delete(key string)         { s.n.n.DelAttr(key) }
func (s nodeAttrs) keys() []string {
	attrs := s.n.n.Attrs()
	keys := make([]string, len(attrs))
	for i, a := range attrs {
		keys[i] = a.Name
	}
	return keys
}
func (s nodeAttrs) get(key string) (starlark.Value, bool) {
	a := s.n.n.Attr(key)
	if a == nil {
		return nil, false
	}
	return s.n.env.AttrValue(a), true
}
func (s nodeAttrs) set(key string, v starlark.Value) error {
	a, err := s.n.env.StoreAttr(s.n.n, key, v)
	if err != nil {
		return fmt.Errorf("%s: %w", s.n.n.Label(), err)
	}
	for _, body := range a.Graphs() {
		if g := s.n.n.Graph(); g != nil && body.Encloses(g) {
			return fmt.Errorf("%s: attribute %q: got %s, of which the node is a part: a graph can't hold itself", s.n.n.Label(), key, body.Label())
		}
	}
	s.n.n.SetAttr(a)
	return nil
}

// props is a list of metadata entries that a source reads and replaces.
type props struct {
	list []ir.Prop
	save func([]ir.Prop)
}

func (p props) keys() []string {
	keys := make([]string, len(p.list))
	for i, e := range p.list {
		keys[i] = e.Key
	}
	return keys
}

func (p props) get(key string) (starlark.Value, bool) {
	for _, e := range p.list {
		if e.Key == key {
			return Text(e.Value), true
		}
	}
	return nil, false
}

func (p props) set(key string, v starlark.Value) error {
	s, err := AsText(v, fmt.Sprintf("metadata %q", key))
	if err != nil {
		return err
	}
	next := append([]ir.Prop(nil), p.list...)
	for i := range next {
		if next[i].Key == key {
			next[i].Value = s
			p.save(next)
			return nil
		}
	}
	p.save(append(next, ir.Prop{Key: key, Value: s}))
	return nil
}

func (p props) delete(key string) {
	var next []ir.Prop
	for _, e := range p.list {
		if e.Key != key {
			next = append(next, e)
		}
	}
	p.save(next)
}

type (
	nodeMeta   struct{ n Node }
	tensorMeta struct{ t Tensor }
	graphMeta  struct{ g Graph }
)

func (s nodeMeta) props() props                           { return props{s.n.n.Metadata(), s.n.n.SetMetadata} }
func (s nodeMeta) typ() string                            { return "metadata" }
func (s nodeMeta) what() string                           { return "metadata of " + s.n.n.Label() }
func (s nodeMeta) mutable(verb string) error              { return s.n.mutable(verb + " the metadata of") }
func (s nodeMeta) keys() []string                         { return s.props().keys() }
func (s nodeMeta) get(key string) (starlark.Value, bool)  { return s.props().get(key) }
func (s nodeMeta) set(key string, v starlark.Value) error { return s.props().set(key, v) }
func (s nodeMeta) delete(key string)                      { s.props().delete(key) }

func (s tensorMeta) props() props                           { return props{s.t.t.Metadata(), s.t.t.SetMetadata} }
func (s tensorMeta) typ() string                            { return "metadata" }
func (s tensorMeta) what() string                           { return fmt.Sprintf("metadata of tensor %q", s.t.t.Name()) }
func (s tensorMeta) mutable(verb string) error              { return s.t.mutable(verb + " the metadata of") }
func (s tensorMeta) keys() []string                         { return s.props().keys() }
func (s tensorMeta) get(key string) (starlark.Value, bool)  { return s.props().get(key) }
func (s tensorMeta) set(key string, v starlark.Value) error { return s.props().set(key, v) }
func (s tensorMeta) delete(key string)                      { s.props().delete(key) }

func (s graphMeta) props() props {
	switch m := s.g.main(); {
	case m != nil:
		return props{m.Metadata(), m.SetMetadata}
	case s.g.Type() == "function":
		f := s.g.g.Function()
		return props{f.Metadata(), f.SetMetadata}
	}
	return props{s.g.g.Metadata(), s.g.g.SetMetadata}
}
func (s graphMeta) typ() string                            { return "metadata" }
func (s graphMeta) what() string                           { return "metadata of " + s.g.g.Label() }
func (s graphMeta) mutable(verb string) error              { return s.g.mutable(verb + " the metadata of") }
func (s graphMeta) keys() []string                         { return s.props().keys() }
func (s graphMeta) get(key string) (starlark.Value, bool)  { return s.props().get(key) }
func (s graphMeta) set(key string, v starlark.Value) error { return s.props().set(key, v) }
func (s graphMeta) delete(key string)                      { s.props().delete(key) }

// graphImports is the opset imports in force in a graph.
type graphImports struct{ g Graph }

func (s graphImports) typ() string               { return "imports" }
func (s graphImports) what() string              { return "imports of " + s.g.g.Label() }
func (s graphImports) mutable(verb string) error { return s.g.mutable(verb + " the imports of") }
func (s graphImports) keys() []string {
	var keys []string
	for _, im := range s.g.g.Imports() {
		keys = append(keys, im.Domain)
	}
	return keys
}
func (s graphImports) get(key string) (starlark.Value, bool) {
	v := s.g.g.Opset(key)
	return starlark.MakeInt(v), v > 0
}
func (s graphImports) set(key string, v starlark.Value) error {
	n, err := AsInt(v, fmt.Sprintf("imports[%q]", key))
	if err != nil {
		return err
	}
	if n < 1 {
		return fmt.Errorf("imports[%q]: got %d, want a version from 1 on", key, n)
	}
	return s.g.setImport(key, int(n))
}
func (s graphImports) delete(key string) {
	var next []ir.Import
	for _, im := range s.g.g.Imports() {
		if im.Domain != key {
			next = append(next, im)
		}
	}
	// a graph whose imports were read has a model, so this can't fail
	_ = s.g.setImports(next)
}
