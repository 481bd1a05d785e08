package syntax

import (
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/starlarkgs/starlarkgs/onnx/internal/pb"
)

// single is the kind of one item of a kind that is a list.
var single = map[pb.AttributeProto_AttributeType]pb.AttributeProto_AttributeType{
	pb.AttributeProto_FLOATS: pb.AttributeProto_FLOAT, pb.AttributeProto_INTS: pb.AttributeProto_INT, pb.AttributeProto_STRINGS: pb.AttributeProto_STRING,
	pb.AttributeProto_TENSORS: pb.AttributeProto_TENSOR, pb.AttributeProto_GRAPHS: pb.AttributeProto_GRAPH, pb.AttributeProto_TYPE_PROTOS: pb.AttributeProto_TYPE_PROTO,
	pb.AttributeProto_SPARSE_TENSORS: pb.AttributeProto_SPARSE_TENSOR,
}

// plural is the other way round.
var plural = func() map[pb.AttributeProto_AttributeType]pb.AttributeProto_AttributeType {
	m := map[pb.AttributeProto_AttributeType]pb.AttributeProto_AttributeType{}
	for many, one := range single {
		m[one] = many
	}
	return m
}()

func kindName(k pb.AttributeProto_AttributeType) string { return nameOf(attrNames, int32(k)) }

// attribute reads what follows the name: [: KIND] = VALUE.
func (p *parser) attribute(said []pragma, name string) *pb.AttributeProto {
	a := &pb.AttributeProto{Name: &name}
	kind := pb.AttributeProto_UNDEFINED
	if p.matches(':') {
		p.space()
		at := p.pos
		word := p.word()
		kind = pb.AttributeProto_AttributeType(numberOf(attrNames, word))
		if kind == pb.AttributeProto_UNDEFINED {
			p.pos = at
			p.fail(at, "got %s, want a kind of attribute%s", p.found(), hint(word, attrNames[1:]))
		}
	}
	p.match('=')
	switch {
	case p.matches('@'):
		a.RefAttrName = proto.String(p.name("the name of the function's attribute"))
	case p.matches('['):
		kind = p.items(a, kind)
	default:
		p.space()
		at := p.pos
		got := p.item(a, kind)
		if kind != pb.AttributeProto_UNDEFINED && got != kind {
			p.fail(at, "attribute %q: got %s, want %s", name, kindName(got), kindName(kind))
		}
		kind = got
	}
	if kind != pb.AttributeProto_UNDEFINED {
		a.Type = &kind
	}
	p.apply(said, a)
	return a
}

// items reads the items of a list after its bracket and returns the list's kind.
func (p *parser) items(a *pb.AttributeProto, kind pb.AttributeProto_AttributeType) pb.AttributeProto_AttributeType {
	at := p.pos
	one := single[kind]
	if kind != pb.AttributeProto_UNDEFINED && one == pb.AttributeProto_UNDEFINED {
		p.fail(at, "attribute %q: got a list, want %s", a.GetName(), kindName(kind))
		return kind
	}
	p.list(']', func() {
		p.space()
		from := p.pos
		item := &pb.AttributeProto{}
		got := p.item(item, one)
		if one != pb.AttributeProto_UNDEFINED && got != one {
			p.fail(from, "attribute %q: got %s among items of %s", a.GetName(), kindName(got), kindName(one))
			return
		}
		one = got
		addItem(a, item, got)
	})
	if kind == pb.AttributeProto_UNDEFINED {
		if kind = plural[one]; kind == pb.AttributeProto_UNDEFINED {
			p.fail(at, "attribute %q: got an empty list, want its kind before it, as in : ints = []", a.GetName())
		}
	}
	return kind
}

func addItem(a, item *pb.AttributeProto, kind pb.AttributeProto_AttributeType) {
	switch kind {
	case pb.AttributeProto_INT:
		a.Ints = append(a.Ints, item.GetI())
	case pb.AttributeProto_FLOAT:
		a.Floats = append(a.Floats, item.GetF())
	case pb.AttributeProto_STRING:
		a.Strings = append(a.Strings, item.S)
	case pb.AttributeProto_TENSOR:
		a.Tensors = append(a.Tensors, item.T)
	case pb.AttributeProto_GRAPH:
		a.Graphs = append(a.Graphs, item.G)
	case pb.AttributeProto_TYPE_PROTO:
		a.TypeProtos = append(a.TypeProtos, item.Tp)
	}
}

// item reads one value into its field and returns its kind. A number without a
// point is a float where one is wanted.
func (p *parser) item(a *pb.AttributeProto, wanted pb.AttributeProto_AttributeType) pb.AttributeProto_AttributeType {
	c := p.next()
	word := p.peek()
	switch {
	case c == '"' && wanted != pb.AttributeProto_GRAPH && !p.beforeGraph():
		a.S = []byte(p.quoted())
		return pb.AttributeProto_STRING
	case isTypeWord(word) && (wanted != pb.AttributeProto_GRAPH):
		return p.tensorOrType(a)
	case c == '"' || word != "" && !isFloatWord(word):
		a.G = p.graph()
		return pb.AttributeProto_GRAPH
	}
	from := p.pos
	text, integer := p.number()
	if p.err != nil {
		return pb.AttributeProto_UNDEFINED
	}
	if integer && wanted != pb.AttributeProto_FLOAT {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			p.fail(from, "got %s, want an integer of 64 bits", text)
		}
		a.I = &n
		return pb.AttributeProto_INT
	}
	p.pos = from
	a.F = proto.Float32(narrow(p.float(32)))
	return pb.AttributeProto_FLOAT
}

// beforeGraph reports whether the quoted text that comes next is a graph's name:
// its inputs follow then.
func (p *parser) beforeGraph() bool {
	pos := p.pos
	p.quoted()
	if p.err != nil {
		return false
	}
	is := p.next() == '('
	p.pos = pos
	return is
}

func isFloatWord(w string) bool {
	switch strings.ToLower(w) {
	case "inf", "infinity", "nan":
		return true
	}
	return false
}

// tensorOrType reads a type, which is a tensor's when elements follow.
func (p *parser) tensorOrType(a *pb.AttributeProto) pb.AttributeProto_AttributeType {
	said := p.taken()
	at := p.pos
	typ := p.typ()
	c := p.next()
	if c != '{' && c != '=' && c != '"' && p.peek() == "" {
		a.Tp = typ
		return pb.AttributeProto_TYPE_PROTO
	}
	a.T = &pb.TensorProto{}
	if c != '{' && c != '=' {
		a.T.Name = proto.String(p.name("the name of a tensor"))
	}
	p.matches('=')
	p.elements(at, typ, a.T)
	p.apply(said, a.T)
	return pb.AttributeProto_TENSOR
}
