package starlarkgs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/internal/nofile"
	"github.com/starlarkgs/starlarkgs/internal/oplib"
	"github.com/starlarkgs/starlarkgs/internal/progress"
	"github.com/starlarkgs/starlarkgs/runtime"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

// Options says what a host grants to scripts. The zero value is the safe default.
type Options struct {
	// Stdout is where print writes, Stderr where warnings go; nil discards.
	Stdout, Stderr io.Writer
	// ReadDirs and WriteDirs are the folders, with what lies below them, that
	// scripts may read and write; nil is the current folder, an empty list none.
	ReadDirs, WriteDirs []string
	// AllowExec lets scripts start commands, as checks of bisect.
	AllowExec bool
	// MaxSteps bounds the steps of the interpreter; 0 is DefaultMaxSteps, NoSteps
	// no bound.
	MaxSteps uint64
	// MaxMem bounds the Go heap of the process, in bytes; 0 is DefaultMaxMem,
	// NoMem no bound. Mapped files are not of the heap. One operation of the
	// interpreter, such as s + s, runs to its end before it counts; a hard bound
	// needs a process of its own.
	MaxMem int64
	// Timeout bounds the time of a run; 0 is no bound.
	Timeout time.Duration
	// LibCache is the folder of the op libraries that came from git; "" is the
	// user's cache.
	LibCache string
	// Backends are further runtimes beside the reference one.
	Backends []runtime.Backend
	// Predeclared are names of the embedder's own.
	Predeclared starlark.StringDict
	// Called, when set, is told each function of the host that a script calls,
	// for tests that every one is exercised.
	Called func(*builtin.Func)
	// Where, when set, is told every few steps where the script is, for whoever
	// must say so when the process is ended from outside.
	Where func(syntax.Position)
	// Progress, when set, is told how far long work is: folding, bisecting, runs on
	// the reference backend. It is called often, by the goroutine that runs the script.
	Progress func(Progress)
	// Color says whether output may use colours.
	Color bool
}

// Progress is how far long work is: Done of Total steps are behind it, where a
// Total of 0 is not known. Task names the work, as "run".
type Progress struct {
	Task        string
	Done, Total int
}

// Host runs scripts. What they register, and files that are loaded once, are
// the host's; it serves one goroutine at a time.
type Host struct {
	opts        Options
	env         *value.Env
	predeclared starlark.StringDict
	session     *session          // the prompt's
	sources     map[string]string // text by file name, for errors
	modules     map[string]*module
	projects    map[string]*oplib.Project // by folder
	running     []source                  // files that run now, the main one first
	lastLoad    starlark.StringDict       // what the last load gave, for its errors
}

// New returns a host.
func New(o Options) *Host {
	if o.Stdout == nil {
		o.Stdout = io.Discard
	}
	if o.Stderr == nil {
		o.Stderr = io.Discard
	}
	h := &Host{opts: o, sources: map[string]string{}, modules: map[string]*module{}, projects: map[string]*oplib.Project{}}
	h.env = &value.Env{Methods: map[string]value.Methods{}, Stdout: o.Stdout, Stderr: o.Stderr, AllowExec: o.AllowExec}
	h.env.Files = newGate(o.ReadDirs, o.WriteDirs)
	h.predeclared = predeclared(h.env, o)
	h.session = newSession(h.predeclared)
	return h
}

// Close ends what scripts left open: sessions, with their processes. Scripts can run
// afterwards.
func (h *Host) Close() { h.env.Close() }

// Env returns the environment that the values of this host share.
func (h *Host) Env() *value.Env { return h.env }

// Predeclared returns the names that scripts find defined.
func (h *Host) Predeclared() starlark.StringDict { return h.predeclared }

// Run runs the script in a file; args is its argv. Its folder may be read.
func (h *Host) Run(ctx context.Context, path string, args []string) error {
	_, err := h.Load(ctx, path, args)
	return err
}

// Load is Run that returns the script's globals, which are not frozen,
// for Call.
func (h *Host) Load(ctx context.Context, path string, args []string) (starlark.StringDict, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nofile.Explain(err)
	case err != nil:
		return nil, err
	case info.Size() > maxSource:
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("got %s bytes, want a script of at most %s", count(int(info.Size())), count(maxSource))}
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	h.env.Files.(*gate).allowRead(filepath.Dir(path))
	return h.run(ctx, source{name: path, key: resolved(path)}, string(src), args)
}

