package starlarkgs

import (
	"fmt"
	"strings"
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/starlarkgs/starlarkgs/internal/starlex"
)

// TestDecorators runs scripts with decorators that write what happens into a log.
func TestDecorators(t *testing.T) {
	for _, tc := range []struct{ name, src, want string }{
		{"one", "@d\ndef f(): return 1\nlog(f())", "d(f) 1"},
		{"a call", "@tag(\"a\")\ndef f(): return 1\nlog(f())", "a(f) 1"},
		{"the lowest comes first", "@tag(\"a\")\n@tag(\"b\")\n@tag(\"c\")\ndef f(): return 1\nlog(f())", "c(f) b(f) a(f) 1"},
		{"comments and empty lines between", "@tag(\"a\")  # first\n\n# more\n@tag(\"b\")\n# still\n\ndef f(): return 1", "b(f) a(f)"},
		{"arguments over several lines", "@tag(\n  \"a\",  # ) not the end\n)\ndef f(): return 1", "a(f)"},
		{"a continued line", "@tag \\\n  (\"a\")\ndef f(): return 1", "a(f)"},
		{"a space behind the sign", "@ d\ndef f(): return 1", "d(f)"},
		{"in a def", "def g():\n    @d\n    def f(): return 1\n    return f\nlog(g()())", "d(f) 1"},
		{"in if, for and while", "if 1:\n  @d\n  def a(): pass\nelse:\n  @d\n  def b(): pass\nfor i in range(2):\n  @d\n  def c(): pass\nwhile True:\n  @d\n  def e(): pass\n  break", "d(a) d(c) d(c) d(e)"},
		{"with tabs", "def g():\n\t@d\n\tdef f(): return 1\n\treturn f\ng()", "d(f)"},
		{"an expression", "@{\"x\": d}[\"x\"]\ndef f(): return 1", "d(f)"},
		{"a lambda", "@lambda f: log(\"l\") or f\ndef f(): return 1\nlog(f())", "l 1"},
		{"one line only", "@d\ndef f(): return 1", "d(f)"},
		{"recursion sees the decorated one", "@twice\ndef f(n): return 1 if n == 0 else f(n - 1) + 1\nlog(f(1))", "6"},
		{"signs in strings", `s = "@d"` + "\n" + `u = '''` + "\n@d\n" + `'''` + "\n" + `w = """\"""` + "\n@d\n" + `"""` + "\nlog(len(s + u + w))", "13"},
		{"escaped quotes", `s = "\"@d"` + "\nw = '\\'@d'\nlog(s, w)", `"@d '@d`},
		{"raw and bytes", `s = rb"\"@d"` + "\n" + `u = b"@"` + "\n" + `v = r'@\''` + "\nlog(v)", `@\'`},
		{"in comments", "# @d\nx = 1 # @d\nlog(x)", "1"},
		{"carriage returns", "@tag(\r\n \"a\")\r\ndef f(): return 1\r\n\r@d\rdef g(): pass\r", "a(f) d(g)"},
		{"a name that begins with def", "default = 1\nlog(default)", "1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := runLogged(tc.src)
			if err != nil {
				t.Fatal(err)
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// runLogged runs a script and returns what its decorators and log wrote.
func runLogged(src string) (string, error) {
	var log []string
	add := func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		for _, a := range args {
			s, ok := starlark.AsString(a)
			if !ok {
				s = a.String()
			}
			log = append(log, s)
		}
		return starlark.None, nil
	}
	tag := func(name string) *starlark.Builtin {
		return starlark.NewBuiltin(name, func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			log = append(log, fmt.Sprintf("%s(%s)", name, args[0].(*starlark.Function).Name()))
			return args[0], nil
		})
	}
	env := starlark.StringDict{
		"log": starlark.NewBuiltin("log", add), "d": tag("d"),
		"tag": starlark.NewBuiltin("tag", func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			return tag(string(args[0].(starlark.String))), nil
		}),
		"twice": starlark.NewBuiltin("twice", func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			fn := args[0]
			return starlark.NewBuiltin("twice", func(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
				v, err := starlark.Call(t, fn, args, nil)
				if err != nil {
					return nil, err
				}
				return starlark.Binary(syntax.STAR, v, starlark.MakeInt(2))
			}), nil
		}),
	}
	file, err := parse("a.star", src, dialect)
	if err != nil {
		return "", err
	}
	prog, err := starlark.FileProgram(file, env.Has)
	if err != nil {
		return "", err
	}
	_, err = prog.Init(new(starlark.Thread), env)
	return strings.Join(log, " "), err
}

