package ops

import (
	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// The numbers that four bits stand for in the two types of MatMulBnb4, by the
// attribute quant_type: a float of 4 bits, and the quantiles of a normal
// distribution.
var bnb4 = [2][16]float32{
	{0, 1.0 / 192, 2.0 / 3, 1, 1.0 / 3, 1.0 / 2, 1.0 / 6, 1.0 / 4, 0, -1.0 / 192, -2.0 / 3, -1, -1.0 / 3, -1.0 / 2, -1.0 / 6, -1.0 / 4},
	{-1, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0,
		0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1},
}

// matMulBnb4 multiplies by weights of four bits, two in a byte, the first in its
// high bits, and a scale for each block of the N rows of K laid end to end.
func matMulBnb4(c *Call) error {
	in, err := c.needs(3)
	if err != nil {
		return err
	}
	n, k, block, kind := c.Int("N"), c.Int("K"), c.Int("block_size"), c.Int("quant_type")
	if n < 1 || k < 1 || block < 1 || kind < 0 || kind > 1 {
		return c.Errorf("attributes: got N = %d, K = %d, block_size = %d, quant_type = %d, want sizes above 0, and 0 or 1", n, k, block, kind)
	}
	if err := c.CheckSize(array.Float32, []int{n, k}); err != nil {
		return err
	}
	codes, scales := in[1], in[2]
	if codes.DType() != array.Uint8 || codes.Size() != (n*k+1)/2 || scales.Size() != (n*k-1)/block+1 {
		return c.Errorf("inputs: got %s and %s, want %d bytes and %d scales", codes.Summary(), scales.Summary(), (n*k+1)/2, (n*k-1)/block+1)
	}
	s, err := scales.Float64s()
	if err != nil {
		return err
	}
	bytes := array.Data[uint8](codes.Contiguous())
	w := make([]float32, n*k)
	for i := range w {
		code := bytes[i/2] >> (4 * (1 - i%2)) & 15
		w[i] = bnb4[kind][code] * float32(s[i/block])
	}
	dense := array.FromSlice(w, n, k)
	if c.IntOr("transB", 1) != 0 {
		if dense, err = c.permuted(dense, []int{1, 0}); err != nil {
			return err
		}
	}
	wide, err := in[0].Cast(array.Float32)
	if err != nil {
		return err
	}
	y, err := c.part(matmul, nil, wide, dense)
	if err != nil {
		return err
	}
	c.Out[0], err = y.Cast(in[0].DType())
	return err
}

func inferMatMulBnb4(c *Infer) error {
	shape := []int{c.Int("K"), c.Int("N")}
	if c.IntOr("transB", 1) == 0 {
		shape[0], shape[1] = shape[1], shape[0]
	}
	a := c.Fact(0)
	out, err := c.part(inferMatMul, nil, a, TensorFact(a.DType, sym.Ints(shape)))
	c.Set(0, out)
	return err
}

var contribBnbOps = []Op{
	{Domain: contribDomain, Name: "MatMulBnb4", Since: 1, Infer: inferMatMulBnb4, Eval: matMulBnb4},
}
