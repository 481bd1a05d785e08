package ops

import (
	"maps"
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// tanhGelu are the attributes of a Gelu by way of tanh.
var tanhGelu = []*ir.Attr{ir.NewAttr("approximate", "tanh")}

// biased makes a kernel of one that takes the sum of the first n inputs, of
// which all but the first may be omitted where the schema says so. Narrow floats
// are computed in float32 throughout.
func biased(n int, kernel func(*Call) error, attrs []*ir.Attr) func(*Call) error {
	return func(c *Call) error {
		a, err := c.Need(0)
		if err != nil {
			return err
		}
		terms := make([]*array.Array, n)
		for i := range terms {
			if terms[i], err = c.wideAt(i); err != nil {
				return err
			}
		}
		y, err := c.total(terms...)
		if err != nil {
			return err
		}
		if kernel != nil {
			if y, err = c.part(kernel, attrs, y); err != nil {
				return err
			}
		}
		c.Out[0], err = y.Cast(a.DType())
		return err
	}
}

// wideAt returns input i, or nil where the schema lets it be omitted; narrow
// floats as float32.
func (c *Call) wideAt(i int) (*array.Array, error) {
	if !c.Has(i) && !c.isRequired(i) {
		return nil, nil
	}
	a, err := c.Need(i)
	if err != nil {
		return nil, err
	}
	w, _, err := widened(a)
	return w, err
}

// biasSplitGelu is the first half of the last axis times the Gelu of the second,
// the bias added to both before.
func biasSplitGelu(c *Call) error {
	if err := biased(2, nil, nil)(c); err != nil {
		return err
	}
	a := c.Out[0].(*array.Array)
	if a.Rank() == 0 || a.Shape()[a.Rank()-1]%2 != 0 {
		return c.Errorf("input 0: got %s, want an even last dimension", a.Summary())
	}
	half := a.Shape()[a.Rank()-1] / 2
	parts, err := c.parts(a, a.Rank()-1, []int{half, half})
	if err != nil {
		return err
	}
	gated, err := c.part(gelu, nil, parts[1])
	if err != nil {
		return err
	}
	c.Out[0], err = c.part(mulKernel, nil, parts[0], gated)
	return err
}

func inferBiasSplitGelu(c *Infer) error {
	f := c.Fact(0)
	out := TensorFact(f.DType, slices.Clone(f.Dims))
	if n := len(out.Dims); n > 0 {
		out.Dims[n-1] = out.Dims[n-1].FloorDiv(sym.Int(2))
	}
	c.Set(0, out)
	return nil
}

// biasSoftmax is Softmax of the sum, whose rows begin at the axis.
func biasSoftmax(c *Call) error {
	return biased(2, softmaxOf(kindSoftmax, true), c.attrsOf("axis"))(c)
}

func gemmFastGelu(c *Call) error {
	in, err := c.needs(2)
	if err != nil {
		return err
	}
	y, err := c.part(matmul, nil, in...)
	if err != nil {
		return err
	}
	if y, err = c.total(y, c.Array(2)); err != nil {
		return err
	}
	c.Out[0], err = c.part(gelu, tanhGelu, y)
	return err
}

// fused evaluates the activation that a fused operator names on y; params are
// those of the activation in the order of its parameters.
func (c *Call) fused(y *array.Array, name string, params []float32) (*array.Array, error) {
	names, ok := fusedParams[name]
	if !ok {
		return nil, c.Errorf("attribute \"activation\": got %q, want one of %q", name, slices.Sorted(maps.Keys(fusedParams)))
	}
	if len(params) > len(names) {
		return nil, c.Errorf("activation %q: got %d parameters, want at most %d", name, len(params), len(names))
	}
	if name == "Clip" {
		limits := []*array.Array{y, nil, nil}
		for i, p := range params {
			limits[i+1] = array.Scalar(p)
		}
		return c.part(clip, nil, limits...)
	}
	var attrs []*ir.Attr
	for i, p := range params {
		attrs = append(attrs, ir.NewAttr(names[i], p))
	}
	return c.part(kernelIn(activationOps, name), attrs, y)
}

// fusedParams are the activations that fused operators name, with their
// parameters.
var fusedParams = map[string][]string{"Clip": {"min", "max"}, "Elu": {"alpha"}, "HardSigmoid": {"alpha", "beta"}, "LeakyRelu": {"alpha"}, "Relu": {},
	"Selu": {"alpha", "gamma"}, "Sigmoid": {}, "Softplus": {}, "Softsign": {}, "Tanh": {}, "ThresholdedRelu": {"alpha"}}

// newestIn returns the newest entry of that name in a family.
func newestIn(family []Op, name string) *Op {
	var newest *Op
	for i := range family {
		if op := &family[i]; op.Name == name && (newest == nil || op.Since > newest.Since) {
			newest = op
		}
	}
	return newest
}

func kernelIn(family []Op, name string) func(*Call) error { return newestIn(family, name).Eval }

var contribActivationOps = []Op{
	{Domain: contribDomain, Name: "Gelu", Since: 1, Infer: inferSame, Eval: gelu},
	{Domain: contribDomain, Name: "QuickGelu", Since: 1, Infer: inferSame, Eval: withAlpha(1.702, func(x, a float64) float64 { return x * sigmoid(a*x) })},
	{Domain: contribDomain, Name: "FastGelu", Since: 1, Infer: inferSame, Eval: biased(2, gelu, tanhGelu)},
	{Domain: contribDomain, Name: "BiasGelu", Since: 1, Infer: inferSame, Eval: biased(2, gelu, nil)},
	{Domain: contribDomain, Name: "BiasAdd", Since: 1, Infer: inferSame, Eval: biased(3, nil, nil)},
	{Domain: contribDomain, Name: "BiasSplitGelu", Since: 1, Infer: inferBiasSplitGelu, Eval: biasSplitGelu},
	{Domain: contribDomain, Name: "BiasSoftmax", Since: 1, Infer: inferSame, Eval: biasSoftmax},
	{Domain: contribDomain, Name: "GemmFastGelu", Since: 1, Infer: inferMatMul, Eval: gemmFastGelu},
}
