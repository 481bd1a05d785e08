package ops

import (
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// The operators of this file have an inference and no kernel: they are written
// for accelerators, for training, or around a whole decoder.

// inferBiasDropout infers the result, and a mask of its shape, or of its bits.
func inferBiasDropout(mask array.DType) func(*Infer) error {
	return func(c *Infer) error {
		f := c.Fact(0)
		c.Set(0, TensorFact(f.DType, f.Dims))
		if mask == array.Bool {
			c.Set(1, TensorFact(array.Bool, f.Dims))
			return nil
		}
		bits := sym.Expr{}
		if f.Dims != nil {
			bits = sym.Product(f.Dims).CeilDiv(sym.Int(32))
		}
		c.Set(1, TensorFact(mask, []sym.Expr{bits}))
		return nil
	}
}

// withLast replaces the last of the sizes of input 0.
func (c *Infer) withLast(d sym.Expr) []sym.Expr {
	dims := slices.Clone(c.Fact(0).Dims)
	if len(dims) == 0 {
		return nil
	}
	dims[len(dims)-1] = d
	return dims
}

// inferPackedAttention infers tokens of all batches in one row each; the width is
// that of the values.
func inferPackedAttention(c *Infer) error {
	w := c.Fact(1).Dims
	width := sym.Expr{}
	if sizes := c.Ints("qkv_hidden_sizes"); len(sizes) == 3 {
		width = sym.Int(int64(sizes[2]))
	} else if len(w) == 2 {
		width = w[1].FloorDiv(sym.Int(3))
	}
	c.Set(0, TensorFact(c.Fact(0).DType, c.withLast(width)))
	return nil
}

func inferPackedMultiHead(c *Infer) error {
	q, v := c.Fact(0), c.Fact(2)
	out := TensorFact(q.DType, nil)
	switch {
	case c.HasIn(2) && len(q.Dims) == 2 && len(v.Dims) == 2:
		out.Dims = []sym.Expr{q.Dims[0], v.Dims[1]}
	case !c.HasIn(1) && len(q.Dims) == 4: // [tokens, heads, 3, size]
		out.Dims = []sym.Expr{q.Dims[0], q.Dims[1].Mul(q.Dims[3])}
	}
	c.Set(0, out)
	return nil
}

// inferRelativePositionBias infers one bias for each head, query and key.
func inferRelativePositionBias(c *Infer) error {
	table := c.Fact(0)
	out := TensorFact(table.DType, []sym.Expr{sym.Int(1), {}, {}, {}})
	if len(table.Dims) == 2 {
		out.Dims[1] = table.Dims[1]
	}
	for i := 1; i < 3; i++ {
		if n := c.ElemsAt(i); len(n) == 1 {
			out.Dims[i+1] = n[0]
		}
	}
	c.Set(0, out)
	return nil
}

// inferSearch infers the tokens that a search makes: for each row, as many as the
// input of returned sequences says, of the maximal length, input 1.
func inferSearch(returned int) func(*Infer) error {
	return func(c *Infer) error {
		scalar := func(i int) sym.Expr {
			if es := c.ElemsAt(i); len(es) == 1 {
				return es[0]
			}
			return sym.Expr{}
		}
		out := TensorFact(array.Int32, nil)
		if ids := c.Fact(0).Dims; len(ids) > 0 {
			out.Dims = []sym.Expr{ids[0], scalar(1)}
			if returned >= 0 {
				out.Dims = []sym.Expr{ids[0], scalar(returned), scalar(1)}
			}
		}
		c.Set(0, out)
		return nil
	}
}

func inferMulInteger(c *Infer) error {
	c.Set(0, TensorFact(array.Int32, slices.Clone(broadcastDims(c.Fact(0).Dims, c.Fact(2).Dims))))
	return nil
}

func inferReduceSumInteger(c *Infer) error {
	if err := inferQLinearReduceMean(c); err != nil {
		return err
	}
	types := map[array.DType]array.DType{array.Int8: array.Int32, array.Uint8: array.Uint32}
	if len(c.Out) > 0 {
		c.Out[0].DType = types[c.Fact(0).DType]
	}
	return nil
}

func inferQEmbedLayerNorm(c *Infer) error {
	outs, err := c.parted(inferEmbedLayerNorm, 2, nil, c.Fact(0), c.Fact(1), c.Fact(2))
	outs[0].DType = c.Fact(8).DType
	c.Set(0, outs[0])
	c.Set(1, outs[1])
	return err
}

var contribDeclaredOps = []Op{
	{Domain: contribDomain, Name: "BiasDropout", Since: 1, Infer: inferBiasDropout(array.Bool)},
	{Domain: contribDomain, Name: "BitmaskDropout", Since: 1, Infer: inferBiasDropout(array.Uint32)},
	{Domain: contribDomain, Name: "BitmaskBiasDropout", Since: 1, Infer: inferBiasDropout(array.Uint32)},
	{Domain: contribDomain, Name: "BeamSearch", Since: 1, Infer: inferSearch(4)},
	{Domain: contribDomain, Name: "GreedySearch", Since: 1, Infer: inferSearch(-1)},
	{Domain: contribDomain, Name: "Sampling", Since: 1, Infer: inferSearch(-1)},
	{Domain: contribDomain, Name: "PackedAttention", Since: 1, Infer: inferPackedAttention},
	{Domain: contribDomain, Name: "PackedMultiHeadAttention", Since: 1, Infer: inferPackedMultiHead},
	{Domain: contribDomain, Name: "RelativePositionBias", Since: 1, Infer: inferRelativePositionBias},
	{Domain: contribDomain, Name: "MulInteger", Since: 1, Infer: inferMulInteger},
	{Domain: contribDomain, Name: "ReduceSumInteger", Since: 1, Infer: inferReduceSumInteger},
	{Domain: contribDomain, Name: "QEmbedLayerNormalization", Since: 1, Infer: inferQEmbedLayerNorm},
	{Domain: contribDomain, Name: "MoE", Since: 1, Infer: inferSame},
	{Domain: contribDomain, Name: "QMoE", Since: 1, Infer: inferSame},
	{Domain: contribDomain, Name: "GemmaRotaryEmbedding", Since: 1, Infer: inferGemmaRotary},
}

// inferGemmaRotary gives both outputs what the queries and the keys are.
func inferGemmaRotary(c *Infer) error {
	for i, of := range []int{1, 3} {
		f := c.Fact(of)
		c.Set(i, TensorFact(f.DType, f.Dims))
	}
	return nil
}
