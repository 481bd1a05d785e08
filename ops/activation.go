package ops

import (
	"math"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/par"
)

func sigmoid(x float64) float64 {
	if x >= 0 {
		return 1 / (1 + math.Exp(-x))
	}
	e := math.Exp(x)
	return e / (1 + e)
}

// withAlpha makes an activation of a parameter that an attribute gives, with the
// default that applies where the schema gives none.
func withAlpha(alpha float32, f func(x, alpha float64) float64) func(*Call) error {
	return func(c *Call) error {
		a := float64(c.FloatOr("alpha", alpha))
		return float(func(x float64) float64 { return f(x, a) })(c)
	}
}

func leakyRelu(c *Call) error {
	alpha := c.FloatOr("alpha", 0.01)
	return fast(leakyLoop(alpha), func(x float64) float64 {
		if x < 0 {
			return x * float64(alpha)
		}
		return x
	}, nil)(c)
}

func hardSigmoid(c *Call) error {
	alpha, beta := float64(c.FloatOr("alpha", 0.2)), float64(c.FloatOr("beta", 0.5))
	return fast(hardSigmoidLoop(alpha, beta), func(x float64) float64 { return max(0, min(1, alpha*x+beta)) }, nil)(c)
}

func softplus(x float64) float64 { return math.Log1p(math.Exp(-math.Abs(x))) + max(x, 0) }

func gelu(c *Call) error {
	if c.Str("approximate") == "tanh" {
		return float(func(x float64) float64 {
			return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
		})(c)
	}
	return float(func(x float64) float64 { return 0.5 * x * (1 + math.Erf(x/math.Sqrt2)) })(c)
}

func selu(c *Call) error {
	alpha, gamma := float64(c.FloatOr("alpha", 1.67326319217681884765625)), float64(c.FloatOr("gamma", 1.05070102214813232421875))
	return float(func(x float64) float64 {
		if x <= 0 {
			return gamma * (alpha*math.Exp(x) - alpha)
		}
		return gamma * x
	})(c)
}

func shrink(c *Call) error {
	lambd, bias := float64(c.FloatOr("lambd", 0.5)), float64(c.Float("bias"))
	f := func(x float64) float64 {
		switch {
		case x < -lambd:
			return x + bias
		case x > lambd:
			return x - bias
		}
		return 0
	}
	return unary(func(x float32) float32 { return float32(f(float64(x))) }, f, func(x int64) int64 { return int64(f(float64(x))) })(c)
}

// softmaxRows is softmax over rows of n elements that lie inner apart.
func softmaxRows[T float32 | float64](in, out []T, outer, n, inner int, kind softmaxKind) {
	par.For(outer*inner, max(1, rowGrain/max(n, 1)), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			base := r/inner*n*inner + r%inner
			softmaxRow(in, out, base, n, inner, kind)
		}
	})
}

type softmaxKind uint8

const (
	kindSoftmax softmaxKind = iota
	kindLogSoftmax
	kindHardmax
)

func softmaxRow[T float32 | float64](in, out []T, base, n, step int, kind softmaxKind) {
	most, at := in[base], 0
	for k := 1; k < n; k++ {
		if v := in[base+k*step]; v > most {
			most, at = v, k
		}
	}
	if kind == kindHardmax {
		for k := range n {
			out[base+k*step] = 0
		}
		out[base+at*step] = 1
		return
	}
	sum := 0.0
	for k := range n {
		e := math.Exp(float64(in[base+k*step] - most))
		out[base+k*step] = T(e)
		sum += e
	}
	for k := range n {
		if kind == kindLogSoftmax {
			out[base+k*step] = T(float64(in[base+k*step]-most) - math.Log(sum))
		} else {
			out[base+k*step] = T(float64(out[base+k*step]) / sum)
		}
	}
}

