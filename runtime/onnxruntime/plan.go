//go:build cgo

package onnxruntime

import (
	"fmt"
	"math"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/spell"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops/infer"
	"github.com/starlarkgs/starlarkgs/ops/sym"
	"github.com/starlarkgs/starlarkgs/runtime"
)

// plan is a model as it is handed over, and what is known of its outputs.
type plan struct {
	model           *ir.Model
	inputs, outputs []runtime.Port
	made            []result
	memory          func(bytes int) []byte // for outputs; may be nil
}

// result is one output.
type result struct {
	name string
	dt   array.DType
	dims []sym.Expr // nil: not a tensor whose memory we can make
}

func (p *plan) inputNames() []string { return portNames(p.inputs) }

func (p *plan) outputNames() []string { return portNames(p.outputs) }

func portNames(ports []runtime.Port) []string {
	names := make([]string, len(ports))
	for i, p := range ports {
		names[i] = p.Name
	}
	return names
}

// prepare copies the model, whose outputs become those asked for.
func prepare(m *ir.Model, o runtime.Options) (*plan, error) {
	p := &plan{model: m.Copy(), inputs: runtime.InputPorts(m.Graph()), memory: o.Memory}
	// below version 4 ONNX Runtime takes an initializer that is an input too for a
	// constant, and refuses it as an input
	p.model.SetIRVersion(max(p.model.IRVersion(), 4))
	g := p.model.Graph()
	if err := selectOutputs(g, o.Outputs); err != nil {
		return nil, err
	}
	p.outputs = runtime.OutputPorts(g)
	facts := infer.Facts(p.model)
	for _, t := range g.Outputs() {
		r := result{name: t.Name()}
		if f := facts.Fact(t); f.Kind == ir.TensorKind && f.DType != array.String && f.DType != array.Undefined {
			r.dt, r.dims = f.DType, f.Dims
		}
		p.made = append(p.made, r)
	}
	return p, nil
}

// room makes the array of an output, or returns nil when its shape does not
// follow from the sizes.
func (p *plan) room(r result, sizes map[string]int64) *array.Array {
	shape := make([]int, len(r.dims))
	for i, e := range r.dims {
		n, ok := e.Eval(func(name string) (int64, bool) { n, ok := sizes[name]; return n, ok && n >= 0 })
		if !ok || n < 0 {
			return nil
		}
		shape[i] = int(n)
	}
	if a := p.given(r.dt, shape); a != nil {
		return a
	}
	a, err := array.MakeUnset(r.dt, shape)
	if err != nil {
		return nil // the runtime has the words for it
	}
	return a
}

// given returns the array over memory that the caller of the session gives.
func (p *plan) given(dt array.DType, shape []int) *array.Array {
	bits := dt.Bits()
	if p.memory == nil || bits%8 != 0 { // bits after the last element are 0
		return nil
	}
	for _, n := range shape {
		if n > 0 && bits > math.MaxInt/2/n {
			return nil
		}
		bits *= n
	}
	raw := p.memory((bits + 7) / 8)
	if raw == nil {
		return nil
	}
	a, err := array.FromBytes(dt, shape, raw)
	if err != nil {
		return nil
	}
	return a
}

// symbols returns the size that the inputs give each symbol; -1 to one of which
// they disagree.
func symbols(ports []runtime.Port, inputs map[string]array.Value) map[string]int64 {
	sizes := map[string]int64{}
	for _, p := range ports {
		a, ok := inputs[p.Name].(*array.Array)
		if !ok || p.Type == nil || p.Type.Kind != ir.TensorKind {
			continue
		}
		for i, d := range p.Type.Shape {
			name, n := d.Symbol(), int64(a.Shape()[i])
			if had, ok := sizes[name]; ok && had != n {
				n = -1
			}
			sizes[name] = n
		}
	}
	return sizes
}

// selectOutputs makes the named values, or all, the graph's outputs.
func selectOutputs(g *ir.Graph, names []string) error {
	if names == nil {
		return nil
	}
	var outs []*ir.Tensor
	if len(names) == 1 && names[0] == runtime.All {
		seen := map[*ir.Tensor]bool{}
		for _, n := range g.Nodes() {
			for _, t := range n.Outputs() {
				if t != nil && t.Name() != "" && !n.Is("Constant") {
					seen[t] = true
					outs = append(outs, t)
				}
			}
		}
		for _, t := range g.Outputs() {
			if !seen[t] {
				outs = append(outs, t)
			}
		}
		g.SetOutputs(outs...)
		return nil
	}
	byName := map[string]*ir.Tensor{}
	var known []string
	for _, t := range g.Tensors() {
		byName[t.Name()] = t
		known = append(known, t.Name())
	}
	for _, name := range names {
		t := byName[name]
		if t == nil {
			return &runtime.NameError{Text: fmt.Sprintf("output %q: %s has no such value%s", name, g.Label(), spell.Hint(name, known))}
		}
		outs = append(outs, t)
	}
	g.SetOutputs(outs...)
	return nil
}
