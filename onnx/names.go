package onnx

import (
	"strconv"

	"github.com/starlarkgs/starlarkgs/ir"
)

// nameTable gives every tensor of a model the name that the file will have:
// its own where that is free, else a fresh one. Inputs and outputs come first,
// so that what collides with them gives way.
type nameTable struct {
	root  *ir.Graph
	names map[*ir.Tensor]string // of those that do not have their own
	taken map[string]bool       // in the root graph and its bodies; nil until a fresh name is asked for
	next  map[string]int
}

func resolveNames(root *ir.Graph) *nameTable {
	t := &nameTable{root: root, names: map[*ir.Tensor]string{}, next: map[string]int{}}
	t.graph(root, nil)
	return t
}

// visible is the names that a graph sees: its own, and those around it.
type visible struct {
	outer *visible
	own   map[string]*ir.Tensor
}

func (v *visible) find(name string) *ir.Tensor {
	for ; v != nil; v = v.outer {
		if t := v.own[name]; t != nil {
			return t
		}
	}
	return nil
}

func (t *nameTable) graph(g *ir.Graph, outer *visible) {
	v := &visible{outer: outer, own: make(map[string]*ir.Tensor, g.NumNodes())}
	var captured map[*ir.Tensor]bool
	give := func(x *ir.Tensor) {
		if x.Graph() != nil && x.Graph() != g {
			return // named where it belongs
		}
		name := x.Name()
		if _, done := t.names[x]; done || v.own[name] == x {
			return
		}
		switch other := v.find(name); {
		case name == "":
			name = t.fresh("tensor")
		case other == nil || other == x:
		case v.own[name] != nil:
			if originalName(x) != name { // a double of the file's own stays
				name = t.fresh(name)
			}
		default: // shadows a name around it: harmless unless that one is read here
			if captured == nil {
				captured = map[*ir.Tensor]bool{}
				for _, c := range g.Captures() {
					captured[c] = true
				}
			}
			if captured[other] || originalName(x) != name {
				name = t.fresh(name)
			}
		}
		if name != x.Name() {
			t.names[x] = name
		}
		if v.own[name] == nil {
			v.own[name] = x
		}
	}
	for _, x := range g.Inputs() {
		give(x)
	}
	for _, x := range g.Outputs() {
		give(x)
	}
	for _, x := range g.Tensors() {
		give(x)
	}
	for _, n := range g.Nodes() {
		for _, b := range n.Bodies() {
			t.graph(b, v)
		}
	}
}

// originalName returns the name that the file gave the tensor, or "".
func originalName(x *ir.Tensor) string {
	switch s := x.Extra.(type) {
	case string:
		return s
	case madeName:
		return string(s)
	}
	return ""
}

func (t *nameTable) fresh(prefix string) string {
	if t.taken == nil {
		t.taken = map[string]bool{}
		for g := range t.root.All() {
			for _, x := range g.Tensors() {
				t.taken[x.Name()] = true
			}
		}
	}
	for n := t.next[prefix]; ; n++ {
		name := prefix + "_" + strconv.Itoa(n)
		if !t.taken[name] {
			t.taken[name] = true
			t.next[prefix] = n + 1
			return name
		}
	}
}

func (t *nameTable) of(x *ir.Tensor) string {
	if x == nil {
		return ""
	}
	if name, ok := t.names[x]; ok {
		return name
	}
	return x.Name()
}
