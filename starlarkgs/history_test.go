package starlarkgs_test

import (
	"bytes"
	"context"
	"os"
	"testing"
)

// TestUndoSavesTheSameBytes edits a model in every way that the history knows,
// takes it all back, and saves.
func TestUndoSavesTheSameBytes(t *testing.T) {
	t.Chdir(t.TempDir())
	h, _ := newHost(t)
	const script = `
x = variable("x", "float32", ["N", 2])
g = graph(inputs = [x])
w = tensor("w", values = np.ones([2, 2], "float32"))
g.outputs = [g.op.MatMul(x, w)]
g.save("a.onnx")
m = open("a.onnx")
m.save("b.onnx")
w = m.tensor("w")
w.values[0, 0] = 5
w.values[np.array([1])] = 6
w.to_variable("float32", [2, 2])
w.values = np.zeros([2, 2], "float32")
m.inputs[0].name = "other"
m.nodes[0].attrs["k"] = [1, 2]
m.opset = 13
m.doc = "text"
m.cleanup(remove_unused_graph_inputs = True)
m.insert_after("other", "Relu")
m.inputs.clear()
m.nodes.clear()
assert.true(len(m.history()) > 10)
m.undo(100)
m.save("c.onnx")
`
	if _, err := h.RunSource(context.Background(), "undo.star", script, nil); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("b.onnx")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("c.onnx")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the model after undo has %d bytes and differs from the one before, %d bytes", len(got), len(want))
	}
}
