package surgery

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
)

func op(name string, inputs ...*PatternValue) *PatternValue {
	return (&PatternNode{Op: name, Inputs: inputs}).Output(0)
}

// flatGraph makes a graph of n nodes with few operators, in which values are
// read often, some by the graph's outputs.
func flatGraph(r *rand.Rand, n int) *ir.Model {
	m := ir.NewModel("random", ir.Import{Version: 21})
	g := m.Graph()
	f32 := ir.TensorType(array.Float32, ir.Ints(2))
	values := []*ir.Tensor{ir.NewTensor("x", f32), ir.NewTensor("y", f32)}
	g.SetInputs(values...)
	values = append(values, ir.NewConstant("one", array.Scalar(float32(1))))
	pick := func() *ir.Tensor { return values[max(0, len(values)-1-r.IntN(4))] }
	for i := range n {
		ins := []*ir.Tensor{pick()}
		name := []string{"Relu", "Neg", "Add", "Sub"}[r.IntN(4)]
		if name == "Add" || name == "Sub" {
			ins = append(ins, pick())
		}
		out := ir.NewTensor(fmt.Sprintf("t%d", i), f32)
		node := ir.NewNode(name, ins, []*ir.Tensor{out})
		node.SetName(fmt.Sprintf("n%d", i))
		g.AddNode(node)
		values = append(values, out)
	}
	outs := []*ir.Tensor{values[len(values)-1]}
	if r.IntN(3) == 0 {
		outs = append(outs, values[3+r.IntN(n)])
	}
	g.SetOutputs(outs...)
	return m
}

// randomPattern makes a pattern of up to size nodes over the same operators.
func randomPattern(r *rand.Rand, size int) *Pattern {
	x, y := Param("x"), Param("y")
	leaf := func() *PatternValue {
		switch r.IntN(8) {
		case 0:
			return Anything()
		case 1:
			return Constant(array.Scalar(1.0))
		case 2, 3, 4:
			return y
		}
		return x
	}
	values := []*PatternValue{}
	pick := func() *PatternValue {
		if len(values) == 0 || r.IntN(3) == 0 {
			return leaf()
		}
		return values[r.IntN(len(values))]
	}
	last := func() *PatternValue {
		if len(values) == 0 {
			return x
		}
		return values[len(values)-1]
	}
	for range 1 + r.IntN(size) {
		n := &PatternNode{Op: []string{"Relu", "Neg", "Add", "Sub", ""}[r.IntN(5)]}
		n.Inputs = []*PatternValue{last()}
		if n.Op == "Add" || n.Op == "Sub" || n.Op == "" && r.IntN(2) == 0 {
			n.Inputs = append(n.Inputs, pick())
			if r.IntN(2) == 0 {
				slices.Reverse(n.Inputs)
			}
		}
		v := n.Output(0)
		switch r.IntN(8) {
		case 0:
			v = Maybe(v)
		case 1:
			v = Either(v, op("Relu", pick()))
		}
		values = append(values, v)
	}
	p := &Pattern{Outputs: []*PatternValue{last()}}
	if r.IntN(3) == 0 && len(values) > 1 {
		p.Outputs = append(p.Outputs, values[r.IntN(len(values)-1)])
	} else if r.IntN(3) == 0 {
		p.Outputs = append(p.Outputs, op("Neg", x))
	}
	return p
}

// brute tries every way to fit a pattern on a graph: it fixes an alternative for
// each choice, then goes through all nodes for each node of the pattern, and
// only then looks whether the edges, the values and the uses are right.
type brute struct {
	g      *ir.Graph
	p      *Pattern
	choice map[*PatternValue]int
	nodes  []*PatternNode
	at     map[*PatternNode]*ir.Node
	swap   map[*PatternNode]bool
}

func (b *brute) resolve(v *PatternValue) *PatternValue {
	for v != nil && v.kind == eitherValue {
		v = v.alts[b.choice[v]]
	}
	return v
}

// run calls yield for the tensors of the outputs of each way that is right.
func (b *brute) run(yield func([]*ir.Tensor)) {
	open := b.firstChoice()
	if open == nil {
		b.collect()
		b.assign(0, yield)
		return
	}
	for i := range open.alts {
		b.choice[open] = i
		b.run(yield)
	}
	delete(b.choice, open)
}

