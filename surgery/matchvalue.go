package surgery

import (
	"math"
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops/schema"
)

// constant reports whether t is a constant of the values of v.
func (m *matcher) constant(v *PatternValue, t *ir.Tensor) bool {
	got, want := fixedArray(t), v.values
	if got == nil || got.Size() != want.Size() || want.Rank() > 0 && !slices.Equal(got.Shape(), want.Shape()) || got.Load() != nil {
		return false
	}
	for i := range got.Size() {
		if !near(got.At(i), want.At(i), got.DType()) {
			return false
		}
	}
	return true
}

// fixedArray returns the values of a tensor that no caller can change: an
// initializer's or a Constant node's; nil where there are none.
func fixedArray(t *ir.Tensor) *array.Array {
	if isFixed(t) {
		return t.Array()
	}
	n, _ := t.Producer()
	if n == nil || !n.Is("Constant") || len(n.Attrs()) != 1 {
		return nil
	}
	l, err := constantValue(n.Attrs()[0])
	if err != nil {
		return nil
	}
	return l.Array
}

// near reports whether two elements are equal, or floats as near as what
// rounding to dt can make of one number.
func near(a, b any, dt array.DType) bool {
	x, okx := number(a)
	y, oky := number(b)
	if !okx || !oky {
		return a == b
	}
	if !dt.IsFloat() || x == y {
		return x == y
	}
	tolerance := 1e-5
	switch dt {
	case array.Float32, array.Float64:
	case array.Float16:
		tolerance = 1e-3
	default:
		tolerance = 1e-2
	}
	return math.Abs(x-y) <= tolerance*math.Abs(y)
}

// number returns the number that an element is.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// attrsFit reports whether n has the attributes, set or by default.
func attrsFit(want []*ir.Attr, n *ir.Node) bool {
	for _, w := range want {
		got := n.Attr(w.Name)
		if got == nil {
			got = defaultAttr(n, w.Name)
		}
		if got == nil || !attrFits(w, got) {
			return false
		}
	}
	return true
}

func defaultAttr(n *ir.Node, name string) *ir.Attr {
	s, ok := schema.Lookup(n.Domain(), n.Op(), n.Graph().Opset(n.Domain()))
	if !ok {
		return nil
	}
	if a := s.Attr(name); a != nil && a.Default != nil {
		return ir.NewAttr(name, a.Default)
	}
	return nil
}

func attrFits(want, got *ir.Attr) bool {
	w, isNumber := attrNumber(want.Value)
	g, isToo := attrNumber(got.Value)
	if isNumber && isToo && got.Ref == "" {
		return near(g, w, array.Float32)
	}
	return sameAttr(want, got)
}

func attrNumber(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float32:
		return float64(v), true
	}
	return 0, false
}
