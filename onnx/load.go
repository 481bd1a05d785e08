package onnx

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx/internal/pb"
)

// loader makes the IR of decoded messages.
type loader struct {
	tensors tensorLoader
	depth   int
	n       counter
}

// scope resolves names: those of a graph, then those of the graphs around it.
type scope struct {
	parent *scope
	names  map[string]*ir.Tensor
}

func (s *scope) find(name string) *ir.Tensor {
	for ; s != nil; s = s.parent {
		if t := s.names[name]; t != nil {
			return t
		}
	}
	return nil
}

func (l *loader) model(p *pb.ModelProto) (*ir.Model, error) {
	m := ir.NewModel(p.Graph.GetName(), imports(p.OpsetImport)...)
	m.SetIRVersion(p.GetIrVersion())
	m.SetProducer(p.GetProducerName(), p.GetProducerVersion())
	m.SetDomain(p.GetDomain())
	m.SetModelVersion(p.GetModelVersion())
	m.SetDoc(p.GetDocString())
	m.SetMetadata(props(p.MetadataProps))
	if err := l.fill(m.Graph(), p.Graph, nil); err != nil {
		return nil, at("graph", err)
	}
	if err := l.n.function(len(p.Functions)); err != nil {
		return nil, err
	}
	var fns []*ir.Function
	for i, f := range p.Functions {
		fn, err := l.function(f)
		if err != nil {
			return nil, at(fmt.Sprintf("functions[%d]", i), err)
		}
		fns = append(fns, fn)
	}
	m.SetFunctions(fns)
	if err := checkCalls(m, l.n.limits.Calls); err != nil {
		return nil, err
	}
	rest := &pb.ModelProto{Configuration: p.Configuration, TrainingInfo: p.TrainingInfo}
	rest.ProtoReflect().SetUnknown(p.ProtoReflect().GetUnknown())
	m.Extra = &modelExtra{rest: rest, head: presence(p), training: l.tensors}
	return m, nil
}

func imports(ps []*pb.OperatorSetIdProto) []ir.Import {
	out := make([]ir.Import, len(ps))
	for i, p := range ps {
		out[i] = ir.Import{Domain: p.GetDomain(), Version: p.GetVersion(), Extra: kept(p, p.Domain != nil && *p.Domain == "")}
	}
	return out
}

func props(ps []*pb.StringStringEntryProto) []ir.Prop {
	out := make([]ir.Prop, len(ps))
	for i, p := range ps {
		out[i] = ir.Prop{Key: p.GetKey(), Value: p.GetValue(), Extra: kept(p, p.Key == nil || p.Value == nil)}
	}
	return out
}

// kept returns the message where it says what a fresh one would not: where
// unusual is set, or unknown fields are there.
func kept[T proto.Message](p T, unusual bool) any {
	if unusual || len(p.ProtoReflect().GetUnknown()) > 0 {
		return p
	}
	return nil
}

// fill makes the content of a graph. Names are resolved inside first: all that
// the graph itself defines is known before a node is read.
func (l *loader) fill(g *ir.Graph, p *pb.GraphProto, outer *scope) error {
	l.depth++
	defer func() { l.depth-- }()
	if l.depth > l.n.limits.Bodies {
		return over("bodies", "graphs within graphs", l.n.limits.Bodies)
	}
	if err := l.n.node(len(p.Node)); err != nil {
		return err
	}
	g.SetDoc(p.GetDocString())
	g.SetMetadata(props(p.MetadataProps))
	s := &scope{parent: outer, names: make(map[string]*ir.Tensor, len(p.Node)+len(p.Initializer))}
	x := &graphExtra{unknown: p.ProtoReflect().GetUnknown(), noName: p.Name == nil, emptyDoc: p.DocString != nil && *p.DocString == ""}
	if err := l.initializers(g, p, s, x); err != nil {
		return err
	}
	ins := l.infos(p.Input, s, &x.inputs)
	g.SetInputs(ins...)
	outputs := declareOutputs(p.Node, s)
	for i, n := range p.Node {
		node, err := l.node(g, n, s, outputs[i])
		if err != nil {
			return at(fmt.Sprintf("node[%d]", i), err)
		}
		g.AddNode(node)
		p.Node[i] = nil // the IR has it now
	}
	l.values(g, p, s, x)
	if !g.InOrder() {
		x.unsorted = g.Nodes()
	}
	g.Extra = x
	return nil
}