// firstChoice returns an Either that is reached and has no alternative yet.
func (b *brute) firstChoice() *PatternValue {
	var find func(v *PatternValue) *PatternValue
	find = func(v *PatternValue) *PatternValue {
		if v == nil {
			return nil
		}
		if v.kind == eitherValue {
			if i, ok := b.choice[v]; ok {
				return find(v.alts[i])
			}
			return v
		}
		if v.node != nil {
			for _, x := range v.node.Inputs {
				if open := find(x); open != nil {
					return open
				}
			}
		}
		return nil
	}
	for _, v := range b.p.Outputs {
		if open := find(v); open != nil {
			return open
		}
	}
	return nil
}

func (b *brute) collect() {
	b.nodes = nil
	var walk func(v *PatternValue)
	walk = func(v *PatternValue) {
		v = b.resolve(v)
		if v == nil || v.node == nil || slices.Contains(b.nodes, v.node) {
			return
		}
		b.nodes = append(b.nodes, v.node)
		for _, x := range v.node.Inputs {
			walk(x)
		}
	}
	for _, v := range b.p.Outputs {
		walk(v)
	}
}

func (b *brute) assign(i int, yield func([]*ir.Tensor)) {
	if i == len(b.nodes) {
		b.decide(yield)
		return
	}
	p := b.nodes[i]
	for _, n := range b.g.Nodes() {
		taken := false
		for _, other := range b.nodes[:i] {
			taken = taken || b.at[other] == n
		}
		if taken || p.Op != "" && p.Op != n.Op() || len(p.Inputs) != n.NumInputs() {
			continue
		}
		b.at[p] = n
		for _, swap := range []bool{false, true} {
			if !swap || n.Op() == "Add" {
				b.swap[p] = swap
				b.assign(i+1, yield)
			}
		}
	}
	delete(b.at, p)
}

func (b *brute) decide(yield func([]*ir.Tensor)) {
	params := map[*PatternValue]*ir.Tensor{}
	fits := func(v *PatternValue, t *ir.Tensor) bool {
		switch v.kind {
		case anyValue:
			return true
		case literalValue:
			return t.Name() == "one"
		case outputValue:
			n, _ := t.Producer()
			return n != nil && n == b.at[v.node]
		}
		if params[v] == nil {
			params[v] = t
		}
		n, _ := t.Producer()
		return params[v] == t && !b.inside(n)
	}
	// a choice stands for one tensor wherever it is named
	one := func(v *PatternValue, t *ir.Tensor) bool {
		for v.kind == eitherValue {
			if params[v] == nil {
				params[v] = t
			}
			if params[v] != t {
				return false
			}
			v = v.alts[b.choice[v]]
		}
		return true
	}
	for _, p := range b.nodes {
		ins := b.at[p].Inputs()
		if b.swap[p] {
			slices.Reverse(ins)
		}
		for i, v := range p.Inputs {
			if !one(v, ins[i]) || !fits(b.resolve(v), ins[i]) {
				return
			}
		}
	}
	var outs []*ir.Tensor
	for _, v := range b.p.Outputs {
		outs = append(outs, b.at[b.resolve(v).node].Output(0))
		if !one(v, outs[len(outs)-1]) {
			return
		}
	}
	if b.sealed(outs) && !b.looped() {
		yield(outs)
	}
}

func (b *brute) inside(n *ir.Node) bool {
	for _, p := range b.nodes {
		if n != nil && b.at[p] == n {
			return true
		}
	}
	return false
}

func (b *brute) sealed(outs []*ir.Tensor) bool {
	for _, p := range b.nodes {
		t := b.at[p].Output(0)
		if slices.Contains(outs, t) {
			continue
		}
		if t.IsGraphOutput() {
			return false
		}
		for _, n := range t.Consumers() {
			if !b.inside(n) {
				return false
			}
		}
	}
	return true
}

// looped reports whether a path leaves the match and comes back.
func (b *brute) looped() bool {
	var back func(n *ir.Node) bool
	back = func(n *ir.Node) bool { // is something inside before n?
		for _, t := range n.Inputs() {
			if p, _ := t.Producer(); p != nil && (b.inside(p) || back(p)) {
				return true
			}
		}
		return false
	}
	for _, p := range b.nodes {
		for _, t := range b.at[p].Inputs() {
			if n, _ := t.Producer(); n != nil && !b.inside(n) && back(n) {
				return true
			}
		}
	}
	return false
}

