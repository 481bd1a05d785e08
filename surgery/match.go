package surgery

import (
	"context"
	"fmt"
	"slices"

	"github.com/starlarkgs/starlarkgs/ir"
)

// Match is one place where a pattern fits.
type Match struct {
	Graph *ir.Graph
	// Nodes are those that the pattern's nodes fit, in topological order.
	Nodes []*ir.Node
	// Outputs are the tensors of the pattern's outputs.
	Outputs []*ir.Tensor
	// Values are the tensors of the parameters and of the nodes that the pattern
	// names. What stands in an optional part that is missing has none.
	Values map[string]*ir.Tensor
}

// Refusal tells why a place at which the pattern fits is no match.
type Refusal struct {
	Node   *ir.Node // that of the pattern's first output
	Reason string
}

// MatchOptions restricts matches.
type MatchOptions struct {
	// Where says whether a match is wanted; where inputs may stand in several
	// orders, the next one is tried.
	Where func(*Match) (bool, error)
}

// Find returns the matches in g and the graphs nested in it: for each node that
// makes the pattern's first output the first way in which the pattern fits, in
// topological order. Matches may overlap.
//
// All nodes of a match are in one graph. Parameters stand for values from
// outside the match. A place where a value inside the match is used outside it
// is refused, since the match could not be replaced.
//
// The time is linear in the nodes; a pattern of several outputs takes time for
// each use of the values that its parts share.
func Find(ctx context.Context, g *ir.Graph, p *Pattern, o MatchOptions) ([]*Match, []Refusal, error) {
	var found []*Match
	refused, err := eachMatch(ctx, g, p, o, func(m *Match) error {
		found = append(found, m)
		return nil
	})
	return found, refused, err
}

// eachMatch calls f for each match. f may rewrite it: nodes that are gone are
// passed over, new ones take part in no match.
func eachMatch(ctx context.Context, g *ir.Graph, p *Pattern, o MatchOptions, f func(*Match) error) ([]Refusal, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	var refused []Refusal
	for _, b := range slices.Collect(g.All()) {
		if !g.Encloses(b) {
			continue // its node was rewritten
		}
		m, err := newMatcher(b, p, o)
		if err != nil {
			return nil, err
		}
		for i, n := range m.sorted {
			if i%1024 == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if n.Graph() != b {
				continue
			}
			found, reason := m.at(n)
			if m.err != nil {
				return nil, m.err
			}
			if found != nil {
				if err := f(found); err != nil {
					return nil, err
				}
			} else if reason != "" {
				refused = append(refused, Refusal{n, reason})
			}
		}
	}
	return refused, nil
}

// matcher looks for a pattern in one graph. The search goes from the outputs of
// the pattern to what they are made of. Each step takes the rest of the search
// as a function, and undoes its binding when the rest fails.
type matcher struct {
	g       *ir.Graph
	p       *Pattern
	o       MatchOptions
	sorted  []*ir.Node
	pos     map[*ir.Node]int // in sorted; a node that was made later has none
	values  map[*PatternValue]*ir.Tensor
	nodes   map[*PatternNode]*ir.Node
	taken   map[*ir.Node]*PatternNode
	outputs []*ir.Tensor
	found   *Match
	reason  string // of the first refusal
	err     error
}

func newMatcher(g *ir.Graph, p *Pattern, o MatchOptions) (*matcher, error) {
	sorted, err := g.Sorted()
	if err != nil {
		return nil, err
	}
	m := &matcher{g: g, p: p, o: o, sorted: sorted, pos: make(map[*ir.Node]int, len(sorted)),
		values: map[*PatternValue]*ir.Tensor{}, nodes: map[*PatternNode]*ir.Node{}, taken: map[*ir.Node]*PatternNode{}}
	for i, n := range sorted {
		m.pos[n] = i
	}
	return m, nil
}

// at returns the match whose first output n makes, or why it was refused.
func (m *matcher) at(n *ir.Node) (*Match, string) {
	m.found, m.reason = nil, ""
	for i := range n.NumOutputs() {
		if t := n.Output(i); t != nil && m.output(0, t) {
			return m.found, ""
		}
	}
	return nil, m.reason
}