// softmaxOf makes Softmax and its like. Before opset 13 the input is taken as a
// matrix whose rows begin at the axis.
func softmaxOf(kind softmaxKind, flat bool) func(*Call) error {
	return func(c *Call) error {
		a, err := c.Need(0)
		if err != nil {
			return err
		}
		def := -1
		if flat {
			def = 1
		}
		rank := a.Rank()
		axis := c.IntOr("axis", def)
		if rank > 0 || axis != 0 && axis != -1 {
			if axis, err = c.normalAxis(axis, max(rank, 1)); err != nil {
				return err
			}
		} else {
			axis = 0
		}
		outer, n, inner := splitAt(a.Shape(), axis)
		if flat {
			n, inner = n*inner, 1
		}
		wide, back, err := widened(a)
		if err != nil {
			return err
		}
		out, err := c.Make(wide.DType(), a.Shape())
		if err != nil {
			return err
		}
		if a.Size() > 0 {
			switch wide.DType() {
			case array.Float32:
				softmaxRows(array.Data[float32](wide), array.MutableData[float32](out), outer, n, inner, kind)
			case array.Float64:
				softmaxRows(array.Data[float64](wide), array.MutableData[float64](out), outer, n, inner, kind)
			default:
				return c.Errorf("input 0: got %s, want a float type", a.DType())
			}
		}
		c.Out[0], err = back(out)
		return err
	}
}

// splitAt returns the product of the sizes before an axis, the axis, and after it.
func splitAt(shape []int, axis int) (outer, n, inner int) {
	outer, n, inner = 1, 1, 1
	for i, d := range shape {
		switch {
		case i < axis:
			outer *= d
		case i == axis:
			n = d
		default:
			inner *= d
		}
	}
	return outer, n, inner
}

// clip limits elements; the limits are attributes before opset 11, inputs since.
func clip(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	var lo, hi *array.Array
	if c.Opset < 11 {
		if c.HasAttr("min") {
			lo = array.Scalar(c.Float("min"))
		}
		if c.HasAttr("max") {
			hi = array.Scalar(c.Float("max"))
		}
	} else {
		lo, hi = c.Array(1), c.Array(2)
	}
	if a.DType().IsInt() {
		return clipInts(c, a, lo, hi)
	}
	least, most := math.Inf(-1), math.Inf(1)
	for _, l := range []struct {
		a  *array.Array
		to *float64
	}{{lo, &least}, {hi, &most}} {
		if l.a == nil || l.a.Size() == 0 {
			continue
		}
		x, err := l.a.Float64s()
		if err != nil {
			return err
		}
		*l.to = x[0]
	}
	return fast(clipLoop(float32(least), float32(most)), func(x float64) float64 { return min(max(x, least), most) }, nil)(c)
}

func clipInts(c *Call, a, lo, hi *array.Array) error {
	least, most := int64(math.MinInt64), int64(math.MaxInt64)
	for _, l := range []struct {
		a  *array.Array
		to *int64
	}{{lo, &least}, {hi, &most}} {
		if l.a == nil || l.a.Size() == 0 {
			continue
		}
		x, err := l.a.Int64s()
		if err != nil {
			return err
		}
		*l.to = x[0]
	}
	return unary(nil, nil, func(x int64) int64 { return min(max(x, least), most) })(c)
}

func prelu(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	slope, err := c.Need(1)
	if err != nil {
		return err
	}
	wide, back, err := widened(a)
	if err != nil {
		return err
	}
	s, err := slope.Cast(wide.DType())
	if err != nil {
		return err
	}
	if c.Opset < 7 && s.Rank() == 1 && a.Rank() > 2 {
		if s, err = s.Reshape(append([]int{-1}, ones(a.Rank()-2)...)...); err != nil {
			return err
		}
	}
	if wide.DType() != array.Float32 {
		return arithmetic(c, wide, s, back, arith{f64: func(x, y float64) float64 {
			if x < 0 {
				return x * y
			}
			return x
		}, i64: func(x, y int64) int64 {
			if x < 0 {
				return x * y
			}
			return x
		}})
	}
	return arithmetic(c, wide, s, back, arith{f32: func(x, y float32) float32 {
		if x < 0 {
			return x * y
		}
		return x
	}})
}

