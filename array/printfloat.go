package array

import (
	"math"
	"strconv"
	"strings"
)

// floatFormat prints floats in the width that they have in common.
type floatFormat struct {
	dt    DType
	exp   bool // in scientific notation
	plus  bool // a plus sign before what is not negative
	left  int  // the widest part before the point
	right int  // the widest part behind it; in scientific notation with the exponent
	frac  int  // digits behind the point, in scientific notation
	power int  // digits of the exponent
}

// newFloatFormat returns the format for these numbers of type dt.
func newFloatFormat(dt DType, vs []float64, plus bool) *floatFormat {
	f := &floatFormat{dt: dt, plus: plus, exp: scientific(dt, vs)}
	widest := 0 // of "nan" and "inf"
	for _, v := range vs {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			widest = max(widest, len(oddText(v)))
			continue
		}
		mantissa, exponent, _ := strings.Cut(f.short(v), "e")
		whole, frac, _ := strings.Cut(mantissa, ".")
		f.left = max(f.left, len(whole))
		f.right = max(f.right, len(frac))
		f.power = max(f.power, len(exponent)-1)
	}
	if f.exp {
		f.frac = f.right
		f.right = f.frac + 2 + f.power
	}
	if widest > 0 {
		if plus {
			widest = len("+inf")
		}
		f.left = max(f.left, widest-f.right-1)
	}
	return f
}

// scientific reports whether numbers of that size are printed with an exponent:
// when one is too large or too small, or they differ too much. As in NumPy the
// bounds and the ratio are rounded to the type of the numbers.
func scientific(dt DType, vs []float64) bool {
	least, most := math.Inf(1), 0.0
	for _, v := range vs {
		v = math.Abs(v)
		if v != 0 && !math.IsInf(v, 0) && !math.IsNaN(v) {
			least, most = min(least, v), max(most, v)
		}
	}
	if most == 0 {
		return false
	}
	bound, small, ratio := 1e8, 1e-4, most/least
	switch dt {
	case Float64:
	case Float16:
		bound, small, ratio = 1e3, float64(ToF16(1e-4).Float32()), float64(ToF16From64(ratio).Float32())
	default:
		bound, small, ratio = 1e6, float64(float32(1e-4)), float64(float32(ratio))
	}
	return most >= bound || least < small || ratio > 1000
}

// signed puts a sign before a number that shall have one.
func (f *floatFormat) signed(s string) string {
	if f.plus && s[0] != '-' {
		return "+" + s
	}
	return s
}

// short returns v with the digits that it needs, at most precision behind the
// point, and always a point.
func (f *floatFormat) short(v float64) string {
	verb := byte('f')
	if f.exp {
		verb = 'e'
	}
	s := shortest(f.dt, v, verb)
	mantissa, exponent, hasExp := strings.Cut(s, "e")
	if _, frac, _ := strings.Cut(mantissa, "."); len(frac) > precision {
		s = strconv.FormatFloat(v, verb, precision, 64)
		mantissa, exponent, hasExp = strings.Cut(s, "e")
		mantissa = strings.TrimRight(mantissa, "0")
	}
	if !strings.Contains(mantissa, ".") {
		mantissa += "."
	}
	if hasExp {
		mantissa += "e" + exponent
	}
	return f.signed(mantissa)
}

// text returns v in the common width.
func (f *floatFormat) text(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		s := f.signed(oddText(v))
		return strings.Repeat(" ", max(f.left+f.right+1-len(s), 0)) + s
	}
	s := f.short(v)
	mantissa, exponent, _ := strings.Cut(s, "e")
	whole, frac, _ := strings.Cut(mantissa, ".")
	pad := strings.Repeat(" ", f.left-len(whole))
	if !f.exp {
		return pad + s + strings.Repeat(" ", f.right-len(frac))
	}
	if len(frac) < f.frac { // as many true digits as the others, not zeros
		s = f.signed(strconv.FormatFloat(v, 'e', f.frac, 64))
		mantissa, exponent, _ = strings.Cut(s, "e")
	}
	fill := strings.Repeat("0", f.power+1-len(exponent))
	return pad + mantissa + "e" + exponent[:1] + fill + exponent[1:]
}

func oddText(v float64) string {
	switch {
	case math.IsNaN(v):
		return "nan"
	case v < 0:
		return "-inf"
	}
	return "inf"
}

// shortest returns v in the fewest digits that tell it from the other values of
// its type; in the types that NumPy lacks, six significant ones at most, which
// is enough for each: there the fewest would mislead, as 450 for the 448 of
// float8_e4m3fn.
func shortest(dt DType, v float64, verb byte) string {
	switch dt {
	case Float64:
		return strconv.FormatFloat(v, verb, -1, 64)
	case Float32:
		return strconv.FormatFloat(v, verb, -1, 32)
	case Float16:
		return shortestHalf(v, verb)
	}
	return reformat(strconv.FormatFloat(v, 'e', 5, 64), verb)
}

// shortestHalf tries more and more digits. A half may be rounded either way: the
// neighbours of a power of two are farther above it than below, so that only one
// way may lead back.
func shortestHalf(v float64, verb byte) string {
	above := math.Nextafter(v, math.Copysign(math.Inf(1), v))
	for digits := 0; ; digits++ {
		for _, w := range []float64{v, above} {
			s := strconv.FormatFloat(w, 'e', digits, 64)
			if near, err := strconv.ParseFloat(s, 64); err == nil && ToF16From64(near) == ToF16From64(v) {
				return reformat(s, verb)
			}
		}
	}
}

// reformat writes the number of that text without needless zeros.
func reformat(s string, verb byte) string {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic("internal error: " + err.Error()) // it was printed by strconv
	}
	return strconv.FormatFloat(v, verb, -1, 64)
}

// scalarFloat returns a number that stands alone. One without a fraction ends in
// whole, unless it has an exponent.
func scalarFloat(dt DType, v float64, whole string) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return oddText(v)
	}
	bound := 1e6
	switch dt {
	case Float64:
		bound = 1e16
	case Float16:
		bound = 1e3
	}
	if abs := math.Abs(v); v != 0 && (abs >= bound || abs < 1e-4) {
		return shortest(dt, v, 'e')
	}
	s := shortest(dt, v, 'f')
	if !strings.Contains(s, ".") {
		s += whole
	}
	return s
}

// scalarComplex returns a complex number that stands alone, as "(1+2j)".
func scalarComplex(dt DType, re, im float64) string {
	tail := scalarFloat(dt, im, "") + "j"
	if re == 0 && !math.Signbit(re) {
		return tail
	}
	if tail[0] != '-' {
		tail = "+" + tail
	}
	return "(" + scalarFloat(dt, re, "") + tail + ")"
}
