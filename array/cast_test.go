package array

import (
	"math"
	"math/big"
	"slices"
	"testing"
)

func TestCastToString(t *testing.T) {
	for _, tc := range []struct {
		a    *Array
		want []string
	}{
		// The texts are ONNX Runtime's, whose eight digits are all that these need.
		{FromSlice([]float32{0, 1, -1.5, 0.1, 1e6, 1e7, 1e8, 1e20, 1e-7, 314.15927, 16777216}),
			[]string{"0", "1", "-1.5", "0.1", "1000000", "10000000", "1e+08", "1e+20", "1e-07", "314.15927", "16777216"}},
		{FromSlice([]float64{math.Copysign(0, -1), 314.15926, 1e-5, 1e-4, 1e15, math.NaN(), math.Inf(1), math.Inf(-1)}),
			[]string{"-0", "314.15926", "1e-05", "0.0001", "1e+15", "NaN", "INF", "-INF"}},
		{FromSlice([]F16{ToF16(0.1), ToF16(1), ToF16(314.2)}), []string{"0.099975586", "1", "314.25"}},
		{FromSlice([]bool{true, false}), []string{"1", "0"}},
		{FromSlice([]int64{math.MinInt64, 7}), []string{"-9223372036854775808", "7"}},
		{FromSlice([]uint64{math.MaxUint64}), []string{"18446744073709551615"}},
		// Where eight do not do, no digit is lost.
		{FromSlice([]float64{1.0 / 3, 123456789.25}), []string{"0.3333333333333333", "1.2345678925e+08"}},
	} {
		if got := must(t)(tc.a.Cast(String)).Strings(); !slices.Equal(got, tc.want) {
			t.Errorf("%v as strings = %q, want %q", tc.a, got, tc.want)
		}
	}
}

func TestCastFromString(t *testing.T) {
	for _, tc := range []struct {
		in   string
		dt   DType
		want any
		err  string
	}{
		{"3.14", Float32, float64(float32(3.14)), ""}, {"1000", Float64, float64(1000), ""}, {"1e-5", Float64, 1e-5, ""}, {"1E8", Float32, 1e8, ""},
		{" 1.5\n", Float16, 1.5, ""}, {"+INF", Float32, math.Inf(1), ""}, {"inf", Float32, math.Inf(1), ""}, {"-Inf", BFloat16, math.Inf(-1), ""},
		{"1e400", Float64, math.Inf(1), ""}, {"1e39", Float32, math.Inf(1), ""}, {"1e-400", Float64, 0.0, ""}, {"500", Float8E4M3FN, float64(448), ""},
		{"1.00000017881393432617187499", Float32, float64(float32(1.00000011920928955)), ""}, // rounded once: by way of float64 it would be the next
		{"100.5", Int32, int64(100), ""}, {"-3.99", Int64, int64(-3), ""}, {"300", Uint8, uint64(44), ""}, {"-1", Uint16, uint64(65535), ""},
		{"9223372036854775807", Int64, int64(math.MaxInt64), ""}, {"18446744073709551615", Uint64, uint64(math.MaxUint64), ""}, {"1e3", Int32, int64(1000), ""},
		{"2", Bool, true, ""}, {"0.0", Bool, false, ""}, {"2.5", Complex64, 2.5 + 0i, ""}, {"7", Int4, int64(7), ""},
		{"", Float32, nil, `array: got the string "", want a number`},
		{"Hello World!", Float64, nil, `array: got the string "Hello World!", want a number`},
		{"1.5x", Int8, nil, `array: got the string "1.5x", want a number`},
		{"nan", Int64, nil, `array: got the string "nan", want a number that fits into int64`},
		{"99999999999999999999", Int64, nil, `array: got the string "99999999999999999999", want a number that fits into int64`},
		{"true", Bool, nil, `array: got the string "true", want a number`},
	} {
		got, err := FromStrings([]string{tc.in}).Cast(tc.dt)
		if errText(err) != tc.err {
			t.Errorf("%q as %s: %q, want %q", tc.in, tc.dt, errText(err), tc.err)
			continue
		}
		if err == nil && got.At(0) != tc.want {
			t.Errorf("%q as %s = %v, want %v", tc.in, tc.dt, got.At(0), tc.want)
		}
	}
	for _, s := range []string{"NaN", "nan", "NAN"} {
		got := must(t)(FromStrings([]string{s}).Cast(Float16))
		if v := got.At(0).(float64); !math.IsNaN(v) {
			t.Errorf("%q as float16 = %v, want NaN", s, v)
		}
	}
}

