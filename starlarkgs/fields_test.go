package starlarkgs_test

import (
	"os"
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/internal/startest"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

// chunkOf returns the text of a chunk of testdata/fields.star.
func chunkOf(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/fields.star")
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := startest.Split("fields.star", string(data))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range chunks {
		if c.Name == name {
			return c.Source
		}
	}
	t.Fatalf("testdata/fields.star has no chunk %q", name)
	return ""
}

// modelOnly are the fields that a function has because its body is a graph, and
// which say nothing of it.
var modelOnly = map[string]bool{"functions": true, "ir_version": true, "model_version": true, "producer_name": true, "producer_version": true}

// TestEveryField holds that each field of each type is documented, and that the
// chunk of its type in testdata/fields.star, which TestStar runs, reads it and
// assigns it where that can be done.
func TestEveryField(t *testing.T) {
	for _, typ := range []string{"graph", "function", "node", "tensor", "array"} {
		text := chunkOf(t, "fields of "+typ)
		fields := value.Fields(typ)
		if len(fields) < 6 {
			t.Errorf("%s: got %d fields, want at least 6", typ, len(fields))
		}
		for _, f := range fields {
			if typ == "function" && modelOnly[f.Name] {
				continue
			}
			if f.Doc == "" {
				t.Errorf("%s.%s has no documentation", typ, f.Name)
			}
			assigned := strings.Count(text, "."+f.Name+" = ")
			if reads := strings.Count(text, "."+f.Name) - assigned; reads < 1 || f.Settable && assigned == 0 {
				t.Errorf("fields.star: %s.%s is read %d times and assigned %d times, want both", typ, f.Name, reads, assigned)
			}
		}
	}
}

// TestEveryMethodOfViews holds that each method of a live list or dict is called
// in its chunk.
func TestEveryMethodOfViews(t *testing.T) {
	h, _ := newHost(t)
	for chunk, expr := range map[string]string{"methods of live lists": "graph().nodes", "methods of live dicts": "node(\"Op\", domain = \"x\").attrs"} {
		v, err := h.Eval(t.Context(), expr)
		if err != nil {
			t.Fatal(err)
		}
		text := chunkOf(t, chunk)
		for _, name := range v.(starlark.HasAttrs).AttrNames() {
			if !strings.Contains(text, "."+name+"(") {
				t.Errorf("fields.star: %s: .%s is not called", chunk, name)
			}
		}
	}
}
