package ops

import (
	"github.com/starlarkgs/starlarkgs/array"
)

func bitwise(f func(x, y uint64) uint64) func(*Call) error {
	return elementwise(arith{
		i64: func(x, y int64) int64 { return int64(f(uint64(x), uint64(y))) },
		u64: f,
	})
}

func bitShift(c *Call) error {
	switch dir := c.Str("direction"); dir {
	case "LEFT":
		return bitwise(func(x, y uint64) uint64 { return x << y })(c)
	case "RIGHT":
		return bitwise(func(x, y uint64) uint64 { return x >> y })(c)
	default:
		return c.Errorf("direction: got %q, want LEFT or RIGHT", dir)
	}
}

func bitwiseNot(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	x, err := a.Int64s()
	if err != nil {
		return err
	}
	for i, v := range x {
		x[i] = ^v
	}
	c.Out[0], err = array.FromSlice(x, a.Shape()...).Cast(a.DType())
	return err
}

// cumulative runs along an axis, from either end, with or without the element
// itself.
func cumulative(start float64, f func(acc, v float64) float64, fInt func(acc, v int64) int64) func(*Call) error {
	return func(c *Call) error {
		a, err := c.Need(0)
		if err != nil {
			return err
		}
		at, err := c.scalarInt(1)
		if err != nil {
			return err
		}
		axis, err := c.normalAxis(at, a.Rank())
		if err != nil {
			return err
		}
		var out *array.Array
		if a.DType().IsInt() {
			x, err := a.Int64s()
			if err != nil {
				return err
			}
			runAlong(c, x, a.Shape(), axis, int64(start), fInt)
			out = array.FromSlice(x, a.Shape()...)
		} else {
			x, err := a.Float64s()
			if err != nil {
				return err
			}
			runAlong(c, x, a.Shape(), axis, start, f)
			out = array.FromSlice(x, a.Shape()...)
		}
		c.Out[0], err = out.Cast(a.DType())
		return err
	}
}

func runAlong[T any](c *Call, x []T, shape []int, axis int, start T, f func(acc, v T) T) {
	outer, n, inner := splitAt(shape, axis)
	exclusive, reverse := c.Int("exclusive") != 0, c.Int("reverse") != 0
	for line := range outer * inner {
		base, acc := line/inner*n*inner+line%inner, start
		for k := range n {
			if reverse {
				k = n - 1 - k
			}
			p, v := base+k*inner, x[base+k*inner]
			if exclusive {
				x[p] = acc
			}
			if acc = f(acc, v); !exclusive {
				x[p] = acc
			}
		}
	}
}

// eyeLike has ones on the k-th diagonal of a matrix shaped as the input.
func eyeLike(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	if a.Rank() != 2 {
		return c.Errorf("input 0: got %s, want a matrix", a.Summary())
	}
	out, err := c.Make(eyeType(&c.Site, a.DType()), a.Shape())
	if err != nil {
		return err
	}
	rows, cols, k := a.Shape()[0], a.Shape()[1], c.Int("k")
	for r := range rows {
		if col := r + k; col >= 0 && col < cols {
			if err := out.SetAt(r*cols+col, int64(1)); err != nil {
				return err
			}
		}
	}
	c.Out[0] = out
	return nil
}

func eyeType(s *Site, in array.DType) array.DType {
	if dt := array.DType(s.Int("dtype")); dt != array.Undefined {
		return dt
	}
	return in
}

func inferEyeLike(c *Infer) error {
	c.Set(0, TensorFact(eyeType(&c.Site, c.Fact(0).DType), c.Fact(0).Dims))
	return nil
}

// bitCast reads the input's bytes as a type of the same width.
func bitCast(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	to := array.DType(c.Int("to"))
	if !to.Valid() || to == array.String || a.DType() == array.String || to.Bits() != a.DType().Bits() {
		return c.Errorf("to: got %s for an input of type %s, want a type of the same width", to, a.DType())
	}
	raw, err := a.Contiguous().Bytes()
	if err != nil {
		return err
	}
	c.Out[0], err = array.FromBytes(to, a.Shape(), raw)
	return err
}

func inferBitCast(c *Infer) error {
	c.Set(0, TensorFact(array.DType(c.Int("to")), c.Fact(0).Dims))
	return nil
}

var bitOps = []Op{
	{Name: "BitCast", Since: 26, Infer: inferBitCast, Eval: bitCast},
	{Name: "BitShift", Since: 11, Checks: []Check{oneOf("direction", "LEFT", "RIGHT")}, Infer: inferBinary(nil), Eval: bitShift},
	{Name: "BitwiseAnd", Since: 18, Infer: inferBinary(nil), Eval: bitwise(func(x, y uint64) uint64 { return x & y })},
	{Name: "BitwiseOr", Since: 18, Infer: inferBinary(nil), Eval: bitwise(func(x, y uint64) uint64 { return x | y })},
	{Name: "BitwiseXor", Since: 18, Infer: inferBinary(nil), Eval: bitwise(func(x, y uint64) uint64 { return x ^ y })},
	{Name: "BitwiseNot", Since: 18, Infer: inferSame, Eval: bitwiseNot},
	{Name: "CumSum", Since: 11, Infer: inferSame, Eval: cumulative(0, func(a, v float64) float64 { return a + v }, func(a, v int64) int64 { return a + v })},
	{Name: "CumProd", Since: 26, Infer: inferSame, Eval: cumulative(1, func(a, v float64) float64 { return a * v }, func(a, v int64) int64 { return a * v })},
	{Name: "EyeLike", Since: 9, Infer: inferEyeLike, Eval: eyeLike},
}
