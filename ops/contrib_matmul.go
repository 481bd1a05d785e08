package ops

import (
	"math"
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/par"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// fusedPerm is the order of the axes of a FusedMatMul's operand: transBatch
// brings the first axis behind the batches, trans swaps the last two. A vector
// stays as it is.
func fusedPerm(rank int, trans, transBatch bool) []int {
	perm := make([]int, rank)
	for i := range perm {
		perm[i] = i
	}
	if rank < 2 {
		return perm
	}
	if transBatch {
		perm = append(append(perm[1:rank-1:rank-1], 0), rank-1)
	}
	if trans {
		perm[rank-1], perm[rank-2] = perm[rank-2], perm[rank-1]
	}
	return perm
}

func fusedMatMul(c *Call) error {
	in, err := c.needs(2)
	if err != nil {
		return err
	}
	for i, side := range []string{"A", "B"} {
		perm := fusedPerm(in[i].Rank(), c.Int("trans"+side) != 0, c.Int("transBatch"+side) != 0)
		if in[i], err = c.permuted(in[i], perm); err != nil {
			return err
		}
	}
	y, err := c.part(matmul, nil, in...)
	if err != nil {
		return err
	}
	c.Out[0], err = c.times(y, c.FloatOr("alpha", 1))
	return err
}

// times multiplies every element by a number.
func (c *Call) times(a *array.Array, by float32) (*array.Array, error) {
	if by == 1 {
		return a, nil
	}
	s, err := array.Scalar(by).Cast(a.DType())
	if err != nil {
		return nil, err
	}
	return c.part(mulKernel, nil, a, s)
}

func inferFusedMatMul(c *Infer) error {
	var in [2]Fact
	for i, side := range []string{"A", "B"} {
		in[i] = c.Fact(i)
		if in[i].Dims == nil {
			continue
		}
		from := in[i].Dims
		in[i].Dims = make([]sym.Expr, len(from))
		for k, axis := range fusedPerm(len(from), c.Int("trans"+side) != 0, c.Int("transBatch"+side) != 0) {
			in[i].Dims[k] = from[axis]
		}
	}
	out, err := c.part(inferMatMul, nil, in[:]...)
	c.Set(0, out)
	return err
}

func fusedGemm(c *Call) error {
	in, err := c.needs(2)
	if err != nil {
		return err
	}
	y, err := c.part(evalGemm, c.attrsOf("alpha", "beta", "transA", "transB"), in[0], in[1], c.Array(2))
	if err != nil {
		return err
	}
	return c.activated(y)
}

func fusedMatMulActivation(c *Call) error {
	if err := fusedMatMul(c); err != nil {
		return err
	}
	return c.activated(c.Out[0].(*array.Array))
}

// activated makes output 0 of y by the activation, when there is one.
func (c *Call) activated(y *array.Array) (err error) {
	c.Out[0] = y
	if !c.HasAttr("activation") {
		return nil
	}
	var params []float32
	for _, name := range []string{"activation_alpha", "activation_beta", "activation_gamma"} {
		if c.HasAttr(name) {
			params = append(params, c.Float(name))
		}
	}
	c.Out[0], err = c.fused(y, c.Str("activation"), params)
	return err
}

// inverse inverts the matrices of the last two axes, by elimination with the
// largest pivot.
func inverse(c *Call) error {
	a, x, n, err := c.squares()
	if err != nil {
		return err
	}
	out := make([]float64, len(x))
	for at := 0; at < len(x); at += n * n {
		invert(x[at:at+n*n], out[at:at+n*n], n)
	}
	return c.setFloats(0, out, a.Shape(), a.DType())
}

// invert uses up the matrix m. What has no inverse gives infinities and NaNs.
func invert(m, out []float64, n int) {
	for i := range n {
		out[i*n+i] = 1
	}
	for k := range n {
		pivot := k
		for i := k + 1; i < n; i++ {
			if math.Abs(m[i*n+k]) > math.Abs(m[pivot*n+k]) {
				pivot = i
			}
		}
		swapRows(m, n, k, pivot)
		swapRows(out, n, k, pivot)
		d := m[k*n+k]
		for j := range n {
			m[k*n+j] /= d
			out[k*n+j] /= d
		}
		for i := range n {
			f := m[i*n+k]
			if i == k || f == 0 {
				continue
			}
			for j := range n {
				m[i*n+j] -= f * m[k*n+j]
				out[i*n+j] -= f * out[k*n+j]
			}
		}
	}
}

func swapRows(m []float64, n, i, k int) {
	if i == k {
		return
	}
	for j := range n {
		m[i*n+j], m[k*n+j] = m[k*n+j], m[i*n+j]
	}
}

// cdist is the distance of each row of the first input from each of the second.
func cdist(c *Call) error {
	in, err := c.needs(2)
	if err != nil {
		return err
	}
	a, b := in[0], in[1]
	if a.Rank() != 2 || b.Rank() != 2 || a.Shape()[1] != b.Shape()[1] {
		return c.Errorf("inputs: got %s and %s, want matrices of one width", a.Summary(), b.Summary())
	}
	euclidean := c.Str("metric") == "euclidean"
	if !euclidean && c.Str("metric") != "sqeuclidean" {
		return c.Errorf("attribute \"metric\": got %q, want \"sqeuclidean\" or \"euclidean\"", c.Str("metric"))
	}
	x, err := a.Float64s()
	if err != nil {
		return err
	}
	y, err := b.Float64s()
	if err != nil {
		return err
	}
	m, n, k := a.Shape()[0], b.Shape()[0], a.Shape()[1]
	if err := c.CheckSize(array.Float64, []int{m, n}); err != nil {
		return err
	}
	out := make([]float64, m*n)
	par.For(m, max(1, rowGrain/max(1, n*k)), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			for j := range n {
				sum := squaredDistance(x[i*k:(i+1)*k], y[j*k:(j+1)*k])
				if euclidean {
					sum = math.Sqrt(sum)
				}
				out[i*n+j] = sum
			}
		}
	})
	return c.setFloats(0, out, []int{m, n}, a.DType())
}

