package ops

import (
	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/par"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// floating is the types in which recurrent networks are computed; narrower ones are
// computed in float32.
type floating interface{ float32 | float64 }

// cellKind is what distinguishes RNN, GRU and LSTM.
type cellKind struct {
	gates       int
	activations []string // the default ones, of one direction
	state       int      // the input of the initial hidden state
}

var (
	rnnCell  = cellKind{1, []string{"Tanh"}, 5}
	gruCell  = cellKind{3, []string{"Sigmoid", "Tanh"}, 5}
	lstmCell = cellKind{4, []string{"Sigmoid", "Tanh", "Tanh"}, 5}
)

// recurrent is one evaluation of RNN, GRU or LSTM: sizes, weights and state.
type recurrent[T floating] struct {
	kind                            cellKind
	seq, batch, input, hidden, dirs int
	reverse                         []bool
	acts                            []func([]T) // of all directions
	clip                            T
	lens                            []int
	batchFirst                      bool
	x, w, r, bias, peep             []T // bias and peep may be nil
	h, c                            []T // the states, [dirs batch hidden]; c of LSTM alone
	y                               []T // all hidden states, [seq dirs batch hidden]
}

// direction is the part of a recurrent evaluation that runs one way.
type direction[T floating] struct {
	*recurrent[T]
	r, bias, peep []T
	acts          []func([]T)
	h, c          []T
	rec           []T // what the state adds to the gates, [batch gates hidden]
}

// recurrentOf makes the kernel of a kind of cell, from its step in both widths.
func recurrentOf(kind cellKind, step32 func(*Call) func(*direction[float32], int, []float32), step64 func(*Call) func(*direction[float64], int, []float64)) func(*Call) error {
	return func(c *Call) error {
		x, err := c.Need(0)
		if err != nil {
			return err
		}
		if !x.DType().IsFloat() {
			return c.Errorf("input 0: got %s, want a float type", x.DType())
		}
		if x.DType() == array.Float64 {
			return runRecurrent(c, kind, step64(c))
		}
		return runRecurrent(c, kind, step32(c))
	}
}

// runRecurrent projects the whole input by one product, then steps through
// time, the directions side by side.
func runRecurrent[T floating](c *Call, kind cellKind, step func(*direction[T], int, []T)) error {
	r, err := newRecurrent[T](c, kind)
	if err != nil {
		return err
	}
	g, h := kind.gates, r.hidden
	if err := c.CheckSize(array.DTypeOf[T](), []int{r.seq, r.dirs, r.batch, g * h}); err != nil {
		return err
	}
	r.y = make([]T, r.seq*r.dirs*r.batch*h)
	par.For(r.dirs, 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			r.runDirection(i, step)
		}
	})
	return emitStates(c, r)
}

// part cuts the i-th of so many equal parts out of s, which may be nil.
func part[T any](s []T, i, parts int) []T {
	n := len(s) / max(parts, 1)
	return s[i*n : (i+1)*n]
}

func (r *recurrent[T]) runDirection(i int, step func(*direction[T], int, []T)) {
	g, h := r.kind.gates, r.hidden
	d := &direction[T]{recurrent: r, r: part(r.r, i, r.dirs), bias: part(r.bias, i, r.dirs), peep: part(r.peep, i, r.dirs),
		acts: part(r.acts, i, r.dirs), h: part(r.h, i, r.dirs), c: part(r.c, i, r.dirs), rec: make([]T, r.batch*g*h)}
	gates := make([]T, r.seq*r.batch*g*h)
	mulTransposed(r.seq*r.batch, g*h, r.input, r.x, part(r.w, i, r.dirs), gates)
	if len(d.bias) > 0 {
		for at := 0; at < len(gates); at += g * h {
			addTo(gates[at:at+g*h], d.bias[:g*h])
		}
	}
	for t := range r.seq {
		mulTransposed(r.batch, g*h, h, d.h, d.r, d.rec)
		for b := range r.batch {
			if t >= r.lens[b] {
				continue
			}
			at := t
			if r.reverse[i] {
				at = r.lens[b] - 1 - t
			}
			row := at*r.batch + b
			step(d, b, gates[row*g*h:(row+1)*g*h])
			copy(r.y[((at*r.dirs+i)*r.batch+b)*h:], d.h[b*h:(b+1)*h])
		}
	}
}

func addTo[T floating](dst, v []T) {
	for i, x := range v {
		dst[i] += x
	}
}

// mulTransposed computes c = a·bᵀ of row-major matrices, c being m×n.
func mulTransposed[T floating](m, n, k int, a, b, c []T) {
	switch a := any(a).(type) {
	case []float32:
		gemm32(false, true, m, n, k, 1, a, any(b).([]float32), 0, any(c).([]float32))
	case []float64:
		gemm64(false, true, m, n, k, 1, a, any(b).([]float64), 0, any(c).([]float64))
	}
}

// clipped bounds what goes into an activation, where the attribute asks for it.
func (r *recurrent[T]) clipped(v []T) {
	if r.clip <= 0 {
		return
	}
	for i, x := range v {
		v[i] = min(max(x, -r.clip), r.clip)
	}
}

// activate bounds v and applies activation i of the direction.
func (d *direction[T]) activate(i int, v []T) {
	d.clipped(v)
	d.acts[i](v)
}

