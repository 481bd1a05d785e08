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

// binaries are the element-wise functions of two operands that np names.
var binaries = []*num.Binary{num.Add, num.Subtract, num.Multiply, num.Divide, num.FloorDivide, num.Mod, num.Power, num.Maximum, num.Minimum,
	num.Equal, num.NotEqual, num.Less, num.LessEqual, num.Greater, num.GreaterEqual, num.LogicalAnd, num.LogicalOr, num.LogicalXor,
	num.And, num.Or, num.Xor, num.LeftShift, num.RightShift}

// elementFuncs are the entries of the element-wise functions, from the tables
// of package num.
func elementFuncs() []*builtin.Func {
	var out []*builtin.Func
	for _, f := range num.Unaries() {
		out = append(out, unaryFunc(f, f.Name))
		if f.Name == "abs" {
			out = append(out, unaryFunc(f, "absolute"))
		}
	}
	for _, f := range binaries {
		out = append(out, binaryFunc(f))
	}
	return append(out, elementwise...)
}

func unaryFunc(f *num.Unary, name string) *builtin.Func {
	return &builtin.Func{
		Name: "np." + name, Doc: "computes " + name + " of each element.", Params: []builtin.Param{aParam}, Returns: "array",
		Example: fmt.Sprintf("assert.eq(np.%s(np.array([1, 0])).shape, [2])", name),
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			a := arg(c, "a")
			if err := c.Err(); err != nil {
				return nil, err
			}
			return scalarOr(c, f.Apply, a)
		},
	}
}

// scalarOr computes f; of a plain number it gives a plain number.
func scalarOr(c *builtin.Call, f func(*array.Array) (*array.Array, error), a *array.Array) (starlark.Value, error) {
	out, err := f(a)
	if err != nil {
		return nil, err
	}
	switch c.Value("a").(type) {
	case starlark.Int, starlark.Float, starlark.Bool:
		return value.ElementValue(out, 0), nil
	}
	return value.NewArray(out), nil
}

func binaryFunc(f *num.Binary) *builtin.Func {
	return &builtin.Func{
		Name: "np." + f.Name, Doc: "computes " + f.Name + " of the elements of both, broadcast together.", Returns: "array",
		Params:  []builtin.Param{builtin.Req("x1", "array or number", "the first operand"), builtin.Req("x2", "array or number", "the second")},
		Example: fmt.Sprintf("assert.eq(np.%s(np.array([3, 2]), np.array([1, 2])).shape, [2])", f.Name),
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			x, err := value.AsOperand(c.Value("x1"), "x1")
			if err != nil {
				return nil, err
			}
			y, err := value.AsOperand(c.Value("x2"), "x2")
			if err != nil {
				return nil, err
			}
			return give(f.Apply(x, y))
		},
	}
}

var elementwise = []*builtin.Func{
	on("round", "rounds to decimals, halves to even.", `assert.eq(np.round(np.array([1.25, 2.5])).tolist(), [1.0, 2.0])`,
		func(c *builtin.Call, a *array.Array) (*array.Array, error) { return num.Round(a, c.Int("decimals")) },
		builtin.Opt("decimals", 0, "int", "places after the point")),
	on("clip", "limits the elements.", `assert.eq(np.clip(np.array([1, 5, 9]), 2, 6).tolist(), [2, 5, 6])`, clip,
		builtin.Opt("min", nil, "array or number", "the least, None for no limit"), builtin.Opt("max", nil, "array or number", "the largest, None for no limit")),
	{
		Name: "np.where", Doc: "picks, element by element, from x where condition is true, else from y; with condition alone it is nonzero.",
		Params:  []builtin.Param{builtin.Req("condition", "array", "what to ask"), builtin.Opt("x", nil, "array", "where true"), builtin.Opt("y", nil, "array", "where false")},
		Returns: "array", Example: `assert.eq(np.where(np.array([True, False]), 1, 2).tolist(), [1, 2])`,
		Fn: where,
	},
	{
		Name: "np.allclose", Doc: "reports whether |a-b| <= atol + rtol*|b| for all elements.",
		Params: []builtin.Param{aParam, builtin.Req("b", "array", "the other"), builtin.Opt("rtol", 1e-5, "float", "relative tolerance"),
			builtin.Opt("atol", 1e-8, "float", "absolute tolerance"), builtin.Opt("equal_nan", false, "bool", "whether NaN equals NaN")},
		Returns: "bool", Example: `assert.true(np.allclose(np.array([1.0]), np.array([1.0 + 1e-9])))`,
		Fn: allclose,
	},
	{
		Name: "np.array_equal", Doc: "reports whether both have one shape and equal elements.",
		Params:  []builtin.Param{aParam, builtin.Req("b", "array", "the other")},
		Returns: "bool", Example: `assert.true(np.array_equal(np.array([1, 2]), [1, 2]))`,
		Fn: arrayEqual,
	},
}

