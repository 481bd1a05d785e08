package onnx

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx/internal/pb"
)

// payload is the bytes of a large field, which are written behind the message
// that is encoded with a placeholder for them.
type payload struct {
	field protowire.Number
	src   source
}

// encoder makes messages of the IR.
type encoder struct {
	names    *nameTable
	payloads []payload
	// place, where set, may put the bytes of a weight into another file: it
	// returns the entries of external_data, or nil to keep them inside. It is
	// given no tensor for what is not a constant.
	place placeFunc
	err   error
}

func (e *encoder) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// defaultIRVersion is written for a model that names none; opset 21 came with it.
const defaultIRVersion = 10

func (e *encoder) model(m *ir.Model) (*pb.ModelProto, error) {
	x, _ := m.Extra.(*modelExtra)
	if x == nil {
		x = &modelExtra{rest: &pb.ModelProto{}, head: modelHead{ir: true}}
	}
	p := proto.Clone(x.rest).(*pb.ModelProto)
	version := m.IRVersion()
	if version == 0 && !x.head.ir || version == 0 && m.Extra == nil {
		version = defaultIRVersion
	}
	p.IrVersion = proto.Int64(version)
	name, producerVersion := m.Producer()
	p.ProducerName, p.ProducerVersion = text(name, x.head.producer), text(producerVersion, x.head.producerVersion)
	p.Domain, p.DocString = text(m.Domain(), x.head.domain), text(m.Doc(), x.head.doc)
	if v := m.ModelVersion(); v != 0 || x.head.version {
		p.ModelVersion = proto.Int64(v)
	}
	p.OpsetImport = encodeImports(m.Imports())
	p.MetadataProps = encodeProps(m.Metadata())
	e.training(p, x)
	e.names = resolveNames(m.Graph())
	p.Graph = e.graph(m.Graph())
	for _, f := range m.Functions() {
		p.Functions = append(p.Functions, e.function(f))
	}
	return p, e.err
}

// training gives the weights in training_info, which the IR does not hold,
// payloads of their own.
func (e *encoder) training(p *pb.ModelProto, x *modelExtra) {
	var visit func(g *pb.GraphProto)
	visit = func(g *pb.GraphProto) {
		for _, t := range g.GetInitializer() {
			if t.ElidedOffset != nil {
				s := &storage{}
				if err := x.training.takePayload(t, s); err != nil {
					e.fail(err)
					return
				}
				e.elide(t, s.field, s.payload)
			}
		}
		for _, n := range g.GetNode() {
			for _, a := range n.Attribute {
				visit(a.G)
				for _, b := range a.Graphs {
					visit(b)
				}
			}
		}
	}
	for _, t := range p.TrainingInfo {
		visit(t.Initialization)
		visit(t.Algorithm)
	}
}

// text returns the field of a string: absent when it is empty, unless it was
// set to that.
func text(s string, wasSet bool) *string {
	if s == "" && !wasSet {
		return nil
	}
	return &s
}

func encodeImports(ims []ir.Import) []*pb.OperatorSetIdProto {
	out := make([]*pb.OperatorSetIdProto, len(ims))
	for i, im := range ims {
		p := &pb.OperatorSetIdProto{}
		if old, ok := im.Extra.(*pb.OperatorSetIdProto); ok {
			p = proto.Clone(old).(*pb.OperatorSetIdProto)
		}
		if im.Domain != p.GetDomain() {
			p.Domain = proto.String(im.Domain)
		}
		p.Version = proto.Int64(im.Version)
		out[i] = p
	}
	return out
}

func encodeProps(ps []ir.Prop) []*pb.StringStringEntryProto {
	var out []*pb.StringStringEntryProto
	for _, kv := range ps {
		p := &pb.StringStringEntryProto{Key: proto.String(kv.Key), Value: proto.String(kv.Value)}
		if old, ok := kv.Extra.(*pb.StringStringEntryProto); ok && old.GetKey() == kv.Key && old.GetValue() == kv.Value {
			p = old
		}
		out = append(out, p)
	}
	return out
}

