package ops

import (
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
)

// step is one node on the way back: its inputs, its output, and the gradient of
// that.
type step struct {
	*tape
	n      *ir.Node
	in     []*array.Array
	out, g *array.Array
}

func (s *step) op(name string, ins ...*array.Array) *array.Array { return s.apply(name, nil, ins...) }

func (s *step) mul(a, b *array.Array) *array.Array { return s.op("Mul", a, b) }

// number returns a constant of the gradient's type.
func (s *step) number(v float64) *array.Array {
	a, err := array.Scalar(v).Cast(s.g.DType())
	if err != nil {
		s.err = err
	}
	return a
}

func ints(v ...int) *array.Array {
	out := make([]int64, len(v))
	for i, n := range v {
		out[i] = int64(n)
	}
	return array.FromSlice(out, len(out))
}

// reduced sums a gradient over the axes along which an input of that shape was
// repeated.
func (s *step) reduced(g *array.Array, shape []int) *array.Array {
	if s.err != nil || slices.Equal(g.Shape(), shape) {
		return g
	}
	var axes []int
	lead := g.Rank() - len(shape)
	for i, d := range g.Shape() {
		if i < lead || shape[i-lead] == 1 && d != 1 {
			axes = append(axes, i)
		}
	}
	return s.shaped(s.op("ReduceSum", g, ints(axes...)), shape)
}

func (s *step) shaped(g *array.Array, shape []int) *array.Array {
	if s.err != nil {
		return nil
	}
	out, err := g.Contiguous().Reshape(shape...)
	if err != nil {
		s.err = err
	}
	return out
}

// both gives the two inputs of an operator that broadcasts their gradients.
func (s *step) both(a, b *array.Array) []*array.Array {
	return []*array.Array{s.reduced(a, s.in[0].Shape()), s.reduced(b, s.in[1].Shape())}
}

// one is a rule for an operator of one input, by what its gradient is times.
func one(factor func(s *step) *array.Array) func(*step) []*array.Array {
	return func(s *step) []*array.Array { return []*array.Array{s.mul(s.g, factor(s))} }
}

// back is a rule for an operator that moves elements without changing any.
func back(s *step) []*array.Array { return []*array.Array{s.shaped(s.g, s.in[0].Shape())} }

// gradientRules are, by operator, what the gradient of the output gives each
// input. An input without a gradient is one that can't be differentiated by.
var gradientRules = map[string]func(*step) []*array.Array{
	"Identity": func(s *step) []*array.Array { return []*array.Array{s.g} },
	"Add":      func(s *step) []*array.Array { return s.both(s.g, s.g) },
	"Sub":      func(s *step) []*array.Array { return s.both(s.g, s.op("Neg", s.g)) },
	"Mul":      func(s *step) []*array.Array { return s.both(s.mul(s.g, s.in[1]), s.mul(s.g, s.in[0])) },
	"Div": func(s *step) []*array.Array {
		a := s.op("Div", s.g, s.in[1])
		return s.both(a, s.op("Neg", s.mul(a, s.op("Div", s.in[0], s.in[1]))))
	},
	"Pow": func(s *step) []*array.Array {
		less := s.op("Sub", s.in[1], s.number(1))
		return s.both(s.mul(s.g, s.mul(s.in[1], s.op("Pow", s.in[0], less))), s.mul(s.g, s.mul(s.out, s.op("Log", s.in[0]))))
	},
	"Neg":        one(func(s *step) *array.Array { return s.number(-1) }),
	"Abs":        one(func(s *step) *array.Array { return s.op("Sign", s.in[0]) }),
	"Exp":        one(func(s *step) *array.Array { return s.out }),
	"Log":        one(func(s *step) *array.Array { return s.op("Reciprocal", s.in[0]) }),
	"Sqrt":       one(func(s *step) *array.Array { return s.op("Div", s.number(0.5), s.out) }),
	"Reciprocal": one(func(s *step) *array.Array { return s.op("Neg", s.mul(s.out, s.out)) }),
	"Sin":        one(func(s *step) *array.Array { return s.op("Cos", s.in[0]) }),
	"Cos":        one(func(s *step) *array.Array { return s.op("Neg", s.op("Sin", s.in[0])) }),
	"Tanh":       one(func(s *step) *array.Array { return s.op("Sub", s.number(1), s.mul(s.out, s.out)) }),
	"Sigmoid":    one(func(s *step) *array.Array { return s.mul(s.out, s.op("Sub", s.number(1), s.out)) }),
	"Softplus":   one(func(s *step) *array.Array { return s.op("Sigmoid", s.in[0]) }),
	"Relu":       one(func(s *step) *array.Array { return s.op("Relu", s.op("Sign", s.in[0])) }),
	"LeakyRelu": one(func(s *step) *array.Array {
		alpha := s.number(float64(s.attr("alpha", 0.01)))
		return s.op("Where", s.op("Less", s.in[0], s.number(0)), alpha, s.number(1))
	}),
	"MatMul":     matmulRule,
	"Gemm":       gemmRule,
	"Conv":       convRule,
	"Softmax":    softmaxRule,
	"ReduceSum":  reduceRule(false),
	"ReduceMean": reduceRule(true),
	"Concat":     concatRule,
	"Reshape":    back, "Flatten": back, "Squeeze": back, "Unsqueeze": back,
	"Transpose": transposeRule,
}

