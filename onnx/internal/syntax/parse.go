package syntax

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/onnx/internal/pb"
	"github.com/starlarkgs/starlarkgs/onnx/internal/typed"
)

// Parse reads a model. Elements that are nested deeper than depth, and all else
// that is no model's text, are an *Error.
func Parse(text []byte, depth int, into *pb.ModelProto) error {
	p := &parser{scanner: scanner{text: text}, depth: depth}
	p.model(into)
	if p.err != nil {
		return p.err
	}
	return nil
}

type parser struct {
	scanner
	depth int // that is left
}

// deeper counts one level of nesting, until the returned function is called.
func (p *parser) deeper() func() {
	p.depth--
	if p.depth < 0 {
		p.fail(p.pos, "the text is nested too deep")
	}
	return func() { p.depth++ }
}

// list reads items with commas between them up to a closing character.
func (p *parser) list(closing byte, item func()) {
	if p.matches(closing) {
		return
	}
	for {
		item()
		if !p.matches(',') {
			break
		}
	}
	p.match(closing)
}

func (p *parser) int64(what string) int64 {
	p.space()
	from := p.pos
	text, integer := p.number()
	n, err := strconv.ParseInt(text, 10, 64)
	if p.err == nil && (!integer || err != nil) {
		p.fail(from, "got %s, want %s", text, what)
	}
	return n
}

func (p *parser) uint64() uint64 {
	p.space()
	from := p.pos
	text, _ := p.number()
	n, err := strconv.ParseUint(text, 10, 64)
	if p.err == nil && err != nil {
		p.fail(from, "got %s, want a number of 0 or more", text)
	}
	return n
}

// float reads a number of so many bits. One without digits that is NaN has the
// bits of the quiet NaN.
func (p *parser) float(bits int) float64 {
	p.space()
	from := p.pos
	text, _ := p.number()
	v, err := strconv.ParseFloat(strings.ToLower(strings.TrimPrefix(text, "-")), bits)
	if p.err == nil && err != nil {
		p.fail(from, "got %s, want a number that fits into %d bits", text, bits)
	}
	if strings.HasPrefix(text, "-") {
		return math.Copysign(v, -1)
	}
	return v
}

// narrow returns a number that float read as a float32; NaN keeps its sign.
func narrow(v float64) float32 {
	if v != v {
		bits := uint32(0x7fc00000)
		if math.Signbit(v) {
			bits |= 1 << 31
		}
		return math.Float32frombits(bits)
	}
	return float32(v)
}

// wide returns it as a float64 likewise.
func wide(v float64) float64 {
	if v != v {
		bits := uint64(0x7ff8) << 48
		if math.Signbit(v) {
			bits |= 1 << 63
		}
		return math.Float64frombits(bits)
	}
	return v
}

func (p *parser) model(m *pb.ModelProto) {
	said := p.taken()
	p.header(map[string]func(){
		"ir_version":       func() { m.IrVersion = proto.Int64(p.int64("a version")) },
		"opset_import":     func() { m.OpsetImport = p.imports() },
		"producer_name":    func() { m.ProducerName = p.optional("the producer's name") },
		"producer_version": func() { m.ProducerVersion = p.optional("the producer's version") },
		"domain":           func() { m.Domain = p.optional("a domain") },
		"model_version":    func() { m.ModelVersion = proto.Int64(p.int64("a version")) },
		"doc_string":       func() { m.DocString = p.optional("a string") },
		"metadata_props": func() {
			p.match('[')
			m.MetadataProps = p.pairs()
		},
	})
	m.Graph = p.graph()
	for p.next(); p.pos < len(p.text); p.next() {
		m.Functions = append(m.Functions, p.function())
	}
	p.apply(said, m)
	if left := p.taken(); len(left) > 0 {
		p.fail(left[0].pos, "got a #@ comment, want an element after it")
	}
}

func (p *parser) optional(what string) *string { return proto.String(p.str(what)) }

