package array

import (
	"math"
	"testing"
)

// TestPrintOther prints what NumPy does not know.
func TestPrintOther(t *testing.T) {
	for _, tc := range []struct {
		a    *Array
		want string
	}{
		{must(t)(Pack(Int4, []int8{-8, 7, 0}, 3, 1)), "[[-8]\n [ 7]\n [ 0]]"},
		{must(t)(Pack(Float4E2M1, []float32{0.5, -6, 3})), "[ 0.5 -6.   3. ]"},
		{FromSlice([]BF16{ToBF16(0.1), ToBF16(300), ToBF16(-1)}), "[ 1.00098e-01  3.00000e+02 -1.00000e+00]"},
		{FromSlice([]BF16{ToBF16(0.1), ToBF16(3)}), "[0.100098 3.      ]"},
		{Scalar(ToBF16(0.1)), "0.100098"},
		{FromSlice([]F8E4M3FN{ToF8E4M3FN(448, true), 0x7f, 0x80}), "[448.  nan  -0.]"},
		{FromSlice([]F8E8M0{127, 130, 0xff}), "[ 1.  8. nan]"},
		{Scalar(F8E8M0(0)), "5.87747e-39"},
		{Scalar(ToF8E5M2(0.3, true)), "0.3125"},
		{FromStrings([]string{"\xff", "a"}), `['\xff' 'a']`},
		{FromStrings([]string{"\ufffd"}), "['\ufffd']"},
		{Scalar(math.Inf(-1)), "-inf"},
	} {
		if got := tc.a.String(); got != tc.want {
			t.Errorf("%s prints\n%s\nwant\n%s", tc.a.Summary(), got, tc.want)
		}
	}
}

// TestDigitsReadBack holds that the digits of every number of a narrow type
// name that number.
func TestDigitsReadBack(t *testing.T) {
	for _, dt := range []DType{Float16, BFloat16, Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ, Float8E8M0, Float4E2M1} {
		n := 1 << dt.Bits()
		a := New(dt, n)
		for i := range n {
			a.putBits(i, uint64(i))
		}
		for i := range n {
			v := a.At(i).(float64)
			if math.IsNaN(v) || math.IsInf(v, 0) {
				continue
			}
			text := scalarFloat(dt, v, ".0")
			back := must(t)(FromStrings([]string{text}).CastWith(dt, true, RoundNearest))
			if back.bits(0) != uint64(i) {
				t.Errorf("%s: %v prints %s, which is %v", dt, v, text, back)
			}
		}
	}
}