func ones(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = 1
	}
	return out
}

var activationOps = []Op{
	{Name: "Relu", Since: 1, Infer: inferSame, Eval: fast(reluLoop, func(x float64) float64 { return max(x, 0) }, func(x int64) int64 { return max(x, 0) })},
	{Name: "Sigmoid", Since: 1, Infer: inferSame, Eval: float(sigmoid)},
	{Name: "Tanh", Since: 1, Infer: inferSame, Eval: float(math.Tanh)},
	{Name: "LeakyRelu", Since: 1, Infer: inferSame, Eval: leakyRelu},
	{Name: "HardSigmoid", Since: 1, Infer: inferSame, Eval: hardSigmoid},
	{Name: "HardSwish", Since: 14, Infer: inferSame, Eval: fast(hardSwishLoop, func(x float64) float64 { return x * max(0, min(1, x/6+0.5)) }, nil)},
	{Name: "Elu", Since: 1, Infer: inferSame, Eval: withAlpha(1, func(x, a float64) float64 {
		if x < 0 {
			return a * math.Expm1(x)
		}
		return x
	})},
	{Name: "Celu", Since: 12, Infer: inferSame, Eval: withAlpha(1, func(x, a float64) float64 { return max(0, x) + min(0, a*math.Expm1(x/a)) })},
	{Name: "Selu", Since: 1, Infer: inferSame, Eval: selu},
	{Name: "ThresholdedRelu", Since: 10, Infer: inferSame, Eval: withAlpha(1, func(x, a float64) float64 {
		if x > a {
			return x
		}
		return 0
	})},
	{Name: "Softplus", Since: 1, Infer: inferSame, Eval: float(softplus)},
	{Name: "Softsign", Since: 1, Infer: inferSame, Eval: float(func(x float64) float64 { return x / (1 + math.Abs(x)) })},
	{Name: "Mish", Since: 18, Infer: inferSame, Eval: float(func(x float64) float64 { return x * math.Tanh(softplus(x)) })},
	{Name: "Swish", Since: 24, Infer: inferSame, Eval: withAlpha(1, func(x, a float64) float64 { return x * sigmoid(a*x) })},
	{Name: "Gelu", Since: 20, Infer: inferSame, Eval: gelu},
	{Name: "Shrink", Since: 9, Infer: inferSame, Eval: shrink},
	{Name: "PRelu", Since: 1, Checks: []Check{slopeFits}, Infer: inferSame, Eval: prelu},
	{Name: "Clip", Since: 1, Infer: inferSame, Eval: clip},
	{Name: "Softmax", Since: 1, Checks: []Check{axisIn("axis", 1)}, Infer: inferSame, Eval: softmaxOf(kindSoftmax, true)},
	{Name: "Softmax", Since: 13, Checks: []Check{axisIn("axis", -1)}, Infer: inferSame, Eval: softmaxOf(kindSoftmax, false)},
	{Name: "LogSoftmax", Since: 1, Checks: []Check{axisIn("axis", 1)}, Infer: inferSame, Eval: softmaxOf(kindLogSoftmax, true)},
	{Name: "LogSoftmax", Since: 13, Checks: []Check{axisIn("axis", -1)}, Infer: inferSame, Eval: softmaxOf(kindLogSoftmax, false)},
	{Name: "Hardmax", Since: 1, Checks: []Check{axisIn("axis", 1)}, Infer: inferSame, Eval: softmaxOf(kindHardmax, true)},
	{Name: "Hardmax", Since: 13, Checks: []Check{axisIn("axis", -1)}, Infer: inferSame, Eval: softmaxOf(kindHardmax, false)},
}
