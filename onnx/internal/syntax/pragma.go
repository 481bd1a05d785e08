package syntax

import (
	"bytes"
	"encoding/base64"
	"math"
	"regexp"
	"strings"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/onnx/internal/pb"
	"github.com/starlarkgs/starlarkgs/onnx/internal/typed"
)

// apply changes an element as its #@ comments say.
func (p *parser) apply(said []pragma, m proto.Message) {
	for _, s := range said {
		if p.err == nil {
			p.applyOne(s, m)
		}
	}
}

func (p *parser) applyOne(s pragma, m proto.Message) {
	rest := strings.TrimSpace(s.text)
	r := m.ProtoReflect()
	for rest != "" {
		word, after, _ := strings.Cut(rest, " ")
		switch {
		case word == "raw":
			t, ok := m.(*pb.TensorProto)
			if !ok {
				p.fail(s.pos, "got raw before an element that is no tensor")
				return
			}
			raw := typed.Pack(t)
			t.RawData, t.FloatData, t.DoubleData, t.Int32Data, t.Int64Data, t.Uint64Data = raw, nil, nil, nil, nil, nil
		case strings.HasPrefix(word, "-"):
			f := r.Descriptor().Fields().ByName(protoreflect.Name(word[1:]))
			if f == nil {
				p.fail(s.pos, "got %s, want a field of %s%s", word, r.Descriptor().Name(), hint(word[1:], fieldNames(r)))
				return
			}
			r.Clear(f)
		default:
			p.set(s, rest, r)
			return
		}
		rest = strings.TrimSpace(after)
	}
}

func fieldNames(r protoreflect.Message) (names []string) {
	for i := range r.Descriptor().Fields().Len() {
		names = append(names, string(r.Descriptor().Fields().Get(i).Name()))
	}
	return names
}

// set replaces the fields of an element by those of a text.
func (p *parser) set(s pragma, text string, r protoreflect.Message) {
	part := r.New()
	var err error
	if data, ok := strings.CutPrefix(text, "binary "); ok {
		var raw []byte
		if raw, err = base64.StdEncoding.DecodeString(strings.Trim(data, `" `)); err == nil {
			err = proto.UnmarshalOptions{RecursionLimit: max(2*p.depth, 1)}.Unmarshal(raw, part.Interface())
		}
	} else {
		err = prototext.UnmarshalOptions{RecursionLimit: max(2*p.depth, 1)}.Unmarshal([]byte(text), part.Interface())
	}
	if err != nil {
		p.fail(s.pos, "the #@ comment: %s", reason(err))
		return
	}
	part.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		r.Set(f, v)
		return true
	})
	if u := part.GetUnknown(); len(u) > 0 {
		r.SetUnknown(u)
	}
}

// libraryText is what the protobuf library puts before its errors; whether a
// space or a no-break space stands in it is random.
var libraryText = regexp.MustCompile(`^proto:[\s\x{00a0}]*(\(line \d+:\d+\): )?`)

func reason(err error) string { return libraryText.ReplaceAllString(err.Error(), "") }

// nested are the fields whose elements have #@ comments of their own, by the
// names of messages.
var nested = map[protoreflect.Name][]protoreflect.Name{
	"ModelProto":     {"graph", "functions", "opset_import"},
	"GraphProto":     {"node", "initializer", "input", "output", "value_info"},
	"NodeProto":      {"attribute"},
	"FunctionProto":  {"node", "attribute_proto", "value_info", "opset_import"},
	"AttributeProto": {"g", "graphs", "t", "tensors"},
}

func isNested(m protoreflect.Message, f protoreflect.FieldDescriptor) bool {
	for _, name := range nested[m.Descriptor().Name()] {
		if name == f.Name() {
			return true
		}
	}
	return false
}

// differ finds what the text of elements does not say of them.
type differ struct{ said map[proto.Message]string }

