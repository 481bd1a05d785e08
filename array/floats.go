package array

import "math"

// The floating-point types that Go lacks, as their bits.
type (
	// F16 is IEEE 754 half precision.
	F16 uint16
	// BF16 is the upper half of a float32.
	BF16 uint16
	// F8E4M3FN has 4 exponent and 3 mantissa bits, no infinities.
	F8E4M3FN uint8
	// F8E4M3FNUZ has 4 exponent and 3 mantissa bits, neither infinities nor -0.
	F8E4M3FNUZ uint8
	// F8E5M2 has 5 exponent and 2 mantissa bits.
	F8E5M2 uint8
	// F8E5M2FNUZ has 5 exponent and 2 mantissa bits, neither infinities nor -0.
	F8E5M2FNUZ uint8
	// F8E8M0 is a power of two: 8 exponent bits, no sign.
	F8E8M0 uint8
)

// Float32 returns the value, which is exact.
func (f F16) Float32() float32 {
	sign := uint32(f&0x8000) << 16
	exp, man := uint32(f>>10)&0x1f, uint32(f)&0x3ff
	switch exp {
	case 0x1f:
		return math.Float32frombits(sign | 0xff<<23 | man<<13)
	case 0:
		v := float32(man) * (1.0 / (1 << 24))
		if sign != 0 {
			return -v
		}
		return v
	}
	return math.Float32frombits(sign | (exp+112)<<23 | man<<13)
}

// ToF16 rounds to nearest even; what is too large becomes infinite.
func ToF16(v float32) F16 {
	b := math.Float32bits(v)
	sign := F16(b >> 16 & 0x8000)
	abs := b & 0x7fffffff
	switch {
	case abs > 0x7f800000: // NaN, kept quiet
		return sign | 0x7e00 | F16(abs>>13&0x1ff)
	case abs >= 0x477ff000: // 65520 and more round to infinity
		return sign | 0x7c00
	case abs < 0x38800000: // below the least normal number, 2^-14
		return sign | F16(math.RoundToEven(math.Abs(float64(v))*(1<<24)))
	}
	// add half of the last place that is kept, less one where it is even
	return sign | F16((abs-112<<23+0xfff+(abs>>13&1))>>13)
}

// ToF16From64 rounds a float64 to nearest even, once.
func ToF16From64(v float64) F16 { return F16(half.encode(v, false)) }

// Float32 returns the value, which is exact.
func (f BF16) Float32() float32 { return math.Float32frombits(uint32(f) << 16) }

// ToBF16 rounds to nearest even.
func ToBF16(v float32) BF16 {
	b := math.Float32bits(v)
	if b&0x7fffffff > 0x7f800000 {
		return BF16(b>>16) | 0x40
	}
	return BF16((b + 0x7fff + b>>16&1) >> 16)
}

// ToBF16From64 rounds a float64 to nearest even, once.
func ToBF16From64(v float64) BF16 { return BF16(brain.encode(v, false)) }

// Float32 returns the value, which is exact.
func (f F8E4M3FN) Float32() float32 { return f8e4m3fn.table()[f] }

// Float32 returns the value, which is exact.
func (f F8E4M3FNUZ) Float32() float32 { return f8e4m3fnuz.table()[f] }

// Float32 returns the value, which is exact.
func (f F8E5M2) Float32() float32 { return f8e5m2.table()[f] }

// Float32 returns the value, which is exact.
func (f F8E5M2FNUZ) Float32() float32 { return f8e5m2fnuz.table()[f] }

// Float32 returns the value, which is exact; 0xff is NaN.
func (f F8E8M0) Float32() float32 {
	if f == 0xff {
		return float32(math.NaN())
	}
	return float32(math.Ldexp(1, int(f)-127))
}

// format is a binary floating-point format of at most 16 bits.
type format struct {
	exp, man, bias int
	fnuz           bool // no infinities, no -0; NaN is the sign bit alone
	noInf          bool // the highest exponent is used for numbers
	noNaN          bool // nor is there a NaN: float4
	cache          *[256]float32
}

var (
	half       = &format{exp: 5, man: 10, bias: 15}
	brain      = &format{exp: 8, man: 7, bias: 127}
	f8e4m3fn   = &format{exp: 4, man: 3, bias: 7, noInf: true}
	f8e4m3fnuz = &format{exp: 4, man: 3, bias: 8, noInf: true, fnuz: true}
	f8e5m2     = &format{exp: 5, man: 2, bias: 15}
	f8e5m2fnuz = &format{exp: 5, man: 2, bias: 16, noInf: true, fnuz: true}
	f4e2m1     = &format{exp: 2, man: 1, bias: 1, noInf: true, noNaN: true}
)