func (e *encoder) graph(g *ir.Graph) *pb.GraphProto {
	x, _ := g.Extra.(*graphExtra)
	if x == nil {
		x = &graphExtra{}
	}
	p := &pb.GraphProto{Name: text(g.Name(), !x.noName), DocString: text(g.Doc(), x.emptyDoc), MetadataProps: encodeProps(g.Metadata())}
	p.ProtoReflect().SetUnknown(x.unknown)
	for _, t := range g.Inputs() {
		p.Input = append(p.Input, e.info(t, x.inputs))
	}
	for _, t := range g.Outputs() {
		p.Output = append(p.Output, e.info(t, x.outputs))
	}
	for _, t := range g.Initializers() {
		e.initializer(p, t)
	}
	p.Node = make([]*pb.NodeProto, 0, g.NumNodes())
	for _, n := range g.Nodes() {
		p.Node = append(p.Node, e.node(n))
	}
	p.ValueInfo = e.valueInfos(g, x)
	for _, a := range x.quant {
		p.QuantizationAnnotation = append(p.QuantizationAnnotation, e.annotation(a))
	}
	return p
}

func (e *encoder) annotation(a annotation) *pb.TensorAnnotation {
	if a.tensor == nil || a.tensor.Name() == a.proto.GetTensorName() {
		return a.proto
	}
	c := proto.Clone(a.proto).(*pb.TensorAnnotation)
	c.TensorName = proto.String(e.names.of(a.tensor))
	return c
}

// info returns the ValueInfoProto of t: the file's own where nothing changed.
func (e *encoder) info(t *ir.Tensor, had []valueInfo) *pb.ValueInfoProto {
	name := e.names.of(t)
	for _, v := range had {
		if v.tensor == t && v.typ == t.RecordedType() && v.doc == t.Doc() && v.props == len(t.Metadata()) {
			if v.proto.GetName() == name {
				return v.proto
			}
			c := proto.Clone(v.proto).(*pb.ValueInfoProto)
			c.Name = proto.String(name)
			return c
		}
	}
	typ := t.RecordedType()
	if typ == nil {
		typ = t.Type()
	}
	return &pb.ValueInfoProto{Name: proto.String(name), Type: encodeType(typ), DocString: text(t.Doc(), false), MetadataProps: encodeProps(t.Metadata())}
}

// valueInfos returns the types of inner values: in the file's order, then those
// that it had not.
func (e *encoder) valueInfos(g *ir.Graph, x *graphExtra) []*pb.ValueInfoProto {
	var out []*pb.ValueInfoProto
	done := map[*ir.Tensor]bool{}
	for _, t := range append(g.Inputs(), g.Outputs()...) {
		done[t] = true
	}
	for _, v := range x.values {
		if gone(g, v.tensor) {
			continue
		}
		if v.tensor.RecordedType() == nil && v.typ != nil {
			continue // forgotten by an edit
		}
		done[v.tensor] = true
		out = append(out, e.info(v.tensor, []valueInfo{v}))
	}
	for _, t := range g.Tensors() {
		if !done[t] && !t.IsConstant() && (t.RecordedType() != nil || t.Doc() != "" || len(t.Metadata()) > 0) {
			out = append(out, e.info(t, nil))
		}
	}
	return out
}

// gone reports whether an edit took the tensor out of the graph. One that never
// was made or used stays as the file had it.
func gone(g *ir.Graph, t *ir.Tensor) bool {
	if p, _ := t.Producer(); p != nil || t.NumUses() > 0 || t.IsGraphInput() || t.IsConstant() {
		return t.Graph() != g && t.Graph() != nil
	}
	return t.Graph() != nil || t.Extra != nil
}

func (e *encoder) initializer(p *pb.GraphProto, t *ir.Tensor) {
	l := t.Literal()
	if l.Sparse != nil {
		p.SparseInitializer = append(p.SparseInitializer, e.sparse(l.Sparse, e.names.of(t)))
		return
	}
	p.Initializer = append(p.Initializer, e.tensor(t, e.names.of(t), l))
}