// values reads outputs, value_info and annotations.
func (l *loader) values(g *ir.Graph, p *pb.GraphProto, s *scope, x *graphExtra) {
	outs := make([]*ir.Tensor, len(p.Output))
	for i, v := range p.Output {
		t := s.find(v.GetName())
		if t == nil {
			t = ir.NewTensor(v.GetName(), nil)
			s.names[v.GetName()] = t
		}
		outs[i] = t
		l.info(t, v, &x.outputs)
	}
	for _, v := range p.ValueInfo {
		t := s.names[v.GetName()]
		if t == nil {
			t = ir.NewTensor(v.GetName(), nil) // of a value that nobody makes
		}
		l.info(t, v, &x.values)
	}
	for _, q := range p.QuantizationAnnotation {
		x.quant = append(x.quant, annotation{q, s.names[q.GetTensorName()]})
	}
	g.SetOutputs(outs...)
}

// infos makes the tensors of ValueInfoProtos that declare them.
func (l *loader) infos(ps []*pb.ValueInfoProto, s *scope, keep *[]valueInfo) []*ir.Tensor {
	ts := make([]*ir.Tensor, len(ps))
	for i, p := range ps {
		t := s.names[p.GetName()]
		if t == nil {
			t = ir.NewTensor(p.GetName(), nil)
			t.Extra = p.GetName()
			s.names[p.GetName()] = t
		}
		ts[i] = t
		l.info(t, p, keep)
	}
	return ts
}

// info records what a ValueInfoProto says of t, unless an earlier one did.
func (l *loader) info(t *ir.Tensor, p *pb.ValueInfoProto, keep *[]valueInfo) {
	if t.RecordedType() == nil && p.Type != nil {
		t.SetType(typeOf(p.Type))
	}
	if t.Doc() == "" && p.GetDocString() != "" {
		t.SetDoc(p.GetDocString())
	}
	if len(t.Metadata()) == 0 && len(p.MetadataProps) > 0 {
		t.SetMetadata(props(p.MetadataProps))
	}
	*keep = append(*keep, valueInfo{t, p, t.RecordedType(), t.Doc(), len(t.Metadata())})
}

func (l *loader) initializers(g *ir.Graph, p *pb.GraphProto, s *scope, x *graphExtra) error {
	for i, tp := range p.Initializer {
		lit, err := l.tensors.literal(tp)
		if err != nil {
			return at(fmt.Sprintf("initializer[%d] %q", i, tp.GetName()), err)
		}
		l.declare(g, tp.GetName(), lit, s)
	}
	for i, sp := range p.SparseInitializer {
		lit, err := l.sparse(sp)
		if err != nil {
			return at(fmt.Sprintf("sparse_initializer[%d]", i), err)
		}
		l.declare(g, sp.GetValues().GetName(), &ir.Literal{Sparse: lit}, s)
	}
	return nil
}

func (l *loader) declare(g *ir.Graph, name string, lit *ir.Literal, s *scope) {
	t := ir.NewTensor(name, nil)
	t.SetLiteral(lit)
	t.Extra = name
	g.AddInitializer(t)
	if s.names[name] == nil {
		s.names[name] = t
	}
}

func (l *loader) sparse(p *pb.SparseTensorProto) (*ir.Sparse, error) {
	shape, err := dims(p.Dims)
	if err != nil {
		return nil, err
	}
	if p.Values == nil || p.Indices == nil {
		return nil, faultf(ErrInvalid, "a sparse tensor without values or indices")
	}
	values, err := l.tensors.literal(p.Values)
	if err != nil {
		return nil, at("values", err)
	}
	indices, err := l.tensors.literal(p.Indices)
	if err != nil {
		return nil, at("indices", err)
	}
	return &ir.Sparse{Values: values.Array, Indices: indices.Array, Dims: shape, Name: p.Values.GetName(),
		Extra: &sparseExtra{values.Storage.(*storage), indices.Storage.(*storage), p}}, nil
}

// declareOutputs makes the tensors that the nodes make. Of two nodes that make
// one name the first is found by it.
func declareOutputs(nodes []*pb.NodeProto, s *scope) [][]*ir.Tensor {
	all := make([][]*ir.Tensor, len(nodes))
	for i, n := range nodes {
		outs := make([]*ir.Tensor, len(n.Output))
		for k, name := range n.Output {
			if name == "" {
				continue
			}
			t := s.names[name]
			if t == nil || t.IsConstant() || made(all, i, outs[:k], t) {
				t = ir.NewTensor(name, nil)
				t.Extra = name
			}
			if s.names[name] == nil {
				s.names[name] = t
			}
			outs[k] = t
		}
		all[i] = outs
		for _, t := range outs {
			if t != nil {
				t.Extra = madeName(t.Name())
			}
		}
	}
	return all
}

// madeName is the Extra of a tensor that a node of the file makes: its name there.
type madeName string

func made(_ [][]*ir.Tensor, _ int, here []*ir.Tensor, t *ir.Tensor) bool {
	if _, yes := t.Extra.(madeName); yes {
		return true
	}
	for _, u := range here {
		if u == t {
			return true
		}
	}
	return false
}

