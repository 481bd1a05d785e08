package starlarkgs_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"sort"
	"strings"
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/starlarkgs"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

// assertModule is assert for scripts under test.
func assertModule() starlark.Value {
	eq := starlark.NewBuiltin("assert.eq", func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		if len(args) != 2 {
			return nil, fmt.Errorf("assert.eq: got %d arguments, want 2", len(args))
		}
		same, err := starlark.Equal(args[0], args[1])
		if err != nil {
			return nil, err
		}
		if !same {
			return nil, fmt.Errorf("assert.eq: got %s, want %s", args[0], args[1])
		}
		return starlark.None, nil
	})
	yes := starlark.NewBuiltin("assert.true", func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		if len(args) != 1 || !bool(args[0].Truth()) {
			return nil, fmt.Errorf("assert.true: got %s", args)
		}
		return starlark.None, nil
	})
	return starlarkstruct.FromStringDict(starlark.String("assert"), starlark.StringDict{"eq": eq, "true": yes})
}

func newHost(t *testing.T) (*starlarkgs.Host, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	h := starlarkgs.New(starlarkgs.Options{Stdout: &out, Stderr: &out, Predeclared: starlark.StringDict{"assert": assertModule()}})
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

// TestStar runs the chunks of testdata/*.star: a chunk is named by its first
// comment; `### text` on a line means that the chunk fails with an error at that
// line that holds the text.
func TestStar(t *testing.T) {
	files, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".star") || strings.HasPrefix(file.Name(), "lib_") {
			continue
		}
		src, err := os.ReadFile("testdata/" + file.Name())
		if err != nil {
			t.Fatal(err)
		}
		line := 0
		for _, chunk := range strings.Split(string(src), "\n---\n") {
			name := strings.TrimPrefix(strings.SplitN(strings.TrimSpace(chunk), "\n", 2)[0], "# ")
			padded := strings.Repeat("\n", line) + chunk
			line += strings.Count(chunk, "\n") + 2
			t.Run(strings.TrimSuffix(file.Name(), ".star")+"/"+name, func(t *testing.T) { runChunk(t, dir+"/testdata/"+file.Name(), padded) })
		}
	}
}

func runChunk(t *testing.T, name, src string) {
	want, wantLine := "", 0
	for i, line := range strings.Split(src, "\n") {
		if _, text, ok := strings.Cut(line, "### "); ok {
			want, wantLine = strings.TrimSpace(text), i+1
		}
	}
	t.Chdir(t.TempDir())
	var out bytes.Buffer
	h := starlarkgs.New(starlarkgs.Options{Stdout: &out, Stderr: &out, ReadDirs: []string{".", name[:strings.LastIndexByte(name, '/')]},
		Predeclared: starlark.StringDict{"assert": assertModule()}})
	_, err := h.RunSource(context.Background(), name, src, nil)
	switch {
	case want == "" && err != nil:
		t.Error(err)
	case want != "" && err == nil:
		t.Errorf("no error, want one at line %d: %s", wantLine, want)
	case want != "":
		text := err.Error()
		if !strings.Contains(text, want) || !strings.Contains(text, fmt.Sprintf(":%d:", wantLine)) {
			t.Errorf("got the error\n%s\nwant one at line %d that holds: %s", text, wantLine, want)
		}
	}
}
