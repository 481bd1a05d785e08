package array

import (
	"fmt"
	"math"
	"strconv"
)

// At returns element i, counted in row-major order: an int64, uint64 (of the
// unsigned types), float64, bool, string or complex128.
func (a *Array) At(i int) any {
	a.must()
	p := a.position(i)
	b := a.buf.bytes
	switch a.dtype {
	case String:
		return a.buf.strs[p]
	case Bool:
		return b[p] != 0
	case Complex64:
		return complex128(complex(f32(b, 2*p), f32(b, 2*p+1)))
	case Complex128:
		return complex(f64(b, 2*p), f64(b, 2*p+1))
	}
	switch a.dtype.kind() {
	case kindFloat:
		return a.float(p)
	case kindUint:
		return a.uint(p)
	}
	return a.int(p)
}

func u16(b []byte, p int) uint16  { return uint16(b[2*p]) | uint16(b[2*p+1])<<8 }
func u32(b []byte, p int) uint32  { return uint32(u16(b, 2*p)) | uint32(u16(b, 2*p+1))<<16 }
func u64(b []byte, p int) uint64  { return uint64(u32(b, 2*p)) | uint64(u32(b, 2*p+1))<<32 }
func f32(b []byte, p int) float32 { return math.Float32frombits(u32(b, p)) }
func f64(b []byte, p int) float64 { return math.Float64frombits(u64(b, p)) }

func put(b []byte, p, width int, v uint64) {
	for k := range width {
		b[p*width+k] = byte(v >> (8 * k))
	}
}

// bits returns the element at p as the bits of its type.
func (a *Array) bits(p int) uint64 {
	b := a.buf.bytes
	switch w := a.dtype.Bits(); w {
	case 8:
		return uint64(b[p])
	case 16:
		return uint64(u16(b, p))
	case 32:
		return uint64(u32(b, p))
	case 64:
		return u64(b, p)
	default:
		return uint64(getBits(b, w, p))
	}
}

func (a *Array) uint(p int) uint64 { return a.bits(p) }

func (a *Array) int(p int) int64 {
	shift := 64 - a.dtype.Bits()
	return int64(a.bits(p)<<shift) >> shift
}

func (a *Array) float(p int) float64 {
	b := a.bits(p)
	switch a.dtype {
	case Float32:
		return float64(math.Float32frombits(uint32(b)))
	case Float64:
		return math.Float64frombits(b)
	case Float16:
		return float64(F16(b).Float32())
	case BFloat16:
		return float64(BF16(b).Float32())
	case Float8E8M0:
		return float64(F8E8M0(b).Float32())
	}
	return float64(smallFormat(a.dtype).table()[b])
}

// smallFormat returns the format of a float of 8 or 4 bits.
func smallFormat(dt DType) *format {
	switch dt {
	case Float8E4M3FN:
		return f8e4m3fn
	case Float8E4M3FNUZ:
		return f8e4m3fnuz
	case Float8E5M2:
		return f8e5m2
	case Float8E5M2FNUZ:
		return f8e5m2fnuz
	}
	return f4e2m1
}

// SetAt stores v, a value such as At returns (or an int), at element i. A
// number is converted to the element type: floats are rounded to nearest even,
// an integer that does not fit is an error, a float into an integer type is
// cut towards zero.
func (a *Array) SetAt(i int, v any) error {
	a.own()
	return a.store(a.position(i), v)
}

func (a *Array) store(p int, v any) error {
	switch x := v.(type) {
	case int:
		v = int64(x)
	case float32:
		v = float64(x)
	}
	switch {
	case a.dtype == String:
		s, ok := v.(string)
		if !ok {
			return fmt.Errorf("array: got %v, want a string", v)
		}
		a.buf.strs[p] = s
		return nil
	case a.dtype == Bool:
		b, err := truth(v)
		if err == nil {
			put(a.buf.bytes, p, 1, b)
		}
		return err
	case a.dtype.IsComplex():
		return a.storeComplex(p, v)
	case a.dtype.IsFloat():
		f, err := asFloat(v)
		if err == nil {
			a.putBits(p, floatBits(a.dtype, f, true))
		}
		return err
	}
	bits, err := a.intBits(v)
	if err == nil {
		a.putBits(p, bits)
	}
	return err
}

func (a *Array) putBits(p int, v uint64) {
	if w := a.dtype.Bits(); w < 8 {
		setBits(a.buf.bytes, w, p, byte(v))
	} else {
		put(a.buf.bytes, p, w/8, v)
	}
}

func (a *Array) storeComplex(p int, v any) error {
	c, ok := v.(complex128)
	if !ok {
		f, err := asFloat(v)
		if err != nil {
			return err
		}
		c = complex(f, 0)
	}
	if a.dtype == Complex64 {
		put(a.buf.bytes, 2*p, 4, uint64(math.Float32bits(float32(real(c)))))
		put(a.buf.bytes, 2*p+1, 4, uint64(math.Float32bits(float32(imag(c)))))
		return nil
	}
	put(a.buf.bytes, 2*p, 8, math.Float64bits(real(c)))
	put(a.buf.bytes, 2*p+1, 8, math.Float64bits(imag(c)))
	return nil
}

