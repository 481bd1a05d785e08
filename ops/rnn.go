package ops

import (
	"math"
	"strings"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// recurrent is what LSTM, GRU and RNN share: sizes, directions, activations.
type recurrent struct {
	seq, batch, input, hidden, dirs int
	reverse                         []bool
	acts                            []func(float32) float32
	clip                            float32
	lens                            []int
	batchFirst                      bool
	dt                              array.DType
}

// activationOf returns the function of a name, with its parameters.
func (s *Site) activationOf(name string, alpha, beta float32, hasAlpha, hasBeta bool) (func(float32) float32, error) {
	or := func(v float32, has bool, def float32) float64 {
		if has {
			return float64(v)
		}
		return float64(def)
	}
	wrap := func(f func(float64) float64) func(float32) float32 {
		return func(x float32) float32 { return float32(f(float64(x))) }
	}
	switch strings.ToLower(name) {
	case "sigmoid":
		return wrap(sigmoid), nil
	case "tanh":
		return wrap(math.Tanh), nil
	case "relu":
		return relu32, nil
	case "affine":
		a, b := or(alpha, hasAlpha, 1), or(beta, hasBeta, 0)
		return wrap(func(x float64) float64 { return a*x + b }), nil
	case "leakyrelu":
		a := or(alpha, hasAlpha, 0.01)
		return wrap(func(x float64) float64 {
			if x < 0 {
				return a * x
			}
			return x
		}), nil
	case "thresholdedrelu":
		a := or(alpha, hasAlpha, 1)
		return wrap(func(x float64) float64 {
			if x > a {
				return x
			}
			return 0
		}), nil
	case "scaledtanh":
		a, b := or(alpha, hasAlpha, 1), or(beta, hasBeta, 1)
		return wrap(func(x float64) float64 { return a * math.Tanh(b*x) }), nil
	case "hardsigmoid":
		a, b := or(alpha, hasAlpha, 0.2), or(beta, hasBeta, 0.5)
		return wrap(func(x float64) float64 { return max(0, min(1, a*x+b)) }), nil
	case "elu":
		a := or(alpha, hasAlpha, 1)
		return wrap(func(x float64) float64 {
			if x < 0 {
				return a * math.Expm1(x)
			}
			return x
		}), nil
	case "softsign":
		return wrap(func(x float64) float64 { return x / (1 + math.Abs(x)) }), nil
	case "softplus":
		return wrap(softplus), nil
	}
	return nil, s.Errorf("attribute \"activations\": got %q, want Sigmoid, Tanh, Relu, Affine, LeakyRelu, ThresholdedRelu, ScaledTanh, HardSigmoid, Elu, Softsign or Softplus", name)
}

func (c *Call) recurrent(gates int, defaults []string) (*recurrent, error) {
	x, err := c.Need(0)
	if err != nil {
		return nil, err
	}
	w, err := c.Need(1)
	if err != nil {
		return nil, err
	}
	if x.Rank() != 3 || w.Rank() != 3 {
		return nil, c.Errorf("inputs: got shapes %v and %v, want rank 3", x.Shape(), w.Shape())
	}
	r := &recurrent{seq: x.Shape()[0], batch: x.Shape()[1], input: x.Shape()[2], dirs: w.Shape()[0], clip: c.Float("clip"), dt: x.DType()}
	if r.batchFirst = c.Int("layout") != 0; r.batchFirst {
		r.seq, r.batch = r.batch, r.seq
	}
	r.hidden = w.Shape()[1] / gates
	if w.Shape()[1] != gates*r.hidden || w.Shape()[2] != r.input || c.IntOr("hidden_size", r.hidden) != r.hidden {
		return nil, c.Errorf("input 1: got shape %v, want [%d %d %d]", w.Shape(), r.dirs, gates*c.Int("hidden_size"), r.input)
	}
	switch c.Str("direction") {
	case "", "forward":
		r.reverse = []bool{false}
	case "reverse":
		r.reverse = []bool{true}
	case "bidirectional":
		r.reverse = []bool{false, true}
	}
	if len(r.reverse) != r.dirs {
		return nil, c.Errorf("attribute \"direction\": got %q, want one that fits %d sets of weights", c.Str("direction"), r.dirs)
	}
	if err := r.activations(c, defaults); err != nil {
		return nil, err
	}
	r.lens = make([]int, r.batch)
	for i := range r.lens {
		r.lens[i] = r.seq
	}
	if c.Has(4) {
		lens, err := c.IntsAt(4)
		if err != nil {
			return nil, err
		}
		if len(lens) != r.batch {
			return nil, c.Errorf("input 4: got %d lengths, want %d", len(lens), r.batch)
		}
		for _, n := range lens {
			if n < 0 || n > r.seq {
				return nil, c.Errorf("input 4: got %d, want 0 to %d", n, r.seq)
			}
		}
		r.lens = lens
	}
	return r, nil
}

func (r *recurrent) activations(c *Call, defaults []string) error {
	names := c.Strs("activations")
	if len(names) == 0 {
		for range r.dirs {
			names = append(names, defaults...)
		}
	}
	if len(names) != r.dirs*len(defaults) {
		return c.Errorf("attribute \"activations\": got %d names, want %d", len(names), r.dirs*len(defaults))
	}
	alphas, betas := c.Floats("activation_alpha"), c.Floats("activation_beta")
	for i, name := range names {
		var alpha, beta float32
		if i < len(alphas) {
			alpha = alphas[i]
		}
		if i < len(betas) {
			beta = betas[i]
		}
		f, err := c.activationOf(name, alpha, beta, i < len(alphas), i < len(betas))
		if err != nil {
			return err
		}
		r.acts = append(r.acts, f)
	}
	return nil
}

// floats32 returns an input as float32, checked to hold n elements; nil when it
// is omitted.
func (c *Call) floats32(i, n int) ([]float32, error) {
	if !c.Has(i) {
		return nil, nil
	}
	a, err := c.Need(i)
	if err != nil {
		return nil, err
	}
	if n >= 0 && a.Size() != n {
		return nil, c.Errorf("input %d: got %s, want %d elements", i, a.Summary(), n)
	}
	w, err := a.Cast(array.Float32)
	if err != nil {
		return nil, err
	}
	return array.Data[float32](w), nil
}

// sequence returns the input as [seq, batch, input].
func (r *recurrent) sequence(c *Call) ([]float32, error) {
	a := c.Array(0)
	if r.batchFirst {
		v, err := a.Transpose(1, 0, 2)
		if err != nil {
			return nil, err
		}
		a = v.Contiguous()
	}
	w, err := a.Cast(array.Float32)
	if err != nil {
		return nil, err
	}
	return array.Data[float32](w), nil
}

// state returns an initial state as [dirs, batch, hidden], a copy; zeros when it
// is omitted.
func (r *recurrent) state(c *Call, i int) ([]float32, error) {
	n := r.dirs * r.batch * r.hidden
	x, err := c.floats32(i, n)
	if err != nil {
		return nil, err
	}
	out := make([]float32, n)
	if x == nil {
		return out, nil
	}
	if !r.batchFirst {
		copy(out, x)
		return out, nil
	}
	for b := range r.batch {
		for d := range r.dirs {
			copy(out[(d*r.batch+b)*r.hidden:(d*r.batch+b+1)*r.hidden], x[(b*r.dirs+d)*r.hidden:])
		}
	}
	return out, nil
}

func (r *recurrent) clipped(x float32) float32 {
	if r.clip > 0 {
		return min(max(x, -r.clip), r.clip)
	}
	return x
}

// emit sets the outputs: all hidden states, and the last states.
func (r *recurrent) emit(c *Call, y []float32, states ...[]float32) error {
	all := array.FromSlice(y, r.seq, r.dirs, r.batch, r.hidden)
	perm := []int{0, 1, 2, 3}
	if r.batchFirst {
		perm = []int{2, 0, 1, 3}
	}
	for i, a := range append([]*array.Array{all}, arrays(r, states)...) {
		if !c.Wants(i) || i >= len(c.Out) {
			continue
		}
		p := perm
		if i > 0 {
			if p = []int{0, 1, 2}; r.batchFirst {
				p = []int{1, 0, 2}
			}
		}
		v, err := a.Transpose(p...)
		if err != nil {
			return err
		}
		if c.Out[i], err = v.Contiguous().Cast(r.dt); err != nil {
			return err
		}
	}
	return nil
}

func arrays(r *recurrent, states [][]float32) []*array.Array {
	out := make([]*array.Array, len(states))
	for i, s := range states {
		out[i] = array.FromSlice(s, r.dirs, r.batch, r.hidden)
	}
	return out
}

// lstm computes, for each direction and step, the gates input, output, forget
// and cell, in this order of the weights' rows.
func lstm(c *Call) error {
	r, err := c.recurrent(4, []string{"Sigmoid", "Tanh", "Tanh"})
	if err != nil {
		return err
	}
	h, in := r.hidden, r.input
	x, err := r.sequence(c)
	if err != nil {
		return err
	}
	var parts [5][]float32
	for k, p := range []struct{ input, size int }{{1, r.dirs * 4 * h * in}, {2, r.dirs * 4 * h * h}, {3, r.dirs * 8 * h}, {7, r.dirs * 3 * h}} {
		if parts[k], err = c.floats32(p.input, p.size); err != nil {
			return err
		}
	}
	w, rw, bias, peep := parts[0], parts[1], parts[2], parts[3]
	if rw == nil {
		return c.Errorf("input 2: got none, want the recurrence weights")
	}
	hidden, err := r.state(c, 5)
	if err != nil {
		return err
	}
	cell, err := r.state(c, 6)
	if err != nil {
		return err
	}
	coupled := c.Int("input_forget") != 0
	y := make([]float32, r.seq*r.dirs*r.batch*h)
	gates := make([]float32, r.seq*r.batch*4*h)
	for d := range r.dirs {
		wd, rd := w[d*4*h*in:(d+1)*4*h*in], rw[d*4*h*h:(d+1)*4*h*h]
		gemm32(false, true, r.seq*r.batch, 4*h, in, 1, x, wd, 0, gates)
		if bias != nil {
			addBias(gates, bias[d*8*h:(d+1)*8*h], 4*h)
		}
		var p []float32
		if peep != nil {
			p = peep[d*3*h : (d+1)*3*h]
		}
		hs, cs := hidden[d*r.batch*h:(d+1)*r.batch*h], cell[d*r.batch*h:(d+1)*r.batch*h]
		f, g, o := r.acts[d*3], r.acts[d*3+1], r.acts[d*3+2]
		for t := range r.seq {
			rec := make([]float32, r.batch*4*h)
			gemm32(false, true, r.batch, 4*h, h, 1, hs, rd, 0, rec)
			for b := range r.batch {
				step := t
				if t >= r.lens[b] {
					continue
				}
				if r.reverse[d] {
					step = r.lens[b] - 1 - t
				}
				row := gates[(step*r.batch+b)*4*h : (step*r.batch+b+1)*4*h]
				lstmStep(r, row, rec[b*4*h:(b+1)*4*h], hs[b*h:(b+1)*h], cs[b*h:(b+1)*h], p, coupled, f, g, o)
				copy(y[((step*r.dirs+d)*r.batch+b)*h:], hs[b*h:(b+1)*h])
			}
		}
	}
	return r.emit(c, y, hidden, cell)
}

func addBias(gates, bias []float32, n int) {
	for i := range gates {
		gates[i] += bias[i%n] + bias[n+i%n]
	}
}

func lstmStep(r *recurrent, x, rec, hs, cs, peep []float32, coupled bool, f, g, o func(float32) float32) {
	h := r.hidden
	for j := range h {
		it, ot, ft, ct := x[j]+rec[j], x[h+j]+rec[h+j], x[2*h+j]+rec[2*h+j], x[3*h+j]+rec[3*h+j]
		if peep != nil {
			it += peep[j] * cs[j]
			ft += peep[2*h+j] * cs[j]
		}
		i := f(r.clipped(it))
		forget := 1 - i
		if !coupled {
			forget = f(r.clipped(ft))
		}
		cs[j] = forget*cs[j] + i*g(r.clipped(ct))
		if peep != nil {
			ot += peep[h+j] * cs[j]
		}
		hs[j] = f(r.clipped(ot)) * o(cs[j])
	}
}

func inferRecurrent(gates int) func(*Infer) error {
	return func(c *Infer) error {
		x, w := c.Fact(0), c.Fact(1)
		all, last := TensorFact(x.DType, nil), TensorFact(x.DType, nil)
		if len(x.Dims) == 3 && len(w.Dims) == 3 {
			h := w.Dims[1].FloorDiv(sym.Int(int64(gates)))
			seq, batch := x.Dims[0], x.Dims[1]
			all.Dims = []sym.Expr{seq, w.Dims[0], batch, h}
			last.Dims = []sym.Expr{w.Dims[0], batch, h}
			if c.Int("layout") != 0 {
				seq, batch = batch, seq
				all.Dims = []sym.Expr{batch, seq, w.Dims[0], h}
				last.Dims = []sym.Expr{batch, w.Dims[0], h}
			}
		}
		c.Set(0, all)
		for i := 1; i < len(c.Out); i++ {
			c.Set(i, last)
		}
		return nil
	}
}

var rnnOps = []Op{
	{Name: "LSTM", Since: 1, Infer: inferRecurrent(4), Eval: lstm},
}
