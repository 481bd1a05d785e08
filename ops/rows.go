package ops

import (
	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/par"
)

// Loops over rows of float32, for the operators that models spend their time in:
// a call for each element would take longer than the element. BenchmarkRows
// holds them against that.

func addLoop(a, b, out []float32) {
	a, b = a[:len(out)], b[:len(out)]
	for i := range out {
		out[i] = a[i] + b[i]
	}
}

func subLoop(a, b, out []float32) {
	a, b = a[:len(out)], b[:len(out)]
	for i := range out {
		out[i] = a[i] - b[i]
	}
}

func mulLoop(a, b, out []float32) {
	a, b = a[:len(out)], b[:len(out)]
	for i := range out {
		out[i] = a[i] * b[i]
	}
}

func divLoop(a, b, out []float32) {
	a, b = a[:len(out)], b[:len(out)]
	for i := range out {
		out[i] = a[i] / b[i]
	}
}

func maxLoop(a, b, out []float32) {
	a, b = a[:len(out)], b[:len(out)]
	for i := range out {
		out[i] = max(a[i], b[i])
	}
}

func minLoop(a, b, out []float32) {
	a, b = a[:len(out)], b[:len(out)]
	for i := range out {
		out[i] = min(a[i], b[i])
	}
}

// repeats is how many copies of a single element a loop is given at a time.
const repeats = 256

// rows32 makes of a loop over rows of one length one in which a or b, or both,
// may be a single element that is repeated.
func rows32(loop func(a, b, out []float32)) func(a, b, out []float32) {
	return func(a, b, out []float32) {
		oneA, oneB := len(a) < len(out), len(b) < len(out)
		if !oneA && !oneB {
			loop(a, b, out)
			return
		}
		var bufA, bufB [repeats]float32
		for lo := 0; lo < len(out); lo += repeats {
			hi := min(lo+repeats, len(out))
			loop(part32(a, &bufA, oneA, lo, hi), part32(b, &bufB, oneB, lo, hi), out[lo:hi])
		}
	}
}

// part32 returns a[lo:hi], or that many copies of its only element.
func part32(a []float32, buf *[repeats]float32, one bool, lo, hi int) []float32 {
	if !one {
		return a[lo:hi]
	}
	if lo == 0 {
		for i := range buf {
			buf[i] = a[0]
		}
	}
	return buf[:hi-lo]
}

// fast is unary with a loop over rows of float32.
func fast(loop func(in, out []float32), f64 func(float64) float64, i func(int64) int64) func(*Call) error {
	slow := unary(nil, f64, i)
	return func(c *Call) error {
		a, err := c.Need(0)
		if err != nil {
			return err
		}
		wide, back, err := widened(a)
		if err != nil || wide.DType() != array.Float32 {
			return slow(c)
		}
		out, err := c.Make(array.Float32, a.Shape())
		if err != nil {
			return err
		}
		in, dst := array.Data[float32](wide), array.MutableData[float32](out)
		par.For(len(in), rowGrain, func(lo, hi int) { loop(in[lo:hi], dst[lo:hi]) })
		c.Out[0], err = back(out)
		return err
	}
}

func reluLoop(in, out []float32) {
	out = out[:len(in)]
	for i, x := range in {
		if x < 0 {
			x = 0
		}
		out[i] = x
	}
}

func leakyLoop(alpha float32) func(in, out []float32) {
	return func(in, out []float32) {
		out = out[:len(in)]
		for i, x := range in {
			if x < 0 {
				x *= alpha
			}
			out[i] = x
		}
	}
}

func clipLoop(least, most float32) func(in, out []float32) {
	return func(in, out []float32) {
		out = out[:len(in)]
		for i, x := range in {
			out[i] = min(max(x, least), most)
		}
	}
}

// hardSigmoidLoop rounds once, from float64, as the slow path does.
func hardSigmoidLoop(alpha, beta float64) func(in, out []float32) {
	return func(in, out []float32) {
		out = out[:len(in)]
		for i, x := range in {
			out[i] = float32(max(0, min(1, alpha*float64(x)+beta)))
		}
	}
}

func hardSwishLoop(in, out []float32) {
	out = out[:len(in)]
	for i, x := range in {
		y := float64(x)
		out[i] = float32(y * max(0, min(1, y/6+0.5)))
	}
}