// element compares what was read of an element with the element.
func (d *differ) element(got, want protoreflect.Message) {
	var words []string
	if t, ok := want.Interface().(*pb.TensorProto); ok {
		read := got.Interface().(*pb.TensorProto)
		if t.RawData != nil && read.RawData == nil && array.DType(t.GetDataType()) != array.String && bytes.Equal(typed.Pack(read), t.RawData) {
			words = append(words, "raw")
			read.RawData, read.FloatData, read.DoubleData, read.Int32Data, read.Int64Data, read.Uint64Data = t.RawData, nil, nil, nil, nil, nil
		}
	}
	part := want.New()
	fields := want.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		switch {
		case isNested(want, f) && d.inside(f, got, want):
		case same(f, got, want):
		case want.Has(f):
			part.Set(f, want.Get(f))
		default:
			words = append(words, "-"+string(f.Name()))
		}
	}
	if !bytes.Equal(got.GetUnknown(), want.GetUnknown()) {
		part.SetUnknown(want.GetUnknown())
	}
	if text := partText(part); text != "" {
		words = append(words, text)
	}
	if len(words) > 0 {
		d.said[want.Interface()] = strings.Join(words, " ")
	}
}

// inside compares the elements of a field one by one, when there are as many.
func (d *differ) inside(f protoreflect.FieldDescriptor, got, want protoreflect.Message) bool {
	if !f.IsList() {
		if !got.Has(f) || !want.Has(f) {
			return false
		}
		d.element(got.Get(f).Message(), want.Get(f).Message())
		return true
	}
	a, b := got.Get(f).List(), want.Get(f).List()
	if a.Len() != b.Len() {
		return false
	}
	for i := range a.Len() {
		d.element(a.Get(i).Message(), b.Get(i).Message())
	}
	return true
}

// partText returns the fields of a message on one line, or "" when it has none.
func partText(part protoreflect.Message) string {
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(part.Interface())
	if err == nil && len(raw) == 0 {
		return ""
	}
	if err == nil && len(part.GetUnknown()) == 0 {
		text, err := prototext.MarshalOptions{Multiline: true, Indent: " "}.Marshal(part.Interface())
		if back := part.New(); err == nil && prototext.Unmarshal(text, back.Interface()) == nil && sameMessage(back, part) {
			return oneLine(text)
		}
	}
	return `binary "` + base64.StdEncoding.EncodeToString(raw) + `"`
}

// firstSpaces finds the spaces behind a field's name, of which the library makes
// one or two at random; strings hold no line breaks, so a name is all that a
// line can begin with.
var firstSpaces = regexp.MustCompile(`^([a-z_0-9]+:?) +`)

func oneLine(text []byte) string {
	var parts []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" {
			parts = append(parts, firstSpaces.ReplaceAllString(line, "$1 "))
		}
	}
	return strings.Join(parts, " ")
}

// same reports whether a field is the same in both, bit for bit.
func same(f protoreflect.FieldDescriptor, a, b protoreflect.Message) bool {
	if a.Has(f) != b.Has(f) {
		return false
	}
	if !a.Has(f) {
		return true
	}
	x, y := a.Get(f), b.Get(f)
	if !f.IsList() {
		return sameValue(f, x, y)
	}
	if x.List().Len() != y.List().Len() {
		return false
	}
	for i := range x.List().Len() {
		if !sameValue(f, x.List().Get(i), y.List().Get(i)) {
			return false
		}
	}
	return true
}

func sameValue(f protoreflect.FieldDescriptor, x, y protoreflect.Value) bool {
	switch f.Kind() {
	case protoreflect.MessageKind:
		return sameMessage(x.Message(), y.Message())
	case protoreflect.FloatKind:
		return math.Float32bits(float32(x.Float())) == math.Float32bits(float32(y.Float()))
	case protoreflect.DoubleKind:
		return math.Float64bits(x.Float()) == math.Float64bits(y.Float())
	}
	return x.Equal(y)
}

func sameMessage(a, b protoreflect.Message) bool {
	fields := a.Descriptor().Fields()
	for i := range fields.Len() {
		if !same(fields.Get(i), a, b) {
			return false
		}
	}
	return bytes.Equal(a.GetUnknown(), b.GetUnknown())
}
