package ops

import (
	"math"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/par"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// scaledProduct turns an integer product into what it stands for, in float32:
// scaled by both operands' scales, one for all or one for each column, plus a bias.
func (c *Call) scaledProduct(product, aScale, bScale, bias *array.Array) (*array.Array, error) {
	in := []*array.Array{product, aScale, bScale, bias}
	for i, a := range in {
		if a == nil {
			continue
		}
		w, err := a.Cast(array.Float32)
		if err != nil {
			return nil, err
		}
		in[i] = w
	}
	scale, err := c.part(mulKernel, nil, in[1], in[2])
	if err != nil {
		return nil, err
	}
	y, err := c.part(mulKernel, nil, in[0], scale)
	if err != nil {
		return nil, err
	}
	return c.total(y, in[3])
}

// perColumn lays numbers, one for each column of stacked matrices, out to
// broadcast with their product.
func perColumn(a *array.Array) (*array.Array, error) {
	if a == nil || a.Rank() < 2 {
		return a, nil
	}
	s := a.Shape()
	shape := append(append([]int{}, s[:len(s)-1]...), 1, s[len(s)-1])
	if s[len(s)-2] == 1 {
		return a, nil
	}
	return a.Reshape(shape...)
}

// matMulIntegerToFloat is MatMulInteger, scaled, plus a bias.
func matMulIntegerToFloat(c *Call) error {
	in, err := c.needs(4)
	if err != nil {
		return err
	}
	y, err := c.integerProduct(in[0], in[1], in[2], in[3], c.Array(4), c.Array(5), c.Array(6))
	if err != nil {
		return err
	}
	c.Out[0], err = y.Cast(in[2].DType())
	return err
}

func (c *Call) integerProduct(a, b, aScale, bScale, aZero, bZero, bias *array.Array) (_ *array.Array, err error) {
	if bZero, err = perColumn(bZero); err != nil {
		return nil, err
	}
	if bScale, err = perColumn(bScale); err != nil {
		return nil, err
	}
	product, err := c.part(matmulInteger, nil, a, b, aZero, bZero)
	if err != nil {
		return nil, err
	}
	return c.scaledProduct(product, aScale, bScale, bias)
}

func inferMatMulIntegerToFloat(c *Infer) error {
	out, err := c.part(inferMatMul, nil, c.Fact(0), c.Fact(1))
	out.DType = c.Fact(2).DType
	c.Set(0, out)
	return err
}

// dynamicQuantizeMatMul quantizes the first operand by its range and multiplies
// as integers.
func dynamicQuantizeMatMul(c *Call) error {
	in, err := c.needs(3)
	if err != nil {
		return err
	}
	q, err := c.parted(dynamicQuantize, 3, nil, in[0])
	if err != nil {
		return err
	}
	a, scale, zero := q[0].(*array.Array), q[1].(*array.Array), q[2].(*array.Array)
	y, err := c.integerProduct(a, in[1], scale, in[2], zero, c.Array(3), c.Array(4))
	if err != nil {
		return err
	}
	c.Out[0], err = y.Cast(in[0].DType())
	return err
}

func inferDynamicQuantizeMatMul(c *Infer) error {
	out, err := c.part(inferMatMul, nil, c.Fact(0), c.Fact(1))
	c.Set(0, out)
	return err
}

// qgemm is Gemm of quantized matrices and a bias that has the scale of their
// product. Without a scale of the result that is float32.
func qgemm(c *Call) error {
	for i := range 6 {
		if _, err := c.Need(i); err != nil {
			return err
		}
	}
	var sides [2]*array.Array
	for i, name := range []string{"transA", "transB"} {
		a, err := c.centeredLast(3*i, 3*i+2)
		if err != nil {
			return err
		}
		if a.Rank() != 2 {
			return c.Errorf("input %d: got %s, want a matrix", 3*i, c.Array(3*i).Summary())
		}
		if sides[i] = a; c.Int(name) != 0 {
			if sides[i], err = c.permuted(a, []int{1, 0}); err != nil {
				return err
			}
		}
	}
	product, err := c.part(matmul, nil, sides[:]...)
	if err != nil {
		return err
	}
	if c.Has(6) {
		bias, err := c.Array(6).Cast(array.Float64)
		if err != nil {
			return err
		}
		if product, err = c.part(addKernel, nil, product, bias); err != nil {
			return err
		}
	}
	return c.qgemmResult(product)
}

// centeredLast is input i less its zero point, input j, as float64; several zero
// points go along the columns of the product, whichever axis these are.
func (c *Call) centeredLast(i, j int) (*array.Array, error) {
	a, err := c.Array(i).Cast(array.Float64)
	if err != nil {
		return nil, err
	}
	zero, err := c.Array(j).Cast(array.Float64)
	if err != nil {
		return nil, err
	}
	if zero.Size() > 1 && c.Int("transB") != 0 {
		if zero, err = zero.Reshape(zero.Size(), 1); err != nil {
			return nil, err
		}
	}
	return c.part(elementwise(arith{f64: func(x, y float64) float64 { return x - y }}), nil, a, zero)
}

func (c *Call) qgemmResult(product *array.Array) error {
	y, err := c.scaledProduct(product, c.Array(1), c.Array(4), nil)
	if err != nil {
		return err
	}
	if y, err = c.times(y, c.FloatOr("alpha", 1)); err != nil || !c.Has(7) {
		c.Out[0] = y
		return err
	}
	zero, err := c.Need(8)
	if err != nil {
		return err
	}
	c.Out[0], err = c.quantized(y, quantity{-1, 7, 8}, zero.DType())
	return err
}

func inferQGemm(c *Infer) error {
	out, err := c.part(inferGemm, c.attrsOf("transA", "transB"), c.Fact(0), c.Fact(3))
	out.DType = c.Fact(1).DType
	if c.HasIn(7) {
		out.DType = c.Fact(8).DType
	}
	c.Set(0, out)
	return err
}

// blockWeights are weights of 2, 4 or 8 bits, in blocks along their rows that
// have a scale and a zero point each.
type blockWeights struct {
	n, k, bits, size, blocks int
	b                        []uint8
	scales, zeros            []float64
	group                    []int // the block of each column; nil: as they come
}

func (c *Call) blockWeights() (*blockWeights, error) {
	w := &blockWeights{n: c.Int("N"), k: c.Int("K"), bits: c.IntOr("bits", 4), size: c.Int("block_size")}
	if w.n < 1 || w.k < 1 || w.size < 8 || w.bits != 2 && w.bits != 4 && w.bits != 8 {
		return nil, c.Errorf("attributes: got N = %d, K = %d, block_size = %d, bits = %d, want sizes above 0, blocks of 8 or more, and 2, 4 or 8 bits", w.n, w.k, w.size, w.bits)
	}
	w.blocks = (w.k-1)/w.size + 1
	in, err := c.needs(3)
	if err != nil {
		return nil, err
	}
	if in[1].DType() != array.Uint8 || in[1].Size()/w.n != w.blocks*w.size*w.bits/8 || in[1].Size()%w.n != 0 {
		return nil, c.Errorf("input 1: got %s, want %d rows of %d blocks of %d bytes", in[1].Summary(), w.n, w.blocks, w.size*w.bits/8)
	}
	w.b = array.Data[uint8](in[1].Contiguous())
	if w.scales, err = in[2].Float64s(); err != nil {
		return nil, err
	}
	if len(w.scales) != w.n*w.blocks {
		return nil, c.Errorf("input 2: got %d scales, want %d for %d rows", len(w.scales), w.blocks, w.n)
	}
	if err := w.loadZeros(c); err != nil {
		return nil, err
	}
	return w, w.loadGroups(c)
}

// loadZeros reads the zero points: packed as the weights are, each row padded to
// a byte, or numbers of the scales' type; half the range where none are given.
func (w *blockWeights) loadZeros(c *Call) error {
	w.zeros = make([]float64, w.n*w.blocks)
	if !c.Has(3) {
		for i := range w.zeros {
			w.zeros[i] = math.Ldexp(1, w.bits-1)
		}
		return nil
	}
	a, err := c.Need(3)
	if err != nil {
		return err
	}
	row := (w.blocks*w.bits + 7) / 8
	packed := a.DType() == array.Uint8
	if packed && a.Size() != w.n*row || !packed && a.Size() != len(w.zeros) {
		return c.Errorf("input 3: got %s, want a zero point for each of %d blocks of %d rows", a.Summary(), w.blocks, w.n)
	}
	if !packed {
		w.zeros, err = a.Float64s()
		return err
	}
	bytes := array.Data[uint8](a.Contiguous())
	for i := range w.zeros {
		w.zeros[i] = float64(unpackBits(bytes[i/w.blocks*row:], i%w.blocks, w.bits))
	}
	return nil
}

func (w *blockWeights) loadGroups(c *Call) error {
	if !c.Has(4) {
		return nil
	}
	group, err := c.IntsAt(4)
	if err != nil {
		return err
	}
	if len(group) < w.k {
		return c.Errorf("input 4: got %d elements, want %d", len(group), w.k)
	}
	for _, g := range group {
		if g < 0 || g >= w.blocks {
			return c.Errorf("input 4: got block %d, want 0 to %d", g, w.blocks-1)
		}
	}
	w.group = group
	return nil
}

// unpackBits returns number i of those that lie in the bytes, lowest bits first.
func unpackBits(bytes []uint8, i, bits int) int {
	per := 8 / bits
	return int(bytes[i/per]) >> (i % per * bits) & (1<<bits - 1)
}

// dense returns the weights as a matrix of K rows and N columns.
func (w *blockWeights) dense() []float32 {
	out := make([]float32, w.k*w.n)
	row := w.blocks * w.size * w.bits / 8
	par.For(w.n, max(1, rowGrain/w.k), func(lo, hi int) {
		for n := lo; n < hi; n++ {
			for k := range w.k {
				g := k / w.size
				if w.group != nil {
					g = w.group[k]
				}
				v := float64(unpackBits(w.b[n*row:], k, w.bits)) - w.zeros[n*w.blocks+g]
				out[k*w.n+n] = float32(v * w.scales[n*w.blocks+g])
			}
		}
	})
	return out
}

func matMulNBits(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	w, err := c.blockWeights()
	if err != nil {
		return err
	}
	if err := c.CheckSize(array.Float32, []int{w.k, w.n}); err != nil {
		return err
	}
	wide, err := a.Cast(array.Float32)
	if err != nil {
		return err
	}
	y, err := c.part(matmul, nil, wide, array.FromSlice(w.dense(), w.k, w.n))
	if err != nil {
		return err
	}
	if c.Has(5) {
		bias, err := c.wideAt(5)
		if err != nil {
			return err
		}
		if y, err = c.part(addKernel, nil, y, bias); err != nil {
			return err
		}
	}
	c.Out[0], err = y.Cast(a.DType())
	return err
}

func inferMatMulNBits(c *Infer) error {
	a := c.Fact(0)
	weights := TensorFact(a.DType, sym.Ints([]int{c.Int("K"), c.Int("N")}))
	out, err := c.part(inferMatMul, nil, a, weights)
	c.Set(0, out)
	return err
}

// inferDynamicLSTM is the inference of LSTM whose weights lie the other way round.
func inferDynamicLSTM(c *Infer) error {
	w := c.Fact(1)
	if len(w.Dims) == 3 {
		w.Dims = []sym.Expr{w.Dims[0], w.Dims[2], w.Dims[1]}
	}
	outs, err := c.parted(inferRecurrent(4), 3, nil, c.Fact(0), w)
	for i, f := range outs {
		c.Set(i, f)
	}
	return err
}

var contribQuantizeOps = []Op{
	{Domain: contribDomain, Name: "QuantizeLinear", Since: 1, Infer: inferQuantize, Eval: quantize},
	{Domain: contribDomain, Name: "DequantizeLinear", Since: 1, Infer: inferDequantize, Eval: dequantize},
	{Domain: contribDomain, Name: "MatMulIntegerToFloat", Since: 1, Infer: inferMatMulIntegerToFloat, Eval: matMulIntegerToFloat},
	{Domain: contribDomain, Name: "DynamicQuantizeMatMul", Since: 1, Infer: inferDynamicQuantizeMatMul, Eval: dynamicQuantizeMatMul},
	{Domain: contribDomain, Name: "QGemm", Since: 1, Infer: inferQGemm, Eval: qgemm},
	{Domain: contribDomain, Name: "MatMulNBits", Since: 1, Infer: inferMatMulNBits, Eval: matMulNBits},
	{Domain: contribDomain, Name: "DynamicQuantizeLSTM", Since: 1, Infer: inferDynamicLSTM},
}
