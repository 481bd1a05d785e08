package value

import (
	"fmt"
	"io"
	"slices"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/ir"
)

// Env is what all values of one host share: the services that the host gives to
// builtins, and the tables that give the values their methods.
type Env struct {
	// Methods gives each Starlark type ("graph", "node", …) its methods.
	Methods map[string]Methods
	// Builders is the registry that @register fills.
	Builders *Registry
	// Files is the gate through which scripts reach files.
	Files Files
	// Stdout is where print writes; Stderr where warnings go.
	Stdout, Stderr io.Writer
	// Args is argv.
	Args []string
	// AllowExec says whether a script may start commands.
	AllowExec bool
	// InferNode tells the types of a new node's outputs, as far as they follow.
	InferNode func(*ir.Node) error
	// AttrKind tells the kind that the schema of the node's operator gives an
	// attribute, or AttrUndefined.
	AttrKind func(n *ir.Node, name string) ir.AttrKind
	// Hint returns ` (did you mean "x"?)` for the candidates nearest to a word, or "".
	Hint func(word string, candidates []string) string
	// Arith builds the node of an arithmetic operator on tensors.
	Arith func(env *Env, op string, x, y starlark.Value) (starlark.Value, error)
	// Index builds the nodes of t[key].
	Index func(env *Env, t Tensor, key starlark.Value) (starlark.Value, error)
	// Table renders the table that print shows of a single value.
	Table func(v starlark.Value) string

	closers []func() // of what scripts left open

	frozen map[any]bool // nodes and tensors of no graph that were frozen
	step   Step
}

// Step is one call of a builtin, or one assignment, by a script. What it edits
// is one entry of the history of a model.
type Step struct {
	name    string // "" outside of calls
	entries []ir.Checkpoint
}

// BeginStep begins a call and returns the one around it, for EndStep.
func (e *Env) BeginStep(name string) Step {
	outer := e.step
	e.step = Step{name: name}
	return outer
}

// EndStep ends a call. What one that failed had edited is taken back.
func (e *Env) EndStep(outer Step, failed bool) {
	if failed {
		for _, c := range slices.Backward(e.step.entries) {
			// an undo inside the call may have gone behind its beginning
			_ = c.Model().Cancel(c)
		}
	}
	e.step = outer
}

// logEdit makes what follows an entry of m's history, unless the call has one.
func (e *Env) logEdit(m *ir.Model, verb string, what labelled) {
	if e.step.name == "" {
		m.BeginEntry(verb + " " + what.Label())
		return
	}
	if !slices.ContainsFunc(e.step.entries, func(c ir.Checkpoint) bool { return c.Model() == m }) {
		e.step.entries = append(e.step.entries, m.BeginEntry(e.step.name))
	}
}

// Methods is a table of methods of one type, as package builtins makes them.
type Methods interface {
	// Bind returns the method (or property) of that name bound to the receiver,
	// or nil when there is none.
	Bind(recv starlark.Value, name string) (starlark.Value, error)
	// Names lists the methods, sorted.
	Names() []string
}

// Files decides which files a script may touch. A path that a script gives is
// relative to the current folder.
type Files interface {
	// Read returns the path to open for reading, or why it must not be.
	Read(path string) (string, error)
	// Write returns the path to open for writing, or why it must not be.
	Write(path string) (string, error)
}

// Tabler is a value that print shows as a table when it is its one argument.
type Tabler interface{ Table() string }

const (
	envKey  = "sgs.env"
	unitKey = "sgs.unit"
)

// SetEnv makes env the environment of what the thread runs.
func SetEnv(t *starlark.Thread, env *Env) { t.SetLocal(envKey, env) }

// EnvOf returns the environment of the thread.
func EnvOf(t *starlark.Thread) *Env {
	env, _ := t.Local(envKey).(*Env)
	return env
}

// Unit is one execution of one file (or of one chunk typed at the prompt).
type Unit struct{ File string }

// SetUnit says which execution the thread is doing.
func SetUnit(t *starlark.Thread, u *Unit) { t.SetLocal(unitKey, u) }

// UnitOf returns the execution that the thread is doing, or nil.
func UnitOf(t *starlark.Thread) *Unit {
	u, _ := t.Local(unitKey).(*Unit)
	return u
}

// Warn writes one warning line with the position of the script's call.
func (e *Env) Warn(t *starlark.Thread, format string, args ...any) {
	pos := ""
	for i := 0; i < t.CallStackDepth(); i++ {
		if p := t.CallFrame(i).Pos; p.Line > 0 {
			pos = p.String() + ": "
			break
		}
	}
	fmt.Fprintf(e.Stderr, "%swarning: %s\n", pos, fmt.Sprintf(format, args...))
}

// OnClose has f called when the host is closed.
func (e *Env) OnClose(f func()) { e.closers = append(e.closers, f) }

// Close closes what scripts left open.
func (e *Env) Close() {
	for _, f := range slices.Backward(e.closers) {
		f()
	}
	e.closers = nil
}

func (e *Env) freezeLoose(x any) {
	if e.frozen == nil {
		e.frozen = map[any]bool{}
	}
	e.frozen[x] = true
}

// labelled is a graph, node or tensor.
type labelled interface{ Label() string }

// checkMutable returns the error that forbids to change x, a part of g, when
// it is frozen; else the edit that follows goes into the history.
func (e *Env) checkMutable(g *ir.Graph, x labelled, verb string) error {
	if g != nil {
		m := g.Model()
		if m != nil && m.Frozen() {
			return fmt.Errorf("cannot %s frozen %s: it belongs to %s of a loaded file, which is read-only; use its copy()", verb, x.Label(), g.Root().Label())
		}
		if m != nil {
			e.logEdit(m, verb, x)
		}
		return nil
	}
	if e.frozen[x] {
		return fmt.Errorf("cannot %s frozen %s: it is a value of a loaded file, which is read-only; use its copy()", verb, x.Label())
	}
	return nil
}
