package ir

import (
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"testing"
)

// chain returns a model x → Relu → … → Relu of n nodes.
func chain(n int) *Model {
	m := NewModel("chain", Import{Version: 21})
	g := m.Graph()
	x := NewTensor("x", nil)
	g.SetInputs(x)
	for i := range n {
		y := NewTensor(fmt.Sprintf("y%d", i), nil)
		g.AddNode(NewNode("Relu", []*Tensor{x}, []*Tensor{y}))
		x = y
	}
	g.SetOutputs(x)
	return m
}

func names(ts []*Tensor) []string {
	out := make([]string, len(ts))
	for i, t := range ts {
		if out[i] = "-"; t != nil {
			out[i] = t.Name()
		}
	}
	return out
}

func ops(g *Graph) []string {
	var out []string
	for _, n := range g.Nodes() {
		out = append(out, n.Op())
	}
	return out
}

func mustVerify(t *testing.T, m *Model) {
	t.Helper()
	if err := m.Verify(); err != nil {
		t.Fatalf("Verify() = %v", err)
	}
}

func TestEdgesAgreeAtBothEnds(t *testing.T) {
	a, b, y := NewTensor("a", nil), NewTensor("b", nil), NewTensor("y", nil)
	n := NewNode("Add", []*Tensor{a, a, nil, b}, []*Tensor{y})
	if got := a.NumUses(); got != 2 {
		t.Errorf("a.NumUses() = %d, want 2: each slot counts", got)
	}
	if got := len(a.Consumers()); got != 1 {
		t.Errorf("len(a.Consumers()) = %d, want 1", got)
	}
	n.RemoveInput(0)
	if got, want := names(n.Inputs()), []string{"a", "-", "b"}; !slices.Equal(got, want) {
		t.Errorf("inputs = %v, want %v", got, want)
	}
	if got := n.InputUse(2).Index(); got != 2 || n.InputUse(2).Tensor() != b {
		t.Errorf("slot of b = %d, want 2", got)
	}
	for u := range b.Uses() {
		u.Set(nil)
	}
	if got, want := names(n.Inputs()), []string{"a", "-", "-"}; !slices.Equal(got, want) {
		t.Errorf("after unlinking b: inputs = %v, want %v", got, want)
	}
	a.ReplaceUses(b)
	if a.NumUses() != 0 || b.NumUses() != 1 || n.Input(0) != b {
		t.Errorf("after ReplaceUses: a has %d uses, b %d, want 0 and 1", a.NumUses(), b.NumUses())
	}
}

func TestProducerIsUnique(t *testing.T) {
	y := NewTensor("y", nil)
	first := NewNode("A", nil, []*Tensor{y})
	second := NewNode("B", nil, []*Tensor{nil, y})
	if p, i := y.Producer(); p != second || i != 1 {
		t.Errorf("producer = %v slot %d, want the second node, slot 1", p.Op(), i)
	}
	if first.Output(0) != nil || first.NumOutputs() != 1 {
		t.Errorf("the first node keeps %v, want one empty slot", names(first.Outputs()))
	}
}

func TestUseOrderIsEditOrder(t *testing.T) {
	x := NewTensor("x", nil)
	var nodes []*Node
	for i := range 4 {
		nodes = append(nodes, NewNode(fmt.Sprint(i), []*Tensor{x}, nil))
	}
	nodes[1].SetInput(0, nil)
	nodes[1].SetInput(0, x)
	var got []string
	for u := range x.Uses() {
		got = append(got, u.Node().Op())
	}
	if want := []string{"0", "2", "3", "1"}; !slices.Equal(got, want) {
		t.Errorf("uses = %v, want %v", got, want)
	}
}

func TestRemoveRefusesUsedOutputs(t *testing.T) {
	m := chain(3)
	n := m.Graph().Node(1)
	n.SetName("mid")
	err := n.Remove()
	want := `node "mid" (Relu): cannot remove it: output "y1" is used by node (Relu) that makes "y2"`
	if err == nil || err.Error() != want {
		t.Errorf("Remove() = %v, want %s", err, want)
	}
	if err := m.Graph().Node(2).Remove(); err == nil {
		t.Error("Remove() of a node that makes a graph output succeeded")
	}
	n.Output(0).ReplaceUses(n.Input(0))
	if err := n.Remove(); err != nil {
		t.Fatalf("Remove() = %v", err)
	}
	if m.Graph().NumNodes() != 2 || n.Graph() != nil {
		t.Errorf("%d nodes are left, want 2", m.Graph().NumNodes())
	}
	mustVerify(t, m)
}

