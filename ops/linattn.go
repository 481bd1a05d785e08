package ops

import (
	"math"
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/par"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// causalConv convolves each channel with the elements before it, of which the
// state holds those of earlier calls.
func causalConv(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	w, err := c.Need(1)
	if err != nil {
		return err
	}
	if a.Rank() != 3 || w.Rank() != 3 || w.Shape()[0] != a.Shape()[1] || w.Shape()[1] != 1 || w.Shape()[2] < 1 {
		return c.Errorf("inputs: got %s and weights %s, want [batch, channels, length] and [channels, 1, k]", a.Summary(), w.Summary())
	}
	n, channels, length, k := a.Shape()[0], a.Shape()[1], a.Shape()[2], w.Shape()[2]
	stateShape := []int{n, channels, k - 1}
	x, err := a.Float64s()
	if err != nil {
		return err
	}
	ker, err := w.Float64s()
	if err != nil {
		return err
	}
	bias, err := c.floatsAt(2, []int{channels})
	if err != nil {
		return err
	}
	past, err := c.floatsAt(3, stateShape)
	if err != nil {
		return err
	}
	act := c.Str("activation")
	if act != "" && act != "none" && act != "silu" && act != "swish" {
		return c.Errorf("attribute \"activation\": got %q, want \"none\", \"silu\" or \"swish\"", act)
	}
	out, state := make([]float64, len(x)), make([]float64, n*channels*(k-1))
	for r := range n * channels {
		line := append(slices.Clone(past[r*(k-1):(r+1)*(k-1)]), x[r*length:(r+1)*length]...)
		copy(state[r*(k-1):(r+1)*(k-1)], line[length:])
		for i := range length {
			v := bias[r%channels] + dot(ker[r%channels*k:(r%channels+1)*k], line[i:i+k])
			if act == "silu" || act == "swish" {
				v *= sigmoid(v)
			}
			out[r*length+i] = v
		}
	}
	if err := c.setFloats(0, out, a.Shape(), a.DType()); err != nil {
		return err
	}
	return c.setFloats(1, state, stateShape, a.DType())
}

// floatsAt returns input i, which must have that shape; zeros when it is omitted.
func (c *Call) floatsAt(i int, shape []int) ([]float64, error) {
	if !c.Has(i) {
		return make([]float64, sizeOf(shape)), c.CheckSize(array.Float64, shape)
	}
	a, err := c.Need(i)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(a.Shape(), shape) {
		return nil, c.Errorf("input %d: got %s, want shape %v", i, a.Summary(), shape)
	}
	return a.Float64s()
}

func inferCausalConv(c *Infer) error {
	a, w := c.Fact(0), c.Fact(1)
	c.Set(0, TensorFact(a.DType, a.Dims))
	state := TensorFact(a.DType, nil)
	if len(a.Dims) == 3 && len(w.Dims) == 3 {
		state.Dims = []sym.Expr{a.Dims[0], a.Dims[1], w.Dims[2].AddInt(-1)}
	}
	c.Set(1, state)
	return nil
}

// linearAttention is a recurrence over positions: a state, keys × values, is
// decayed, gets the new key and value, and is read by the query.
type linearAttention struct {
	q, k, v       []float64
	decay, beta   []float64 // nil where the rule has none
	n, length     int
	qHeads, heads int // of queries; of keys and values
	dk, dv        int
	decays, betas int // numbers of each for a position
	delta         bool
	scale         float64
}

func evalLinearAttention(c *Call) error {
	t := &linearAttention{qHeads: c.Int("q_num_heads"), heads: c.Int("kv_num_heads")}
	if err := t.load(c); err != nil {
		return err
	}
	shape := []int{t.n, t.heads, t.dk, t.dv}
	state, err := c.floatsAt(3, shape)
	if err != nil {
		return err
	}
	outShape := []int{t.n, t.length, t.qHeads * t.dv}
	if err := c.CheckSize(array.Float64, outShape); err != nil {
		return err
	}
	out := make([]float64, sizeOf(outShape))
	par.For(t.n*t.heads, 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			t.head(i/t.heads, i%t.heads, state[i*t.dk*t.dv:(i+1)*t.dk*t.dv], out)
		}
	})
	if err := c.setFloats(0, out, outShape, c.Array(0).DType()); err != nil {
		return err
	}
	dt := c.Array(0).DType()
	if c.Has(3) {
		dt = c.Array(3).DType()
	}
	return c.setFloats(1, state, shape, dt)
}

