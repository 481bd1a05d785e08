// Package surgery holds the passes over a model: what changes a graph as a
// whole, or tells something of it.
//
// A pass is one file and one row of Passes. Its contract: it says what it
// needs, returns whether it changed anything, changes nothing when it is run
// again at once, leaves the graph as it was when it fails, and leaves a model
// that ir.Verify finds sound. The tests assert all of that for every row.
//
//	cleanup    drops nodes and initializers that no output needs
//	toposort   orders nodes after what they read, stably
//	fold       computes what is constant, node by node
//	simplify   rewrites by exact rules
//	sanitize   infer, fold, simplify and tidy to a fixed point
//	extract    cuts the part between given tensors out
//	bisect     finds the smallest model that still fails a check
//	match      finds the places where a pattern fits, and rewrites them
//
// The package knows runtime.Backend as an interface only: whoever calls a pass
// that evaluates (fold, bisect) hands a backend in.
package surgery
