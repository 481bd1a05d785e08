package ops

import (
	"math"
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// quantity is where the inputs hold a quantized tensor, its scale and its zero
// point.
type quantity struct{ x, scale, zero int }

// scaleAt returns input i, one number above 0.
func (c *Call) scaleAt(i int) (float64, error) {
	v, err := c.numberAt(i)
	if err == nil && !(v > 0) {
		err = c.Errorf("input %d: got scale %v, want more than 0", i, v)
	}
	return v, err
}

// numberAt returns input i, one number.
func (c *Call) numberAt(i int) (float64, error) {
	a, err := c.Need(i)
	if err != nil {
		return 0, err
	}
	if a.Size() != 1 {
		return 0, c.Errorf("input %d: got %s, want one number", i, a.Summary())
	}
	x, err := a.Float64s()
	if err != nil {
		return 0, err
	}
	return x[0], nil
}

// params returns a scale and a zero point, 0 when that is omitted.
func (c *Call) params(q quantity) (scale, zero float64, err error) {
	if scale, err = c.scaleAt(q.scale); err != nil || !c.Has(q.zero) {
		return scale, 0, err
	}
	zero, err = c.numberAt(q.zero)
	return scale, zero, err
}

// real is what a quantized input stands for, in float32.
func (c *Call) real(q quantity) (*array.Array, error) {
	a, err := c.Need(q.x)
	if err != nil {
		return nil, err
	}
	scale, zero, err := c.params(q)
	if err != nil {
		return nil, err
	}
	x, err := a.Float64s()
	if err != nil {
		return nil, err
	}
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = float32(v-zero) * float32(scale)
	}
	return array.FromSlice(out, len(out)).Reshape(a.Shape()...)
}

// quantized rounds what y stands for to type dt, by the scale and the zero point
// that q names.
func (c *Call) quantized(y *array.Array, q quantity, dt array.DType) (*array.Array, error) {
	if !dt.IsInt() {
		return nil, c.Errorf("output: got type %s, want an integer", dt)
	}
	scale, zero, err := c.params(q)
	if err != nil {
		return nil, err
	}
	x, err := y.Float64s()
	if err != nil {
		return nil, err
	}
	for i, v := range x {
		x[i] = clampTo(dt, math.RoundToEven(float64(float32(v)/float32(scale)))+zero)
	}
	return array.FromSlice(x, y.Shape()...).Cast(dt)
}

// qlinear makes a kernel that computes with what its quantized inputs stand for,
// by a kernel for real numbers, and quantizes the result by params out.
func qlinear(ins []quantity, out quantity, compute func(c *Call, in []*array.Array) (*array.Array, error)) func(*Call) error {
	return func(c *Call) error {
		in := make([]*array.Array, len(ins))
		for i, q := range ins {
			var err error
			if in[i], err = c.real(q); err != nil {
				return err
			}
		}
		y, err := compute(c, in)
		if err != nil {
			return err
		}
		c.Out[0], err = c.quantized(y, out, c.Array(ins[0].x).DType())
		return err
	}
}

var (
	firstQ  = quantity{0, 1, 2} // the only input
	secondQ = quantity{3, 4, 5}
	afterQ  = quantity{-1, 3, 4} // the result's, after one input
	after2Q = quantity{-1, 6, 7} // after two
)

// alone is the computation of a kernel on one real input, with these attributes
// of the node.
func alone(kernel func(*Call) error, attrs ...string) func(*Call, []*array.Array) (*array.Array, error) {
	return func(c *Call, in []*array.Array) (*array.Array, error) {
		return c.part(kernel, c.attrsOf(attrs...), in...)
	}
}

// pooledLast is alone whose attribute says where the channels are.
func pooledLast(kernel func(*Call) error, attrs ...string) func(*Call, []*array.Array) (*array.Array, error) {
	return func(c *Call, in []*array.Array) (_ *array.Array, err error) {
		last, a := c.Int("channels_last") != 0, in[0]
		if last {
			if a, err = c.channelsFirst(a); err != nil {
				return nil, err
			}
		}
		y, err := c.part(kernel, c.attrsOf(attrs...), a)
		if err != nil || !last {
			return y, err
		}
		return c.channelsLast(y)
	}
}

