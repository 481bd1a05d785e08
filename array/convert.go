package array

import "fmt"

type number interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

// widen and narrow convert element by element as Go does.
func widen[T number, U int64 | float64](in []T, out []U) {
	for i, v := range in {
		out[i] = U(v)
	}
}

func narrow[T int64 | float64, U number](in []T, out []U) {
	for i, v := range in {
		out[i] = U(v)
	}
}

// each converts by a function.
func each[T, U any](in []T, out []U, f func(T) U) {
	for i, v := range in {
		out[i] = f(v)
	}
}

// readFloats reads as many elements of a float type as out has room for.
func readFloats(dt DType, raw []byte, out []float64) {
	switch dt {
	case Float64:
		copy(out, typed[float64](raw))
	case Float32:
		widen(typed[float32](raw), out)
	case Float16:
		each(typed[F16](raw), out, func(v F16) float64 { return float64(v.Float32()) })
	case BFloat16:
		each(typed[BF16](raw), out, func(v BF16) float64 { return float64(v.Float32()) })
	case Float4E2M1, Float6E2M3, Float6E3M2:
		values, bits := smallFormat(dt).values, dt.Bits()
		for i := range out {
			out[i] = float64(values[getBits(raw, bits, i)])
		}
	case Float8E8M0:
		lookUp(raw, out, e8m0Values)
	default:
		lookUp(raw, out, smallFormat(dt).values)
	}
}

func lookUp(codes []byte, out []float64, values *[256]float32) {
	for i, c := range codes {
		out[i] = float64(values[c])
	}
}

// readInts reads as many elements of an integer type, or bools, as out has room
// for; those of Uint64 as their bits.
func readInts(dt DType, raw []byte, out []int64) {
	switch dt {
	case Bool:
		widen(trueBools(raw), out)
	case Int8:
		widen(typed[int8](raw), out)
	case Uint8:
		widen(raw, out)
	case Int16:
		widen(typed[int16](raw), out)
	case Uint16:
		widen(typed[uint16](raw), out)
	case Int32:
		widen(typed[int32](raw), out)
	case Uint32:
		widen(typed[uint32](raw), out)
	case Int64:
		copy(out, typed[int64](raw))
	case Uint64:
		widen(typed[uint64](raw), out)
	default:
		bits, up := dt.Bits(), 0
		if dt.IsSigned() {
			up = 64 - bits
		}
		for i := range out {
			out[i] = int64(getBits(raw, bits, i)) << up >> up
		}
	}
}

// writeInts writes the low bits into elements of an integer type. Memory that is
// written is an array's own and aligned.
func writeInts(dt DType, in []int64, raw []byte) {
	switch dt {
	case Int8, Uint8:
		narrow(in, raw)
	case Int16, Uint16:
		narrow(in, typed[uint16](raw))
	case Int32, Uint32:
		narrow(in, typed[uint32](raw))
	case Int64, Uint64:
		copy(typed[int64](raw), in)
	default:
		bits := dt.Bits()
		for i, v := range in {
			setBits(raw, bits, i, byte(v))
		}
	}
}

// writeFloats writes numbers into elements of a float or integer type.
func writeFloats(dt DType, in []float64, raw []byte, how rounding) {
	switch dt {
	case Float64:
		copy(typed[float64](raw), in)
	case Float32:
		narrow(in, typed[float32](raw))
	case Float16:
		each(in, typed[F16](raw), ToF16From64)
	case BFloat16:
		each(in, typed[BF16](raw), ToBF16From64)
	case Float4E2M1, Float6E2M3, Float6E3M2:
		f, bits := smallFormat(dt), dt.Bits()
		for i, v := range in {
			setBits(raw, bits, i, byte(f.encode(v, true)))
		}
	case Float8E8M0:
		for i, v := range in {
			raw[i] = byte(encodeE8M0(v, how.saturate, how.mode))
		}
	case Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ:
		f := smallFormat(dt)
		for i, v := range in {
			raw[i] = byte(f.encode(v, how.saturate))
		}
	default:
		writeCut(dt, in, raw)
	}
}

// writeCut writes numbers, cut towards zero, into elements of an integer type.
func writeCut(dt DType, in []float64, raw []byte) {
	switch dt {
	case Int64:
		each(in, typed[int64](raw), cutInt64)
	case Int32:
		each(in, typed[int32](raw), cutInt32)
	case Uint8, Int8:
		for i, v := range in {
			raw[i] = byte(cutInt32(v))
		}
	default:
		var ints [blockLen]int64
		for i, v := range in {
			ints[i] = int64(wrapped(dt, v))
		}
		writeInts(dt, ints[:len(in)], raw)
	}
}

// writeIntsAsFloats writes integers into elements of a float type; unsigned says
// that they are the bits of a uint64.
func writeIntsAsFloats(dt DType, in []int64, unsigned bool, raw []byte, how rounding) {
	switch {
	case dt == Float64 && !unsigned:
		narrow(in, typed[float64](raw))
	case dt == Float32 && !unsigned:
		narrow(in, typed[float32](raw))
	case dt == Float64:
		each(in, typed[float64](raw), func(v int64) float64 { return float64(uint64(v)) })
	case dt == Float32:
		each(in, typed[float32](raw), func(v int64) float32 { return float32(uint64(v)) })
	default:
		var floats [blockLen]float64
		for i, v := range in {
			floats[i] = oddly(v, unsigned)
		}
		writeFloats(dt, floats[:len(in)], raw, how)
	}
}

// oddly returns an integer as a float64 which, where bits are lost, is odd in its
// last place: rounded again to a narrower type, it gives what rounding the
// integer at once would.
func oddly(v int64, unsigned bool) float64 {
	abs, negative := uint64(v), !unsigned && v < 0
	if negative {
		abs = -abs
	}
	if abs >= 1<<53 {
		const low = 1<<11 - 1 // what 53 of 64 bits have no room for
		if abs&low != 0 {
			abs = abs&^low | (low + 1)
		}
	}
	if negative {
		return -float64(abs)
	}
	return float64(abs)
}

// Float64s returns the elements converted to float64, a copy. Strings and
// complex numbers are an error.
func (a *Array) Float64s() ([]float64, error) {
	if !a.dtype.isPlain() {
		return nil, fmt.Errorf("array: got %s, want real numbers", a.Summary())
	}
	raw, err := a.Bytes()
	if err != nil {
		return nil, err
	}
	out := make([]float64, a.Size())
	if a.dtype.IsFloat() {
		readFloats(a.dtype, raw, out)
		return out, nil
	}
	var ints [blockLen]int64
	for from := 0; from < len(out); from += blockLen {
		n := min(blockLen, len(out)-from)
		readInts(a.dtype, block(a.dtype, raw, from, n), ints[:n])
		writeIntsAsFloats(Float64, ints[:n], a.dtype == Uint64, sliceBytes(out[from:from+n]), rounding{})
	}
	return out, nil
}

// Int64s returns the elements of an integer or bool array as int64, a copy;
// those of Uint64 beyond what int64 has are negative there, with the same bits.
// Another type is an error.
func (a *Array) Int64s() ([]int64, error) {
	if !a.dtype.IsInt() && a.dtype != Bool {
		return nil, fmt.Errorf("array: got %s, want integers", a.Summary())
	}
	raw, err := a.Bytes()
	if err != nil {
		return nil, err
	}
	out := make([]int64, a.Size())
	readInts(a.dtype, raw, out)
	return out, nil
}
