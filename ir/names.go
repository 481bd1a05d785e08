package ir

import "strconv"

// nameIndex knows which names are taken in a root graph and its bodies. It is
// built when the first fresh name is asked for and then kept by every edit that
// brings a name in. A name that went out stays taken: the index may only err on
// that side.
type nameIndex struct {
	tensors, nodes map[string]bool
	next           map[string]int // by prefix
}

func (g *Graph) index() *nameIndex {
	r := g.Root()
	if r.names == nil {
		r.names = &nameIndex{tensors: map[string]bool{}, nodes: map[string]bool{}, next: map[string]int{}}
		r.eachName(r.names)
	}
	return r.names
}

func (g *Graph) eachName(x *nameIndex) {
	for b := range g.All() {
		for _, t := range b.Tensors() {
			x.tensors[t.name] = true
		}
		for _, n := range b.Nodes() {
			x.nodes[n.name] = true
		}
	}
}

func (g *Graph) take(name string) {
	if r := g.Root(); r.names != nil {
		r.names.tensors[name] = true
	}
}

func (g *Graph) takeNode(name string) {
	if r := g.Root(); r.names != nil {
		r.names.nodes[name] = true
	}
}

// FreshName returns prefix_N for the lowest N, counting up from 0, that no
// tensor here, around or in bodies bears, and takes it.
func (g *Graph) FreshName(prefix string) string {
	x := g.index()
	return x.fresh(x.tensors, "t\x00"+prefix, prefix)
}

// FreshNodeName returns prefix_N likewise for nodes.
func (g *Graph) FreshNodeName(prefix string) string {
	x := g.index()
	return x.fresh(x.nodes, "n\x00"+prefix, prefix)
}

// NameTaken reports whether a tensor here, around or in bodies bears the name,
// or did since the index of names was made.
func (g *Graph) NameTaken(name string) bool { return g.index().tensors[name] }

func (x *nameIndex) fresh(taken map[string]bool, key, prefix string) string {
	for n := x.next[key]; ; n++ {
		name := prefix + "_" + strconv.Itoa(n)
		if !taken[name] {
			taken[name] = true
			x.next[key] = n + 1
			return name
		}
	}
}
