package onnx

import (
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx/internal/pb"
)

// What the IR has no place for hangs on its objects as one of these. Flags say
// which fields are set to their defaults, since such a field counts as set.
type (
	modelExtra struct {
		rest     *pb.ModelProto // configuration, training_info, unknown fields
		head     modelHead
		training tensorLoader
	}
	modelHead struct{ ir, producer, producerVersion, domain, version, doc bool }

	nodeExtra struct {
		emptyName, emptyDomain, emptyOverload, emptyDoc, noOp bool
		devices                                               []*pb.NodeDeviceConfigurationProto
		unknown                                               []byte
	}
	attrExtra struct {
		noType, emptyDoc, noName bool
		unknown                  []byte
	}
	functionExtra struct {
		emptyDomain, emptyOverload, emptyDoc bool
		unknown                              []byte
	}
	graphExtra struct {
		inputs, outputs, values []valueInfo
		quant                   []annotation
		unsorted                []*ir.Node // the nodes, where the file had them out of order
		noName, emptyDoc        bool
		unknown                 []byte
	}
	sparseExtra struct {
		values, indices *storage
		proto           *pb.SparseTensorProto
	}
)

// valueInfo is one ValueInfoProto as the file had it, with what it told then.
type valueInfo struct {
	tensor *ir.Tensor
	proto  *pb.ValueInfoProto
	typ    *ir.Type
	doc    string
	props  int
}

type annotation struct {
	proto  *pb.TensorAnnotation
	tensor *ir.Tensor
}

// CopyExtra makes the copy of a graph refer to the copies of its tensors.
func (x *graphExtra) CopyExtra(tensor func(*ir.Tensor) *ir.Tensor) any {
	c := *x
	c.unsorted = nil
	for _, list := range []*[]valueInfo{&c.inputs, &c.outputs, &c.values} {
		next := make([]valueInfo, len(*list))
		for i, v := range *list {
			v.tensor = tensor(v.tensor)
			next[i] = v
		}
		*list = next
	}
	c.quant = make([]annotation, len(x.quant))
	for i, a := range x.quant {
		c.quant[i] = annotation{a.proto, tensor(a.tensor)}
	}
	return &c
}

func presence(p *pb.ModelProto) modelHead {
	return modelHead{p.IrVersion != nil, p.ProducerName != nil, p.ProducerVersion != nil, p.Domain != nil, p.ModelVersion != nil, p.DocString != nil}
}
