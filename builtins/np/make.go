package np

import (
	"math"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

var (
	inf = math.Inf(1)
	nan = math.NaN()
)

var dtypeParam = builtin.Opt("dtype", nil, "dtype", "the element type")

// filled is the entry of a function that makes an array of one value.
func filled(name, doc, example string, v float64) *builtin.Func {
	return &builtin.Func{
		Name: "np." + name, Doc: doc,
		Params:  []builtin.Param{builtin.Req("shape", "int or list", "the sizes"), builtin.Opt("dtype", "float64", "dtype", "the element type")},
		Returns: "array", Example: example,
		Fn: func(c *builtin.Call) (starlark.Value, error) { return fill(c, shapeArg(c, "shape"), dtype(c), v) },
	}
}

// filledLike is filled with the shape and type of another array.
func filledLike(name, doc, example string, v float64) *builtin.Func {
	return &builtin.Func{
		Name: "np." + name, Doc: doc,
		Params:  []builtin.Param{builtin.Req("a", "array", "whose shape"), dtypeParam},
		Returns: "array", Example: example,
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			a := arg(c, "a")
			return fill(c, a.Shape(), dtypeOr(c, a.DType()), v)
		},
	}
}

func fill(c *builtin.Call, shape []int, dt array.DType, v any) (starlark.Value, error) {
	if err := c.Err(); err != nil {
		return nil, err
	}
	a, err := checked(dt, shape)
	if err != nil {
		return nil, err
	}
	if v == 0.0 {
		return value.NewArray(a), nil
	}
	for i := range a.Size() {
		if err := a.SetAt(i, v); err != nil {
			return nil, err
		}
	}
	return value.NewArray(a), nil
}

var makers = []*builtin.Func{
	{
		Name: "np.array", Doc: "makes an array of a number, nested lists, or a copy of an array.",
		Params:  []builtin.Param{builtin.Req("object", "array or lists", "the values"), dtypeParam},
		Returns: "array", Example: `assert.eq(np.array([[1, 2], [3, 4]]).shape, [2, 2])`,
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			a, err := value.AsArray(c.Value("object"), dtype(c), "np.array: object")
			if err != nil || c.Err() != nil {
				return nil, err
			}
			if err := a.Load(); err != nil {
				return nil, err
			}
			return value.NewArray(a.Copy()), nil
		},
	},
	{
		Name: "np.asarray", Doc: "returns the array that the object is, or makes one of it.",
		Params:  []builtin.Param{builtin.Req("object", "array or lists", "the values"), dtypeParam},
		Returns: "array", Example: `assert.eq(np.asarray([1.5]).dtype, "float64")`,
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			a, isArray := c.Value("object").(*value.Array)
			dt := dtype(c)
			if isArray && (dt == array.Undefined || dt == a.Array().DType()) {
				return a, c.Err()
			}
			return give(value.AsArray(c.Value("object"), dt, "np.asarray: object"))
		},
	},
	filled("zeros", "makes an array of zeros.", `assert.eq(np.zeros([2], "int64").tolist(), [0, 0])`, 0),
	filled("ones", "makes an array of ones.", `assert.eq(np.ones(2, np.float32).tolist(), [1.0, 1.0])`, 1),
	filled("empty", "makes an array of zeros: nothing is left to chance here.", `assert.eq(np.empty([2, 3]).shape, [2, 3])`, 0),
	filledLike("zeros_like", "makes an array of zeros with another's shape and type.", `assert.eq(np.zeros_like(np.array([1, 2])).tolist(), [0, 0])`, 0),
	filledLike("ones_like", "makes an array of ones with another's shape and type.", `assert.eq(np.ones_like(np.array([5])).tolist(), [1])`, 1),
	{
		Name: "np.full", Doc: "makes an array whose elements all have one value.",
		Params:  []builtin.Param{builtin.Req("shape", "int or list", "the sizes"), builtin.Req("fill_value", "number", "the value"), dtypeParam},
		Returns: "array", Example: `assert.eq(np.full([2], 7).tolist(), [7, 7])`,
		Fn: func(c *builtin.Call) (starlark.Value, error) { return fullOf(c, shapeArg(c, "shape"), array.Undefined) },
	},
	{
		Name: "np.full_like", Doc: "makes an array of one value with another's shape and type.",
		Params:  []builtin.Param{builtin.Req("a", "array", "whose shape"), builtin.Req("fill_value", "number", "the value"), dtypeParam},
		Returns: "array", Example: `assert.eq(np.full_like(np.array([1, 2]), 7).tolist(), [7, 7])`,
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			a := arg(c, "a")
			return fullOf(c, a.Shape(), a.DType())
		},
	},
	{
		Name: "np.arange", Doc: "makes the numbers from start up to, without, stop.",
		Params: []builtin.Param{builtin.Req("start", "number", "the first; the end when it is given alone"), builtin.Opt("stop", nil, "number", "the end"),
			builtin.Opt("step", 1, "number", "the step"), dtypeParam},
		Returns: "array", Example: `assert.eq(np.arange(1, 7, 2).tolist(), [1, 3, 5])`,
		Fn: arange,
	},
	{
		Name: "np.linspace", Doc: "makes num numbers from start to stop, both included.",
		Params: []builtin.Param{builtin.Req("start", "number", "the first"), builtin.Req("stop", "number", "the last"),
			builtin.Opt("num", 50, "int", "how many"), builtin.Opt("endpoint", true, "bool", "include stop"), dtypeParam},
		Returns: "array", Example: `assert.eq(np.linspace(0, 1, 3).tolist(), [0.0, 0.5, 1.0])`,
		Fn: linspace,
	},
	{
		Name: "np.eye", Doc: "makes a matrix with ones on a diagonal.",
		Params: []builtin.Param{builtin.Req("N", "int", "rows"), builtin.Opt("M", nil, "int", "columns, None for N"),
			builtin.Opt("k", 0, "int", "which diagonal"), builtin.Opt("dtype", "float64", "dtype", "the element type")},
		Returns: "array", Example: `assert.eq(np.eye(2, dtype = "int64").tolist(), [[1, 0], [0, 1]])`,
		Fn: eye,
	},
}

