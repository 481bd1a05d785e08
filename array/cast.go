package array

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Cast converts to another type by the rules of ONNX's Cast with saturate=1:
// floats are rounded to nearest even, float8 and float4 saturate; a float into
// an integer type is cut towards zero, and one that does not fit becomes what C
// on x86-64 makes of it (the lowest number, or its low bits for the narrow
// types); integers keep their low bits; a number is true when it is not zero;
// strings are parsed and printed. It returns the array itself for its own type.
func (a *Array) Cast(dt DType) (*Array, error) { return a.CastWith(dt, true) }

// CastWith is Cast with saturate as given: without it what is too large for
// a float8 type becomes infinite or NaN.
func (a *Array) CastWith(dt DType, saturate bool) (*Array, error) {
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
	if castFast(a, out) {
		return out, nil
	}
	for i := range a.Size() {
		if err := out.convert(i, a.At(i), a.dtype, saturate); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// castFast converts between the common types by loops over slices.
func castFast(a, out *Array) bool {
	switch a.dtype {
	case Float32:
		return castFrom(Data[float32](a), out)
	case Float64:
		return castFrom(Data[float64](a), out)
	case Int64:
		return castFrom(Data[int64](a), out)
	case Int32:
		return castFrom(Data[int32](a), out)
	case Uint8:
		return castFrom(Data[uint8](a), out)
	case Bool:
		in := Data[bool](a)
		small := make([]uint8, len(in))
		for i, v := range in {
			if v {
				small[i] = 1
			}
		}
		return castFrom(small, out)
	case Float16:
		return castFrom(converted(Data[F16](a), F16.Float32), out)
	case BFloat16:
		return castFrom(converted(Data[BF16](a), BF16.Float32), out)
	}
	return false
}

type realNumber interface {
	float32 | float64 | int64 | int32 | uint8
}

func castFrom[T realNumber](in []T, out *Array) bool {
	switch out.dtype {
	case Float32:
		each(in, Data[float32](out), func(v T) float32 { return float32(v) })
	case Float64:
		each(in, Data[float64](out), func(v T) float64 { return float64(v) })
	case Float16:
		each(in, Data[F16](out), func(v T) F16 { return ToF16From64(float64(v)) })
	case BFloat16:
		each(in, Data[BF16](out), func(v T) BF16 { return ToBF16From64(float64(v)) })
	case Int64:
		each(in, Data[int64](out), toInt64[T])
	case Int32:
		each(in, Data[int32](out), toInt32[T])
	case Bool:
		each(in, Data[bool](out), func(v T) bool { return v != 0 })
	default:
		return false
	}
	return true
}

func each[T, U any](in []T, out []U, f func(T) U) {
	for i, v := range in {
		out[i] = f(v)
	}
}

func toInt64[T realNumber](v T) int64 {
	if f := float64(v); f >= 1<<63 || f < -1<<63 || f != f {
		if n, ok := any(v).(int64); ok {
			return n
		}
		return math.MinInt64
	}
	return int64(v)
}

func toInt32[T realNumber](v T) int32 {
	switch n := any(v).(type) {
	case float32:
		return cutInt32(float64(n))
	case float64:
		return cutInt32(n)
	}
	return int32(v)
}

func cutInt32(f float64) int32 {
	if f >= 1<<31 || f <= -1<<31-1 || f != f {
		return math.MinInt32
	}
	return int32(f)
}

// convert stores v, an element of type from, at i by the rules of Cast.
func (a *Array) convert(i int, v any, from DType, saturate bool) error {
	if a.dtype == String {
		a.buf.strs[i] = textOf(v, from)
		return nil
	}
	if s, ok := v.(string); ok {
		return a.parse(i, s, saturate)
	}
	if c, ok := v.(complex128); ok && !a.dtype.IsComplex() {
		v = real(c)
	}
	switch {
	case a.dtype.IsFloat():
		f, err := asFloat(v)
		if err == nil {
			a.putBits(i, floatBits(a.dtype, f, saturate))
		}
		return err
	case a.dtype.IsInt():
		a.putBits(i, a.wrap(v))
		return nil
	}
	return a.store(i, v)
}

// wrap returns the low bits of a number that need not fit.
func (a *Array) wrap(v any) uint64 {
	switch v := v.(type) {
	case int64:
		return uint64(v)
	case uint64:
		return v
	case bool:
		n, _ := truth(v)
		return n
	case float64:
		switch {
		case a.dtype == Uint64 && v >= 0 && v < 1<<64:
			return uint64(v)
		case a.dtype.Bits() < 32:
			return uint64(int64(cutInt32(v)))
		case v >= 1<<63 || v < -1<<63 || v != v:
			return 1 << 63
		case a.dtype == Int32:
			return uint64(int64(cutInt32(v)))
		}
		return uint64(int64(v))
	}
	return 0
}

// textOf is the string that Cast makes of a number: as NumPy prints it.
func textOf(v any, from DType) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		if v {
			return "1"
		}
		return "0"
	case float64:
		bits := 64
		if from != Float64 {
			bits = 32
		}
		return floatText(v, bits)
	}
	return fmt.Sprint(v)
}

func floatText(v float64, bits int) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "INF"
	case math.IsInf(v, -1):
		return "-INF"
	}
	return strconv.FormatFloat(v, 'g', -1, bits)
}

// parse stores the number that the string s writes.
func (a *Array) parse(i int, s string, saturate bool) error {
	text := strings.TrimSpace(s)
	if a.dtype.IsInt() {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			a.putBits(i, uint64(n))
			return nil
		}
		if n, err := strconv.ParseUint(text, 10, 64); err == nil {
			a.putBits(i, n)
			return nil
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(f, 0) {
		return fmt.Errorf("array: got the string %q, want a number", s)
	}
	if a.dtype == Float32 {
		// once rounded to float32, not by way of float64
		if g, err := strconv.ParseFloat(text, 32); err == nil {
			f = g
		}
	}
	return a.convert(i, f, Float64, saturate)
}