// TestCastTextRoundTrip holds that a cast to strings and back gives each number.
func TestCastTextRoundTrip(t *testing.T) {
	for _, a := range []*Array{
		FromSlice([]float64{math.MaxFloat64, math.SmallestNonzeroFloat64, 0.1 + 0.2, 1e8, 99999999.999, 1e-4, -1e-5}),
		FromSlice([]float32{math.MaxFloat32, math.SmallestNonzeroFloat32, 0.1, 16777217, 1e-4}),
		FromSlice([]int64{math.MinInt64, math.MaxInt64, 0}), FromSlice([]uint64{math.MaxUint64, 0}),
		FromSlice([]F16{1, 0x7bff, 0x3555}), FromSlice([]BF16{1, 0x7f7f, 0x3eab}), FromSlice([]bool{true, false}),
	} {
		text := must(t)(a.Cast(String))
		if got := must(t)(text.Cast(a.DType())); !Equal(got, a) {
			t.Errorf("%v by way of %v = %v", a, text, got)
		}
	}
}

// TestCastToPowersOfTwo holds to the standard's table, and to what follows from
// it for the other combinations.
func TestCastToPowersOfTwo(t *testing.T) {
	const least, largest, nan = 0x00, 0xfe, 0xff
	inf := math.Inf(1)
	in := []float64{0, math.NaN(), inf, 0x1p128, 0x1p-128, 0x1p-127, 0x1p127, 0x1.8p127, 1, 1.1, 1.5, 1.9, -1, 0x1.8p-127}
	for _, tc := range []struct {
		name     string
		saturate bool
		mode     RoundMode
		want     []uint8
	}{
		{"saturate up", true, RoundUp, []uint8{least, nan, largest, largest, least, least, largest, largest, 127, 128, 128, 128, nan, 1}},
		{"saturate down", true, RoundDown, []uint8{least, nan, largest, largest, least, least, largest, largest, 127, 127, 127, 127, nan, 0}},
		{"saturate nearest", true, RoundNearest, []uint8{least, nan, largest, largest, least, least, largest, largest, 127, 127, 128, 128, nan, 1}},
		{"nearest", false, RoundNearest, []uint8{nan, nan, nan, nan, nan, least, largest, nan, 127, 127, 128, 128, nan, 1}},
		{"up", false, RoundUp, []uint8{nan, nan, nan, nan, nan, least, largest, nan, 127, 128, 128, 128, nan, 1}},
		{"down", false, RoundDown, []uint8{nan, nan, nan, nan, nan, least, largest, largest, 127, 127, 127, 127, nan, 0}},
	} {
		got := must(t)(FromSlice(in).CastWith(Float8E8M0, tc.saturate, tc.mode))
		if raw, _ := got.Bytes(); !slices.Equal(raw, tc.want) {
			t.Errorf("%s: %v = %v, want %v", tc.name, in, raw, tc.want)
		}
	}
	if got := must(t)(Scalar(float32(1.1)).Cast(Float8E8M0)); got.At(0) != 2.0 {
		t.Errorf("Cast rounds 1.1 to %v, want up, to 2", got)
	}
	if _, err := ParseRoundMode("Up"); errText(err) != `rounding mode: got "Up", want "up", "down" or "nearest"` {
		t.Errorf("ParseRoundMode: %v", err)
	}
}

