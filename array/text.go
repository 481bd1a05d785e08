package array

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// textOf is the string that Cast makes of an element of type from: the fewest
// digits that tell it from its neighbours (those of float32 for what is
// narrower), without an exponent for numbers from 1e-4 to below 1e8, as ONNX
// Runtime has it; "NaN", "INF", "-INF"; a bool is "1" or "0".
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
	if abs := math.Abs(v); v == 0 || abs >= 1e-4 && abs < 1e8 {
		return strconv.FormatFloat(v, 'f', -1, bits)
	}
	return strconv.FormatFloat(v, 'e', -1, bits)
}

// parse stores the number that the string s writes, in decimal notation with or
// without an exponent, or as "NaN", "INF", "+INF", "-INF" in any case, white
// space around it aside. For an integer type a fraction is cut, and what does
// not fit keeps its low bits, if 64 are enough for it.
func (a *Array) parse(i int, s string, how rounding) error {
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
	f, err := a.parseFloat(text)
	switch {
	case err != nil && !math.IsInf(f, 0):
		return fmt.Errorf("array: got the string %q, want a number", s)
	case a.dtype.IsInt() && !(math.Abs(f) < 1<<63):
		return fmt.Errorf("array: got the string %q, want a number that fits into %s", s, a.dtype)
	case a.dtype.IsComplex():
		a.putComplex(i, complex(f, 0))
		return nil
	}
	return a.round(i, f, how)
}

// parseFloat rounds once where the array has float32, not by way of float64.
func (a *Array) parseFloat(text string) (float64, error) {
	if a.dtype == Float32 || a.dtype == Complex64 {
		return strconv.ParseFloat(text, 32)
	}
	return strconv.ParseFloat(text, 64)
}
