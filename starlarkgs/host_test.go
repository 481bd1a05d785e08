package starlarkgs_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/starlarkgs"
)

// writeFiles makes files in an empty folder and goes there.
func writeFiles(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLoad(t *testing.T) {
	writeFiles(t, map[string]string{
		"sgs.toml":        "",
		"main.star":       "load(\"a/one.star\", \"f\")\nload(\"./a/../a/one.star\", g = \"f\")\nload(\"//lib/two.star\", \"data\", \"argv2\")\nprint(f == g, data, argv, argv2, f())\nown = [1]\n",
		"a/one.star":      "load(\"b/three.star\", three = \"f\")\nload(\"../lib/two.star\", \"data\")\nprint(\"one\")\ndef f(): return (three(), data)\n",
		"a/b/three.star":  "load(\"//lib/two.star\", \"data\")\nprint(\"three\")\ndef f(): return len(data)\n",
		"lib/two.star":    "print(\"two\")\ndata = [1, 2]\nargv2 = argv\n_private = 1\n",
		"deeper/sgs.toml": "",
		"deeper/x.star":   "load(\"//y.star\", \"y\")\nprint(y)\n",
		"deeper/y.star":   "\ufeffy = \"deeper y\"\n",
		"registers.star":  "load(\"builders.star\", \"other\")\ng = graph(inputs = [variable(\"x\", \"float32\", [1])])\nprint(g.layer_a(\"x\").producer.op)\n",
		"builders.star":   "other = 1\n@register\ndef layer_a(self, x):\n    return self.op.Neg(x)\n",
		"cond.star":       "if True:\n    load(\"lib/two.star\", \"data\")\n",
	})
	for _, tc := range []struct{ file, want string }{
		{"main.star", "two\nthree\none\nTrue [1, 2] [\"a\", \"b\"] [\"a\", \"b\"] (2, [1, 2])\n"},
		{"deeper/x.star", "deeper y\n"},
		{"registers.star", "Neg\n"},
	} {
		t.Run(tc.file, func(t *testing.T) {
			h, out := newHost(t)
			globals, err := h.Load(context.Background(), tc.file, []string{"a", "b"})
			if err != nil {
				t.Fatal(err)
			}
			if got := out.String(); got != tc.want {
				t.Errorf("printed %q, want %q", got, tc.want)
			}
			if own, ok := globals["own"].(*starlark.List); ok {
				if err := own.Append(starlark.None); err != nil {
					t.Errorf("a global of the main file is frozen: %v", err)
				}
			}
		})
	}
	h, _ := newHost(t)
	if err := h.Run(context.Background(), "cond.star", nil); err == nil || !strings.Contains(err.Error(), "load statement within a conditional (a load stands at the top level of a file)") {
		t.Errorf("got %v", err)
	}
}

// TestLoadAgain checks that a file that was mended is loaded again.
func TestLoadAgain(t *testing.T) {
	writeFiles(t, map[string]string{"lib.star": "x = 1 // 0\n"})
	h, _ := newHost(t)
	if _, err := h.Chunk(context.Background(), "<prompt>", `load("lib.star", "x")`); err == nil {
		t.Fatal("got no error")
	}
	if err := os.WriteFile("lib.star", []byte("x = 5\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	v, err := h.Chunk(context.Background(), "<prompt>", "load(\"lib.star\", \"x\")\nx")
	if err != nil || v.String() != "5" {
		t.Errorf("got %v, %v, want 5", v, err)
	}
}

func TestRun(t *testing.T) {
	writeFiles(t, map[string]string{"edit.star": "print(argv)\n", "folder/x.star": "x = 1"})
	h, out := newHost(t)
	if err := h.Run(context.Background(), "edit.star", []string{"--x", "1"}); err != nil || out.String() != "[\"--x\", \"1\"]\n" {
		t.Errorf("got %v, %q", err, out)
	}
	err := h.Run(context.Background(), "edti.star", nil)
	var path *fs.PathError
	if !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &path) || err.Error() != `open edti.star: no such file (did you mean "edit.star"?)` {
		t.Errorf("got %v", err)
	}
	if err := h.Run(context.Background(), "folder", nil); err == nil {
		t.Error("a folder was run")
	}
}

// TestGate checks what a script may touch by default and by leave.
func TestGate(t *testing.T) {
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret.txt")
	writeFiles(t, map[string]string{"in.txt": "in", secret: "secret"})
	if err := os.Symlink(secret, "link.txt"); err != nil {
		t.Skip("no links here")
	}
	for _, tc := range []struct {
		name, src, want string
		o               starlarkgs.Options
	}{
		{"read here", `read_text("in.txt")`, "", starlarkgs.Options{}},
		{"write here", `write_text("./out.txt", "x")`, "", starlarkgs.Options{}},
		{"read outside", `read_text(secret)`, "reading is not allowed there", starlarkgs.Options{}},
		{"read by a link", `read_text("link.txt")`, "reading is not allowed there", starlarkgs.Options{}},
		{"write by a link", `write_text("link.txt", "x")`, "writing is not allowed there", starlarkgs.Options{}},
		{"by leave", `read_text(secret)`, "", starlarkgs.Options{ReadDirs: []string{".", outside}}},
		{"write where one may read", `write_text(secret, "x")`, "writing is not allowed there", starlarkgs.Options{ReadDirs: []string{outside}}},
		{"nothing at all", `read_text("in.txt")`, "reading is not allowed there", starlarkgs.Options{ReadDirs: []string{}, WriteDirs: []string{}}},
		{"no parent", `read_text("../x")`, "reading is not allowed there", starlarkgs.Options{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.o.Predeclared = starlark.StringDict{"secret": starlark.String(secret)}
			_, err := starlarkgs.New(tc.o).RunSource(context.Background(), "a.star", tc.src, nil)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestWriteTextIsWhole(t *testing.T) {
	writeFiles(t, map[string]string{"a.txt": "old"})
	if err := os.Chmod("a.txt", 0o600); err != nil {
		t.Fatal(err)
	}
	h, _ := newHost(t)
	if _, err := h.RunSource(context.Background(), "a.star", `write_text("a.txt", "new")`, nil); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat("a.txt")
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v, want the permissions of before", info, err)
	}
	entries, err := os.ReadDir(".")
	if err != nil || len(entries) != 1 {
		t.Errorf("got %v, %v, want the one file", entries, err)
	}
}

func TestCall(t *testing.T) {
	h, _ := newHost(t)
	globals, err := h.RunSource(context.Background(), "check.star", "n = [0]\ndef check(model):\n    n[0] += 1\n    if model == 3:\n        fail(\"three\")\n    return model > 1\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := h.Call(context.Background(), globals["check"], starlark.MakeInt(2))
	if err != nil || v != starlark.True {
		t.Errorf("check(2) = %v, %v", v, err)
	}
	_, err = h.Call(context.Background(), globals["check"], starlark.MakeInt(3))
	want := "check.star:5:13: fail: three\n          fail(\"three\")\n              ^\n    at check.star:5:13 in check"
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	var e *starlarkgs.Error
	if !errors.As(err, &e) || e.Pos.Line != 5 || e.Msg != "fail: three" || len(e.Stack) != 1 {
		t.Errorf("got %+v", e)
	}
}

func TestPanics(t *testing.T) {
	boom := starlark.NewBuiltin("boom", func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		return args[0], nil
	})
	bang := &builtin.Func{Name: "bang", Fn: func(*builtin.Call) (starlark.Value, error) { panic("bang") }}
	h := starlarkgs.New(starlarkgs.Options{Predeclared: starlark.StringDict{"boom": boom, "bang": bang.Value()}})
	_, err := h.RunSource(context.Background(), "a.star", "boom()", nil)
	want := "a.star:1:5: internal error: boom: runtime error: index out of range [0] with length 0\n  boom()\n      ^\n    at a.star:1:5 in <toplevel>"
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	_, err = h.RunSource(context.Background(), "a.star", "def f():\n    bang()\nf()", nil)
	want = "a.star:2:9: internal error: bang: bang\n      bang()\n          ^\n    at a.star:2:9 in f\n    at a.star:3:2 in <toplevel>"
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	var bug *builtin.PanicError
	if !errors.As(err, &bug) || !bytes.Contains(bug.Stack, []byte("host_test.go")) {
		t.Errorf("got %v, want the Go stack", bug)
	}
}

// TestPrint checks the forms in which print writes.
func TestPrint(t *testing.T) {
	h, out := newHost(t)
	src := "print()\nprint(\"a\")\nprint(\"a\", 1, [\"b\"], sep = \"-\")\nprint([\"a\", (1,), {1: set([2])}, struct(x = \"y\")])\nprint(str(b\"hi\"), repr(\"q\"))\nc = constant(\"c\", [1.5])\nprint(c)\nprint(c, 1)"
	if _, err := h.RunSource(context.Background(), "a.star", src, nil); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitN(out.String(), "\n", 6)
	want := []string{"", "a", "a-1-[\"b\"]", `["a", (1,), {1: set([2])}, struct(x = "y")]`, `hi "q"`}
	for i, w := range want {
		if lines[i] != w {
			t.Errorf("line %d = %q, want %q", i+1, lines[i], w)
		}
	}
	if rest := lines[5]; !strings.Contains(rest, "1.5") || strings.HasSuffix(rest, "1.5\n") {
		t.Errorf("the constant alone and with a number: %q", rest)
	}
}

func TestRecorder(t *testing.T) {
	var called []string
	h := starlarkgs.New(starlarkgs.Options{Called: func(f *builtin.Func) { called = append(called, f.Name) }})
	if _, err := h.RunSource(context.Background(), "a.star", "len(sorted([2, 1]))\njson.encode(1)", nil); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(called, " "); got != "sorted len json.encode" {
		t.Errorf("called %s", got)
	}
}