// rnnStep: H = f(x + R·H + bias).
func rnnStep[T floating](*Call) func(*direction[T], int, []T) {
	return func(d *direction[T], b int, x []T) {
		h := d.hidden
		addTo(x, d.rec[b*h:(b+1)*h])
		if len(d.bias) > 0 {
			addTo(x, d.bias[h:])
		}
		d.activate(0, x)
		copy(d.h[b*h:(b+1)*h], x)
	}
}

// gruStep has the gates update, reset and hidden. The reset gate scales the
// state before its product with the hidden gate's weights, or after it.
func gruStep[T floating](c *Call) func(*direction[T], int, []T) {
	after := c.Int("linear_before_reset") != 0
	return func(d *direction[T], b int, x []T) {
		h := d.hidden
		state, rec := d.h[b*h:(b+1)*h], d.rec[b*3*h:(b+1)*3*h]
		if len(d.bias) > 0 {
			addTo(rec, d.bias[3*h:])
		}
		addTo(x[:2*h], rec[:2*h])
		d.activate(0, x[:2*h])
		z, reset, hid := x[:h], x[h:2*h], x[2*h:]
		if after {
			for j, v := range rec[2*h:] {
				hid[j] += reset[j] * v
			}
		} else {
			for j, v := range state {
				reset[j] *= v
			}
			mulTransposed(1, h, h, reset, d.r[2*h*h:], rec[2*h:])
			addTo(hid, rec[2*h:])
			if len(d.bias) > 0 {
				addTo(hid, d.bias[5*h:])
			}
		}
		d.activate(1, hid)
		for j, v := range hid {
			state[j] = (1-z[j])*v + z[j]*state[j]
		}
	}
}

// lstmStep has the gates input, output, forget and cell.
func lstmStep[T floating](c *Call) func(*direction[T], int, []T) {
	coupled := c.Int("input_forget") != 0
	return func(d *direction[T], b int, x []T) {
		h := d.hidden
		state, cell := d.h[b*h:(b+1)*h], d.c[b*h:(b+1)*h]
		addTo(x, d.rec[b*4*h:(b+1)*4*h])
		if len(d.bias) > 0 {
			addTo(x, d.bias[4*h:])
		}
		in, out, forget, cand := x[:h], x[h:2*h], x[2*h:3*h], x[3*h:]
		if len(d.peep) > 0 {
			for j, v := range cell {
				in[j] += d.peep[j] * v
				forget[j] += d.peep[2*h+j] * v
			}
		}
		d.activate(0, in)
		if coupled {
			for j, v := range in {
				forget[j] = 1 - v
			}
		} else {
			d.activate(0, forget)
		}
		d.activate(1, cand)
		for j := range cell {
			cell[j] = forget[j]*cell[j] + in[j]*cand[j]
		}
		if len(d.peep) > 0 {
			for j, v := range cell {
				out[j] += d.peep[h+j] * v
			}
		}
		d.activate(0, out)
		copy(state, cell)
		d.acts[2](state)
		for j, v := range out {
			state[j] *= v
		}
	}
}

// emitStates sets the outputs: all hidden states, and the last states.
func emitStates[T floating](c *Call, r *recurrent[T]) error {
	outs := []*array.Array{array.FromSlice(r.y, r.seq, r.dirs, r.batch, r.hidden), array.FromSlice(r.h, r.dirs, r.batch, r.hidden)}
	if r.c != nil {
		outs = append(outs, array.FromSlice(r.c, r.dirs, r.batch, r.hidden))
	}
	for i, a := range outs {
		if !c.Wants(i) {
			continue
		}
		var err error
		switch {
		case r.batchFirst && i == 0:
			a, err = c.permuted(a, []int{2, 0, 1, 3})
		case r.batchFirst:
			a, err = c.permuted(a, []int{1, 0, 2})
		}
		if err != nil {
			return err
		}
		if c.Out[i], err = a.Cast(c.Array(0).DType()); err != nil {
			return err
		}
	}
	return nil
}

func inferRecurrent(gates int) func(*Infer) error {
	return func(c *Infer) error {
		x, w := c.Fact(0), c.Fact(1)
		all, last := TensorFact(x.DType, make([]sym.Expr, 4)), TensorFact(x.DType, make([]sym.Expr, 3))
		if x.Dims != nil && len(x.Dims) != 3 {
			return c.Errorf("input 0: got rank %d, want 3", len(x.Dims))
		}
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
	{Name: "RNN", Since: 1, Checks: []Check{rankIn(0, 3, 3), rankIn(1, 3, 3), weightsFit(1)}, Infer: inferRecurrent(1), Eval: recurrentOf(rnnCell, rnnStep[float32], rnnStep[float64])},
	{Name: "GRU", Since: 1, Checks: []Check{rankIn(0, 3, 3), rankIn(1, 3, 3), weightsFit(3)}, Infer: inferRecurrent(3), Eval: recurrentOf(gruCell, gruStep[float32], gruStep[float64])},
	{Name: "LSTM", Since: 1, Checks: []Check{rankIn(0, 3, 3), rankIn(1, 3, 3), weightsFit(4)}, Infer: inferRecurrent(4), Eval: recurrentOf(lstmCell, lstmStep[float32], lstmStep[float64])},
}
