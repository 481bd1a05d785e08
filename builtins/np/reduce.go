package np

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/array/num"
	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

var reduceParams = []builtin.Param{
	builtin.Opt("axis", nil, "int or list", "along which; None for all"),
	builtin.Opt("keepdims", false, "bool", "keep reduced axes with size 1"),
}

// reduceFuncs are np.sum(a) and its like.
func reduceFuncs() []*builtin.Func {
	var out []*builtin.Func
	for _, f := range num.Reductions() {
		out = append(out, &builtin.Func{
			Name: "np." + f.Name, Doc: "computes " + f.Name + " along axes.", Returns: "array or number",
			Params:  append([]builtin.Param{aParam}, reduceParams...),
			Example: fmt.Sprintf("assert.eq(np.%s(np.ones([2, 3]), axis = 0).shape, [3])", f.Name),
			Fn:      func(c *builtin.Call) (starlark.Value, error) { return reduce(c, f, arg(c, "a")) },
		})
	}
	return out
}

// reduceMethods are a.sum() and its like.
func reduceMethods() []*builtin.Func {
	var out []*builtin.Func
	for _, f := range num.Reductions() {
		out = append(out, &builtin.Func{
			Name: "array." + f.Name, Doc: "computes " + f.Name + " along axes.", Returns: "array or number", Params: reduceParams,
			Example: fmt.Sprintf("assert.eq(np.ones([2, 3]).%s(axis = 0).shape, [3])", f.Name),
			Fn:      func(c *builtin.Call) (starlark.Value, error) { return reduce(c, f, recv(c).Array()) },
		})
	}
	return out
}

func reduce(c *builtin.Call, f *num.Reduction, a *array.Array) (starlark.Value, error) {
	axes, keep := axesArg(c, "axis"), c.Bool("keepdims")
	if err := c.Err(); err != nil {
		return nil, err
	}
	out, err := f.Apply(a, axes, keep)
	if err != nil {
		return nil, err
	}
	if out.Rank() == 0 {
		return value.ElementValue(out, 0), nil
	}
	return value.NewArray(out), nil
}

var selectors = []*builtin.Func{
	on("take", "gathers elements along an axis by their positions.", `assert.eq(np.take(np.array([5, 6, 7]), [2, 0]).tolist(), [7, 5])`,
		func(c *builtin.Call, a *array.Array) (*array.Array, error) {
			at, err := value.AsArray(c.Value("indices"), array.Undefined, "indices")
			if err != nil {
				return nil, err
			}
			axis := c.Int("axis")
			if c.IsNone("axis") {
				if a, err = a.Reshape(-1); err != nil {
					return nil, err
				}
			}
			return num.Take(a, at, axis)
		}, builtin.Req("indices", "array of int", "which"), builtin.Opt("axis", nil, "int", "along which; None flattens")),
	on("argsort", "returns the positions that would sort the elements.", `assert.eq(np.argsort(np.array([3, 1, 2])).tolist(), [1, 2, 0])`,
		func(c *builtin.Call, a *array.Array) (*array.Array, error) { return num.ArgSort(a, c.Int("axis")) }, builtin.Opt("axis", -1, "int", "along which")),
	on("sort", "returns the elements sorted along an axis.", `assert.eq(np.sort(np.array([3, 1, 2])).tolist(), [1, 2, 3])`,
		func(c *builtin.Call, a *array.Array) (*array.Array, error) { return sorted(a, c.Int("axis")) }, builtin.Opt("axis", -1, "int", "along which")),
	on("cumsum", "returns the running sums.", `assert.eq(np.cumsum(np.array([1, 2, 3])).tolist(), [1, 3, 6])`, cumsum, builtin.Opt("axis", nil, "int", "along which; None flattens")),
	{
		Name: "np.nonzero", Doc: "returns, for each axis, the positions of the elements that are not zero.", Params: []builtin.Param{aParam},
		Returns: "tuple of array", Example: `assert.eq(np.nonzero(np.array([0, 5, 7]))[0].tolist(), [1, 2])`,
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			a := arg(c, "a")
			if err := c.Err(); err != nil {
				return nil, err
			}
			return positions(a), nil
		},
	},
	on("unique", "returns the different elements, sorted.", `assert.eq(np.unique(np.array([3, 1, 3])).tolist(), [1, 3])`, func(_ *builtin.Call, a *array.Array) (*array.Array, error) {
		flat, err := a.Reshape(-1)
		if err != nil {
			return nil, err
		}
		s, err := sorted(flat, 0)
		if err != nil {
			return nil, err
		}
		var keep []int64
		for i := range s.Size() {
			if i == 0 || s.At(i) != s.At(i-1) {
				keep = append(keep, int64(i))
			}
		}
		return num.Take(s, array.FromSlice(keep), 0)
	}),
}