func inferPooledLast(infer func(*Infer) error, attrs ...string) func(*Infer) error {
	return func(c *Infer) error {
		f, last := c.Fact(0), c.Int("channels_last") != 0
		if last {
			f.Dims = dimsFirst(f.Dims)
		}
		out, err := c.part(infer, c.attrsOf(attrs...), f)
		if last {
			out.Dims = dimsLast(out.Dims)
		}
		c.Set(0, out)
		return err
	}
}

// qlinearSoftmax begins its rows at the axis where the attribute opset, that of
// the Softmax it is made of, is before 13.
func qlinearSoftmax(c *Call, in []*array.Array) (*array.Array, error) {
	return c.part(softmaxOf(kindSoftmax, c.Int("opset") < 13), c.attrsOf("axis"), in...)
}

// qlinearReduceMean reduces over the axes that an attribute gives.
func qlinearReduceMean(c *Call, in []*array.Array) (*array.Array, error) {
	axes := c.axesTensor()
	return c.part(kernelIn(reduceOps, "ReduceMean"), c.attrsOf("keepdims"), in[0], axes)
}

// axesTensor is the attribute axes as the input that newer reductions have.
func (s *Site) axesTensor() *array.Array {
	axes := s.Ints("axes")
	wide := make([]int64, len(axes))
	for i, axis := range axes {
		wide[i] = int64(axis)
	}
	return array.FromSlice(wide, len(wide))
}

func inferQLinearReduceMean(c *Infer) error {
	axes := c.axesTensor()
	f := TensorFact(array.Int64, sym.Ints(axes.Shape()))
	f.Const = axes
	out, err := c.part(inferIn(reduceOps, "ReduceMean"), c.attrsOf("keepdims"), c.Fact(0), f)
	c.Set(0, out)
	return err
}

// inferIn returns the newest inference of that name in a family.
func inferIn(family []Op, name string) func(*Infer) error { return newestIn(family, name).Infer }

// qlinearWhere picks from two quantized inputs.
func qlinearWhere(c *Call) error {
	cond, err := c.Need(0)
	if err != nil {
		return err
	}
	x, err := c.real(quantity{1, 2, 3})
	if err != nil {
		return err
	}
	y, err := c.real(quantity{4, 5, 6})
	if err != nil {
		return err
	}
	z, err := c.part(where, nil, cond, x, y)
	if err != nil {
		return err
	}
	c.Out[0], err = c.quantized(z, quantity{-1, 7, 8}, c.Array(1).DType())
	return err
}

func inferQLinearWhere(c *Infer) error {
	x, y := c.Fact(1), c.Fact(4)
	y.DType = x.DType
	out, err := c.part(inferWhere, nil, c.Fact(0), x, y)
	out.DType, out.Elems, out.Const = x.DType, nil, nil
	c.Set(0, out)
	return err
}

func inferQLinearBinary(c *Infer) error {
	a, b := c.Fact(0), c.Fact(3)
	c.Set(0, TensorFact(a.DType, slices.Clone(broadcastDims(a.Dims, b.Dims))))
	return nil
}

// qlinearConcat joins inputs that come as triples behind the result's scale and
// zero point.
func qlinearConcat(c *Call) error {
	zero, err := c.Need(1)
	if err != nil {
		return err
	}
	if len(c.In) < 5 || len(c.In)%3 != 2 {
		return c.Errorf("got %d inputs, want two and three for each tensor", len(c.In))
	}
	var in []*array.Array
	for i := 2; i < len(c.In); i += 3 {
		x, err := c.real(quantity{i, i + 1, i + 2})
		if err != nil {
			return err
		}
		in = append(in, x)
	}
	y, err := c.part(concat, c.attrsOf("axis"), in...)
	if err != nil {
		return err
	}
	c.Out[0], err = c.quantized(y, quantity{-1, 0, 1}, zero.DType())
	return err
}

