package onnx

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
)

// editor makes random edits of a model: of every kind that package ir knows,
// sensible or not.
type editor struct {
	rng *rand.Rand
	m   *ir.Model
	n   int // names made up
}

func newEditor(seed uint64) *editor {
	m := ir.NewModel("m", ir.Import{Version: 21})
	e := &editor{rng: rand.New(rand.NewPCG(seed, 7)), m: m}
	m.Graph().SetInputs(e.fresh(), e.fresh())
	f := ir.NewFunction("local", "F", "", ir.Import{Version: 21})
	m.SetFunctions([]*ir.Function{f})
	f.Body().SetInputs(ir.NewTensor("a", nil))
	return e
}

func pick[T any](e *editor, s []T) (v T) {
	if len(s) > 0 {
		v = s[e.rng.IntN(len(s))]
	}
	return v
}

func (e *editor) name() string {
	e.n++
	return pick(e, []string{"x", "y", "é ä", "a/b:0"}) + fmt.Sprint(e.rng.IntN(e.n))
}

func (e *editor) typ() *ir.Type {
	return pick(e, []*ir.Type{nil, ir.TensorType(array.Float32, ir.Shape{ir.Sym("N"), ir.Num(3)}), ir.TensorType(array.Int64, nil)})
}

func (e *editor) fresh() *ir.Tensor {
	if e.rng.IntN(4) == 0 {
		return ir.NewConstant(e.name(), array.Scalar(float32(e.n)))
	}
	return ir.NewTensor(e.name(), e.typ())
}

func (e *editor) graph() *ir.Graph { return pick(e, e.m.Graphs()) }

func (e *editor) node() *ir.Node { return pick(e, e.graph().Nodes()) }

// visible returns a tensor that g may read: of its own, around it, or a new one.
func (e *editor) visible(g *ir.Graph) *ir.Tensor {
	var all []*ir.Tensor
	for h := g; h != nil; h = h.Parent() {
		all = append(all, h.Tensors()...)
	}
	if len(all) == 0 || e.rng.IntN(8) == 0 {
		return e.fresh()
	}
	return pick(e, all)
}

// own returns a tensor that a node of g may make.
func (e *editor) own(g *ir.Graph) *ir.Tensor {
	if t := pick(e, g.Tensors()); t != nil && !t.IsConstant() && e.rng.IntN(4) == 0 {
		return t
	}
	return ir.NewTensor(e.name(), e.typ())
}

func (e *editor) newNode(g *ir.Graph) *ir.Node {
	ins := make([]*ir.Tensor, e.rng.IntN(4))
	for i := range ins {
		if e.rng.IntN(6) > 0 {
			ins[i] = e.visible(g)
		}
	}
	outs := []*ir.Tensor{e.own(g)}
	if e.rng.IntN(4) == 0 {
		outs = append(outs, nil, e.own(g))
	}
	if len(outs) == 3 && outs[0] == outs[2] {
		outs = outs[:1]
	}
	n := ir.NewNode(pick(e, []string{"Relu", "Add", "If", "Loop"}), ins, outs, ir.NewAttr("axis", e.rng.IntN(3)))
	n.SetName(e.name())
	return n
}

func (e *editor) body() *ir.Graph {
	b := ir.NewGraph(e.name())
	b.SetInputs(ir.NewTensor(e.name(), nil))
	b.SetOutputs(b.Inputs()[0])
	return b
}

// edit is a kind of edit; its name is for the messages of a failing test.
type edit struct {
	name string
	do   func(*editor)
}

var edits []edit

func init() { edits = append(plainEdits, edit{"fail at once", failing}) } // in two, since failing makes edits

// failing makes edits that are taken back at once.
func failing(e *editor) {
	_ = e.m.Atomic(func() error {
		for range 3 {
			plainEdits[e.rng.IntN(len(plainEdits))].do(e)
		}
		return os.ErrInvalid
	})
}

