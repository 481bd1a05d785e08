package ops

import (
	"math"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// arith is an operator of two elements, by type. rows32 is a loop for float32
// that the hot operators have.
type arith struct {
	rows32 func(a, b, out []float32)
	f32    func(x, y float32) float32
	f64    func(x, y float64) float64
	i64    func(x, y int64) int64
	u64    func(x, y uint64) uint64 // nil: as i64
}

// each turns a function of two elements into one of rows.
func each[A, B, O any](f func(A, B) O) func(a []A, b []B, out []O) {
	return func(a []A, b []B, out []O) {
		switch {
		case len(a) == 1 && len(out) > 1 && len(b) == 1:
			v := f(a[0], b[0])
			for i := range out {
				out[i] = v
			}
		case len(a) == 1 && len(out) > 1:
			for i := range out {
				out[i] = f(a[0], b[i])
			}
		case len(b) == 1 && len(out) > 1:
			for i := range out {
				out[i] = f(a[i], b[0])
			}
		default:
			for i := range out {
				out[i] = f(a[i], b[i])
			}
		}
	}
}

// operands returns the first two inputs, the second laid out as the attributes
// broadcast and axis of opsets before 7 say.
func operands(c *Call) (a, b *array.Array, err error) {
	if a, err = c.Need(0); err != nil {
		return nil, nil, err
	}
	if b, err = c.Need(1); err != nil {
		return nil, nil, err
	}
	if a.DType() != b.DType() {
		return nil, nil, c.Errorf("inputs: got %s and %s, want one type", a.DType(), b.DType())
	}
	if c.Opset < 7 && c.Int("broadcast") != 0 && c.HasAttr("axis") {
		axis, err := c.normalAxis(c.Int("axis"), a.Rank())
		if err != nil {
			return nil, nil, err
		}
		if tail := a.Rank() - axis - b.Rank(); tail > 0 {
			if b, err = b.Reshape(append(append([]int{}, b.Shape()...), ones(tail)...)...); err != nil {
				return nil, nil, err
			}
		}
	}
	return a, b, nil
}

func elementwise(f arith) func(*Call) error {
	return func(c *Call) error {
		a, b, err := operands(c)
		if err != nil {
			return err
		}
		wide, back, err := widened(a)
		if err != nil {
			return err
		}
		if b, err = b.Cast(wide.DType()); err != nil {
			return err
		}
		return arithmetic(c, wide, b, back, f)
	}
}

func arithmetic(c *Call, a, b *array.Array, back func(*array.Array) (*array.Array, error), f arith) error {
	shape, err := c.broadcastShape(a, b)
	if err != nil {
		return err
	}
	dt := a.DType()
	var out *array.Array
	switch {
	case dt == array.Float32 && f.rows32 != nil:
		out, err = zipNew(c, array.Data[float32](a), array.Data[float32](b), a.Shape(), b.Shape(), shape, f.rows32)
	case dt == array.Float32 && f.f32 != nil:
		out, err = zipNew(c, array.Data[float32](a), array.Data[float32](b), a.Shape(), b.Shape(), shape, each(f.f32))
	case dt == array.Float64 && f.f64 != nil:
		out, err = zipNew(c, array.Data[float64](a), array.Data[float64](b), a.Shape(), b.Shape(), shape, each(f.f64))
	case dt == array.Int64 && f.i64 != nil:
		out, err = zipNew(c, array.Data[int64](a), array.Data[int64](b), a.Shape(), b.Shape(), shape, each(f.i64))
	case dt == array.Uint64 && f.u64 != nil:
		out, err = zipNew(c, array.Data[uint64](a), array.Data[uint64](b), a.Shape(), b.Shape(), shape, each(f.u64))
	case dt.IsInt() && f.i64 != nil:
		out, err = zipWide(c, a, b, shape, f)
	default:
		return c.Errorf("inputs: got %s, want a type that the operator takes", dt)
	}
	if err == nil {
		out, err = back(out)
	}
	c.Out[0] = out
	return err
}

// zipWide computes narrow integers in 64 bits and keeps their low bits.
func zipWide(c *Call, a, b *array.Array, shape []int, f arith) (*array.Array, error) {
	x, err := a.Int64s()
	if err != nil {
		return nil, err
	}
	y, err := b.Int64s()
	if err != nil {
		return nil, err
	}
	out, err := zipNew(c, x, y, a.Shape(), b.Shape(), shape, each(f.i64))
	if err != nil {
		return nil, err
	}
	return out.CastWith(a.DType(), true)
}

func zipNew[A any, O array.Elem](c *Call, a, b []A, shapeA, shapeB, shape []int, f func(a, b []A, out []O)) (*array.Array, error) {
	out, err := c.Make(array.DTypeOf[O](), shape)
	if err != nil {
		return nil, err
	}
	zipInto(a, b, array.MutableData[O](out), shapeA, shapeB, shape, f)
	return out, nil
}

// divInt divides, truncating as C; by zero it gives zero, where the standard
// leaves the result open.
func divInt(x, y int64) int64 {
	if y == 0 || x == math.MinInt64 && y == -1 {
		return 0
	}
	return x / y
}

func divUint(x, y uint64) uint64 {
	if y == 0 {
		return 0
	}
	return x / y
}

func powInt(x, y int64) int64 {
	if y < 0 {
		return int64(math.Pow(float64(x), float64(y)))
	}
	out := int64(1)
	for ; y > 0; y >>= 1 {
		if y&1 == 1 {
			out *= x
		}
		x *= x
	}
	return out
}

// pow allows another type for the exponent since opset 12; the result has the
// base's.
func pow(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	b, err := c.Need(1)
	if err != nil {
		return err
	}
	shape, err := c.broadcastShape(a, b)
	if err != nil {
		return err
	}
	if a.DType().IsInt() && b.DType().IsInt() {
		x, y := a, b
		if x, err = a.Cast(array.Int64); err != nil {
			return err
		}
		if y, err = b.Cast(array.Int64); err != nil {
			return err
		}
		out, err := zipNew(c, array.Data[int64](x), array.Data[int64](y), a.Shape(), b.Shape(), shape, each(powInt))
		if err != nil {
			return err
		}
		c.Out[0], err = out.Cast(a.DType())
		return err
	}
	y, err := b.Float64s()
	if err != nil {
		return err
	}
	if a.DType() == array.Float32 && len(y) == 1 && y[0] == 2 {
		x := array.Data[float32](a)
		c.Out[0], err = zipNew(c, x, x, a.Shape(), a.Shape(), shape, mulLoop)
		return err
	}
	x, err := a.Float64s()
	if err != nil {
		return err
	}
	f := math.Pow
	if len(y) == 1 && y[0] == 2 {
		f = func(x, _ float64) float64 { return x * x }
	}
	out, err := zipNew(c, x, y, a.Shape(), b.Shape(), shape, each(f))
	if err != nil {
		return err
	}
	c.Out[0], err = out.Cast(a.DType())
	return err
}

func mod(c *Call) error {
	a, b, err := operands(c)
	if err != nil {
		return err
	}
	shape, err := c.broadcastShape(a, b)
	if err != nil {
		return err
	}
	if a.DType().IsFloat() {
		x, err := a.Float64s()
		if err != nil {
			return err
		}
		y, err := b.Float64s()
		if err != nil {
			return err
		}
		f := func(x, y float64) float64 {
			m := math.Mod(x, y)
			if c.Int("fmod") == 0 && m != 0 && (m < 0) != (y < 0) {
				m += y
			}
			return m
		}
		out, err := zipNew(c, x, y, a.Shape(), b.Shape(), shape, each(f))
		if err != nil {
			return err
		}
		c.Out[0], err = out.Cast(a.DType())
		return err
	}
	fmod := c.Int("fmod") != 0
	return elementwise(arith{i64: func(x, y int64) int64 {
		if y == 0 || y == -1 {
			return 0
		}
		m := x % y
		if !fmod && m != 0 && (m < 0) != (y < 0) {
			m += y
		}
		return m
	}, u64: func(x, y uint64) uint64 {
		if y == 0 {
			return 0
		}
		return x % y
	}})(c)
}

// compareOf makes an operator with a bool result.
func compareOf(f func(x, y float64) bool, i func(x, y int64) bool, u func(x, y uint64) bool) func(*Call) error {
	return func(c *Call) error {
		a, b, err := operands(c)
		if err != nil {
			return err
		}
		shape, err := c.broadcastShape(a, b)
		if err != nil {
			return err
		}
		switch dt := a.DType(); {
		case dt == array.Uint64:
			c.Out[0], err = zipNew(c, array.Data[uint64](a), array.Data[uint64](b), a.Shape(), b.Shape(), shape, each(u))
		case dt.IsInt() || dt == array.Bool:
			x, e := a.Int64s()
			if e != nil {
				return e
			}
			y, e := b.Int64s()
			if e != nil {
				return e
			}
			c.Out[0], err = zipNew(c, x, y, a.Shape(), b.Shape(), shape, each(i))
		case dt == array.String:
			out, e := c.Make(array.Bool, shape)
			if e != nil {
				return e
			}
			zipInto(a.Strings(), b.Strings(), array.MutableData[bool](out), a.Shape(), b.Shape(), shape, each(func(x, y string) bool { return x == y }))
			c.Out[0] = out
		default:
			x, e := a.Float64s()
			if e != nil {
				return e
			}
			y, e := b.Float64s()
			if e != nil {
				return e
			}
			c.Out[0], err = zipNew(c, x, y, a.Shape(), b.Shape(), shape, each(f))
		}
		return err
	}
}

func logical(f func(x, y bool) bool) func(*Call) error {
	return func(c *Call) error {
		a, b, err := operands(c)
		if err != nil {
			return err
		}
		if a.DType() != array.Bool {
			return c.Errorf("inputs: got %s, want bool", a.DType())
		}
		shape, err := c.broadcastShape(a, b)
		if err != nil {
			return err
		}
		c.Out[0], err = zipNew(c, array.Data[bool](a), array.Data[bool](b), a.Shape(), b.Shape(), shape, each(f))
		return err
	}
}

// variadic makes a variadic operator of one of two operands.
func variadic(f arith, finish func(c *Call, n int) error) func(*Call) error {
	return func(c *Call) error {
		first, err := c.Need(0)
		if err != nil {
			return err
		}
		all, acc := c.In, array.Value(first)
		for i := 1; i < len(all); i++ {
			c.In = []array.Value{acc, all[i]}
			if err := elementwise(f)(c); err != nil {
				return err
			}
			acc = c.Out[0]
		}
		c.In, c.Out[0] = all, acc
		if finish != nil {
			return finish(c, len(all))
		}
		return nil
	}
}

func meanOf(c *Call, n int) error {
	d := &Call{Site: c.Site, In: []array.Value{c.Out[0]}, Out: c.Out, Budget: c.Budget}
	k := float32(n)
	return unary(func(x float32) float32 { return x / k }, func(x float64) float64 { return x / float64(n) }, nil)(d)
}

func where(c *Call) error {
	cond, err := c.Need(0)
	if err != nil {
		return err
	}
	x, err := c.Need(1)
	if err != nil {
		return err
	}
	y, err := c.Need(2)
	if err != nil {
		return err
	}
	if cond.DType() != array.Bool || x.DType() != y.DType() {
		return c.Errorf("inputs: got %s, %s and %s, want a bool and two of one type", cond.DType(), x.DType(), y.DType())
	}
	shape, err := c.broadcastShape(cond, x, y)
	if err != nil {
		return err
	}
	out, err := c.Make(x.DType(), shape)
	if err != nil {
		return err
	}
	var parts [3]*array.Array
	for i, a := range []*array.Array{cond, x, y} {
		b, err := a.BroadcastTo(shape)
		if err != nil {
			return c.Errorf("%w", err)
		}
		parts[i] = b.Contiguous()
	}
	for i, yes := range array.Data[bool](parts[0]) {
		from := parts[2]
		if yes {
			from = parts[1]
		}
		if err := out.SetAt(i, from.At(i)); err != nil {
			return err
		}
	}
	c.Out[0] = out
	return nil
}

// inferBinary broadcasts sizes; f, where given, follows integer elements.
func inferBinary(f func(x, y sym.Expr) sym.Expr) func(*Infer) error {
	return func(c *Infer) error {
		a, b := c.Fact(0), c.Fact(1)
		dims := a.Dims
		if c.Opset >= 7 || c.Node.Domain() == contribDomain {
			var err error
			if dims, err = meetDims(a.Dims, b.Dims); err != nil {
				return err
			}
		}
		dt := a.DType
		if dt == array.Undefined {
			dt = b.DType
		}
		out := TensorFact(dt, dims)
		if f != nil {
			out.Elems = zipElems(c.ElemsAt(0), c.ElemsAt(1), f)
		}
		c.Set(0, out)
		return nil
	}
}

// zipElems follows elements of two small tensors of one shape, or of which one
// has a single element.
func zipElems(a, b []sym.Expr, f func(x, y sym.Expr) sym.Expr) []sym.Expr {
	if a == nil || b == nil || len(a) != len(b) && len(a) != 1 && len(b) != 1 {
		return nil
	}
	out := make([]sym.Expr, max(len(a), len(b)))
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	for i := range out {
		out[i] = f(a[min(i, len(a)-1)], b[min(i, len(b)-1)])
	}
	return out
}

func symDiv(x, y sym.Expr) sym.Expr {
	n, ok := y.Int()
	if m, isInt := x.Int(); ok && isInt {
		return sym.Int(divInt(m, n))
	}
	if !x.NonNegative() || ok && n <= 0 {
		return sym.Expr{} // division truncates, which differs below zero
	}
	return x.FloorDiv(y)
}

func symEqual(x, y sym.Expr) sym.Expr {
	if d, ok := x.Sub(y).Int(); ok {
		if d == 0 {
			return sym.Int(1)
		}
		return sym.Int(0)
	}
	return sym.Expr{}
}

func inferCompare(f func(x, y sym.Expr) sym.Expr) func(*Infer) error {
	return func(c *Infer) error {
		if err := inferBinary(f)(c); err != nil {
			return err
		}
		if len(c.Out) > 0 {
			c.Out[0].DType = array.Bool
		}
		return nil
	}
}

func inferVariadic(f func(x, y sym.Expr) sym.Expr) func(*Infer) error {
	return func(c *Infer) error {
		out := c.Fact(0)
		elems := c.ElemsAt(0)
		for i := 1; i < len(c.In); i++ {
			var err error
			if out.Dims, err = meetDims(out.Dims, c.In[i].Dims); err != nil {
				return err
			}
			if f != nil {
				elems = zipElems(elems, c.ElemsAt(i), f)
			}
		}
		out.Const, out.Elems = nil, nil
		if f != nil {
			out.Elems = elems
		}
		c.Set(0, out)
		return nil
	}
}

func inferWhere(c *Infer) error {
	x := c.Fact(1)
	dims, err := meetDims(c.Fact(0).Dims, x.Dims)
	if err == nil {
		dims, err = meetDims(dims, c.Fact(2).Dims)
	}
	if err != nil {
		return err
	}
	out := TensorFact(x.DType, dims)
	cond, a, b := c.ElemsAt(0), c.ElemsAt(1), c.ElemsAt(2)
	if cond != nil && a != nil && b != nil && len(a) == len(cond) && (len(b) == len(cond) || len(b) == 1) {
		out.Elems = make([]sym.Expr, len(cond))
		for i, e := range cond {
			if n, ok := e.Int(); ok && n != 0 {
				out.Elems[i] = a[i]
			} else if ok {
				out.Elems[i] = b[min(i, len(b)-1)]
			}
		}
	}
	c.Set(0, out)
	return nil
}

var (
	mulArith = arith{rows32: rows32(mulLoop), f64: func(x, y float64) float64 { return x * y }, i64: func(x, y int64) int64 { return x * y }, u64: func(x, y uint64) uint64 { return x * y }}
	addArith = arith{rows32: rows32(addLoop), f64: func(x, y float64) float64 { return x + y }, i64: func(x, y int64) int64 { return x + y }, u64: func(x, y uint64) uint64 { return x + y }}
	maxArith = arith{rows32: rows32(maxLoop), f64: func(x, y float64) float64 { return max(x, y) }, i64: func(x, y int64) int64 { return max(x, y) }, u64: func(x, y uint64) uint64 { return max(x, y) }}
	minArith = arith{rows32: rows32(minLoop), f64: func(x, y float64) float64 { return min(x, y) }, i64: func(x, y int64) int64 { return min(x, y) }, u64: func(x, y uint64) uint64 { return min(x, y) }}
)

var binaryOps = []Op{
	{Name: "Add", Since: 1, Infer: inferBinary(sym.Expr.Add), Eval: elementwise(addArith)},
	{Name: "Sub", Since: 1, Infer: inferBinary(sym.Expr.Sub), Eval: elementwise(arith{rows32: rows32(subLoop), f64: func(x, y float64) float64 { return x - y }, i64: func(x, y int64) int64 { return x - y }, u64: func(x, y uint64) uint64 { return x - y }})},
	{Name: "Mul", Since: 1, Infer: inferBinary(sym.Expr.Mul), Eval: elementwise(mulArith)},
	{Name: "Div", Since: 1, Infer: inferBinary(symDiv), Eval: elementwise(arith{rows32: rows32(divLoop), f64: func(x, y float64) float64 { return x / y }, i64: divInt, u64: divUint})},
	{Name: "Pow", Since: 1, Infer: inferBinary(nil), Eval: pow},
	{Name: "Mod", Since: 10, Infer: inferBinary(nil), Eval: mod},
	{Name: "Max", Since: 1, Infer: inferVariadic(sym.Expr.Max), Eval: variadic(maxArith, nil)},
	{Name: "Min", Since: 1, Infer: inferVariadic(sym.Expr.Min), Eval: variadic(minArith, nil)},
	{Name: "Sum", Since: 1, Infer: inferVariadic(nil), Eval: variadic(addArith, nil)},
	{Name: "Mean", Since: 1, Infer: inferVariadic(nil), Eval: variadic(addArith, meanOf)},
	{Name: "Equal", Since: 1, Infer: inferCompare(symEqual), Eval: compareOf(func(x, y float64) bool { return x == y }, func(x, y int64) bool { return x == y }, func(x, y uint64) bool { return x == y })},
	{Name: "Greater", Since: 1, Infer: inferCompare(nil), Eval: compareOf(func(x, y float64) bool { return x > y }, func(x, y int64) bool { return x > y }, func(x, y uint64) bool { return x > y })},
	{Name: "Less", Since: 1, Infer: inferCompare(nil), Eval: compareOf(func(x, y float64) bool { return x < y }, func(x, y int64) bool { return x < y }, func(x, y uint64) bool { return x < y })},
	{Name: "GreaterOrEqual", Since: 12, Infer: inferCompare(nil), Eval: compareOf(func(x, y float64) bool { return x >= y }, func(x, y int64) bool { return x >= y }, func(x, y uint64) bool { return x >= y })},
	{Name: "LessOrEqual", Since: 12, Infer: inferCompare(nil), Eval: compareOf(func(x, y float64) bool { return x <= y }, func(x, y int64) bool { return x <= y }, func(x, y uint64) bool { return x <= y })},
	{Name: "And", Since: 1, Infer: inferCompare(nil), Eval: logical(func(x, y bool) bool { return x && y })},
	{Name: "Or", Since: 1, Infer: inferCompare(nil), Eval: logical(func(x, y bool) bool { return x || y })},
	{Name: "Xor", Since: 1, Infer: inferCompare(nil), Eval: logical(func(x, y bool) bool { return x != y })},
	{Name: "Where", Since: 9, Infer: inferWhere, Eval: where},
}
