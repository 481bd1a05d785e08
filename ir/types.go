package ir

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/starlarkgs/starlarkgs/array"
)

// TypeKind says which of the kinds of value that ONNX knows a Type describes.
type TypeKind uint8

// The kinds of type, as TypeProto has them.
const (
	NoKind       TypeKind = iota // nothing is said
	TensorKind                   // a dense tensor
	SparseKind                   // a sparse tensor
	SequenceKind                 // a sequence of Of
	OptionalKind                 // an optional Of
	MapKind                      // a map from Key to Of
	OpaqueKind                   // an opaque type, named by Domain and Name
)

// Type is the type of a value. A Type is not changed once it is in use: set a
// new one.
type Type struct {
	Kind  TypeKind
	Elem  array.DType // element type of a tensor; Undefined when it is not known
	Shape Shape       // of a tensor; nil when the rank is not known
	Key   array.DType // key type of a map
	Of    *Type       // element of a sequence or optional, value of a map; may be nil

	Domain, Name string // of an opaque type
	Denotation   string
	Extra        any // what the file said besides; package onnx's
}

// TensorType returns the type of a dense tensor; a nil shape means unknown rank.
func TensorType(dt array.DType, shape Shape) *Type {
	return &Type{Kind: TensorKind, Elem: dt, Shape: shape}
}

// String returns the short form, as float32[N,3] or seq(int64[]); an unknown
// rank is written float32[...], an unknown type "?".
func (t *Type) String() string {
	if t == nil {
		return "?"
	}
	switch t.Kind {
	case TensorKind:
		return elemString(t.Elem) + t.Shape.String()
	case SparseKind:
		return "sparse(" + elemString(t.Elem) + t.Shape.String() + ")"
	case SequenceKind:
		return "seq(" + t.Of.String() + ")"
	case OptionalKind:
		return "optional(" + t.Of.String() + ")"
	case MapKind:
		return "map(" + elemString(t.Key) + ", " + t.Of.String() + ")"
	case OpaqueKind:
		return "opaque(" + t.Domain + "." + t.Name + ")"
	}
	return "?"
}

func elemString(dt array.DType) string {
	if dt == array.Undefined {
		return "?"
	}
	return dt.String()
}

// Equal reports whether t and u say the same, denotations aside.
func (t *Type) Equal(u *Type) bool {
	if t == nil || u == nil {
		return t == u
	}
	return t.Kind == u.Kind && t.Elem == u.Elem && t.Key == u.Key &&
		t.Domain == u.Domain && t.Name == u.Name &&
		t.Shape.Equal(u.Shape) && t.Of.Equal(u.Of)
}

// Shape is the list of a tensor's dimensions. A nil Shape is an unknown rank;
// an empty one that is not nil is a scalar's.
type Shape []Dim

// Ints returns the shape made of the given sizes, a negative one being unknown.
func Ints[T int | int64](sizes ...T) Shape {
	s := make(Shape, len(sizes))
	for i, n := range sizes {
		s[i] = Num(int64(n))
	}
	return s
}

// Static returns the sizes when every dimension is a known number.
func (s Shape) Static() ([]int, bool) {
	if s == nil {
		return nil, false
	}
	sizes := make([]int, len(s))
	for i, d := range s {
		n, ok := d.Size()
		if !ok {
			return nil, false
		}
		sizes[i] = int(n)
	}
	return sizes, true
}

// Equal reports whether both shapes are unknown, or have equal dimensions.
func (s Shape) Equal(t Shape) bool {
	if (s == nil) != (t == nil) || len(s) != len(t) {
		return false
	}
	for i := range s {
		if !s[i].Equal(t[i]) {
			return false
		}
	}
	return true
}

// String returns the shape as [N,3,?], or [...] for an unknown rank.
func (s Shape) String() string {
	if s == nil {
		return "[...]"
	}
	parts := make([]string, len(s))
	for i, d := range s {
		parts[i] = d.String()
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// Dim is one dimension: a number, a symbol or symbolic expression ("N",
// "2*N+1"), or unknown. The zero Dim is unknown. Dims can be compared with ==
// when their denotations matter, else with Equal.
type Dim struct {
	known      bool
	size       int64
	symbol     string
	Denotation string // as "DATA_BATCH"; rarely used
}

// Num returns the dimension of a known size; a negative n gives the unknown one.
func Num(n int64) Dim {
	if n < 0 {
		return Dim{}
	}
	return Dim{known: true, size: n}
}

// Sym returns the dimension that the symbol or expression s names; "" gives
// the unknown one.
func Sym(s string) Dim { return Dim{symbol: s} }

// Size returns the number, when the dimension is one.
func (d Dim) Size() (int64, bool) { return d.size, d.known }

// Symbol returns the symbol or expression, or "".
func (d Dim) Symbol() string { return d.symbol }

// Unknown reports whether nothing is known of the dimension.
func (d Dim) Unknown() bool { return !d.known && d.symbol == "" }

// Equal reports whether both are the same number, the same symbol text, or
// both unknown.
func (d Dim) Equal(e Dim) bool {
	return d.known == e.known && d.size == e.size && d.symbol == e.symbol
}

// String returns the number, the symbol or "?".
func (d Dim) String() string {
	switch {
	case d.known:
		return strconv.FormatInt(d.size, 10)
	case d.symbol != "":
		return plain(d.symbol)
	}
	return "?"
}

// plain returns the text, quoted where a terminal would obey a part of it.
func plain(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}
