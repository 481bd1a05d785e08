package ops

import (
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// convAttrs are the attributes that convolutions and poolings share.
var convAttrs = []string{"auto_pad", "ceil_mode", "count_include_pad", "dilations", "group", "kernel_shape", "output_padding", "pads", "strides"}

// toFirst and toLast are the orders of axes that bring the channels before the
// spatial axes, and behind them.
func toFirst(rank int) []int {
	perm := []int{0, rank - 1}
	for i := 1; i < rank-1; i++ {
		perm = append(perm, i)
	}
	return perm[:rank]
}

func toLast(rank int) []int {
	perm := []int{0}
	for i := 2; i < rank; i++ {
		perm = append(perm, i)
	}
	return append(perm, 1)[:rank]
}

// channelsFirst and channelsLast move the channels; what has no axis to move
// stays as it is, for the kernels to refuse.
func (c *Call) channelsFirst(a *array.Array) (*array.Array, error) {
	if a == nil || a.Rank() < 3 {
		return a, nil
	}
	return c.permuted(a, toFirst(a.Rank()))
}

func (c *Call) channelsLast(a *array.Array) (*array.Array, error) {
	if a == nil || a.Rank() < 3 {
		return a, nil
	}
	return c.permuted(a, toLast(a.Rank()))
}

// dimsFirst and dimsLast are the same of sizes.
func dimsFirst(dims []sym.Expr) []sym.Expr { return permutedDims(dims, toFirst) }

func dimsLast(dims []sym.Expr) []sym.Expr { return permutedDims(dims, toLast) }

func permutedDims(dims []sym.Expr, order func(int) []int) []sym.Expr {
	if len(dims) < 3 {
		return slices.Clone(dims)
	}
	out := make([]sym.Expr, len(dims))
	for i, axis := range order(len(dims)) {
		out[i] = dims[axis]
	}
	return out
}

// layout says which operands of a convolution have their channels last.
type layout struct{ data, weights bool }

// fusedConv makes a convolution that may add input 3 and end in an activation.
func fusedConv(l layout) func(*Call) error {
	return func(c *Call) error {
		in, err := c.needs(2)
		if err != nil {
			return err
		}
		in = append(in, c.Array(2), c.Array(3))
		for i, last := range []bool{l.data, l.weights, false, l.data} {
			if last {
				if in[i], err = c.channelsFirst(in[i]); err != nil {
					return err
				}
			}
		}
		y, err := c.part(conv, c.attrsOf(convAttrs...), in[:3]...)
		if err != nil {
			return err
		}
		if y, err = c.finished(y, in[3]); err != nil {
			return err
		}
		if l.data {
			y, err = c.channelsLast(y)
		}
		c.Out[0] = y
		return err
	}
}

// finished adds z, when given, and evaluates the activation, when there is one.
func (c *Call) finished(y, z *array.Array) (_ *array.Array, err error) {
	if y, err = c.total(y, z); err != nil || !c.HasAttr("activation") {
		return y, err
	}
	return c.fused(y, c.Str("activation"), c.Floats("activation_params"))
}

func inferFusedConv(l layout) func(*Infer) error {
	return func(c *Infer) error {
		x, w := c.Fact(0), c.Fact(1)
		if l.data {
			x.Dims = dimsFirst(x.Dims)
		}
		if l.weights {
			w.Dims = dimsFirst(w.Dims)
		}
		out, err := c.part(inferConv, c.attrsOf(convAttrs...), x, w)
		if l.data {
			out.Dims = dimsLast(out.Dims)
		}
		c.Set(0, out)
		return err
	}
}

func nhwcMaxPool(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	if a, err = c.channelsFirst(a); err != nil {
		return err
	}
	y, err := c.part(maxPool, c.attrsOf(convAttrs...), a)
	if err != nil {
		return err
	}
	c.Out[0], err = c.channelsLast(y)
	return err
}

func inferNhwcPool(c *Infer) error {
	f := c.Fact(0)
	f.Dims = dimsFirst(f.Dims)
	out, err := c.part(inferPool, c.attrsOf(convAttrs...), f)
	out.Dims = dimsLast(out.Dims)
	c.Set(0, out)
	return err
}

// dynamicPadsAttrs are the attributes of a ConvTranspose whose pads input 2 gives.
func (s *Site) dynamicPadsAttrs(pads []int) []*ir.Attr {
	attrs := s.attrsOf("auto_pad", "dilations", "group", "kernel_shape", "output_padding", "strides")
	if pads == nil {
		return attrs
	}
	wide := make([]int64, len(pads))
	for i, p := range pads {
		wide[i] = int64(p)
	}
	return append(attrs, ir.NewAttr("pads", wide))
}

func convTransposeWithDynamicPads(c *Call) error {
	in, err := c.needs(2)
	if err != nil {
		return err
	}
	var pads []int
	if c.Has(2) {
		if pads, err = c.IntsAt(2); err != nil {
			return err
		}
	}
	c.Out[0], err = c.part(convTranspose, c.dynamicPadsAttrs(pads), in[0], in[1], c.Array(3))
	return err
}

func inferConvTransposeWithDynamicPads(c *Infer) error {
	pads, known := c.IntsAt(2)
	out, err := c.part(inferConvTranspose, c.dynamicPadsAttrs(pads), c.Fact(0), c.Fact(1))
	if c.HasIn(2) && !known {
		for i := 2; i < len(out.Dims); i++ {
			out.Dims[i] = sym.Expr{}
		}
	}
	c.Set(0, out)
	return err
}

var contribConvOps = []Op{
	{Domain: contribDomain, Name: "FusedConv", Since: 1, Infer: inferFusedConv(layout{}), Eval: fusedConv(layout{})},
	{Domain: contribDomain, Name: "NhwcConv", Since: 1, Infer: inferFusedConv(layout{data: true, weights: true}), Eval: fusedConv(layout{data: true, weights: true})},
	{Domain: contribDomain, Name: "NhwcFusedConv", Since: 1, Infer: inferFusedConv(layout{data: true}), Eval: fusedConv(layout{data: true})},
	{Domain: contribDomain, Name: "NhwcMaxPool", Since: 1, Infer: inferNhwcPool, Eval: nhwcMaxPool},
	{Domain: contribDomain, Name: "ConvTransposeWithDynamicPads", Since: 1, Infer: inferConvTransposeWithDynamicPads, Eval: convTransposeWithDynamicPads},
}