// TestNodeList drives the chunked list and a plain slice with the same random
// edits.
func TestNodeList(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	g := NewModel("g").Graph()
	var want []*Node
	for step := range 6000 {
		if len(want) == 0 || rng.Intn(3) > 0 {
			n := NewNode(fmt.Sprint(step), nil, nil)
			at := rng.Intn(len(want) + 1)
			if at == len(want) {
				g.AddNode(n)
			} else {
				g.InsertBefore(want[at], n)
			}
			want = slices.Insert(want, at, n)
			continue
		}
		at := rng.Intn(len(want))
		g.RemoveNode(want[at])
		want = slices.Delete(want, at, at+1)
		if step%97 == 0 && len(want) > 0 {
			i := rng.Intn(len(want))
			if got := g.IndexOf(want[i]); got != i {
				t.Fatalf("step %d: IndexOf = %d, want %d", step, got, i)
			}
			if g.Node(i) != want[i] {
				t.Fatalf("step %d: Node(%d) is another node", step, i)
			}
		}
	}
	if !slices.Equal(g.Nodes(), want) {
		t.Fatal("the node list differs from the slice")
	}
}

func TestNodesSnapshotSurvivesEdits(t *testing.T) {
	m := chain(5)
	seen := 0
	for _, n := range m.Graph().Nodes() {
		seen++
		n.Output(0).ReplaceUses(n.Input(0))
		if err := n.Remove(); err != nil {
			t.Fatal(err)
		}
	}
	if seen != 5 || m.Graph().NumNodes() != 0 || m.Graph().Output(0).Name() != "x" {
		t.Errorf("saw %d nodes, left %d, output %q", seen, m.Graph().NumNodes(), m.Graph().Output(0).Name())
	}
	mustVerify(t, m)
}

func TestAtomicTakesEverythingBack(t *testing.T) {
	m := chain(4)
	g := m.Graph()
	before := dump(m)
	boom := errors.New("boom")
	err := m.Atomic(func() error {
		g.Node(1).SetOp("Neg")
		g.Node(1).SetName("renamed")
		g.Node(2).InsertInput(0, g.Node(0).Output(0))
		g.Node(2).RemoveInput(1)
		extra := NewNode("Exp", []*Tensor{g.Node(3).Output(0)}, []*Tensor{NewTensor("z", nil)}, NewAttr("k", 1))
		g.AddNode(extra)
		g.SetOutputs(extra.Output(0), g.Node(0).Output(0))
		g.SetInputs()
		g.Node(0).Discard()
		m.SetOpset("com.acme", 3)
		g.Reorder([]*Node{g.Node(2), g.Node(1), g.Node(0), g.Node(3)})
		return boom
	})
	if err != boom {
		t.Fatalf("Atomic() = %v, want boom", err)
	}
	if after := dump(m); after != before {
		t.Errorf("after the rollback:\n%s\nwant:\n%s", after, before)
	}
	mustVerify(t, m)
	if err := m.Atomic(func() error { g.Node(1).SetOp("Neg"); return nil }); err != nil || g.Node(1).Op() != "Neg" {
		t.Errorf("a transaction that succeeds must keep its edits: %v", err)
	}
}

func TestAtomicTakesBackOnPanic(t *testing.T) {
	m := chain(2)
	before := dump(m)
	func() {
		defer func() { _ = recover() }()
		_ = m.Atomic(func() error { m.Graph().Node(0).SetOp("Neg"); panic("bug") })
	}()
	if after := dump(m); after != before {
		t.Errorf("after a panic:\n%s\nwant:\n%s", after, before)
	}
}

func dump(m *Model) string {
	s := fmt.Sprint(m.Imports())
	for _, g := range m.Graphs() {
		s += fmt.Sprintf("\n%s %v -> %v %v", g.Path(), names(g.Inputs()), names(g.Outputs()), names(g.Initializers()))
		for _, n := range g.Nodes() {
			s += fmt.Sprintf("\n  %s %q %v -> %v", n.Op(), n.Name(), names(n.Inputs()), names(n.Outputs()))
		}
	}
	return s
}

func TestSortIsStable(t *testing.T) {
	m := chain(6)
	g := m.Graph()
	if changed, err := g.Sort(true); changed || err != nil {
		t.Errorf("Sort of a sorted graph = %v, %v, want no change", changed, err)
	}
	order := slices.Clone(g.Nodes())
	moved := slices.Clone(order)
	moved[1], moved[4] = moved[4], moved[1]
	g.Reorder(moved)
	if changed, err := g.Sort(true); !changed || err != nil {
		t.Fatalf("Sort = %v, %v, want a change", changed, err)
	}
	if !slices.Equal(g.Nodes(), order) {
		t.Error("the order is not restored")
	}
}

func TestSortDeepReversed(t *testing.T) {
	m := chain(100_000)
	g := m.Graph()
	order := slices.Clone(g.Nodes())
	slices.Reverse(order)
	g.Reorder(order)
	if _, err := g.Sort(true); err != nil {
		t.Fatal(err)
	}
	if !g.InOrder() {
		t.Error("the graph is not in order")
	}
}

func TestSortNamesCycle(t *testing.T) {
	m := chain(3)
	g := m.Graph()
	g.Node(0).SetInput(0, g.Node(2).Output(0))
	_, err := g.Sort(true)
	var cycle *CycleError
	if !errors.As(err, &cycle) || len(cycle.Nodes) != 3 {
		t.Fatalf("Sort = %v, want a cycle of 3 nodes", err)
	}
}

