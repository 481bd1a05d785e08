package runtime_test

import (
	"math"
	"testing"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/runtime"
)

func of[T array.Elem](v ...T) array.Value { return array.FromSlice(v) }

func raw(t *testing.T, dt array.DType, b ...byte) array.Value {
	t.Helper()
	a, err := array.FromBytes(dt, []int{len(b) * 8 / dt.Bits()}, b)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// The table of docs/compare.md.
func TestVerdicts(t *testing.T) {
	nan, inf, none := math.NaN(), math.Inf(1), runtime.Tolerance{}
	loose, same := runtime.Tolerance{Rtol: 1e9, Atol: 1e9}, runtime.Tolerance{EqualNaN: true}
	seq := func(v ...array.Value) array.Value { return &array.Sequence{Items: v} }
	for _, c := range []struct {
		name string
		a, b array.Value
		tol  runtime.Tolerance
		want bool
	}{
		{"nan", of(nan), of(nan), loose, false},
		{"nan as equal", of(nan), of(nan), same, true},
		{"nan and a number", of(nan), of(1.0), same, false},
		{"inf", of(inf), of(inf), none, true},
		{"inf and -inf", of(inf), of(-inf), loose, false},
		{"a number and inf", of(1.0), of(inf), loose, false},
		{"signed zeros", of(0.0), of(math.Copysign(0, -1)), none, true},
		{"zeros", of(0.0), of(0.0), none, true},
		{"empty", of[float32](), of[float32](), none, true},
		{"empty of other shapes", array.New(array.Float32, 0, 2), array.New(array.Float32, 2, 0), loose, false},
		{"bools", of(true), of(false), none, false},
		{"strings", array.FromStrings([]string{"a"}, 1), array.FromStrings([]string{"b"}, 1), loose, false},
		{"sequences", seq(of(1.0), of(2.0)), seq(of(1.0), of(2.0)), none, true},
		{"sequences' elements", seq(of(1.0), of(2.0)), seq(of(1.0), of(3.0)), none, false},
		{"sequences' lengths", seq(of(1.0)), seq(), loose, false},
		{"uint64 beyond 2^63", of(uint64(1) << 63), of(uint64(1)<<63 + 1), none, false},
		{"uint64 within", of(uint64(1) << 63), of(uint64(1)<<63 + 1), runtime.Tolerance{Atol: 1}, true},
		{"int64 ends", of(int64(math.MinInt64)), of(int64(math.MaxInt64)), none, false},
		{"int64 beyond 2^53", of(int64(1) << 53), of(int64(1)<<53 + 1), none, false},
		{"complex", of(complex(1, 1)), of(complex(1, 1)), none, true},
		{"complex apart by 5", of(complex(4, 1)), of(complex(1, 5)), runtime.Tolerance{Atol: 5}, true},
		{"complex too far apart", of(complex(4, 1)), of(complex(1, 5)), runtime.Tolerance{Atol: 4.9}, false},
		{"complex, a part NaN", of(complex(nan, 1)), of(complex(1, nan)), same, true},
		{"complex, one NaN", of(complex(nan, 1)), of(complex(1, 1)), same, false},
		{"complex inf", of(complex(inf, 1)), of(complex(inf, 1)), none, true},
		{"complex infs", of(complex(inf, 1)), of(complex(inf, 2)), loose, false},
		{"float6", raw(t, array.Float6E2M3, 0x01), raw(t, array.Float6E2M3, 0x02), none, false},
		{"types", of(float32(1)), of(1.0), loose, false},
		{"float16 nan", raw(t, array.Float16, 0, 0x7e), raw(t, array.Float16, 0, 0x7e), none, false},
		{"bfloat16 inf", raw(t, array.BFloat16, 0x80, 0x7f), raw(t, array.BFloat16, 0x80, 0x7f), none, true},
		{"float8 zeros", raw(t, array.Float8E4M3FN, 0x80), raw(t, array.Float8E4M3FN, 0), none, true},
		{"float8", raw(t, array.Float8E5M2, 0x3c), raw(t, array.Float8E5M2, 0x3d), none, false},
	} {
		if d := runtime.Compare(c.a, c.b, c.tol); d.OK != c.want {
			t.Errorf("%s: got %v, want %v: %s", c.name, d.OK, c.want, d.Text())
		}
	}
}

// Neighbours in each format, by their bits, are one ULP apart, subnormal ones too.
func TestNeighboursAreOneULPApart(t *testing.T) {
	for _, c := range []struct {
		name string
		a, b array.Value
	}{
		{"float64", of(1.0), of(math.Nextafter(1, 2))},
		{"float64 subnormal", of(0.0), of(math.SmallestNonzeroFloat64)},
		{"float32", of(float32(3)), of(math.Nextafter32(3, 4))},
		{"float32 subnormal", of(float32(0)), of(float32(math.SmallestNonzeroFloat32))},
		{"float16", raw(t, array.Float16, 0, 0x3c), raw(t, array.Float16, 1, 0x3c)},
		{"float16 subnormal", raw(t, array.Float16, 1, 0), raw(t, array.Float16, 2, 0)},
		{"bfloat16", raw(t, array.BFloat16, 0x80, 0x3f), raw(t, array.BFloat16, 0x81, 0x3f)},
		{"e4m3fn", raw(t, array.Float8E4M3FN, 0x38), raw(t, array.Float8E4M3FN, 0x39)},
		{"e4m3fn subnormal", raw(t, array.Float8E4M3FN, 1), raw(t, array.Float8E4M3FN, 2)},
		{"e4m3fnuz subnormal", raw(t, array.Float8E4M3FNUZ, 1), raw(t, array.Float8E4M3FNUZ, 2)},
		{"e5m2", raw(t, array.Float8E5M2, 0x3c), raw(t, array.Float8E5M2, 0x3d)},
		{"e5m2fnuz subnormal", raw(t, array.Float8E5M2FNUZ, 1), raw(t, array.Float8E5M2FNUZ, 2)},
		{"float6_e2m3 subnormal", raw(t, array.Float6E2M3, 1), raw(t, array.Float6E2M3, 2)},
		{"float6_e3m2", raw(t, array.Float6E3M2, 0x0c), raw(t, array.Float6E3M2, 0x0d)},
		{"uint64", of(uint64(math.MaxUint64)), of(uint64(math.MaxUint64 - 1))},
	} {
		if d := runtime.Compare(c.a, c.b, runtime.Tolerance{}); d.MaxULP != 1 || d.OK {
			t.Errorf("%s: got %v ULP, OK %v; want 1, false", c.name, d.MaxULP, d.OK)
		}
	}
}

func TestCosineOfZero(t *testing.T) {
	zero, one := of(0.0, 0), of(1.0, 1)
	if d := runtime.Compare(zero, one, runtime.Tolerance{}); d.Cosine != 0 {
		t.Errorf("zero and one: got %v, want 0", d.Cosine)
	}
	if d := runtime.Compare(zero, zero, runtime.Tolerance{}); d.Cosine != 1 {
		t.Errorf("zero and zero: got %v, want 1", d.Cosine)
	}
}
