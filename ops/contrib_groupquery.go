package ops

import (
	"math"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// The inputs of GroupQueryAttention.
const (
	gqaPastKey = 3 + iota
	gqaPastValue
	gqaLengths
	gqaTotal
	gqaCos
	gqaSin
	gqaPositions
	gqaScores
	gqaSinks
	gqaKeyScale
	gqaValueScale
	gqaQueryNorm
	gqaKeyNorm
	gqaQueryLengths
)

// groupQuery is an attention whose keys and values each serve several heads of
// queries. The positions of each batch end where an input says, and what comes
// before the new ones is cached.
func groupQuery(c *Call) error {
	if err := c.groupQueryLimits(); err != nil {
		return err
	}
	h, dt, err := c.groupQueryHeads()
	if err != nil {
		return err
	}
	g, err := c.newGroupQuery(h)
	if err != nil {
		return err
	}
	if err := g.rotate(); err != nil {
		return err
	}
	if err := g.cache(); err != nil {
		return err
	}
	t, err := g.attention()
	if err != nil {
		return err
	}
	if err := t.run(); err != nil {
		return err
	}
	for i, v := range t.qk {
		if math.IsInf(v, -1) { // a hidden key's score comes out as 0
			t.qk[i] = 0
		}
	}
	y, err := t.merged()
	if err != nil {
		return err
	}
	for i, a := range []*array.Array{y, t.k.array(), t.v.array(), array.FromSlice(t.qk, t.scores()...)} {
		if err := c.output(i, a, dt); err != nil {
			return err
		}
	}
	return nil
}

// groupQueryLimits fails for what the kernel has not: quantized caches, norms of
// queries and keys, caches of a sliding window.
func (c *Call) groupQueryLimits() error {
	for _, i := range []int{gqaKeyScale, gqaValueScale, gqaQueryNorm, gqaKeyNorm, gqaQueryLengths} {
		if c.Has(i) {
			return c.Errorf("input %d (%s): got a value, want none: the kernel has no use of it", i, c.Schema.Input(i).Name)
		}
	}
	for _, name := range []string{"sliding_window_cache", "kv_cache_bit_width"} {
		if c.Int(name) != 0 {
			return c.Errorf("attribute %q: got %d, want 0: the kernel has no other", name, c.Int(name))
		}
	}
	return nil
}

// groupQueryHeads reads queries, keys and values, which may be side by side.
func (c *Call) groupQueryHeads() (h [3]*heads, dt array.DType, err error) {
	q, err := c.Need(0)
	if err != nil {
		return h, 0, err
	}
	n, groups := c.Int("num_heads"), c.Int("kv_num_heads")
	if n < 1 || groups < 1 || q.Rank() != 3 {
		return h, 0, c.Errorf("input 0: got %s for %d heads of queries and %d of keys, want [batch, length, width] and 1 or more", q.Summary(), n, groups)
	}
	in := []*array.Array{q, nil, nil}
	if !c.Has(1) && !c.Has(2) {
		size := q.Shape()[2] / (n + 2*groups)
		if size*(n+2*groups) != q.Shape()[2] {
			return h, 0, c.Errorf("input 0: got %s, want a width that %d heads divide", q.Summary(), n+2*groups)
		}
		if in, err = c.parts(q, 2, []int{n * size, groups * size, groups * size}); err != nil {
			return h, 0, err
		}
	} else {
		for i := 1; i < 3; i++ {
			if in[i], err = c.Need(i); err != nil {
				return h, 0, err
			}
		}
	}
	for i, count := range []int{n, groups, groups} {
		if h[i], err = c.headsOf(i, in[i], count); err != nil {
			return h, 0, err
		}
	}
	return h, q.DType(), nil
}

// grouped is one evaluation of GroupQueryAttention.
type grouped struct {
	c       *Call
	q, k, v *heads
	end     []int // of each batch, the positions up to the last new one
	past    []int // of each batch, the cached positions
	total   int   // positions of the present
}

func (c *Call) newGroupQuery(h [3]*heads) (*grouped, error) {
	g := &grouped{c: c, q: h[0], k: h[1], v: h[2]}
	if g.k.length != g.q.length || g.k.n != g.q.n {
		return nil, c.Errorf("inputs: got queries %v and keys %v, want one batch and one length", g.q.shape(), g.k.shape())
	}
	last, err := c.IntsAt(gqaLengths)
	if err != nil {
		return nil, err
	}
	if g.total, err = c.scalarInt(gqaTotal); err != nil {
		return nil, err
	}
	if len(last) != g.q.n || g.total < 1 {
		return nil, c.Errorf("inputs: got %d lengths and the total length %d, want %d and 1 or more", len(last), g.total, g.q.n)
	}
	for _, n := range last {
		if n < 0 || n >= g.total {
			return nil, c.Errorf("input %d: got %d, want 0 to %d", gqaLengths, n, g.total-1)
		}
		past := n + 1 - g.q.length
		if g.q.length == g.total { // the first positions: there is no past
			past = 0
		}
		if past < 0 {
			return nil, c.Errorf("input %d: got %d, want %d or more for %d new positions", gqaLengths, n, g.q.length-1, g.q.length)
		}
		g.end, g.past = append(g.end, n+1), append(g.past, past)
	}
	return g, nil
}

// rotate turns queries and keys by their positions, where the attribute says so.
func (g *grouped) rotate() error {
	c := g.c
	if c.Int("do_rotary") == 0 {
		return nil
	}
	cos, err := c.Need(gqaCos)
	if err != nil {
		return err
	}
	sin, err := c.Need(gqaSin)
	if err != nil {
		return err
	}
	if cos.Rank() != 2 {
		return c.Errorf("input %d: got %s, want a matrix", gqaCos, cos.Summary())
	}
	ids, err := g.positions()
	if err != nil {
		return err
	}
	for _, h := range []*heads{g.q, g.k} {
		y, err := c.part(rotary, rotaryAttrs(c.Int("rotary_interleaved"), 2*cos.Shape()[1], h.heads), h.array(), cos, sin, ids)
		if err != nil {
			return err
		}
		if h.x, err = y.Float64s(); err != nil {
			return err
		}
	}
	return nil
}

// positions are those of the new queries and keys. Where there is no past, an
// input gives the first one alone, as the operator's text says.
func (g *grouped) positions() (*array.Array, error) {
	if g.c.Has(gqaPositions) {
		a, err := g.c.Need(gqaPositions)
		if err != nil || g.q.length != g.total || a.Size() == 0 {
			return a, err
		}
		ids, err := a.Int64s()
		if err != nil {
			return nil, err
		}
		return g.c.startingAt(array.FromSlice(ids[:1], 1), g.q.n, g.q.length)
	}
	ids := make([]int64, g.q.n*g.q.length)
	for i := range ids {
		b := i / g.q.length
		ids[i] = int64(g.past[b] + i%g.q.length)
		if ids[i] >= int64(g.end[b]) {
			ids[i] = 1 // padding
		}
	}
	return array.FromSlice(ids, g.q.n, g.q.length), nil
}

// cache puts the new keys and values behind the cached ones of each batch. The
// present is as long as the past, or as the total where that is more.
func (g *grouped) cache() error {
	c, length := g.c, g.total
	if c.Has(gqaPastKey) != c.Has(gqaPastValue) {
		return c.Errorf("inputs: got one of past_key and past_value, want both or neither")
	}
	for i, h := range []**heads{&g.k, &g.v} {
		now := *h
		past := &heads{n: now.n, heads: now.heads, size: now.size}
		if c.Has(gqaPastKey) {
			var err error
			if past, err = c.headsAt(gqaPastKey+i, 0); err != nil {
				return err
			}
		}
		if past.n != now.n || past.heads != now.heads || past.size != now.size {
			return c.Errorf("input %d: got shape %v, want that of the new positions, %v, but for the length", gqaPastKey+i, past.shape(), now.shape())
		}
		all := &heads{n: now.n, heads: now.heads, length: max(length, past.length), size: now.size}
		if err := c.CheckSize(array.Float64, all.shape()); err != nil {
			return err
		}
		all.x = make([]float64, sizeOf(all.shape()))
		for r := range now.n * now.heads {
			if err := g.cacheRow(r, past, now, all); err != nil {
				return err
			}
		}
		*h = all
	}
	return nil
}

// cacheRow fills head r of all batches.
func (g *grouped) cacheRow(r int, past, now, all *heads) error {
	cached := g.past[r/now.heads]
	if cached > past.length {
		return g.c.Errorf("inputs: got a past of %d positions, want the %d that the lengths name", past.length, cached)
	}
	to := all.x[r*all.length*all.size : (r+1)*all.length*all.size]
	copy(to, past.x[r*past.length*past.size:][:cached*past.size])
	copy(to[cached*all.size:], now.x[r*now.length*now.size:(r+1)*now.length*now.size])
	return nil
}

// attention hides what is cached beyond each batch's end, and what comes after
// each query or too long before it.
func (g *grouped) attention() (*attention, error) {
	c := g.c
	t, err := c.newAttention(g.q, g.k, g.v, 0)
	if err != nil {
		return nil, err
	}
	t.causal = c.IntOr("causal", 1) != 0
	t.offset = func(b int) int { return g.past[b] }
	t.valid = g.end
	t.softcap = float64(c.FloatOr("softcap", 0))
	if w := c.IntOr("local_window_size", -1); w > 0 {
		t.lo = w - 1
	}
	if c.Int("qk_output") == 2 {
		t.mode = 3
	} else {
		t.mode = 2
	}
	if err := g.sinks(t); err != nil {
		return nil, err
	}
	return t, g.bias(t)
}

// sinks gives each head a score that stands for no key.
func (g *grouped) sinks(t *attention) error {
	if g.c.Has(gqaSinks) {
		a, err := g.c.Need(gqaSinks)
		if err != nil {
			return err
		}
		if a.Size() != g.q.heads {
			return g.c.Errorf("input %d: got %s, want %d numbers, one for each head", gqaSinks, a.Summary(), g.q.heads)
		}
		t.sinks, err = a.Float64s()
		return err
	}
	if g.c.Int("smooth_softmax") == 1 {
		t.sinks = make([]float64, g.q.heads)
	}
	return nil
}

// bias adds an input to the scores, which is as long as the total.
func (g *grouped) bias(t *attention) error {
	if !g.c.Has(gqaScores) {
		return nil
	}
	a, err := g.c.Need(gqaScores)
	if err != nil {
		return err
	}
	if a.Rank() == 4 && a.Shape()[3] < g.k.length {
		pads := make([]int64, 8)
		pads[7] = int64(g.k.length - a.Shape()[3])
		fill, err := array.Scalar(math.Inf(-1)).Cast(a.DType())
		if err != nil {
			return err
		}
		if a, err = g.c.part(pad, nil, a, array.FromSlice(pads, 8), fill); err != nil {
			return err
		}
	}
	if err := g.c.CheckSize(array.Float64, t.scores()); err != nil {
		return err
	}
	t.biasAt, err = spreadTo(g.c, a, t.scores())
	return err
}

func inferGroupQuery(c *Infer) error {
	q := c.Fact(0)
	out, present, qk := TensorFact(q.DType, nil), TensorFact(c.Fact(gqaPastKey).DType, nil), TensorFact(q.DType, nil)
	if !c.HasIn(gqaPastKey) {
		present.DType = q.DType
	}
	n, groups := int64(c.Int("num_heads")), int64(c.Int("kv_num_heads"))
	if len(q.Dims) == 3 && n > 0 && groups > 0 {
		heads := n
		if !c.HasIn(1) {
			heads = n + 2*groups
		}
		size := q.Dims[2].FloorDiv(sym.Int(heads))
		length := c.presentLength()
		out.Dims = []sym.Expr{q.Dims[0], q.Dims[1], size.MulInt(n)}
		present.Dims = []sym.Expr{q.Dims[0], sym.Int(groups), length, size}
		qk.Dims = []sym.Expr{q.Dims[0], sym.Int(n), q.Dims[1], length}
	}
	for i, f := range []Fact{out, present, present, qk} {
		c.Set(i, f)
	}
	return nil
}

// presentLength is the longer of the past and the total, where both are known.
func (c *Infer) presentLength() sym.Expr {
	total := sym.Expr{}
	if es := c.ElemsAt(gqaTotal); len(es) == 1 {
		total = es[0]
	}
	if !c.HasIn(gqaPastKey) {
		return total
	}
	if d := c.Fact(gqaPastKey).Dims; len(d) == 4 {
		return total.Max(d[2])
	}
	return sym.Expr{}
}
