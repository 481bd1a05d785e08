package array

import (
	"fmt"
	"slices"
	"unsafe"
)

// Elem is a Go type that holds one element of an ONNX type of whole bytes.
type Elem interface {
	bool | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 |
		float32 | float64 | complex64 | complex128 |
		F16 | BF16 | F8E4M3FN | F8E4M3FNUZ | F8E5M2 | F8E5M2FNUZ | F8E8M0
}

// DTypeOf returns the element type that T holds.
func DTypeOf[T Elem]() DType {
	var zero T
	switch any(zero).(type) {
	case bool:
		return Bool
	case int8:
		return Int8
	case int16:
		return Int16
	case int32:
		return Int32
	case int64:
		return Int64
	case uint8:
		return Uint8
	case uint16:
		return Uint16
	case uint32:
		return Uint32
	case uint64:
		return Uint64
	case float32:
		return Float32
	case float64:
		return Float64
	case complex64:
		return Complex64
	case complex128:
		return Complex128
	case F16:
		return Float16
	case BF16:
		return BFloat16
	case F8E4M3FN:
		return Float8E4M3FN
	case F8E4M3FNUZ:
		return Float8E4M3FNUZ
	case F8E5M2:
		return Float8E5M2
	case F8E5M2FNUZ:
		return Float8E5M2FNUZ
	}
	return Float8E8M0
}

// sliceBytes returns the memory of s.
func sliceBytes[T any](s []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(zero)))
}

// FromSlice returns the array of these elements, whose memory it shares; with
// no shape it has one axis.
func FromSlice[T Elem](data []T, shape ...int) *Array {
	if shape == nil {
		shape = []int{len(data)}
	}
	if n, err := count(shape); err != nil || n != len(data) {
		panic(fmt.Sprintf("internal error: %d elements for shape %v", len(data), shape))
	}
	return fresh(DTypeOf[T](), shape, &buffer{bytes: sliceBytes(data)})
}

// Scalar returns the array of rank 0 that holds v.
func Scalar[T Elem](v T) *Array { return FromSlice([]T{v}, []int{}...) }

// ScalarString returns the string array of rank 0 that holds s.
func ScalarString(s string) *Array { return FromStrings([]string{s}, []int{}...) }

// Data returns the elements in row-major order; callers must not write into
// them. The memory is the array's where that is contiguous and aligned for T,
// else a copy. T must be the array's type, anything else is a bug and panics; a
// lazy array that can't be read panics with its source's error: see Load.
func Data[T Elem](a *Array) []T {
	if a.dtype != DTypeOf[T]() {
		panic(fmt.Sprintf("internal error: Data of %s as %s", a.dtype, DTypeOf[T]()))
	}
	raw, err := a.Bytes()
	if err != nil {
		panic(err)
	}
	if a.dtype == Bool {
		raw = trueBools(raw)
	}
	return typed[T](raw)
}

// trueBools returns bytes that Go may take for bools, of which it knows 0 and 1
// only: raw itself in the rule, a copy where a file has other values.
func trueBools(raw []byte) []byte {
	for i, b := range raw {
		if b > 1 {
			raw = slices.Clone(raw)
			for k, b := range raw[i:] {
				raw[i+k] = min(b, 1)
			}
			break
		}
	}
	return raw
}

// typed returns packed bytes as elements: the same memory where the processor
// reads them there, else a copy. Files hold weights at any address; elements of
// 8 bytes and more are left to copies, since assembly of other packages may
// count on their alignment.
func typed[T Elem](raw []byte) []T {
	var zero T
	size := int(unsafe.Sizeof(zero))
	if len(raw) == 0 {
		return []T{}
	}
	p := unsafe.Pointer(unsafe.SliceData(raw))
	if uintptr(p)%unsafe.Alignof(zero) == 0 || ReadsUnaligned && size <= 4 {
		return unsafe.Slice((*T)(p), len(raw)/size)
	}
	out := make([]T, len(raw)/size)
	copy(sliceBytes(out), raw)
	return out
}

// MutableData returns the elements of a contiguous array for writing. Bytes
// that are a source's or shared become the array's own first; views of the array
// see what is written.
func MutableData[T Elem](a *Array) []T {
	if !a.IsContiguous() {
		panic("internal error: MutableData of an array that is not contiguous")
	}
	if err := a.own(); err != nil {
		panic(err)
	}
	var zero T
	b := a.buf
	if p := unsafe.Pointer(unsafe.SliceData(b.bytes)); uintptr(p)%unsafe.Alignof(zero) != 0 {
		data := alignedBytes(len(b.bytes))
		copy(data, b.bytes)
		b.bytes = data
	}
	if a.dtype == Bool {
		b.bytes = trueBools(b.bytes)
	}
	return Data[T](a)
}

// MutableStrings returns the elements of a contiguous string array for writing.
func MutableStrings(a *Array) []string {
	if !a.IsContiguous() {
		panic("internal error: MutableStrings of an array that is not contiguous")
	}
	if err := a.own(); err != nil {
		panic(err)
	}
	return a.Strings()
}
