package runtime

import (
	"fmt"
	"math/rand/v2"
	"sort"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/spell"
	"github.com/starlarkgs/starlarkgs/ir"
)

// InputOptions says how random inputs are made.
type InputOptions struct {
	Seed   uint64
	Shapes map[string][]int      // sizes by input name; what is not known else is 1
	Ranges map[string][2]float64 // least and largest element by input name
}

// RandomInputs makes inputs for the graph's inputs that have no default: floats
// even in [0, 1], integers that are used as positions below the bound that the
// graph gives (or 0 and 1), bools of both kinds, unless a range is given. Each
// input draws from a generator of its own, so the values of one do not depend on
// the others.
func RandomInputs(g *ir.Graph, o InputOptions) (map[string]array.Value, error) {
	out := map[string]array.Value{}
	var names []string
	for i, p := range InputPorts(g) {
		names = append(names, p.Name)
		if _, asked := o.Shapes[p.Name]; p.Optional && !asked {
			continue
		}
		a, err := randomInput(g.Inputs()[i], p, i, o)
		if err != nil {
			return nil, err
		}
		out[p.Name] = a
	}
	return out, checkNames(names, o)
}

func checkNames(names []string, o InputOptions) error {
	known := map[string]bool{}
	for _, n := range names {
		known[n] = true
	}
	var asked []string
	for n := range o.Shapes {
		asked = append(asked, n)
	}
	for n := range o.Ranges {
		asked = append(asked, n)
	}
	sort.Strings(asked)
	for _, n := range asked {
		if !known[n] {
			return &NameError{Text: fmt.Sprintf("input %q: the model has no such input, want %q%s", n, names, spell.Hint(n, names))}
		}
	}
	return nil
}

func randomInput(t *ir.Tensor, p Port, place int, o InputOptions) (*array.Array, error) {
	if p.Type == nil || p.Type.Kind != ir.TensorKind || !p.Type.Elem.Valid() {
		return nil, inputErrorf("input %q: got type %s, want a tensor of a known type to make values for", p.Name, p.Type)
	}
	shape, given := o.Shapes[p.Name]
	if !given {
		shape = make([]int, len(p.Type.Shape))
		for i, d := range p.Type.Shape {
			shape[i] = 1
			if n, ok := d.Size(); ok {
				shape[i] = int(n)
			}
		}
	}
	a, err := array.Make(p.Type.Elem, shape)
	if err != nil {
		return nil, inputErrorf("input %q: %v", p.Name, err)
	}
	lo, hi := 0.0, 1.0
	if r, ok := o.Ranges[p.Name]; ok {
		lo, hi = r[0], r[1]
	} else if n := indexBound(t); n > 0 {
		hi = float64(n - 1)
	}
	rng := rand.New(rand.NewPCG(o.Seed, uint64(place)))
	for i := range a.Size() {
		var v any = lo + (hi-lo)*rng.Float64()
		switch {
		case a.DType() == array.Bool:
			v = rng.IntN(2) == 1
		case a.DType() == array.String:
			v = fmt.Sprintf("s%d", rng.IntN(100))
		case a.DType().IsInt():
			v = int64(lo) + int64(rng.Uint64N(uint64(max(int64(hi)-int64(lo), 0))+1))
		}
		if err := a.SetAt(i, v); err != nil {
			return nil, inputErrorf("input %q: %v", p.Name, err)
		}
	}
	return a, nil
}

// indexBound returns the size of what an input picks from by Gather, 0 for none.
func indexBound(t *ir.Tensor) int {
	bound := 0
	for u := range t.Uses() {
		n := u.Node()
		if n == nil || u.Index() != 1 || !n.Is("Gather") || n.Input(0) == nil {
			continue
		}
		axis := 0
		if a := n.Attr("axis"); a != nil {
			if v, ok := a.Value.(int64); ok {
				axis = int(v)
			}
		}
		shape := n.Input(0).Shape()
		if axis < 0 {
			axis += len(shape)
		}
		if axis < 0 || axis >= len(shape) {
			continue
		}
		if d, ok := shape[axis].Size(); ok && (bound == 0 || int(d) < bound) {
			bound = int(d)
		}
	}
	return bound
}
