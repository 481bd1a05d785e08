package onnx

import (
	"bytes"
	"fmt"
	"os"

	"google.golang.org/protobuf/proto"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx/internal/pb"
)

// ReadValue reads a file that holds one TensorProto, SequenceProto or
// OptionalProto, as the standard's test data does. typ is the type that the
// model gives the value and tells which message it is; nil means a tensor.
func ReadValue(path string, typ *ir.Type) (array.Value, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	v, err := decodeValue(data, typ)
	if err != nil {
		return nil, inFile(path, err)
	}
	return v, nil
}

func decodeValue(data []byte, typ *ir.Type) (array.Value, error) {
	l := &tensorLoader{src: &memory{bytes.NewReader(data), data}}
	kind := ir.TensorKind
	if typ != nil {
		kind = typ.Kind
	}
	var err error
	opts := proto.UnmarshalOptions{RecursionLimit: 2 * defaultLimits.Depth}
	switch kind {
	case ir.SequenceKind:
		var p pb.SequenceProto
		if err = opts.Unmarshal(data, &p); err == nil {
			return l.sequence(&p)
		}
	case ir.OptionalKind:
		var p pb.OptionalProto
		if err = opts.Unmarshal(data, &p); err == nil {
			return l.optional(&p)
		}
	default:
		var p pb.TensorProto
		if err = opts.Unmarshal(data, &p); err == nil {
			return l.value(&p)
		}
	}
	return nil, faultf(ErrInvalid, "the message does not decode: %v", err)
}

func (l *tensorLoader) value(p *pb.TensorProto) (array.Value, error) {
	lit, err := l.literal(p)
	if err != nil {
		return nil, err
	}
	return lit.Array, nil
}

func (l *tensorLoader) sequence(p *pb.SequenceProto) (array.Value, error) {
	s := &array.Sequence{}
	for i, t := range p.TensorValues {
		v, err := l.value(t)
		if err != nil {
			return nil, at(fmt.Sprintf("tensor_values[%d]", i), err)
		}
		s.Items = append(s.Items, v)
	}
	for i, q := range p.SequenceValues {
		v, err := l.sequence(q)
		if err != nil {
			return nil, at(fmt.Sprintf("sequence_values[%d]", i), err)
		}
		s.Items = append(s.Items, v)
	}
	for i, o := range p.OptionalValues {
		v, err := l.optional(o)
		if err != nil {
			return nil, at(fmt.Sprintf("optional_values[%d]", i), err)
		}
		s.Items = append(s.Items, v)
	}
	return s, nil
}

func (l *tensorLoader) optional(p *pb.OptionalProto) (array.Value, error) {
	var v array.Value
	var err error
	switch {
	case p.TensorValue != nil:
		v, err = l.value(p.TensorValue)
	case p.SequenceValue != nil:
		v, err = l.sequence(p.SequenceValue)
	case p.OptionalValue != nil:
		v, err = l.optional(p.OptionalValue)
	}
	return &array.Optional{Value: v}, err
}

// EncodeTensor returns the TensorProto of an array as bytes.
func EncodeTensor(name string, a *array.Array) ([]byte, error) {
	e := &encoder{}
	p := e.fresh(nil, name, &ir.Literal{Array: a})
	if p.ElidedOffset != nil {
		p.ElidedOffset = nil
		raw, err := a.Bytes()
		if err != nil {
			return nil, err
		}
		p.RawData = raw
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(p)
}
