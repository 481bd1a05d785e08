package runtime_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/runtime"
	"github.com/starlarkgs/starlarkgs/runtime/reference"
)

func TestCheckFinite(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	bad := array.FromSlice([]float32{1, inf, nan, nan}, 2, 2)
	half, err := bad.Cast(array.BFloat16)
	if err != nil {
		t.Fatal(err)
	}
	good := array.FromSlice([]float32{1, math.MaxFloat32})
	for _, tt := range []struct {
		name string
		v    array.Value
		want string // "" for all is finite
	}{
		{"none", nil, ""},
		{"finite", good, ""},
		{"empty", array.FromSlice([]float32{}), ""},
		{"int", array.FromSlice([]int64{math.MaxInt64}), ""},
		{"string", array.FromStrings([]string{"NaN"}), ""},
		{"float32", bad, "2 NaN and 1 Inf of 4 elements, the first at [0 1]"},
		{"bfloat16", half, "2 NaN and 1 Inf of 4 elements, the first at [0 1]"},
		{"scalar", array.Scalar(math.Inf(1)), "1 Inf of 1 elements, the first at []"},
		{"complex", array.FromSlice([]complex128{complex(1, 1), complex(0, math.NaN()), complex(math.Inf(1), 0)}), "1 NaN and 1 Inf of 3 elements, the first at [1]"},
		{"sequence", &array.Sequence{Items: []array.Value{good, bad}}, "2 NaN and 1 Inf of 6 elements, the first at [0 1]"},
		{"map", &array.Map{Keys: array.FromSlice([]int64{7}), Values: []array.Value{bad}}, "2 NaN and 1 Inf of 4 elements, the first at [0 1]"},
		{"optional", &array.Optional{Value: bad}, "2 NaN and 1 Inf of 4 elements, the first at [0 1]"},
		{"absent", &array.Optional{}, ""},
	} {
		n, err := runtime.CheckFinite(tt.v)
		got := ""
		if n.First != nil {
			got = n.Text()
		}
		if err != nil || got != tt.want {
			t.Errorf("%s: got %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
}

// The first value is named whatever order the nodes stand in, be it an input, what
// a constant spoils, or what no constant explains; outputs that are finite hide
// nothing, and then nothing is said.
func TestValidate(t *testing.T) {
	f := func() *ir.Type { return ir.TensorType(array.Float32, ir.Ints(2)) }
	model := func(weight float32) *ir.Model {
		m := ir.NewModel("m", ir.Import{Version: 21})
		g := m.Graph()
		x, w, s, l, y, z := ir.NewTensor("x", f()), ir.NewTensor("w", f()), ir.NewTensor("s", f()), ir.NewTensor("l", f()), ir.NewTensor("y", f()), ir.NewTensor("z", f())
		g.SetInputs(x)
		last := ir.NewNode("Add", []*ir.Tensor{l, w}, []*ir.Tensor{y})
		last.SetName("last")
		for _, n := range []*ir.Node{
			last, // out of order
			ir.NewNode("Constant", nil, []*ir.Tensor{w}, &ir.Attr{Name: "value", Kind: ir.AttrTensor, Value: &ir.Literal{Array: array.FromSlice([]float32{1, weight})}}),
			ir.NewNode("Abs", []*ir.Tensor{x}, []*ir.Tensor{s}),
			ir.NewNode("Log", []*ir.Tensor{s}, []*ir.Tensor{l}),
			ir.NewNode("Neg", []*ir.Tensor{s}, []*ir.Tensor{z}),
		} {
			g.AddNode(n)
		}
		g.SetOutputs(y, z)
		return m
	}
	nan := float32(math.NaN())
	for _, tt := range []struct {
		name        string
		x           []float32
		w           float32
		first, want string
	}{
		{"finite", []float32{1, 2}, 0, "", ""},
		{"an input", []float32{1, nan}, 0, "x", `["y" "z"] hold NaN or Inf; the first value that does, in topological order, is the input "x": 1 NaN of 2 elements, the first at [1]`},
		{"a node", []float32{0, 1}, 0, "l", `"y" holds NaN or Inf; the first value that does, in topological order, is "l" (Log): 1 Inf of 2 elements, the first at [0]`},
		{"a constant", []float32{1, 1}, nan, "y", `"y" holds NaN or Inf; the first value that does, in topological order, is "y" of node "last" (Add): 1 NaN of 2 elements, the first at [1]; the constant "w" that it reads has 1 NaN of 2 elements, the first at [1]`},
	} {
		m := model(tt.w)
		inputs := map[string]array.Value{"x": array.FromSlice(tt.x)}
		run := func(outputs ...string) (map[string]array.Value, error) {
			s, err := reference.New().NewSession(t.Context(), m, runtime.Options{Outputs: outputs})
			if err != nil {
				return nil, err
			}
			defer s.Close()
			return s.Run(t.Context(), inputs)
		}
		out, err := run()
		if err != nil {
			t.Fatal(err)
		}
		err = runtime.Validate(m.Graph(), inputs, out, func() (map[string]array.Value, error) { return run(runtime.All) })
		var bad *runtime.NotFiniteError
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: got %v, want no error", tt.name, err)
		case tt.want != "" && (!errors.As(err, &bad) || bad.First != tt.first || err.Error() != "validate: "+tt.want):
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
		err = runtime.Validate(m.Graph(), inputs, out, func() (map[string]array.Value, error) { return nil, errors.New("no memory") })
		if tt.want != "" && !strings.HasSuffix(err.Error(), "running for every value, to find the first: no memory") {
			t.Errorf("%s: got %v, want why the first value is not known", tt.name, err)
		}
	}
}