func TestFindAgainstBruteForce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	matches, several := 0, 0
	for range 6000 {
		m := flatGraph(r, 7)
		p := randomPattern(r, 3)
		if p.check() != nil {
			continue
		}
		got := map[*ir.Node]bool{}
		found, refused, err := Find(context.Background(), m.Graph(), p, MatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			n, _ := f.Outputs[0].Producer()
			got[n] = true
		}
		want := map[*ir.Node]bool{}
		b := &brute{g: m.Graph(), p: p, choice: map[*PatternValue]int{}, at: map[*PatternNode]*ir.Node{}, swap: map[*PatternNode]bool{}}
		b.run(func(outs []*ir.Tensor) {
			n, _ := outs[0].Producer()
			want[n] = true
		})
		for _, n := range m.Graph().Nodes() {
			if got[n] != want[n] {
				t.Fatalf("Find at %s = %v, want %v\n%s\n%v", n.Label(), got[n], want[n], graphText(m.Graph()), patternText(p))
			}
		}
		for _, x := range refused {
			if want[x.Node] {
				t.Fatalf("%s: got refused (%s), want a match", x.Node.Label(), x.Reason)
			}
		}
		matches += len(found)
		if len(p.Outputs) > 1 {
			several += len(found)
		}
	}
	if matches < 2000 || several < 100 {
		t.Errorf("got %d matches, %d of patterns of several outputs: the graphs or patterns are too poor", matches, several)
	}
}

func graphText(g *ir.Graph) string {
	text := ""
	for _, n := range g.Nodes() {
		text += n.Output(0).Name() + " = " + n.Op() + "("
		for _, t := range n.Inputs() {
			text += t.Name() + " "
		}
		text += ")\n"
	}
	for _, t := range g.Outputs() {
		text += "-> " + t.Name() + "\n"
	}
	return text
}

func patternText(p *Pattern) []string {
	var text func(v *PatternValue) string
	text = func(v *PatternValue) string {
		s := v.name
		switch v.kind {
		case anyValue:
			return "_"
		case literalValue:
			return "1"
		case eitherValue:
			s = "Either"
		case outputValue:
			s = v.node.Op
		default:
			return s
		}
		s += fmt.Sprintf("@%p(", v)
		for _, x := range v.alts {
			s += text(x) + "|"
		}
		if v.node != nil {
			for _, x := range v.node.Inputs {
				s += text(x) + ","
			}
		}
		return s + ")"
	}
	var out []string
	for _, v := range p.Outputs {
		out = append(out, text(v))
	}
	return out
}

// double is a pattern and replacement that take two Relus in a row as one.
func double() (*Pattern, func(*Match) ([]*ir.Tensor, error)) {
	return &Pattern{Outputs: []*PatternValue{op("Relu", op("Relu", Param("x")))}}, func(m *Match) ([]*ir.Tensor, error) {
		n := ir.NewNode("Relu", []*ir.Tensor{m.Values["x"]}, []*ir.Tensor{ir.NewTensor(m.Graph.FreshName("r"), nil)})
		m.Graph.AddNode(n)
		return n.Outputs(), nil
	}
}

func relus(n int) *ir.Model {
	m := ir.NewModel("chain", ir.Import{Version: 21})
	t := ir.NewTensor("x", ir.TensorType(array.Float32, ir.Ints(2)))
	m.Graph().SetInputs(t)
	for i := range n {
		out := ir.NewTensor(fmt.Sprintf("r%d", i), nil)
		m.Graph().AddNode(ir.NewNode("Relu", []*ir.Tensor{t}, []*ir.Tensor{out}))
		t = out
	}
	m.Graph().SetOutputs(t)
	return m
}