// output fits output i of the pattern on t, and the others on what there is.
func (m *matcher) output(i int, t *ir.Tensor) bool {
	m.outputs = append(m.outputs, t)
	defer func() { m.outputs = m.outputs[:i] }()
	return m.value(m.p.Outputs[i], t, func() bool {
		if i+1 == len(m.p.Outputs) {
			return m.complete()
		}
		for _, next := range m.candidates(m.p.Outputs[i+1]) {
			if m.output(i+1, next) {
				return true
			}
			m.outputs = m.outputs[:i+1]
		}
		return false
	})
}

// value fits v on t; nil on both sides stands for a missing input.
func (m *matcher) value(v *PatternValue, t *ir.Tensor, rest func() bool) bool {
	if v == nil {
		return t == nil && rest()
	}
	if bound, ok := m.values[v]; ok {
		return bound == t && rest()
	}
	switch v.kind {
	case anyValue:
		return t != nil && rest()
	case literalValue:
		return t != nil && m.constant(v, t) && rest()
	case outputValue:
		if t == nil {
			return false
		}
		n, slot := t.Producer()
		return n != nil && slot == v.slot && m.node(v.node, n, rest)
	case eitherValue:
		m.values[v] = t
		defer delete(m.values, v)
		return slices.ContainsFunc(v.alts, func(x *PatternValue) bool { return m.value(x, t, rest) })
	}
	if t == nil {
		return false
	}
	m.values[v] = t
	defer delete(m.values, v)
	return rest()
}

// node fits a node of the pattern on n.
func (m *matcher) node(p *PatternNode, n *ir.Node, rest func() bool) bool {
	if bound := m.nodes[p]; bound != nil {
		return bound == n && rest()
	}
	if p.Op != "" && (p.Op != n.Op() || !sameDomain(p.Domain, n.Domain())) {
		return false
	}
	if _, known := m.pos[n]; !known || m.taken[n] != nil || n.Graph() != m.g || !attrsFit(p.Attrs, n) {
		return false
	}
	count := n.NumInputs()
	for count > 0 && n.Input(count-1) == nil {
		count--
	}
	if count > len(p.Inputs) {
		return false
	}
	m.nodes[p], m.taken[n] = n, p
	defer func() { delete(m.nodes, p); delete(m.taken, n) }()
	if commutative[n.Op()] && ir.IsStandard(n.Domain()) && len(p.Inputs) > 1 {
		return m.anyOrder(p, n, make([]bool, len(p.Inputs)), 0, rest)
	}
	return m.inputs(p, n, 0, rest)
}

func sameDomain(a, b string) bool { return a == b || ir.IsStandard(a) && ir.IsStandard(b) }

// inputs fits the inputs from i on, in order.
func (m *matcher) inputs(p *PatternNode, n *ir.Node, i int, rest func() bool) bool {
	if i == len(p.Inputs) {
		return rest()
	}
	return m.value(p.Inputs[i], n.Input(i), func() bool { return m.inputs(p, n, i+1, rest) })
}

// anyOrder fits the inputs of the pattern from i on, each on one that is not used yet.
func (m *matcher) anyOrder(p *PatternNode, n *ir.Node, used []bool, i int, rest func() bool) bool {
	if i == len(p.Inputs) {
		return rest()
	}
	for k := range used {
		if used[k] {
			continue
		}
		used[k] = true
		if m.value(p.Inputs[i], n.Input(k), func() bool { return m.anyOrder(p, n, used, i+1, rest) }) {
			return true
		}
		used[k] = false
	}
	return false
}

// candidates returns the tensors that an output of the pattern may be, after
// the outputs before it: what the nodes that are bound make, and what their
// values and the parameters flow into.
func (m *matcher) candidates(v *PatternValue) []*ir.Tensor {
	if t := m.values[v]; t != nil {
		return []*ir.Tensor{t}
	}
	var out []*ir.Tensor
	switch v.kind {
	case eitherValue:
		for _, x := range v.alts {
			out = append(out, m.candidates(x)...)
		}
	case outputValue:
		for _, n := range m.makers(v.node) {
			if t := n.Output(v.slot); t != nil {
				out = append(out, t)
			}
		}
	}
	return out
}

