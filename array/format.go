package array

import "math"

// format is a binary floating-point format of at most 16 bits: a sign, an
// exponent, a mantissa.
type format struct {
	exp, man, bias int
	fnuz           bool // no infinities, no -0; NaN is the sign bit alone
	noInf          bool // the highest exponent is used for numbers
	noNaN          bool // nor is there a NaN: float4, float6
	values         *[256]float32
}

var (
	half       = &format{exp: 5, man: 10, bias: 15}
	brain      = &format{exp: 8, man: 7, bias: 127}
	f8e4m3fn   = (&format{exp: 4, man: 3, bias: 7, noInf: true}).tabled()
	f8e4m3fnuz = (&format{exp: 4, man: 3, bias: 8, noInf: true, fnuz: true}).tabled()
	f8e5m2     = (&format{exp: 5, man: 2, bias: 15}).tabled()
	f8e5m2fnuz = (&format{exp: 5, man: 2, bias: 16, noInf: true, fnuz: true}).tabled()
	f4e2m1     = (&format{exp: 2, man: 1, bias: 1, noInf: true, noNaN: true}).tabled()
	f6e2m3     = (&format{exp: 2, man: 3, bias: 1, noInf: true, noNaN: true}).tabled()
	f6e3m2     = (&format{exp: 3, man: 2, bias: 3, noInf: true, noNaN: true}).tabled()
	e8m0Values = tableOf(func(code int) float64 {
		if code == 0xff {
			return math.NaN()
		}
		return math.Ldexp(1, code-127)
	})
)

func tableOf(decode func(code int) float64) *[256]float32 {
	t := new([256]float32)
	for i := range t {
		t[i] = float32(decode(i))
	}
	return t
}

// tabled fills in the value of each code of a format of at most 8 bits.
func (f *format) tabled() *format {
	f.values = tableOf(func(code int) float64 { return f.decode(code & (1<<(f.exp+f.man+1) - 1)) })
	return f
}

// smallFormat returns the format of a float of 8 bits or fewer, but for
// Float8E8M0, which has no sign.
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
	case Float6E2M3:
		return f6e2m3
	case Float6E3M2:
		return f6e3m2
	}
	return f4e2m1
}

// nan returns the code of NaN without a sign; where there is none, that of -0,
// which the standard's conformance cases expect of float4; float6 does likewise.
func (f *format) nan() int {
	switch {
	case f.fnuz, f.noNaN:
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
	case f.fnuz && sign == 1 && body == 0,
		f.noInf && !f.fnuz && !f.noNaN && body == 1<<(f.exp+f.man)-1,
		!f.noInf && e == 1<<f.exp-1 && m != 0:
		v = math.NaN()
	case !f.noInf && e == 1<<f.exp-1:
		v = math.Inf(1)
	case e == 0:
		v = math.Ldexp(float64(m), 1-f.bias-f.man)
	default:
		v = math.Ldexp(float64(m|1<<f.man), e-f.bias-f.man)
	}
	if sign == 1 {
		return math.Copysign(v, -1) // NaN has a sign too
	}
	return v
}

// encode rounds v to nearest even. What is too large becomes the largest number
// when saturate is set, else infinite, or NaN where there is no infinity.
func (f *format) encode(v float64, saturate bool) int {
	bits := math.Float64bits(v)
	sign := int(bits>>63) << (f.exp + f.man)
	abs := bits &^ (1 << 63)
	if abs > inf64 {
		if f.fnuz || f.noNaN {
			return f.nan()
		}
		return sign | f.nan()
	}
	if code := f.round(abs); code <= f.largest() {
		if f.fnuz && code == 0 {
			sign = 0
		}
		return sign | code
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

// The layout of a float64, the width that everything is rounded from.
const (
	man64  = 52
	bias64 = 1023
	inf64  = 0x7ff << man64
)

// round returns the code of the number nearest to abs, the bits of a float64
// that is not negative. There is no bound above: the codes go on as if the
// exponent had more bits, so that one beyond the largest tells of an overflow.
func (f *format) round(abs uint64) int {
	least := uint64(bias64+1-f.bias) << man64 // the least normal number
	if abs < least {
		scale := math.Float64frombits(uint64(bias64+f.bias-1+f.man) << man64)
		return int(math.RoundToEven(math.Float64frombits(abs) * scale))
	}
	cut := man64 - f.man
	// Add half of the last place that is kept, less one where it is even; a carry
	// into the exponent is what it should be.
	abs += 1<<(cut-1) - 1 + abs>>cut&1
	return int((abs - uint64(bias64-f.bias)<<man64) >> cut)
}

// RoundMode says how a cast to Float8E8M0, the powers of two, rounds.
type RoundMode uint8

// The rounding modes, by the names of Cast's attribute round_mode.
const (
	RoundUp      RoundMode = iota // "up": away from zero
	RoundDown                     // "down": towards zero
	RoundNearest                  // "nearest": halves go up
)

// encodeE8M0 rounds to a power of two, see ToF8E8M0.
func encodeE8M0(v float64, saturate bool, mode RoundMode) F8E8M0 {
	const nan, least, largest = 0xff, 0x00, 0xfe
	switch {
	case math.IsNaN(v) || v < 0:
		return nan
	case v < 0x1p-127:
		if saturate {
			return least
		}
		return nan
	case !math.IsInf(v, 1):
		bits := math.Float64bits(v)
		e, frac := int(bits>>man64)-bias64, bits&(1<<man64-1)
		if mode == RoundUp && frac != 0 || mode == RoundNearest && frac >= 1<<(man64-1) {
			e++
		}
		if e <= 127 {
			return F8E8M0(e + 127)
		}
	}
	if saturate {
		return largest
	}
	return nan
}
