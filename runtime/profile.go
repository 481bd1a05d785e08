package runtime

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Profiled is a session that records what its nodes did.
type Profiled interface {
	Session
	// Profile ends the recording and returns it: of the runs that Options.Profile
	// asked for. It is an error when nothing ran.
	Profile() (*Profile, error)
}

// Profile is what a session recorded.
type Profile struct {
	// Nodes are the nodes that ran, by the names of the graph as the runtime made it,
	// in the order of their first run. What it copies between devices is not among
	// them.
	Nodes []ProfiledNode
	// Copies counts the copies between devices.
	Copies int
	// Trace is the recording itself, in Chrome's format of traces.
	Trace []byte
}

// ProfiledNode is one node on one provider.
type ProfiledNode struct {
	Name     string        `json:"name"`
	Op       string        `json:"op"`
	Provider string        `json:"provider"` // as users name it
	Runs     int           `json:"runs"`
	Time     time.Duration `json:"ns"` // of all runs
}

// event is one entry of a trace.
type event struct {
	Category string `json:"cat"`
	Name     string `json:"name"`
	Duration int64  `json:"dur"` // µs
	Args     struct {
		Provider string `json:"provider"`
		Op       string `json:"op_name"`
		Index    string `json:"node_index"`
	} `json:"args"`
}

// The runtime's marks on a node's event.
const (
	nodeCategory = "Node"
	kernelSuffix = "_kernel_time"
)

// ReadProfile reads a recording of ONNX Runtime.
func ReadProfile(r io.Reader) (*Profile, error) {
	d := json.NewDecoder(r)
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return nil, fmt.Errorf("profile: got %v, want the list of a Chrome trace (%v)", t, err)
	}
	type key struct{ name, op, provider, index string }
	p, at := &Profile{}, map[key]int{}
	for d.More() {
		var e event
		if err := d.Decode(&e); err != nil {
			return nil, fmt.Errorf("profile: %w", err)
		}
		name, isKernel := strings.CutSuffix(e.Name, kernelSuffix)
		switch {
		case e.Category != nodeCategory || !isKernel:
			continue
		case e.Args.Op == "MemcpyToHost" || e.Args.Op == "MemcpyFromHost":
			p.Copies++
			continue
		}
		k := key{name, e.Args.Op, e.Args.Provider, e.Args.Index}
		i, ok := at[k]
		if !ok {
			i = len(p.Nodes)
			at[k] = i
			p.Nodes = append(p.Nodes, ProfiledNode{Name: name, Op: e.Args.Op, Provider: FindProvider(e.Args.Provider).Name})
		}
		p.Nodes[i].Runs++
		p.Nodes[i].Time += time.Duration(e.Duration) * time.Microsecond
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	return p, nil
}

// Placed is the nodes that one provider ran.
type Placed struct {
	Provider string         `json:"provider"`
	Nodes    []ProfiledNode `json:"nodes"`
}

// Placement returns the nodes by provider: the one with the most first.
func (p *Profile) Placement() []Placed {
	var out []Placed
	for _, n := range p.Nodes {
		i := slices.IndexFunc(out, func(g Placed) bool { return g.Provider == n.Provider })
		if i < 0 {
			i = len(out)
			out = append(out, Placed{Provider: n.Provider})
		}
		out[i].Nodes = append(out[i].Nodes, n)
	}
	slices.SortStableFunc(out, func(a, b Placed) int { return len(b.Nodes) - len(a.Nodes) })
	return out
}

// Ops counts the nodes by operator, in one line: the most frequent first.
func (g Placed) Ops() string {
	counts := map[string]int{}
	var ops []string
	for _, n := range g.Nodes {
		if counts[n.Op]++; counts[n.Op] == 1 {
			ops = append(ops, n.Op)
		}
	}
	slices.SortStableFunc(ops, func(a, b string) int { return counts[b] - counts[a] })
	for i, op := range ops {
		if counts[op] > 1 {
			ops[i] = fmt.Sprintf("%s × %d", op, counts[op])
		}
	}
	return strings.Join(ops, ", ")
}

// PlacementText says in one line how many nodes ran where.
func (p *Profile) PlacementText() string {
	if len(p.Nodes) == 0 {
		return "no node ran: the runtime folded the graph"
	}
	var parts []string
	for _, g := range p.Placement() {
		parts = append(parts, fmt.Sprintf("%d of %d nodes on %s", len(g.Nodes), len(p.Nodes), g.Provider))
	}
	text := strings.Join(parts, ", ")
	if p.Copies > 0 {
		text += fmt.Sprintf("; %d copies between devices", p.Copies)
	}
	return text
}

// CheckPlacement returns an error when none of the nodes ran on a provider that was
// asked for; the CPU's counts only where nothing else was.
func (p *Profile) CheckPlacement(providers []string) error {
	var wanted []string
	for _, name := range providers {
		if !IsProvider(name, "cpu") {
			wanted = append(wanted, name)
		}
	}
	if len(wanted) == 0 || len(p.Nodes) == 0 {
		return nil
	}
	for _, n := range p.Nodes {
		if slices.ContainsFunc(wanted, func(name string) bool { return IsProvider(name, n.Provider) }) {
			return nil
		}
	}
	return fmt.Errorf("providers %q ran none of the model's nodes: %s", wanted, p.PlacementText())
}