func TestRewriteTakesMatchesThatDoNotOverlap(t *testing.T) {
	m := relus(7)
	p, replace := double()
	for _, want := range []int{4, 2, 1, 1} {
		before := m.Graph().NumNodes()
		r, err := Rewrite(context.Background(), m.Graph(), p, replace, MatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Graph().NumNodes(); got != want || r.Rewritten != before-want {
			t.Errorf("got %d nodes after %d rewrites, want %d after %d", got, r.Rewritten, want, before-want)
		}
		if err := m.Verify(); err != nil {
			t.Fatal(err)
		}
		if name := m.Graph().Output(0).Name(); name != "r6" {
			t.Errorf("output is named %q, want r6", name)
		}
	}
}

func TestRewriteThatFailsLeavesTheGraph(t *testing.T) {
	m := relus(8)
	want := graphText(m.Graph())
	p, replace := double()
	calls := 0
	stop := errors.New("stop")
	for name, f := range map[string]func(*Match) ([]*ir.Tensor, error){
		"error": func(x *Match) ([]*ir.Tensor, error) {
			if calls++; calls == 3 {
				return nil, stop
			}
			return replace(x)
		},
		"count": func(x *Match) ([]*ir.Tensor, error) { return append(x.Outputs, x.Outputs[0]), nil },
		"cycle": func(x *Match) ([]*ir.Tensor, error) {
			n := ir.NewNode("Neg", x.Outputs, []*ir.Tensor{ir.NewTensor("loop", nil)})
			x.Graph.AddNode(n)
			return n.Outputs(), nil
		},
	} {
		if _, err := Rewrite(context.Background(), m.Graph(), p, f, MatchOptions{}); err == nil {
			t.Errorf("%s: got no error", name)
		}
		if got := graphText(m.Graph()); got != want {
			t.Errorf("%s: the graph is\n%swant\n%s", name, got, want)
		}
		if err := m.Verify(); err != nil {
			t.Error(err)
		}
	}
}

func TestFindTellsWhy(t *testing.T) {
	m := relus(2)
	g := m.Graph()
	p, _ := double()
	inner := g.Node(0).Output(0)
	g.SetOutputs(g.Output(0), inner)
	_, refused, err := Find(context.Background(), g, p, MatchOptions{})
	if err != nil || len(refused) != 1 {
		t.Fatalf("got %v, %v, want one refusal", refused, err)
	}
	want := `tensor "r0", made by node (Relu) that makes "r0" inside the match, is an output of graph "chain"`
	if refused[0].Reason != want {
		t.Errorf("got %s, want %s", refused[0].Reason, want)
	}
}

func TestPatternsThatFitNothing(t *testing.T) {
	x, y := Param("x"), Param("y")
	for want, p := range map[string]*Pattern{
		"pattern: got no output, want what a node makes":                                             {},
		"pattern: output 0: got a value that no node makes, want the output of a node":               {Outputs: []*PatternValue{x}},
		"pattern: output 1: got a part that shares nothing with those before it; match it by itself": {Outputs: []*PatternValue{op("Relu", x), op("Neg", y)}},
		"pattern: output 1: got a value that no node makes, want the output of a node":               {Outputs: []*PatternValue{op("Relu", x), Maybe(op("Neg", x))}},
	} {
		_, _, err := Find(context.Background(), relus(1).Graph(), p, MatchOptions{})
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// someThree is a pattern of up to three nodes.
func someThree() *Pattern {
	return &Pattern{Outputs: []*PatternValue{Maybe(op("Relu", op("Add", op("Neg", Param("x")), Param("b"))))}}
}

func TestFindIsLinear(t *testing.T) {
	took := func(n int) time.Duration {
		m := flatGraph(rand.New(rand.NewPCG(3, 4)), n)
		best := time.Hour
		for range 3 {
			start := time.Now()
			if _, _, err := Find(context.Background(), m.Graph(), someThree(), MatchOptions{}); err != nil {
				t.Fatal(err)
			}
			best = min(best, time.Since(start))
		}
		return best
	}
	small, large := took(10_000), took(100_000)
	if large > 30*small+50*time.Millisecond {
		t.Errorf("10,000 nodes take %v, 100,000 take %v: want about ten times", small, large)
	}
}

func BenchmarkFind100k(b *testing.B) {
	m := flatGraph(rand.New(rand.NewPCG(3, 4)), 100_000)
	for b.Loop() {
		if _, _, err := Find(context.Background(), m.Graph(), someThree(), MatchOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
