package ops

import (
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// inferSimplifiedNorm is inferLayerNorm of an operator with one statistic.
func inferSimplifiedNorm(c *Infer) error {
	if err := inferLayerNorm(c); err != nil {
		return err
	}
	c.Set(2, Fact{})
	return nil
}

// skipNorm normalizes the sum of input, skip and bias over the last axis. The
// outputs are the result, the statistics, and the sum.
func skipNorm(simplified bool) func(*Call) error {
	return func(c *Call) error {
		in, err := c.needs(3)
		if err != nil {
			return err
		}
		beta, bias := c.Array(3), c.Array(4)
		if simplified {
			beta, bias = nil, c.Array(3)
		}
		if in[0].Rank() < 2 || len(in[2].Shape()) != 1 || in[2].Size() != in[0].Shape()[in[0].Rank()-1] {
			return c.Errorf("inputs: got %s and scale %s, want rank 2 or more and one number for each element of the last axis", in[0].Summary(), in[2].Summary())
		}
		s, err := c.sameShape(in[0], in[1], bias)
		if err != nil {
			return err
		}
		if c.Wants(3) {
			if c.Out[3], err = s.Cast(in[0].DType()); err != nil {
				return err
			}
		}
		return c.normalizeLast(simplified, s, in[2], beta, in[0].DType())
	}
}

// sameShape adds arrays, in float32 at least, to the first one's shape.
func (c *Call) sameShape(as ...*array.Array) (*array.Array, error) {
	terms := make([]*array.Array, len(as))
	for i, a := range as {
		if a == nil {
			continue
		}
		w, _, err := widened(a)
		if err != nil {
			return nil, err
		}
		terms[i] = w
	}
	s, err := c.total(terms...)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(s.Shape(), as[0].Shape()) {
		return nil, c.Errorf("inputs: got %s and a sum of shape %v, want the input's shape", as[0].Summary(), s.Shape())
	}
	return s, nil
}

// normalizeLast fills outputs 0 to 2 of a normalization of x over its last axis:
// the result as type dt, the means, and 1 over the deviations. A simplified one
// has no means.
func (c *Call) normalizeLast(simplified bool, x, scale, beta *array.Array, dt array.DType) error {
	kernel, stats := layerNorm, []int{0, 1, 2}
	if simplified {
		kernel, stats, beta = rmsNorm, []int{0, -1, 1}, nil
	}
	outs, err := c.parted(kernel, 3, c.attrsOf("epsilon"), x, scale, beta)
	if err != nil {
		return err
	}
	if c.Out[0], err = outs[0].(*array.Array).Cast(dt); err != nil {
		return err
	}
	for i := 1; i < 3; i++ {
		if k := stats[i]; k >= 0 && c.Wants(i) {
			c.Out[i] = outs[k]
		}
	}
	return nil
}

func inferSkipNorm(c *Infer) error {
	f := c.Fact(0)
	stats := TensorFact(array.Float32, slices.Clone(f.Dims))
	if n := len(stats.Dims); n > 0 {
		stats.Dims[n-1] = sym.Int(1)
	}
	for i, out := range []Fact{TensorFact(f.DType, f.Dims), stats, stats, TensorFact(f.DType, f.Dims)} {
		c.Set(i, out)
	}
	return nil
}

// embedLayerNorm adds the embeddings of words, positions and segments and
// normalizes the sum; output 1 counts the ones of each row of the mask.
func embedLayerNorm(c *Call) error {
	ids, err := c.Need(0)
	if err != nil {
		return err
	}
	if ids.Rank() != 2 {
		return c.Errorf("input 0: got %s, want [batch, length]", ids.Summary())
	}
	var tables [3]*array.Array
	for i, at := range []int{2, 3, 4} {
		if at < 4 || c.Has(at) {
			if tables[i], err = c.Need(at); err != nil {
				return err
			}
		}
	}
	positions, err := c.positions(ids.Shape())
	if err != nil {
		return err
	}
	terms := make([]*array.Array, 3)
	for i, index := range []*array.Array{ids, positions, c.Array(1)} {
		if tables[i] == nil || index == nil {
			continue
		}
		if terms[i], err = c.part(gather, nil, tables[i], index); err != nil {
			return err
		}
	}
	s, err := c.sameShape(terms...)
	if err != nil {
		return err
	}
	return c.embedded(s, ids.Shape(), tables[0].DType())
}

// positions are input 8, or 0, 1, … for each row.
func (c *Call) positions(shape []int) (*array.Array, error) {
	if c.Has(8) {
		a, err := c.Need(8)
		if err != nil {
			return nil, err
		}
		if err := c.CheckSize(array.Int64, shape); err != nil {
			return nil, err
		}
		return a.BroadcastTo(shape)
	}
	row := make([]int64, shape[1])
	for i := range row {
		row[i] = int64(i)
	}
	return array.FromSlice(row, 1, shape[1]).BroadcastTo(shape)
}

func (c *Call) embedded(s *array.Array, shape []int, dt array.DType) error {
	scale, err := c.Need(5)
	if err != nil {
		return err
	}
	beta, err := c.Need(6)
	if err != nil {
		return err
	}
	if c.Wants(2) {
		if c.Out[2], err = s.Cast(dt); err != nil {
			return err
		}
	}
	if c.Out[0], err = c.part(layerNorm, c.attrsOf("epsilon"), s, scale, beta); err != nil {
		return err
	}
	if c.Out[0], err = c.Out[0].(*array.Array).Cast(dt); err != nil || !c.Wants(1) {
		return err
	}
	counts := make([]int32, shape[0])
	if c.Has(7) {
		mask, err := c.IntsAt(7)
		if err != nil {
			return err
		}
		if len(mask) != shape[0]*shape[1] {
			return c.Errorf("input 7: got %d elements, want %d", len(mask), shape[0]*shape[1])
		}
		for i, m := range mask {
			if m == 1 {
				counts[i/shape[1]]++
			}
		}
	}
	c.Out[1] = array.FromSlice(counts, shape[0])
	return nil
}

func inferEmbedLayerNorm(c *Infer) error {
	ids, words := c.Fact(0), c.Fact(2)
	out := TensorFact(words.DType, nil)
	counts := TensorFact(array.Int32, []sym.Expr{{}})
	if len(ids.Dims) == 2 {
		counts.Dims[0] = ids.Dims[0]
		if len(words.Dims) == 2 {
			out.Dims = []sym.Expr{ids.Dims[0], ids.Dims[1], words.Dims[1]}
		}
	}
	c.Set(0, out)
	c.Set(1, counts)
	c.Set(2, out)
	return nil
}

// contribGroupNorm is GroupNormalization, its channels last unless the attribute
// says otherwise, with an activation (1: SiLU).
func contribGroupNorm(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	c.Out[0], err = c.groupNormed(a, a.DType())
	return err
}

func (c *Call) groupNormed(a *array.Array, dt array.DType) (*array.Array, error) {
	in, err := c.needs(3)
	if err != nil {
		return nil, err
	}
	if a.Rank() < 3 {
		return nil, c.Errorf("input 0: got %s, want rank 3 or more", a.Summary())
	}
	last := c.Int("channels_last") != 0
	if last {
		if a, err = c.channelsFirst(a); err != nil {
			return nil, err
		}
	}
	if a, _, err = widened(a); err != nil {
		return nil, err
	}
	attrs := append(c.attrsOf("epsilon"), ir.NewAttr("num_groups", int64(c.Int("groups"))))
	y, err := c.part(groupNorm, attrs, a, in[1], in[2])
	if err != nil {
		return nil, err
	}
	switch act := c.Int("activation"); act {
	case 0:
	case 1:
		if y, err = c.part(kernelIn(activationOps, "Swish"), nil, y); err != nil {
			return nil, err
		}
	default:
		return nil, c.Errorf("attribute \"activation\": got %d, want 0 or 1", act)
	}
	if last {
		if y, err = c.channelsLast(y); err != nil {
			return nil, err
		}
	}
	return y.Cast(dt)
}

// skipGroupNorm is GroupNorm of the sum of input, skip and bias.
func skipGroupNorm(c *Call) error {
	in, err := c.needs(4)
	if err != nil {
		return err
	}
	x, skip := in[0], in[3]
	if skip.Rank() == 2 && x.Rank() > 2 { // one number for each channel of each image
		shape := append(append([]int{skip.Shape()[0]}, ones(x.Rank()-2)...), skip.Shape()[1])
		if skip, err = skip.Reshape(shape...); err != nil {
			return err
		}
	}
	s, err := c.sameShape(x, skip, c.Array(4))
	if err != nil {
		return err
	}
	if c.Wants(1) {
		if c.Out[1], err = s.Cast(x.DType()); err != nil {
			return err
		}
	}
	c.Out[0], err = c.groupNormed(s, x.DType())
	return err
}

func inferSkipGroupNorm(c *Infer) error {
	f := c.Fact(0)
	c.Set(0, TensorFact(f.DType, f.Dims))
	c.Set(1, TensorFact(f.DType, f.Dims))
	return nil
}

var contribNormOps = []Op{
	{Name: "LayerNormalization", Since: 1, Infer: inferLayerNorm, Eval: layerNorm},
	{Name: "SimplifiedLayerNormalization", Since: 1, Infer: inferSimplifiedNorm, Eval: rmsNorm},
	{Domain: contribDomain, Name: "SkipLayerNormalization", Since: 1, Infer: inferSkipNorm, Eval: skipNorm(false)},
	{Domain: contribDomain, Name: "SkipSimplifiedLayerNormalization", Since: 1, Infer: inferSkipNorm, Eval: skipNorm(true)},
	{Domain: contribDomain, Name: "EmbedLayerNormalization", Since: 1, Infer: inferEmbedLayerNorm, Eval: embedLayerNorm},
	{Domain: contribDomain, Name: "GroupNorm", Since: 1, Infer: inferSame, Eval: contribGroupNorm},
	{Domain: contribDomain, Name: "SkipGroupNorm", Since: 1, Infer: inferSkipGroupNorm, Eval: skipGroupNorm},
}
