package np

import (
	"fmt"
	"math/rand/v2"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

// generator is a seeded source of random numbers: PCG, so that the same script
// gives the same numbers everywhere.
type generator struct{ rng *rand.Rand }

func newGenerator(seed uint64) *generator { return &generator{rand.New(rand.NewPCG(seed, 0))} }

// randomModule is np.random: called with a seed it gives a generator of its
// own; its functions draw from one that is seeded 0.
type randomModule struct{ gen *generator }

var (
	_ starlark.Callable = (*randomModule)(nil)
	_ starlark.HasAttrs = (*randomModule)(nil)
	_ starlark.HasAttrs = (*generator)(nil)
)

func (m *randomModule) String() string        { return "<module np.random>" }
func (m *randomModule) Type() string          { return "module" }
func (m *randomModule) Freeze()               {}
func (m *randomModule) Truth() starlark.Bool  { return true }
func (m *randomModule) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable type: module") }

// Name returns the function's name.
func (m *randomModule) Name() string { return "np.random" }

// Func returns the table entry of the call.
func (m *randomModule) Func() *builtin.Func { return newRandom }

// CallInternal makes a generator.
func (m *randomModule) CallInternal(t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	return newRandom.Value().CallInternal(t, args, kwargs)
}

var newRandom = &builtin.Func{
	Name: "np.random", Doc: "makes a generator of random numbers.", Params: []builtin.Param{builtin.Opt("seed", 0, "int", "the seed")},
	Returns: "generator", Example: `assert.eq(np.random(1).normal([2]).tolist(), np.random(1).normal([2]).tolist())`,
	Fn: func(c *builtin.Call) (starlark.Value, error) { return newGenerator(uint64(c.Int("seed"))), nil },
}

var randomTable = builtin.Methods(drawFuncs, legacyFuncs)

// Attr returns a function that draws from the common generator.
func (m *randomModule) Attr(name string) (starlark.Value, error) {
	return randomTable.Bind(m.gen, name)
}

// AttrNames lists the functions.
func (m *randomModule) AttrNames() []string { return randomTable.Names() }

func (g *generator) String() string        { return "<random generator>" }
func (g *generator) Type() string          { return "generator" }
func (g *generator) Freeze()               {}
func (g *generator) Truth() starlark.Bool  { return true }
func (g *generator) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable type: generator") }

var generatorTable = builtin.Methods(drawFuncs)

// Attr returns a method that draws.
func (g *generator) Attr(name string) (starlark.Value, error) { return generatorTable.Bind(g, name) }

// AttrNames lists the methods.
func (g *generator) AttrNames() []string { return generatorTable.Names() }

// draw makes an array of the shape from f; without a shape one number.
func draw(c *builtin.Call, shape []int, f func(*rand.Rand) float64) (starlark.Value, error) {
	if err := c.Err(); err != nil {
		return nil, err
	}
	rng := c.Recv.(*generator).rng
	if shape == nil {
		return starlark.Float(f(rng)), nil
	}
	a, err := checked(array.Float64, shape)
	if err != nil {
		return nil, err
	}
	for i, x := 0, array.MutableData[float64](a); i < len(x); i++ {
		x[i] = f(rng)
	}
	return value.NewArray(a), nil
}

func sizeArg(c *builtin.Call) []int {
	if c.IsNone("size") {
		return nil
	}
	return shapeArg(c, "size")
}

var sizeParam = builtin.Opt("size", nil, "int or list", "the shape; None draws one number")

var drawFuncs = []*builtin.Func{
	{
		Name: "np.random.normal", Doc: "draws from a normal distribution.",
		Params:  []builtin.Param{sizeParam, builtin.Opt("loc", 0.0, "float", "the mean"), builtin.Opt("scale", 1.0, "float", "the standard deviation")},
		Returns: "array", Example: `assert.eq(np.random(0).normal([2, 3]).shape, [2, 3])`,
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			loc, scale := c.Float("loc"), c.Float("scale")
			return draw(c, sizeArg(c), func(r *rand.Rand) float64 { return loc + scale*r.NormFloat64() })
		},
	},
	{
		Name: "np.random.uniform", Doc: "draws evenly from low up to, without, high.",
		Params:  []builtin.Param{sizeParam, builtin.Opt("low", 0.0, "float", "the least"), builtin.Opt("high", 1.0, "float", "the end")},
		Returns: "array", Example: `assert.true(np.random(0).uniform([8]).max() < 1)`,
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			low, high := c.Float("low"), c.Float("high")
			return draw(c, sizeArg(c), func(r *rand.Rand) float64 { return low + (high-low)*r.Float64() })
		},
	},
	{
		Name: "np.random.integers", Doc: "draws integers from low up to, without, high; with low alone from 0.",
		Params:  []builtin.Param{builtin.Req("low", "int", "the least, or the end"), builtin.Opt("high", nil, "int", "the end"), sizeParam},
		Returns: "array", Example: `assert.true(np.random(0).integers(5, size = [9]).max() < 5)`,
		Fn: integers,
	},
	{
		Name: "np.random.permutation", Doc: "returns the numbers below n in random order.",
		Params:  []builtin.Param{builtin.Req("n", "int", "how many")},
		Returns: "array", Example: `assert.eq(np.sort(np.random(0).permutation(4)).tolist(), [0, 1, 2, 3])`,
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			n := c.Int("n")
			if n < 0 || n > 1<<28 {
				return nil, c.ArgErrorf("n", "got %d, want 0 to 2^28", n)
			}
			out := make([]int64, n)
			for i, v := range c.Recv.(*generator).rng.Perm(n) {
				out[i] = int64(v)
			}
			return value.NewArray(array.FromSlice(out)), c.Err()
		},
	},
}

