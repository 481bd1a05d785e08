package ops

import (
	"hash/fnv"
	"math"
	"math/rand/v2"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// generator returns the numbers that a random operator draws: PCG of O'Neill
// (2014), seeded by the attribute seed or, without one, by the session's seed
// and the name of the first output, so that no two nodes draw the same.
func (c *Call) generator() *rand.Rand {
	if seed, ok := attrOr[float32](&c.Site, "seed"); ok {
		return rand.New(rand.NewPCG(uint64(math.Float32bits(seed)), 0))
	}
	if seed, ok := attrOr[int64](&c.Site, "seed"); ok {
		return rand.New(rand.NewPCG(uint64(seed), 0))
	}
	h := fnv.New64a()
	if t := c.Node.Output(0); t != nil {
		h.Write([]byte(t.Name())) // a hash never fails
	}
	return rand.New(rand.NewPCG(c.Seed, h.Sum64()))
}

// likeness is the type and shape of a random operator's output: those of the
// attributes shape and dtype, or of the input.
func likeness(c *Call, like bool) (array.DType, []int, error) {
	dt, shape := array.Float32, c.Ints("shape")
	if like {
		a, err := c.Need(0)
		if err != nil {
			return 0, nil, err
		}
		dt, shape = a.DType(), a.Shape()
	}
	if d := array.DType(c.Int("dtype")); c.HasAttr("dtype") {
		dt = d
	}
	if !dt.IsFloat() {
		return 0, nil, c.Errorf("attribute \"dtype\": got %s, want a float type", dt)
	}
	return dt, shape, c.CheckSize(array.Float64, shape)
}

// random makes an operator that draws every element by itself.
func random(like bool, draw func(c *Call, r *rand.Rand) float64) func(*Call) error {
	return func(c *Call) error {
		dt, shape, err := likeness(c, like)
		if err != nil {
			return err
		}
		out, err := c.Make(array.Float64, shape)
		if err != nil {
			return err
		}
		r := c.generator()
		for i, x := 0, array.MutableData[float64](out); i < len(x); i++ {
			x[i] = draw(c, r)
		}
		c.Out[0], err = out.Cast(dt)
		return err
	}
}

func drawUniform(c *Call, r *rand.Rand) float64 {
	low, high := float64(c.FloatOr("low", 0)), float64(c.FloatOr("high", 1))
	return low + r.Float64()*(high-low)
}

func drawNormal(c *Call, r *rand.Rand) float64 {
	return float64(c.FloatOr("mean", 0)) + r.NormFloat64()*float64(c.FloatOr("scale", 1))
}

func inferRandom(like bool) func(*Infer) error {
	return func(c *Infer) error {
		out := TensorFact(array.Float32, []sym.Expr{})
		for _, d := range c.Ints("shape") {
			out.Dims = append(out.Dims, sym.Int(int64(d)))
		}
		if like {
			out = TensorFact(c.Fact(0).DType, c.Fact(0).Dims)
		}
		if c.HasAttr("dtype") {
			out.DType = array.DType(c.Int("dtype"))
		}
		c.Set(0, out)
		return nil
	}
}

// bernoulli is 1 with the probability that the input gives, else 0.
func bernoulli(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	p, err := a.Float64s()
	if err != nil {
		return c.Errorf("input 0: %w", err)
	}
	r := c.generator()
	out, err := c.Make(array.Bool, a.Shape())
	if err != nil {
		return err
	}
	for i, x := 0, array.MutableData[bool](out); i < len(x); i++ {
		x[i] = r.Float64() < p[i]
	}
	dt := a.DType()
	if c.HasAttr("dtype") {
		dt = array.DType(c.Int("dtype"))
	}
	c.Out[0], err = out.Cast(dt)
	return err
}

// multinomial draws classes; a row holds the logarithms of their probabilities,
// up to a common constant.
func multinomial(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	n := c.IntOr("sample_size", 1)
	if a.Rank() != 2 || a.Shape()[1] < 1 || n < 0 {
		return c.Errorf("input 0, sample_size: got %s and %d, want a matrix with columns and a size ≥ 0", a.Summary(), n)
	}
	x, err := a.Float64s()
	if err != nil {
		return err
	}
	rows, classes := a.Shape()[0], a.Shape()[1]
	out, err := c.Make(array.Int64, []int{rows, n})
	if err != nil {
		return err
	}
	r, dst := c.generator(), array.MutableData[int64](out)
	for row := range rows {
		weights := x[row*classes : (row+1)*classes]
		softmaxInPlace(weights)
		for i := range n {
			dst[row*n+i] = int64(drawClass(weights, r.Float64()))
		}
	}
	c.Out[0], err = out.Cast(array.DType(c.IntOr("dtype", int(array.Int32))))
	return err
}

// drawClass returns the first class up to which the weights sum to more than u.
func drawClass(weights []float64, u float64) int {
	for i, w := range weights {
		if u -= w; u < 0 {
			return i
		}
	}
	return len(weights) - 1
}

func inferMultinomial(c *Infer) error {
	out := TensorFact(array.DType(c.IntOr("dtype", int(array.Int32))), nil)
	if d := c.Fact(0).Dims; len(d) == 2 {
		out.Dims = []sym.Expr{d[0], sym.Int(int64(c.IntOr("sample_size", 1)))}
	}
	c.Set(0, out)
	return nil
}

var randomOps = []Op{
	{Name: "RandomUniform", Since: 1, Infer: inferRandom(false), Eval: random(false, drawUniform)},
	{Name: "RandomNormal", Since: 1, Infer: inferRandom(false), Eval: random(false, drawNormal)},
	{Name: "RandomUniformLike", Since: 1, Infer: inferRandom(true), Eval: random(true, drawUniform)},
	{Name: "RandomNormalLike", Since: 1, Infer: inferRandom(true), Eval: random(true, drawNormal)},
	{Name: "Bernoulli", Since: 15, Infer: inferRandom(true), Eval: bernoulli},
	{Name: "Multinomial", Since: 7, Infer: inferMultinomial, Eval: multinomial},
}
