package ops

import (
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/gemm"
	"github.com/starlarkgs/starlarkgs/internal/par"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

var blasImpl gonum.Implementation

func trans(t bool) blas.Transpose {
	if t {
		return blas.Trans
	}
	return blas.NoTrans
}

// gemm32 computes c = alpha·op(a)·op(b) + beta·c of row-major matrices, c being
// m×n and the inner size k.
func gemm32(ta, tb bool, m, n, k int, alpha float32, a []float32, b []float32, beta float32, c []float32) {
	c = c[:m*n]
	switch beta {
	case 0:
		clear(c)
	case 1:
	default:
		for i := range c {
			c[i] *= beta
		}
	}
	if alpha == 1 {
		gemm.Mul(ta, tb, m, n, k, a, b, c)
		return
	}
	product := make([]float32, m*n)
	gemm.Mul(ta, tb, m, n, k, a, b, product)
	gemm.Axpy(c, alpha, product)
}

func gemm64(ta, tb bool, m, n, k int, alpha float64, a []float64, b []float64, beta float64, c []float64) {
	lda, ldb := k, n
	if ta {
		lda = m
	}
	if tb {
		ldb = k
	}
	if m == 0 || n == 0 {
		return
	}
	if k == 0 {
		for i := range c[:m*n] {
			c[i] *= beta
		}
		return
	}
	blasImpl.Dgemm(trans(ta), trans(tb), m, n, k, alpha, a, lda, b, ldb, beta, c, n)
}

// matmulShape returns the shape of a product and its parts: leading axes
// broadcast, a vector gets an axis that goes again.
func (s *Site) matmulShape(a, b []int) (lead []int, m, k, n int, shape []int, err error) {
	if len(a) == 0 || len(b) == 0 {
		return nil, 0, 0, 0, nil, s.Errorf("inputs: got shapes %v and %v, want rank 1 or more", a, b)
	}
	am, bm := a, b
	if len(a) == 1 {
		am = []int{1, a[0]}
	}
	if len(b) == 1 {
		bm = []int{b[0], 1}
	}
	m, k, n = am[len(am)-2], am[len(am)-1], bm[len(bm)-1]
	if bm[len(bm)-2] != k {
		return nil, 0, 0, 0, nil, s.Errorf("inputs: got shapes %v and %v: %d columns do not meet %d rows", a, b, k, bm[len(bm)-2])
	}
	lead, err = array.BroadcastShapes(am[:len(am)-2], bm[:len(bm)-2])
	if err != nil {
		return nil, 0, 0, 0, nil, s.Errorf("inputs: the leading axes of %v and %v do not broadcast", a, b)
	}
	shape = slices.Clone(lead)
	if len(a) > 1 {
		shape = append(shape, m)
	}
	if len(b) > 1 {
		shape = append(shape, n)
	}
	if shape == nil {
		shape = []int{}
	}
	return lead, m, k, n, shape, nil
}

func matmul(c *Call) error {
	a, b, err := operands(c)
	if err != nil {
		return err
	}
	lead, m, k, n, shape, err := c.matmulShape(a.Shape(), b.Shape())
	if err != nil {
		return err
	}
	dt := a.DType()
	if dt.IsInt() {
		return matmulInts(c, a, b, lead, m, k, n, shape)
	}
	wide, back, err := widened(a)
	if err != nil {
		return err
	}
	if b, err = b.Cast(wide.DType()); err != nil {
		return err
	}
	out, err := c.Make(wide.DType(), shape)
	if err != nil {
		return err
	}
	switch wide.DType() {
	case array.Float32:
		batched(array.Data[float32](wide), array.Data[float32](b), array.MutableData[float32](out), a.Shape(), b.Shape(), lead, m, k, n,
			func(a, b, c []float32) { gemm32(false, false, m, n, k, 1, a, b, 0, c) })
	case array.Float64:
		batched(array.Data[float64](wide), array.Data[float64](b), array.MutableData[float64](out), a.Shape(), b.Shape(), lead, m, k, n,
			func(a, b, c []float64) { gemm64(false, false, m, n, k, 1, a, b, 0, c) })
	default:
		return c.Errorf("inputs: got %s, want a float or integer type", dt)
	}
	c.Out[0], err = back(out)
	return err
}

// batched multiplies the matrices of each position of the leading axes. One
// matrix for all is multiplied at once.
func batched[T any](a, b, out []T, shapeA, shapeB, lead []int, m, k, n int, mul func(a, b, c []T)) {
	batches := 1
	for _, d := range lead {
		batches *= d
	}
	sa := broadcastStrides(shapeA[:max(0, len(shapeA)-2)], lead)
	sb := broadcastStrides(shapeB[:max(0, len(shapeB)-2)], lead)
	par.For(batches, max(1, rowGrain/max(m*k*n/64, 1)), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			x, y, rest := 0, 0, i
			for d := len(lead) - 1; d >= 0; d-- {
				j := rest % lead[d]
				rest /= lead[d]
				x += j * sa[d]
				y += j * sb[d]
			}
			mul(a[x*m*k:(x+1)*m*k], b[y*k*n:(y+1)*k*n], out[i*m*n:(i+1)*m*n])
		}
	})
}

