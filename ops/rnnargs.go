package ops

import (
	"math"
	"strings"

	"github.com/starlarkgs/starlarkgs/array"
)

// newRecurrent reads and checks the attributes and inputs.
func newRecurrent[T floating](c *Call, kind cellKind) (*recurrent[T], error) {
	r := &recurrent[T]{kind: kind, clip: T(c.Float("clip")), batchFirst: c.Int("layout") != 0}
	if err := r.sizes(c); err != nil {
		return nil, err
	}
	if err := r.activations(c); err != nil {
		return nil, err
	}
	if err := r.lengths(c); err != nil {
		return nil, err
	}
	g, h, d := kind.gates, r.hidden, r.dirs
	lstm := kind.gates == lstmCell.gates
	var err error
	if r.x, err = r.sequence(c); err != nil {
		return nil, err
	}
	inputs := []struct {
		to   *[]T
		i, n int
	}{{&r.w, 1, d * g * h * r.input}, {&r.r, 2, d * g * h * h}, {&r.bias, 3, d * 2 * g * h}, {&r.peep, 7, d * 3 * h}}
	if !lstm {
		inputs = inputs[:3]
	}
	for _, in := range inputs {
		if *in.to, err = realsAt[T](c, in.i, in.n); err != nil {
			return nil, err
		}
	}
	if r.r == nil {
		return nil, c.Errorf("input 2: got none, want the recurrence weights")
	}
	if r.h, err = r.initial(c, kind.state); err == nil && lstm {
		r.c, err = r.initial(c, kind.state+1)
	}
	return r, err
}

func (r *recurrent[T]) sizes(c *Call) error {
	x, w := c.Array(0), c.Array(1)
	if w == nil || x.Rank() != 3 || w.Rank() != 3 {
		return c.Errorf("inputs 0 and 1: want tensors of rank 3")
	}
	r.seq, r.batch, r.input, r.dirs = x.Shape()[0], x.Shape()[1], x.Shape()[2], w.Shape()[0]
	if r.batchFirst {
		r.seq, r.batch = r.batch, r.seq
	}
	g := r.kind.gates
	r.hidden = w.Shape()[1] / g
	if want := c.IntOr("hidden_size", r.hidden); w.Shape()[1] != g*want || w.Shape()[2] != r.input {
		return c.Errorf("input 1: got shape %v, want [%d %d %d]", w.Shape(), r.dirs, g*want, r.input)
	}
	switch d := c.Str("direction"); d {
	case "", "forward", "foward": // the first version's default is misspelt
		r.reverse = []bool{false}
	case "reverse":
		r.reverse = []bool{true}
	case "bidirectional":
		r.reverse = []bool{false, true}
	default:
		return c.Errorf("direction: got %q, want \"forward\", \"reverse\" or \"bidirectional\"", d)
	}
	if len(r.reverse) != r.dirs {
		return c.Errorf("direction: got %q, want one that fits %d sets of weights", c.Str("direction"), r.dirs)
	}
	return nil
}

// lengths reads how long each sequence of the batch is.
func (r *recurrent[T]) lengths(c *Call) error {
	r.lens = make([]int, r.batch)
	for i := range r.lens {
		r.lens[i] = r.seq
	}
	if !c.Has(4) {
		return nil
	}
	lens, err := c.IntsAt(4)
	if err != nil {
		return err
	}
	if len(lens) != r.batch {
		return c.Errorf("sequence_lens: got %d lengths, want %d", len(lens), r.batch)
	}
	for _, n := range lens {
		if n < 0 || n > r.seq {
			return c.Errorf("sequence_lens: got %d, want 0 to %d", n, r.seq)
		}
	}
	r.lens = lens
	return nil
}

// realsAt returns the elements of input i, n of them; nil when it is omitted.
func realsAt[T floating](c *Call, i, n int) ([]T, error) {
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
	w, err := a.Cast(array.DTypeOf[T]())
	if err != nil {
		return nil, c.Errorf("input %d: %w", i, err)
	}
	return array.Data[T](w), nil
}

// floats32 is realsAt in float32.
func (c *Call) floats32(i, n int) ([]float32, error) { return realsAt[float32](c, i, n) }