// header reads <KEY: value, …>, where the table has a reader for each key.
func (p *parser) header(keys map[string]func()) {
	if !p.matches('<') {
		return
	}
	for {
		p.space()
		at := p.pos
		key := p.word()
		read := keys[key]
		if read == nil {
			var names []string
			for k := range keys {
				names = append(names, k)
			}
			slices.Sort(names)
			p.pos = at
			p.fail(at, "got %s, want one of %s%s", p.found(), strings.Join(names, ", "), hint(key, names))
			return
		}
		p.match(':')
		read()
		if !p.matches(',') {
			break
		}
	}
	p.match('>')
}

func (p *parser) imports() (out []*pb.OperatorSetIdProto) {
	p.match('[')
	p.list(']', func() {
		said := p.taken()
		im := &pb.OperatorSetIdProto{Domain: p.optional("a domain in quotes")}
		p.match(':')
		im.Version = proto.Int64(p.int64("a version"))
		p.apply(said, im)
		out = append(out, im)
	})
	return out
}

// pairs reads "key": "value" up to the bracket that closes them.
func (p *parser) pairs() (out []*pb.StringStringEntryProto) {
	p.list(']', func() {
		key := p.optional("a key in quotes")
		p.match(':')
		out = append(out, &pb.StringStringEntryProto{Key: key, Value: p.optional("a value in quotes")})
	})
	return out
}

func (p *parser) arrow() {
	p.match('=')
	if p.pos >= len(p.text) || p.text[p.pos] != '>' {
		p.want(`"=>"`)
		return
	}
	p.pos++
}

func (p *parser) graph() *pb.GraphProto {
	defer p.deeper()()
	said := p.taken()
	g := &pb.GraphProto{Name: proto.String(p.name("the name of a graph"))}
	p.match('(')
	p.list(')', func() { g.Input = append(g.Input, p.value(g, true)) })
	p.arrow()
	p.match('(')
	p.list(')', func() { g.Output = append(g.Output, p.value(nil, true)) })
	if p.matches('<') {
		p.list('>', func() {
			if v := p.value(g, false); v != nil {
				g.ValueInfo = append(g.ValueInfo, v)
			}
		})
	}
	g.Node = p.nodes()
	p.apply(said, g)
	return g
}

// value reads the type and name of a value. With = and elements behind it, it is
// an initializer of g, and, unless it is an input too, no value otherwise.
func (p *parser) value(g *pb.GraphProto, kept bool) *pb.ValueInfoProto {
	said := p.taken()
	v := &pb.ValueInfoProto{}
	p.space()
	at := p.pos
	word := p.peek()
	if isTypeWord(word) {
		v.Type = p.typ()
	}
	v.Name = proto.String(p.name("the name of a value"))
	switch c := p.next(); {
	case v.Type == nil && word != "" && (c == '[' || c == '"' || isIDByte(c)): // the word should have been a type
		p.pos = at
		p.fail(at, "got %s, want a type%s", p.found(), hint(word, typeNames()))
	case c == 0:
		p.want(`",", "=" or the end of the list`)
	}
	if g == nil || !p.matches('=') {
		p.apply(said, v)
		return v
	}
	tsaid := p.taken()
	t := &pb.TensorProto{Name: v.Name}
	p.elements(at, v.Type, t)
	g.Initializer = append(g.Initializer, t)
	if kept {
		p.apply(tsaid, t)
		p.apply(said, v)
		return v
	}
	p.apply(append(said, tsaid...), t)
	return nil
}

// elements reads the elements of a tensor of that type, which begins at a place.
func (p *parser) elements(at int, typ *pb.TypeProto, t *pb.TensorProto) {
	tt := typ.GetTensorType()
	if tt == nil || tt.Shape == nil {
		p.fail(at, "got a value with elements, want a tensor's type with its sizes before it")
		return
	}
	t.DataType = tt.ElemType
	for _, d := range tt.Shape.Dim {
		n, ok := d.Value.(*pb.TensorShapeProto_Dimension_DimValue)
		if !ok {
			p.fail(at, "got a tensor with a size that is no number, want numbers: it has elements")
			return
		}
		t.Dims = append(t.Dims, n.DimValue)
	}
	if p.matches('[') {
		t.DataLocation = pb.TensorProto_EXTERNAL.Enum()
		t.ExternalData = p.pairs()
		return
	}
	p.match('{')
	p.list('}', func() { p.element(t) })
}

