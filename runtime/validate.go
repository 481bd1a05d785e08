package runtime

import (
	"fmt"
	"math"
	"math/cmplx"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
)

// NotFinite counts the elements of a value that are NaN or infinite.
type NotFinite struct {
	NaN, Inf, Count int
	First           []int // where the first is; in the array of a sequence or map that holds it
}

// Text says it in a few words.
func (n NotFinite) Text() string {
	what := fmt.Sprintf("%d NaN", n.NaN)
	switch {
	case n.NaN == 0:
		what = fmt.Sprintf("%d Inf", n.Inf)
	case n.Inf > 0:
		what += fmt.Sprintf(" and %d Inf", n.Inf)
	}
	return fmt.Sprintf("%s of %d elements, the first at %v", what, n.Count, n.First)
}

// CheckFinite looks for NaN and infinities in a value. None is in one whose type
// has neither.
func CheckFinite(v array.Value) (NotFinite, error) {
	switch v := v.(type) {
	case *array.Array:
		return checkFinite(v)
	case *array.Optional:
		if v.Value != nil {
			return CheckFinite(v.Value)
		}
	case *array.Sequence:
		return checkItems(v.Items)
	case *array.Map:
		return checkItems(v.Values)
	}
	return NotFinite{}, nil
}

func checkItems(items []array.Value) (NotFinite, error) {
	var all NotFinite
	for _, v := range items {
		n, err := CheckFinite(v)
		if err != nil {
			return all, err
		}
		if all.First == nil {
			all.First = n.First
		}
		all.NaN, all.Inf, all.Count = all.NaN+n.NaN, all.Inf+n.Inf, all.Count+n.Count
	}
	return all, nil
}

func checkFinite(a *array.Array) (NotFinite, error) {
	if !a.DType().IsFloat() && !a.DType().IsComplex() {
		return NotFinite{}, nil
	}
	if err := a.Load(); err != nil {
		return NotFinite{}, err
	}
	element := func(i int) complex128 { return a.At(i).(complex128) }
	if a.DType().IsFloat() {
		x, err := a.Float64s()
		if err != nil {
			return NotFinite{}, err
		}
		element = func(i int) complex128 { return complex(x[i], 0) }
	}
	n := NotFinite{Count: a.Size()}
	for i := range n.Count {
		e := element(i)
		switch {
		case math.IsNaN(real(e)) || math.IsNaN(imag(e)):
			n.NaN++
		case cmplx.IsInf(e):
			n.Inf++
		default:
			continue
		}
		if n.First == nil {
			n.First = place(i, a.Shape())
		}
	}
	return n, nil
}

// place returns the indices of the element at a row-major position.
func place(at int, shape []int) []int {
	out := make([]int, len(shape))
	for d := len(shape) - 1; d >= 0; d-- {
		out[d], at = at%shape[d], at/shape[d]
	}
	return out
}

// NotFiniteError tells that results hold NaN or infinities, and where that begins.
type NotFiniteError struct {
	Outputs []string // the results that do, in order
	First   string   // the first value that does, in topological order
	text    string
}

// Error names the results and the first value.
func (e *NotFiniteError) Error() string { return e.text }

// Validate returns a *NotFiniteError when a result of a run is not finite. It then
// runs the model once more, by all, for every value, and looks for the first.
func Validate(g *ir.Graph, inputs, results map[string]array.Value, all func() (map[string]array.Value, error)) error {
	e := &NotFiniteError{}
	for _, name := range ValueOrder(g) {
		if v := results[name]; v != nil {
			n, err := CheckFinite(v)
			if err != nil {
				return fmt.Errorf("value %q: %w", name, err)
			}
			if n.First != nil {
				e.Outputs = append(e.Outputs, name)
			}
		}
	}
	if len(e.Outputs) == 0 {
		return nil
	}
	values, err := all()
	if err != nil {
		e.text = fmt.Sprintf("validate: %s; running for every value, to find the first: %v", e.outputs(), err)
		return e
	}
	text, err := e.find(g, inputs, values)
	if err != nil {
		return err
	}
	e.text = fmt.Sprintf("validate: %s; the first value that does, in topological order, is %s", e.outputs(), text)
	return e
}

func (e *NotFiniteError) outputs() string {
	const most = 5
	if n := len(e.Outputs); n > most {
		return fmt.Sprintf("%q and %d more hold NaN or Inf", e.Outputs[:most], n-most)
	}
	if len(e.Outputs) == 1 {
		return fmt.Sprintf("%q holds NaN or Inf", e.Outputs[0])
	}
	return fmt.Sprintf("%q hold NaN or Inf", e.Outputs)
}

// find sets First and describes that value.
func (e *NotFiniteError) find(g *ir.Graph, inputs, values map[string]array.Value) (string, error) {
	for _, name := range ValueOrder(g) {
		v, given := inputs[name]
		if !given {
			v = values[name]
		}
		n, err := CheckFinite(v)
		if err != nil {
			return "", fmt.Errorf("value %q: %w", name, err)
		}
		if n.First == nil {
			continue
		}
		e.First = name
		if given {
			return fmt.Sprintf("the input %q: %s", name, n.Text()), nil
		}
		return describe(g, name, n), nil
	}
	e.First = e.Outputs[0] // a run that is not like the first
	return fmt.Sprintf("%q", e.First), nil
}

// describe says which node makes the value, and which of its constants is no better.
func describe(g *ir.Graph, name string, n NotFinite) string {
	node := producer(g, name)
	if node == nil {
		return fmt.Sprintf("%q: %s", name, n.Text())
	}
	text := fmt.Sprintf("%q of %s: %s", name, node.Label(), n.Text())
	if node.Name() == "" {
		text = fmt.Sprintf("%q (%s): %s", name, node.Op(), n.Text())
	}
	for _, in := range node.Inputs() {
		if a := constant(in); a != nil {
			if bad, err := CheckFinite(a); err == nil && bad.First != nil {
				text += fmt.Sprintf("; the constant %q that it reads has %s", in.Name(), bad.Text())
			}
		}
	}
	return text
}

func producer(g *ir.Graph, name string) *ir.Node {
	for _, n := range g.Nodes() {
		for _, t := range n.Outputs() {
			if t != nil && t.Name() == name {
				return n
			}
		}
	}
	return nil
}

// constant returns the array of an initializer, or of what a Constant node makes.
func constant(t *ir.Tensor) *array.Array {
	if t == nil {
		return nil
	}
	if t.IsConstant() {
		return t.Array()
	}
	if p, _ := t.Producer(); p != nil && p.Is("Constant") {
		if a := p.Attr("value"); a != nil {
			if l, ok := a.Value.(*ir.Literal); ok {
				return l.Array
			}
		}
	}
	return nil
}

// ValueOrder returns the names of a graph's inputs and of what its nodes make, but
// for Constant nodes, in topological order, and of outputs that are neither.
func ValueOrder(g *ir.Graph) []string {
	nodes, err := g.Sorted()
	if err != nil {
		nodes = g.Nodes() // a cycle, which no backend runs
	}
	var names []string
	seen := map[string]bool{"": true}
	add := func(ts []*ir.Tensor) {
		for _, t := range ts {
			if t != nil && !seen[t.Name()] {
				seen[t.Name()] = true
				names = append(names, t.Name())
			}
		}
	}
	add(g.Inputs())
	for _, n := range nodes {
		if !n.Is("Constant") {
			add(n.Outputs())
		}
	}
	add(g.Outputs())
	return names
}
