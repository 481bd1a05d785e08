package ops

import (
	"math"
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
)

// normalized runs f over the input's elements as float64 and gives the result
// back in the input's type.
func normalized(c *Call, f func(a *array.Array, x []float64) error) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	x, err := a.Float64s()
	if err != nil {
		return err
	}
	if err := f(a, x); err != nil {
		return err
	}
	c.Out[0], err = array.FromSlice(x, a.Shape()...).Cast(a.DType())
	return err
}

// rmsNorm divides each row by the root of its mean square; output 1, which the
// standard's has not, is what the rows were multiplied by.
func rmsNorm(c *Call) error {
	return normalized(c, func(a *array.Array, x []float64) error {
		axis, err := c.normalAxis(c.IntOr("axis", -1), a.Rank())
		if err != nil {
			return err
		}
		scale, err := c.Need(1)
		if err != nil {
			return err
		}
		s, err := spreadTo(c, scale, a.Shape()[axis:])
		if err != nil {
			return err
		}
		eps := float64(c.FloatOr("epsilon", 1e-5))
		var inverses []float64
		for n := len(s); len(x) > 0; x = x[n:] {
			sum := 0.0
			for _, v := range x[:n] {
				sum += v * v
			}
			inv := 1 / math.Sqrt(sum/float64(n)+eps)
			for i := range x[:n] {
				x[i] *= inv * s[i]
			}
			inverses = append(inverses, inv)
		}
		return c.setFloats(1, inverses, slices.Concat(a.Shape()[:axis], ones(a.Rank()-axis)), array.Float32)
	})
}

// groupNorm normalizes each group of channels. Until opset 20 scale and bias
// are one for each group, from 21 on one for each channel.
func groupNorm(c *Call) error {
	return normalized(c, func(a *array.Array, x []float64) error {
		groups := c.Int("num_groups")
		if a.Rank() < 2 || groups <= 0 || a.Shape()[1]%groups != 0 {
			return c.Errorf("num_groups: got %d for %s, want a divisor of the channels", groups, a.Summary())
		}
		channels, size := a.Shape()[1], spatialSize(a.Shape())
		want := channels
		if c.Opset < 21 {
			want = groups
		}
		var p [2][]float64
		for i := range p {
			v, err := c.Need(i + 1)
			if err != nil {
				return err
			}
			if p[i], err = v.Float64s(); err != nil {
				return err
			}
			if len(p[i]) != want {
				return c.Errorf("input %d: got %d elements, want %d", i+1, len(p[i]), want)
			}
		}
		n := channels / groups * size
		eps := float64(c.FloatOr("epsilon", 1e-5))
		for g := 0; n > 0 && g < len(x)/n; g++ {
			row := x[g*n : (g+1)*n]
			m, inv := moments(row, eps)
			for i := range row {
				k := (g*n + i) / size % channels * want / channels
				row[i] = (row[i]-m)*inv*p[0][k] + p[1][k]
			}
		}
		return nil
	})
}

// moments returns the mean of a row and 1 over its standard deviation.
func moments(row []float64, eps float64) (m, inv float64) {
	m = mean(row)
	v := 0.0
	for _, e := range row {
		v += (e - m) * (e - m)
	}
	return m, 1 / math.Sqrt(v/float64(len(row))+eps)
}

// lrn divides by a power of the squares' sum over neighbouring channels.
func lrn(c *Call) error {
	return normalized(c, func(a *array.Array, x []float64) error {
		size := c.Int("size")
		if a.Rank() < 2 || size <= 0 {
			return c.Errorf("size: got %d for %s, want 1 or more and an input with channels", size, a.Summary())
		}
		channels, n := a.Shape()[1], spatialSize(a.Shape())
		alpha, beta, bias := float64(c.FloatOr("alpha", 1e-4)), float64(c.FloatOr("beta", 0.75)), float64(c.FloatOr("bias", 1))
		squares := make([]float64, len(x))
		for i, v := range x {
			squares[i] = v * v
		}
		for i := range x {
			ch := i / n % channels
			sum := 0.0
			for k := max(0, ch-(size-1)/2); k <= min(channels-1, ch+size/2); k++ {
				sum += squares[i+(k-ch)*n]
			}
			x[i] /= math.Pow(bias+alpha/float64(size)*sum, beta)
		}
		return nil
	})
}

// lpNorm divides each line along an axis by its norm of order p; a line of
// zeros stays.
func lpNorm(c *Call) error {
	return normalized(c, func(a *array.Array, x []float64) error {
		axis, err := c.normalAxis(c.IntOr("axis", -1), a.Rank())
		if err != nil {
			return err
		}
		p := c.IntOr("p", 2)
		if p != 1 && p != 2 {
			return c.Errorf("p: got %d, want 1 or 2", p)
		}
		outer, n, inner := splitAt(a.Shape(), axis)
		for line := range outer * inner {
			base, sum := line/inner*n*inner+line%inner, 0.0
			for k := range n {
				v := math.Abs(x[base+k*inner])
				if p == 2 {
					v *= v
				}
				sum += v
			}
			if p == 2 {
				sum = math.Sqrt(sum)
			}
			for k := 0; k < n && sum != 0; k++ {
				x[base+k*inner] /= sum
			}
		}
		return nil
	})
}

// meanVariance gives mean 0 and variance 1 to what shares its place on the axes
// that are not normalized over.
func meanVariance(c *Call) error {
	return normalized(c, func(a *array.Array, x []float64) error {
		axes := c.Ints("axes")
		if axes == nil {
			axes = []int{0, 2, 3}
		}
		over := make([]bool, a.Rank())
		for _, axis := range axes {
			at, err := c.normalAxis(axis, a.Rank())
			if err != nil {
				return err
			}
			over[at] = true
		}
		group := groupsOver(a.Shape(), over)
		sums, counts := map[int]float64{}, map[int]float64{}
		for i, v := range x {
			sums[group(i)] += v
			counts[group(i)]++
		}
		squares := map[int]float64{}
		for i := range x {
			g := group(i)
			x[i] -= sums[g] / counts[g]
			squares[g] += x[i] * x[i]
		}
		for i := range x {
			g := group(i)
			x[i] /= math.Sqrt(squares[g]/counts[g]) + 1e-9
		}
		return nil
	})
}

// groupsOver numbers elements alike that differ on the given axes only.
func groupsOver(shape []int, over []bool) func(i int) int {
	return func(i int) int {
		g, scale := 0, 1
		for d := len(shape) - 1; d >= 0; d-- {
			if !over[d] {
				g += i % shape[d] * scale
				scale *= shape[d]
			}
			i /= shape[d]
		}
		return g
	}
}

var normalizeOps = []Op{
	{Name: "RMSNormalization", Since: 23, Checks: []Check{spreadsBehind(-1, 1)}, Infer: inferSame, Eval: rmsNorm},
	{Name: "GroupNormalization", Since: 18, Checks: []Check{rankIn(0, 2, -1), divides("num_groups", 0, 1, -1), perGroup}, Infer: inferSame, Eval: groupNorm},
	{Name: "LRN", Since: 1, Checks: []Check{rankIn(0, 2, -1)}, Infer: inferSame, Eval: lrn},
	{Name: "LpNormalization", Since: 1, Checks: []Check{axisIn("axis", -1)}, Infer: inferSame, Eval: lpNorm},
	{Name: "MeanVarianceNormalization", Since: 9, Infer: inferSame, Eval: meanVariance},
}
