package bench

import (
	"testing"
	"time"

	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/surgery"
)

// bulkEdits are edits of every node of a model, as Go calls and as a pass.
var bulkEdits = []struct {
	name string
	do   func(g *ir.Graph)
}{
	{"rename", func(g *ir.Graph) {
		for _, n := range g.Nodes() {
			t := n.Output(0)
			t.SetName(t.Name() + "_")
		}
	}},
	{"rewire", func(g *ir.Graph) {
		x := g.Inputs()[0]
		for _, n := range g.Nodes() {
			t := n.Input(0)
			n.SetInput(0, x)
			n.SetInput(0, t)
		}
	}},
	{"insert", func(g *ir.Graph) {
		for _, n := range g.Nodes() {
			t := n.Output(0)
			y := ir.NewTensor(g.FreshName("y"), t.RecordedType())
			t.ReplaceUses(y)
			g.InsertAfter(n, ir.NewNode("Identity", []*ir.Tensor{t}, []*ir.Tensor{y}))
		}
	}},
	{"pass", func(g *ir.Graph) {
		g.SetOutputs(g.Node(g.NumNodes() / 2).Output(0))
		if _, err := surgery.Cleanup(g, surgery.CleanupOptions{}); err != nil {
			panic(err)
		}
		for range g.Tensors() {
		}
	}},
}

// BenchmarkJournal makes each bulk edit of a chain with the journal off and on,
// in turns, and reports the ratio of the two times. A pass records its own edits
// whatever the model does, so for it that is the cost of keeping them.
func BenchmarkJournal(b *testing.B) {
	path := chain(b, 100_000)
	for _, e := range bulkEdits {
		b.Run(e.name, func(b *testing.B) {
			var took [2]time.Duration
			for i := 0; b.Loop(); i++ {
				for _, on := range []int{i % 2, 1 - i%2} { // the first of two may find a colder cache
					b.StopTimer()
					m := open(b, path)
					m.Record(on == 1)
					m.Graph().NameTaken("") // the index of names is built at the first question
					b.StartTimer()
					start := time.Now()
					if on == 1 {
						m.BeginEntry("edit")
					}
					e.do(m.Graph())
					took[on] += time.Since(start)
				}
			}
			b.ReportMetric(float64(took[1])/float64(took[0]), "on/off")
			b.ReportMetric(0, "ns/op")
		})
	}
}