func fullOf(c *builtin.Call, shape []int, dt array.DType) (starlark.Value, error) {
	v := arg(c, "fill_value")
	if given := dtype(c); given != array.Undefined {
		dt = given
	}
	if dt == array.Undefined {
		dt = v.DType()
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	if v.Size() == 1 {
		return fill(c, shape, dt, v.At(0))
	}
	b, err := v.BroadcastTo(shape)
	if err != nil {
		return nil, err
	}
	return give(b.Contiguous().Cast(dt))
}

func arange(c *builtin.Call) (starlark.Value, error) {
	allInt := true
	for _, name := range []string{"start", "stop", "step"} {
		if _, isFloat := c.Value(name).(starlark.Float); isFloat {
			allInt = false
		}
	}
	start, stop, step := c.Float("start"), c.Float("stop"), c.Float("step")
	if c.IsNone("stop") {
		start, stop = 0, start
	}
	def := array.Float64
	if allInt {
		def = array.Int64
	}
	dt := dtypeOr(c, def)
	if err := c.Err(); err != nil {
		return nil, err
	}
	if step == 0 {
		return nil, c.ArgErrorf("step", "got 0, want another number")
	}
	n := max(0, math.Ceil((stop-start)/step))
	if n > 1<<31 {
		return nil, c.Errorf("got a range of %g elements, want at most 2^31", n)
	}
	x := make([]float64, int(n))
	for i := range x {
		x[i] = start + float64(i)*step
	}
	return give(array.FromSlice(x).Cast(dt))
}

func linspace(c *builtin.Call) (starlark.Value, error) {
	start, stop, n, closed := c.Float("start"), c.Float("stop"), c.Int("num"), c.Bool("endpoint")
	dt := dtypeOr(c, array.Float64)
	if err := c.Err(); err != nil {
		return nil, err
	}
	if n < 0 || n > 1<<31 {
		return nil, c.ArgErrorf("num", "got %d, want 0 to 2^31", n)
	}
	parts := float64(n)
	if closed {
		parts--
	}
	x := make([]float64, n)
	for i := range x {
		x[i] = start
		if parts > 0 {
			x[i] += float64(i) * ((stop - start) / parts)
		}
	}
	if closed && n > 1 {
		x[n-1] = stop
	}
	return give(array.FromSlice(x).Cast(dt))
}

func eye(c *builtin.Call) (starlark.Value, error) {
	rows, cols, k := c.Int("N"), c.Int("M"), c.Int("k")
	if c.IsNone("M") {
		cols = rows
	}
	dt := dtype(c)
	if err := c.Err(); err != nil {
		return nil, err
	}
	a, err := checked(dt, []int{rows, cols})
	if err != nil {
		return nil, err
	}
	for i := range rows {
		if j := i + k; j >= 0 && j < cols {
			if err := a.SetAt(i*cols+j, 1); err != nil {
				return nil, err
			}
		}
	}
	return value.NewArray(a), nil
}
