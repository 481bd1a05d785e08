package starlarkgs

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/starlarkgs/starlarkgs/builtins"
	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/runtime"
	"github.com/starlarkgs/starlarkgs/runtime/reference"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

// Options says what a host grants to scripts. The zero value is the safe default.
type Options struct {
	// Stdout is where print writes, Stderr where warnings go; nil discards.
	Stdout, Stderr io.Writer
	// ReadDirs and WriteDirs are the folders, with what lies below them, that
	// scripts may read and write; nil is the current folder.
	ReadDirs, WriteDirs []string
	// AllowExec lets scripts start commands, as checks of bisect.
	AllowExec bool
	// MaxSteps bounds the steps of the interpreter, MaxMem the bytes of the Go
	// heap, Timeout the time of a run; 0 is no bound.
	MaxSteps uint64
	MaxMem   int64
	Timeout  time.Duration
	// Backends are further runtimes beside the reference one.
	Backends []runtime.Backend
	// Predeclared are names of the embedder's own.
	Predeclared starlark.StringDict
	// Color says whether output may use colours.
	Color bool
}

// Host runs scripts. What they register, and files that are loaded once, are
// the host's; it serves one goroutine at a time.
type Host struct {
	opts        Options
	env         *value.Env
	predeclared starlark.StringDict
	globals     starlark.StringDict // of the prompt
	sources     map[string]string   // text by file name, for errors
	shadowed    map[string]map[string]int
	modules     map[string]*module
}

// New returns a host.
func New(o Options) *Host {
	if o.Stdout == nil {
		o.Stdout = io.Discard
	}
	if o.Stderr == nil {
		o.Stderr = io.Discard
	}
	h := &Host{opts: o, globals: starlark.StringDict{}, sources: map[string]string{}, shadowed: map[string]map[string]int{}, modules: map[string]*module{}}
	h.env = &value.Env{Methods: map[string]value.Methods{}, Stdout: o.Stdout, Stderr: o.Stderr, AllowExec: o.AllowExec}
	h.env.Files = newGate(o.ReadDirs, o.WriteDirs)
	backends := append([]runtime.Backend{reference.New()}, o.Backends...)
	h.predeclared = builtins.Predeclared(h.env, backends)
	maps.Copy(h.predeclared, o.Predeclared)
	return h
}

// Env returns the environment that the values of this host share.
func (h *Host) Env() *value.Env { return h.env }

// Predeclared returns the names that scripts find defined.
func (h *Host) Predeclared() starlark.StringDict { return h.predeclared }

// Globals returns what the prompt has defined.
func (h *Host) Globals() starlark.StringDict { return h.globals }

// RunFile runs the script in a file; args is its argv. Its folder may be read.
func (h *Host) RunFile(ctx context.Context, path string, args []string) error {
	src, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	h.env.Files.(*gate).allowRead(filepath.Dir(path))
	_, err = h.RunSource(ctx, path, string(src), args)
	return err
}

// RunSource runs a script whose text is given, and returns its globals.
func (h *Host) RunSource(ctx context.Context, name, src string, args []string) (starlark.StringDict, error) {
	h.setArgs(args)
	var globals starlark.StringDict
	err := h.guarded(ctx, name, func(t *starlark.Thread) error {
		var err error
		globals, err = h.exec(t, name, src)
		return err
	})
	return globals, err
}

func (h *Host) setArgs(args []string) {
	h.env.Args = args
	vs := make([]starlark.Value, len(args))
	for i, a := range args {
		vs[i] = starlark.String(a)
	}
	h.predeclared["argv"] = starlark.NewList(vs)
}

// Call calls a function of a script.
func (h *Host) Call(ctx context.Context, fn starlark.Value, args ...starlark.Value) (starlark.Value, error) {
	var out starlark.Value
	err := h.guarded(ctx, "call", func(t *starlark.Thread) error {
		var err error
		out, err = starlark.Call(t, fn, args, nil)
		return err
	})
	return out, err
}