func sorted(a *array.Array, axis int) (*array.Array, error) {
	order, err := num.ArgSort(a, axis)
	if err != nil {
		return nil, err
	}
	return takeAlong(a, order, axis)
}

// takeAlong gathers, row by row along the axis, what order names.
func takeAlong(a, order *array.Array, axis int) (*array.Array, error) {
	axes, err := num.NormalAxes([]int{axis}, a.Rank())
	if err != nil {
		return nil, err
	}
	inner := 1
	for _, d := range a.Shape()[axes[0]+1:] {
		inner *= d
	}
	d := a.Shape()[axes[0]]
	out, err := array.Make(a.DType(), a.Shape())
	if err != nil {
		return nil, err
	}
	at, err := order.Int64s()
	if err != nil {
		return nil, err
	}
	for i, p := range at {
		base := i/(d*inner)*(d*inner) + i%inner
		if err := out.SetAt(i, a.At(base+int(p)*inner)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func cumsum(c *builtin.Call, a *array.Array) (*array.Array, error) {
	axis := c.Int("axis")
	if c.IsNone("axis") {
		var err error
		if a, err = a.Reshape(-1); err != nil {
			return nil, err
		}
	}
	axes, err := num.NormalAxes([]int{axis}, a.Rank())
	if err != nil {
		return nil, err
	}
	parts := make([]*array.Array, 0, a.Shape()[axes[0]])
	var sum *array.Array
	for i := range a.Shape()[axes[0]] {
		row, err := a.View(cutAxis(a.Rank(), axes[0], i, i+1))
		if err != nil {
			return nil, err
		}
		if row.DType() == array.Bool {
			if row, err = row.Cast(array.Int64); err != nil {
				return nil, err
			}
		}
		if sum == nil {
			sum = row
		} else if sum, err = num.Add.Apply(num.Operand{A: sum}, num.Operand{A: row}); err != nil {
			return nil, err
		}
		parts = append(parts, sum)
	}
	if parts == nil {
		return a, nil
	}
	return Concatenate(parts, axes[0])
}

var algebra = []*builtin.Func{
	{
		Name: "np.matmul", Doc: "multiplies matrices; leading axes broadcast.",
		Params:  []builtin.Param{builtin.Req("x1", "array", "the first"), builtin.Req("x2", "array", "the second")},
		Returns: "array", Example: `assert.eq(np.matmul(np.array([[1, 2]]), np.array([[3], [4]])).tolist(), [[11]])`,
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			x, y := arg(c, "x1"), arg(c, "x2")
			if err := c.Err(); err != nil {
				return nil, err
			}
			return give(num.MatMul(x, y))
		},
	},
	{
		Name: "np.dot", Doc: "is the inner product of vectors, the product of matrices, and multiplication by a scalar.",
		Params:  []builtin.Param{aParam, builtin.Req("b", "array", "the other")},
		Returns: "array or number", Example: `assert.eq(np.dot(np.array([1, 2]), np.array([3, 4])), 11)`,
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			x, y := arg(c, "a"), arg(c, "b")
			if err := c.Err(); err != nil {
				return nil, err
			}
			if x.Rank() == 0 || y.Rank() == 0 {
				return give(num.Multiply.Apply(num.Operand{A: x}, num.Operand{A: y}))
			}
			if x.Rank() > 2 || y.Rank() > 2 {
				return nil, c.Errorf("got ranks %d and %d, want at most 2 (np.matmul broadcasts)", x.Rank(), y.Rank())
			}
			out, err := num.MatMul(x, y)
			if err == nil && out.Rank() == 0 {
				return value.ElementValue(out, 0), nil
			}
			return give(out, err)
		},
	},
}

func recv(c *builtin.Call) *value.Array { return c.Recv.(*value.Array) }

// method makes an entry of a method that gives an array.
func method(name, doc, example string, f func(c *builtin.Call, a *array.Array) (*array.Array, error), params ...builtin.Param) *builtin.Func {
	return &builtin.Func{
		Name: "array." + name, Doc: doc, Example: example, Returns: "array", Params: params,
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			out, err := f(c, recv(c).Array())
			if err == nil {
				err = c.Err()
			}
			if err != nil {
				return nil, err
			}
			return recv(c).View(out), nil
		},
	}
}