// sequence returns the input as [seq batch input].
func (r *recurrent[T]) sequence(c *Call) ([]T, error) {
	a := c.Array(0)
	if r.batchFirst {
		var err error
		if a, err = c.permuted(a, []int{1, 0, 2}); err != nil {
			return nil, err
		}
	}
	w, err := a.Cast(array.DTypeOf[T]())
	if err != nil {
		return nil, c.Errorf("input 0: %w", err)
	}
	return array.Data[T](w), nil
}

// initial returns a copy of an initial state as [dirs batch hidden]; zeros when
// it is omitted.
func (r *recurrent[T]) initial(c *Call, i int) ([]T, error) {
	out := make([]T, r.dirs*r.batch*r.hidden)
	x, err := realsAt[T](c, i, len(out))
	if err != nil || x == nil {
		return out, err
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

// activations reads the names, and alphas and betas in the order of the
// functions that take them.
func (r *recurrent[T]) activations(c *Call) error {
	names := c.Strs("activations")
	want := r.dirs * len(r.kind.activations)
	if !c.HasAttr("activations") {
		names = nil
		for range r.dirs {
			names = append(names, r.kind.activations...)
		}
	}
	if len(names) != want {
		return c.Errorf("activations: got %d names, want %d", len(names), want)
	}
	alphas, betas := c.Floats("activation_alpha"), c.Floats("activation_beta")
	take := func(from *[]float32, def float64) float64 {
		if len(*from) == 0 {
			return def
		}
		v := (*from)[0]
		*from = (*from)[1:]
		return float64(v)
	}
	for _, name := range names {
		var a, b float64
		def, ok := activationDefaults[strings.ToLower(name)]
		if !ok {
			return c.Errorf("activations: got %q, want Sigmoid, Tanh, Relu, Affine, LeakyRelu, ThresholdedRelu, ScaledTanh, HardSigmoid, Elu, Softsign or Softplus", name)
		}
		if def.params > 0 {
			a = take(&alphas, def.alpha)
		}
		if def.params > 1 {
			b = take(&betas, def.beta)
		}
		r.acts = append(r.acts, activation[T](strings.ToLower(name), a, b))
	}
	return nil
}

// activationDefaults tells how many of alpha and beta an activation takes, and
// what they are when not given.
var activationDefaults = map[string]struct {
	params      int
	alpha, beta float64
}{
	"sigmoid": {}, "tanh": {}, "relu": {}, "softsign": {}, "softplus": {},
	"affine": {2, 1, 0}, "leakyrelu": {1, 0.01, 0}, "thresholdedrelu": {1, 1, 0},
	"scaledtanh": {2, 1, 1}, "hardsigmoid": {2, 0.2, 0.5}, "elu": {1, 1, 0},
}

// activation returns the function of a lower-case name, in place on a slice.
func activation[T floating](name string, alpha, beta float64) func([]T) {
	if f, ok := any(activation32(name)).(func([]T)); ok && f != nil {
		return f
	}
	f := activation64(name, alpha, beta)
	return func(v []T) {
		for i, x := range v {
			v[i] = T(f(float64(x)))
		}
	}
}

// activation32 returns the loops of float32 that have one of their own, or nil.
func activation32(name string) func([]float32) {
	switch name {
	case "sigmoid":
		return func(v []float32) {
			for i, x := range v {
				v[i] = sigmoid32(x)
			}
		}
	case "tanh":
		return func(v []float32) {
			for i, x := range v {
				v[i] = tanh32(x)
			}
		}
	}
	return nil
}

func activation64(name string, alpha, beta float64) func(float64) float64 {
	switch name {
	case "sigmoid":
		return sigmoid
	case "tanh":
		return math.Tanh
	case "relu":
		return func(x float64) float64 { return max(x, 0) }
	case "affine":
		return func(x float64) float64 { return alpha*x + beta }
	case "leakyrelu":
		return func(x float64) float64 { return max(x, 0) + alpha*min(x, 0) }
	case "thresholdedrelu":
		return func(x float64) float64 {
			if x > alpha {
				return x
			}
			return 0
		}
	case "scaledtanh":
		return func(x float64) float64 { return alpha * math.Tanh(beta*x) }
	case "hardsigmoid":
		return func(x float64) float64 { return max(0, min(1, alpha*x+beta)) }
	case "elu":
		return func(x float64) float64 { return max(x, 0) + alpha*math.Expm1(min(x, 0)) }
	case "softsign":
		return func(x float64) float64 { return x / (1 + math.Abs(x)) }
	}
	return softplus
}
