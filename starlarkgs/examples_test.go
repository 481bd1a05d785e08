package starlarkgs_test

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/builtins/assert"
	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/builtins/docs"
	"github.com/starlarkgs/starlarkgs/internal/startest"
	"github.com/starlarkgs/starlarkgs/starlarkgs"
)

// assertModule is assert for scripts under test.
var assertModule = assert.Module()

func newHost(t testing.TB) (*starlarkgs.Host, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	h := starlarkgs.New(starlarkgs.Options{Stdout: &out, Stderr: &out, Predeclared: starlark.StringDict{"assert": assertModule}})
	return h, &out
}

// allFuncs returns every table entry that scripts can reach.
func allFuncs(h *starlarkgs.Host) []*builtin.Func { return docs.Funcs(h.Predeclared(), h.Env()) }

// TestExamples runs the example of every function and method: each must have
// one, which calls it and asserts something, and documentation.
func TestExamples(t *testing.T) {
	h, _ := newHost(t)
	funcs := allFuncs(h)
	if len(funcs) < 150 {
		t.Errorf("found %d functions, want at least 150", len(funcs))
	}
	t.Chdir(t.TempDir())
	for _, f := range funcs {
		t.Run(f.Name, func(t *testing.T) {
			if f.Doc == "" || f.Example == "" {
				t.Fatalf("%s has no documentation or no example", f.Name)
			}
			if f.Help() == "" {
				t.Errorf("%s has no help", f.Name)
			}
			called, asserted := f.Property, false // a property is read, not called
			h := starlarkgs.New(starlarkgs.Options{Predeclared: starlark.StringDict{"assert": assertModule}, Called: func(g *builtin.Func) {
				called = called || g == f || g.Name == f.Name
				asserted = asserted || strings.HasPrefix(g.Name, "assert.")
			}})
			if _, err := h.RunSource(context.Background(), "example.star", f.Example, nil); err != nil {
				t.Errorf("%s:\n%s\n%v", f.Name, f.Example, err)
			}
			if !called || !asserted {
				t.Errorf("the example of %s calls it: %t, asserts something: %t:\n%s", f.Name, called, asserted, f.Example)
			}
		})
	}
}

// TestStar runs the chunks of testdata, each in a new host and an empty folder.
func TestStar(t *testing.T) {
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	startest.Run(t, "testdata/*.star", func(t *testing.T, c startest.Chunk) error {
		t.Chdir(t.TempDir())
		h := starlarkgs.New(starlarkgs.Options{ReadDirs: []string{".", dir}, Predeclared: starlark.StringDict{"assert": assertModule}})
		_, err := h.RunSource(context.Background(), filepath.Join(dir, c.File), c.Source, nil)
		return err
	})
}

// TestDocs holds the index of sgs doc against what scripts find defined: every
// name, member of a module, field and method has an entry, and every entry says
// something.
func TestDocs(t *testing.T) {
	h, _ := newHost(t)
	x := docs.New(h.Predeclared(), h.Env())
	for _, e := range x.Entries() {
		if e.Summary == "" || e.Text == "" || e.Group == "" {
			t.Errorf("%s has no text", e.Name)
		}
	}
	var visit func(prefix string, names []string, of starlark.HasAttrs)
	visit = func(prefix string, names []string, of starlark.HasAttrs) {
		for _, name := range names {
			e, err := x.Find(prefix + name)
			if err != nil || e.Name != prefix+name {
				t.Errorf("%s%s has no entry of its own: %v", prefix, name, err)
			}
			if v, _ := of.Attr(name); v != nil && v.Type() == "module" && prefix+name != "sgs" {
				visit(prefix+name+".", v.(starlark.HasAttrs).AttrNames(), v.(starlark.HasAttrs))
			}
		}
	}
	all := h.Predeclared()["sgs"].(starlark.HasAttrs)
	visit("", all.AttrNames(), all)
	for typ, expr := range map[string]string{"graph": "graph()", "function": "function(\"F\")", "node": "node(\"Op\", domain = \"x\")", "tensor": "variable(\"x\")", "array": "np.zeros(1)"} {
		v, err := h.Eval(t.Context(), expr)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range v.(starlark.HasAttrs).AttrNames() {
			if e, err := x.Find(typ + "." + name); err != nil || e.Name != typ+"."+name && (typ != "function" || e.Name != "graph."+name) {
				t.Errorf("%s.%s has no entry of its own: %v", typ, name, err)
			}
		}
	}
}
