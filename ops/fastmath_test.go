package ops

import (
	"math"
	"testing"
)

// TestFastMath bounds the error of the float32 functions, in units of the last
// place, over their whole range.
func TestFastMath(t *testing.T) {
	for _, f := range []struct {
		name   string
		got    func(float32) float32
		want   func(float64) float64
		lo, hi float32
		ulps   float64
	}{
		{"exp32", exp32, math.Exp, -87, 88.7, 2},
		{"sigmoid32", sigmoid32, sigmoid, -80, 80, 4},
		{"tanh32", tanh32, math.Tanh, -12, 12, 6},
	} {
		const steps = 200_000
		worst, at := 0.0, float32(0)
		for i := range steps {
			x := f.lo + (f.hi-f.lo)*float32(i)/steps
			want := f.want(float64(x))
			ulp := float64(math.Nextafter32(float32(math.Abs(want)), math.MaxFloat32)) - math.Abs(float64(float32(math.Abs(want))))
			if e := math.Abs(float64(f.got(x))-want) / ulp; e > worst {
				worst, at = e, x
			}
		}
		if worst > f.ulps {
			t.Errorf("%s(%v) is %.2f units in the last place off, want at most %v", f.name, at, worst, f.ulps)
		}
	}
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, test := range []struct {
		name      string
		got, want float32
	}{
		{"exp32(inf)", exp32(inf), inf}, {"exp32(-inf)", exp32(-inf), 0}, {"exp32(0)", exp32(0), 1}, {"exp32(100)", exp32(100), inf},
		{"sigmoid32(inf)", sigmoid32(inf), 1}, {"sigmoid32(-inf)", sigmoid32(-inf), 0}, {"sigmoid32(0)", sigmoid32(0), 0.5},
		{"tanh32(inf)", tanh32(inf), 1}, {"tanh32(-inf)", tanh32(-inf), -1}, {"tanh32(0)", tanh32(0), 0},
	} {
		if test.got != test.want {
			t.Errorf("%s = %v, want %v", test.name, test.got, test.want)
		}
	}
	for name, v := range map[string]float32{"exp32": exp32(nan), "sigmoid32": sigmoid32(nan), "tanh32": tanh32(nan)} {
		if v == v {
			t.Errorf("%s(NaN) = %v, want NaN", name, v)
		}
	}
}
