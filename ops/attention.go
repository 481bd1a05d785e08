package ops

import (
	"math"
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/par"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// heads is one of query, key and value as batch × heads × length × size.
type heads struct {
	n, heads, length, size int
	x                      []float64
}

func (h *heads) row(b, head, i int) []float64 {
	at := ((b*h.heads+head)*h.length + i) * h.size
	return h.x[at : at+h.size]
}

func (h *heads) shape() []int { return []int{h.n, h.heads, h.length, h.size} }

// headsAt reads input i, which has rank 4, or rank 3 with its heads side by
// side in the last dimension.
func (c *Call) headsAt(i, count int) (*heads, error) {
	a, err := c.Need(i)
	if err != nil {
		return nil, err
	}
	return c.headsOf(i, a, count)
}

// headsOf is headsAt of what has been made of the input.
func (c *Call) headsOf(i int, a *array.Array, count int) (_ *heads, err error) {
	s := a.Shape()
	if len(s) == 3 {
		if count <= 0 || s[2]%count != 0 {
			return nil, c.Errorf("input %d: got %s, want a last dimension that the number of heads, %d, divides", i, a.Summary(), count)
		}
		if a, err = a.Reshape(s[0], s[1], count, s[2]/count); err != nil {
			return nil, err
		}
		if a, err = a.Transpose(0, 2, 1, 3); err != nil {
			return nil, err
		}
		s = a.Shape()
	}
	if len(s) != 4 {
		return nil, c.Errorf("input %d: got %s, want rank 3 or 4", i, a.Summary())
	}
	x, err := a.Contiguous().Float64s()
	return &heads{s[0], s[1], s[2], s[3], x}, err
}

// after puts the cached positions, input i, before those of h.
func (h *heads) after(c *Call, i int) (*heads, error) {
	past, err := c.headsAt(i, 0)
	if err != nil {
		return nil, err
	}
	return h.behind(c, i, past)
}

// behind puts the positions of past, which come from input i, before those of h.
func (h *heads) behind(c *Call, i int, past *heads) (*heads, error) {
	if past.n != h.n || past.heads != h.heads || past.size != h.size {
		return nil, c.Errorf("input %d: got shape %v, want that of the new positions, %v, but for the length", i, past.shape(), h.shape())
	}
	all := &heads{h.n, h.heads, past.length + h.length, h.size, make([]float64, 0, len(past.x)+len(h.x))}
	for r := range h.n * h.heads {
		all.x = append(all.x, past.x[r*past.length*h.size:(r+1)*past.length*h.size]...)
		all.x = append(all.x, h.x[r*h.length*h.size:(r+1)*h.length*h.size]...)
	}
	return all, nil
}

// attention is the scaled dot product of queries and keys, masked, softmaxed
// and weighing the values.
type attention struct {
	c       *Call
	q, k, v *heads
	biasAt  []float64 // batch × heads × queries × keys; nil for none
	valid   []int     // the keys of each batch that are not padding; nil: all
	offset  func(b int) int
	causal  bool
	hide    float64 // what a hidden key's score gets instead of -inf; 0: -inf
	lo, hi  int     // the sliding window's sides; -1: none
	scale   float64
	softcap float64
	sinks   []float64 // a score of each head that stands for no key; nil: none
	mode    int
	out, qk []float64
}

func attend(c *Call) error {
	t := &attention{c: c, causal: c.Int("is_causal") != 0, softcap: float64(c.FloatOr("softcap", 0)), mode: c.Int("qk_matmul_output_mode"), lo: c.IntOr("left_window_size", -1), hi: c.IntOr("right_window_size", -1)}
	past, err := t.load()
	if err != nil {
		return err
	}
	if err := t.limits(past); err != nil {
		return err
	}
	if err := t.run(); err != nil {
		return err
	}
	return t.results()
}

// scores is the shape of the products of queries and keys.
func (t *attention) scores() []int { return []int{t.q.n, t.q.heads, t.q.length, t.k.length} }

// run fills out, and qk with what the mode asks for.
func (t *attention) run() error {
	if err := t.c.CheckSize(array.Float64, t.scores()); err != nil {
		return err
	}
	t.out = make([]float64, t.q.n*t.q.heads*t.q.length*t.v.size)
	t.qk = make([]float64, t.q.n*t.q.heads*t.q.length*t.k.length)
	par.For(t.q.n*t.q.heads*t.q.length, 4, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			t.query(r/(t.q.heads*t.q.length), r/t.q.length%t.q.heads, r%t.q.length)
		}
	})
	return nil
}

