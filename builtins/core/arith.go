package core

import (
	"fmt"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

// home returns the graph in which an operator on these tensors builds its node:
// the innermost of theirs, the others being captured.
func home(op string, vs ...starlark.Value) (*ir.Graph, error) {
	var g *ir.Graph
	for _, v := range vs {
		t, ok := v.(value.Tensor)
		if !ok {
			continue
		}
		h := t.IR().Graph()
		switch {
		case h == nil || g == h || g != nil && h.Encloses(g):
		case g == nil || g.Encloses(h):
			g = h
		default:
			return nil, fmt.Errorf("tensor %s: tensor %q belongs to %s, the other operand to %s", op, t.IR().Name(), h.Path(), g.Path())
		}
	}
	if g == nil {
		return nil, fmt.Errorf("tensor %s: the tensors belong to no graph yet, so there is nowhere to build the node; make them inputs of a graph, or outputs of its nodes, first", op)
	}
	return g, nil
}

// arith builds the node of x op y, or of op x when y is nil.
func arith(env *value.Env, op string, x, y starlark.Value) (starlark.Value, error) {
	inputs := []starlark.Value{x}
	if y != nil {
		inputs = append(inputs, y)
	}
	for _, v := range inputs {
		switch v.(type) {
		case value.Tensor, *value.Array, starlark.Int, starlark.Float, starlark.Bool, *starlark.List, starlark.Tuple:
		default:
			return nil, fmt.Errorf("tensor %s: got %s, want a tensor, an array or a number", op, v.Type())
		}
	}
	g, err := home(op, inputs...)
	if err != nil {
		return nil, err
	}
	return buildOne(env, g, op, inputs, nil)
}

// buildOne builds a node of one output that is named after the operator.
func buildOne(env *value.Env, g *ir.Graph, op string, inputs []starlark.Value, attrs []starlark.Tuple) (starlark.Value, error) {
	if err := env.Graph(g).(value.Graph).CheckMutable("add a node to"); err != nil {
		return nil, err
	}
	b := &nodeBuilder{env: env, g: g, op: op, check: true, inputs: inputs, attrs: attrs, outputs: []starlark.Value{starlark.String(op)}}
	n, err := b.build()
	if err != nil {
		return nil, err
	}
	return env.Tensor(n.Output(0)), nil
}

// axisCut is what one item of a key does to one axis.
type axisCut struct {
	start, end, step int64
	drop             bool // an integer: the axis goes
}

const toEnd = int64(1<<63 - 1)

// index builds the nodes of t[key]: one Slice for what is cut, one Squeeze for
// the axes that integers pick.
func index(env *value.Env, t value.Tensor, key starlark.Value) (starlark.Value, error) {
	g, err := home("index", t)
	if err != nil {
		return nil, err
	}
	items := starlark.Tuple{key}
	if k, ok := key.(starlark.Tuple); ok {
		items = k
	}
	if shape := t.IR().Shape(); shape != nil && len(items) > len(shape) {
		return nil, fmt.Errorf("tensor index: got %d indices, want at most %d, the rank of %q", len(items), len(shape), t.IR().Name())
	}
	var starts, ends, axes, steps, dropped []int64
	for axis, item := range items {
		cut, err := asCut(item)
		if err != nil {
			return nil, err
		}
		if cut == (axisCut{0, toEnd, 1, false}) {
			continue
		}
		starts, ends, axes, steps = append(starts, cut.start), append(ends, cut.end), append(axes, int64(axis)), append(steps, cut.step)
		if cut.drop {
			dropped = append(dropped, int64(axis))
		}
	}
	var out starlark.Value = t
	if len(axes) > 0 {
		out, err = buildOne(env, g, "Slice", []starlark.Value{t, ints(starts), ints(ends), ints(axes), ints(steps)}, nil)
		if err != nil {
			return nil, err
		}
	}
	if len(dropped) > 0 {
		return squeeze(env, g, out, dropped)
	}
	return out, nil
}

func ints(vs []int64) starlark.Value { return value.NewArray(array.FromSlice(vs)) }

// squeeze drops axes: by an input since opset 13, by an attribute before.
func squeeze(env *value.Env, g *ir.Graph, t starlark.Value, axes []int64) (starlark.Value, error) {
	if g.Opset("") >= 13 {
		return buildOne(env, g, "Squeeze", []starlark.Value{t, ints(axes)}, nil)
	}
	vs := make([]starlark.Value, len(axes))
	for i, a := range axes {
		vs[i] = starlark.MakeInt64(a)
	}
	return buildOne(env, g, "Squeeze", []starlark.Value{t}, []starlark.Tuple{{starlark.String("axes"), starlark.NewList(vs)}})
}

// bounds is what a slice value (slice(1, 3)) offers.
type bounds interface {
	Bounds() (start, stop, step starlark.Value)
}

func asCut(v starlark.Value) (axisCut, error) {
	switch v := v.(type) {
	case starlark.Int:
		i, err := value.AsInt(v, "tensor index")
		if err != nil {
			return axisCut{}, err
		}
		cut := axisCut{i, i + 1, 1, true}
		if i == -1 {
			cut.end = toEnd
		}
		return cut, nil
	case bounds:
		return cutOf(v.Bounds())
	}
	return axisCut{}, fmt.Errorf("tensor index: got %s, want an int or slice(start, stop)", v.Type())
}

func cutOf(start, stop, step starlark.Value) (axisCut, error) {
	cut := axisCut{0, toEnd, 1, false}
	if step != starlark.None {
		n, err := value.AsInt(step, "tensor index: step")
		if err != nil {
			return cut, err
		}
		if n == 0 {
			return cut, fmt.Errorf("tensor index: step: got 0, want another number")
		}
		cut.step = n
	}
	if cut.step < 0 {
		cut.start, cut.end = toEnd, -toEnd
	}
	for _, side := range []struct {
		v    starlark.Value
		to   *int64
		what string
	}{{start, &cut.start, "start"}, {stop, &cut.end, "stop"}} {
		if side.v == starlark.None {
			continue
		}
		n, err := value.AsInt(side.v, "tensor index: "+side.what)
		if err != nil {
			return cut, err
		}
		*side.to = n
	}
	return cut, nil
}
