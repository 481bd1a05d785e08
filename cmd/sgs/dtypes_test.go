package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"math/cmplx"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx"
	"github.com/starlarkgs/starlarkgs/runtime"
)

//go:embed testdata/dtypes.json
var dtypesJSON []byte

// dtypeCase is what the onnx package says of one element type: two models with
// seven elements of it, and their values; numbers of float32 cast to the type,
// and the seven cast to float32.
type dtypeCase struct {
	ONNX       string
	Typed, Raw []byte
	Values     []any // strings; of a complex number two of them
	From       []string
	FromFloat  []string `json:"from_float"`
	ToFloat    []string `json:"to_float"`
}

// TestDTypes takes each element type through opening from both kinds of storage,
// printing, an edit, casts, saving and comparing.
func TestDTypes(t *testing.T) {
	var cases []dtypeCase
	if err := json.Unmarshal(dtypesJSON, &cases); err != nil {
		t.Fatal(err)
	}
	if got, want := len(cases), len(array.DTypes()); got != want {
		t.Errorf("got cases of %d types, want one of each of the %d", got, want)
	}
	for _, c := range cases {
		t.Run(c.ONNX, func(t *testing.T) {
			dt, err := array.ParseDType(c.ONNX)
			if err != nil {
				t.Fatal(err)
			}
			for storage, data := range map[string][]byte{"typed": c.Typed, "raw": c.Raw} {
				if data != nil {
					t.Run(storage, func(t *testing.T) { c.opened(t, dt, data) })
				}
			}
			if c.From != nil {
				c.casts(t, dt)
			}
		})
	}
}

func (c *dtypeCase) opened(t *testing.T, dt array.DType, data []byte) {
	m, err := onnx.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	again, err := onnx.Marshal(m)
	if err != nil || string(again) != string(data) {
		t.Errorf("saved without an edit: got %d bytes, %v, want the same %d", len(again), err, len(data))
	}
	w := weight(m)
	if w.DType() != dt {
		t.Errorf("got %s, want %s", w.DType(), dt)
	}
	c.holds(t, "opened", w, -1)
	c.printed(t, w)

	before := w.Copy()
	const changed, from = 2, 3 // element 2 becomes what element 3 is
	if err := w.SetAt(changed, w.At(from)); err != nil {
		t.Fatal(err)
	}
	m.Graph().Initializers()[0].SetArray(w)
	path := filepath.Join(t.TempDir(), "m.onnx")
	for _, external := range []onnx.External{onnx.ExternalNone, onnx.ExternalSingle} {
		if dt == array.String && external != onnx.ExternalNone {
			continue // a string has no bytes that could lie outside
		}
		if _, err := onnx.Save(m, path, onnx.SaveOptions{External: external}); err != nil {
			t.Fatal(err)
		}
		saved, err := onnx.Open(path, onnx.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		c.holds(t, "edited and saved", weight(saved), changed)
		c.compared(t, before, weight(saved))
	}
}

func weight(m *ir.Model) *array.Array { return m.Graph().Initializers()[0].Array() }

// holds compares the elements; that at changed is the next one's.
func (c *dtypeCase) holds(t *testing.T, when string, a *array.Array, changed int) {
	t.Helper()
	if a.Size() != len(c.Values) {
		t.Fatalf("%s: got %d elements, want %d", when, a.Size(), len(c.Values))
	}
	for i := range c.Values {
		want := c.Values[i]
		if i == changed {
			want = c.Values[i+1]
		}
		if !means(a.At(i), want) {
			t.Errorf("%s: element %d: got %v, want %v", when, i, a.At(i), want)
		}
	}
}

// means reports whether a value as At returns is what the text says.
func means(v, text any) bool {
	switch v := v.(type) {
	case complex128:
		parts := text.([]any)
		return means(real(v), parts[0]) && means(imag(v), parts[1])
	case float64:
		f, err := strconv.ParseFloat(text.(string), 64)
		return err == nil && (v == f && math.Signbit(v) == math.Signbit(f) || math.IsNaN(v) && math.IsNaN(f))
	case bool:
		return text == strconv.Itoa(map[bool]int{true: 1}[v])
	}
	return text == fmt.Sprint(v)
}

// printed asks that each number stands in the text of the array.
func (c *dtypeCase) printed(t *testing.T, a *array.Array) {
	text := a.String()
	fields := strings.FieldsFunc(strings.Trim(text, "[]"), func(r rune) bool { return r == ' ' || r == '\n' })
	if a.DType() == array.String {
		for _, v := range c.Values {
			if s := strconv.Quote(v.(string)); !strings.Contains(text, strings.Trim(s, `"`)) && !strings.Contains(text, strings.Trim(strconv.QuoteToASCII(v.(string)), `"`)) {
				t.Errorf("printed: got %s, want %s in it", text, s)
			}
		}
		return
	}
	if len(fields) != len(c.Values) {
		t.Fatalf("printed: got %q, want %d elements", text, len(c.Values))
	}
	for i, f := range fields {
		var ok bool
		switch a.DType() {
		case array.Bool:
			ok = f == map[any]string{true: "True", false: "False"}[a.At(i)]
		case array.Complex64, array.Complex128:
			v, err := strconv.ParseComplex(strings.ReplaceAll(f, "j", "i"), 128)
			ok = err == nil && (v == a.At(i) || cmplx.IsNaN(v) && cmplx.IsNaN(a.At(i).(complex128)))
		default:
			v, err := strconv.ParseFloat(f, 64)
			want, _ := strconv.ParseFloat(c.Values[i].(string), 64)
			ok = err == nil && (math.IsNaN(v) && math.IsNaN(want) || math.Abs(v-want) <= 1e-7*math.Abs(want))
		}
		if !ok {
			t.Errorf("printed: element %d: got %q, want %v", i, f, c.Values[i])
		}
	}
}

// compared asks that the one edit is seen, and that alone.
func (c *dtypeCase) compared(t *testing.T, before, after *array.Array) {
	if d := runtime.Compare(after, after.Copy(), runtime.Tolerance{EqualNaN: true}); !d.OK {
		t.Errorf("compared with itself: got %s", d.Text())
	}
	d := runtime.Compare(after, before, runtime.Tolerance{EqualNaN: true})
	if same := fmt.Sprint(before.At(2)) == fmt.Sprint(before.At(3)); d.OK != same {
		t.Errorf("compared with what it was: got %s, want equal: %v", d.Text(), same)
	}
}

func (c *dtypeCase) casts(t *testing.T, dt array.DType) {
	m, err := onnx.Read(c.Typed)
	if err != nil {
		t.Fatal(err)
	}
	wide, err := weight(m).Cast(array.Float32)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "cast to float32", wide, c.ToFloat)
	in := make([]float32, len(c.From))
	for i, s := range c.From {
		v, err := strconv.ParseFloat(s, 32)
		if err != nil {
			t.Fatal(err)
		}
		in[i] = float32(v)
	}
	narrow, err := array.FromSlice(in).Cast(dt)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "cast from float32", narrow, c.FromFloat)
}

func want(t *testing.T, what string, a *array.Array, texts []string) {
	t.Helper()
	for i, s := range texts {
		if !means(a.At(i), s) {
			t.Errorf("%s: element %d: got %v, want %s", what, i, a.At(i), s)
		}
	}
}