func integers(c *builtin.Call) (starlark.Value, error) {
	low, high := c.Int("low"), c.Int("high")
	if c.IsNone("high") {
		low, high = 0, low
	}
	size := sizeArg(c)
	if err := c.Err(); err != nil {
		return nil, err
	}
	if high <= low {
		return nil, c.Errorf("got low %d and high %d, want low < high", low, high)
	}
	rng := c.Recv.(*generator).rng
	if size == nil {
		return starlark.MakeInt(low + rng.IntN(high-low)), nil
	}
	a, err := checked(array.Int64, size)
	if err != nil {
		return nil, err
	}
	for i, x := 0, array.MutableData[int64](a); i < len(x); i++ {
		x[i] = int64(low + rng.IntN(high-low))
	}
	return value.NewArray(a), nil
}

// legacyFuncs are np.random.randn and its like.
var legacyFuncs = []*builtin.Func{
	{
		Name: "np.random.randn", Doc: "draws from the standard normal distribution.", Params: []builtin.Param{builtin.Rest("shape", "int", "the sizes")},
		Returns: "array", Example: `assert.eq(np.random.randn(2, 3).shape, [2, 3])`,
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			return draw(c, restShape(c), func(r *rand.Rand) float64 { return r.NormFloat64() })
		},
	},
	{
		Name: "np.random.rand", Doc: "draws evenly from 0 to 1.", Params: []builtin.Param{builtin.Rest("shape", "int", "the sizes")},
		Returns: "array", Example: `assert.eq(np.random.rand(4).shape, [4])`,
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			return draw(c, restShape(c), func(r *rand.Rand) float64 { return r.Float64() })
		},
	},
	{
		Name: "np.random.randint", Doc: "draws integers from low up to, without, high; with low alone from 0.",
		Params:  []builtin.Param{builtin.Req("low", "int", "the least, or the end"), builtin.Opt("high", nil, "int", "the end"), sizeParam},
		Returns: "array", Example: `assert.true(np.random.randint(3, size = 4).max() < 3)`,
		Fn: integers,
	},
	{
		Name: "np.random.seed", Doc: "seeds the generator that np.random's functions share.", Params: []builtin.Param{builtin.Req("seed", "int", "the seed")},
		Example: "np.random.seed(7)\na = np.random.randn(2).tolist()\nnp.random.seed(7)\nassert.eq(np.random.randn(2).tolist(), a)",
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			*c.Recv.(*generator) = *newGenerator(uint64(c.Int("seed")))
			return starlark.None, nil
		},
	},
}

func restShape(c *builtin.Call) []int {
	if len(c.Rest) == 0 {
		return nil
	}
	shape, err := restInts(c, "shape")
	if err != nil {
		c.Fail(err)
	}
	return shape
}
