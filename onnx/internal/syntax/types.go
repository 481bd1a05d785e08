package syntax

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/onnx/internal/pb"
)

// elemNames are the words for element types, by their numbers: the standard's
// names in small letters.
var elemNames = func() []string {
	names := []string{""}
	for _, dt := range array.DTypes() {
		names = append(names, strings.ToLower(dt.ONNXName()))
	}
	return names
}()

// typeWords begin the other types.
var typeWords = []string{"seq", "map", "optional", "sparse_tensor", "opaque"}

// attrNames are the words for kinds of attributes, by their numbers in
// AttributeProto.AttributeType.
var attrNames = []string{1: "float", "int", "string", "tensor", "graph", "floats", "ints", "strings", "tensors", "graphs", "sparse_tensor",
	"sparse_tensors", "type_proto", "type_protos"}

// numberOf returns the number of a word of a table, or 0.
func numberOf(table []string, word string) int {
	if word == "" {
		return 0
	}
	return max(slices.Index(table, word), 0)
}

// nameOf returns the word of a number, or "".
func nameOf(table []string, n int32) string {
	if n <= 0 || int(n) >= len(table) {
		return ""
	}
	return table[n]
}

func isTypeWord(w string) bool { return numberOf(elemNames, w) > 0 || slices.Contains(typeWords, w) }

func typeNames() []string { return append(slices.Clone(elemNames[1:]), typeWords...) }

// typ reads a type.
func (p *parser) typ() *pb.TypeProto {
	defer p.deeper()()
	at := p.pos
	word := p.word()
	if e := numberOf(elemNames, word); e > 0 {
		return &pb.TypeProto{Value: &pb.TypeProto_TensorType{TensorType: &pb.TypeProto_Tensor{ElemType: proto.Int32(int32(e)), Shape: p.shape()}}}
	}
	t := &pb.TypeProto{}
	if !slices.Contains(typeWords, word) {
		p.pos = at
		p.space()
		p.fail(p.pos, "got %s, want a type%s", p.found(), hint(word, typeNames()))
		return t
	}
	p.match('(')
	switch word {
	case "seq":
		t.Value = &pb.TypeProto_SequenceType{SequenceType: &pb.TypeProto_Sequence{ElemType: p.typ()}}
	case "optional":
		t.Value = &pb.TypeProto_OptionalType{OptionalType: &pb.TypeProto_Optional{ElemType: p.typ()}}
	case "map":
		key := p.elem("the type of keys")
		p.match(',')
		t.Value = &pb.TypeProto_MapType{MapType: &pb.TypeProto_Map{KeyType: proto.Int32(key), ValueType: p.typ()}}
	case "sparse_tensor":
		t.Value = &pb.TypeProto_SparseTensorType{SparseTensorType: &pb.TypeProto_SparseTensor{ElemType: proto.Int32(p.elem("an element type")), Shape: p.shape()}}
	case "opaque":
		t.Value = &pb.TypeProto_OpaqueType{OpaqueType: p.opaque()}
	}
	p.match(')')
	return t
}

// elem reads the word of an element type.
func (p *parser) elem(what string) int32 {
	p.space()
	at := p.pos
	word := p.word()
	e := numberOf(elemNames, word)
	if e == 0 {
		p.pos = at
		p.fail(at, "got %s, want %s%s", p.found(), what, hint(word, elemNames[1:]))
	}
	return int32(e)
}

func (p *parser) opaque() *pb.TypeProto_Opaque {
	o := &pb.TypeProto_Opaque{}
	if p.next() == ')' {
		return o
	}
	first := p.dotted()
	if !p.matches(',') {
		o.Name = &first
		return o
	}
	o.Domain, o.Name = &first, proto.String(p.name("a name"))
	return o
}

// dotted reads names with dots between them.
func (p *parser) dotted() string {
	s := p.name("a name")
	for p.matches('.') {
		s += "." + p.name("a name")
	}
	return s
}

// shape reads the sizes after an element type: none is rank 0, [] a rank that is
// not known.
func (p *parser) shape() *pb.TensorShapeProto {
	s := &pb.TensorShapeProto{}
	if !p.matches('[') {
		return s
	}
	if p.matches(']') {
		return nil
	}
	for {
		d := &pb.TensorShapeProto_Dimension{}
		switch c := p.next(); {
		case p.matches('?'):
		case c == '"' || isAlpha(c) || c == '_':
			d.Value = &pb.TensorShapeProto_Dimension_DimParam{DimParam: p.name("a size")}
		default:
			d.Value = &pb.TensorShapeProto_Dimension_DimValue{DimValue: p.int64("a size: a number, a name or ?")}
		}
		s.Dim = append(s.Dim, d)
		if !p.matches(',') {
			break
		}
	}
	p.match(']')
	return s
}

// typeText returns the text of a type, false when the syntax has none for it.
func typeText(t *pb.TypeProto) (string, bool) {
	switch v := t.GetValue().(type) {
	case *pb.TypeProto_TensorType:
		return tensorText(v.TensorType.GetElemType(), v.TensorType.GetShape())
	case *pb.TypeProto_SparseTensorType:
		s, ok := tensorText(v.SparseTensorType.GetElemType(), v.SparseTensorType.GetShape())
		return "sparse_tensor(" + s + ")", ok
	case *pb.TypeProto_SequenceType:
		s, ok := typeText(v.SequenceType.GetElemType())
		return "seq(" + s + ")", ok
	case *pb.TypeProto_OptionalType:
		s, ok := typeText(v.OptionalType.GetElemType())
		return "optional(" + s + ")", ok
	case *pb.TypeProto_MapType:
		key := nameOf(elemNames, v.MapType.GetKeyType())
		s, ok := typeText(v.MapType.GetValueType())
		return "map(" + key + ", " + s + ")", ok && key != ""
	case *pb.TypeProto_OpaqueType:
		return opaqueText(v.OpaqueType), true
	}
	return "", false
}

func opaqueText(o *pb.TypeProto_Opaque) string {
	switch {
	case o.GetDomain() != "":
		return "opaque(" + dottedText(o.GetDomain()) + "," + quoteUnless(o.GetName(), isID(o.GetName())) + ")"
	case o.GetName() != "":
		return "opaque(" + dottedText(o.GetName()) + ")"
	}
	return "opaque()"
}

// dottedText returns names with dots between them, quoted where they are none.
func dottedText(s string) string {
	for part := range strings.SplitSeq(s, ".") {
		if !isID(part) {
			return quote(s)
		}
	}
	return s
}

func quoteUnless(s string, plain bool) string {
	if plain {
		return s
	}
	return quote(s)
}

func tensorText(elem int32, shape *pb.TensorShapeProto) (string, bool) {
	name := nameOf(elemNames, elem)
	switch {
	case name == "":
		return "", false
	case shape == nil:
		return name + "[]", true
	case len(shape.Dim) == 0:
		return name, true
	}
	dims := make([]string, len(shape.Dim))
	for i, d := range shape.Dim {
		switch v := d.Value.(type) {
		case *pb.TensorShapeProto_Dimension_DimValue:
			dims[i] = intText(v.DimValue)
		case *pb.TensorShapeProto_Dimension_DimParam:
			dims[i] = quoteUnless(v.DimParam, isID(v.DimParam))
		default:
			dims[i] = "?"
		}
	}
	return name + "[" + strings.Join(dims, ",") + "]", true
}