func (s *step) attr(name string, def float32) float32 {
	if a := s.n.Attr(name); a != nil {
		if v, ok := a.Value.(float32); ok {
			return v
		}
	}
	return def
}

func (s *step) intAttr(name string, def int) int {
	if a := s.n.Attr(name); a != nil {
		if v, ok := a.Value.(int64); ok {
			return int(v)
		}
	}
	return def
}

// turned swaps the last two axes.
func (s *step) turned(a *array.Array) *array.Array {
	if s.err != nil || a == nil {
		return nil
	}
	perm := make([]int64, a.Rank())
	for i := range perm {
		perm[i] = int64(i)
	}
	n := len(perm)
	perm[n-1], perm[n-2] = perm[n-2], perm[n-1]
	return s.apply("Transpose", []*ir.Attr{ir.NewAttr("perm", perm)}, a)
}

// matmulRule treats a vector as a matrix of one row, or of one column.
func matmulRule(s *step) []*array.Array {
	a, b, g := s.in[0], s.in[1], s.g
	if b.Rank() == 1 {
		b = s.shaped(b, []int{b.Size(), 1})
		g = s.shaped(g, append(slices.Clone(g.Shape()), 1))
	}
	if a.Rank() == 1 {
		a = s.shaped(a, []int{1, a.Size()})
		if s.err == nil {
			n := g.Rank() - 1
			g = s.shaped(g, slices.Insert(slices.Clone(g.Shape()), n, 1))
		}
	}
	if s.err != nil {
		return nil
	}
	da := s.reduced(s.op("MatMul", g, s.turned(b)), a.Shape())
	db := s.reduced(s.op("MatMul", s.turned(a), g), b.Shape())
	return []*array.Array{s.shaped(da, s.in[0].Shape()), s.shaped(db, s.in[1].Shape())}
}

func gemmRule(s *step) []*array.Array {
	a, b := s.in[0], s.in[1]
	g := s.mul(s.g, s.number(float64(s.attr("alpha", 1))))
	ta, tb := s.intAttr("transA", 0) != 0, s.intAttr("transB", 0) != 0
	if !tb {
		b = s.turned(b)
	}
	if !ta {
		a = s.turned(a)
	}
	da, db := s.op("MatMul", g, b), s.op("MatMul", a, g)
	if ta {
		da = s.turned(da)
	}
	if tb {
		db = s.turned(db)
	}
	out := []*array.Array{da, db}
	if len(s.in) > 2 && s.in[2] != nil {
		out = append(out, s.reduced(s.mul(s.g, s.number(float64(s.attr("beta", 1)))), s.in[2].Shape()))
	}
	return out
}

// softmaxRule holds since opset 13, where the axis is one alone.
func softmaxRule(s *step) []*array.Array {
	if s.n.Graph().Opset("") < 13 {
		return nil
	}
	weighed := s.mul(s.g, s.out)
	sum := s.op("ReduceSum", weighed, ints(s.intAttr("axis", -1)))
	return []*array.Array{s.op("Sub", weighed, s.mul(s.out, sum))}
}

