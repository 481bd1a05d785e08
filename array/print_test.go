package array

import (
	"encoding/json"
	"os"
	"testing"
)

// TestPrint compares with what NumPy 2 prints, recorded in testdata/print.json.
func TestPrint(t *testing.T) {
	data, err := os.ReadFile("testdata/print.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		DType  string
		Shape  []int
		Values []any
		Want   string
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		dt, err := ParseDType(c.DType)
		if err != nil {
			t.Fatal(err)
		}
		a := New(dt, c.Shape...)
		for i := range a.Size() {
			var v any = i
			if c.Values != nil {
				v = c.Values[i]
			}
			if s, ok := v.(string); ok {
				x, err := New(Float64, 1), error(nil)
				if err = x.parse(0, s, rounding{saturate: true}); err != nil {
					t.Fatal(err)
				}
				v = x.At(0)
			}
			if err := a.SetAt(i, v); err != nil {
				t.Fatal(err)
			}
		}
		if got := a.String(); got != c.Want {
			t.Errorf("%s%v %v prints\n%s\nwant\n%s", c.DType, c.Shape, c.Values, got, c.Want)
		}
	}
}