// TestDecoratorPlaces checks that every token keeps its place and that the
// decorators' expressions have theirs.
func TestDecoratorPlaces(t *testing.T) {
	const src = "x = 'größe'\n@a.b(\n    c,\n    d = e)\ndef f(y):\n    return y\n"
	file, err := parse("a.star", src, dialect)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	syntax.Walk(file, func(n syntax.Node) bool {
		if id, ok := n.(*syntax.Ident); ok {
			got = append(got, fmt.Sprintf("%s:%d:%d", id.Name, id.NamePos.Line, id.NamePos.Col))
		}
		return true
	})
	want := "x:1:1 f:5:5 y:5:7 y:6:12 f:5:5 a:2:2 b:2:4 c:3:5 d:4:5 e:4:9 f:5:5"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
	call := file.Stmts[2].(*syntax.AssignStmt).RHS.(*syntax.CallExpr)
	if p := call.Lparen; p.Line != 2 || p.Col != 2 {
		t.Errorf("the call of the decorator stands at %s, want 2:2", p)
	}
}

// FuzzDecorators checks that the pass over the text never panics, that nothing
// but decorators is blanked, and that what the parser makes of the rest stands
// where it stood.
func FuzzDecorators(f *testing.F) {
	for _, src := range []string{
		"@register\ndef f(self): pass\n", "@a(\n  b = \"@\",\n)\n# @\ndef f(): return '''@\n@'''\n", "x = [\n@\n]\n", "x = '''\\'''@\n'''\n",
		"@\n", "@a", "@a\r\ndef f(): pass\r", "if x:\n\t@a\n\t@b\n\tdef f(): pass\n", "r'\\'@\n@a\ndef f(): pass", "rb\"\"\"@\"\"\"\n@a # @\n\n\ndef f():\n pass\n",
		"@a\\\n.b\ndef f(): pass", "def f():\n  @a(1,\n)\n  def g(): pass\n", "é = 'ü'; x\n@é\ndef f(): pass", "x = 1 @ 2", "'a\\\n@'\n@b\ndef f():pass",
	} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		out, found, err := findDecorators("f.star", src)
		if err != nil {
			return
		}
		if len(out) != len(src) {
			t.Fatalf("%q became %q: got %d bytes, want %d", src, out, len(out), len(src))
		}
		for i := range out {
			if out[i] != src[i] && (out[i] != ' ' || starlex.IsNewline(src[i])) {
				t.Fatalf("%q became %q: byte %d changed", src, out, i)
			}
		}
		if len(found) == 0 && string(out) != src {
			t.Fatalf("%q became %q without a decorator", src, out)
		}
		file, err := dialect.Parse("f.star", out, 0)
		if err != nil || badByte(src) >= 0 {
			return
		}
		checkPlaces(t, src, file, found)
	})
}

// checkPlaces finds every identifier and def of the tree in the text.
func checkPlaces(t *testing.T, src string, file *syntax.File, found map[place][]*decorator) {
	at := map[place]string{}
	l := newLexer(src)
	for tok := l.Next(); tok.Kind != tokEOF; tok = l.Next() {
		at[place{tok.Line, tok.Col}] = l.Text(tok)
	}
	defs := 0
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.LoadStmt:
			return false // its names are strings
		case *syntax.Ident:
			if got := at[place{int(n.NamePos.Line), int(n.NamePos.Col)}]; got != n.Name {
				t.Fatalf("%q: at %s stands %q, want %q", src, n.NamePos, got, n.Name)
			}
		case *syntax.DefStmt:
			if found[place{int(n.Def.Line), int(n.Def.Col)}] != nil {
				defs++
			}
		}
		return true
	})
	if defs != len(found) {
		t.Fatalf("%q: %d defs are decorated, want %d", src, defs, len(found))
	}
}

// FuzzText checks that what reads scripts never panics, whatever they are.
func FuzzText(f *testing.F) {
	for _, src := range []string{"f(", "'''", "\"\\", "x = 1 if", "@", "def f():", "a[1:, 2]", "x is", "1e+", "\\", "\x00", "\xff", "(]", "x\ty = 'é'"} {
		f.Add(src)
	}
	h := New(Options{MaxSteps: 10_000})
	f.Fuzz(func(t *testing.T, src string) {
		Incomplete(src)
		h.sources["f.star"] = src
		file, err := parse("f.star", src, dialect)
		if err == nil {
			_, err = starlark.FileProgram(file, func(string) bool { return true })
		}
		if err == nil {
			return
		}
		text := h.wrap(err).Error()
		if !strings.HasPrefix(text, "f.star:") || strings.Contains(text, "internal error") {
			t.Fatalf("%q: got the error %q, want one with a place", src, text)
		}
	})
}

func BenchmarkDecorators(b *testing.B) {
	for _, n := range []int{1000, 4000} {
		var src strings.Builder
		for i := range n {
			fmt.Fprintf(&src, "@register(name = \"l%d\")\ndef f%d(self, x):\n    return self.layer(\"Relu\", inputs = [x], outputs = [\"y\"])[0]\n\n", i, i)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if _, err := parse("bench.star", src.String(), dialect); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
