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

var aParam = builtin.Req("a", "array", "the array")

// on makes an entry whose function takes the array a and the call.
func on(name, doc, example string, f func(c *builtin.Call, a *array.Array) (*array.Array, error), more ...builtin.Param) *builtin.Func {
	return &builtin.Func{
		Name: "np." + name, Doc: doc, Example: example, Returns: "array",
		Params: append([]builtin.Param{aParam}, more...),
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			a := arg(c, "a")
			if err := c.Err(); err != nil {
				return nil, err
			}
			out, err := f(c, a)
			if err == nil {
				err = c.Err()
			}
			return give(out, err)
		},
	}
}

var shapers = []*builtin.Func{
	on("reshape", "returns the elements in another shape; one size may be -1.", `assert.eq(np.reshape(np.arange(6), [2, -1]).shape, [2, 3])`,
		func(c *builtin.Call, a *array.Array) (*array.Array, error) { return a.Reshape(shapeArg(c, "shape")...) },
		builtin.Req("shape", "int or list", "the sizes")),
	on("transpose", "permutes the axes; without axes it reverses them.", `assert.eq(np.transpose(np.zeros([2, 3])).shape, [3, 2])`,
		func(c *builtin.Call, a *array.Array) (*array.Array, error) { return a.Transpose(axesArg(c, "axes")...) },
		builtin.Opt("axes", nil, "list of int", "which axis comes where")),
	on("squeeze", "drops axes of size 1.", `assert.eq(np.squeeze(np.zeros([1, 2, 1])).shape, [2])`, squeeze, builtin.Opt("axis", nil, "int or list", "which; None for all of size 1")),
	on("expand_dims", "adds axes of size 1.", `assert.eq(np.expand_dims(np.zeros([2]), 0).shape, [1, 2])`, expandDims, builtin.Req("axis", "int or list", "where they stand in the result")),
	on("broadcast_to", "repeats axes of size 1 up to a shape.", `assert.eq(np.broadcast_to(np.array([1, 2]), [2, 2]).tolist(), [[1, 2], [1, 2]])`,
		func(c *builtin.Call, a *array.Array) (*array.Array, error) {
			shape := shapeArg(c, "shape")
			b, err := a.BroadcastTo(shape)
			if err == nil {
				err = fits(a.DType(), shape)
			}
			if err != nil {
				return nil, err
			}
			return b.Copy(), nil
		}, builtin.Req("shape", "int or list", "the sizes")),
	on("tile", "repeats the whole array.", `assert.eq(np.tile(np.array([1, 2]), 2).tolist(), [1, 2, 1, 2])`, tile, builtin.Req("reps", "int or list", "how often along each axis")),
	on("repeat", "repeats each element.", `assert.eq(np.repeat(np.array([1, 2]), 2).tolist(), [1, 1, 2, 2])`, repeat,
		builtin.Req("repeats", "int", "how often"), builtin.Opt("axis", nil, "int", "along which; None flattens")),
	on("flip", "reverses axes.", `assert.eq(np.flip(np.array([1, 2, 3])).tolist(), [3, 2, 1])`, flip, builtin.Opt("axis", nil, "int or list", "which; None for all")),
	on("pad", "adds elements at the edges.", `assert.eq(np.pad(np.array([1]), 1).tolist(), [0, 1, 0])`, pad,
		builtin.Req("pad_width", "int or list of pairs", "before and after each axis"), builtin.Opt("mode", "constant", "string", `"constant", "edge", "reflect" or "wrap"`),
		builtin.Opt("constant_values", 0, "number", "what is added")),
	on("tril", "zeroes what is above a diagonal.", `assert.eq(np.tril(np.ones([2, 2], "int64")).tolist(), [[1, 0], [1, 1]])`,
		func(c *builtin.Call, a *array.Array) (*array.Array, error) {
			return triangle(c, a, func(i, j, k int) bool { return j <= i+k })
		}, builtin.Opt("k", 0, "int", "which diagonal")),
	on("triu", "zeroes what is below a diagonal.", `assert.eq(np.triu(np.ones([2, 2], "int64")).tolist(), [[1, 1], [0, 1]])`,
		func(c *builtin.Call, a *array.Array) (*array.Array, error) {
			return triangle(c, a, func(i, j, k int) bool { return j >= i+k })
		}, builtin.Opt("k", 0, "int", "which diagonal")),
	{
		Name: "np.concatenate", Doc: "joins arrays along an axis.",
		Params:  []builtin.Param{builtin.Req("arrays", "list of array", "what to join"), builtin.Opt("axis", 0, "int", "along which; None flattens")},
		Returns: "array", Example: `assert.eq(np.concatenate([np.array([1]), np.array([2])]).tolist(), [1, 2])`,
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			arrays, axis := arraysArg(c, "arrays"), c.Int("axis")
			if err := c.Err(); err != nil {
				return nil, err
			}
			if c.IsNone("axis") {
				for i, a := range arrays {
					arrays[i], _ = a.Reshape(-1) // one axis always fits
				}
			}
			return give(Concatenate(arrays, axis))
		},
	},
	{
		Name: "np.stack", Doc: "joins arrays along a new axis.",
		Params:  []builtin.Param{builtin.Req("arrays", "list of array", "what to join"), builtin.Opt("axis", 0, "int", "where the new axis stands")},
		Returns: "array", Example: `assert.eq(np.stack([np.array([1, 2]), np.array([3, 4])]).tolist(), [[1, 2], [3, 4]])`,
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			arrays, axis := arraysArg(c, "arrays"), c.Int("axis")
			if err := c.Err(); err != nil {
				return nil, err
			}
			for i, a := range arrays {
				b, err := insertAxes(a, []int{axis})
				if err != nil {
					return nil, err
				}
				arrays[i] = b
			}
			return give(Concatenate(arrays, axis))
		},
	},
	{
		Name: "np.split", Doc: "cuts an array into parts along an axis: so many equal ones, or at the positions given.",
		Params:  []builtin.Param{aParam, builtin.Req("indices_or_sections", "int or list", "how many, or where"), builtin.Opt("axis", 0, "int", "along which")},
		Returns: "list of array", Example: `assert.eq([p.tolist() for p in np.split(np.arange(4), 2)], [[0, 1], [2, 3]])`,
		Fn: split,
	},
}

