package ops

import (
	"math"

	"github.com/starlarkgs/starlarkgs/array"
)

// centered is input i less its zero point, input j, as float64, in which sums of
// products of bytes are exact. A zero point of several elements goes along the
// first axis.
func (c *Call) centered(i, j int) (*array.Array, error) {
	a, err := c.Need(i)
	if err != nil {
		return nil, err
	}
	x, err := a.Float64s()
	if err != nil {
		return nil, err
	}
	if c.Has(j) {
		z, err := c.Need(j)
		if err != nil {
			return nil, err
		}
		zero, err := z.Float64s()
		if err != nil {
			return nil, err
		}
		if len(zero) != 1 && (a.Rank() == 0 || len(zero) != a.Shape()[0]) {
			return nil, c.Errorf("input %d: got %d zero points for %s, want 1, or one for each of the first axis", j, len(zero), a.Summary())
		}
		per := max(1, len(x)/max(1, len(zero)))
		for k := range x {
			x[k] -= zero[min(k/per, len(zero)-1)]
		}
	}
	return array.FromSlice(x, len(x)).Reshape(a.Shape()...)
}

// integerConv convolves inputs x and w with their zero points taken off.
func (c *Call) integerConv(x, xZero, w, wZero int) (*array.Array, error) {
	a, err := c.centered(x, xZero)
	if err != nil {
		return nil, err
	}
	b, err := c.centered(w, wZero)
	if err != nil {
		return nil, err
	}
	part := *c
	part.In, part.Out = []array.Value{a, b}, make([]array.Value, 1)
	if err := conv(&part); err != nil {
		return nil, err
	}
	return part.Out[0].(*array.Array), nil
}

func convInteger(c *Call) error {
	y, err := c.integerConv(0, 2, 1, 3)
	if err != nil {
		return err
	}
	c.Out[0], err = y.CastWith(array.Int32, true)
	return err
}

func inferConvInteger(c *Infer) error {
	if err := inferConv(c); err != nil {
		return err
	}
	c.Out[0].DType = array.Int32
	return nil
}

// qlinearConv convolves what is quantized and quantizes the result.
func qlinearConv(c *Call) error {
	for i := range 8 {
		if _, err := c.Need(i); err != nil {
			return err
		}
	}
	y, err := c.integerConv(0, 2, 3, 5)
	if err != nil {
		return err
	}
	var scales [3][]float64
	for i, at := range []int{1, 4, 6} {
		if scales[i], err = c.Array(at).Float64s(); err != nil {
			return err
		}
	}
	channels := y.Shape()[1]
	if len(scales[0]) != 1 || len(scales[2]) != 1 || len(scales[1]) != 1 && len(scales[1]) != channels {
		return c.Errorf("scales: got %d, %d and %d numbers, want 1, 1 or %d, and 1", len(scales[0]), len(scales[1]), len(scales[2]), channels)
	}
	bias := make([]float64, channels)
	if c.Has(8) {
		b, err := c.Need(8)
		if err != nil {
			return err
		}
		if bias, err = b.Float64s(); err != nil {
			return err
		}
		if len(bias) != channels {
			return c.Errorf("input 8: got %d elements, want %d, one for each output channel", len(bias), channels)
		}
	}
	zero, err := c.Array(7).Float64s()
	if err != nil {
		return err
	}
	if len(zero) != 1 {
		return c.Errorf("input 7: got %d elements, want 1", len(zero))
	}
	x := array.MutableData[float64](y)
	dt, per := c.Array(7).DType(), sizeOf(y.Shape()[2:])
	for i, v := range x {
		ch := i / per % channels
		scale := float32(scales[0][0]) * float32(scales[1][min(ch, len(scales[1])-1)]) / float32(scales[2][0])
		x[i] = clampTo(dt, math.RoundToEven(float64(float32(v+bias[ch])*scale))+zero[0])
	}
	c.Out[0], err = y.Cast(dt)
	return err
}

// inferQLinearConv is inferConv of inputs 0 and 3.
func inferQLinearConv(c *Infer) error {
	part := *c
	part.In = []Fact{c.Fact(0), c.Fact(3)}
	if err := inferConv(&part); err != nil {
		return err
	}
	if len(c.Out) > 0 {
		c.Out[0].DType = c.Fact(7).DType
	}
	return nil
}

var qconvOps = []Op{
	{Name: "ConvInteger", Since: 10, Infer: inferConvInteger, Eval: convInteger},
	{Name: "QLinearConv", Since: 10, Infer: inferQLinearConv, Eval: qlinearConv},
}
