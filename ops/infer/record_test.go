package infer_test

import (
	"testing"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops/infer"
)

// TestLoopIsRecordedLast infers a loop whose carried value doubles in each round:
// no size of an early round may be recorded, in its body or behind it.
func TestLoopIsRecordedLast(t *testing.T) {
	m := ir.NewModel("loop", ir.Import{Version: 21})
	g := m.Graph()
	x := ir.NewTensor("x", ir.TensorType(array.Float32, ir.Ints(3)))
	g.SetInputs(x)
	body := ir.NewGraph("body")
	i, cond, v := ir.NewTensor("i", nil), ir.NewTensor("cond", nil), ir.NewTensor("v", nil)
	body.SetInputs(i, cond, v)
	twice := ir.NewTensor("twice", nil)
	body.AddNode(ir.NewNode("Concat", []*ir.Tensor{v, v}, []*ir.Tensor{twice}, ir.NewAttr("axis", 0)))
	body.SetOutputs(cond, twice)
	trips := ir.NewConstant("trips", array.Scalar(int64(4)))
	y := ir.NewTensor("y", nil)
	g.AddNode(ir.NewNode("Loop", []*ir.Tensor{trips, nil, x}, []*ir.Tensor{y}, ir.NewAttr("body", body)))
	g.SetOutputs(y)
	for range 2 {
		r := infer.Model(m)
		if len(r.Conflicts) > 0 || len(r.Problems) > 0 {
			t.Errorf("got conflicts %v and problems %v, want none", r.Conflicts, r.Problems)
		}
		for _, u := range []*ir.Tensor{twice, y} {
			typ := u.RecordedType()
			if typ == nil || typ.Elem != array.Float32 || len(typ.Shape) != 1 {
				t.Fatalf("%s: got type %v, want float32 of rank 1", u.Name(), typ)
			}
			if n, ok := typ.Shape[0].Size(); ok {
				t.Errorf("%s: got size %d, want none: it differs from round to round", u.Name(), n)
			}
		}
	}
}