func (l *loader) node(g *ir.Graph, p *pb.NodeProto, s *scope, outs []*ir.Tensor) (*ir.Node, error) {
	ins := make([]*ir.Tensor, len(p.Input))
	for i, name := range p.Input {
		if name == "" {
			continue
		}
		if ins[i] = s.find(name); ins[i] == nil {
			ins[i] = ir.NewTensor(name, nil)
			s.names[name] = ins[i]
		}
	}
	n := ir.NewNode(p.GetOpType(), ins, outs)
	n.SetName(p.GetName())
	n.SetDomain(p.GetDomain())
	n.SetOverload(p.GetOverload())
	n.SetDoc(p.GetDocString())
	if len(p.MetadataProps) > 0 {
		n.SetMetadata(props(p.MetadataProps))
	}
	if len(p.Attribute) > 0 {
		if err := l.n.attrs(len(p.Attribute)); err != nil {
			return nil, err
		}
		attrs := make([]*ir.Attr, len(p.Attribute))
		for i, a := range p.Attribute {
			attr, err := l.attr(a, s)
			if err != nil {
				return nil, at(fmt.Sprintf("attribute[%q]", a.GetName()), err)
			}
			attrs[i] = attr
		}
		n.SetAttrs(attrs)
	}
	if unusualNode(p) {
		n.Extra = &nodeExtra{p.Name != nil && *p.Name == "", p.Domain != nil && *p.Domain == "", p.Overload != nil && *p.Overload == "",
			p.DocString != nil && *p.DocString == "", p.OpType == nil, p.DeviceConfigurations, p.ProtoReflect().GetUnknown()}
	}
	return n, nil
}

func unusualNode(p *pb.NodeProto) bool {
	return p.Name != nil && *p.Name == "" || p.Domain != nil && *p.Domain == "" || p.Overload != nil && *p.Overload == "" ||
		p.DocString != nil && *p.DocString == "" || p.OpType == nil || len(p.DeviceConfigurations) > 0 || len(p.ProtoReflect().GetUnknown()) > 0
}

// kindOf returns an attribute's kind: what the file says, or, as files of old
// leave it out, that of the field that is set.
func kindOf(p *pb.AttributeProto) ir.AttrKind {
	switch {
	case p.Type != nil && *p.Type != pb.AttributeProto_UNDEFINED:
		return ir.AttrKind(*p.Type)
	case p.F != nil:
		return ir.AttrFloat
	case p.I != nil:
		return ir.AttrInt
	case p.S != nil:
		return ir.AttrString
	case p.T != nil:
		return ir.AttrTensor
	case p.G != nil:
		return ir.AttrGraph
	case len(p.Floats) > 0:
		return ir.AttrFloats
	case len(p.Ints) > 0:
		return ir.AttrInts
	case len(p.Strings) > 0:
		return ir.AttrStrings
	}
	return ir.AttrUndefined
}

func (l *loader) attr(p *pb.AttributeProto, s *scope) (*ir.Attr, error) {
	a := &ir.Attr{Name: p.GetName(), Kind: kindOf(p), Ref: p.GetRefAttrName(), Doc: p.GetDocString()}
	if p.Type == nil || p.DocString != nil && *p.DocString == "" || p.Name == nil || len(p.ProtoReflect().GetUnknown()) > 0 ||
		p.RefAttrName != nil && *p.RefAttrName == "" {
		a.Extra = &attrExtra{p.Type == nil, p.DocString != nil && *p.DocString == "", p.Name == nil, p.ProtoReflect().GetUnknown()}
	}
	if a.Ref != "" {
		return a, nil
	}
	var err error
	a.Value, err = l.attrValue(p, a.Kind, s)
	return a, err
}

func (l *loader) attrValue(p *pb.AttributeProto, kind ir.AttrKind, s *scope) (any, error) {
	switch kind {
	case ir.AttrFloat:
		return p.GetF(), nil
	case ir.AttrInt:
		return p.GetI(), nil
	case ir.AttrString:
		return string(p.GetS()), nil
	case ir.AttrFloats:
		return append([]float32{}, p.Floats...), nil
	case ir.AttrInts:
		return append([]int64{}, p.Ints...), nil
	case ir.AttrStrings:
		return convertAll(p.Strings, func(b []byte) (string, error) { return string(b), nil })
	case ir.AttrTensor:
		if p.T == nil {
			return nil, faultf(ErrInvalid, "a tensor attribute without a tensor")
		}
		return l.tensors.literal(p.T)
	case ir.AttrTensors:
		return convertAll(p.Tensors, l.tensors.literal)
	case ir.AttrGraph:
		if p.G == nil {
			return nil, faultf(ErrInvalid, "a graph attribute without a graph")
		}
		return l.body(p.G, s)
	case ir.AttrGraphs:
		return convertAll(p.Graphs, func(g *pb.GraphProto) (*ir.Graph, error) { return l.body(g, s) })
	case ir.AttrSparseTensor:
		if p.SparseTensor == nil {
			return nil, faultf(ErrInvalid, "a sparse tensor attribute without a tensor")
		}
		return l.sparse(p.SparseTensor)
	case ir.AttrSparseTensors:
		return convertAll(p.SparseTensors, l.sparse)
	case ir.AttrType:
		return typeOf(p.Tp), nil
	case ir.AttrTypes:
		return convertAll(p.TypeProtos, func(t *pb.TypeProto) (*ir.Type, error) { return typeOf(t), nil })
	case ir.AttrUndefined:
		return nil, nil
	}
	return nil, faultf(ErrInvalid, "type: got %d, want 1 to 14", kind)
}

