package array

import (
	"fmt"
	"math"
	"strconv"
)

// At returns element i, counted in row-major order: an int64, uint64 (of the
// unsigned types), float64, bool, string or complex128. It panics for an i that
// is none, and with the source's error where a lazy array can't be read: see Load.
func (a *Array) At(i int) any {
	if n := a.Size(); i < 0 || i >= n {
		panic(fmt.Sprintf("internal error: element %d of %d", i, n))
	}
	if err := a.Load(); err != nil {
		panic(err)
	}
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
		return a.bits(p)
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
		return float64(e8m0Values[b])
	}
	return float64(smallFormat(a.dtype).values[b])
}

// SetAt stores v, a value such as At returns or another of Go's numbers, at
// element i, counted in row-major order; views of the same memory see it. A
// number is converted to the element type: floats are rounded to nearest even
// and saturate where there is no infinity, a float into an integer type is cut
// towards zero, and what an integer type can't hold is an error, which leaves
// the array as it was.
func (a *Array) SetAt(i int, v any) error {
	if n := a.Size(); i < 0 || i >= n {
		return fmt.Errorf("array: got index %d, want one of the array's %d elements", i, n)
	}
	v = plain(v)
	if a.dtype == String {
		s, ok := v.(string)
		if !ok {
			return fmt.Errorf("array: got %s, want a string", shown(v))
		}
		if err := a.own(); err != nil {
			return err
		}
		a.buf.strs[a.position(i)] = s
		return nil
	}
	if a.dtype.IsComplex() {
		c, err := asComplex(v)
		if err == nil {
			err = a.own()
		}
		if err == nil {
			a.putComplex(a.position(i), c)
		}
		return err
	}
	bits, err := a.dtype.bitsOf(v)
	if err == nil {
		err = a.own()
	}
	if err == nil {
		a.putBits(a.position(i), bits)
	}
	return err
}

// plain widens Go's numbers to the types that At returns.
func plain(v any) any {
	switch v := v.(type) {
	case int:
		return int64(v)
	case int8:
		return int64(v)
	case int16:
		return int64(v)
	case int32:
		return int64(v)
	case uint:
		return uint64(v)
	case uint8:
		return uint64(v)
	case uint16:
		return uint64(v)
	case uint32:
		return uint64(v)
	case float32:
		return float64(v)
	case complex64:
		return complex128(v)
	}
	return v
}

// bitsOf returns v as the bits of an element of type dt, neither String nor
// complex, or an error when it does not fit.
func (dt DType) bitsOf(v any) (uint64, error) {
	switch {
	case dt == Bool:
		return truth(v)
	case dt.IsFloat():
		f, err := asFloat(v)
		return floatBits(dt, f, true, RoundNearest), err
	}
	switch x := v.(type) {
	case bool:
		return truth(x)
	case float64:
		return dt.cutBits(x)
	case int64:
		if dt.holds(x) {
			return uint64(x), nil
		}
	case uint64:
		if x <= math.MaxInt64 && dt.holds(int64(x)) || dt == Uint64 {
			return x, nil
		}
	default:
		return 0, notNumber(v)
	}
	return 0, fmt.Errorf("array: got %d, which does not fit into %s", v, dt)
}

// holds reports whether an integer type can hold x.
func (dt DType) holds(x int64) bool {
	bits := dt.Bits()
	if dt.IsUnsigned() {
		return x >= 0 && (bits == 64 || x < 1<<bits)
	}
	return bits == 64 || x >= -1<<(bits-1) && x < 1<<(bits-1)
}

// cutBits returns x, cut towards zero, as the bits of the integer type dt.
func (dt DType) cutBits(x float64) (uint64, error) {
	switch cut := math.Trunc(x); {
	case dt == Uint64 && cut >= 0 && cut < 1<<64:
		return uint64(cut), nil
	case cut >= -1<<63 && cut < 1<<63 && dt.holds(int64(cut)): // not NaN
		return uint64(int64(cut)), nil
	}
	return 0, fmt.Errorf("array: got %g, which does not fit into %s", x, dt)
}

func (a *Array) putBits(p int, v uint64) {
	if w := a.dtype.Bits(); w < 8 {
		setBits(a.buf.bytes, w, p, byte(v))
	} else {
		put(a.buf.bytes, p, w/8, v)
	}
}

func (a *Array) putComplex(p int, c complex128) {
	if a.dtype == Complex64 {
		put(a.buf.bytes, 2*p, 4, uint64(math.Float32bits(float32(real(c)))))
		put(a.buf.bytes, 2*p+1, 4, uint64(math.Float32bits(float32(imag(c)))))
		return
	}
	put(a.buf.bytes, 2*p, 8, math.Float64bits(real(c)))
	put(a.buf.bytes, 2*p+1, 8, math.Float64bits(imag(c)))
}

func asComplex(v any) (complex128, error) {
	if c, ok := v.(complex128); ok {
		return c, nil
	}
	f, err := asFloat(v)
	return complex(f, 0), err
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
	case complex128:
		yes = v != 0
	default:
		return 0, fmt.Errorf("array: got %s, want a bool", shown(v))
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
	}
	return 0, notNumber(v)
}

func notNumber(v any) error { return fmt.Errorf("array: got %s, want a number", shown(v)) }

// shown is a value in an error.
func shown(v any) string {
	if s, ok := v.(string); ok {
		return "the string " + strconv.Quote(s)
	}
	return fmt.Sprint(v)
}

// floatBits rounds f to the float type dt.
func floatBits(dt DType, f float64, saturate bool, mode RoundMode) uint64 {
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
		return uint64(encodeE8M0(f, saturate, mode))
	}
	return uint64(smallFormat(dt).encode(f, saturate))
}
