package ops

import (
	"math"
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// multiHeadAt says which inputs hold what an attention of heads takes besides
// query, key and value, the first three.
type multiHeadAt struct{ bias, mask, scores, pastKey, pastValue, pastLength, beams, indirection int }

var (
	multiHeadInputs = multiHeadAt{bias: 3, mask: 4, scores: 5, pastKey: 6, pastValue: 7, pastLength: 8, beams: -1, indirection: 9}
	decoderInputs   = multiHeadAt{bias: 10, mask: 3, scores: 4, pastKey: 5, pastValue: 6, pastLength: 7, beams: 8, indirection: 9}
)

// multiHead makes an attention of queries, keys and values that have been
// projected. The outputs are the result, the keys and values with the cached
// ones, and the scores before they are softmaxed.
func multiHead(at multiHeadAt) func(*Call) error {
	return func(c *Call) error {
		if at.indirection >= 0 && c.Has(at.indirection) {
			return c.Errorf("input %d: got an indirection of beams, want none: the kernel searches none", at.indirection)
		}
		h, err := c.multiHeads(at.bias)
		if err != nil {
			return err
		}
		past, err := c.pastOf(at)
		if err != nil {
			return err
		}
		length := 0
		for i, p := range past {
			if p == nil {
				continue
			}
			length = p.length
			if h[i+1], err = h[i+1].behind(c, at.pastKey+i, p); err != nil {
				return err
			}
		}
		t, err := c.newAttention(h[0], h[1], h[2], length)
		if err != nil {
			return err
		}
		t.mode, t.hide = 2, lowest(c.Array(0).DType())
		if err := t.addBias(at.scores); err != nil {
			return err
		}
		if err := t.addMask(at.mask, c.maskFilter()); err != nil {
			return err
		}
		if err := t.run(); err != nil {
			return err
		}
		return c.multiHeadResults(t, at, length)
	}
}

// lowest is the least finite number of a float type: what a key that comes after
// the query gets, and what the scores show.
func lowest(dt array.DType) float64 {
	switch dt {
	case array.Float16:
		return -65504
	case array.BFloat16:
		return -0x1.fep127
	}
	return -math.MaxFloat32
}

// multiHeads reads queries, keys and values, which may be packed, and adds the
// bias of all three to those that have their heads side by side.
func (c *Call) multiHeads(bias int) (h [3]*heads, err error) {
	in, err := c.unpackedQKV()
	if err != nil {
		return h, err
	}
	var b *array.Array
	if c.Has(bias) {
		if b, err = c.Need(bias); err != nil {
			return h, err
		}
	}
	from := 0
	for i, a := range in {
		if a.Rank() == 3 && b != nil {
			if a, err = c.plusBias(a, b, from); err != nil {
				return h, err
			}
			from += a.Shape()[2]
		}
		if h[i], err = c.headsOf(i, a, c.Int("num_heads")); err != nil {
			return h, err
		}
	}
	return h, nil
}

// plusBias adds the part of a vector that begins at from to the rows of a.
func (c *Call) plusBias(a, bias *array.Array, from int) (*array.Array, error) {
	width := a.Shape()[2]
	if bias.Rank() != 1 || bias.Size() < from+width {
		return nil, c.Errorf("bias: got %s, want one number for each element of queries, keys and values", bias.Summary())
	}
	parts, err := c.parts(bias, 0, []int{from, width, bias.Size() - from - width})
	if err != nil {
		return nil, err
	}
	return c.sameShape(a, parts[1])
}

// unpackedQKV returns the first three inputs. Keys and values may lie behind the
// queries, all in one tensor, or values behind the keys; the heads are apart then.
func (c *Call) unpackedQKV() (in [3]*array.Array, err error) {
	for i := range in {
		if i == 0 || c.Has(i) {
			if in[i], err = c.Need(i); err != nil {
				return in, err
			}
		}
	}
	switch {
	case in[1] == nil && in[2] == nil:
		packed, err := c.unpacked(in[0], 3)
		return [3]*array.Array(packed), err
	case in[1] != nil && in[2] == nil:
		packed, err := c.unpacked(in[1], 2)
		if err != nil {
			return in, err
		}
		in[1], in[2] = packed[0], packed[1]
	case in[1] == nil:
		return in, c.Errorf("inputs: got a value without a key, want both or neither")
	}
	return in, nil
}

// unpacked cuts [batch, length, heads, n, size], or for queries [batch, length,
// n·width], into n tensors of [batch, length, width].
func (c *Call) unpacked(a *array.Array, n int) ([]*array.Array, error) {
	out := make([]*array.Array, max(3, n))
	s, axis := a.Shape(), 3
	switch {
	case len(s) == 5 && s[3] == n:
	case len(s) == 3 && n == 3 && s[2]%3 == 0:
		axis = 2
	default:
		return out, c.Errorf("inputs: got %s of %d tensors, want [batch, length, heads, %d, size]", a.Summary(), n, n)
	}
	parts, err := c.parts(a, axis, slices.Repeat([]int{s[axis] / n}, n))
	if err != nil {
		return out, err
	}
	for i, p := range parts {
		if out[i], err = p.Reshape(s[0], s[1], p.Size()/max(1, s[0]*s[1])); err != nil {
			return out, err
		}
	}
	return out, nil
}

// pastOf reads the cached keys and values; of a buffer that they share with the
// new ones, what an input says is filled.
func (c *Call) pastOf(at multiHeadAt) (past [2]*heads, err error) {
	if c.Has(at.pastKey) != c.Has(at.pastValue) {
		return past, c.Errorf("inputs: got one of past_key and past_value, want both or neither")
	}
	if !c.Has(at.pastKey) {
		return past, nil
	}
	for i := range past {
		if past[i], err = c.headsAt(at.pastKey+i, 0); err != nil {
			return past, err
		}
		if c.Int("past_present_share_buffer") != 0 {
			n, err := c.scalarInt(at.pastLength)
			if err != nil {
				return past, err
			}
			if n < 0 || n > past[i].length {
				return past, c.Errorf("input %d: got a past of %d, want 0 to %d", at.pastLength, n, past[i].length)
			}
			past[i] = past[i].first(n)
		}
	}
	return past, nil
}

// first returns the first n positions.
func (h *heads) first(n int) *heads {
	out := &heads{n: h.n, heads: h.heads, length: n, size: h.size}
	for r := range h.n * h.heads {
		out.x = append(out.x, h.x[r*h.length*h.size:(r*h.length+n)*h.size]...)
	}
	return out
}

// into writes all positions of h over the first ones of a buffer.
func (h *heads) into(c *Call, buffer *heads) (*heads, error) {
	if buffer.length < h.length {
		return nil, c.Errorf("inputs: got a buffer of %d positions, want room for %d", buffer.length, h.length)
	}
	for r := range h.n * h.heads {
		copy(buffer.x[r*buffer.length*h.size:], h.x[r*h.length*h.size:(r+1)*h.length*h.size])
	}
	return buffer, nil
}

func (c *Call) multiHeadResults(t *attention, at multiHeadAt, past int) error {
	dt := c.Array(0).DType()
	y, err := t.merged()
	if err != nil {
		return err
	}
	if err := c.output(0, y, dt); err != nil {
		return err
	}
	for i, h := range []*heads{t.k, t.v} {
		if c.Int("past_present_share_buffer") != 0 && c.Has(at.pastKey) {
			buffer, err := c.headsAt(at.pastKey+i, 0)
			if err != nil {
				return err
			}
			if h, err = h.into(c, buffer); err != nil {
				return err
			}
		}
		if err := c.output(i+1, h.array(), dt); err != nil {
			return err
		}
	}
	return c.output(3, array.FromSlice(t.qk, t.scores()...), dt)
}

// inferMultiHead infers what multiHead makes.
func inferMultiHead(at multiHeadAt) func(*Infer) error {
	return func(c *Infer) error {
		dt := c.Fact(0).DType
		d, n := c.multiHeadDims(), int64(c.Int("num_heads"))
		out, key, value := TensorFact(dt, nil), TensorFact(dt, nil), TensorFact(dt, nil)
		qk := TensorFact(array.Undefined, nil)
		if d.batch.Known() && n > 0 {
			total := c.plusPast(d.keys, at.pastKey, 2)
			present := total
			if c.Int("past_present_share_buffer") != 0 && c.HasIn(at.pastKey) {
				total, present = sym.Expr{}, c.plusPast(sym.Int(0), at.pastKey, 2)
			}
			out.Dims = []sym.Expr{d.batch, d.queries, d.valueWidth}
			key.Dims = []sym.Expr{d.batch, sym.Int(n), present, d.keyWidth.FloorDiv(sym.Int(n))}
			value.Dims = []sym.Expr{d.batch, sym.Int(n), present, d.valueWidth.FloorDiv(sym.Int(n))}
			qk.Dims = []sym.Expr{d.batch, sym.Int(n), d.queries, total}
		}
		for i, f := range []Fact{out, key, value, qk} {
			c.Set(i, f)
		}
		return nil
	}
}

// multiHeadDims are the sizes of queries, keys and values.
type multiHeadDims struct{ batch, queries, keys, keyWidth, valueWidth sym.Expr }

func (c *Infer) multiHeadDims() (d multiHeadDims) {
	q, k, v := c.Fact(0).Dims, c.Fact(1).Dims, c.Fact(2).Dims
	if len(q) < 3 {
		return d
	}
	d = multiHeadDims{batch: q[0], queries: q[1], keys: q[1]}
	switch {
	case !c.HasIn(1) && len(q) == 5: // all three packed, heads apart
		d.keyWidth = q[2].Mul(q[4])
		d.valueWidth = d.keyWidth
		return d
	case !c.HasIn(1):
		d.keyWidth = q[2].FloorDiv(sym.Int(3))
		d.valueWidth = d.keyWidth
		return d
	}
	d.keyWidth, d.keys = q[2], sym.Expr{}
	switch len(k) {
	case 3, 5:
		d.keys = k[1]
	case 4:
		d.keys = k[2]
	}
	switch {
	case !c.HasIn(2):
		d.valueWidth = q[2]
	case len(v) == 3:
		d.valueWidth = v[2]
	case len(v) == 4:
		d.valueWidth = v[1].Mul(v[3])
	}
	return d
}