// tensor returns the TensorProto of a literal. t is the constant, nil for an
// attribute's.
func (e *encoder) tensor(t *ir.Tensor, name string, l *ir.Literal) *pb.TensorProto {
	s, _ := l.Storage.(*storage)
	if !s.unchanged(l.Array) {
		return e.fresh(t, name, l)
	}
	p := clone(s.proto)
	if name != p.GetName() {
		p.Name = proto.String(name)
	}
	if e.place != nil {
		if entries := e.place(t, name, l.Array, s); entries != nil {
			return external(p, entries)
		}
	}
	if p.GetDataLocation() == pb.TensorProto_EXTERNAL {
		return e.inline(p, l.Array)
	}
	if s.payload != nil {
		e.elide(p, s.field, s.payload)
	}
	return p
}

// external makes p refer to bytes in another file.
func external(p *pb.TensorProto, entries []*pb.StringStringEntryProto) *pb.TensorProto {
	dropData(p)
	p.DataLocation = pb.TensorProto_EXTERNAL.Enum()
	p.ExternalData = entries
	return p
}

func dropData(p *pb.TensorProto) {
	p.RawData, p.FloatData, p.Int32Data, p.Int64Data, p.DoubleData, p.Uint64Data = nil, nil, nil, nil, nil, nil
}

// inline takes the bytes of an external tensor into the file.
func (e *encoder) inline(p *pb.TensorProto, a *array.Array) *pb.TensorProto {
	p.DataLocation, p.ExternalData = nil, nil
	e.elide(p, fieldRaw, arraySource{a})
	return p
}

// fresh encodes a tensor that was made or changed, in raw form.
func (e *encoder) fresh(t *ir.Tensor, name string, l *ir.Literal) *pb.TensorProto {
	a := l.Array
	p := &pb.TensorProto{DataType: proto.Int32(int32(a.DType())), Name: text(name, false), DocString: text(l.Doc, false)}
	for _, d := range a.Shape() {
		p.Dims = append(p.Dims, int64(d))
	}
	if a.DType() == array.String {
		for _, s := range a.Strings() {
			p.StringData = append(p.StringData, []byte(s))
		}
		return p
	}
	if t != nil && e.place != nil {
		if entries := e.place(t, name, a, nil); entries != nil {
			return external(p, entries)
		}
	}
	if a.NBytes() >= elideFrom {
		e.elide(p, fieldRaw, arraySource{a})
		return p
	}
	b, err := a.Bytes()
	if err != nil {
		e.fail(err)
	}
	p.RawData = append([]byte{}, b...)
	return p
}

// elide puts the placeholder for a payload into p.
func (e *encoder) elide(p *pb.TensorProto, field protowire.Number, src source) {
	p.ElidedOffset = proto.Int64(int64(len(e.payloads)))
	e.payloads = append(e.payloads, payload{field, src})
}

// arraySource is the bytes of an array as a source: those of the file that the
// array was read from, where it still holds them.
type arraySource struct{ a *array.Array }

// Len returns the number of bytes.
func (s arraySource) Len() int64 { return s.a.NBytes() }

// Bytes returns the bytes.
func (s arraySource) Bytes() ([]byte, error) { return s.a.Bytes() }

// ReadAt reads from the file, or from memory. A part of an unchanged array is
// read from the file too: pages of a mapping that are touched count as memory.
func (s arraySource) ReadAt(p []byte, off int64) (int, error) {
	if src, from, n := s.a.Part(); src != nil {
		return src.ReadAt(p[:min(int64(len(p)), n-off)], from+off)
	}
	b, err := s.a.Bytes()
	if err != nil {
		return 0, err
	}
	return (&memory{data: b}).readAt(p, off)
}

// NextData tells the holes of the file that the array lies in.
func (s arraySource) NextData(off int64) (from, to int64) {
	src, start, n := s.a.Part()
	if h, ok := src.(holes); ok {
		from, to = h.NextData(start + off)
		return min(max(from-start, off), n), min(max(to-start, off), n)
	}
	return off, s.Len()
}

