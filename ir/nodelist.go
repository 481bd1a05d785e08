package ir

import "slices"

// chunkSize bounds a chunk of the node list: large enough that walking chunks
// is cheap, small enough that an insertion moves little.
const chunkSize = 512

// chunk is a part of a graph's node list. A node knows its chunk, so inserting
// beside a node and removing one cost a move within one chunk, whatever the
// length of the list.
type chunk struct {
	nodes      []*Node
	prev, next *chunk
}

type nodeList struct {
	first, last *chunk
	count       int
	flat        []*Node // cache of the whole order; dropped, never changed, by an edit
}

func (l *nodeList) all() []*Node {
	if l.flat == nil && l.count > 0 {
		flat := make([]*Node, 0, l.count)
		for c := l.first; c != nil; c = c.next {
			flat = append(flat, c.nodes...)
		}
		l.flat = flat
	}
	return l.flat
}

// at returns node i, 0 <= i < count.
func (l *nodeList) at(i int) *Node {
	if l.flat != nil {
		return l.flat[i]
	}
	for c := l.first; ; c = c.next {
		if i < len(c.nodes) {
			return c.nodes[i]
		}
		i -= len(c.nodes)
	}
}

// index returns the position of n, which is in the list.
func (l *nodeList) index(n *Node) int {
	i := slices.Index(n.chunk.nodes, n)
	for c := n.chunk.prev; c != nil; c = c.prev {
		i += len(c.nodes)
	}
	return i
}

func (l *nodeList) append(n *Node) {
	if l.last == nil || len(l.last.nodes) >= chunkSize {
		l.addChunk(l.last, nil)
	}
	c := l.last
	c.nodes = append(c.nodes, n)
	n.chunk = c
	l.count++
	l.flat = nil
}

// insertBefore puts n before mark, or at the end when mark is nil.
func (l *nodeList) insertBefore(mark, n *Node) {
	if mark == nil {
		l.append(n)
		return
	}
	if len(mark.chunk.nodes) >= chunkSize {
		l.split(mark.chunk)
	}
	c := mark.chunk
	c.nodes = slices.Insert(c.nodes, slices.Index(c.nodes, mark), n)
	n.chunk = c
	l.count++
	l.flat = nil
}

func (l *nodeList) split(c *chunk) {
	half := len(c.nodes) / 2
	d := l.addChunk(c, c.nodes[half:])
	for _, n := range d.nodes {
		n.chunk = d
	}
	c.nodes = slices.Delete(c.nodes, half, len(c.nodes))
}

func (l *nodeList) addChunk(after *chunk, nodes []*Node) *chunk {
	c := &chunk{nodes: slices.Clone(nodes), prev: after}
	if after == nil {
		c.next, l.first = l.first, c
	} else {
		c.next, after.next = after.next, c
	}
	if c.next == nil {
		l.last = c
	} else {
		c.next.prev = c
	}
	return c
}

// remove takes n out and returns the node that followed it, or nil.
func (l *nodeList) remove(n *Node) (next *Node) {
	c := n.chunk
	i := slices.Index(c.nodes, n)
	next = l.after(n)
	c.nodes = slices.Delete(c.nodes, i, i+1)
	n.chunk = nil
	l.count--
	l.flat = nil
	if len(c.nodes) == 0 {
		l.dropChunk(c)
	}
	return next
}

func (l *nodeList) dropChunk(c *chunk) {
	if c.prev != nil {
		c.prev.next = c.next
	} else {
		l.first = c.next
	}
	if c.next != nil {
		c.next.prev = c.prev
	} else {
		l.last = c.prev
	}
}

// after returns the node that follows n, or nil.
func (l *nodeList) after(n *Node) *Node {
	i := slices.Index(n.chunk.nodes, n) + 1
	if i < len(n.chunk.nodes) {
		return n.chunk.nodes[i]
	}
	if n.chunk.next != nil {
		return n.chunk.next.nodes[0]
	}
	return nil
}

// reorder makes nodes, a permutation of the list, its order.
func (l *nodeList) reorder(nodes []*Node) {
	*l = nodeList{}
	for _, n := range nodes {
		l.append(n)
	}
}
