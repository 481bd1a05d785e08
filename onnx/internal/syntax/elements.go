package syntax

import (
	"encoding/binary"
	"math"

	"github.com/starlarkgs/starlarkgs/onnx/internal/pb"
)

// typedField is the field of TensorProto that the elements of a type lie in when
// they do not lie in raw_data.
type typedField int

const (
	int32Field typedField = iota // of all types that have no other
	floatField
	doubleField
	int64Field
	uint64Field
	stringField
)

// The numbers of element types that elements are read and written by.
const (
	typeFloat      = 1
	typeUint8      = 2
	typeInt8       = 3
	typeUint16     = 4
	typeInt16      = 5
	typeInt32      = 6
	typeInt64      = 7
	typeString     = 8
	typeFloat16    = 10
	typeDouble     = 11
	typeUint32     = 12
	typeUint64     = 13
	typeComplex64  = 14
	typeComplex128 = 15
	typeBFloat16   = 16
	typeFloat6E2M3 = 27
	typeFloat6E3M2 = 28
)

func fieldOf(elem int32) typedField {
	switch elem {
	case typeFloat, typeComplex64:
		return floatField
	case typeDouble, typeComplex128:
		return doubleField
	case typeInt64:
		return int64Field
	case typeUint32, typeUint64:
		return uint64Field
	case typeString:
		return stringField
	}
	return int32Field
}

// entryBytes is the width in raw_data of an entry of int32_data or uint64_data.
// Of types of 4 and 2 bits an entry is one byte of elements; those of 6 bits,
// whose entries are elements, are packed otherwise: see sixBits.
func entryBytes(elem int32) int {
	switch elem {
	case typeInt16, typeUint16, typeFloat16, typeBFloat16:
		return 2
	case typeInt32, typeUint32:
		return 4
	case typeUint64:
		return 8
	}
	return 1
}

func sixBits(elem int32) bool { return elem == typeFloat6E2M3 || elem == typeFloat6E3M2 }

// rawOf returns the elements of the typed fields as raw_data has them.
func rawOf(t *pb.TensorProto) []byte {
	raw := []byte{}
	elem := t.GetDataType()
	switch fieldOf(elem) {
	case floatField:
		for _, v := range t.FloatData {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
		}
	case doubleField:
		for _, v := range t.DoubleData {
			raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(v))
		}
	case int64Field:
		for _, v := range t.Int64Data {
			raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
		}
	case uint64Field:
		for _, v := range t.Uint64Data {
			raw = appendEntry(raw, v, entryBytes(elem))
		}
	case int32Field:
		if sixBits(elem) {
			return packSix(t.Int32Data)
		}
		for _, v := range t.Int32Data {
			raw = appendEntry(raw, uint64(v), entryBytes(elem))
		}
	}
	return raw
}

func appendEntry(raw []byte, v uint64, width int) []byte {
	for k := range width {
		raw = append(raw, byte(v>>(8*k)))
	}
	return raw
}

func packSix(codes []int32) []byte {
	raw := make([]byte, (6*len(codes)+7)/8)
	for i, c := range codes {
		at, shift := 6*i/8, 6*i%8
		bits := uint16(c&63) << shift
		raw[at] |= byte(bits)
		if bits > 255 {
			raw[at+1] |= byte(bits >> 8)
		}
	}
	return raw
}

// typedOf returns a tensor of the same type with the elements of raw_data in its
// typed field; what does not fill an element is left out.
func typedOf(t *pb.TensorProto) *pb.TensorProto {
	out := &pb.TensorProto{DataType: t.DataType}
	raw, elem := t.RawData, t.GetDataType()
	switch fieldOf(elem) {
	case floatField:
		for ; len(raw) >= 4; raw = raw[4:] {
			out.FloatData = append(out.FloatData, math.Float32frombits(binary.LittleEndian.Uint32(raw)))
		}
	case doubleField:
		for ; len(raw) >= 8; raw = raw[8:] {
			out.DoubleData = append(out.DoubleData, math.Float64frombits(binary.LittleEndian.Uint64(raw)))
		}
	case int64Field:
		for ; len(raw) >= 8; raw = raw[8:] {
			out.Int64Data = append(out.Int64Data, int64(binary.LittleEndian.Uint64(raw)))
		}
	case uint64Field:
		for w := entryBytes(elem); len(raw) >= w; raw = raw[w:] {
			out.Uint64Data = append(out.Uint64Data, entry(raw, w))
		}
	case int32Field:
		if sixBits(elem) {
			out.Int32Data = unpackSix(raw, t.Dims)
			break
		}
		for w := entryBytes(elem); len(raw) >= w; raw = raw[w:] {
			out.Int32Data = append(out.Int32Data, signed(elem, entry(raw, w)))
		}
	}
	return out
}

func entry(raw []byte, width int) (v uint64) {
	for k := range width {
		v |= uint64(raw[k]) << (8 * k)
	}
	return v
}

// signed returns an entry as int32_data has it: negative only of signed types.
func signed(elem int32, v uint64) int32 {
	switch elem {
	case typeInt8:
		return int32(int8(v))
	case typeInt16:
		return int32(int16(v))
	}
	return int32(v)
}

// unpackSix returns as many elements of 6 bits as the dimensions say, as far as
// there are.
func unpackSix(raw []byte, dims []int64) []int32 {
	n := int64(1)
	for _, d := range dims {
		if d <= 0 || n > int64(len(raw))*8 {
			return nil
		}
		n *= d
	}
	out := make([]int32, 0, min(n, int64(len(raw))*8/6))
	for i := range int64(cap(out)) {
		at, shift := 6*i/8, 6*i%8
		v := int32(raw[at]) >> shift
		if shift > 2 {
			v |= int32(raw[at+1]) << (8 - shift)
		}
		out = append(out, v&63)
	}
	return out
}