func (e *encoder) sparse(sp *ir.Sparse, name string) *pb.SparseTensorProto {
	p := &pb.SparseTensorProto{}
	var values, indices *storage
	if x, ok := sp.Extra.(*sparseExtra); ok {
		values, indices = x.values, x.indices
		p.ProtoReflect().SetUnknown(x.proto.ProtoReflect().GetUnknown())
	}
	for _, d := range sp.Dims {
		p.Dims = append(p.Dims, int64(d))
	}
	p.Values = e.tensor(nil, name, &ir.Literal{Array: sp.Values, Storage: values})
	indexName := ""
	if indices != nil {
		indexName = indices.proto.GetName()
	}
	p.Indices = e.tensor(nil, indexName, &ir.Literal{Array: sp.Indices, Storage: indices})
	return p
}

func (e *encoder) node(n *ir.Node) *pb.NodeProto {
	x, _ := n.Extra.(*nodeExtra)
	if x == nil {
		x = &nodeExtra{}
	}
	p := &pb.NodeProto{
		Name: text(n.Name(), x.emptyName), OpType: text(n.Op(), !x.noOp), Domain: text(n.Domain(), x.emptyDomain),
		Overload: text(n.Overload(), x.emptyOverload), DocString: text(n.Doc(), x.emptyDoc), MetadataProps: encodeProps(n.Metadata()),
		DeviceConfigurations: x.devices,
	}
	p.ProtoReflect().SetUnknown(x.unknown)
	p.Input, p.Output = make([]string, 0, n.NumInputs()), make([]string, 0, n.NumOutputs())
	for i := range n.NumInputs() {
		p.Input = append(p.Input, e.names.of(n.Input(i)))
	}
	for i := range n.NumOutputs() {
		p.Output = append(p.Output, e.names.of(n.Output(i)))
	}
	for _, a := range n.Attrs() {
		p.Attribute = append(p.Attribute, e.attr(a))
	}
	return p
}

func (e *encoder) attr(a *ir.Attr) *pb.AttributeProto {
	x, _ := a.Extra.(*attrExtra)
	if x == nil {
		x = &attrExtra{}
	}
	p := &pb.AttributeProto{Name: text(a.Name, !x.noName), Type: pb.AttributeProto_AttributeType(a.Kind).Enum(),
		RefAttrName: text(a.Ref, false), DocString: text(a.Doc, x.emptyDoc)}
	if x.noType {
		p.Type = nil
	}
	p.ProtoReflect().SetUnknown(x.unknown)
	e.attrValue(p, a)
	return p
}

func (e *encoder) attrValue(p *pb.AttributeProto, a *ir.Attr) {
	switch v := a.Value.(type) {
	case float32:
		p.F = &v
	case int64:
		p.I = &v
	case string:
		p.S = []byte(v)
	case []float32:
		p.Floats = v
	case []int64:
		p.Ints = v
	case []string:
		for _, s := range v {
			p.Strings = append(p.Strings, []byte(s))
		}
	case *ir.Literal:
		p.T = e.tensor(nil, v.Name, v)
	case []*ir.Literal:
		for _, l := range v {
			p.Tensors = append(p.Tensors, e.tensor(nil, l.Name, l))
		}
	case *ir.Graph:
		p.G = e.graph(v)
	case []*ir.Graph:
		for _, g := range v {
			p.Graphs = append(p.Graphs, e.graph(g))
		}
	case *ir.Sparse:
		p.SparseTensor = e.sparse(v, v.Name)
	case []*ir.Sparse:
		for _, s := range v {
			p.SparseTensors = append(p.SparseTensors, e.sparse(s, s.Name))
		}
	case *ir.Type:
		p.Tp = encodeType(v)
	case []*ir.Type:
		for _, t := range v {
			p.TypeProtos = append(p.TypeProtos, encodeType(t))
		}
	}
}

