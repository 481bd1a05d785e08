// Package array is the dense N-dimensional array that constants hold and
// kernels compute on: an element type, a shape, and bytes.
//
// An Array covers every ONNX type. Its memory is laid out as TensorProto's
// raw_data: row-major, little-endian, bool one byte each, 6-, 4- and 2-bit types
// packed with the first element in the low bits; strings are kept as Go strings.
// Views (slices, transposes, broadcasts) have strides, counted in elements, over
// the memory of the array that they are made of, and see its edits.
//
// An array may be lazy: then its bytes lie in a Source (a mapped file) and are
// read at the first use. Whoever writes into an array whose bytes are a
// source's, or shared by Share, gets private bytes first. Any number of
// goroutines may read an array at once, a lazy one too; a write must be alone.
//
// Access comes in four widths:
//
//	At, SetAt, Float64s, Int64s  any type, one by one or converted
//	Data[T], MutableData[T]      typed slices, for kernels
//	Unpack[T], Pack[T]           the 6-, 4- and 2-bit types, an element to a slot
//	Bytes                        the raw bytes, for files
//
// Cast converts between types by the rules of ONNX's Cast; String prints as
// NumPy does. Arithmetic is elsewhere: package num has NumPy's, package ops that
// of ONNX's operators.
package array

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/starlarkgs/starlarkgs/internal/spell"
)

// DType is the type of an array's elements. The values are those of
// TensorProto.DataType.
type DType uint8

// The element types.
const (
	Undefined      DType = 0
	Float32        DType = 1
	Uint8          DType = 2
	Int8           DType = 3
	Uint16         DType = 4
	Int16          DType = 5
	Int32          DType = 6
	Int64          DType = 7
	String         DType = 8
	Bool           DType = 9
	Float16        DType = 10
	Float64        DType = 11
	Uint32         DType = 12
	Uint64         DType = 13
	Complex64      DType = 14
	Complex128     DType = 15
	BFloat16       DType = 16
	Float8E4M3FN   DType = 17
	Float8E4M3FNUZ DType = 18
	Float8E5M2     DType = 19
	Float8E5M2FNUZ DType = 20
	Uint4          DType = 21
	Int4           DType = 22
	Float4E2M1     DType = 23
	Float8E8M0     DType = 24
	Uint2          DType = 25
	Int2           DType = 26
	Float6E2M3     DType = 27
	Float6E3M2     DType = 28
)

type dtypeKind uint8

const (
	kindOther dtypeKind = iota
	kindUint
	kindInt
	kindFloat
	kindComplex
)

// dtypes is what is known of each type, by its number.
var dtypes = [...]struct {
	name, onnx string
	bits       int
	kind       dtypeKind
}{
	{"undefined", "UNDEFINED", 0, kindOther},
	{"float32", "FLOAT", 32, kindFloat},
	{"uint8", "UINT8", 8, kindUint},
	{"int8", "INT8", 8, kindInt},
	{"uint16", "UINT16", 16, kindUint},
	{"int16", "INT16", 16, kindInt},
	{"int32", "INT32", 32, kindInt},
	{"int64", "INT64", 64, kindInt},
	{"string", "STRING", 0, kindOther},
	{"bool", "BOOL", 8, kindOther},
	{"float16", "FLOAT16", 16, kindFloat},
	{"float64", "DOUBLE", 64, kindFloat},
	{"uint32", "UINT32", 32, kindUint},
	{"uint64", "UINT64", 64, kindUint},
	{"complex64", "COMPLEX64", 64, kindComplex},
	{"complex128", "COMPLEX128", 128, kindComplex},
	{"bfloat16", "BFLOAT16", 16, kindFloat},
	{"float8_e4m3fn", "FLOAT8E4M3FN", 8, kindFloat},
	{"float8_e4m3fnuz", "FLOAT8E4M3FNUZ", 8, kindFloat},
	{"float8_e5m2", "FLOAT8E5M2", 8, kindFloat},
	{"float8_e5m2fnuz", "FLOAT8E5M2FNUZ", 8, kindFloat},
	{"uint4", "UINT4", 4, kindUint},
	{"int4", "INT4", 4, kindInt},
	{"float4_e2m1fn", "FLOAT4E2M1", 4, kindFloat},
	{"float8_e8m0fnu", "FLOAT8E8M0", 8, kindFloat},
	{"uint2", "UINT2", 2, kindUint},
	{"int2", "INT2", 2, kindInt},
	{"float6_e2m3fn", "FLOAT6E2M3", 6, kindFloat},
	{"float6_e3m2fn", "FLOAT6E3M2", 6, kindFloat},
}

