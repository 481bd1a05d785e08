package onnx

import (
	"testing"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
)

// small returns a model with weights, a body and a function, as bytes.
func small(t testing.TB) []byte {
	m := ir.NewModel("small", ir.Import{Version: 21})
	g := m.Graph()
	cond := ir.NewTensor("cond", ir.TensorType(array.Bool, ir.Shape{}))
	x := ir.NewTensor("x", ir.TensorType(array.Float32, ir.Shape{ir.Sym("N"), ir.Num(600)}))
	g.SetInputs(cond, x)
	w := ir.NewConstant("w", array.New(array.Float32, 600))
	body := func(name string) *ir.Graph {
		b := ir.NewGraph(name)
		y := ir.NewTensor(name+"_y", nil)
		b.AddNode(ir.NewNode("Add", []*ir.Tensor{x, w}, []*ir.Tensor{y}))
		b.SetOutputs(y)
		return b
	}
	out := ir.NewTensor("out", nil)
	g.AddInitializer(w)
	g.AddNode(ir.NewNode("If", []*ir.Tensor{cond}, []*ir.Tensor{out}, ir.NewAttr("then_branch", body("t")), ir.NewAttr("else_branch", body("e"))))
	g.SetOutputs(out)
	data, err := Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// FuzzRead reads damaged models: whatever the bytes, there is a model or an error.
func FuzzRead(f *testing.F) {
	data := small(f)
	f.Add(data)
	for _, n := range []int{1, 10, 50, 100} {
		f.Add(data[:len(data)-n])
	}
	f.Add([]byte("version https://git-lfs.github.com/spec/v1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Read(data)
		if err != nil {
			return
		}
		if _, err := Marshal(m); err != nil {
			t.Logf("not written again: %v", err)
		}
	})
}

// TestTruncation cuts a model at every byte.
func TestTruncation(t *testing.T) {
	data := small(t)
	for n := range len(data) {
		if m, err := Read(data[:n]); err == nil && m.Graph().NumNodes() > 0 && n < len(data)-2500 {
			t.Errorf("a model cut at byte %d of %d opened with %d nodes", n, len(data), m.Graph().NumNodes())
		}
	}
}

// TestSaveTwice saves a model, opens it, saves it over itself and compares.
func TestSaveTwice(t *testing.T) {
	m, err := Read(small(t))
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() + "/m.onnx"
	if _, err := Save(m, path, SaveOptions{}); err != nil {
		t.Fatal(err)
	}
	again, err := Open(path, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	first, err := Marshal(again)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Save(again, path, SaveOptions{}); err != nil {
		t.Fatal(err)
	}
	second, err := Marshal(again)
	if err != nil || string(first) != string(second) {
		t.Errorf("saving twice gives other bytes: %v", err)
	}
}