// function encodes a model-local function. A body holds no initializers in a
// file: its constants become Constant nodes, put first.
func (e *encoder) function(f *ir.Function) *pb.FunctionProto {
	x, _ := f.Extra.(*functionExtra)
	if x == nil {
		x = &functionExtra{}
	}
	outer := e.names
	e.names = resolveNames(f.Body())
	defer func() { e.names = outer }()
	g := f.Body()
	p := &pb.FunctionProto{Name: proto.String(f.Name()), Domain: text(f.Domain(), x.emptyDomain), Overload: text(f.Overload(), x.emptyOverload),
		DocString: text(f.Doc(), x.emptyDoc), OpsetImport: encodeImports(f.Imports()), MetadataProps: encodeProps(f.Metadata())}
	p.ProtoReflect().SetUnknown(x.unknown)
	required, defaults := f.Attrs()
	p.Attribute = slices.Clone(required)
	for _, a := range defaults {
		p.AttributeProto = append(p.AttributeProto, e.attr(a))
	}
	body := e.graph(g)
	for _, v := range body.Input {
		p.Input = append(p.Input, v.GetName())
	}
	for _, v := range body.Output {
		p.Output = append(p.Output, v.GetName())
	}
	for _, t := range body.Initializer {
		p.Node = append(p.Node, constantNode(t))
	}
	for _, s := range body.SparseInitializer {
		p.Node = append(p.Node, &pb.NodeProto{OpType: proto.String("Constant"), Output: []string{s.Values.GetName()},
			Attribute: []*pb.AttributeProto{{Name: proto.String("sparse_value"), Type: pb.AttributeProto_SPARSE_TENSOR.Enum(), SparseTensor: s}}})
	}
	p.Node = append(p.Node, body.Node...)
	p.ValueInfo = body.ValueInfo
	return p
}

func constantNode(t *pb.TensorProto) *pb.NodeProto {
	name := t.GetName()
	return &pb.NodeProto{OpType: proto.String("Constant"), Output: []string{name},
		Attribute: []*pb.AttributeProto{{Name: proto.String("value"), Type: pb.AttributeProto_TENSOR.Enum(), T: t}}}
}

// encodeType converts a type; the file's own message where it came from one.
func encodeType(t *ir.Type) *pb.TypeProto {
	if t == nil {
		return nil
	}
	if p, ok := t.Extra.(*pb.TypeProto); ok {
		return p
	}
	p := &pb.TypeProto{Denotation: text(t.Denotation, false)}
	switch t.Kind {
	case ir.TensorKind:
		p.Value = &pb.TypeProto_TensorType{TensorType: &pb.TypeProto_Tensor{ElemType: proto.Int32(int32(t.Elem)), Shape: encodeShape(t.Shape)}}
	case ir.SparseKind:
		p.Value = &pb.TypeProto_SparseTensorType{SparseTensorType: &pb.TypeProto_SparseTensor{ElemType: proto.Int32(int32(t.Elem)), Shape: encodeShape(t.Shape)}}
	case ir.SequenceKind:
		p.Value = &pb.TypeProto_SequenceType{SequenceType: &pb.TypeProto_Sequence{ElemType: encodeType(t.Of)}}
	case ir.OptionalKind:
		p.Value = &pb.TypeProto_OptionalType{OptionalType: &pb.TypeProto_Optional{ElemType: encodeType(t.Of)}}
	case ir.MapKind:
		p.Value = &pb.TypeProto_MapType{MapType: &pb.TypeProto_Map{KeyType: proto.Int32(int32(t.Key)), ValueType: encodeType(t.Of)}}
	case ir.OpaqueKind:
		p.Value = &pb.TypeProto_OpaqueType{OpaqueType: &pb.TypeProto_Opaque{Domain: proto.String(t.Domain), Name: proto.String(t.Name)}}
	}
	return p
}

func encodeShape(s ir.Shape) *pb.TensorShapeProto {
	if s == nil {
		return nil
	}
	p := &pb.TensorShapeProto{}
	for _, d := range s {
		dim := &pb.TensorShapeProto_Dimension{Denotation: text(d.Denotation, false)}
		if n, ok := d.Size(); ok {
			dim.Value = &pb.TensorShapeProto_Dimension_DimValue{DimValue: n}
		} else if d.Symbol() != "" {
			dim.Value = &pb.TensorShapeProto_Dimension_DimParam{DimParam: d.Symbol()}
		}
		p.Dim = append(p.Dim, dim)
	}
	return p
}