func arraysArg(c *builtin.Call, name string) []*array.Array {
	return builtin.Arg(c, name, builtin.Each(func(v starlark.Value, what string) (*array.Array, error) {
		return value.AsArray(v, array.Undefined, what)
	}))
}

func squeeze(c *builtin.Call, a *array.Array) (*array.Array, error) {
	axes := axesArg(c, "axis")
	if axes == nil {
		for i, d := range a.Shape() {
			if d == 1 {
				axes = append(axes, i)
			}
		}
		if axes == nil {
			return a, nil
		}
	}
	axes, err := num.NormalAxes(axes, a.Rank())
	if err != nil {
		return nil, err
	}
	shape := []int{}
	for i, d := range a.Shape() {
		if !slices.Contains(axes, i) {
			shape = append(shape, d)
		} else if d != 1 {
			return nil, fmt.Errorf("axis %d has size %d, want 1", i, d)
		}
	}
	return a.Reshape(shape...)
}

func expandDims(c *builtin.Call, a *array.Array) (*array.Array, error) {
	return insertAxes(a, shapeArg(c, "axis"))
}

func insertAxes(a *array.Array, axes []int) (*array.Array, error) {
	axes, err := num.NormalAxes(axes, a.Rank()+len(axes))
	if err != nil {
		return nil, err
	}
	shape := slices.Clone(a.Shape())
	for _, i := range axes {
		shape = slices.Insert(shape, i, 1)
	}
	return a.Reshape(shape...)
}