// check fails where queries, keys and values do not fit together.
func (t *attention) check() error {
	switch q, k, v := t.q, t.k, t.v; {
	case q.n != k.n || k.n != v.n || k.length != v.length || k.heads != v.heads || q.size != k.size:
		return t.c.Errorf("inputs: got query %v, key %v and value %v, want one batch, one key length and one head size", q.shape(), k.shape(), v.shape())
	case k.heads == 0 || q.heads%k.heads != 0:
		return t.c.Errorf("inputs: got %d query heads and %d key heads, want a multiple", q.heads, k.heads)
	}
	return nil
}

// load reads the inputs and returns how many positions were cached.
func (t *attention) load() (past int, err error) {
	c := t.c
	if t.q, err = c.headsAt(0, c.Int("q_num_heads")); err != nil {
		return 0, err
	}
	if t.k, err = c.headsAt(1, c.Int("kv_num_heads")); err != nil {
		return 0, err
	}
	if t.v, err = c.headsAt(2, c.Int("kv_num_heads")); err != nil {
		return 0, err
	}
	if c.Has(4) != c.Has(5) {
		return 0, c.Errorf("inputs: got one of past_key and past_value, want both or neither")
	}
	if c.Has(4) {
		past = -t.k.length
		if t.k, err = t.k.after(c, 4); err != nil {
			return 0, err
		}
		if t.v, err = t.v.after(c, 5); err != nil {
			return 0, err
		}
		past += t.k.length
	}
	if err := t.check(); err != nil {
		return 0, err
	}
	t.scale = 1 / math.Sqrt(float64(t.q.size))
	if c.HasAttr("scale") {
		t.scale = float64(c.FloatOr("scale", 1))
	}
	return past, nil
}

// limits reads what bounds the keys that a query sees.
func (t *attention) limits(past int) error {
	c := t.c
	t.offset = func(int) int { return past }
	if c.Has(6) {
		valid, err := c.IntsAt(6)
		if err != nil {
			return err
		}
		if len(valid) != t.q.n {
			return c.Errorf("nonpad_kv_seqlen: got %d elements, want %d, one for each batch", len(valid), t.q.n)
		}
		t.valid = valid
		t.offset = func(b int) int { return valid[b] - t.q.length }
	}
	if !c.Has(3) {
		return nil
	}
	mask, err := c.Need(3)
	if err != nil {
		return err
	}
	return t.mask(mask)
}

// mask turns input 3 into numbers to add, -inf for what it hides or is too
// short to speak of.
func (t *attention) mask(a *array.Array) error {
	x, err := a.Float64s()
	if err != nil {
		return err
	}
	if a.DType() == array.Bool {
		for i, v := range x {
			x[i] = 0
			if v == 0 {
				x[i] = math.Inf(-1)
			}
		}
	}
	shape := append([]int{}, a.Shape()...)
	if d := len(shape) - 1; d >= 0 && shape[d] < t.k.length && shape[d] > 1 {
		n := shape[d]
		padded := make([]float64, 0, len(x)/n*t.k.length)
		for ; len(x) > 0; x = x[n:] {
			padded = append(padded, x[:n]...)
			for range t.k.length - n {
				padded = append(padded, math.Inf(-1))
			}
		}
		shape[d], x = t.k.length, padded
	}
	t.biasAt, err = spreadTo(t.c, array.FromSlice(x, shape...), []int{t.q.n, t.q.heads, t.q.length, t.k.length})
	return err
}

// hidden is what is added to the product of query i and key j.
func (t *attention) hidden(b, head, i, j int) float64 {
	at := t.offset(b) + i
	switch {
	case t.causal && j > at, t.lo >= 0 && at-j > t.lo, t.hi >= 0 && j-at > t.hi, t.valid != nil && j >= t.valid[b]:
		if t.hide != 0 {
			return t.hide
		}
		return math.Inf(-1)
	case t.biasAt != nil:
		return t.biasAt[((b*t.q.heads+head)*t.q.length+i)*t.k.length+j]
	}
	return 0
}

func (t *attention) query(b, head, i int) {
	at := (b*t.q.heads+head)*t.q.length + i
	scores := t.qk[at*t.k.length : (at+1)*t.k.length]
	kv := head / (t.q.heads / t.k.heads)
	weights := make([]float64, len(scores))
	sees := false
	for j := range scores {
		s := dot(t.q.row(b, head, i), t.k.row(b, kv, j)) * t.scale
		scores[j] = s
		if t.softcap > 0 {
			s = t.softcap * math.Tanh(s/t.softcap)
		}
		if t.mode == 1 {
			scores[j] = s
		}
		add := t.hidden(b, head, i, j)
		sees = sees || !math.IsInf(add, -1)
		if weights[j] = s + add; t.mode == 2 {
			scores[j] = weights[j]
		}
	}
	if sees {
		softmaxInPlace(weights, t.sinks[min(head, len(t.sinks)):min(head+1, len(t.sinks))]...)
	} else {
		clear(weights) // what sees nothing gives zeros, whatever its scores
	}
	if t.mode == 3 {
		copy(scores, weights)
	}
	out := t.out[at*t.v.size : (at+1)*t.v.size]
	for j, w := range weights {
		if w == 0 {
			continue
		}
		for e, v := range t.v.row(b, kv, j) {
			out[e] += w * v
		}
	}
}

