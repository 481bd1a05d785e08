package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx"
)

// evil is a text that would clear the terminal, rename its window and turn the
// direction of writing round.
const evil = "a\x1b[2J\x1b]0;owned\x07\u202e\u009b31m\r\x00b"

// TestS16Text prints a model whose every text is evil, in every way: no
// character that a terminal obeys comes through.
func TestS16Text(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "m.onnx")
	m := ir.NewModel(evil, ir.Import{Version: 21}, ir.Import{Domain: evil, Version: 1})
	m.SetDoc(evil)
	m.SetProducer(evil, evil)
	m.SetMetadata([]ir.Prop{{Key: evil, Value: evil}})
	g := m.Graph()
	x := ir.NewTensor(evil+"x", ir.TensorType(array.Float32, ir.Shape{ir.Sym(evil)}))
	x.SetDoc(evil)
	g.SetInputs(x)
	w := ir.NewConstant(evil+"w", array.FromStrings([]string{evil}))
	g.AddInitializer(w)
	y := ir.NewTensor(evil+"y", nil)
	n := ir.NewNode(evil, []*ir.Tensor{x, w}, []*ir.Tensor{y}, ir.NewAttr(evil, evil), ir.NewAttr("list", []string{evil}))
	n.SetName(evil)
	n.SetDomain(evil)
	n.SetDoc(evil)
	g.AddNode(n)
	g.SetOutputs(y)
	m.SetFunctions([]*ir.Function{ir.NewFunction(evil, evil, evil, ir.Import{Version: 21})})
	if _, err := onnx.Save(m, path, onnx.SaveOptions{}); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "s.star")
	if err := os.WriteFile(script, []byte(`
g = open(argv[0])
print(g); print(g.nodes[0]); print(g.inputs[0]); print(g.nodes[0].attrs); print(g.nodes[0].inputs[1].values)
print(g, g.nodes, g.inputs, g.functions, g.metadata, g.nodes[0].attrs, g.inputs[0].shape)
print([g.nodes[0]], repr(g.inputs[0].type), g.tensors(), g.lint())
print(try_call(g.node, "zz"), try_call(g.tensor, "a"), try_call(lambda: run(g, {})))
`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"inspect", path}, {"inspect", path, "--show", "layers,attrs,weights,shapes,functions,metadata", "--stats"}, {"inspect", path, "--json"},
		{"run", "--allow-read", dir, script, path}, {"infer", path}, {"extract", path, "-o", dir + "/o.onnx", "--outputs", "zz"}, {"sanitize", path, "-o", dir + "/o.onnx"},
	} {
		_, out, errs := sgs(t, args...)
		if out+errs == "" {
			t.Errorf("sgs %q prints nothing", args)
		}
		for _, r := range out + errs {
			if unicode.IsControl(r) && r != '\n' && r != '\t' || r == '\u202e' {
				t.Errorf("sgs %s: %q is printed, in %q", args[0], r, around(out+errs, r))
				break
			}
		}
	}
}

func around(s string, r rune) string {
	i := strings.IndexRune(s, r)
	return s[max(0, i-60):min(len(s), i+60)]
}