func clip(c *builtin.Call, a *array.Array) (*array.Array, error) {
	out := num.Operand{A: a}
	for _, side := range []struct {
		name string
		f    *num.Binary
	}{{"min", num.Maximum}, {"max", num.Minimum}} {
		if c.IsNone(side.name) {
			continue
		}
		limit, err := value.AsOperand(c.Value(side.name), side.name)
		if err != nil {
			return nil, err
		}
		if out.A, err = side.f.Apply(out, limit); err != nil {
			return nil, err
		}
	}
	return out.A, nil
}

func where(c *builtin.Call) (starlark.Value, error) {
	cond := arg(c, "condition")
	if err := c.Err(); err != nil {
		return nil, err
	}
	if c.IsNone("x") && c.IsNone("y") {
		return positions(cond), nil
	}
	x, err := value.AsOperand(c.Value("x"), "x")
	if err != nil {
		return nil, err
	}
	y, err := value.AsOperand(c.Value("y"), "y")
	if err != nil {
		return nil, err
	}
	dt, err := num.ResultType(x, y)
	if err != nil {
		return nil, err
	}
	shape, err := array.BroadcastShapes(cond.Shape(), x.A.Shape(), y.A.Shape())
	if err != nil {
		return nil, err
	}
	out, err := checked(dt, shape)
	if err != nil {
		return nil, err
	}
	var parts [3]*array.Array
	for i, a := range []*array.Array{cond, x.A, y.A} {
		if parts[i], err = a.BroadcastTo(shape); err != nil {
			return nil, err
		}
	}
	for i := range out.Size() {
		from := parts[2]
		if value.ElementValue(parts[0], i).Truth() {
			from = parts[1]
		}
		if err := out.SetAt(i, from.At(i)); err != nil {
			return nil, err
		}
	}
	return value.NewArray(out), nil
}

func positions(a *array.Array) starlark.Value {
	var t starlark.Tuple
	for _, p := range num.NonZero(a) {
		t = append(t, value.NewArray(p))
	}
	return t
}

func allclose(c *builtin.Call) (starlark.Value, error) {
	a, b := arg(c, "a"), arg(c, "b")
	rtol, atol, nanEqual := c.Float("rtol"), c.Float("atol"), c.Bool("equal_nan")
	if err := c.Err(); err != nil {
		return nil, err
	}
	shape, err := array.BroadcastShapes(a.Shape(), b.Shape())
	if err != nil {
		return nil, err
	}
	x, err := spreadFloats(a, shape)
	if err != nil {
		return nil, err
	}
	y, err := spreadFloats(b, shape)
	if err != nil {
		return nil, err
	}
	for i := range x {
		if !num.Close(x[i], y[i], rtol, atol, nanEqual) {
			return starlark.False, nil
		}
	}
	return starlark.True, nil
}

func spreadFloats(a *array.Array, shape []int) ([]float64, error) {
	b, err := a.BroadcastTo(shape)
	if err != nil {
		return nil, err
	}
	return b.Float64s()
}

func arrayEqual(c *builtin.Call) (starlark.Value, error) {
	a, b := arg(c, "a"), arg(c, "b")
	if err := c.Err(); err != nil {
		return nil, err
	}
	if !slices.Equal(a.Shape(), b.Shape()) {
		return starlark.False, nil
	}
	eq, err := num.Equal.Apply(num.Operand{A: a}, num.Operand{A: b})
	if err != nil {
		return nil, err
	}
	return starlark.Bool(!slices.Contains(array.Data[bool](eq), false)), nil
}