// DTypes returns the valid types in the order of their numbers.
func DTypes() []DType {
	all := make([]DType, 0, len(dtypes)-1)
	for d := Float32; int(d) < len(dtypes); d++ {
		all = append(all, d)
	}
	return all
}

// Valid reports whether d is one of the types, Undefined not being one.
func (d DType) Valid() bool { return d != Undefined && int(d) < len(dtypes) }

// String returns the name that NumPy or ml_dtypes gives the type, as "float32".
func (d DType) String() string {
	if int(d) < len(dtypes) {
		return dtypes[d].name
	}
	return "dtype(" + strconv.Itoa(int(d)) + ")"
}

// ONNXName returns the name in TensorProto.DataType, as "FLOAT".
func (d DType) ONNXName() string {
	if int(d) < len(dtypes) {
		return dtypes[d].onnx
	}
	return strconv.Itoa(int(d))
}

// Bits returns the size of an element: 6, 4 or 2 for packed types, 0 for String
// and what is not a type.
func (d DType) Bits() int {
	if int(d) < len(dtypes) {
		return dtypes[d].bits
	}
	return 0
}

func (d DType) kind() dtypeKind {
	if int(d) < len(dtypes) {
		return dtypes[d].kind
	}
	return kindOther
}

// IsFloat reports whether d is a floating-point type, of 4 bits upward.
func (d DType) IsFloat() bool { return d.kind() == kindFloat }

// IsInt reports whether d is an integer type, signed or not; Bool is none.
func (d DType) IsInt() bool { return d.kind() == kindInt || d.kind() == kindUint }

// IsSigned reports whether d is a signed integer type.
func (d DType) IsSigned() bool { return d.kind() == kindInt }

// IsUnsigned reports whether d is an unsigned integer type.
func (d DType) IsUnsigned() bool { return d.kind() == kindUint }

// IsComplex reports whether d is a complex type.
func (d DType) IsComplex() bool { return d.kind() == kindComplex }

// ParseDType returns the type that s names: NumPy's or ONNX's name in any case,
// or ONNX's number.
func ParseDType(s string) (DType, error) {
	if n, err := strconv.Atoi(s); err == nil {
		if n > 0 && n < len(dtypes) {
			return DType(n), nil
		}
		return 0, fmt.Errorf("got the number %d, want 1 to %d", n, len(dtypes)-1)
	}
	for d := Float32; int(d) < len(dtypes); d++ {
		if strings.EqualFold(s, dtypes[d].name) || strings.EqualFold(s, dtypes[d].onnx) {
			return d, nil
		}
	}
	return 0, fmt.Errorf("got %q, want the name of an element type such as \"float32\"%s", s, spell.Hint(s, DTypeNames()))
}

// DTypeNames returns the names that ParseDType takes, each spelling once, for
// hints.
func DTypeNames() []string {
	names := make([]string, 0, 2*len(dtypes))
	for d := Float32; int(d) < len(dtypes); d++ {
		names = append(names, dtypes[d].name)
		if !sameLetters(dtypes[d].onnx, dtypes[d].name) {
			names = append(names, dtypes[d].onnx)
		}
	}
	return names
}

// sameLetters reports whether two names differ in case and underscores only, as
// the two spellings of most types do: a hint gives one of them.
func sameLetters(a, b string) bool {
	plain := func(s string) string { return strings.ReplaceAll(s, "_", "") }
	return strings.EqualFold(plain(a), plain(b))
}