var plainEdits = []edit{
	{"add a node", func(e *editor) { g := e.graph(); g.AddNode(e.newNode(g)) }},
	{"insert a node", func(e *editor) { g := e.graph(); g.InsertBefore(pick(e, g.Nodes()), e.newNode(g)) }},
	{"move a node", func(e *editor) { g := e.graph(); move(g, pick(e, g.Nodes()), pick(e, g.Nodes())) }},
	{"discard a node", func(e *editor) { ifNode(e.node(), (*ir.Node).Discard) }},
	{"remove a node", func(e *editor) { ifNode(e.node(), func(n *ir.Node) { _ = n.Remove() }) }},
	{"set an input", func(e *editor) { atInput(e, func(n *ir.Node, i int) { n.SetInput(i, e.visible(n.Graph())) }) }},
	{"empty an input", func(e *editor) { atInput(e, func(n *ir.Node, i int) { n.SetInput(i, nil) }) }},
	{"insert an input", func(e *editor) {
		atInput(e, func(n *ir.Node, i int) { n.InsertInput(i, e.visible(n.Graph())) })
	}},
	{"remove an input", func(e *editor) { atInput(e, (*ir.Node).RemoveInput) }},
	{"set an output", func(e *editor) { atOutput(e, func(n *ir.Node, i int) { n.SetOutput(i, e.own(n.Graph())) }) }},
	{"empty an output", func(e *editor) { atOutput(e, func(n *ir.Node, i int) { n.SetOutput(i, nil) }) }},
	{"insert an output", func(e *editor) { atOutput(e, func(n *ir.Node, i int) { n.InsertOutput(i, e.own(n.Graph())) }) }},
	{"remove an output", func(e *editor) { atOutput(e, (*ir.Node).RemoveOutput) }},
	{"replace uses", func(e *editor) {
		g := e.graph()
		if t, by := pick(e, g.Tensors()), pick(e, g.Tensors()); t != nil {
			t.ReplaceUses(by)
		}
	}},
	{"rename", func(e *editor) { ifTensor(e, func(t *ir.Tensor) { t.SetName(e.name()) }) }},
	{"rename a node", func(e *editor) { ifNode(e.node(), func(n *ir.Node) { n.SetName(e.name()) }) }},
	{"set a type", func(e *editor) { ifTensor(e, func(t *ir.Tensor) { t.SetType(e.typ()) }) }},
	{"set a doc", func(e *editor) { ifTensor(e, func(t *ir.Tensor) { t.SetDoc(e.name()) }) }},
	{"set metadata", func(e *editor) {
		ifNode(e.node(), func(n *ir.Node) { n.SetMetadata([]ir.Prop{{Key: e.name(), Value: "v"}}) })
	}},
	{"set an operator", func(e *editor) { ifNode(e.node(), func(n *ir.Node) { n.SetOp(e.name()); n.SetDomain("local") }) }},
	{"set an attribute", func(e *editor) { ifNode(e.node(), func(n *ir.Node) { n.SetAttr(ir.NewAttr(e.name(), e.name())) }) }},
	{"drop an attribute", func(e *editor) {
		ifNode(e.node(), func(n *ir.Node) {
			if a := pick(e, n.Attrs()); a != nil && len(a.Graphs()) == 0 {
				n.DelAttr(a.Name)
			}
		})
	}},
	{"give a body", func(e *editor) {
		ifNode(e.node(), func(n *ir.Node) {
			if len(e.m.Graphs()) < 8 {
				n.SetAttr(ir.NewAttr(fmt.Sprint("body", len(n.Attrs())), e.body()))
			}
		})
	}},
	{"set graph inputs", func(e *editor) {
		g := e.graph()
		ts := g.Inputs()
		if len(ts) > 1 && e.rng.IntN(2) == 0 {
			g.SetInputs(ts[1:]...)
		} else {
			g.SetInputs(append(ts, ir.NewTensor(e.name(), e.typ()))...)
		}
	}},
	{"set graph outputs", func(e *editor) {
		g := e.graph()
		if ts := g.Outputs(); len(ts) > 1 && e.rng.IntN(2) == 0 {
			g.SetOutputs(ts[1:]...)
		} else if t := pick(e, g.Tensors()); t != nil {
			g.SetOutputs(append(ts, t)...)
		}
	}},
	{"add an initializer", func(e *editor) { e.graph().AddInitializer(ir.NewConstant(e.name(), array.Scalar(int64(e.n)))) }},
	{"change a value", func(e *editor) {
		ifTensor(e, func(t *ir.Tensor) {
			if t.IsConstant() {
				t.SetArray(array.Scalar(int64(e.n)))
			}
		})
	}},
	{"sort", func(e *editor) { _, _ = e.graph().Sort(true) }},
	{"rename the graph", func(e *editor) { e.graph().SetName(e.name()) }},
	{"set an opset", func(e *editor) { e.m.SetOpset("local", 1+e.rng.IntN(3)) }},
}

