package syntax

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/onnx/internal/pb"
	"github.com/starlarkgs/starlarkgs/onnx/internal/typed"
)

// maxNesting is deeper than any model that can be opened.
const maxNesting = 10_000

// Print returns the text of a model that has a graph.
func Print(m *pb.ModelProto) ([]byte, error) {
	plain := printer{}
	plain.model(m)
	var read pb.ModelProto
	if err := Parse(plain.out.Bytes(), maxNesting, &read); err != nil {
		return nil, fmt.Errorf("internal error: what was printed can't be read: %w", err)
	}
	d := &differ{said: map[proto.Message]string{}}
	d.element(read.ProtoReflect(), m.ProtoReflect())
	if len(d.said) == 0 {
		return plain.out.Bytes(), nil
	}
	full := printer{said: d.said}
	full.model(m)
	return full.out.Bytes(), nil
}

// printer writes elements, each after what said has of it.
type printer struct {
	out    bytes.Buffer
	indent int
	said   map[proto.Message]string
}

func (p *printer) write(parts ...string) {
	for _, s := range parts {
		p.out.WriteString(s)
	}
}

func (p *printer) line() { p.write("\n", strings.Repeat("   ", p.indent)) }

// about writes the #@ comment of an element within a line.
func (p *printer) about(m proto.Message) {
	if text := p.said[m]; text != "" {
		p.indent++
		p.line()
		p.write("#@ ", text)
		p.line()
		p.indent--
	}
}

// each writes items with commas between them.
func each[T any](p *printer, opening, closing string, items []T, item func(T)) {
	p.write(opening)
	for i, x := range items {
		if i > 0 {
			p.write(", ")
		}
		item(x)
	}
	p.write(closing)
}

func (p *printer) names(opening, closing string, names []string) {
	each(p, opening, closing, names, func(s string) { p.write(ident(s)) })
}

func (p *printer) model(m *pb.ModelProto) {
	if text := p.said[m]; text != "" {
		p.write("#@ ", text, "\n")
	}
	p.write("<")
	sep := "\n   "
	key := func(name string) {
		p.write(sep, name, ": ")
		sep = ",\n   "
	}
	text := func(name string, v *string) {
		if v != nil {
			key(name)
			p.write(quote(*v))
		}
	}
	if m.IrVersion != nil {
		key("ir_version")
		p.write(intText(*m.IrVersion))
	}
	key("opset_import")
	p.imports(m.OpsetImport)
	text("producer_name", m.ProducerName)
	text("producer_version", m.ProducerVersion)
	text("domain", m.Domain)
	if m.ModelVersion != nil {
		key("model_version")
		p.write(intText(*m.ModelVersion))
	}
	text("doc_string", m.DocString)
	if len(m.MetadataProps) > 0 {
		key("metadata_props")
		p.write(pairsText(m.MetadataProps))
	}
	p.write("\n>\n")
	p.graph(m.Graph)
	for _, f := range m.Functions {
		p.function(f)
	}
	p.write("\n")
}

func (p *printer) imports(ims []*pb.OperatorSetIdProto) {
	each(p, "[", "]", ims, func(im *pb.OperatorSetIdProto) {
		p.about(im)
		p.write(quote(im.GetDomain()), " : ", intText(im.GetVersion()))
	})
}