// withBody returns x → If(cond){Neg(x) of the outer graph} → y.
func withBody() (m *Model, x *Tensor, inner *Node) {
	m = NewModel("outer", Import{Version: 21})
	g := m.Graph()
	cond := NewTensor("cond", nil)
	x = NewTensor("x", nil)
	g.SetInputs(cond, x)
	body := NewGraph("then")
	inner = NewNode("Neg", []*Tensor{x}, []*Tensor{NewTensor("r", nil)})
	body.AddNode(inner)
	body.SetOutputs(inner.Output(0))
	y := NewTensor("y", nil)
	g.AddNode(NewNode("If", []*Tensor{cond}, []*Tensor{y}, NewAttr("then_branch", body)))
	g.SetOutputs(y)
	return m, x, inner
}

func TestCapturesAreUses(t *testing.T) {
	m, x, inner := withBody()
	if cs := x.Consumers(); len(cs) != 1 || cs[0] != inner {
		t.Errorf("consumers of x = %d, want the node in the body", len(cs))
	}
	if got := names(m.Graph().Node(0).Captures()); !slices.Equal(got, []string{"x"}) {
		t.Errorf("captures = %v, want [x]", got)
	}
	mustVerify(t, m)
	if got, want := inner.Path(), `node (If) that makes "y" / then_branch / node (Neg) that makes "r"`; got != want {
		t.Errorf("Path() = %s, want %s", got, want)
	}
	// a node that makes the captured value must come before the If
	g := m.Graph()
	p := NewNode("Relu", []*Tensor{g.Inputs()[0]}, []*Tensor{NewTensor("p", nil)})
	g.AddNode(p)
	x.ReplaceUses(p.Output(0))
	if _, err := g.Sort(true); err != nil {
		t.Fatal(err)
	}
	if got := ops(g); !slices.Equal(got, []string{"Relu", "If"}) {
		t.Errorf("order = %v, want the producer of the capture first", got)
	}
}

func TestCopyIsIndependent(t *testing.T) {
	m, x, _ := withBody()
	before := dump(m)
	c := m.Copy()
	if got := dump(c); got != before {
		t.Errorf("copy = %s, want %s", got, before)
	}
	mustVerify(t, c)
	c.Graph().Node(0).Bodies()[0].Node(0).SetOp("Exp")
	c.Graph().SetInputs()
	if dump(m) != before || x.NumUses() != 1 {
		t.Error("editing the copy changed the original")
	}
	mustVerify(t, m)
}

func TestFreshNames(t *testing.T) {
	m, _, inner := withBody()
	g := m.Graph()
	inner.Output(0).SetName("w_1")
	for _, want := range []string{"w_0", "w_2", "w_3"} {
		if got := g.FreshName("w"); got != want {
			t.Errorf("FreshName = %s, want %s", got, want)
		}
	}
	if got := g.FreshNodeName("Relu"); got != "Relu_0" {
		t.Errorf("FreshNodeName = %s, want Relu_0", got)
	}
}

func TestVerifyFindsInvisibleValues(t *testing.T) {
	m, _, inner := withBody()
	g := m.Graph()
	g.AddNode(NewNode("Abs", []*Tensor{inner.Output(0)}, []*Tensor{NewTensor("q", nil)}))
	if err := m.Verify(); err == nil {
		t.Error("Verify() = nil for a use of a body's value outside the body")
	}
}

func TestInitializersKeepOrder(t *testing.T) {
	m := NewModel("g")
	g := m.Graph()
	var ts []*Tensor
	for i := range 10 {
		c := NewTensor(fmt.Sprint(i), nil)
		c.SetLiteral(&Literal{})
		g.AddInitializer(c)
		ts = append(ts, c)
	}
	for _, i := range []int{0, 3, 4, 5, 8, 9, 1} {
		g.RemoveInitializer(ts[i])
	}
	if got := names(g.Initializers()); !slices.Equal(got, []string{"2", "6", "7"}) {
		t.Errorf("initializers = %v, want [2 6 7]", got)
	}
	ts[6].SetLiteral(nil)
	if got := names(g.Initializers()); !slices.Equal(got, []string{"2", "7"}) {
		t.Errorf("after 6 became a variable: %v, want [2 7]", got)
	}
}

func BenchmarkSetInput(b *testing.B) {
	m := chain(100_000)
	g := m.Graph()
	nodes := g.Nodes()
	x := g.Inputs()[0]
	for i := 0; b.Loop(); i++ {
		nodes[i%len(nodes)].SetInput(0, x)
	}
}

func BenchmarkInsertAtRandomNode(b *testing.B) {
	g := chain(1_000_000).Graph()
	nodes := slices.Clone(g.Nodes())
	rng := rand.New(rand.NewSource(1))
	for b.Loop() {
		g.InsertBefore(nodes[rng.Intn(len(nodes))], NewNode("Relu", nil, nil))
	}
}
