//go:build cgo

package onnxruntime

import (
	"fmt"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/starlarkgs/starlarkgs/array"
)

func shapeOf(a *array.Array) ort.Shape {
	s := make(ort.Shape, a.Rank())
	for i, d := range a.Shape() {
		s[i] = int64(d)
	}
	return s
}

// toNative makes a value of the runtime over the array's memory.
func toNative(v array.Value) (ort.Value, error) {
	a, ok := v.(*array.Array)
	if !ok {
		return nil, fmt.Errorf("got %s, want a tensor: this backend takes no other inputs", v.Summary())
	}
	if err := a.Load(); err != nil {
		return nil, err
	}
	switch a.DType() {
	case array.Float32:
		return native(a, array.Data[float32](a))
	case array.Float64:
		return native(a, array.Data[float64](a))
	case array.Int8:
		return native(a, array.Data[int8](a))
	case array.Int16:
		return native(a, array.Data[int16](a))
	case array.Int32:
		return native(a, array.Data[int32](a))
	case array.Int64:
		return native(a, array.Data[int64](a))
	case array.Uint8:
		return native(a, array.Data[uint8](a))
	case array.Uint16:
		return native(a, array.Data[uint16](a))
	case array.Uint32:
		return native(a, array.Data[uint32](a))
	case array.Uint64:
		return native(a, array.Data[uint64](a))
	case array.Bool:
		return native(a, array.Data[bool](a))
	case array.String:
		t, err := ort.NewStringTensor(shapeOf(a))
		if err != nil {
			return nil, err
		}
		return t, t.SetContents(a.Strings())
	}
	return nativeBytes(a)
}

func native[T ort.TensorData](a *array.Array, data []T) (ort.Value, error) {
	if a.Rank() == 0 {
		return ort.NewScalar(data[0])
	}
	return ort.NewTensor(shapeOf(a), data)
}

// elementTypes maps what the bindings take as bytes.
var elementTypes = map[array.DType]ort.TensorElementDataType{
	array.Float16: ort.TensorElementDataTypeFloat16, array.BFloat16: ort.TensorElementDataTypeBFloat16,
	array.Float8E4M3FN: ort.TensorElementDataTypeFloat8E4M3FN, array.Float8E4M3FNUZ: ort.TensorElementDataTypeFloat8E4M3FNUZ,
	array.Float8E5M2: ort.TensorElementDataTypeFloat8E5M2, array.Float8E5M2FNUZ: ort.TensorElementDataTypeFloat8E5M2FNUZ,
	array.Uint4: ort.TensorElementDataTypeUint4, array.Int4: ort.TensorElementDataTypeInt4,
}

func nativeBytes(a *array.Array) (ort.Value, error) {
	typ, ok := elementTypes[a.DType()]
	if !ok || a.Size() == 0 {
		return nil, fmt.Errorf("got %s, which ONNX Runtime does not take", a.Summary())
	}
	raw, err := a.Bytes()
	if err != nil {
		return nil, err
	}
	return ort.NewCustomDataTensor(shapeOf(a), raw, typ)
}

// fromNative copies a value of the runtime.
func fromNative(v ort.Value) (array.Value, error) {
	switch t := v.(type) {
	case *ort.Tensor[float32]:
		return copied(t.GetShape(), t.GetData())
	case *ort.Tensor[float64]:
		return copied(t.GetShape(), t.GetData())
	case *ort.Tensor[int8]:
		return copied(t.GetShape(), t.GetData())
	case *ort.Tensor[int16]:
		return copied(t.GetShape(), t.GetData())
	case *ort.Tensor[int32]:
		return copied(t.GetShape(), t.GetData())
	case *ort.Tensor[int64]:
		return copied(t.GetShape(), t.GetData())
	case *ort.Tensor[uint8]:
		return copied(t.GetShape(), t.GetData())
	case *ort.Tensor[uint16]:
		return copied(t.GetShape(), t.GetData())
	case *ort.Tensor[uint32]:
		return copied(t.GetShape(), t.GetData())
	case *ort.Tensor[uint64]:
		return copied(t.GetShape(), t.GetData())
	case *ort.Tensor[bool]:
		return copied(t.GetShape(), t.GetData())
	case *ort.StringTensor:
		ss, err := t.GetContents()
		if err != nil {
			return nil, err
		}
		return array.FromStrings(ss, sizes(t.GetShape())...), nil
	case *ort.CustomDataTensor:
		if t.DataType() == ort.TensorElementDataTypeBool {
			return array.FromBytes(array.Bool, sizes(t.GetShape()), append([]byte{}, t.GetData()...))
		}
		return nil, fmt.Errorf("got element type %d, which this backend does not return", t.DataType())
	}
	return nil, fmt.Errorf("got a value of kind %v, which this backend does not return", v.GetONNXType())
}

func sizes(s ort.Shape) []int {
	out := make([]int, len(s))
	for i, d := range s {
		out[i] = int(d)
	}
	return out
}

func copied[T array.Elem](s ort.Shape, data []T) (array.Value, error) {
	return array.FromSlice(append([]T{}, data...), sizes(s)...), nil
}
