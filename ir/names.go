package ir

import "strconv"

// nameIndex knows which names are taken in a root graph and its bodies. It is
// built when the first fresh name is asked for and then kept by every edit that
// brings a name in. A name that went out stays taken: the index may only err on
// that side.
type nameIndex struct{ tensors, nodes nameSet }

// nameSet is the names of one kind: those in taken, and PREFIX_N for every N
// below next[PREFIX]. What made up its own names is most of a graph that a
// script builds; these cost no entry each.
type nameSet struct {
	taken map[string]bool
	next  map[string]int // by prefix
}

func newNames() nameSet { return nameSet{map[string]bool{}, map[string]int{}} }

func (x *nameSet) has(name string) bool {
	if prefix, n, ok := numbered(name); ok && n < x.next[prefix] {
		return true
	}
	return x.taken[name]
}

func (x *nameSet) take(name string) {
	if !x.has(name) {
		x.taken[name] = true
	}
}

// numbered cuts PREFIX_N in two, where N is written as fresh writes it.
func numbered(name string) (prefix string, n int, ok bool) {
	i := len(name)
	for i > 0 && name[i-1] >= '0' && name[i-1] <= '9' {
		i--
	}
	digits := name[i:]
	if i == 0 || name[i-1] != '_' || digits == "" || len(digits) > 9 || digits[0] == '0' && len(digits) > 1 {
		return "", 0, false
	}
	for _, c := range []byte(digits) {
		n = n*10 + int(c-'0')
	}
	return name[:i-1], n, true
}

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
		r.names.tensors.take(name)
	}
}

func (g *Graph) takeNode(name string) {
	if r := g.Root(); r.names != nil {
		r.names.nodes.take(name)
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
func (g *Graph) NameTaken(name string) bool { return g.index().tensors.has(name) }

func (x *nameSet) fresh(prefix string) string {
	name := append(make([]byte, 0, 64), prefix...)
	name = append(name, '_')
	for n := x.next[prefix]; ; n++ {
		name = strconv.AppendInt(name[:len(prefix)+1], int64(n), 10)
		if !x.taken[string(name)] {
			x.next[prefix] = n + 1
			return string(name)
		}
	}
}
