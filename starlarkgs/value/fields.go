package value

import (
	"fmt"
	"slices"
	"sort"

	"go.starlark.net/starlark"
)

// field is one attribute of a type that a script reads and, where set is not
// nil, assigns.
type field[T any] struct {
	name, doc string
	get       func(T) (starlark.Value, error)
	set       func(T, starlark.Value) error
}

// FieldDoc is what help tells of one field.
type FieldDoc struct {
	Name, Doc string
	Settable  bool
}

// fieldTable is the fields of one type.
type fieldTable[T any] struct {
	fields []field[T]
	byName map[string]*field[T]
}

func newFieldTable[T any](fields []field[T]) *fieldTable[T] {
	t := &fieldTable[T]{fields: fields, byName: make(map[string]*field[T], len(fields))}
	for i := range fields {
		t.byName[fields[i].name] = &fields[i]
	}
	return t
}

func (t *fieldTable[T]) docs() []FieldDoc {
	docs := make([]FieldDoc, len(t.fields))
	for i, f := range t.fields {
		docs[i] = FieldDoc{f.name, f.doc, f.set != nil}
	}
	return docs
}

func (t *fieldTable[T]) names() []string {
	names := make([]string, 0, len(t.fields))
	for _, f := range t.fields {
		names = append(names, f.name)
	}
	return names
}

// attr reads a field, or binds a method of the type's table.
func (t *fieldTable[T]) attr(env *Env, recv T, v starlark.Value, typ, name string) (starlark.Value, error) {
	if f := t.byName[name]; f != nil {
		return f.get(recv)
	}
	if m := env.Methods[typ]; m != nil {
		return m.Bind(v, name)
	}
	return nil, nil
}

func (t *fieldTable[T]) setField(env *Env, recv T, typ, name string, v starlark.Value) error {
	f := t.byName[name]
	if f == nil {
		return fmt.Errorf("%s has no field %q to assign%s", typ, name, env.hint(name, t.settable()))
	}
	if f.set == nil {
		return fmt.Errorf("cannot assign %s.%s: it is read-only", typ, name)
	}
	return f.set(recv, v)
}

func (t *fieldTable[T]) settable() []string {
	var names []string
	for _, f := range t.fields {
		if f.set != nil {
			names = append(names, f.name)
		}
	}
	return names
}

func attrNames(env *Env, typ string, fields []string, more ...string) []string {
	names := append(slices.Clone(fields), more...)
	if m := env.Methods[typ]; m != nil {
		names = append(names, m.Names()...)
	}
	sort.Strings(names)
	return slices.Compact(names)
}

func (e *Env) hint(word string, candidates []string) string {
	if e == nil || e.Hint == nil {
		return ""
	}
	return e.Hint(word, candidates)
}

// Fields returns the documentation of the fields of a Starlark type.
func Fields(typ string) []FieldDoc {
	switch typ {
	case "graph":
		return graphFields.docs()
	case "function":
		docs := functionFields.docs()
		for _, f := range graphFields.docs() {
			if functionFields.byName[f.Name] == nil { // else the function's own
				docs = append(docs, f)
			}
		}
		return docs
	case "node":
		return nodeFields.docs()
	case "tensor":
		return tensorFields.docs()
	case "array":
		return arrayFields.docs()
	}
	return nil
}