func reduceRule(mean bool) func(*step) []*array.Array {
	return func(s *step) []*array.Array {
		g, shape := s.g, s.in[0].Shape()
		kept := slices.Clone(shape)
		axes := s.axes()
		for i := range kept {
			if len(axes) == 0 || slices.Contains(axes, i) || slices.Contains(axes, i-len(kept)) {
				kept[i] = 1
			}
		}
		if len(axes) == 0 && s.intAttr("noop_with_empty_axes", 0) != 0 {
			kept = shape
		}
		g = s.shaped(g, kept)
		if s.err != nil {
			return nil
		}
		if mean {
			g = s.mul(g, s.number(float64(sizeOf(kept))/float64(max(1, sizeOf(shape)))))
		}
		return []*array.Array{s.op("Expand", g, ints(shape...))}
	}
}

// axes returns the axes of a reduction, from its input or its attribute.
func (s *step) axes() (out []int) {
	if len(s.in) > 1 && s.in[1] != nil {
		vs, err := s.in[1].Int64s()
		if err != nil {
			s.err = err
		}
		for _, v := range vs {
			out = append(out, int(v))
		}
		return out
	}
	if a := s.n.Attr("axes"); a != nil {
		vs, _ := a.Value.([]int64)
		for _, v := range vs {
			out = append(out, int(v))
		}
	}
	return out
}

func concatRule(s *step) []*array.Array {
	axis := s.intAttr("axis", 0)
	if axis < 0 {
		axis += s.g.Rank()
	}
	out := make([]*array.Array, len(s.in))
	at := 0
	for i, a := range s.in {
		if a == nil {
			continue
		}
		n := a.Shape()[axis]
		out[i] = s.op("Slice", s.g, ints(at), ints(at+n), ints(axis))
		at += n
	}
	return out
}

func transposeRule(s *step) []*array.Array {
	n := s.g.Rank()
	perm := make([]int64, n)
	for i := range perm {
		perm[i] = int64(n - 1 - i)
	}
	if a := s.n.Attr("perm"); a != nil {
		for i, p := range a.Value.([]int64) { // the kernel has checked it
			perm[(int(p)+n)%n] = int64(i)
		}
	}
	return []*array.Array{s.apply("Transpose", []*ir.Attr{ir.NewAttr("perm", perm)}, s.g)}
}

// convRule goes over every product of the convolution, plainly.
func convRule(s *step) []*array.Array {
	site := Site{Node: s.n, Opset: s.n.Graph().Opset("")}
	cs, err := site.convShape(s.in[0].Shape(), s.in[1].Shape())
	if err != nil {
		s.err = err
		return nil
	}
	var x, w, g []float64
	for _, v := range []struct {
		to   *[]float64
		from *array.Array
	}{{&x, s.in[0]}, {&w, s.in[1]}, {&g, s.g}} {
		if *v.to, err = v.from.Float64s(); err != nil {
			s.err = err
			return nil
		}
	}
	dx, dw, db := make([]float64, len(x)), make([]float64, len(w)), make([]float64, cs.outC)
	perGroup, outG := cs.inC/cs.group, cs.outC/cs.group
	for i, v := range g {
		o, oc, b := i%cs.outSize, i/cs.outSize%cs.outC, i/cs.outSize/cs.outC
		db[oc] += v
		for k := range perGroup * cs.kernel {
			at, ok := cs.w.lands(cs.in, cs.out, k%cs.kernel, o)
			if !ok {
				continue
			}
			from := (b*cs.inC+oc/outG*perGroup+k/cs.kernel)*cs.inSize + at
			dx[from] += v * w[oc*perGroup*cs.kernel+k]
			dw[oc*perGroup*cs.kernel+k] += v * x[from]
		}
	}
	out := make([]*array.Array, len(s.in))
	for i, d := range [][]float64{dx, dw, db} {
		if i < len(s.in) && s.in[i] != nil {
			if out[i], err = s.shaped(array.FromSlice(d, len(d)), s.in[i].Shape()).Cast(s.g.DType()); err != nil {
				s.err = err
			}
		}
	}
	return out
}
