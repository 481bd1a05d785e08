package starlarkgs_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/starlarkgs"
)

// TestChunks types chunks at one prompt after the other, and looks at the value
// of each: "" is none, "!text" an error that begins with the text.
func TestChunks(t *testing.T) {
	type step struct{ src, want string }
	for _, tc := range []struct {
		name  string
		steps []step
	}{
		{"values", []step{{"x = 1", ""}, {"x + 1", "2"}, {"x, x", "(1, 1)"}, {"'a'", `"a"`}, {"None", "None"}, {"x = 2; x", "2"}, {"if x:\n    x\n", ""}, {"", ""}, {"# nothing", ""}}},
		{"functions see later definitions", []step{{"k = 1\ndef f(): return k\nf()", "1"}, {"k = 2", ""}, {"f()", "2"}, {"for k in range(5): pass", ""}, {"f()", "4"}, {"k += 10", ""}, {"f()", "14"}}},
		{"functions see later functions", []step{{"def a(): return b()", ""}, {"a()", "!<prompt>:1:17: undefined: b"}, {"def b(): return 3", ""}, {"a()", "3"}, {"def b(): return 4", ""}, {"a()", "4"}}},
		{"recursion goes to the later one", []step{{"def f(n): return 0 if n == 0 else f(n - 1)", ""}, {"g = f", ""}, {"def f(n): return 7", ""}, {"g(3)", "7"}}},
		{"lambdas and comprehensions", []step{{"h = lambda: [k * i for i in range(2)]", ""}, {"k = 3", ""}, {"h()", "[0, 3]"}, {"[i for i in range(2)]", "[0, 1]"}, {"i", "!<prompt 5>:1:1: undefined: i"}}},
		{"closures keep their own", []step{{"def outer():\n    v = 1\n    def inner():\n        return v\n    return inner", ""}, {"v = 9", ""}, {"outer()()", "1"}}},
		{"parameters are not globals", []step{{"x = 1\ndef f(x, y = x): return (x, y)\nf(5)", "(5, 1)"}, {"x = 2", ""}, {"f(5)", "(5, 1)"}}},
		{"augmented assignments", []step{{"l = [1]\nm = l", ""}, {"l += [2]", ""}, {"m", "[1, 2]"}, {"n += 1", "!<prompt 4>:1:1: undefined: n"}, {"l[0] += 5", ""}, {"m", "[6, 2]"}, {"(l) += [3]\nm", "[6, 2, 3]"}}},
		{"several targets", []step{{"a, (b, [c]) = 1, (2, [3])", ""}, {"(c, b, a)", "(3, 2, 1)"}, {"for a, b in [(4, 5)]:\n    c = a + b\n", ""}, {"(a, b, c)", "(4, 5, 9)"}}},
		{"if and while", []step{{"n = 0\nwhile n < 3:\n    n += 1\nn", "3"}, {"if n == 3:\n    r = 'three'\nelse:\n    r = 'other'\n", ""}, {"r", `"three"`}}},
		{"a name of the host may be taken and used before", []step{{"sum([1, 2])", "3"}, {"sum = 5\ndef f(): return sum\nf()", "5"}, {"max(1, 2)", "2"}, {"def f(): return min([4, 3])\nf()", "3"}, {"min = len", ""}, {"f()", "2"}}},
		{"conditional binding falls back", []step{{"x = 1", ""}, {"if False:\n    x = 2\n", ""}, {"def f():\n    return x\nif False:\n    x = 3\nf()", "1"}, {"def g():\n    return len([0])\nif False:\n    len = 3\ng()", "1"}}},
		{"decorators", []step{{"def twice(f):\n    return lambda x: f(f(x))", ""}, {"@twice\ndef inc(x):\n    return x + 1", ""}, {"inc(0)", "2"}}},
		{"loads stay", []step{{`load("testdata/errors/lib/err.star", "helper", b = "broken")`, ""}, {"helper", "<function helper>"}, {"def f(): return b\nf()", "<function broken>"}}},
		{"an error keeps what came before", []step{{"x = 1\ny = 1 // 0\nz = 3", "!<prompt>:2:7: floored division by zero"}, {"x", "1"}, {"z", "!<prompt 3>:1:1: undefined: z"}}},
		{"an undefined name outside functions runs nothing", []step{{"x = 1\nprint(zz)", "!<prompt>:2:7: undefined: zz"}, {"x", "!<prompt 2>:1:1: undefined: x"}}},
		{"names are near", []step{{"kernel = 3", ""}, {"kernal", "!<prompt 2>:1:1: undefined: kernal (did you mean kernel?)"}}},
		{"a shadowed name tells where", []step{{"node = 3", ""}, {"node('Add')", "!<prompt 2>:1:5: invalid call of non-function (int) (node is a variable here since <prompt>:1:1; the constructor is sgs.node)"}}},
		{"return is none", []step{{"return 1", "!<prompt>:1:1: return statement not within a function"}}},
		{"redefined builders replace", []step{{"@register\ndef b(self): return 1", ""}, {"@register\ndef b(self): return 2", ""}, {"graph().b()", "2"}}},
		{"self-reference before definition", []step{{"x = x + 1", "!<prompt>:1:5: undefined: x"}, {"x = 1", ""}, {"x = x + 1", ""}, {"x", "2"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h, _ := newHost(t)
			for _, s := range tc.steps {
				v, err := h.Chunk(context.Background(), "<prompt>", s.src)
				got := ""
				switch {
				case err != nil:
					got, _, _ = strings.Cut("!"+err.Error(), "\n")
				case v != nil:
					got = v.String()
				}
				if got != s.want {
					t.Fatalf("%s\ngives %s\nwant  %s", s.src, got, s.want)
				}
			}
		})
	}
}

// TestChunkErrors checks that an error in a function of an earlier chunk shows
// the text of that chunk.
func TestChunkErrors(t *testing.T) {
	h, _ := newHost(t)
	for _, src := range []string{"def f(x):\n    return 1 // x", "x = 1"} {
		if _, err := h.Chunk(context.Background(), "<prompt>", src); err != nil {
			t.Fatal(err)
		}
	}
	_, err := h.Chunk(context.Background(), "<prompt>", "f(0)")
	want := "<prompt>:2:14: floored division by zero\n      return 1 // x\n               ^\n    at <prompt>:2:14 in f\n    at <prompt 3>:1:2 in <toplevel>"
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

// TestChunkIsWholeScript runs an example script as one chunk, as the prompt does
// with a script that it is given.
func TestChunkIsWholeScript(t *testing.T) {
	const file = "../scripts/examples/quickstart.star"
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	run := func(f func(h *starlarkgs.Host) error) string {
		var out strings.Builder
		h := starlarkgs.New(starlarkgs.Options{Stdout: &out, WriteDirs: []string{dir}, ReadDirs: []string{"..", dir}, Predeclared: starlark.StringDict{"folder": starlark.String(dir)}})
		if err := f(h); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	a := run(func(h *starlarkgs.Host) error { return h.Run(context.Background(), file, []string{dir}) })
	b := run(func(h *starlarkgs.Host) error {
		_, err := h.Chunk(context.Background(), file, strings.ReplaceAll(string(src), `argv[0] if argv else "."`, "folder"))
		return err
	})
	if a != b || a == "" {
		t.Errorf("the script prints\n%s\nas a chunk\n%s", a, b)
	}
}

func TestIncomplete(t *testing.T) {
	for _, tc := range []struct {
		src  string
		want bool
	}{
		{"x = 1", false}, {"", false}, {"# comment", false}, {"x = (1,", true}, {"x = (1,\n", true}, {"x = (1,\n2)", false}, {"f(']')", false},
		{"def f():", true}, {"def f(): return 1", false}, {"def f():\n    return 1", true}, {"def f():\n    return 1\n", false}, {"def f():\n    return 1\n    ", false},
		{"def f():\n    x = [\n", true}, {"def f():  # comment", true}, {"if x:\n    y = 1\nelse:", true}, {"if x:\n    y = 1\nelse:\n    y = 2\n", false},
		{"for i in x:\n    if i:\n        pass", true}, {"x = {1:\n2}", false}, {"x = {1:", true}, {"x = a[1:", true}, {"x = a[1:]", false},
		{"@register", true}, {"@register(", true}, {"@register\n", true}, {"@register\ndef f(x):", true}, {"@register\ndef f(x):\n    return x", true}, {"@register\ndef f(x):\n    return x\n", false},
		{"@a\n@b", true}, {"@a\n\n", false}, {"@a\n  \n", false},
		{"x = 1 +", false}, {"x = 1 + \\", true}, {"s = '''a", true}, {"s = '''a\n", true}, {"s = '''a\nb'''", false}, {"s = r\"\"\"a", true}, {"s = 'a", false}, {"s = '''", true}, {"s = ''", false},
		{"x = )", false}, {"import x", false}, {"def f():\n    return 1\nx = 2", false}, {"x = 2\ndef f():\n    return 1", true}, {"while True: pass", false}, {"lambda x:", false},
	} {
		if got := starlarkgs.Incomplete(tc.src); got != tc.want {
			t.Errorf("Incomplete(%q) = %v, want %v", tc.src, got, tc.want)
		}
	}
}

func TestComplete(t *testing.T) {
	h, _ := newHost(t)
	if _, err := h.Chunk(context.Background(), "<prompt>", "s = struct(alpha = [1], beta = 2)\ncalls = []\ndef f(): calls.append(1)"); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ expr, want string }{
		{"s", "alpha beta"}, {"s.alpha", "append clear extend index insert pop remove"}, {"s.alpha[0]", ""}, {"s.gamma", ""}, {"zzz", ""}, {"f()", ""}, {"s.", ""}, {"x = s", ""},
	} {
		if got := strings.Join(h.Complete(context.Background(), tc.expr), " "); got != tc.want {
			t.Errorf("Complete(%q) = %q, want %q", tc.expr, got, tc.want)
		}
	}
	if v := h.Globals()["calls"]; v.String() != "[]" {
		t.Errorf("completion called a function: %s", v)
	}
}

func TestShow(t *testing.T) {
	h, out := newHost(t)
	h.Define("answer", starlark.MakeInt(42))
	for _, src := range []string{"answer", "'text'", "None", "x = 1", `constant("c", [1, 2])`} {
		v, err := h.Chunk(context.Background(), "<prompt>", src)
		if err != nil {
			t.Fatal(err)
		}
		h.Show(v)
	}
	if got := out.String(); !strings.HasPrefix(got, "42\n\"text\"\n") || !strings.Contains(got, "int64") {
		t.Errorf("shown:\n%s", got)
	}
}
