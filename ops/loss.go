package ops

import (
	"math"
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// lossInput is a loss's input: one score for each class, dimension 1, at each place.
type lossInput struct {
	c        *Call
	a        *array.Array
	logProbs []float64
	n, inner int // classes, and places behind them
	targets  []int64
	weights  []float64 // nil: all 1
}

func newLossInput(c *Call) (*lossInput, error) {
	a, err := c.Need(0)
	if err != nil {
		return nil, err
	}
	t, err := c.Need(1)
	if err != nil {
		return nil, err
	}
	if a.Rank() < 2 || !slices.Equal(t.Shape(), slices.Delete(slices.Clone(a.Shape()), 1, 2)) {
		return nil, c.Errorf("inputs: got %s and targets %s, want scores of rank 2 or more and targets of the same shape without dimension 1", a.Summary(), t.Summary())
	}
	l := &lossInput{c: c, a: a}
	_, l.n, l.inner = splitAt(a.Shape(), 1)
	if l.logProbs, err = a.Float64s(); err != nil {
		return nil, err
	}
	if l.targets, err = t.Int64s(); err != nil {
		return nil, err
	}
	if w := c.Array(2); w != nil {
		if w.Size() != l.n {
			return nil, c.Errorf("weights: got %d elements, want %d, one for each class", w.Size(), l.n)
		}
		if l.weights, err = w.Float64s(); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// logSoftmax turns scores into logarithms of probabilities.
func (l *lossInput) logSoftmax() {
	if l.n == 0 {
		return
	}
	for place := range len(l.logProbs) / l.n {
		base := place/l.inner*l.n*l.inner + place%l.inner
		top, sum := math.Inf(-1), 0.0
		for k := range l.n {
			top = max(top, l.logProbs[base+k*l.inner])
		}
		for k := range l.n {
			sum += math.Exp(l.logProbs[base+k*l.inner] - top)
		}
		for k := range l.n {
			l.logProbs[base+k*l.inner] -= top + math.Log(sum)
		}
	}
}

// reduced is the loss at each place, or its sum, or its mean by weight.
func (l *lossInput) reduced() (*array.Array, error) {
	ignored := int64(l.c.Int("ignore_index"))
	skips := l.c.HasAttr("ignore_index")
	losses, sum, total := make([]float64, len(l.targets)), 0.0, 0.0
	for i, t := range l.targets {
		if skips && t == ignored {
			continue
		}
		if t < 0 || t >= int64(l.n) {
			return nil, l.c.Errorf("targets: got %d at element %d, want 0 to %d", t, i, l.n-1)
		}
		w := 1.0
		if l.weights != nil {
			w = l.weights[t]
		}
		losses[i] = -w * l.logProbs[(i/l.inner*l.n+int(t))*l.inner+i%l.inner]
		sum, total = sum+losses[i], total+w
	}
	switch by := l.c.Str("reduction"); by {
	case "none":
		return array.FromSlice(losses, slices.Delete(slices.Clone(l.a.Shape()), 1, 2)...).Cast(l.a.DType())
	case "sum":
		return array.Scalar(sum).Cast(l.a.DType())
	case "mean", "":
		return array.Scalar(sum / total).Cast(l.a.DType())
	default:
		return nil, l.c.Errorf("reduction: got %q, want none, sum or mean", by)
	}
}

func negativeLogLikelihood(c *Call) error {
	l, err := newLossInput(c)
	if err == nil {
		c.Out[0], err = l.reduced()
	}
	return err
}

func softmaxCrossEntropy(c *Call) error {
	l, err := newLossInput(c)
	if err != nil {
		return err
	}
	l.logSoftmax()
	if c.Out[0], err = l.reduced(); err != nil || !c.Wants(1) {
		return err
	}
	c.Out[1], err = array.FromSlice(l.logProbs, l.a.Shape()...).Cast(l.a.DType())
	return err
}

func inferLoss(c *Infer) error {
	in := c.Fact(0)
	out := TensorFact(in.DType, []sym.Expr{})
	if c.Str("reduction") == "none" {
		out.Dims = c.Fact(1).Dims
	}
	c.Set(0, out)
	c.Set(1, TensorFact(in.DType, in.Dims))
	return nil
}

var lossOps = []Op{
	{Name: "NegativeLogLikelihoodLoss", Since: 12, Checks: []Check{targetsFit, oneOf("reduction", "none", "sum", "mean")}, Infer: inferLoss, Eval: negativeLogLikelihood},
	{Name: "SoftmaxCrossEntropyLoss", Since: 12, Checks: []Check{targetsFit, oneOf("reduction", "none", "sum", "mean")}, Infer: inferLoss, Eval: softmaxCrossEntropy},
}