func matmulInts(c *Call, a, b *array.Array, lead []int, m, k, n int, shape []int) error {
	x, err := a.Int64s()
	if err != nil {
		return err
	}
	y, err := b.Int64s()
	if err != nil {
		return err
	}
	out, err := c.Make(array.Int64, shape)
	if err != nil {
		return err
	}
	batched(x, y, array.MutableData[int64](out), a.Shape(), b.Shape(), lead, m, k, n, func(a, b, c []int64) {
		for i := range m {
			for p := range k {
				v := a[i*k+p]
				for j := range n {
					c[i*n+j] += v * b[p*n+j]
				}
			}
		}
	})
	c.Out[0], err = out.CastWith(a.DType(), true)
	return err
}

func inferMatMul(c *Infer) error {
	a, b := c.Fact(0), c.Fact(1)
	out := TensorFact(a.DType, nil)
	if a.Dims != nil && b.Dims != nil && len(a.Dims) > 0 && len(b.Dims) > 0 {
		am, bm := a.Dims, b.Dims
		k, l := am[len(am)-1], bm[max(0, len(bm)-2)]
		if x, ok := k.Int(); ok {
			if y, ok := l.Int(); ok && x != y {
				return c.Errorf("inputs: got %s and %s: %d columns do not meet %d rows", dimsText(am), dimsText(bm), x, y)
			}
		}
		var err error
		if out.Dims, err = meetDims(am[:max(0, len(am)-2)], bm[:max(0, len(bm)-2)]); err != nil {
			return c.Errorf("inputs: %w", err)
		}
		if out.Dims == nil {
			out.Dims = []sym.Expr{}
		}
		if len(am) > 1 {
			out.Dims = append(slices.Clone(out.Dims), am[len(am)-2])
		}
		if len(bm) > 1 {
			out.Dims = append(slices.Clone(out.Dims), bm[len(bm)-1])
		}
	}
	c.Set(0, out)
	return nil
}

func dimsText(dims []sym.Expr) string {
	s := "["
	for i, d := range dims {
		if i > 0 {
			s += ","
		}
		s += d.String()
	}
	return s + "]"
}

func evalGemm(c *Call) error {
	a, b, err := operands(&Call{Site: Site{Node: c.Node, Schema: c.Schema, Opset: max(c.Opset, 7), Attrs: c.Attrs}, In: c.In, Out: c.Out})
	if err != nil {
		return err
	}
	if a.Rank() != 2 || b.Rank() != 2 {
		return c.Errorf("inputs: got shapes %v and %v, want matrices", a.Shape(), b.Shape())
	}
	ta, tb := c.Int("transA") != 0, c.Int("transB") != 0
	m, k := a.Shape()[0], a.Shape()[1]
	if ta {
		m, k = k, m
	}
	n, l := b.Shape()[1], b.Shape()[0]
	if tb {
		n, l = l, n
	}
	if k != l {
		return c.Errorf("inputs: got shapes %v and %v: %d columns do not meet %d rows", a.Shape(), b.Shape(), k, l)
	}
	alpha, beta := c.FloatOr("alpha", 1), c.FloatOr("beta", 1)
	dt := a.DType()
	out, err := gemmBias(c, m, n, dt)
	if err != nil {
		return err
	}
	if dt == array.Float32 {
		gemm32(ta, tb, m, n, k, alpha, array.Data[float32](a), array.Data[float32](b), beta, array.MutableData[float32](out))
		c.Out[0] = out
		return nil
	}
	x, err := a.Float64s()
	if err != nil {
		return err
	}
	y, err := b.Float64s()
	if err != nil {
		return err
	}
	z, err := out.Cast(array.Float64)
	if err != nil {
		return err
	}
	gemm64(ta, tb, m, n, k, float64(alpha), x, y, float64(beta), array.MutableData[float64](z))
	c.Out[0], err = z.Cast(dt)
	return err
}

// gemmBias returns C broadcast to the result, or zeros.
func gemmBias(c *Call, m, n int, dt array.DType) (*array.Array, error) {
	if !c.Has(2) {
		return c.Make(dt, []int{m, n})
	}
	bias, err := c.Need(2)
	if err != nil {
		return nil, err
	}
	if bias.DType() != dt {
		return nil, c.Errorf("input 2: got %s, want %s as input 0", bias.DType(), dt)
	}
	if err := c.CheckSize(dt, []int{m, n}); err != nil {
		return nil, err
	}
	v, err := bias.BroadcastTo([]int{m, n})
	if err != nil {
		return nil, c.Errorf("input 2: got shape %v, which does not broadcast to [%d %d]", bias.Shape(), m, n)
	}
	return v.Copy(), nil
}

func inferGemm(c *Infer) error {
	a, b := c.Fact(0), c.Fact(1)
	out := TensorFact(a.DType, make([]sym.Expr, 2))
	if len(a.Dims) == 2 {
		out.Dims[0] = a.Dims[c.Int("transA")&1]
	}
	if len(b.Dims) == 2 {
		out.Dims[1] = b.Dims[1-c.Int("transB")&1]
	}
	c.Set(0, out)
	return nil
}

var matmulOps = []Op{
	{Name: "MatMul", Since: 1, Checks: []Check{rankIn(0, 1, -1), rankIn(1, 1, -1)}, Infer: inferMatMul, Eval: matmul},
	{Name: "Gemm", Since: 1, Checks: []Check{rankIn(0, 2, 2), rankIn(1, 2, 2), gemmFits}, Infer: inferGemm, Eval: evalGemm},
}
