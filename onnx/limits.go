package onnx

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/starlarkgs/starlarkgs/ir"
)

// Limits bounds what a file may make the reader do. A field that is 0 has its
// default. A model that reaches no limit is read as if there were none.
type Limits struct {
	FileSize   int64 // bytes of the file; by default any
	String     int64 // bytes of one string, at least 1 KiB; by default 1 GiB
	Depth      int   // messages within messages; by default 100
	Bodies     int   // graphs within nodes within graphs; by default 32
	Calls      int   // functions that call functions; by default 100
	Nodes      int   // in all graphs and functions; by default 50 million
	Attributes int   // of all nodes; by default 200 million
	Functions  int   // by default 1 million
}

var defaultLimits = Limits{FileSize: 1<<63 - 1, String: 1 << 30, Depth: 100, Bodies: 32, Calls: 100, Nodes: 50e6, Attributes: 200e6, Functions: 1e6}

// withDefaults returns the limits with 0 replaced.
func (l Limits) withDefaults() Limits {
	d := defaultLimits
	for _, f := range []struct{ v, dflt *int64 }{{&l.FileSize, &d.FileSize}, {&l.String, &d.String}} {
		if *f.v == 0 {
			*f.v = *f.dflt
		}
	}
	for _, f := range []struct{ v, dflt *int }{{&l.Depth, &d.Depth}, {&l.Bodies, &d.Bodies}, {&l.Calls, &d.Calls},
		{&l.Nodes, &d.Nodes}, {&l.Attributes, &d.Attributes}, {&l.Functions, &d.Functions}} {
		if *f.v == 0 {
			*f.v = *f.dflt
		}
	}
	return l
}

// over is the fault of a limit that is passed, with the name of the limit.
func over(limit, what string, max any) error {
	return faultf(ErrLimit, "got more %s than %d (limits: %q)", what, max, limit)
}

// counter counts what a model has against the limits.
type counter struct {
	limits                       Limits
	nodes, attributes, functions int
}

func (c *counter) node(n int) error {
	if c.nodes += n; c.nodes > c.limits.Nodes {
		return over("nodes", "nodes", c.limits.Nodes)
	}
	return nil
}

func (c *counter) attrs(n int) error {
	if c.attributes += n; c.attributes > c.limits.Attributes {
		return over("attributes", "attributes", c.limits.Attributes)
	}
	return nil
}

func (c *counter) function(n int) error {
	if c.functions += n; c.functions > c.limits.Functions {
		return over("functions", "functions", c.limits.Functions)
	}
	return nil
}

// field counts a field of a message that the walk goes through, before anything
// is made of it.
func (c *counter) field(m *message, num protowire.Number) error {
	switch m.fields[num].msg {
	case nodeMsg:
		return c.node(1)
	case attrMsg:
		return c.attrs(1)
	case functionMsg:
		return c.function(1)
	}
	return nil
}

// checkCalls refuses functions that call themselves, through others and through
// bodies too, and chains of calls that are too long. Each function is looked at
// once, and nothing here recurses over the file's structure.
func checkCalls(m *ir.Model, longest int) error {
	v := &callVisitor{functions: map[[3]string]*ir.Function{}, depth: map[*ir.Function]int{}}
	for _, f := range m.Functions() {
		v.functions[callKey(f.Domain(), f.Name(), f.Overload())] = f
	}
	for _, f := range m.Functions() {
		if err := v.visit(f, longest); err != nil {
			return err
		}
	}
	return nil
}

type callVisitor struct {
	functions map[[3]string]*ir.Function
	depth     map[*ir.Function]int // calls below a function; -1 while it is being looked at
	stack     []callFrame
}

// callKey is what a node and the function that it calls have in common.
func callKey(domain, name, overload string) [3]string {
	if ir.IsStandard(domain) {
		domain = ""
	}
	return [3]string{domain, name, overload}
}

// callFrame is a function that is being looked at.
type callFrame struct {
	f     *ir.Function
	calls []*ir.Function
	next  int
}

func (v *callVisitor) enter(f *ir.Function) {
	v.depth[f] = -1
	v.stack = append(v.stack, callFrame{f: f, calls: v.callees(f)})
}

func (v *callVisitor) visit(f *ir.Function, longest int) error {
	if _, done := v.depth[f]; done {
		return nil
	}
	v.enter(f)
	for len(v.stack) > 0 {
		top := &v.stack[len(v.stack)-1]
		if top.next < len(top.calls) {
			callee := top.calls[top.next]
			top.next++
			d, seen := v.depth[callee]
			if seen && d < 0 {
				return v.cycle(callee)
			}
			if !seen {
				v.enter(callee)
			}
			continue
		}
		d := 0
		for _, c := range top.calls {
			d = max(d, v.depth[c]+1)
		}
		if v.depth[top.f] = d; d > longest {
			return at("functions", over("calls", "functions that call one another", longest))
		}
		v.stack = v.stack[:len(v.stack)-1]
	}
	return nil
}

// cycle names the functions of a ring of calls.
func (v *callVisitor) cycle(first *ir.Function) error {
	var keys []string
	for _, fr := range v.stack {
		if fr.f == first || len(keys) > 0 {
			keys = append(keys, fmt.Sprintf("%q", fr.f.Key()))
		}
	}
	return at("functions", faultf(ErrInvalid, "the functions call themselves: %s calls %q", strings.Join(keys, " calls "), first.Key()))
}

// callees returns the functions that f calls, each once.
func (v *callVisitor) callees(f *ir.Function) []*ir.Function {
	var out []*ir.Function
	seen := map[*ir.Function]bool{}
	for g := range f.Body().All() {
		for _, n := range g.Nodes() {
			if c := v.functions[callKey(n.Domain(), n.Op(), n.Overload())]; c != nil && !seen[c] {
				seen[c] = true
				out = append(out, c)
			}
		}
	}
	return out
}
