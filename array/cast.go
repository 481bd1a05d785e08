package array

import (
	"fmt"
	"math"
)

// Cast converts to another type by the rules of ONNX's Cast, with saturate set
// and rounding up to powers of two; it returns the array itself for its own type.
//
//	float to float    rounded once to nearest even; too large: infinite, but the
//	                  largest number in float8 and float4
//	float to integer  cut towards zero; what does not fit, and NaN, is left open
//	                  by the standard and becomes here, on every machine, what
//	                  NumPy has on x86-64: the lowest number in int32 and int64,
//	                  the low bits of that int32 in narrower types, and those of
//	                  an int64 in uint32; uint64 wraps from int64, too large is 0
//	integer to integer  the low bits
//	number to bool    false where it is zero
//	complex to real   the real part
//	number to string  see textOf; string to number: see parse
func (a *Array) Cast(dt DType) (*Array, error) { return a.CastWith(dt, true) }

// CastWith is Cast with Cast's attributes saturate and round_mode. Without
// saturate, what is too large for a float8 type becomes infinite or NaN.
func (a *Array) CastWith(dt DType, saturate bool, mode ...RoundMode) (*Array, error) {
	if err := a.Load(); err != nil {
		return nil, err
	}
	if dt == a.dtype {
		return a, nil
	}
	out, err := Make(dt, a.shape)
	if err != nil {
		return nil, err
	}
	how := rounding{saturate: saturate}
	if len(mode) > 0 {
		how.mode = mode[0]
	}
	if a.dtype.isPlain() && dt.isPlain() {
		return out, a.castBlocks(out, how)
	}
	for i := range a.Size() {
		if err := out.convert(i, a.At(i), a.dtype, how); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ParseRoundMode returns the mode of that name, as Cast's attribute has it.
func ParseRoundMode(s string) (RoundMode, error) {
	switch s {
	case "up":
		return RoundUp, nil
	case "down":
		return RoundDown, nil
	case "nearest":
		return RoundNearest, nil
	}
	return 0, fmt.Errorf("rounding mode: got %q, want \"up\", \"down\" or \"nearest\"", s)
}

// rounding is how a cast rounds to the narrow floats.
type rounding struct {
	saturate bool
	mode     RoundMode
}

// isPlain reports whether elements are real numbers or bools.
func (d DType) isPlain() bool { return d.IsFloat() || d.IsInt() || d == Bool }

// castBlocks converts by way of float64 or int64, a block of elements at a
// time: so there is one loop for each type to read and one to write, not one
// for each pair.
func (a *Array) castBlocks(out *Array, how rounding) error {
	raw, err := a.Bytes()
	if err != nil {
		return err
	}
	var floats [blockLen]float64
	var ints [blockLen]int64
	for from := 0; from < a.Size(); from += blockLen {
		n := min(blockLen, a.Size()-from)
		src, dst := block(a.dtype, raw, from, n), block(out.dtype, out.buf.bytes, from, n)
		switch {
		case out.dtype == Bool && a.dtype.IsFloat():
			readFloats(a.dtype, src, floats[:n])
			notZero(floats[:n], dst)
		case out.dtype == Bool:
			readInts(a.dtype, src, ints[:n])
			notZero(ints[:n], dst)
		case a.dtype.IsFloat():
			readFloats(a.dtype, src, floats[:n])
			writeFloats(out.dtype, floats[:n], dst, how)
		case out.dtype.IsFloat():
			readInts(a.dtype, src, ints[:n])
			writeIntsAsFloats(out.dtype, ints[:n], a.dtype == Uint64, dst, how)
		default:
			readInts(a.dtype, src, ints[:n])
			writeInts(out.dtype, ints[:n], dst)
		}
	}
	return nil
}

// blockLen is the number of elements that are converted at a time: a multiple
// of how many packed ones a byte has.
const blockLen = 512

// block returns the bytes of n elements from a multiple of blockLen on.
func block(dt DType, raw []byte, from, n int) []byte {
	bits := dt.Bits()
	return raw[from*bits/8 : (from*bits+n*bits+7)/8]
}

func notZero[T int64 | float64](in []T, out []byte) {
	for i, v := range in {
		if v != 0 {
			out[i] = 1
		}
	}
}

// convert stores v, an element of type from, at i, where one of the types is
// strings or complex.
func (a *Array) convert(i int, v any, from DType, how rounding) error {
	if a.dtype == String {
		a.buf.strs[i] = textOf(v, from)
		return nil
	}
	if s, ok := v.(string); ok {
		return a.parse(i, s, how)
	}
	if a.dtype.IsComplex() {
		c, err := asComplex(v)
		a.putComplex(i, c)
		return err
	}
	// Only a complex number is left; a bool is true for an imaginary one too.
	if c, ok := v.(complex128); ok && a.dtype != Bool {
		v = real(c)
	}
	return a.round(i, v, how)
}

// round stores the number v at i, in an array of plain type.
func (a *Array) round(i int, v any, how rounding) error {
	if f, ok := v.(float64); ok && a.dtype.IsInt() {
		a.putBits(i, wrapped(a.dtype, f))
		return nil
	}
	if a.dtype.IsFloat() {
		f, err := asFloat(v)
		a.putBits(i, floatBits(a.dtype, f, how.saturate, how.mode))
		return err
	}
	bits, err := truth(v)
	a.putBits(i, bits)
	return err
}

// wrapped returns what Cast makes of a float that need not fit, in the low bits.
func wrapped(dt DType, f float64) uint64 {
	switch {
	case dt == Uint64:
		return cutUint64(f)
	case dt == Int64 || dt == Uint32:
		return uint64(cutInt64(f))
	}
	return uint64(int64(cutInt32(f)))
}

func cutInt32(f float64) int32 {
	if f > -1<<31-1 && f < 1<<31 { // not NaN
		return int32(f)
	}
	return math.MinInt32
}

func cutInt64(f float64) int64 {
	if f >= -1<<63 && f < 1<<63 {
		return int64(f)
	}
	return math.MinInt64
}

func cutUint64(f float64) uint64 {
	switch {
	case f >= 1<<64:
		return 0
	case f >= 1<<63:
		return uint64(f)
	}
	return uint64(cutInt64(f))
}