// makers returns the nodes of the graph that p may fit, as far as they follow
// from what is bound.
func (m *matcher) makers(p *PatternNode) []*ir.Node {
	if n := m.nodes[p]; n != nil {
		return []*ir.Node{n}
	}
	var out []*ir.Node
	seen := map[*ir.Node]bool{}
	for _, x := range p.Inputs {
		if x == nil {
			continue
		}
		for _, t := range m.candidates(x) {
			for _, n := range t.Consumers() {
				if n.Graph() == m.g && !seen[n] {
					seen[n] = true
					out = append(out, n)
				}
			}
		}
	}
	return out
}

// complete decides on a place at which all parts of the pattern fit.
func (m *matcher) complete() bool {
	for v, t := range m.values {
		if v.kind == paramValue && t != nil {
			if n, _ := t.Producer(); n != nil && m.taken[n] != nil {
				return false // a parameter is a value from outside
			}
		}
	}
	found := m.match()
	if reason := m.leak(found); reason != "" {
		if m.reason == "" {
			m.reason = reason
		}
		return false
	}
	if m.o.Where != nil {
		ok, err := m.o.Where(found)
		if err != nil {
			m.err = err
			return true // ends the search
		}
		if !ok {
			return false
		}
	}
	m.found = found
	return true
}

func (m *matcher) match() *Match {
	found := &Match{Graph: m.g, Outputs: slices.Clone(m.outputs), Values: map[string]*ir.Tensor{}}
	for n := range m.taken {
		found.Nodes = append(found.Nodes, n)
	}
	slices.SortFunc(found.Nodes, func(a, b *ir.Node) int { return m.pos[a] - m.pos[b] })
	for v, t := range m.values {
		if v.name != "" && t != nil {
			found.Values[v.name] = t
		}
	}
	for p, n := range m.nodes {
		if p.Name != "" {
			found.Values[p.Name] = n.Output(0)
		}
	}
	return found
}

// leak tells where a value inside a match is used outside it, or that what
// replaces the match could wait for itself; "" when neither is so.
func (m *matcher) leak(found *Match) string {
	for _, n := range found.Nodes {
		for _, t := range n.Outputs() {
			if t == nil || slices.Contains(found.Outputs, t) {
				continue
			}
			for u := range t.Uses() {
				if u.Node() == nil {
					return fmt.Sprintf("%s, made by %s inside the match, is an output of %s", t.Label(), n.Label(), u.Graph().Label())
				}
				if m.taken[u.Node().AncestorIn(m.g)] == nil {
					return fmt.Sprintf("%s, made by %s inside the match, is used by %s outside it", t.Label(), n.Label(), u.Node().Label())
				}
			}
		}
	}
	if len(found.Outputs) > 1 {
		return m.loop(found)
	}
	return ""
}

// loop tells of a value that the match reads and that depends, by way of nodes
// outside, on one that it makes. Only nodes behind the first of the match can
// be on that way.
func (m *matcher) loop(found *Match) string {
	first := m.pos[found.Nodes[0]]
	seen := map[*ir.Node]bool{}
	var todo []*ir.Node
	follow := func(n *ir.Node) (back bool) {
		for _, t := range reads(n) {
			p, _ := t.Producer()
			p = p.AncestorIn(m.g)
			if p == nil || m.pos[p] < first || seen[p] {
				continue
			}
			if m.taken[p] != nil {
				if m.taken[n] == nil {
					return true
				}
				continue
			}
			seen[p] = true
			todo = append(todo, p)
		}
		return false
	}
	for _, n := range found.Nodes {
		follow(n)
	}
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if follow(n) {
			return fmt.Sprintf("%s, outside the match, reads what the match makes and makes what it reads", n.Label())
		}
	}
	return ""
}

// reads returns what a node reads, captures of its bodies included.
func reads(n *ir.Node) []*ir.Tensor {
	return slices.DeleteFunc(append(n.Inputs(), n.Captures()...), func(t *ir.Tensor) bool { return t == nil })
}
