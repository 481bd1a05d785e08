package ops

import (
	"fmt"
	"strings"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// einsumTerms are an equation's labels: a letter for each axis, and for the
// axes that an ellipsis stands for the digits 0, 1, … from the left.
type einsumTerms struct {
	in  []string
	out string
}

// parseEinsum reads an equation for inputs of the given ranks. Without an
// arrow, the output has the ellipsis' axes and then the letters that occur
// once, in alphabetical order.
func parseEinsum(equation string, ranks []int) (*einsumTerms, error) {
	equation = strings.ReplaceAll(equation, " ", "")
	left, right, arrow := strings.Cut(equation, "->")
	t := &einsumTerms{in: strings.Split(left, ",")}
	if len(t.in) != len(ranks) {
		return nil, fmt.Errorf("equation %q: got %d terms, want %d, one for each input", equation, len(t.in), len(ranks))
	}
	dots := ""
	for i, term := range t.in {
		n := ranks[i] - len(strings.Replace(term, "...", "", 1))
		if n < 0 || n > 10 || n > 0 && !strings.Contains(term, "...") {
			return nil, fmt.Errorf("equation %q: got term %q for an input of rank %d", equation, term, ranks[i])
		}
		if strings.Contains(term, "...") && n > len(dots) {
			dots = "0123456789"[:n]
		}
	}
	for i, term := range t.in {
		n := max(0, ranks[i]-len(strings.Replace(term, "...", "", 1)))
		t.in[i] = strings.Replace(term, "...", dots[len(dots)-min(n, len(dots)):], 1)
	}
	if t.out = strings.Replace(right, "...", dots, 1); !arrow {
		t.out = dots
		all := strings.Join(t.in, "")
		for l := 'A'; l <= 'z'; l++ {
			if strings.Count(all, string(l)) == 1 {
				t.out += string(l)
			}
		}
	}
	return t, t.check(equation)
}

func (t *einsumTerms) check(equation string) error {
	all := strings.Join(t.in, "")
	for i, l := range t.out {
		if !strings.ContainsRune(all, l) || strings.ContainsRune(t.out[:i], l) {
			return fmt.Errorf("equation %q: got %q in the output, want each label once and from the inputs", equation, l)
		}
	}
	for _, l := range all {
		if (l < 'a' || l > 'z') && (l < 'A' || l > 'Z') && (l < '0' || l > '9') {
			return fmt.Errorf("equation %q: got %q, want letters", equation, l)
		}
	}
	return nil
}

// einsum sums the products of the inputs' elements over the labels that the
// output lacks.
func einsum(c *Call) error {
	e := &einsumLoop{dims: map[rune]int{}}
	var ranks []int
	dt := array.Undefined
	for i := range c.In {
		a, err := c.Need(i)
		if err != nil {
			return err
		}
		if dt != array.Undefined && a.DType() != dt {
			return c.Errorf("inputs: got %s and %s, want one type", dt, a.DType())
		}
		dt, ranks = a.DType(), append(ranks, a.Rank())
	}
	t, err := parseEinsum(c.Str("equation"), ranks)
	if err != nil {
		return c.Errorf("%w", err)
	}
	for i := range c.In {
		if err := e.measure(c, t.in[i], c.Array(i)); err != nil {
			return err
		}
	}
	shape := make([]int, 0, len(t.out))
	for _, l := range t.out {
		shape = append(shape, e.dims[l])
	}
	if err := c.CheckSize(array.Float64, shape); err != nil {
		return err
	}
	out := array.New(array.Float64, shape...)
	if err := e.run(c, t, array.MutableData[float64](out)); err != nil {
		return err
	}
	c.Out[0], err = out.Cast(dt)
	return err
}

type einsumLoop struct {
	dims    map[rune]int
	labels  []rune  // the output's, then those summed over
	strides [][]int // of each input, by label
	data    [][]float64
}

func (e *einsumLoop) measure(c *Call, term string, a *array.Array) error {
	for d, l := range []rune(term) {
		n := a.Shape()[d]
		had, seen := e.dims[l]
		switch {
		case !seen || had == 1:
			e.dims[l] = n
		case n != had && n != 1:
			return c.Errorf("label %q: got sizes %d and %d, want one", l, had, n)
		}
	}
	return nil
}

func (e *einsumLoop) run(c *Call, t *einsumTerms, out []float64) error {
	e.labels = []rune(t.out)
	for _, l := range strings.Join(t.in, "") {
		if !strings.ContainsRune(string(e.labels), l) {
			e.labels = append(e.labels, l)
		}
	}
	for i, term := range t.in {
		x, err := c.Array(i).Float64s()
		if err != nil {
			return err
		}
		e.data = append(e.data, x)
		by, stride := make([]int, len(e.labels)), 1
		runes := []rune(term)
		for d := len(runes) - 1; d >= 0; d-- {
			if n := c.Array(i).Shape()[d]; n > 1 {
				by[strings.IndexRune(string(e.labels), runes[d])] += stride
				stride *= n
			}
		}
		e.strides = append(e.strides, by)
	}
	e.sum(out, len([]rune(t.out)))
	return nil
}

// sum walks all labels, the output's outermost.
func (e *einsumLoop) sum(out []float64, outer int) {
	total, inner := 1, 1
	for i, l := range e.labels {
		if total *= e.dims[l]; i >= outer {
			inner *= e.dims[l]
		}
	}
	pos, at := make([]int, len(e.labels)), make([]int, len(e.data))
	for n := range total {
		v := 1.0
		for k, x := range e.data {
			v *= x[at[k]]
		}
		out[n/inner] += v
		for i := len(pos) - 1; i >= 0; i-- {
			pos[i]++
			back := pos[i] == e.dims[e.labels[i]]
			for k, s := range e.strides {
				if at[k] += s[i]; back {
					at[k] -= s[i] * pos[i]
				}
			}
			if !back {
				break
			}
			pos[i] = 0
		}
	}
}

func inferEinsum(c *Infer) error {
	out := TensorFact(c.Fact(0).DType, nil)
	defer func() { c.Set(0, out) }()
	var ranks []int
	for i := range c.Node.NumInputs() {
		if c.Fact(i).Dims == nil {
			return nil
		}
		ranks = append(ranks, len(c.Fact(i).Dims))
	}
	t, err := parseEinsum(c.Str("equation"), ranks)
	if err != nil {
		return c.Errorf("%w", err)
	}
	dims := map[rune]sym.Expr{}
	for i, term := range t.in {
		for d, l := range []rune(term) {
			n := c.Fact(i).Dims[d]
			if had, ok := dims[l]; ok {
				both, err := meetDims([]sym.Expr{had}, []sym.Expr{n})
				if err != nil {
					return c.Errorf("input %d: got size %s for %q, want %s", i, n, l, had)
				}
				n = both[0]
			}
			dims[l] = n
		}
	}
	out.Dims = make([]sym.Expr, 0, len(t.out))
	for _, l := range t.out {
		out.Dims = append(out.Dims, dims[l])
	}
	return nil
}

var einsumOps = []Op{
	{Name: "Einsum", Since: 12, Infer: inferEinsum, Eval: einsum},
}
