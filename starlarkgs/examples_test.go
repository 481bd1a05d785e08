package starlarkgs_test

import (
	"bytes"
	"context"
	"path/filepath"
	"sort"
	"testing"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/builtins/assert"
	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/internal/startest"
	"github.com/starlarkgs/starlarkgs/starlarkgs"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
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
func allFuncs(h *starlarkgs.Host) []*builtin.Func {
	seen := map[*builtin.Func]bool{}
	var out []*builtin.Func
	add := func(f *builtin.Func) {
		if f != nil && !seen[f] {
			seen[f] = true
			out = append(out, f)
		}
	}
	var visit func(v starlark.Value)
	visit = func(v starlark.Value) {
		switch v := v.(type) {
		case *builtin.Callable:
			add(v.Func())
		case *builtin.Module:
			for _, m := range v.Members {
				visit(m)
			}
		}
	}
	for _, v := range h.Predeclared() {
		visit(v)
	}
	tables := []value.Methods{value.ArrayMethods}
	for _, m := range h.Env().Methods {
		tables = append(tables, m)
	}
	for _, m := range tables {
		if t, ok := m.(*builtin.Table); ok {
			for _, name := range t.Names() {
				add(t.Lookup(name))
			}
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// TestExamples runs the example of every function and method: each must have
// one, and documentation.
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
			h, _ := newHost(t)
			if _, err := h.RunSource(context.Background(), "example.star", f.Example, nil); err != nil {
				t.Errorf("%s:\n%s\n%v", f.Name, f.Example, err)
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