func inferQLinearConcat(c *Infer) error {
	var in []Fact
	for i := 2; i < len(c.In); i += 3 {
		f := c.Fact(i)
		in = append(in, TensorFact(array.Float32, f.Dims))
	}
	out, err := c.part(inferConcat, c.attrsOf("axis"), in...)
	out.DType = c.Fact(1).DType
	c.Set(0, out)
	return err
}

// lastQLinearConv is QLinearConv whose channels may be last.
func lastQLinearConv(c *Call) error {
	if c.Int("channels_last") == 0 {
		return qlinearConv(c)
	}
	in := make([]*array.Array, len(c.In))
	for i := range in {
		in[i] = c.Array(i)
	}
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	if in[0], err = c.channelsFirst(a); err != nil {
		return err
	}
	y, err := c.part(qlinearConv, c.attrsOf(convAttrs...), in...)
	if err != nil {
		return err
	}
	c.Out[0], err = c.channelsLast(y)
	return err
}

func inferLastQLinearConv(c *Infer) error {
	in := slices.Clone(c.In)
	last := c.Int("channels_last") != 0
	if last && len(in) > 0 {
		in[0].Dims = dimsFirst(in[0].Dims)
	}
	out, err := c.part(inferQLinearConv, c.attrsOf(convAttrs...), in...)
	if last {
		out.Dims = dimsLast(out.Dims)
	}
	c.Set(0, out)
	return err
}

func leakyReal(c *Call, in []*array.Array) (*array.Array, error) {
	return c.part(leakyRelu, []*ir.Attr{ir.NewAttr("alpha", c.FloatOr("alpha", 0.01))}, in...)
}

var poolAttrs = []string{"auto_pad", "ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides"}

var contribQLinearOps = []Op{
	{Domain: contribDomain, Name: "QLinearAdd", Since: 1, Infer: inferQLinearBinary, Eval: qlinear([]quantity{firstQ, secondQ}, after2Q, alone(elementwise(addArith)))},
	{Domain: contribDomain, Name: "QLinearMul", Since: 1, Infer: inferQLinearBinary, Eval: qlinear([]quantity{firstQ, secondQ}, after2Q, alone(elementwise(mulArith)))},
	{Domain: contribDomain, Name: "QLinearSigmoid", Since: 1, Infer: inferSame, Eval: qlinear([]quantity{firstQ}, afterQ, alone(float(sigmoid)))},
	{Domain: contribDomain, Name: "QLinearLeakyRelu", Since: 1, Infer: inferSame, Eval: qlinear([]quantity{firstQ}, afterQ, leakyReal)},
	{Domain: contribDomain, Name: "QLinearSoftmax", Since: 1, Infer: inferSame, Eval: qlinear([]quantity{firstQ}, afterQ, qlinearSoftmax)},
	{Domain: contribDomain, Name: "QLinearAveragePool", Since: 1, Infer: inferPooledLast(inferPool, poolAttrs...), Eval: qlinear([]quantity{firstQ}, afterQ, pooledLast(averagePool, poolAttrs...))},
	{Domain: contribDomain, Name: "QLinearGlobalAveragePool", Since: 1, Infer: inferPooledLast(inferGlobalPool), Eval: qlinear([]quantity{firstQ}, afterQ, pooledLast(globalPool(mean)))},
	{Domain: contribDomain, Name: "QLinearReduceMean", Since: 1, Infer: inferQLinearReduceMean, Eval: qlinear([]quantity{firstQ}, afterQ, qlinearReduceMean)},
	{Domain: contribDomain, Name: "QLinearWhere", Since: 1, Infer: inferQLinearWhere, Eval: qlinearWhere},
	{Domain: contribDomain, Name: "QLinearConcat", Since: 1, Infer: inferQLinearConcat, Eval: qlinearConcat},
	{Domain: contribDomain, Name: "QLinearConv", Since: 1, Infer: inferLastQLinearConv, Eval: lastQLinearConv},
}
