package value

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// Builder is a layer builder that a script registered.
type Builder struct {
	Name     string
	Opsets   []int // empty means all
	Override bool
	Fn       starlark.Callable
	Pos      syntax.Position // of the function
	Doc      string
	unit     *Unit
}

// file names the file whose execution registered the builder. All that is typed
// at a prompt is one file.
func (b *Builder) file() string {
	if b.unit != nil {
		return b.unit.File
	}
	return b.Pos.Filename()
}

// covers reports whether the builder serves the opset.
func (b *Builder) covers(opset int) bool {
	return len(b.Opsets) == 0 || slices.Contains(b.Opsets, opset)
}

func (b *Builder) overlaps(c *Builder) bool {
	if len(b.Opsets) == 0 || len(c.Opsets) == 0 {
		return true
	}
	return slices.ContainsFunc(b.Opsets, func(v int) bool { return slices.Contains(c.Opsets, v) })
}

// Registry holds the builders of a host, by name.
type Registry struct {
	builders map[string][]*Builder
	reserved func(name string) bool
}

// NewRegistry returns an empty registry; reserved tells which names are
// attributes of graph, which no builder may take.
func NewRegistry(reserved func(string) bool) *Registry {
	return &Registry{builders: map[string][]*Builder{}, reserved: reserved}
}

// Add registers b, which the execution u defines. From one file the same name
// and opset may come once in an execution, unless b overrides; a later
// execution of that file replaces what an earlier one registered.
func (r *Registry) Add(b *Builder, u *Unit) error {
	if r.reserved != nil && r.reserved(b.Name) {
		return fmt.Errorf("register: %q is a field or method of graph; a builder needs another name: register(name=…)", b.Name)
	}
	b.unit = u
	kept := make([]*Builder, 0, len(r.builders[b.Name])+1)
	for _, old := range r.builders[b.Name] {
		if old.file() != b.file() || !old.overlaps(b) {
			kept = append(kept, old)
			continue
		}
		if old.unit == u && u != nil && !b.Override {
			return fmt.Errorf("register: %q is registered twice for %s: at %s and at %s (give the second one override=True to replace the first)",
				b.Name, opsetText(b), old.Pos, b.Pos)
		}
	}
	r.builders[b.Name] = append(kept, b)
	return nil
}

func opsetText(b *Builder) string {
	if len(b.Opsets) == 0 {
		return "all opsets"
	}
	return fmt.Sprintf("opsets %v", b.Opsets)
}

// Lookup returns the builder of that name for the opset, or nil. Builders of
// several files for it are an error until one of them overrides.
func (r *Registry) Lookup(name string, opset int) (*Builder, error) {
	var found []*Builder
	for _, b := range r.builders[name] {
		if b.covers(opset) {
			found = append(found, b)
		}
	}
	if len(found) <= 1 {
		return first(found), nil
	}
	var over []*Builder
	for _, b := range found {
		if b.Override {
			over = append(over, b)
		}
	}
	if len(over) == 1 {
		return over[0], nil
	}
	places := make([]string, len(found))
	for i, b := range found {
		places[i] = b.Pos.String()
	}
	return nil, fmt.Errorf("graph.%s: several files register it for opset %d: %s (give one of them override=True, or call the function itself)",
		name, opset, strings.Join(places, " and "))
}

func first(bs []*Builder) *Builder {
	if len(bs) == 0 {
		return nil
	}
	return bs[0]
}

// Names returns the names that have a builder for the opset, sorted; 0 means any.
func (r *Registry) Names(opset int) []string {
	var names []string
	for name, bs := range r.builders {
		if opset == 0 || slices.ContainsFunc(bs, func(b *Builder) bool { return b.covers(opset) }) {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}

// OpsetsOf returns the opsets that builders of that name serve, for an error.
func (r *Registry) OpsetsOf(name string) []int {
	var all []int
	for _, b := range r.builders[name] {
		all = append(all, b.Opsets...)
	}
	sort.Ints(all)
	return slices.Compact(all)
}

// All returns every builder, sorted by name.
func (r *Registry) All() []*Builder {
	var all []*Builder
	for _, name := range r.Names(0) {
		all = append(all, r.builders[name]...)
	}
	return all
}