// Concatenate joins arrays along an axis; the types are promoted.
func Concatenate(arrays []*array.Array, axis int) (*array.Array, error) {
	if len(arrays) == 0 {
		return nil, fmt.Errorf("got no arrays, want at least one")
	}
	first := arrays[0]
	axes, err := num.NormalAxes([]int{axis}, first.Rank())
	if err != nil {
		return nil, err
	}
	axis = axes[0]
	dt, shape := first.DType(), slices.Clone(first.Shape())
	shape[axis] = 0
	for i, a := range arrays {
		if (a.DType() == array.String) != (dt == array.String) {
			return nil, fmt.Errorf("array %d: got %s, want %s: strings and numbers do not mix", i, a.DType(), dt)
		}
		dt = num.Promote(dt, a.DType())
		for k, d := range a.Shape() {
			if a.Rank() != len(shape) || k != axis && d != shape[k] {
				return nil, fmt.Errorf("array %d: got shape %v, want that of array 0, %v, but for axis %d", i, a.Shape(), first.Shape(), axis)
			}
		}
		shape[axis] += a.Shape()[axis]
	}
	out, err := checked(dt, shape)
	if err != nil {
		return nil, err
	}
	at := 0
	for _, a := range arrays {
		end := at + a.Shape()[axis]
		if err := copyInto(out, axis, at, end, a); err != nil {
			return nil, err
		}
		at = end
	}
	return out, nil
}

func cutAxis(rank, axis, from, to int) []array.Index {
	key := slices.Repeat([]array.Index{{Kind: array.SliceIndex}}, rank)
	key[axis] = array.Index{Kind: array.SliceIndex, Start: &from, Stop: &to}
	return key
}

func copyInto(out *array.Array, axis, from, to int, a *array.Array) error {
	view, err := out.View(cutAxis(out.Rank(), axis, from, to))
	if err != nil {
		return err
	}
	for i := range view.Size() {
		if err := view.SetAt(i, a.At(i)); err != nil {
			return err
		}
	}
	return nil
}

func split(c *builtin.Call) (starlark.Value, error) {
	a, axis := arg(c, "a"), c.Int("axis")
	if err := c.Err(); err != nil {
		return nil, err
	}
	axes, err := num.NormalAxes([]int{axis}, a.Rank())
	if err != nil {
		return nil, err
	}
	axis = axes[0]
	d := a.Shape()[axis]
	cuts := shapeArg(c, "indices_or_sections")
	if n, isInt := c.Value("indices_or_sections").(starlark.Int); isInt {
		k, _ := n.Int64()
		if k < 1 || int64(d)%k != 0 {
			return nil, c.ArgErrorf("indices_or_sections", "got %d, want a divisor of %d, the size of axis %d", k, d, axis)
		}
		cuts = nil
		for i := int64(1); i < k; i++ {
			cuts = append(cuts, int(i)*d/int(k))
		}
	}
	var parts []starlark.Value
	from := 0
	for _, to := range append(cuts, d) {
		v, err := a.View(cutAxis(a.Rank(), axis, from, max(from, min(to, d))))
		if err != nil {
			return nil, err
		}
		parts = append(parts, value.NewArray(v))
		from = to
	}
	return starlark.NewList(parts), c.Err()
}

func tile(c *builtin.Call, a *array.Array) (*array.Array, error) {
	reps := shapeArg(c, "reps")
	for len(reps) < a.Rank() {
		reps = slices.Insert(reps, 0, 1)
	}
	for a.Rank() < len(reps) {
		var err error
		if a, err = insertAxes(a, []int{0}); err != nil {
			return nil, err
		}
	}
	for axis, n := range reps {
		if n < 0 {
			return nil, fmt.Errorf("reps: got %d, want a number ≥ 0", n)
		}
		if n == 0 {
			return a.View(cutAxis(a.Rank(), axis, 0, 0))
		}
		out, err := Concatenate(slices.Repeat([]*array.Array{a}, n), axis)
		if err != nil {
			return nil, err
		}
		a = out
	}
	return a, nil
}

func repeat(c *builtin.Call, a *array.Array) (*array.Array, error) {
	n, axis := c.Int("repeats"), c.Int("axis")
	if n < 0 || c.Err() != nil {
		return nil, fmt.Errorf("repeats: got %d, want a number ≥ 0", n)
	}
	if c.IsNone("axis") {
		flat, err := a.Reshape(-1)
		if err != nil {
			return nil, err
		}
		a, axis = flat, 0
	}
	axes, err := num.NormalAxes([]int{axis}, a.Rank())
	if err != nil {
		return nil, err
	}
	at := make([]int64, 0, a.Shape()[axes[0]]*n)
	for i := range a.Shape()[axes[0]] {
		at = append(at, slices.Repeat([]int64{int64(i)}, n)...)
	}
	return num.Take(a, array.FromSlice(at), axes[0])
}

