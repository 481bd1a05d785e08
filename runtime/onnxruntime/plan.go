//go:build cgo

package onnxruntime

import (
	"fmt"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/spell"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops/infer"
	"github.com/starlarkgs/starlarkgs/runtime"
)

// plan is a model as it is handed over, and how its inputs and outputs map to
// the caller's.
type plan struct {
	model           *ir.Model
	inputs, outputs []runtime.Port
	fed             []feed
	made            []result
}

// feed is one input of the model that is handed over.
type feed struct {
	name  string
	fixed *array.Array // of an input that the caller does not know
	def   *array.Array // of an input with a default
}

func (f feed) value(given map[string]array.Value) array.Value {
	switch v := given[f.name]; {
	case f.fixed != nil:
		return f.fixed
	case v != nil:
		return v
	}
	return f.def
}

// result is one output of the model that is handed over.
type result struct {
	name, handed string
	dt           array.DType // to turn back to, or Undefined
	scalar       bool
}

func (r result) restore(v array.Value) (array.Value, error) {
	a, ok := v.(*array.Array)
	if !ok {
		return v, nil
	}
	var err error
	if r.scalar {
		if a, err = a.Reshape([]int{}...); err != nil {
			return nil, err
		}
	}
	if r.dt != array.Undefined {
		return a.Cast(r.dt)
	}
	return a, nil
}

func (p *plan) inputNames() []string {
	names := make([]string, len(p.fed))
	for i, f := range p.fed {
		names[i] = f.name
	}
	return names
}

func (p *plan) outputNames() []string {
	names := make([]string, len(p.made))
	for i, r := range p.made {
		names[i] = r.handed
	}
	return names
}

// prepare copies the model and rewrites outputs that the bindings can't return.
func prepare(m *ir.Model, o runtime.Options) (*plan, error) {
	p := &plan{model: m.Copy(), inputs: runtime.InputPorts(m.Graph())}
	// below version 4 ONNX Runtime takes an initializer that is an input too for a
	// constant, and refuses it as an input
	p.model.SetIRVersion(max(p.model.IRVersion(), 4))
	g := p.model.Graph()
	if err := selectOutputs(g, o.Outputs); err != nil {
		return nil, err
	}
	facts := infer.Facts(p.model)
	outs := g.Outputs()
	handed := make([]*ir.Tensor, len(outs))
	for i, t := range outs {
		f := facts.Fact(t)
		r := result{name: t.Name(), handed: t.Name()}
		handed[i] = t
		if narrow(f.DType) {
			r.dt = f.DType
			handed[i] = after(g, handed[i], "Cast", array.Float32, ir.NewAttr("to", int64(array.Float32)))
		}
		if f.Kind == ir.TensorKind && f.Dims != nil && len(f.Dims) == 0 {
			r.scalar = true
			dt := f.DType
			if r.dt != array.Undefined {
				dt = array.Float32
			}
			handed[i] = asVector(g, handed[i], dt)
		}
		r.handed = handed[i].Name()
		p.outputs = append(p.outputs, runtime.Port{Name: t.Name(), Type: t.Type()})
		p.made = append(p.made, r)
	}
	g.SetOutputs(handed...)
	p.feeds(g)
	return p, nil
}

// feeds lists the inputs. The bindings can't run a model without any, so such a
// one gets an input that nothing reads.
func (p *plan) feeds(g *ir.Graph) {
	for _, t := range g.Inputs() {
		p.fed = append(p.fed, feed{name: t.Name(), def: t.Array()})
	}
	if len(p.fed) == 0 {
		t := ir.NewTensor(g.FreshName("sgs_unused"), ir.TensorType(array.Float32, ir.Ints(1)))
		g.SetInputs(t)
		p.fed = []feed{{name: t.Name(), fixed: array.FromSlice([]float32{0})}}
	}
}

// narrow reports whether the bindings lack a Go type for the element type.
func narrow(dt array.DType) bool {
	return dt.IsFloat() && dt != array.Float32 && dt != array.Float64
}

func after(g *ir.Graph, t *ir.Tensor, op string, dt array.DType, attrs ...*ir.Attr) *ir.Tensor {
	out := ir.NewTensor(g.FreshName("sgs_"+op), ir.TensorType(dt, nil))
	g.AddNode(ir.NewNode(op, []*ir.Tensor{t}, []*ir.Tensor{out}, attrs...))
	return out
}

// asVector gives a scalar an axis: by Reshape, whose form all opsets since 5 share.
func asVector(g *ir.Graph, t *ir.Tensor, dt array.DType) *ir.Tensor {
	out := ir.NewTensor(g.FreshName("sgs_Reshape"), ir.TensorType(dt, ir.Ints(1)))
	target := ir.NewConstant(g.FreshName("sgs_shape"), array.FromSlice([]int64{1}))
	g.AddNode(ir.NewNode("Reshape", []*ir.Tensor{t, target}, []*ir.Tensor{out}))
	return out
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