func truth(v any) (uint64, error) {
	yes := false
	switch v := v.(type) {
	case bool:
		yes = v
	case int64:
		yes = v != 0
	case uint64:
		yes = v != 0
	case float64:
		yes = v != 0
	default:
		return 0, fmt.Errorf("array: got %v, want a bool", v)
	}
	if yes {
		return 1, nil
	}
	return 0, nil
}

func asFloat(v any) (float64, error) {
	switch v := v.(type) {
	case float64:
		return v, nil
	case int64:
		return float64(v), nil
	case uint64:
		return float64(v), nil
	case bool:
		if v {
			return 1, nil
		}
		return 0, nil
	case string:
		return 0, fmt.Errorf("array: got the string %s, want a number", strconv.Quote(v))
	}
	return 0, fmt.Errorf("array: got %v, want a number", v)
}

// intBits returns the bits of v in the integer type, or an error when it does
// not fit.
func (a *Array) intBits(v any) (uint64, error) {
	bits := a.dtype.Bits()
	switch x := v.(type) {
	case bool:
		n, err := truth(x)
		return n, err
	case float64:
		if math.IsNaN(x) || math.Abs(x) >= 1<<64 {
			return 0, fmt.Errorf("array: got %g, which does not fit into %s", x, a.dtype)
		}
		if x < 0 || a.dtype.IsSigned() {
			return a.intBits(int64(x))
		}
		return a.intBits(uint64(x))
	case int64:
		if a.dtype.IsUnsigned() {
			if x < 0 || bits < 64 && x >= 1<<bits {
				return 0, fmt.Errorf("array: got %d, which does not fit into %s", x, a.dtype)
			}
			return uint64(x), nil
		}
		if bits < 64 && (x < -1<<(bits-1) || x >= 1<<(bits-1)) {
			return 0, fmt.Errorf("array: got %d, which does not fit into %s", x, a.dtype)
		}
		return uint64(x), nil
	case uint64:
		if x <= math.MaxInt64 {
			return a.intBits(int64(x))
		}
		if a.dtype != Uint64 {
			return 0, fmt.Errorf("array: got %d, which does not fit into %s", x, a.dtype)
		}
		return x, nil
	}
	return 0, fmt.Errorf("array: got %v, want a number", v)
}

// floatBits rounds f to the float type dt.
func floatBits(dt DType, f float64, saturate bool) uint64 {
	switch dt {
	case Float32:
		return uint64(math.Float32bits(float32(f)))
	case Float64:
		return math.Float64bits(f)
	case Float16:
		return uint64(ToF16From64(f))
	case BFloat16:
		return uint64(ToBF16From64(f))
	case Float8E8M0:
		return uint64(encodeE8M0(f, saturate))
	}
	return uint64(smallFormat(dt).encode(f, saturate))
}

// Float64s returns the elements converted to float64, a copy. Strings and
// complex numbers are an error.
func (a *Array) Float64s() ([]float64, error) {
	if err := a.Load(); err != nil {
		return nil, err
	}
	switch a.dtype {
	case Float64:
		return append([]float64(nil), Data[float64](a)...), nil
	case Float32:
		return converted(Data[float32](a), func(v float32) float64 { return float64(v) }), nil
	case Int64:
		return converted(Data[int64](a), func(v int64) float64 { return float64(v) }), nil
	}
	out := make([]float64, a.Size())
	for i := range out {
		f, err := asFloat(a.At(i))
		if err != nil {
			return nil, err
		}
		out[i] = f
	}
	return out, nil
}

func converted[T, U any](in []T, f func(T) U) []U {
	out := make([]U, len(in))
	for i, v := range in {
		out[i] = f(v)
	}
	return out
}

// Int64s returns the elements of an integer or bool array as int64, a copy;
// another type is an error.
func (a *Array) Int64s() ([]int64, error) {
	if err := a.Load(); err != nil {
		return nil, err
	}
	switch {
	case a.dtype == Int64:
		return append([]int64(nil), Data[int64](a)...), nil
	case a.dtype == Int32:
		return converted(Data[int32](a), func(v int32) int64 { return int64(v) }), nil
	case !a.dtype.IsInt() && a.dtype != Bool:
		return nil, fmt.Errorf("array: got %s, want integers", a.Summary())
	}
	out := make([]int64, a.Size())
	for i := range out {
		switch v := a.At(i).(type) {
		case int64:
			out[i] = v
		case uint64:
			out[i] = int64(v)
		case bool:
			if v {
				out[i] = 1
			}
		}
	}
	return out, nil
}