func squaredDistance(x, y []float64) (sum float64) {
	for i, v := range x {
		sum += (v - y[i]) * (v - y[i])
	}
	return sum
}

func inferCDist(c *Infer) error {
	a, b := c.Fact(0), c.Fact(1)
	out := TensorFact(a.DType, []sym.Expr{{}, {}})
	if len(a.Dims) == 2 {
		out.Dims[0] = a.Dims[0]
	}
	if len(b.Dims) == 2 {
		out.Dims[1] = b.Dims[0]
	}
	c.Set(0, out)
	return nil
}

// complexMul multiplies numbers whose real and imaginary parts lie side by side
// in the last axis; conj takes the second one's conjugate.
func complexMul(conj bool) func(*Call) error {
	return func(c *Call) error {
		in, err := c.needs(2)
		if err != nil {
			return err
		}
		shape, err := c.broadcastShape(in...)
		if err != nil {
			return err
		}
		if n := len(shape); n == 0 || in[0].Rank() == 0 || in[1].Rank() == 0 || in[0].Shape()[in[0].Rank()-1] != 2 || in[1].Shape()[in[1].Rank()-1] != 2 {
			return c.Errorf("inputs: got %s and %s, want 2 elements in the last axis", in[0].Summary(), in[1].Summary())
		}
		if err := c.CheckSize(array.Float64, shape); err != nil {
			return err
		}
		x, err := spreadTo(c, in[0], shape)
		if err != nil {
			return err
		}
		y, err := spreadTo(c, in[1], shape)
		if err != nil {
			return err
		}
		for i := 0; i < len(x); i += 2 {
			v, w := complex(x[i], x[i+1]), complex(y[i], y[i+1])
			if conj {
				w = complex(real(w), -imag(w))
			}
			x[i], x[i+1] = real(v*w), imag(v*w)
		}
		return c.setFloats(0, x, shape, in[0].DType())
	}
}

func inferMatMulInteger16(c *Infer) error {
	out, err := c.part(inferMatMulInteger, nil, c.Fact(0), c.Fact(1))
	c.Set(0, out)
	return err
}

// inferBroadcast gives the output the sizes to which the first two inputs
// broadcast.
func inferBroadcast(c *Infer) error {
	a, b := c.Fact(0), c.Fact(1)
	c.Set(0, TensorFact(a.DType, slices.Clone(broadcastDims(a.Dims, b.Dims))))
	return nil
}

var contribMatmulOps = []Op{
	{Domain: contribDomain, Name: "FusedMatMul", Since: 1, Infer: inferFusedMatMul, Eval: fusedMatMul},
	{Domain: contribDomain, Name: "TransposeMatMul", Since: 1, Infer: inferFusedMatMul, Eval: fusedMatMul},
	{Domain: contribDomain, Name: "FusedMatMulActivation", Since: 1, Infer: inferFusedMatMul, Eval: fusedMatMulActivation},
	{Domain: contribDomain, Name: "FusedGemm", Since: 1, Infer: inferGemm, Eval: fusedGemm},
	{Domain: contribDomain, Name: "MatMulInteger16", Since: 1, Infer: inferMatMulInteger16, Eval: func(c *Call) error {
		part := *c
		part.In = c.In[:min(2, len(c.In))]
		return matmulInteger(&part)
	}},
	{Domain: contribDomain, Name: "Inverse", Since: 1, Infer: inferSame, Eval: inverse},
	{Domain: contribDomain, Name: "CDist", Since: 1, Infer: inferCDist, Eval: cdist},
	{Domain: contribDomain, Name: "ComplexMul", Since: 1, Infer: inferBroadcast, Eval: complexMul(false)},
	{Domain: contribDomain, Name: "ComplexMulConj", Since: 1, Infer: inferBroadcast, Eval: complexMul(true)},
}
