package array

import "fmt"

// Slot is a Go type that holds one element of a packed type: int8 of Int4 and
// Int2, uint8 of Uint4 and Uint2, float32 of Float4E2M1, Float6E2M3 and Float6E3M2.
type Slot interface{ int8 | uint8 | float32 }

// slotOf reports whether T holds the elements of dt.
func slotOf[T Slot](dt DType) bool {
	var zero T
	switch any(zero).(type) {
	case int8:
		return dt == Int4 || dt == Int2
	case uint8:
		return dt == Uint4 || dt == Uint2
	}
	return dt == Float4E2M1 || dt == Float6E2M3 || dt == Float6E3M2
}

// Unpack returns the elements of an array of a packed type, in row-major order.
// T must be the slot of that type, anything else is a bug and panics.
func Unpack[T Slot](a *Array) []T {
	if !slotOf[T](a.dtype) {
		var zero T
		panic(fmt.Sprintf("internal error: Unpack of %s as %T", a.dtype, zero))
	}
	codes := Unpack4(a)
	out := make([]T, len(codes))
	for i, c := range codes {
		if a.dtype.IsFloat() {
			out[i] = T(smallFormat(a.dtype).values[c])
		} else {
			out[i] = T(c)
		}
	}
	return out
}

// Pack returns the array of a packed type that has these elements; with no
// shape it has one axis. An integer that does not fit is an error; floats are
// rounded and saturate.
func Pack[T Slot](dt DType, data []T, shape ...int) (*Array, error) {
	if !slotOf[T](dt) {
		var zero T
		return nil, fmt.Errorf("array: got %T for %s, want the type that its elements unpack to", zero, dt)
	}
	if shape == nil {
		shape = []int{len(data)}
	}
	if n, err := count(shape); err != nil || n != len(data) {
		return nil, fmt.Errorf("array: got %d elements for shape %v", len(data), shape)
	}
	a, err := Make(dt, shape)
	if err != nil {
		return nil, err
	}
	for i, v := range data {
		code, err := dt.bitsOf(plain(v))
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
		setBits(a.buf.bytes, dt.Bits(), i, byte(code))
	}
	return a, nil
}

// PackBits writes the low bits of each code, one element of so many bits after
// the other, into raw, which has room for them.
func PackBits(raw []byte, bits int, codes []int8) {
	for i, c := range codes {
		setBits(raw, bits, i, byte(c))
	}
}

// Unpack4 returns the elements of an int4, uint4, int2 or uint2 array, or the
// bits of a float4 or float6 one, one to a byte; signed ones are sign-extended.
func Unpack4(a *Array) []int8 {
	bits := a.dtype.Bits()
	if bits >= 8 || bits == 0 {
		panic("internal error: Unpack4 of " + a.dtype.String())
	}
	raw, err := a.Bytes()
	if err != nil {
		panic(err)
	}
	out := make([]int8, a.Size())
	up := 0
	if a.dtype.IsSigned() {
		up = 8 - bits
	}
	for i := range out {
		out[i] = int8(getBits(raw, bits, i)) << up >> up
	}
	return out
}