var arrayMethods = []*builtin.Func{
	method("astype", "returns the array converted to an element type, by ONNX's Cast.", `assert.eq(np.array([1.7]).astype("int32").tolist(), [1])`,
		func(c *builtin.Call, a *array.Array) (*array.Array, error) {
			dt := dtype(c)
			if dt == array.Undefined || c.Err() != nil {
				return nil, fmt.Errorf("dtype: got None, want the name of an element type")
			}
			b, err := a.Cast(dt)
			if err != nil {
				return nil, err
			}
			return b.Copy(), nil
		}, builtin.Req("dtype", "dtype", "the element type")),
	method("reshape", "returns the elements in another shape; one size may be -1.", `assert.eq(np.arange(6).reshape(2, -1).shape, [2, 3])`,
		func(c *builtin.Call, a *array.Array) (*array.Array, error) {
			shape, err := restInts(c, "shape")
			if err != nil {
				return nil, err
			}
			return a.Reshape(shape...)
		}, builtin.Rest("shape", "int or list", "the sizes")),
	method("transpose", "permutes the axes; without axes it reverses them.", `assert.eq(np.zeros([2, 3]).transpose().shape, [3, 2])`,
		func(c *builtin.Call, a *array.Array) (*array.Array, error) {
			axes, err := restInts(c, "axes")
			if err != nil {
				return nil, err
			}
			return a.Transpose(axes...)
		}, builtin.Rest("axes", "int or list", "which axis comes where")),
	method("flatten", "returns a copy with one axis.", `assert.eq(np.zeros([2, 3]).flatten().shape, [6])`,
		func(_ *builtin.Call, a *array.Array) (*array.Array, error) { return a.Copy().Reshape(-1) }),
	{
		Name: "array.copy", Doc: "returns an array with memory of its own, which nothing freezes.", Returns: "array",
		Example: `assert.eq(np.array([1]).copy().tolist(), [1])`,
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			a := recv(c).Array()
			if err := a.Load(); err != nil {
				return nil, err
			}
			return value.NewArray(a.Copy()), nil
		},
	},
	{
		Name: "array.item", Doc: "returns one element as a plain number, bool or string: the only one, or that at a position.",
		Params:  []builtin.Param{builtin.Opt("index", nil, "int", "the position in row-major order")},
		Returns: "number, bool or string", Example: `assert.eq(np.array([7]).item(), 7)`,
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			a, i := recv(c).Array(), c.Int("index")
			if err := c.Err(); err != nil {
				return nil, err
			}
			if c.IsNone("index") && a.Size() != 1 {
				return nil, c.Errorf("got an array of %d elements, want one (or give the index)", a.Size())
			}
			if i < 0 {
				i += a.Size()
			}
			if i < 0 || i >= a.Size() {
				return nil, c.ArgErrorf("index", "got %d, want less than %d, the number of elements", i, a.Size())
			}
			if err := a.Load(); err != nil {
				return nil, err
			}
			return value.ElementValue(a, i), nil
		},
	},
	{
		Name: "array.tolist", Doc: "returns the elements as nested lists; that of a scalar array as it is.", Returns: "list",
		Example: `assert.eq(np.array([[1, 2]]).tolist(), [[1, 2]])`,
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			a := recv(c).Array()
			if err := a.Load(); err != nil {
				return nil, err
			}
			return nested(a, 0, 0), nil
		},
	},
	{
		Name: "array.tobytes", Doc: "returns the elements in the layout of raw_data: row-major, little-endian, packed.", Returns: "bytes",
		Example: `assert.eq(len(np.array([1, 2], "int16").tobytes()), 4)`,
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			raw, err := recv(c).Array().Bytes()
			return starlark.Bytes(raw), err
		},
	},
}

func restInts(c *builtin.Call, name string) ([]int, error) {
	if len(c.Rest) == 1 {
		return asInts(c.Rest[0], name)
	}
	return builtin.Each(builtin.AsInt)(c.Rest, name)
}

func nested(a *array.Array, axis, base int) starlark.Value {
	if axis == a.Rank() {
		return value.ElementValue(a, base)
	}
	d := a.Shape()[axis]
	out := make([]starlark.Value, d)
	for i := range out {
		out[i] = nested(a, axis+1, base*d+i)
	}
	return starlark.NewList(slices.Clip(out))
}