// Module returns what a file defines that is named as in a load statement of a
// script in the current folder: "@std//nn.star", "layers.star". It is frozen.
func (h *Host) Module(ctx context.Context, name string) (starlark.StringDict, error) {
	var globals starlark.StringDict
	err := h.guarded(ctx, "load", func(t *starlark.Thread) error {
		var err error
		globals, err = h.load(t, name)
		if err != nil {
			return fmt.Errorf("cannot load %s: %w", name, err)
		}
		return nil
	})
	return globals, err
}

// RunSource runs a script whose text is given, and returns its globals. Name
// stands for the file in errors, and loads are relative to its folder.
func (h *Host) RunSource(ctx context.Context, name, src string, args []string) (starlark.StringDict, error) {
	return h.run(ctx, source{name: name, key: name}, src, args)
}

func (h *Host) run(ctx context.Context, src source, text string, args []string) (starlark.StringDict, error) {
	h.setArgs(args)
	var globals starlark.StringDict
	err := h.guarded(ctx, src.name, func(t *starlark.Thread) error {
		var err error
		globals, err = h.exec(t, src, text)
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
	argv := starlark.NewList(vs)
	h.predeclared["argv"] = argv
	h.session.shared["argv"] = argv
}

// Eval returns the value of an expression over the predeclared names and those
// that Define and Chunk bound.
func (h *Host) Eval(ctx context.Context, expr string) (starlark.Value, error) {
	if _, err := dialect.ParseExpr("eval", expr, 0); err != nil {
		h.sources["eval"] = expr
		return nil, h.wrap(err)
	}
	return h.Chunk(ctx, "eval", expr)
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

// byteOrderMark is what some editors begin a file with.
const byteOrderMark = "\ufeff"

// exec compiles and runs one file in a thread.
func (h *Host) exec(t *starlark.Thread, src source, text string) (starlark.StringDict, error) {
	text = strings.TrimPrefix(text, byteOrderMark)
	h.sources[src.name] = text
	file, err := parse(src.name, text, dialect)
	if err != nil {
		return nil, err
	}
	prog, err := starlark.FileProgram(file, h.predeclared.Has)
	if err != nil {
		return nil, err
	}
	defer h.enter(t, src)()
	return prog.Init(t, h.predeclared)
}

// enter makes a file the one that the thread runs, and returns what ends that.
func (h *Host) enter(t *starlark.Thread, src source) func() {
	outer := value.UnitOf(t)
	value.SetUnit(t, &value.Unit{File: src.name})
	h.running = append(h.running, src)
	return func() {
		h.running = h.running[:len(h.running)-1]
		value.SetUnit(t, outer)
	}
}

// crashed is a Go panic of the interpreter, which has lost its stack by then.
type crashed struct{ cause error }

// Error returns what the panic was. An allocation that Go refuses is no bug of
// anyone's but the script's.
func (c *crashed) Error() string {
	if text := c.cause.Error(); !strings.Contains(text, "len out of range") && !strings.Contains(text, "output length overflow") {
		return text
	}
	return "the script asked for more memory than any machine has"
}

// Unwrap returns the panic.
func (c *crashed) Unwrap() error { return c.cause }

// guarded runs f in a thread of its own under the limits, and gives what goes
// wrong, a Go panic included, the shape of a script's error.
func (h *Host) guarded(ctx context.Context, name string, f func(*starlark.Thread) error) (err error) {
	t := &starlark.Thread{Name: name, Load: h.load, Print: func(_ *starlark.Thread, msg string) { fmt.Fprintln(h.opts.Stdout, msg) }}
	value.SetEnv(t, h.env)
	if h.opts.Called != nil {
		builtin.SetRecorder(t, h.opts.Called)
	}
	if told := h.opts.Progress; told != nil {
		ctx = progress.With(ctx, func(e progress.Event) { told(Progress(e)) })
	}
	finish := h.limit(ctx, t)
	// a weight that is read from a file which another program cuts is an error
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = &crashed{builtin.Recovered("", r)}
		}
		err = finish(err)
	}()
	return f(t)
}