func dot(a, b []float64) (s float64) {
	for i, v := range a {
		s += v * b[i]
	}
	return s
}

// softmaxInPlace is softmax over x and sinks, of which x is kept.
func softmaxInPlace(x []float64, sinks ...float64) {
	top, sum := math.Inf(-1), 0.0
	for _, v := range x {
		top = max(top, v)
	}
	for _, v := range sinks {
		top = max(top, v)
	}
	for _, v := range sinks {
		sum += math.Exp(v - top)
	}
	for i, v := range x {
		x[i] = math.Exp(v - top)
		sum += x[i]
	}
	for i := range x {
		x[i] /= sum
	}
}

// merged is the result with the heads side by side in the last axis.
func (t *attention) merged() (*array.Array, error) {
	y, err := array.FromSlice(t.out, t.q.n, t.q.heads, t.q.length, t.v.size).Transpose(0, 2, 1, 3)
	if err != nil {
		return nil, err
	}
	return y.Contiguous().Reshape(t.q.n, t.q.length, t.q.heads*t.v.size)
}

func (h *heads) array() *array.Array { return array.FromSlice(h.x, h.shape()...) }

func (t *attention) results() error {
	c := t.c
	y := array.FromSlice(t.out, t.q.n, t.q.heads, t.q.length, t.v.size)
	if c.Array(0).Rank() == 3 {
		var err error
		if y, err = t.merged(); err != nil {
			return err
		}
	}
	results := []*array.Array{y, t.k.array(), t.v.array(), array.FromSlice(t.qk, t.scores()...)}
	for i, of := range []int{0, 1, 2, 0} {
		if !c.Wants(i) {
			continue
		}
		out, err := results[i].Cast(c.Array(of).DType())
		if err != nil {
			return err
		}
		c.Out[i] = out
	}
	return nil
}

// inferAttention knows the first output's shape where the inputs have rank 4,
// or rank 3 and both counts of heads.
func inferAttention(c *Infer) error {
	q, v := c.Fact(0), c.Fact(2)
	out := TensorFact(q.DType, nil)
	switch nq, nkv := c.Int("q_num_heads"), c.Int("kv_num_heads"); {
	case len(q.Dims) == 4 && len(v.Dims) == 4:
		out.Dims = []sym.Expr{q.Dims[0], q.Dims[1], q.Dims[2], v.Dims[3]}
	case len(q.Dims) == 3 && len(v.Dims) == 3 && nq > 0 && nkv > 0:
		if size, ok := v.Dims[2].Int(); ok && size%int64(nkv) == 0 {
			out.Dims = []sym.Expr{q.Dims[0], q.Dims[1], sym.Int(size / int64(nkv) * int64(nq))}
		}
	}
	c.Set(0, out)
	k, v4 := c.headDims(1, 4), c.headDims(2, 5)
	c.Set(1, TensorFact(c.Fact(1).DType, k))
	c.Set(2, TensorFact(c.Fact(2).DType, v4))
	products := TensorFact(q.DType, nil)
	switch nq := int64(c.Int("q_num_heads")); {
	case k == nil:
	case len(q.Dims) == 4:
		products.Dims = []sym.Expr{q.Dims[0], q.Dims[1], q.Dims[2], k[2]}
	case len(q.Dims) == 3 && nq > 0:
		products.Dims = []sym.Expr{q.Dims[0], sym.Int(nq), q.Dims[1], k[2]}
	}
	c.Set(3, products)
	return nil
}

// headDims returns the sizes of key or value by heads, the cached ones included.
func (c *Infer) headDims(i, past int) []sym.Expr {
	d := c.Fact(i).Dims
	if n := int64(c.Int("kv_num_heads")); len(d) == 3 && n > 0 {
		d = []sym.Expr{d[0], sym.Int(n), d[1], d[2].FloorDiv(sym.Int(n))}
	}
	if len(d) != 4 {
		return nil
	}
	d = slices.Clone(d)
	if c.HasIn(past) {
		length := sym.Expr{}
		if p := c.Fact(past).Dims; len(p) == 4 {
			length = p[2]
		}
		d[2] = d[2].Add(length)
	}
	return d
}

var attentionOps = []Op{
	{Name: "Attention", Since: 23, Checks: []Check{rankIn(0, 3, 4), rankIn(1, 3, 4), rankIn(2, 3, 4), headsFit}, Infer: inferAttention, Eval: attend},
}