// TestCastWideIntegers holds that 64-bit integers are rounded once.
func TestCastWideIntegers(t *testing.T) {
	ints := []int64{math.MaxInt64, math.MinInt64, math.MinInt64 + 1}
	for _, base := range []int64{1 << 54, 1 << 60, 1<<62 + 1<<61} {
		for _, half := range []int64{base >> 8, base >> 24, base >> 25} {
			for _, d := range []int64{-1, 0, 1} {
				ints = append(ints, base+half+d, -(base + half + d))
			}
		}
	}
	for _, tc := range []struct {
		dt   DType
		prec uint
	}{{BFloat16, 8}, {Float32, 24}, {Float64, 53}} {
		signed := must(t)(FromSlice(ints).Cast(tc.dt))
		var uints []uint64
		for i, v := range ints {
			want, _ := new(big.Float).SetPrec(tc.prec).SetInt64(v).Float64()
			if got := signed.At(i); got != want {
				t.Errorf("int64 %d as %s = %v, want %v", v, tc.dt, got, want)
			}
			uints = append(uints, uint64(v))
		}
		unsigned := must(t)(FromSlice(uints).Cast(tc.dt))
		for i, v := range uints {
			want, _ := new(big.Float).SetPrec(tc.prec).SetUint64(v).Float64()
			if got := unsigned.At(i); got != want {
				t.Errorf("uint64 %d as %s = %v, want %v", v, tc.dt, got, want)
			}
		}
	}
}

// TestRoundF16 compares the quick roundings of float32 with those of float64, and
// both with every halfway case.
func TestRoundF16(t *testing.T) {
	for code := range F16(0x7c00) {
		lo := float64(code.Float32())
		hi := float64((code + 1).Float32())
		if code == 0x7bff {
			hi = 65536
		}
		half := (lo + hi) / 2
		even := code + code&1
		for _, tc := range []struct {
			v    float64
			want F16
		}{{lo, code}, {half, even}, {math.Nextafter(half, 0), code}, {math.Nextafter(half, inf32), code + 1}} {
			if got := ToF16From64(tc.v); got != tc.want {
				t.Errorf("ToF16From64(%v) = %#x, want %#x", tc.v, got, tc.want)
			}
			if got := ToF16From64(-tc.v); got != tc.want|0x8000 {
				t.Errorf("ToF16From64(%v) = %#x, want %#x", -tc.v, got, tc.want|0x8000)
			}
			f := float32(tc.v)
			if got, want := ToF16(f), ToF16From64(float64(f)); got != want {
				t.Errorf("ToF16(%v) = %#x, want %#x", f, got, want)
			}
		}
	}
}

const inf32 = math.MaxFloat32 * 2

func TestRoundBF16(t *testing.T) {
	for bits := uint64(0); bits < 1<<32; bits += 1021 {
		f := math.Float32frombits(uint32(bits))
		if got, want := ToBF16(f), ToBF16From64(float64(f)); got != want {
			t.Fatalf("ToBF16(%v) = %#x, want %#x", f, got, want)
		}
	}
}

func TestCastOther(t *testing.T) {
	v := must(t)(FromSlice([]int64{1, 2, 300, -1}, 2, 2).Transpose())
	if got := must(t)(v.Cast(Int8)); !slices.Equal(Data[int8](got), []int8{1, 44, 2, -1}) {
		t.Errorf("a transposed array as int8 = %v", got)
	}
	if got := must(t)(v.Cast(Int64)); got != v {
		t.Error("a cast to its own type is another array")
	}
	c := FromSlice([]complex64{1 + 2i, 0, 1i})
	if got := must(t)(c.Cast(Float32)); !slices.Equal(Data[float32](got), []float32{1, 0, 0}) {
		t.Errorf("%v as float32 = %v", c, got)
	}
	if got := must(t)(c.Cast(Complex128)); !slices.Equal(Data[complex128](got), []complex128{1 + 2i, 0, 1i}) {
		t.Errorf("%v as complex128 = %v", c, got)
	}
	if got := must(t)(c.Cast(Bool)); !slices.Equal(Data[bool](got), []bool{true, false, true}) {
		t.Errorf("%v as bool = %v", c, got)
	}
	if got := must(t)(FromSlice([]int8{-2}).Cast(Complex64)); got.At(0) != -2+0i {
		t.Errorf("-2 as complex64 = %v", got)
	}
	if got := must(t)(FromSlice([]float64{2147483647.5, -2147483648.5, 2147483648}).Cast(Int32)); !slices.Equal(Data[int32](got), []int32{math.MaxInt32, math.MinInt32, math.MinInt32}) {
		t.Errorf("floats at the ends of int32 = %v", got)
	}
	for _, from := range DTypes() {
		for _, to := range DTypes() {
			if got, err := New(from, 0, 3).Cast(to); err != nil || got.DType() != to || got.Rank() != 2 {
				t.Errorf("nothing of %s as %s: %v, %v", from, to, got, err)
			}
		}
	}
	if _, err := New(Float32, 1).Cast(99); errText(err) != "array: got element type dtype(99), want one of ONNX's" {
		t.Errorf("cast to no type: %v", err)
	}
}

