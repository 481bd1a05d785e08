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

// ToF16 rounds to nearest even; what is too large becomes infinite. All NaNs
// become the quiet one of their sign.
func ToF16(v float32) F16 {
	b := math.Float32bits(v)
	sign := F16(b >> 16 & 0x8000)
	abs := b & 0x7fffffff
	switch {
	case abs > 0x7f800000:
		return sign | 0x7e00
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

// ToBF16 rounds to nearest even; what is too large becomes infinite. All NaNs
// become the quiet one of their sign.
func ToBF16(v float32) BF16 {
	b := math.Float32bits(v)
	if b&0x7fffffff > 0x7f800000 {
		return BF16(b>>16)&0x8000 | 0x7fc0
	}
	return BF16((b + 0x7fff + b>>16&1) >> 16)
}

// ToBF16From64 rounds a float64 to nearest even, once.
func ToBF16From64(v float64) BF16 { return BF16(brain.encode(v, false)) }

// Float32 returns the value, which is exact.
func (f F8E4M3FN) Float32() float32 { return f8e4m3fn.values[f] }

// Float32 returns the value, which is exact.
func (f F8E4M3FNUZ) Float32() float32 { return f8e4m3fnuz.values[f] }

// Float32 returns the value, which is exact.
func (f F8E5M2) Float32() float32 { return f8e5m2.values[f] }

// Float32 returns the value, which is exact.
func (f F8E5M2FNUZ) Float32() float32 { return f8e5m2fnuz.values[f] }

// Float32 returns the value, which is exact; 0xff is NaN.
func (f F8E8M0) Float32() float32 { return e8m0Values[f] }

// ToF8E4M3FN rounds to nearest even. What is too large becomes the largest
// number when saturate is set, else NaN.
func ToF8E4M3FN(v float32, saturate bool) F8E4M3FN {
	return F8E4M3FN(f8e4m3fn.encode(float64(v), saturate))
}

// ToF8E4M3FNUZ rounds to nearest even. What is too large becomes the largest
// number when saturate is set, else NaN.
func ToF8E4M3FNUZ(v float32, saturate bool) F8E4M3FNUZ {
	return F8E4M3FNUZ(f8e4m3fnuz.encode(float64(v), saturate))
}

// ToF8E5M2 rounds to nearest even. What is too large becomes the largest number
// when saturate is set, else infinite.
func ToF8E5M2(v float32, saturate bool) F8E5M2 {
	return F8E5M2(f8e5m2.encode(float64(v), saturate))
}

// ToF8E5M2FNUZ rounds to nearest even. What is too large becomes the largest
// number when saturate is set, else NaN.
func ToF8E5M2FNUZ(v float32, saturate bool) F8E5M2FNUZ {
	return F8E5M2FNUZ(f8e5m2fnuz.encode(float64(v), saturate))
}

// ToF8E8M0 rounds to a power of two as mode says. Zero and what is below the
// least number become the least, what is above the largest the largest, when
// saturate is set; else both become NaN. So does what is negative.
func ToF8E8M0(v float32, saturate bool, mode RoundMode) F8E8M0 {
	return encodeE8M0(float64(v), saturate, mode)
}