func ifNode(n *ir.Node, f func(*ir.Node)) {
	if n != nil {
		f(n)
	}
}

func ifTensor(e *editor, f func(*ir.Tensor)) {
	if t := pick(e, e.graph().Tensors()); t != nil {
		f(t)
	}
}

func atInput(e *editor, f func(*ir.Node, int)) {
	if n := e.node(); n != nil && n.NumInputs() > 0 {
		f(n, e.rng.IntN(n.NumInputs()))
	}
}

func atOutput(e *editor, f func(*ir.Node, int)) {
	if n := e.node(); n != nil && n.NumOutputs() > 0 {
		f(n, e.rng.IntN(n.NumOutputs()))
	}
}

func move(g *ir.Graph, mark, n *ir.Node) {
	if n != nil {
		g.InsertBefore(mark, n)
	}
}

// state is the model as a file, or why it can be none, and its edges.
func state(m *ir.Model) string {
	data, err := Marshal(m)
	return fmt.Sprintf("%x %v\n%s", data, err, edges(m))
}

// edges lists the uses of every tensor in the order of its list.
func edges(m *ir.Model) string {
	var b strings.Builder
	for _, g := range m.Graphs() {
		for _, t := range g.Tensors() {
			fmt.Fprintf(&b, "%s %q:", g.Path(), t.Name())
			for u := range t.Uses() {
				if u.Node() != nil {
					fmt.Fprintf(&b, " %s[%d]", u.Node().Path(), u.Index())
				} else {
					fmt.Fprintf(&b, " %s[%d]", u.Graph().Path(), u.Index())
				}
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// rebuilt compares the use lists with what the slots of all nodes and graphs say.
func rebuilt(m *ir.Model) error {
	type slot struct {
		node  *ir.Node
		graph *ir.Graph
		index int
	}
	want := map[*ir.Tensor]map[slot]bool{}
	note := func(t *ir.Tensor, s slot) {
		if t != nil && want[t] == nil {
			want[t] = map[slot]bool{}
		}
		if t != nil {
			want[t][s] = true
		}
	}
	for _, g := range m.Graphs() {
		for i, t := range g.Outputs() {
			note(t, slot{graph: g, index: i})
		}
		for _, n := range g.Nodes() {
			for i, t := range n.Inputs() {
				note(t, slot{node: n, index: i})
			}
		}
	}
	for _, g := range m.Graphs() {
		for _, t := range g.Tensors() {
			var users []*ir.Node
			for u := range t.Uses() {
				s := slot{u.Node(), u.Graph(), u.Index()}
				if n := u.Node(); n != nil && n.Graph() == nil {
					return fmt.Errorf("%q is used by %s, which is in no graph", t.Name(), n.Label())
				}
				if !want[t][s] {
					return fmt.Errorf("%q has a use that stands at no slot", t.Name())
				}
				delete(want[t], s)
				if u.Node() != nil && !slices.Contains(users, u.Node()) {
					users = append(users, u.Node())
				}
			}
			if !slices.Equal(users, t.Consumers()) {
				return fmt.Errorf("%q: consumers differ from those of its uses", t.Name())
			}
		}
	}
	for t, left := range want {
		if len(left) > 0 {
			return fmt.Errorf("%q lacks %d of its uses", t.Name(), len(left))
		}
	}
	return nil
}

// TestRandomEdits makes random edits. After each both ends of every edge agree;
// and going back, by undo or by a rollback to a checkpoint, gives the bytes and
// the edges that were there, from where the edits go on.
func TestRandomEdits(t *testing.T) {
	for seed := range uint64(60) {
		e := newEditor(seed)
		var past []string // the state before each entry
		var done []string
		type point struct {
			c ir.Checkpoint
			n int
		}
		var points []point
		for range 120 {
			now := state(e.m)
			switch k := e.rng.IntN(20); {
			case k == 0 && len(past) > 0:
				n := 1 + e.rng.IntN(len(past))
				if got, err := e.m.Undo(n); got != n || err != nil {
					t.Fatalf("seed %d: undo(%d) = %d, %v, want %d after %q", seed, n, got, err, n, done)
				}
				past, now = past[:len(past)-n], past[len(past)-n]
				for len(points) > 0 && points[len(points)-1].n > len(past) {
					points = points[:len(points)-1]
				}
			case k == 1:
				points = append(points, point{e.m.Checkpoint(), len(past)})
			case k == 2 && len(points) > 0:
				i := e.rng.IntN(len(points))
				p := points[i]
				if err := e.m.Rollback(p.c); err != nil {
					t.Fatalf("seed %d: rollback: %v after %q", seed, err, done)
				}
				points = points[:i+1]
				if p.n < len(past) {
					now = past[p.n]
				}
				past = past[:p.n]
			default:
				edit := edits[e.rng.IntN(len(edits))]
				e.m.BeginEntry(edit.name)
				edit.do(e)
				done = append(done, edit.name)
				if after := state(e.m); len(e.m.History()) > len(past) {
					past = append(past, now)
				} else if after != now {
					t.Fatalf("seed %d: %q left no entry but changed the model", seed, edit.name)
				}
				now = state(e.m)
			}
			if got := state(e.m); got != now {
				t.Fatalf("seed %d: going back gives another model:\ngot  %.3000s\nwant %.3000s\nafter %q", seed, got, now, done)
			}
			if err := rebuilt(e.m); err != nil {
				t.Fatalf("seed %d: %v after %q", seed, err, done)
			}
		}
	}
}

// TestNamesPermuted gives the tensors of each graph one another's names, and its
// nodes theirs, and takes that back: meanwhile the model is sound, and as many
// values and edges as before come back from its bytes; then it has the bytes
// that it had.
func TestNamesPermuted(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	n := 0
	for _, path := range models(t) {
		m := mustOpen(t, path)
		before, err := Marshal(m)
		if err != nil {
			continue // TestRoundTrip says why
		}
		n++
		back := permute(m, rng)
		data, err := Marshal(m)
		if err != nil {
			t.Fatalf("%s: with permuted names: %v", path, err)
		}
		permuted, err := Read(data)
		if err != nil {
			t.Fatalf("%s: with permuted names: %v", path, err)
		}
		if got, want := wiring(permuted), wiring(m); got != want {
			t.Errorf("%s: with permuted names: got other edges", path)
		}
		back()
		if after, err := Marshal(m); err != nil || !bytes.Equal(after, before) {
			t.Errorf("%s: names permuted and given back: got other bytes (%v)", path, err)
		}
	}
	t.Logf("%d models", n)
}

// permute shuffles the names in each graph and returns what takes that back.
func permute(m *ir.Model, rng *rand.Rand) (back func()) {
	var undo []func()
	for _, g := range m.Graphs() {
		shuffleNames(rng, g.Tensors(), &undo)
		shuffleNames(rng, g.Nodes(), &undo)
	}
	return func() {
		for _, f := range undo {
			f()
		}
	}
}

func shuffleNames[T interface {
	Name() string
	SetName(string)
}](rng *rand.Rand, named []T, undo *[]func()) {
	names := make([]string, len(named))
	for i, x := range named {
		names[i] = x.Name()
		*undo = append(*undo, func() { x.SetName(names[i]) })
	}
	for i, k := range rng.Perm(len(named)) {
		if names[i] != "" && names[k] != "" {
			named[i].SetName(names[k])
		}
	}
}

// wiring lists the edges without names: tensors are numbered as they come.
func wiring(m *ir.Model) string {
	var b strings.Builder
	number := map[*ir.Tensor]int{}
	for _, g := range m.Graphs() {
		for _, t := range g.Tensors() {
			number[t] = len(number) + 1
		}
	}
	for _, g := range m.Graphs() {
		fmt.Fprintln(&b, "graph", len(g.Inputs()), len(g.Initializers()))
		for _, n := range g.Nodes() {
			b.WriteString(n.Op())
			for _, t := range n.Inputs() {
				fmt.Fprint(&b, " ", number[t])
			}
			for _, t := range n.Outputs() {
				fmt.Fprint(&b, " → ", number[t])
			}
			b.WriteByte('\n')
		}
		for _, t := range g.Outputs() {
			fmt.Fprint(&b, " ", number[t])
		}
	}
	return b.String()
}

// models lists the models of the corpus that are not of great size.
func models(t *testing.T) (paths []string) {
	err := filepath.WalkDir(corpus(t), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".onnx") {
			return err
		}
		if info, err := d.Info(); err == nil && info.Size() < 8<<20 {
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}
