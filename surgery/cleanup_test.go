package surgery

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
)

// randomGraph fills g with n nodes that read what is visible and some of which
// have bodies.
func randomGraph(rng *rand.Rand, g *ir.Graph, n, depth int) {
	visible := func() *ir.Tensor {
		var all []*ir.Tensor
		for h := g; h != nil; h = h.Parent() {
			all = append(all, h.Tensors()...)
		}
		if len(all) == 0 {
			return nil
		}
		return all[rng.IntN(len(all))]
	}
	g.SetInputs(ir.NewTensor("in0", nil), ir.NewTensor("in1", nil))
	g.AddInitializer(ir.NewConstant("w0", array.Scalar(float32(1))))
	g.AddInitializer(ir.NewConstant("w1", array.Scalar(float32(2))))
	for i := range n {
		outs := []*ir.Tensor{ir.NewTensor(fmt.Sprintf("t%d", i), nil)}
		if rng.IntN(3) == 0 {
			outs = append(outs, ir.NewTensor(fmt.Sprintf("u%d", i), nil))
		}
		node := ir.NewNode("Op", []*ir.Tensor{visible(), nil, visible()}, nil)
		g.AddNode(node)
		if depth > 0 && rng.IntN(4) == 0 {
			body := ir.NewGraph("body")
			node.SetAttr(ir.NewAttr("body", body))
			randomGraph(rng, body, 1+rng.IntN(6), depth-1)
		}
		node.SetOutputs(outs...) // the body can't read them
	}
	outs := []*ir.Tensor{visible()}
	if rng.IntN(2) == 0 {
		outs = append(outs, visible())
	}
	g.SetOutputs(outs...)
}

// needed returns the nodes that stay, by striking out, one at a time until none
// is left to strike, a node none of whose outputs is an output of its graph or
// read by a node that stays or from a body of one.
func needed(m *ir.Model) map[*ir.Node]bool {
	keep := map[*ir.Node]bool{}
	for _, g := range m.Graphs() {
		for _, n := range g.Nodes() {
			keep[n] = true
		}
	}
	alive := func(g *ir.Graph) bool { // with all nodes around it
		for o := g.Owner(); o != nil; o = o.Graph().Owner() {
			if !keep[o] {
				return false
			}
		}
		return true
	}
	read := func(t *ir.Tensor) bool {
		for _, g := range m.Graphs() {
			if !alive(g) {
				continue
			}
			if slices.Contains(g.Outputs(), t) {
				return true
			}
			for _, n := range g.Nodes() {
				if keep[n] && slices.Contains(n.Inputs(), t) {
					return true
				}
			}
		}
		return false
	}
	for again := true; again; {
		again = false
		for n := range keep {
			if keep[n] && (!alive(n.Graph()) || !slices.ContainsFunc(n.Outputs(), read)) {
				keep[n], again = false, true
			}
		}
	}
	return keep
}

// TestCleanupIsReachability holds Cleanup of random graphs, nested ones too,
// against striking out what nobody reads.
func TestCleanupIsReachability(t *testing.T) {
	for seed := range uint64(300) {
		checkCleanup(t, seed, uint8(seed%14))
	}
}

// FuzzCleanup does so for graphs of any seed and size, and sorts them after their
// nodes were shuffled.
func FuzzCleanup(f *testing.F) {
	f.Add(uint64(1), uint8(5))
	f.Add(uint64(7), uint8(14))
	f.Fuzz(func(t *testing.T, seed uint64, size uint8) {
		checkCleanup(t, seed, size%24)
		checkSort(t, seed, size%24)
	})
}

func randomModel(seed uint64, size uint8) *ir.Model {
	m := ir.NewModel("m", ir.Import{Version: 21})
	randomGraph(rand.New(rand.NewPCG(seed, 1)), m.Graph(), 1+int(size), 2)
	return m
}

func checkCleanup(t *testing.T, seed uint64, size uint8) {
	t.Helper()
	m := randomModel(seed, size)
	want := needed(m)
	nodes := map[*ir.Node]bool{}
	if _, err := Cleanup(m.Graph(), CleanupOptions{}); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if err := m.Verify(); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	for _, g := range m.Graphs() {
		for _, n := range g.Nodes() {
			nodes[n] = true
		}
		for _, w := range g.Initializers() {
			if w.NumUses() == 0 {
				t.Errorf("seed %d: initializer %q is left and nobody reads it", seed, w.Name())
			}
		}
	}
	for n, stays := range want {
		if nodes[n] != stays {
			t.Errorf("seed %d: %s stays: got %v, want %v", seed, n.Label(), nodes[n], stays)
		}
	}
	if changed, err := Cleanup(m.Graph(), CleanupOptions{}); changed || err != nil {
		t.Errorf("seed %d: again: got %v, %v, want no change", seed, changed, err)
	}
}

// checkSort shuffles the nodes of every graph and sorts them: the same nodes come
// back, each after what it reads.
func checkSort(t *testing.T, seed uint64, size uint8) {
	t.Helper()
	m := randomModel(seed, size)
	rng := rand.New(rand.NewPCG(seed, 2))
	for _, g := range m.Graphs() {
		nodes := slices.Clone(g.Nodes())
		rng.Shuffle(len(nodes), func(i, k int) { nodes[i], nodes[k] = nodes[k], nodes[i] })
		g.Reorder(nodes)
	}
	before := m.Graph().NumNodes()
	if _, err := m.Graph().Sort(true); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	for _, g := range m.Graphs() {
		for i, n := range g.Nodes() {
			for _, x := range append(n.Inputs(), n.Captures()...) {
				if x == nil {
					continue
				}
				if p, _ := x.Producer(); p != nil && p.Graph() == g && g.IndexOf(p) >= i {
					t.Errorf("seed %d: %s stands before %s, which it reads", seed, n.Label(), p.Label())
				}
			}
		}
	}
	if m.Graph().NumNodes() != before {
		t.Errorf("seed %d: sorted %d nodes, want the %d that there were", seed, m.Graph().NumNodes(), before)
	}
	if changed, err := m.Graph().Sort(true); changed || err != nil {
		t.Errorf("seed %d: sorted again: got %v, %v, want no change", seed, changed, err)
	}
}
