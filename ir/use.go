package ir

// Use is one edge out of a tensor: input slot Index of Node, or entry Index of
// the output list of Graph (Node is nil then).
type Use struct {
	node       *Node
	graph      *Graph
	index      int
	tensor     *Tensor
	prev, next *Use
}

// Node returns the node whose input this is, or nil for a graph's output.
func (u *Use) Node() *Node { return u.node }

// Graph returns the graph whose output this is, or nil for a node's input.
func (u *Use) Graph() *Graph { return u.graph }

// Index returns the slot.
func (u *Use) Index() int { return u.index }

// Tensor returns the tensor used, or nil for an empty slot.
func (u *Use) Tensor() *Tensor { return u.tensor }

// Set makes the slot use t, or nothing when t is nil (a node's slot only).
func (u *Use) Set(t *Tensor) {
	if u.tensor == t {
		return
	}
	m := u.model(t)
	old, before := u.tensor, u.prev
	u.link(t, tail(t))
	if j := m.recording(); j != nil {
		j.push(record{use: u, old: old, prev: before})
	}
	u.adopt(t)
}

// Cut makes the slot use nothing. A graph's output, which can't be empty, gets a
// tensor of the same name and type that nothing makes.
func (u *Use) Cut() {
	if t := u.tensor; u.graph != nil && t != nil {
		u.Set(NewTensor(t.name, t.Type()))
		return
	}
	u.Set(nil)
}

// adopt gives a tensor of no graph to the graph of the slot.
func (u *Use) adopt(t *Tensor) {
	if g := u.home(); g != nil && t != nil {
		g.adopt(t)
	}
}

func (u *Use) home() *Graph {
	if u.node != nil {
		return u.node.graph
	}
	return u.graph
}

func (u *Use) model(t *Tensor) *Model {
	if g := u.home(); g != nil {
		return g.Model()
	}
	for _, t := range [...]*Tensor{u.tensor, t} {
		if t != nil && t.graph != nil {
			return t.graph.Model()
		}
	}
	return nil
}

func tail(t *Tensor) *Use {
	if t == nil {
		return nil
	}
	return t.last
}

// link moves the edge from its tensor to t, after the edge prev of t's list
// (first when prev is nil).
func (u *Use) link(t *Tensor, prev *Use) {
	if old := u.tensor; old != nil {
		if u.prev != nil {
			u.prev.next = u.next
		} else {
			old.first = u.next
		}
		if u.next != nil {
			u.next.prev = u.prev
		} else {
			old.last = u.prev
		}
		old.useCount--
	}
	u.tensor, u.prev, u.next = t, nil, nil
	if t == nil {
		return
	}
	u.prev = prev
	if prev != nil {
		u.next, prev.next = prev.next, u
	} else {
		u.next, t.first = t.first, u
	}
	if u.next != nil {
		u.next.prev = u
	} else {
		t.last = u
	}
	t.useCount++
}