func flip(c *builtin.Call, a *array.Array) (*array.Array, error) {
	axes, err := num.NormalAxes(axesArg(c, "axis"), a.Rank())
	if err != nil {
		return nil, err
	}
	key := slices.Repeat([]array.Index{{Kind: array.SliceIndex}}, a.Rank())
	for _, i := range axes {
		key[i].Step = -1
	}
	return a.View(key)
}

func triangle(c *builtin.Call, a *array.Array, keep func(i, j, k int) bool) (*array.Array, error) {
	k := c.Int("k")
	if a.Rank() < 2 {
		return nil, fmt.Errorf("a: got rank %d, want at least 2", a.Rank())
	}
	out := a.Copy()
	rows, cols := a.Shape()[a.Rank()-2], a.Shape()[a.Rank()-1]
	for i := range out.Size() {
		if r, col := i/cols%rows, i%cols; !keep(r, col, k) {
			if err := out.SetAt(i, 0); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// padding returns the pairs before and after each axis.
func padding(c *builtin.Call, rank int) ([][2]int, error) {
	v := c.Value("pad_width")
	pairs := make([][2]int, rank)
	if n, ok := v.(starlark.Int); ok {
		i, err := value.AsInt(n, "pad_width")
		for k := range pairs {
			pairs[k] = [2]int{int(i), int(i)}
		}
		return pairs, err
	}
	items, err := builtin.AsList(v, "pad_width")
	if err != nil {
		return nil, err
	}
	if len(items) == 2 && starlark.Len(items[0]) < 0 {
		items = slices.Repeat([]starlark.Value{v}, rank)
	}
	if len(items) == 1 {
		items = slices.Repeat(items, rank)
	}
	if len(items) != rank {
		return nil, fmt.Errorf("pad_width: got %d pairs, want %d, the rank of the array", len(items), rank)
	}
	for k, item := range items {
		p, err := asInts(item, fmt.Sprintf("pad_width[%d]", k))
		if err != nil {
			return nil, err
		}
		if len(p) == 1 {
			p = append(p, p[0])
		}
		if len(p) != 2 || p[0] < 0 || p[1] < 0 {
			return nil, fmt.Errorf("pad_width[%d]: got %v, want two numbers ≥ 0", k, p)
		}
		pairs[k] = [2]int(p)
	}
	return pairs, nil
}

func pad(c *builtin.Call, a *array.Array) (*array.Array, error) {
	pairs, err := padding(c, a.Rank())
	if err != nil {
		return nil, err
	}
	mode := c.Enum("mode", "constant", "edge", "reflect", "wrap")
	fillWith := arg(c, "constant_values")
	if err := c.Err(); err != nil {
		return nil, err
	}
	for axis, p := range pairs {
		d := a.Shape()[axis]
		if p == [2]int{} {
			continue
		}
		if mode == "constant" {
			if a, err = padConstant(a, axis, p, fillWith); err != nil {
				return nil, err
			}
			continue
		}
		if d == 0 {
			return nil, fmt.Errorf("axis %d is empty, so mode %q has nothing to repeat", axis, mode)
		}
		at := make([]int64, 0, d+p[0]+p[1])
		for i := -p[0]; i < d+p[1]; i++ {
			at = append(at, int64(padIndex(mode, i, d)))
		}
		if a, err = num.Take(a, array.FromSlice(at), axis); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func padIndex(mode string, i, d int) int {
	switch mode {
	case "edge":
		return min(max(i, 0), d-1)
	case "wrap":
		return ((i % d) + d) % d
	}
	if d == 1 {
		return 0
	}
	period := 2 * (d - 1)
	i = ((i % period) + period) % period
	return min(i, period-i)
}

func padConstant(a *array.Array, axis int, p [2]int, v *array.Array) (*array.Array, error) {
	side := func(n int) (*array.Array, error) {
		shape := slices.Clone(a.Shape())
		shape[axis] = n
		out, err := checked(a.DType(), shape)
		if err != nil {
			return nil, err
		}
		for i := range out.Size() {
			if err := out.SetAt(i, v.At(0)); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	before, err := side(p[0])
	if err != nil {
		return nil, err
	}
	after, err := side(p[1])
	if err != nil {
		return nil, err
	}
	return Concatenate([]*array.Array{before, a, after}, axis)
}