// exec compiles and runs one file in a thread.
func (h *Host) exec(t *starlark.Thread, name, src string) (starlark.StringDict, error) {
	const largest = 16 << 20
	if len(src) > largest {
		return nil, fmt.Errorf("%s: got a script of %d bytes, want at most %d", name, len(src), largest)
	}
	h.sources[name] = src
	file, err := parse(name, src, dialect)
	if err != nil {
		return nil, err
	}
	h.noteShadowed(name, file)
	prog, err := starlark.FileProgram(file, h.predeclared.Has)
	if err != nil {
		return nil, err
	}
	unit := value.UnitOf(t)
	value.SetUnit(t, &value.Unit{File: name})
	defer value.SetUnit(t, unit)
	return prog.Init(t, h.predeclared)
}

// noteShadowed remembers which predeclared names the file uses as variables.
func (h *Host) noteShadowed(name string, file *syntax.File) {
	h.shadowed[name] = map[string]int{}
	for id, line := range boundNames(file.Stmts) {
		if h.predeclared.Has(id) {
			h.shadowed[name][id] = line
		}
	}
}

// boundNames returns the names that statements bind at their top level, with
// the line of the first binding.
func boundNames(stmts []syntax.Stmt) map[string]int {
	out := map[string]int{}
	bind := func(id *syntax.Ident) {
		if _, ok := out[id.Name]; !ok {
			out[id.Name] = int(id.NamePos.Line)
		}
	}
	var target func(e syntax.Expr)
	target = func(e syntax.Expr) {
		switch e := e.(type) {
		case *syntax.Ident:
			bind(e)
		case *syntax.ParenExpr:
			target(e.X)
		case *syntax.TupleExpr:
			for _, x := range e.List {
				target(x)
			}
		case *syntax.ListExpr:
			for _, x := range e.List {
				target(x)
			}
		}
	}
	var visit func([]syntax.Stmt)
	visit = func(stmts []syntax.Stmt) {
		for _, s := range stmts {
			switch s := s.(type) {
			case *syntax.AssignStmt:
				target(s.LHS)
			case *syntax.DefStmt:
				bind(s.Name)
			case *syntax.ForStmt:
				target(s.Vars)
				visit(s.Body)
			case *syntax.WhileStmt:
				visit(s.Body)
			case *syntax.IfStmt:
				visit(s.True)
				visit(s.False)
			case *syntax.LoadStmt:
				for _, id := range s.To {
					bind(id)
				}
			}
		}
	}
	visit(stmts)
	return out
}

// guarded runs f in a thread of its own under the limits, and gives what goes
// wrong, a Go panic included, the shape of a script's error.
func (h *Host) guarded(ctx context.Context, name string, f func(*starlark.Thread) error) (err error) {
	t := &starlark.Thread{Name: name, Print: func(_ *starlark.Thread, msg string) { fmt.Fprintln(h.opts.Stdout, msg) }, Load: h.load}
	value.SetEnv(t, h.env)
	stop := h.limit(ctx, t)
	defer func() {
		if r := recover(); r != nil {
			err = builtin.Recovered("", r)
		}
		err = stop(err)
	}()
	return f(t)
}

// Incomplete reports whether text is the beginning of a statement that goes on
// on the next line.
func Incomplete(src string) bool {
	blanked, _, err := findDecorators("", src)
	if err != nil {
		return strings.Contains(err.Error(), "want a def on the next line") || strings.Contains(err.Error(), "is not closed")
	}
	_, err = dialect.Parse("", blanked+"\n", 0)
	if err == nil {
		return compound(src) && !strings.HasSuffix(src, "\n\n") && !strings.HasSuffix(src, "\n")
	}
	e, ok := err.(syntax.Error)
	return ok && (strings.Contains(e.Msg, "got end of file") || strings.Contains(e.Msg, "unexpected new line in string") || strings.Contains(e.Msg, "unexpected EOF"))
}

// compound reports whether the text begins a statement with a body of lines of
// its own, which an empty line ends.
func compound(src string) bool {
	first, rest, more := strings.Cut(strings.TrimLeft(src, "\n"), "\n")
	first = strings.TrimSpace(first)
	if strings.HasPrefix(first, "@") {
		return true
	}
	for _, word := range []string{"def", "for", "if", "while"} {
		if isWord(first, word) {
			return strings.HasSuffix(first, ":") || more && strings.TrimSpace(rest) != ""
		}
	}
	return false
}