func init() {
	for _, f := range []*format{f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz, f4e2m1} {
		f.cache = new([256]float32)
		for i := range f.cache {
			f.cache[i] = float32(f.decode(i & (1<<(f.exp+f.man+1) - 1)))
		}
	}
}

func (f *format) table() *[256]float32 { return f.cache }

func (f *format) nan() int {
	switch {
	case f.noNaN, f.fnuz: // without a NaN, minus zero stands in
		return 1 << (f.exp + f.man)
	case f.noInf:
		return 1<<(f.exp+f.man) - 1
	}
	return (1<<f.exp-1)<<f.man | 1<<(f.man-1)
}

// largest returns the code of the largest finite number.
func (f *format) largest() int {
	all := 1<<(f.exp+f.man) - 1
	switch {
	case f.fnuz, f.noNaN:
		return all
	case f.noInf:
		return all - 1
	}
	return (1<<f.exp-1)<<f.man - 1
}

func (f *format) decode(code int) float64 {
	sign := code >> (f.exp + f.man) & 1
	body := code & (1<<(f.exp+f.man) - 1)
	e, m := body>>f.man, body&(1<<f.man-1)
	var v float64
	switch {
	case f.fnuz && sign == 1 && body == 0:
		return math.NaN()
	case f.noInf && !f.fnuz && !f.noNaN && body == 1<<(f.exp+f.man)-1:
		return math.NaN()
	case !f.noInf && e == 1<<f.exp-1:
		if m != 0 {
			return math.NaN()
		}
		v = math.Inf(1)
	case e == 0:
		v = math.Ldexp(float64(m), 1-f.bias-f.man)
	default:
		v = math.Ldexp(float64(m|1<<f.man), e-f.bias-f.man)
	}
	if sign == 1 {
		return -v
	}
	return v
}

// encode rounds v to nearest even. What is too large becomes the largest number
// when saturate is set, else infinite, or NaN where there is no infinity.
func (f *format) encode(v float64, saturate bool) int {
	sign := 0
	if math.Signbit(v) {
		sign = 1 << (f.exp + f.man)
	}
	if math.IsNaN(v) {
		if f.fnuz || f.noNaN {
			return f.nan()
		}
		return sign | f.nan()
	}
	abs := math.Abs(v)
	if !math.IsInf(abs, 0) {
		if code := f.round(abs); code <= f.largest() {
			if f.fnuz && code == 0 {
				sign = 0
			}
			return sign | code
		}
	}
	switch {
	case saturate || f.noNaN:
		return sign | f.largest()
	case f.fnuz:
		return f.nan()
	case f.noInf:
		return sign | f.nan()
	}
	return sign | (1<<f.exp-1)<<f.man
}

// round returns the code of the number nearest to abs, without a bound above.
func (f *format) round(abs float64) int {
	if abs == 0 {
		return 0
	}
	_, e := math.Frexp(abs) // abs = frac × 2^e, frac in [0.5, 1)
	e = max(e-1, 1-f.bias)  // the exponent that the last place follows from
	n := math.RoundToEven(math.Ldexp(abs, f.man-e))
	if n > float64(int(1)<<(f.man+2)) {
		return math.MaxInt32
	}
	code := int(n) + (e+f.bias-1)<<f.man
	if e == 1-f.bias {
		code = int(n)
	}
	return code
}

// encodeE8M0 rounds up to a power of two where roundUp is set, else to the
// nearest one (ties up), as ONNX's Cast: zero and what is below 2^-127 become
// the least, what is above 2^127 the largest where saturate is set, else NaN.
func encodeE8M0(v float64, saturate bool) F8E8M0 {
	switch {
	case math.IsNaN(v):
		return 0xff
	case math.IsInf(v, 0):
		if saturate {
			return 0xfe
		}
		return 0xff
	}
	abs := math.Abs(v)
	if abs == 0 {
		return 0
	}
	frac, e := math.Frexp(abs)
	e--
	if frac*2 >= 1.5 {
		e++
	}
	switch {
	case e < -127:
		return 0
	case e > 127 && saturate:
		return 0xfe
	case e > 127:
		return 0xff
	}
	return F8E8M0(e + 127)
}
