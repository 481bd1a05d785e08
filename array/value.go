package array

import "strings"

// Value is what flows along an edge of a graph that runs: an *Array, a
// *Sequence, a *Map, or an *Optional.
type Value interface {
	// Summary returns the one-line form, as "float32[2,3]".
	Summary() string
	isValue()
}

func (*Array) isValue()    {}
func (*Sequence) isValue() {}
func (*Map) isValue()      {}
func (*Optional) isValue() {}

// Sequence is an ordered list of values of one type.
type Sequence struct{ Items []Value }

// Summary returns "seq(float32[2], float32[3])", cut after a few items.
func (s *Sequence) Summary() string { return "seq(" + summaries(s.Items) + ")" }

// Map maps the elements of Keys, rank 1 of an integer type or strings, to Values.
type Map struct {
	Keys   *Array
	Values []Value
}

// Summary returns "map(int64[2]: float32[], float32[])", cut after a few items.
func (m *Map) Summary() string { return "map(" + m.Keys.Summary() + ": " + summaries(m.Values) + ")" }

// Optional is a value that may be absent: Value is nil then.
type Optional struct{ Value Value }

// Summary returns "optional(float32[2])" or "optional()".
func (o *Optional) Summary() string {
	if o.Value == nil {
		return "optional()"
	}
	return "optional(" + o.Value.Summary() + ")"
}

func summaries(vs []Value) string {
	const most = 4
	parts := make([]string, 0, most+1)
	for i, v := range vs {
		if i == most {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, v.Summary())
	}
	return strings.Join(parts, ", ")
}