func pairsText(kvs []*pb.StringStringEntryProto) string {
	parts := make([]string, len(kvs))
	for i, kv := range kvs {
		parts[i] = quote(kv.GetKey()) + ": " + quote(kv.GetValue())
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func (p *printer) graph(g *pb.GraphProto) {
	p.about(g)
	p.write(ident(g.GetName()), " ")
	each(p, "(", ")", g.Input, p.value)
	p.write(" => ")
	each(p, "(", ")", g.Output, p.value)
	inits := g.Initializer
	for _, t := range inits {
		if nameOf(elemNames, t.GetDataType()) == "" {
			inits = nil // the graph's comment has them
		}
	}
	if len(inits)+len(g.ValueInfo) > 0 {
		p.indent++
		p.line()
		each(p, "<", "", inits, p.initializer)
		if len(inits) > 0 && len(g.ValueInfo) > 0 {
			p.write(", ")
		}
		each(p, "", ">", g.ValueInfo, p.value)
		p.indent--
		p.line()
	} else {
		p.write(" ")
	}
	p.nodes(g.Node)
}

func (p *printer) value(v *pb.ValueInfoProto) {
	p.about(v)
	if text, ok := typeText(v.Type); ok {
		p.write(text, " ")
	}
	p.write(ident(v.GetName()))
}

func (p *printer) initializer(t *pb.TensorProto) {
	p.about(t)
	p.write(dimsText(t), " ", ident(t.GetName()), " = ")
	p.elements(t)
}

func dimsText(t *pb.TensorProto) string {
	name := nameOf(elemNames, t.GetDataType())
	if len(t.Dims) == 0 {
		return name
	}
	return name + "[" + join(t.Dims, ",", intText) + "]"
}

// tensor writes a tensor that is an attribute's. The standard's parser takes none
// with a quoted name, which the comment has then; and a = stands before external
// data, whose bracket would read as one of sizes.
func (p *printer) tensor(t *pb.TensorProto) {
	p.about(t)
	p.write(dimsText(t), " ")
	if name := t.GetName(); isID(name) && ident(name) == name {
		p.write(name, " ")
	}
	if t.GetDataLocation() == pb.TensorProto_EXTERNAL {
		p.write("= ")
	}
	p.elements(t)
}

func (p *printer) elements(t *pb.TensorProto) {
	if t.GetDataLocation() == pb.TensorProto_EXTERNAL {
		p.write(pairsText(t.ExternalData))
		return
	}
	if t.RawData != nil {
		t = typed.Unpack(t)
	}
	p.write("{")
	switch typed.FieldOf(array.DType(t.GetDataType())) {
	case typed.Float:
		p.write(join(t.FloatData, ", ", func(v float32) string { return floatText(float64(v), 32) }))
	case typed.Double:
		p.write(join(t.DoubleData, ", ", func(v float64) string { return floatText(v, 64) }))
	case typed.Int64:
		p.write(join(t.Int64Data, ", ", intText))
	case typed.Uint64:
		p.write(join(t.Uint64Data, ", ", func(v uint64) string { return strconv.FormatUint(v, 10) }))
	case typed.String:
		p.write(join(t.StringData, ", ", func(v []byte) string { return quote(string(v)) }))
	default:
		p.write(join(t.Int32Data, ", ", func(v int32) string { return intText(int64(v)) }))
	}
	p.write("}")
}

func join[T any](items []T, sep string, text func(T) string) string {
	var b strings.Builder
	for i, x := range items {
		if i > 0 {
			b.WriteString(sep)
		}
		b.WriteString(text(x))
	}
	return b.String()
}

func intText(v int64) string { return strconv.FormatInt(v, 10) }

// floatText returns the shortest text that reads as the same number.
func floatText(v float64, bits int) string {
	sign := ""
	if math.Signbit(v) {
		sign = "-"
	}
	switch {
	case math.IsNaN(v):
		return sign + "nan"
	case math.IsInf(v, 0):
		return sign + "inf"
	}
	return strconv.FormatFloat(v, 'g', -1, bits)
}

func (p *printer) nodes(nodes []*pb.NodeProto) {
	p.write("{")
	p.indent++
	for _, n := range nodes {
		p.line()
		if text := p.said[n]; text != "" {
			p.write("#@ ", text)
			p.line()
		}
		p.node(n)
	}
	p.indent--
	p.line()
	p.write("}")
}

func (p *printer) node(n *pb.NodeProto) {
	if n.Name != nil {
		p.write("[", ident(*n.Name), "] ")
	}
	p.names("", "", n.Output)
	p.write(" = ")
	if n.GetDomain() != "" {
		p.write(dottedText(*n.Domain), ".")
	}
	p.write(ident(n.GetOpType()))
	if n.GetOverload() != "" {
		p.write(":", ident(*n.Overload))
	}
	// bodies come last: they are long
	body := false
	for _, a := range n.Attribute {
		body = body || a.G != nil || len(a.Graphs) > 0
	}
	if !body {
		p.attributes(n.Attribute)
	}
	p.names(" (", ")", n.Input)
	if body {
		p.attributes(n.Attribute)
	}
}

// attributes writes the attributes, or none where the syntax lacks one of them:
// the comment of the node has them then.
func (p *printer) attributes(as []*pb.AttributeProto) {
	for _, a := range as {
		if !printable(a) {
			return
		}
	}
	if len(as) > 0 {
		each(p, " <", ">", as, p.attribute)
	}
}

// kindOf returns the kind of an attribute, by its field where it does not say.
func kindOf(a *pb.AttributeProto) pb.AttributeProto_AttributeType {
	switch {
	case a.GetType() != pb.AttributeProto_UNDEFINED || a.RefAttrName != nil:
		return a.GetType()
	case a.F != nil:
		return pb.AttributeProto_FLOAT
	case a.I != nil:
		return pb.AttributeProto_INT
	case a.S != nil:
		return pb.AttributeProto_STRING
	case a.T != nil:
		return pb.AttributeProto_TENSOR
	case a.G != nil:
		return pb.AttributeProto_GRAPH
	case a.Floats != nil:
		return pb.AttributeProto_FLOATS
	case a.Ints != nil:
		return pb.AttributeProto_INTS
	case a.Strings != nil:
		return pb.AttributeProto_STRINGS
	}
	return pb.AttributeProto_UNDEFINED
}

// printable reports whether the syntax can say the attribute.
func printable(a *pb.AttributeProto) bool {
	if a.RefAttrName != nil {
		return true
	}
	knows := func(t *pb.TensorProto) bool { return nameOf(elemNames, t.GetDataType()) != "" }
	switch kindOf(a) {
	case pb.AttributeProto_TENSOR:
		return knows(a.T)
	case pb.AttributeProto_GRAPH:
		return a.G != nil
	case pb.AttributeProto_TENSORS:
		for _, t := range a.Tensors {
			if !knows(t) {
				return false
			}
		}
		return true
	case pb.AttributeProto_TYPE_PROTO:
		_, ok := typeText(a.Tp)
		return ok
	case pb.AttributeProto_TYPE_PROTOS:
		for _, t := range a.TypeProtos {
			if _, ok := typeText(t); !ok {
				return false
			}
		}
		return true
	case pb.AttributeProto_SPARSE_TENSOR, pb.AttributeProto_UNDEFINED:
		return false
	case pb.AttributeProto_SPARSE_TENSORS:
		return len(a.SparseTensors) == 0
	}
	return kindName(a.GetType()) != "" || a.GetType() == pb.AttributeProto_UNDEFINED
}

func (p *printer) attribute(a *pb.AttributeProto) {
	p.about(a)
	kind := kindOf(a)
	p.write(quoteUnless(a.GetName(), isID(a.GetName())))
	if kindName(kind) != "" {
		p.write(": ", kindName(kind))
	}
	p.write(" = ")
	if a.RefAttrName != nil {
		p.write("@", ident(*a.RefAttrName))
		return
	}
	p.item(a, kind)
}

func (p *printer) item(a *pb.AttributeProto, kind pb.AttributeProto_AttributeType) {
	float := func(v float32) { p.write(floatText(float64(v), 32)) }
	switch kind {
	case pb.AttributeProto_INT:
		p.write(intText(a.GetI()))
	case pb.AttributeProto_FLOAT:
		float(a.GetF())
	case pb.AttributeProto_STRING:
		p.write(quote(string(a.S)))
	case pb.AttributeProto_TENSOR:
		p.tensor(a.T)
	case pb.AttributeProto_GRAPH:
		p.body(a.G)
	case pb.AttributeProto_TYPE_PROTO:
		p.typ(a.Tp)
	case pb.AttributeProto_INTS:
		p.write("[", join(a.Ints, ", ", intText), "]")
	case pb.AttributeProto_FLOATS:
		each(p, "[", "]", a.Floats, float)
	case pb.AttributeProto_STRINGS:
		each(p, "[", "]", a.Strings, func(v []byte) { p.write(quote(string(v))) })
	case pb.AttributeProto_TENSORS:
		each(p, "[", "]", a.Tensors, p.tensor)
	case pb.AttributeProto_GRAPHS:
		each(p, "[", "]", a.Graphs, p.body)
	case pb.AttributeProto_TYPE_PROTOS:
		each(p, "[", "]", a.TypeProtos, p.typ)
	case pb.AttributeProto_SPARSE_TENSORS:
		p.write("[]")
	}
}

func (p *printer) typ(t *pb.TypeProto) {
	text, _ := typeText(t)
	p.write(text)
}

// body writes the graph of an attribute.
func (p *printer) body(g *pb.GraphProto) {
	p.indent++
	p.graph(g)
	p.indent--
}

func (p *printer) function(f *pb.FunctionProto) {
	p.write("\n")
	if text := p.said[f]; text != "" {
		p.write("#@ ", text, "\n")
	}
	p.write("<\n   domain: ", quote(f.GetDomain()), ",\n")
	if f.GetOverload() != "" {
		p.write("   overload: ", quote(*f.Overload), ",\n")
	}
	if f.DocString != nil {
		p.write("   doc_string: ", quote(*f.DocString), ",\n")
	}
	p.write("   opset_import: ")
	p.imports(f.OpsetImport)
	p.write("\n>\n", ident(f.GetName()), " ")
	attrs := f.AttributeProto
	for _, a := range attrs {
		if !printable(a) {
			attrs = nil
		}
	}
	if len(f.Attribute)+len(attrs) > 0 {
		p.names("<", "", f.Attribute)
		if len(f.Attribute) > 0 && len(attrs) > 0 {
			p.write(", ")
		}
		each(p, "", "> ", attrs, p.attribute)
	}
	p.names("(", ")", f.Input)
	p.write(" => ")
	p.names("(", ")", f.Output)
	p.write(" ")
	if len(f.ValueInfo) > 0 {
		each(p, "<", "> ", f.ValueInfo, p.value)
	}
	p.nodes(f.Node)
}
