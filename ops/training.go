package ops

import (
	"math"

	"github.com/starlarkgs/starlarkgs/array"
)

const trainingDomain = "ai.onnx.preview.training"

// optimizer is one step of an optimizer: the state of a tensor is its value, its
// gradient and what the optimizer accumulates.
type optimizer struct {
	c           *Call
	rate, count float64
	decay       float64 // of the value, added to the gradient
	tensors     int     // that are optimized together
	states      int     // accumulators of each
}

func (c *Call) optimizer(states int) (*optimizer, error) {
	rate, err := realsAt[float64](c, 0, 1)
	if err != nil {
		return nil, err
	}
	count, err := c.scalarInt(1)
	if err != nil {
		return nil, err
	}
	if rate == nil {
		return nil, c.Errorf("input 0: got none, want the learning rate")
	}
	n := (len(c.In) - 2) / (2 + states)
	if n < 1 || n*(2+states) != len(c.In)-2 {
		return nil, c.Errorf("got %d inputs, want 2 and %d for each tensor", len(c.In), 2+states)
	}
	if len(c.Out) > n*(1+states) {
		return nil, c.Errorf("got %d outputs, want %d", len(c.Out), n*(1+states))
	}
	return &optimizer{c: c, rate: rate[0], count: float64(count), decay: float64(c.Float("norm_coefficient")), tensors: n, states: states}, nil
}

// each runs a step on every tensor: x is its value, g its gradient with the
// decay added, s what is accumulated; the step changes x and s.
func (o *optimizer) each(step func(x, g []float64, s [][]float64)) error {
	c := o.c
	for t := range o.tensors {
		first, err := c.Need(2 + t)
		if err != nil {
			return err
		}
		var parts [][]float64
		for k := range 2 + o.states {
			v, err := realsAt[float64](c, 2+k*o.tensors+t, first.Size())
			if err != nil {
				return err
			}
			if v == nil {
				return c.Errorf("input %d: got none, want a tensor", 2+k*o.tensors+t)
			}
			parts = append(parts, append([]float64{}, v...))
		}
		x, g := parts[0], parts[1]
		for i := range g {
			g[i] += o.decay * x[i]
		}
		step(x, g, parts[2:])
		for k, v := range append([][]float64{x}, parts[2:]...) {
			at := k*o.tensors + t
			if at >= len(c.Out) {
				continue
			}
			in := c.Array(2 + t)
			if c.Out[at], err = array.FromSlice(v, append([]int{}, in.Shape()...)...).Cast(in.DType()); err != nil {
				return err
			}
		}
	}
	return nil
}

func adagrad(c *Call) error {
	o, err := c.optimizer(1)
	if err != nil {
		return err
	}
	rate := o.rate / (1 + o.count*float64(c.Float("decay_factor")))
	eps := float64(c.FloatOr("epsilon", 1e-6))
	return o.each(func(x, g []float64, s [][]float64) {
		for i, h := range s[0] {
			s[0][i] = h + g[i]*g[i]
			x[i] -= rate * g[i] / (math.Sqrt(s[0][i]) + eps)
		}
	})
}

func adam(c *Call) error {
	o, err := c.optimizer(2)
	if err != nil {
		return err
	}
	alpha, beta := float64(c.FloatOr("alpha", 0.9)), float64(c.FloatOr("beta", 0.999))
	eps, post := float64(c.FloatOr("epsilon", 1e-6)), float64(c.Float("norm_coefficient_post"))
	rate := o.rate
	if o.count > 0 {
		rate *= math.Sqrt(1-math.Pow(beta, o.count)) / (1 - math.Pow(alpha, o.count))
	}
	return o.each(func(x, g []float64, s [][]float64) {
		v, h := s[0], s[1]
		for i := range x {
			v[i] = alpha*v[i] + (1-alpha)*g[i]
			h[i] = beta*h[i] + (1-beta)*g[i]*g[i]
			x[i] = (1 - post) * (x[i] - rate*v[i]/(math.Sqrt(h[i])+eps))
		}
	})
}

func momentum(c *Call) error {
	o, err := c.optimizer(1)
	if err != nil {
		return err
	}
	mode := c.Str("mode")
	if mode != "standard" && mode != "nesterov" {
		return c.Errorf("mode: got %q, want \"standard\" or \"nesterov\"", mode)
	}
	alpha, beta := float64(c.Float("alpha")), float64(c.Float("beta"))
	if o.count <= 0 {
		beta = 1
	}
	return o.each(func(x, g []float64, s [][]float64) {
		for i, v := range s[0] {
			v = alpha*v + beta*g[i]
			s[0][i] = v
			if mode == "nesterov" {
				v = g[i] + alpha*v
			}
			x[i] -= o.rate * v
		}
	})
}

// inferOptimizer gives the outputs the facts of the tensors and accumulators.
func inferOptimizer(states int) func(*Infer) error {
	return func(c *Infer) error {
		n := (len(c.In) - 2) / (2 + states)
		for i := range c.Out {
			at := 2 + i
			if i >= n { // the gradients have no output
				at += n
			}
			if f := c.Fact(at); at < len(c.In) {
				c.Set(i, TensorFact(f.DType, f.Dims))
			}
		}
		return nil
	}
}

var trainingOps = []Op{
	{Domain: trainingDomain, Name: "Adagrad", Since: 1, Infer: inferOptimizer(1), Eval: adagrad},
	{Domain: trainingDomain, Name: "Adam", Since: 1, Infer: inferOptimizer(2), Eval: adam},
	{Domain: trainingDomain, Name: "Momentum", Since: 1, Infer: inferOptimizer(1), Eval: momentum},
}
