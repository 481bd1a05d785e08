package array

import (
	"math"
	"testing"
)

func TestSetAt(t *testing.T) {
	nan := math.NaN()
	for _, tc := range []struct {
		dt   DType
		in   any
		want any // what At gives then; with err, what was there
		err  string
	}{
		{Int8, 127, int64(127), ""}, {Int8, int8(-128), int64(-128), ""}, {Int8, true, int64(1), ""}, {Int8, 127.9, int64(127), ""},
		{Int8, -128.9, int64(-128), ""}, {Int8, 128, nil, "array: got 128, which does not fit into int8"},
		{Int8, -129.0, nil, "array: got -129, which does not fit into int8"},
		{Uint8, -0.5, uint64(0), ""}, {Uint8, 255, uint64(255), ""}, {Uint8, uint64(256), nil, "array: got 256, which does not fit into uint8"},
		{Uint8, -1, nil, "array: got -1, which does not fit into uint8"},
		{Uint32, int64(1<<32 - 1), uint64(1<<32 - 1), ""}, {Uint32, int64(1 << 32), nil, "array: got 4294967296, which does not fit into uint32"},
		{Int64, uint64(1 << 63), nil, "array: got 9223372036854775808, which does not fit into int64"},
		{Int64, 1e19, nil, "array: got 1e+19, which does not fit into int64"}, {Int64, -1e19, nil, "array: got -1e+19, which does not fit into int64"},
		{Int64, float64(-1 << 63), int64(math.MinInt64), ""}, {Int64, nan, nil, "array: got NaN, which does not fit into int64"},
		{Int64, math.Inf(1), nil, "array: got +Inf, which does not fit into int64"},
		{Uint64, 1e19, uint64(1e19), ""}, {Uint64, uint64(math.MaxUint64), uint64(math.MaxUint64), ""},
		{Uint64, float64(1 << 64), nil, "array: got 1.8446744073709552e+19, which does not fit into uint64"},
		{Uint64, -1.0, nil, "array: got -1, which does not fit into uint64"}, {Uint64, -0.9, uint64(0), ""},
		{Int4, -8, int64(-8), ""}, {Int4, 8, nil, "array: got 8, which does not fit into int4"}, {Uint4, uint8(15), uint64(15), ""},
		{Int2, -2, int64(-2), ""}, {Int2, 2, nil, "array: got 2, which does not fit into int2"}, {Uint2, 3.7, uint64(3), ""},
		{Int16, 1i, nil, "array: got (0+1i), want a number"}, {Int16, "1", nil, `array: got the string "1", want a number`},
		{Int16, nil, nil, "array: got <nil>, want a number"},
		{Bool, 2, true, ""}, {Bool, 0.0, false, ""}, {Bool, uint(7), true, ""}, {Bool, nan, true, ""}, {Bool, 1i, true, ""},
		{Bool, "True", nil, `array: got the string "True", want a bool`},
		{Float32, 0.1, float64(float32(0.1)), ""}, {Float32, 1e300, math.Inf(1), ""}, {Float32, int64(16777217), float64(16777216), ""},
		{Float16, 65504, float64(65504), ""}, {Float16, 65520.0, math.Inf(1), ""}, {Float16, float32(1), float64(1), ""},
		{BFloat16, 1.00390625, float64(1), ""}, {Float64, true, float64(1), ""}, {Float64, "1", nil, `array: got the string "1", want a number`},
		{Float8E4M3FN, 1e9, float64(448), ""}, {Float8E4M3FNUZ, -1e9, float64(-240), ""}, {Float8E5M2, 1e9, float64(57344), ""},
		{Float8E5M2FNUZ, 3.3, float64(3.5), ""}, {Float4E2M1, -2.4, float64(-2), ""}, {Float8E8M0, 1.4, float64(1), ""}, {Float8E8M0, 1.5, float64(2), ""},
		{Complex64, 1 + 2i, 1 + 2i, ""}, {Complex128, 3, 3 + 0i, ""}, {Complex128, complex64(1i), 1i, ""},
		{Complex128, "x", nil, `array: got the string "x", want a number`},
		{String, "text", "text", ""}, {String, 1, nil, "array: got 1, want a string"},
	} {
		a := New(tc.dt, 3)
		before := a.At(1)
		err := a.SetAt(1, tc.in)
		want := tc.want
		if tc.err != "" {
			want = before
		}
		if got := a.At(1); got != want || errText(err) != tc.err {
			t.Errorf("%s: SetAt(1, %v): holds %v, %q, want %v, %q", tc.dt, tc.in, got, errText(err), want, tc.err)
		}
		if a.At(0) != before || a.At(2) != before {
			t.Errorf("%s: SetAt(1, %v) has changed a neighbour: %v", tc.dt, tc.in, a)
		}
	}
}

func TestIndexOfNoElement(t *testing.T) {
	a := FromSlice([]int8{7, 8})
	for i, want := range map[int]string{
		2: "array: got index 2, want one of the array's 2 elements", -1: "array: got index -1, want one of the array's 2 elements",
	} {
		if err := a.SetAt(i, 1); errText(err) != want {
			t.Errorf("SetAt(%d): %q, want %q", i, errText(err), want)
		}
	}
	wantPanic(t, "internal error: element 2 of 2", func() { a.At(2) })
	wantPanic(t, "internal error: element -1 of 2", func() { a.At(-1) })
	wantPanic(t, "internal error: element 0 of 0", func() { New(Float32, 0, 2).At(0) })
}
