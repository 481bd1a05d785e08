package ops

import (
	"math"
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// flexAttention is attention whose scores, and whose weights, bodies of the node
// may change.
func flexAttention(c *Call) error {
	var in [3]*heads
	for i := range in {
		a, err := c.Need(i)
		if err != nil {
			return err
		}
		if a.Rank() != 4 {
			return c.Errorf("input %d: got %s, want rank 4", i, a.Summary())
		}
		if in[i], err = c.headsAt(i, 0); err != nil {
			return err
		}
	}
	q, k, v := in[0], in[1], in[2]
	if q.n != k.n || k.n != v.n || k.length != v.length || k.heads != v.heads || q.size != k.size || k.heads == 0 || q.heads%k.heads != 0 {
		return c.Errorf("inputs: got query %v, key %v and value %v, want one batch, one key length, one head size, and a multiple of the key heads", q.shape(), k.shape(), v.shape())
	}
	scale := 1 / math.Sqrt(float64(q.size))
	if c.HasAttr("scale") {
		scale = float64(c.Float("scale"))
	}
	shape := []int{q.n, q.heads, q.length, k.length}
	if err := c.CheckSize(array.Float64, shape); err != nil {
		return err
	}
	group := q.heads / k.heads
	scores := make([]float64, 0, sizeOf(shape))
	for r := range q.n * q.heads * q.length {
		b, h := r/(q.heads*q.length), r/q.length%q.heads
		for j := range k.length {
			scores = append(scores, scale*dot(q.row(b, h, r%q.length), k.row(b, h/group, j)))
		}
	}
	scores, err := c.modified("score_mod", scores, shape)
	if err != nil {
		return err
	}
	for r := range len(scores) / max(1, k.length) {
		softmaxInPlace(scores[r*k.length : (r+1)*k.length])
	}
	if scores, err = c.modified("prob_mod", scores, shape); err != nil {
		return err
	}
	out := make([]float64, q.n*q.heads*q.length*v.size)
	for r := range q.n * q.heads * q.length {
		b, h := r/(q.heads*q.length), r/q.length%q.heads
		dst := out[r*v.size : (r+1)*v.size]
		for j := range k.length {
			w := scores[r*k.length+j]
			for e, x := range v.row(b, h/group, j) {
				dst[e] += w * x
			}
		}
	}
	return c.setFloats(0, out, []int{q.n, q.heads, q.length, v.size}, c.Array(0).DType())
}

// modified gives x, of that shape, to the body of that name, when there is one.
func (c *Call) modified(body string, x []float64, shape []int) ([]float64, error) {
	g := c.Graph(body)
	if g == nil {
		return x, nil
	}
	dt := array.Float32
	if c.Array(0).DType() == array.Float64 {
		dt = array.Float64
	}
	if c.HasAttr("softmax_precision") {
		dt = array.DType(c.Int("softmax_precision"))
	}
	a, err := array.FromSlice(x, shape...).Cast(dt)
	if err != nil {
		return nil, err
	}
	if c.Run == nil {
		return nil, c.Errorf("body %q: got nothing that runs it", body)
	}
	outs, err := c.Run(g, []array.Value{a})
	if err != nil {
		return nil, err
	}
	if len(outs) != 1 {
		return nil, c.Errorf("body %q: got %d outputs, want 1", body, len(outs))
	}
	y, ok := outs[0].(*array.Array)
	if !ok || !slices.Equal(y.Shape(), shape) {
		return nil, c.Errorf("body %q: got %s, want shape %v", body, outs[0].Summary(), shape)
	}
	return y.Float64s()
}

func inferFlexAttention(c *Infer) error {
	q, v := c.Fact(0), c.Fact(2)
	out := TensorFact(q.DType, nil)
	if len(q.Dims) == 4 && len(v.Dims) == 4 {
		out.Dims = []sym.Expr{q.Dims[0], q.Dims[1], q.Dims[2], v.Dims[3]}
	}
	c.Set(0, out)
	return nil
}

// swiglu is Swish of the first input times the second.
func swiglu(c *Call) error {
	alpha := float64(c.FloatOr("alpha", 1))
	f := func(x, y float64) float64 { return x * sigmoid(alpha*x) * y }
	a, b, err := operands(c)
	if err != nil {
		return err
	}
	if !slices.Equal(a.Shape(), b.Shape()) {
		return c.Errorf("inputs: got shapes %v and %v, want one shape", a.Shape(), b.Shape())
	}
	return elementwise(arith{f32: func(x, y float32) float32 { return float32(f(float64(x), float64(y))) }, f64: f})(c)
}

var flexAttentionOps = []Op{
	{Domain: "ai.onnx.preview", Name: "FlexAttention", Since: 1, Infer: inferFlexAttention, Eval: flexAttention},
	{Name: "SwiGLU", Since: 28, Checks: []Check{alike(0, 1)}, Infer: inferSame, Eval: swiglu},
}
