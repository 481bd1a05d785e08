package ir

import "strconv"

// nameIndex knows which names are taken in a root graph and its bodies. It is
// built when the first fresh name is asked for and then kept by every edit that
// brings a name in. A name that went out stays taken: the index may only err on
// that side.
type nameIndex struct{ tensors, nodes nameSet }

// nameSet is the names of one kind.
type nameSet struct {
	taken map[string]bool
	next  map[string]int // by prefix
}

func newNames() nameSet { return nameSet{map[string]bool{}, map[string]int{}} }

func (g *Graph) index() *nameIndex {
	r := g.Root()
	if r.names == nil {
		r.names = &nameIndex{newNames(), newNames()}
		r.eachName(r.names)
	}
	return r.names
}

func (g *Graph) eachName(x *nameIndex) {
	for b := range g.All() {
		for _, t := range b.Tensors() {
			x.tensors.taken[t.name] = true
		}
		for _, n := range b.Nodes() {
			x.nodes.taken[n.name] = true
		}
	}
}

func (g *Graph) take(name string) {
	if r := g.Root(); r.names != nil {
		r.names.tensors.taken[name] = true
	}
}

func (g *Graph) takeNode(name string) {
	if r := g.Root(); r.names != nil {
		r.names.nodes.taken[name] = true
	}
}

// FreshName returns prefix_N for the lowest N, counting up from 0, that no
// tensor here, around or in bodies bears, and takes it.
func (g *Graph) FreshName(prefix string) string {
	return g.index().tensors.fresh(prefix)
}

// FreshNodeName returns prefix_N likewise for nodes.
func (g *Graph) FreshNodeName(prefix string) string {
	return g.index().nodes.fresh(prefix)
}

// NameTaken reports whether a tensor here, around or in bodies bears the name,
// or did since the index of names was made.
func (g *Graph) NameTaken(name string) bool { return g.index().tensors.taken[name] }

func (x *nameSet) fresh(prefix string) string {
	for n := x.next[prefix]; ; n++ {
		name := prefix + "_" + strconv.Itoa(n)
		if !x.taken[name] {
			x.taken[name] = true
			x.next[prefix] = n + 1
			return name
		}
	}
}
