// Package typed moves the elements of a tensor between the two places where a
// TensorProto may hold them: raw_data, and the repeated field that belongs to the
// element type (float_data, int32_data, …).
//
// The standard's comments on TensorProto say what lies where. An entry of
// int32_data is one element of a type of 8 to 32 bits, one byte of elements of a
// type of 4 or 2 bits, and one element of a type of 6 bits; in raw_data these
// last are packed four into three bytes.
package typed

import (
	"encoding/binary"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/onnx/internal/pb"
)

// The fields of TensorProto, by their numbers.
const (
	Float  protowire.Number = 4
	Int32  protowire.Number = 5
	String protowire.Number = 6
	Int64  protowire.Number = 7
	Double protowire.Number = 10
	Uint64 protowire.Number = 11
)

// FieldOf returns the field that elements of a type lie in: int32_data for all
// that have no other.
func FieldOf(dt array.DType) protowire.Number {
	switch dt {
	case array.Float32, array.Complex64:
		return Float
	case array.Float64, array.Complex128:
		return Double
	case array.Int64:
		return Int64
	case array.Uint32, array.Uint64:
		return Uint64
	case array.String:
		return String
	}
	return Int32
}

// AtOnce is the number of entries of int32_data or uint64_data that Append packs
// together: four of a type of 6 bits, which fill three bytes, else one.
func AtOnce(dt array.DType) int {
	if dt.Bits() == 6 {
		return 4
	}
	return 1
}

// Append appends at most AtOnce entries in the layout of raw_data.
func Append[T int32 | uint64](raw []byte, dt array.DType, entries []T) []byte {
	var v uint64
	for i, e := range entries {
		v |= uint64(e) << (dt.Bits() * i)
	}
	bits := dt.Bits()
	if bits < 6 {
		bits = 8
	}
	for k := range (bits*len(entries) + 7) / 8 {
		raw = append(raw, byte(v>>(8*k)))
	}
	return raw
}

// Pack returns the elements of the typed fields as raw_data has them. Strings
// have no such form: they give nothing.
func Pack(t *pb.TensorProto) []byte {
	raw := []byte{}
	dt := array.DType(t.GetDataType())
	switch FieldOf(dt) {
	case Float:
		for _, v := range t.FloatData {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
		}
	case Double:
		for _, v := range t.DoubleData {
			raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(v))
		}
	case Int64:
		for _, v := range t.Int64Data {
			raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
		}
	case Uint64:
		for _, v := range t.Uint64Data {
			raw = Append(raw, dt, []uint64{v})
		}
	case Int32:
		for entries := range slices.Chunk(t.Int32Data, AtOnce(dt)) {
			raw = Append(raw, dt, entries)
		}
	}
	return raw
}

// Unpack returns a tensor of the same type with the elements of raw_data in its
// typed field. What does not fill an entry is left out.
func Unpack(t *pb.TensorProto) *pb.TensorProto {
	out := &pb.TensorProto{DataType: t.DataType}
	raw, dt := t.RawData, array.DType(t.GetDataType())
	switch FieldOf(dt) {
	case Float:
		for ; len(raw) >= 4; raw = raw[4:] {
			out.FloatData = append(out.FloatData, math.Float32frombits(binary.LittleEndian.Uint32(raw)))
		}
	case Double:
		for ; len(raw) >= 8; raw = raw[8:] {
			out.DoubleData = append(out.DoubleData, math.Float64frombits(binary.LittleEndian.Uint64(raw)))
		}
	case Int64:
		for ; len(raw) >= 8; raw = raw[8:] {
			out.Int64Data = append(out.Int64Data, int64(binary.LittleEndian.Uint64(raw)))
		}
	case Uint64:
		for w := dt.Bits() / 8; len(raw) >= w; raw = raw[w:] {
			out.Uint64Data = append(out.Uint64Data, entry(raw, w))
		}
	case Int32:
		if dt.Bits() == 6 {
			out.Int32Data = unpackSix(raw, t.Dims)
			break
		}
		for w := max(dt.Bits(), 8) / 8; len(raw) >= w; raw = raw[w:] {
			out.Int32Data = append(out.Int32Data, signed(dt, entry(raw, w)))
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

// signed returns an entry as int32_data has it: negative only of signed types
// that fill whole bytes.
func signed(dt array.DType, v uint64) int32 {
	switch dt {
	case array.Int8:
		return int32(int8(v))
	case array.Int16:
		return int32(int16(v))
	}
	return int32(v)
}

// unpackSix returns as many elements of 6 bits as the dimensions say, as far as
// there are.
func unpackSix(raw []byte, dims []int64) []int32 {
	room := int64(len(raw)) * 8 / 6
	n := int64(1)
	for _, d := range dims {
		if d <= 0 || n > room {
			return nil
		}
		n *= min(d, room+1)
	}
	out := make([]int32, min(n, room))
	for i := range out {
		at, shift := 6*i/8, 6*i%8
		v := int32(raw[at]) >> shift
		if shift > 2 {
			v |= int32(raw[at+1]) << (8 - shift)
		}
		out[i] = v & 63
	}
	return out
}