func (p *parser) element(t *pb.TensorProto) {
	switch typed.FieldOf(array.DType(t.GetDataType())) {
	case typed.Float:
		t.FloatData = append(t.FloatData, narrow(p.float(32)))
	case typed.Double:
		t.DoubleData = append(t.DoubleData, wide(p.float(64)))
	case typed.Int64:
		t.Int64Data = append(t.Int64Data, p.int64("an integer of 64 bits"))
	case typed.Uint64:
		t.Uint64Data = append(t.Uint64Data, p.uint64())
	case typed.String:
		t.StringData = append(t.StringData, []byte(p.str("a string")))
	default:
		p.space()
		at := p.pos
		n := p.int64("an integer")
		if int64(int32(n)) != n {
			p.fail(at, "got %d, want an integer of 32 bits", n)
		}
		t.Int32Data = append(t.Int32Data, int32(n))
	}
}

func (p *parser) nodes() (out []*pb.NodeProto) {
	p.match('{')
	for p.err == nil && !p.matches('}') {
		out = append(out, p.node())
	}
	return out
}

// names reads names with commas between them; one before a comma may be left
// out, and is "" then.
func (p *parser) names() (out []string) {
	for {
		switch c := p.next(); {
		case c == '"':
			out = append(out, p.quoted())
		case isIDByte(c) && !isDigit(c):
			out = append(out, p.word())
		case c == ',':
			out = append(out, "")
		default:
			return out
		}
		if !p.matches(',') {
			return out
		}
	}
}

func (p *parser) node() *pb.NodeProto {
	said := p.taken()
	n := &pb.NodeProto{}
	if p.matches('[') {
		n.Name = proto.String("")
		if p.next() != ']' {
			*n.Name = p.name("the name of a node")
		}
		p.match(']')
	}
	n.Output = p.names()
	p.match('=')
	n.Domain, n.OpType = p.operator()
	if p.matches(':') {
		n.Overload = proto.String(p.name("an overload"))
	}
	n.Attribute = p.attributes()
	p.match('(')
	n.Input = p.names()
	p.match(')')
	if n.Attribute == nil {
		n.Attribute = p.attributes()
	}
	p.apply(said, n)
	return n
}

// operator reads [DOMAIN.]OP.
func (p *parser) operator() (domain, op *string) {
	last := p.name("an operator")
	var before []string
	for p.matches('.') {
		before = append(before, last)
		last = p.name("an operator")
	}
	if before != nil {
		domain = proto.String(strings.Join(before, "."))
	}
	return domain, &last
}

func (p *parser) attributes() (out []*pb.AttributeProto) {
	if p.matches('<') {
		p.list('>', func() { out = append(out, p.attribute(p.taken(), p.name("the name of an attribute"))) })
	}
	return out
}

func (p *parser) function() *pb.FunctionProto {
	said := p.taken()
	f := &pb.FunctionProto{}
	p.header(map[string]func(){
		"domain":       func() { f.Domain = p.optional("a domain") },
		"overload":     func() { f.Overload = p.optional("an overload") },
		"doc_string":   func() { f.DocString = p.optional("a string") },
		"opset_import": func() { f.OpsetImport = p.imports() },
	})
	f.Name = proto.String(p.name("the name of a function"))
	if p.matches('<') {
		p.list('>', func() {
			about, name := p.taken(), p.name("the name of an attribute")
			if c := p.next(); c == ':' || c == '=' {
				f.AttributeProto = append(f.AttributeProto, p.attribute(about, name))
			} else {
				f.Attribute = append(f.Attribute, name)
			}
		})
	}
	f.Input = p.parameters(f)
	p.arrow()
	f.Output = p.parameters(f)
	if p.matches('<') {
		p.list('>', func() { f.ValueInfo = append(f.ValueInfo, p.value(nil, true)) })
	}
	f.Node = p.nodes()
	p.apply(said, f)
	return f
}

// parameters reads the names of a function's inputs or outputs, of which any may
// have a type before it.
func (p *parser) parameters(f *pb.FunctionProto) (names []string) {
	p.match('(')
	p.list(')', func() {
		v := p.value(nil, true)
		if v.Type != nil {
			f.ValueInfo = append(f.ValueInfo, v)
		}
		names = append(names, v.GetName())
	})
	return names
}
