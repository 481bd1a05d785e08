package ops_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
)

// number is a JSON number, or the name of one that JSON lacks.
type number float64

// UnmarshalJSON reads 1.5, true, "NaN" or "-Inf".
func (n *number) UnmarshalJSON(b []byte) error {
	s := string(b)
	if len(s) > 2 && s[0] == '"' {
		s = s[1 : len(s)-1]
	}
	switch s {
	case "true":
		s = "1"
	case "false":
		s = "0"
	}
	v, err := strconv.ParseFloat(s, 64)
	*n = number(v)
	return err
}

type oracleArray struct {
	Type  string          `json:"t"`
	Shape []int           `json:"s"`
	Data  json.RawMessage `json:"v"`
}

type oracleAttr struct {
	I  *int64   `json:"i"`
	F  *number  `json:"f"`
	S  *string  `json:"s"`
	Is []int64  `json:"is"`
	Fs []number `json:"fs"`
	Ss []string `json:"ss"`
}

type oracleCase struct {
	Op     string                `json:"op"`
	Domain string                `json:"domain"`
	Opset  int                   `json:"opset"`
	Attrs  map[string]oracleAttr `json:"attrs"`
	In     []*oracleArray        `json:"in"`
	Out    []*oracleArray        `json:"out"`
}

func (o *oracleArray) array(t *testing.T) array.Value {
	t.Helper()
	if o == nil {
		return nil
	}
	if o.Type == "string" {
		var ss []string
		if err := json.Unmarshal(o.Data, &ss); err != nil {
			t.Fatal(err)
		}
		return array.FromStrings(ss, o.Shape...)
	}
	var ns []number
	if err := json.Unmarshal(o.Data, &ns); err != nil {
		t.Fatal(err)
	}
	vs := make([]float64, len(ns))
	for i, n := range ns {
		vs[i] = float64(n)
	}
	dt, err := array.ParseDType(o.Type)
	if err != nil {
		t.Fatal(err)
	}
	a, err := array.FromSlice(vs, o.Shape...).Cast(dt)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (o oracleAttr) attr(name string) *ir.Attr {
	switch {
	case o.I != nil:
		return attr(name, *o.I)
	case o.F != nil:
		return attr(name, float32(*o.F))
	case o.S != nil:
		return attr(name, *o.S)
	case o.Is != nil:
		return attr(name, o.Is)
	case o.Ss != nil:
		return attr(name, o.Ss)
	}
	fs := make([]float32, len(o.Fs))
	for i, f := range o.Fs {
		fs[i] = float32(f)
	}
	return attr(name, fs)
}

func (o *oracleCase) test(t *testing.T) nodeTest {
	t.Helper()
	n := nodeTest{op: o.Op, opset: o.Opset, outs: len(o.Out)}
	if o.Domain != "" {
		n.op = o.Domain + "::" + o.Op
	}
	for name, a := range o.Attrs {
		n.attrs = append(n.attrs, a.attr(name))
	}
	for _, a := range o.In {
		n.in = append(n.in, a.array(t))
	}
	for i, a := range o.Out {
		if a == nil {
			if n.omit == nil {
				n.omit = map[int]bool{}
			}
			n.omit[i] = true
		}
	}
	return n
}

// TestOracle compares kernels with what ONNX Runtime gave for the same nodes:
// testdata/oracle.py made the file.
func TestOracle(t *testing.T) {
	data, err := os.ReadFile("testdata/oracle.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []oracleCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 100 {
		t.Fatalf("got %d cases, want at least 100", len(cases))
	}
	for i := range cases {
		c := &cases[i]
		t.Run(fmt.Sprintf("%s_%d", c.Op, i), func(t *testing.T) {
			outs := c.test(t).eval(t)
			for k, want := range c.Out {
				same(t, fmt.Sprintf("output %d", k), outs[k], want.array(t))
			}
		})
	}
}

// TestNarrow runs the oracle's float32 cases in float16, bfloat16 and float64:
// a kernel that takes the type must agree to its precision.
func TestNarrow(t *testing.T) {
	data, err := os.ReadFile("testdata/oracle.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []oracleCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	exact := map[string]bool{"Transpose": true, "Concat": true, "Split": true, "Expand": true, "Tile": true, "Slice": true, "Pad": true,
		"Gather": true, "GatherElements": true, "GatherND": true, "Compress": true, "RNN": false, "GRU": false, "LSTM": false}
	for i := range cases {
		c := &cases[i]
		isExact, ok := exact[c.Op]
		if !ok || c.In[0].Type != "float32" {
			continue
		}
		for dt, tol := range map[array.DType]float64{array.Float16: 1e-2, array.BFloat16: 8e-2, array.Float64: 1e-5} {
			n := c.test(t)
			for k, v := range n.in {
				if a, ok := v.(*array.Array); ok && a.DType() == array.Float32 {
					if n.in[k], err = a.Cast(dt); err != nil {
						t.Fatal(err)
					}
				}
			}
			got := n.eval(t)[0].(*array.Array)
			want := c.Out[0].array(t).(*array.Array)
			if isExact {
				if want, err = want.Cast(dt); err != nil {
					t.Fatal(err)
				}
				same(t, fmt.Sprintf("%s_%d of %s", c.Op, i, dt), got, want)
				continue
			}
			if got.DType() != dt {
				t.Errorf("%s_%d: got %s, want %s", c.Op, i, got.DType(), dt)
			}
			for k := range want.Size() {
				x, y := got.At(k).(float64), want.At(k).(float64)
				if math.Abs(x-y) > tol*(1+math.Abs(y)) {
					t.Errorf("%s_%d of %s: element %d: got %v, want %v", c.Op, i, dt, k, x, y)
					break
				}
			}
		}
	}
}