// load reads the inputs and checks them against each other.
func (t *linearAttention) load(c *Call) error {
	q, err := c.Need(0)
	if err != nil {
		return err
	}
	if q.Rank() != 3 || t.heads < 1 || t.qHeads < 1 || t.qHeads%t.heads != 0 || q.Shape()[2]%t.qHeads != 0 {
		return c.Errorf("input 0: got %s for %d query heads and %d key heads, want [batch, length, heads·size] and a multiple", q.Summary(), t.qHeads, t.heads)
	}
	t.n, t.length, t.dk = q.Shape()[0], q.Shape()[1], q.Shape()[2]/t.qHeads
	if t.q, err = q.Float64s(); err != nil {
		return err
	}
	if t.k, err = c.floatsAt(1, []int{t.n, t.length, t.heads * t.dk}); err != nil {
		return err
	}
	v, err := c.Need(2)
	if err != nil {
		return err
	}
	if v.Rank() != 3 || v.Shape()[2]%t.heads != 0 {
		return c.Errorf("input 2: got %s, want [batch, length, %d·size]", v.Summary(), t.heads)
	}
	t.dv = v.Shape()[2] / t.heads
	if t.v, err = c.floatsAt(2, []int{t.n, t.length, t.heads * t.dv}); err != nil {
		return err
	}
	t.scale = float64(c.FloatOr("scale", 0))
	if t.scale == 0 {
		t.scale = 1 / math.Sqrt(float64(t.dk))
	}
	return t.loadRule(c)
}

// loadRule reads what the update rule needs besides.
func (t *linearAttention) loadRule(c *Call) (err error) {
	rule := c.Str("update_rule")
	gated := rule == "gated" || rule == "gated_delta"
	t.delta = rule == "delta" || rule == "gated_delta"
	if !gated && !t.delta && rule != "linear" {
		return c.Errorf("attribute \"update_rule\": got %q, want \"linear\", \"gated\", \"delta\" or \"gated_delta\"", rule)
	}
	perPosition := func(i int, widths ...int) ([]float64, int, error) {
		a, err := c.Need(i)
		if err != nil {
			return nil, 0, err
		}
		width := a.Size() / max(1, t.n*t.length)
		if a.Rank() != 3 || !slices.Contains(widths, a.Shape()[2]) {
			return nil, 0, c.Errorf("input %d: got %s, want [%d, %d, one of %v]", i, a.Summary(), t.n, t.length, widths)
		}
		x, err := c.floatsAt(i, []int{t.n, t.length, a.Shape()[2]})
		return x, width, err
	}
	if gated {
		if t.decay, t.decays, err = perPosition(4, t.heads*t.dk, t.heads); err != nil {
			return err
		}
	}
	if t.delta {
		t.beta, t.betas, err = perPosition(5, t.heads, 1)
	}
	return err
}

// head runs over the positions of one head of keys; state is its.
func (t *linearAttention) head(b, h int, state, out []float64) {
	group := t.qHeads / t.heads
	change := make([]float64, t.dv)
	for i := range t.length {
		at := b*t.length + i
		k := t.k[(at*t.heads+h)*t.dk:][:t.dk]
		v := t.v[(at*t.heads+h)*t.dv:][:t.dv]
		if t.decay != nil {
			for r := range t.dk {
				g := t.decay[at*t.decays+h*t.decays/t.heads+r%max(1, t.decays/t.heads)]
				for e := range t.dv {
					state[r*t.dv+e] *= math.Exp(g)
				}
			}
		}
		copy(change, v)
		if t.delta {
			beta := t.beta[at*t.betas+h%t.betas]
			for e := range change {
				for r, kr := range k {
					change[e] -= state[r*t.dv+e] * kr
				}
				change[e] *= beta
			}
		}
		for r, kr := range k {
			for e, x := range change {
				state[r*t.dv+e] += kr * x
			}
		}
		for g := range group {
			qh := h*group + g
			q := t.q[(at*t.qHeads+qh)*t.dk:][:t.dk]
			o := out[(at*t.qHeads+qh)*t.dv:][:t.dv]
			for r, qr := range q {
				for e := range o {
					o[e] += t.scale * qr * state[r*t.dv+e]
				}
			}
		}
	}
}

func inferLinearAttention(c *Infer) error {
	q, v := c.Fact(0), c.Fact(2)
	out, state := TensorFact(q.DType, nil), TensorFact(q.DType, nil)
	if c.HasIn(3) {
		state.DType = c.Fact(3).DType
	}
	qHeads, heads := int64(c.Int("q_num_heads")), int64(c.Int("kv_num_heads"))
	if len(q.Dims) == 3 && len(v.Dims) == 3 && qHeads > 0 && heads > 0 {
		size := v.Dims[2].FloorDiv(sym.Int(heads))
		out.Dims = []sym.Expr{q.Dims[0], q.Dims[1], size.MulInt(qHeads)}
		state.Dims = []sym.Expr{q.Dims[0], sym.Int(heads), q.Dims[2].FloorDiv(sym.Int(qHeads)), size}
	}
	c.Set(0, out)
	c.Set(1, state)
	return nil
}

var linearAttentionOps = []Op{
	{Name: "CausalConvWithState", Since: 27, Infer: inferCausalConv, Eval: causalConv},
	{Name: "LinearAttention", Since: 27, Infer: inferLinearAttention, Eval: evalLinearAttention},
}
