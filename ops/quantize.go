package ops

import (
	"math"
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// scaling is how a quantizing operator spreads its scale and its zero point over
// the input: one for all, one for each place on an axis, or one for each block
// of an axis.
type scaling struct {
	scale []float64
	zero  []float64 // nil: 0
	at    func(i int) int
}

// scalingOf reads inputs 1 and 2 for an input of the given shape.
func scalingOf(c *Call, shape []int) (*scaling, error) {
	scale, err := c.Need(1)
	if err != nil {
		return nil, err
	}
	s := &scaling{}
	if s.scale, err = scale.Float64s(); err != nil {
		return nil, err
	}
	if c.Has(2) {
		zero, err := c.Need(2)
		if err != nil {
			return nil, err
		}
		if zero.Size() != scale.Size() {
			return nil, c.Errorf("zero point: got %d elements, want %d as the scale has", zero.Size(), scale.Size())
		}
		if s.zero, err = zero.Float64s(); err != nil {
			return nil, err
		}
	}
	s.at, err = c.scaleIndex(shape, scale.Shape())
	return s, err
}

// scaleIndex returns which scale belongs to element i of the input.
func (c *Call) scaleIndex(shape, scale []int) (func(i int) int, error) {
	if len(scale) == 0 || len(scale) == 1 && scale[0] == 1 && c.Int("block_size") == 0 {
		return func(int) int { return 0 }, nil
	}
	axis, err := c.normalAxis(c.IntOr("axis", 1), len(shape))
	if err != nil {
		return nil, err
	}
	_, n, inner := splitAt(shape, axis)
	if len(scale) == 1 {
		if scale[0] != n {
			return nil, c.Errorf("scale: got %d elements, want %d, one for each place on axis %d", scale[0], n, axis)
		}
		return func(i int) int { return i / inner % n }, nil
	}
	block := c.Int("block_size")
	want := slices.Clone(shape)
	if block > 0 {
		want[axis] = (n + block - 1) / block
	}
	if block <= 0 || !slices.Equal(scale, want) {
		return nil, c.Errorf("scale: got shape %v, want one element, one for each place on axis %d, or one for each block_size = %d of it", scale, axis, block)
	}
	blocks := want[axis]
	return func(i int) int { return (i/(inner*n)*blocks+i/inner%n/block)*inner + i%inner }, nil
}

func (s *scaling) zeroAt(k int) float64 {
	if s.zero == nil {
		return 0
	}
	return s.zero[k]
}

// quantizedType is the type that QuantizeLinear's outputs have: the zero
// point's, else what output_dtype names, else uint8.
func quantizedType(s *Site, zero array.DType) array.DType {
	if zero != array.Undefined {
		return zero
	}
	if dt := array.DType(s.Int("output_dtype")); dt != array.Undefined {
		return dt
	}
	return array.Uint8
}

// quantize is x / scale, rounded to even, plus the zero point, saturated.
func quantize(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	s, err := scalingOf(c, a.Shape())
	if err != nil {
		return err
	}
	var zero array.DType
	if c.Has(2) {
		zero = c.Array(2).DType()
	}
	dt := quantizedType(&c.Site, zero)
	if !dt.IsInt() && !dt.IsFloat() {
		return c.Errorf("output: got type %s, want an integer or a small float", dt)
	}
	x, err := a.Float64s()
	if err != nil {
		return err
	}
	single := a.DType() != array.Float64 // the standard divides in the input's type
	for i, v := range x {
		k := s.at(i)
		if q := v / s.scale[k]; single {
			x[i] = float64(float32(q))
		} else {
			x[i] = q
		}
		if dt.IsInt() {
			x[i] = clampTo(dt, math.RoundToEven(x[i])+s.zeroAt(k))
		} else {
			x[i] += s.zeroAt(k)
		}
	}
	c.Out[0], err = array.FromSlice(x, a.Shape()...).CastWith(dt, c.IntOr("saturate", 1) != 0)
	return err
}

// clampTo brings v into the range of an integer type; NaN becomes 0.
func clampTo(dt array.DType, v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	bits := dt.Bits()
	if dt.IsUnsigned() {
		return max(0, min(v, math.Ldexp(1, bits)-1))
	}
	return max(-math.Ldexp(1, bits-1), min(v, math.Ldexp(1, bits-1)-1))
}

func dequantize(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	s, err := scalingOf(c, a.Shape())
	if err != nil {
		return err
	}
	x, err := a.Float64s()
	if err != nil {
		return err
	}
	for i, v := range x {
		k := s.at(i)
		x[i] = (v - s.zeroAt(k)) * s.scale[k]
	}
	c.Out[0], err = array.FromSlice(x, a.Shape()...).Cast(dequantizedType(&c.Site, c.Array(1).DType()))
	return err
}

func dequantizedType(s *Site, scale array.DType) array.DType {
	if dt := array.DType(s.Int("output_dtype")); dt != array.Undefined {
		return dt
	}
	return scale
}

func inferQuantize(c *Infer) error {
	var zero array.DType
	if c.HasIn(2) {
		zero = c.Fact(2).DType
	}
	c.Set(0, TensorFact(quantizedType(&c.Site, zero), c.Fact(0).Dims))
	return nil
}

func inferDequantize(c *Infer) error {
	c.Set(0, TensorFact(dequantizedType(&c.Site, c.Fact(1).DType), c.Fact(0).Dims))
	return nil
}

// dynamicQuantize finds the scale and the zero point from the data's range, 0
// included, and quantizes to uint8.
func dynamicQuantize(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	x, err := a.Float64s()
	if err != nil {
		return err
	}
	lo, hi := 0.0, 0.0
	for _, v := range x {
		lo, hi = min(lo, v), max(hi, v)
	}
	scale := float32(hi-lo) / 255
	zero := 0.0
	if scale != 0 {
		zero = clampTo(array.Uint8, math.RoundToEven(float64(float32(-lo)/scale)))
	}
	out := make([]uint8, len(x))
	for i, v := range x {
		if scale != 0 {
			out[i] = uint8(clampTo(array.Uint8, math.RoundToEven(float64(float32(v)/scale))+zero))
		}
	}
	results := []*array.Array{array.FromSlice(out, a.Shape()...), array.Scalar(scale), array.Scalar(uint8(zero))}
	for i, r := range results {
		if c.Wants(i) {
			c.Out[i] = r
		}
	}
	return nil
}

func inferDynamicQuantize(c *Infer) error {
	c.Set(0, TensorFact(array.Uint8, c.Fact(0).Dims))
	c.Set(1, TensorFact(array.Float32, []sym.Expr{}))
	c.Set(2, TensorFact(array.Uint8, []sym.Expr{}))
	return nil
}

// shifted is input i less its zero point, input j, as int32. A zero point of
// one dimension goes along the rows of a matrix, or along its columns.
func shifted(c *Call, i, j int, rows bool) (*array.Array, error) {
	a, err := c.Need(i)
	if err != nil {
		return nil, err
	}
	wide, err := a.Cast(array.Int32)
	if err != nil || !c.Has(j) {
		return wide, err
	}
	zero, err := c.Need(j)
	if err != nil {
		return nil, err
	}
	if zero, err = zero.Cast(array.Int32); err != nil {
		return nil, err
	}
	if rows && zero.Rank() == 1 && zero.Size() > 1 {
		if zero, err = zero.Reshape(zero.Size(), 1); err != nil {
			return nil, err
		}
	}
	shape := a.Shape()
	if _, err := zero.BroadcastTo(shape); err != nil {
		return nil, c.Errorf("input %d: got shape %v, which does not broadcast to %v", j, zero.Shape(), shape)
	}
	return zipNew(c, array.Data[int32](wide), array.Data[int32](zero.Contiguous()), shape, zero.Shape(), shape, each(func(x, y int32) int32 { return x - y }))
}

func matmulInteger(c *Call) error {
	a, err := shifted(c, 0, 2, true)
	if err != nil {
		return err
	}
	b, err := shifted(c, 1, 3, false)
	if err != nil {
		return err
	}
	inner := *c
	inner.In = []array.Value{a, b}
	return matmul(&inner)
}

func inferMatMulInteger(c *Infer) error {
	if err := inferMatMul(c); err != nil {
		return err
	}
	c.Out[0].DType = array.Int32
	return nil
}

// qlinearMatMul multiplies what is quantized and quantizes the result: inputs
// are a and b, each with a scale and a zero point, and the result's two.
func qlinearMatMul(c *Call) error {
	for i := range 8 {
		if _, err := c.Need(i); err != nil {
			return err
		}
	}
	var real [2]*array.Array
	for i := range real {
		part := *c
		part.In, part.Out = c.In[3*i:3*i+3], make([]array.Value, 1)
		x, err := part.realValues()
		if err != nil {
			return err
		}
		real[i] = x
	}
	part := *c
	part.In, part.Out = []array.Value{real[0], real[1]}, make([]array.Value, 1)
	if err := matmul(&part); err != nil {
		return err
	}
	part.In = []array.Value{part.Out[0], c.In[6], c.In[7]}
	scale, err := scalingOf(&part, []int{})
	if err != nil {
		return err
	}
	x, err := part.Out[0].(*array.Array).Float64s()
	if err != nil {
		return err
	}
	dt := c.Array(7).DType()
	for i, v := range x {
		x[i] = clampTo(dt, math.RoundToEven(float64(float32(v/scale.scale[0])))+scale.zeroAt(0))
	}
	c.Out[0], err = array.FromSlice(x, part.Out[0].(*array.Array).Shape()...).Cast(dt)
	return err
}

// realValues is (input 0 - zero point) × scale as float64.
func (c *Call) realValues() (*array.Array, error) {
	a, err := c.Need(0)
	if err != nil {
		return nil, err
	}
	scale, err := c.Need(1)
	if err != nil {
		return nil, err
	}
	zero, err := c.Need(2)
	if err != nil {
		return nil, err
	}
	s, err := spreadTo(c, scale, a.Shape())
	if err != nil {
		return nil, err
	}
	z, err := spreadTo(c, zero, a.Shape())
	if err != nil {
		return nil, err
	}
	x, err := a.Float64s()
	if err != nil {
		return nil, err
	}
	for i, v := range x {
		x[i] = (v - z[i]) * s[i]
	}
	return array.FromSlice(x, a.Shape()...), nil
}

func inferQLinearMatMul(c *Infer) error {
	a, b := c.Fact(0).Dims, c.Fact(3).Dims
	out := TensorFact(c.Fact(7).DType, nil)
	if n := len(a); n >= 2 && len(b) >= 2 {
		lead := broadcastDims(a[:n-2], b[:len(b)-2])
		out.Dims = append(slices.Clone(lead), a[n-2], b[len(b)-1])
	}
	c.Set(0, out)
	return nil
}

var quantizeOps = []Op{
	{Name: "QLinearMatMul", Since: 10, Infer: inferQLinearMatMul, Eval: qlinearMatMul},
	{Name: "QuantizeLinear", Since: 10, Checks: []Check{scaleFits}, Infer: inferQuantize, Eval: quantize},
	{Name: "DequantizeLinear", Since: 10, Checks: []Check{scaleFits}, Infer: inferDequantize, Eval: dequantize},
	{Name: "DynamicQuantizeLinear", Since: 11, Infer: inferDynamicQuantize, Eval: dynamicQuantize},
	{Name: "MatMulInteger", Since: 10, Infer: inferMatMulInteger, Eval: matmulInteger},
}
