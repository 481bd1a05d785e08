package builtin

import (
	"fmt"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/internal/spell"
)

// Module is a named set of functions and values, such as np.
type Module struct {
	Name    string
	Doc     string
	Members starlark.StringDict
}

var _ starlark.HasAttrs = (*Module)(nil)

// NewModule makes a module of table entries, whose names it qualifies
// ("np.zeros" is its member zeros), and of further values.
func NewModule(name, doc string, funcs []*Func, more starlark.StringDict) *Module {
	m := &Module{Name: name, Doc: doc, Members: make(starlark.StringDict, len(funcs)+len(more))}
	for _, f := range funcs {
		if m.Members.Has(f.Base()) {
			panic(fmt.Sprintf("internal error: module %s has two members %s", name, f.Base()))
		}
		m.Members[f.Base()] = f.Value()
	}
	for k, v := range more {
		m.Members[k] = v
	}
	return m
}

func (m *Module) String() string { return "<module " + m.Name + ">" }

// Type returns "module".
func (m *Module) Type() string { return "module" }

// Freeze freezes the members.
func (m *Module) Freeze() { m.Members.Freeze() }

// Truth reports true.
func (m *Module) Truth() starlark.Bool { return true }

// Hash refuses: a module is no key.
func (m *Module) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable type: module") }

// Attr returns a member.
func (m *Module) Attr(name string) (starlark.Value, error) {
	if v := m.Members[name]; v != nil {
		return v, nil
	}
	return nil, fmt.Errorf("%s has no .%s field or method%s", m.Name, name, spell.HintName(name, m.AttrNames()))
}

// AttrNames lists the members, sorted.
func (m *Module) AttrNames() []string { return m.Members.Keys() }