func convertAll[T, U any](in []T, f func(T) (U, error)) ([]U, error) {
	out := make([]U, len(in))
	for i, x := range in {
		var err error
		if out[i], err = f(x); err != nil {
			return nil, at(fmt.Sprintf("[%d]", i), err)
		}
	}
	return out, nil
}

func (l *loader) body(p *pb.GraphProto, s *scope) (*ir.Graph, error) {
	g := ir.NewGraph(p.GetName())
	return g, l.fill(g, p, s)
}

func (l *loader) function(p *pb.FunctionProto) (*ir.Function, error) {
	f := ir.NewFunction(p.GetDomain(), p.GetName(), p.GetOverload(), imports(p.OpsetImport)...)
	f.SetDoc(p.GetDocString())
	f.SetMetadata(props(p.MetadataProps))
	s := &scope{names: map[string]*ir.Tensor{}}
	var defaults []*ir.Attr
	for i, a := range p.AttributeProto {
		attr, err := l.attr(a, s)
		if err != nil {
			return nil, at(fmt.Sprintf("attribute_proto[%d]", i), err)
		}
		defaults = append(defaults, attr)
	}
	f.SetAttrs(p.Attribute, defaults)
	g := &pb.GraphProto{Name: p.Name, Node: p.Node, ValueInfo: p.ValueInfo}
	for _, name := range p.Input {
		g.Input = append(g.Input, &pb.ValueInfoProto{Name: proto.String(name)})
	}
	for _, name := range p.Output {
		g.Output = append(g.Output, &pb.ValueInfoProto{Name: proto.String(name)})
	}
	if err := l.fill(f.Body(), g, nil); err != nil {
		return nil, err
	}
	f.Extra = &functionExtra{p.Domain != nil && *p.Domain == "", p.Overload != nil && *p.Overload == "", p.DocString != nil && *p.DocString == "", p.ProtoReflect().GetUnknown()}
	return f, nil
}

// typeOf converts a type; nil for none.
func typeOf(p *pb.TypeProto) *ir.Type {
	if p == nil {
		return nil
	}
	t := &ir.Type{Denotation: p.GetDenotation(), Extra: p}
	switch v := p.Value.(type) {
	case *pb.TypeProto_TensorType:
		t.Kind, t.Elem, t.Shape = ir.TensorKind, elem(v.TensorType.GetElemType()), shapeOf(v.TensorType.GetShape())
	case *pb.TypeProto_SparseTensorType:
		t.Kind, t.Elem, t.Shape = ir.SparseKind, elem(v.SparseTensorType.GetElemType()), shapeOf(v.SparseTensorType.GetShape())
	case *pb.TypeProto_SequenceType:
		t.Kind, t.Of = ir.SequenceKind, typeOf(v.SequenceType.GetElemType())
	case *pb.TypeProto_OptionalType:
		t.Kind, t.Of = ir.OptionalKind, typeOf(v.OptionalType.GetElemType())
	case *pb.TypeProto_MapType:
		t.Kind, t.Key, t.Of = ir.MapKind, elem(v.MapType.GetKeyType()), typeOf(v.MapType.GetValueType())
	case *pb.TypeProto_OpaqueType:
		t.Kind, t.Domain, t.Name = ir.OpaqueKind, v.OpaqueType.GetDomain(), v.OpaqueType.GetName()
	}
	return t
}

func elem(n int32) array.DType {
	if n < 0 || n > 255 {
		return array.Undefined
	}
	return array.DType(n)
}

func shapeOf(p *pb.TensorShapeProto) ir.Shape {
	if p == nil {
		return nil
	}
	s := make(ir.Shape, len(p.Dim))
	for i, d := range p.Dim {
		switch v := d.Value.(type) {
		case *pb.TensorShapeProto_Dimension_DimValue:
			s[i] = ir.Num(v.DimValue)
		case *pb.TensorShapeProto_Dimension_DimParam:
			s[i] = ir.Sym(v.DimParam)
		}
		s[i].Denotation = d.GetDenotation()
	}
	return s
}
