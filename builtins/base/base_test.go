package base_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/starlarkgs/starlarkgs/builtins/assert"
	"github.com/starlarkgs/starlarkgs/builtins/base"
	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/internal/startest"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

// here lets scripts read and write where they will.
type here struct{}

func (here) Read(path string) (string, error)  { return path, nil }
func (here) Write(path string) (string, error) { return path, nil }

var options = &syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true, Recursion: true}

// env returns what this package defines, and assert.
func env() starlark.StringDict {
	d := base.Modules()
	for _, f := range base.Funcs {
		d[f.Base()] = f.Value()
	}
	d["assert"] = assert.Module()
	d["sgs"] = base.Self{Names: d}
	return d
}

func newThread(out *bytes.Buffer) *starlark.Thread {
	t := new(starlark.Thread)
	value.SetEnv(t, &value.Env{Stdout: out, Stderr: out, Files: here{}})
	return t
}

func TestStar(t *testing.T) {
	startest.Run(t, "testdata/*.star", func(t *testing.T, c startest.Chunk) error {
		t.Chdir(t.TempDir())
		_, err := starlark.ExecFileOptions(options, newThread(new(bytes.Buffer)), c.File, c.Source, env())
		return placed(err)
	})
}

// placed gives an error of the interpreter its place.
func placed(err error) error {
	eval, ok := err.(*starlark.EvalError)
	if !ok {
		return err
	}
	for i := range eval.CallStack {
		if p := eval.CallStack.At(i).Pos; p.Line > 0 {
			return syntax.Error{Pos: p, Msg: eval.Msg}
		}
	}
	return err
}

// TestPython compares format and round with what CPython gave.
func TestPython(t *testing.T) {
	data, err := os.ReadFile("testdata/python.txt")
	if err != nil {
		t.Fatal(err)
	}
	d, n := env(), 0
	for _, line := range strings.Split(string(data), "\n") {
		f := strings.Split(line, "\t")
		if len(f) != 4 {
			continue
		}
		n++
		call := f[0] + "(" + f[1] + ", " + f[2] + ")"
		v, err := starlark.EvalOptions(options, newThread(new(bytes.Buffer)), "x.star", call, d)
		if f[3] == "" {
			if err == nil {
				t.Errorf("%s = %s, want an error", call, v)
			}
			continue
		}
		want, wantErr := starlark.EvalOptions(options, new(starlark.Thread), "x.star", f[3], d)
		if err != nil || wantErr != nil || v.String() != want.String() || v.Type() != want.Type() {
			t.Errorf("%s = %v, %v, want %v, %v", call, v, err, want, wantErr)
		}
	}
	if n < 300 {
		t.Errorf("got %d cases, want at least 300", n)
	}
}

// TestUniverse checks that every function of Starlark's own is here, documented
// and with an example.
func TestUniverse(t *testing.T) {
	here := map[string]*builtin.Func{}
	for _, f := range base.Funcs {
		here[f.Name] = f
		if f.Doc == "" || f.Example == "" {
			t.Errorf("%s has no documentation or no example", f.Name)
		}
	}
	for name, v := range starlark.Universe {
		if _, ok := v.(*starlark.Builtin); ok && here[name] == nil {
			t.Errorf("%s of Starlark's own is missing", name)
		}
	}
}

func TestHelp(t *testing.T) {
	for _, tc := range []struct{ src, want string }{
		{"help()", "help(x) explains any value: help(graph), help(np), help(np.zeros), help(g.layer).\ndir(sgs) lists what is predeclared, dir(x) the fields and methods of a value.\n"},
		{"help(round)", "round(number, ndigits=None) -> number\n\n  rounds a number, halves to even. Without digits it gives an int.\n\n  number        number: what to round\n  ndigits=None  int: places behind the point; negative ones are before it\n\n  Example:\n    assert.eq(round(2.5), 2)\n"},
		{"help(1)", "1: a value of type int\n"},
		{"help(json)", "module json\n\n  Values as JSON text and back.\n\n  decode         returns the value of a JSON text.\n  encode         returns the JSON text of a value.\n  encode_indent  returns the JSON text of a value with its parts on lines of their own.\n  indent         returns a JSON text with its parts on lines of their own.\n"},
		{"help(len)", "len(x) -> int\n\n  returns the number of elements.\n\n  x  iterable or string\n\n  Example:\n    assert.eq(len([1, 2]), 2)\n"},
	} {
		var out bytes.Buffer
		if _, err := starlark.EvalOptions(options, newThread(&out), "x.star", tc.src, env()); err != nil {
			t.Error(err)
		}
		if out.String() != tc.want {
			t.Errorf("%s prints\n%q\nwant\n%q", tc.src, out.String(), tc.want)
		}
	}
}

// TestTickStops checks that what goes over an iterable obeys the limits.
func TestTickStops(t *testing.T) {
	th := newThread(new(bytes.Buffer))
	left := uint64(0)
	builtin.SetTick(th, func(n uint64) error {
		if n > left {
			return os.ErrDeadlineExceeded
		}
		left -= n
		return nil
	})
	for _, src := range []string{"list(range(1 << 27))", "tuple(range(1 << 27))", "set(range(1 << 27))", "sorted(range(1 << 27))", "max(range(1 << 27))", "min(range(1 << 27))",
		"all(range(1, 1 << 27))", "any([0] * 1000000)", "enumerate(range(1 << 27))", "zip(range(1 << 27), [1] * 1000000)", "reversed(range(1 << 27))", "dict([(1, 2)] * 1000000)",
		"bytes([1] * 1000000)", "sum(range(1 << 27))", "str([1] * 1000000)", "repr([1] * 1000000)", "print([1] * 1000000)", "fail([1] * 1000000)"} {
		left = 100_000
		if v, err := starlark.EvalOptions(options, th, "x.star", src, env()); err == nil || !strings.Contains(err.Error(), os.ErrDeadlineExceeded.Error()) {
			t.Errorf("%s = %.40v, %.80v, want the limit", src, v, err)
		}
	}
}