// TestCastBlocks casts more than a block, each element another.
func TestCastBlocks(t *testing.T) {
	const n = 3*blockLen + 7
	for _, dt := range []DType{Int4, Uint2, Float4E2M1, Int8, Uint16, Int64, Float16, Float64} {
		vs := make([]int32, n)
		for i := range vs {
			vs[i] = int32(i * 7 % 4)
			if dt == Int4 {
				vs[i] -= 2
			}
		}
		a := must(t)(FromSlice(vs).Cast(dt))
		if got := must(t)(a.Cast(Int32)); !slices.Equal(Data[int32](got), vs) {
			t.Errorf("%d elements by way of %s came back changed", n, dt)
		}
		floats, err := a.Float64s()
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range floats {
			if f != float64(vs[i]) {
				t.Fatalf("%s: Float64s()[%d] = %v, want %d", dt, i, f, vs[i])
			}
		}
	}
}

func TestNumbersOf(t *testing.T) {
	if got, err := FromSlice([]uint64{math.MaxUint64, 1}).Float64s(); err != nil || !slices.Equal(got, []float64{1 << 64, 1}) {
		t.Errorf("Float64s = %v, %v", got, err)
	}
	if got, err := FromSlice([]bool{true, false}).Int64s(); err != nil || !slices.Equal(got, []int64{1, 0}) {
		t.Errorf("Int64s = %v, %v", got, err)
	}
	if got, err := FromSlice([]uint64{math.MaxUint64}).Int64s(); err != nil || !slices.Equal(got, []int64{-1}) {
		t.Errorf("Int64s = %v, %v", got, err)
	}
	if _, err := New(String, 2).Float64s(); errText(err) != "array: got string[2], want real numbers" {
		t.Errorf("Float64s of strings: %v", err)
	}
	if _, err := New(Complex64).Float64s(); errText(err) != "array: got complex64[], want real numbers" {
		t.Errorf("Float64s of complex numbers: %v", err)
	}
	if _, err := New(Float32, 2).Int64s(); errText(err) != "array: got float32[2], want integers" {
		t.Errorf("Int64s of floats: %v", err)
	}
	own := FromSlice([]int64{1})
	if got, _ := own.Int64s(); &got[0] == &Data[int64](own)[0] {
		t.Error("Int64s is no copy")
	}
}

func BenchmarkCast(b *testing.B) {
	in := make([]float32, 1<<20)
	for i := range in {
		in[i] = float32(i%1000) * 0.01
	}
	a := FromSlice(in)
	for _, dt := range []DType{Float16, BFloat16, Float8E4M3FN, Int64, Int8, Int4, Float64} {
		b.Run(dt.String(), func(b *testing.B) {
			b.SetBytes(int64(len(in)) * 4)
			for b.Loop() {
				if _, err := a.Cast(dt); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkContiguous(b *testing.B) {
	a := New(Float32, 64, 64, 256)
	for name, perm := range map[string][]int{"rows": {1, 0, 2}, "columns": {2, 0, 1}} {
		v, err := a.Transpose(perm...)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(a.NBytes())
			for b.Loop() {
				v.Contiguous()
			}
		})
	}
}
