package format

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/starlarkgs/starlarkgs/internal/startest"
	"github.com/starlarkgs/starlarkgs/starlarkgs"
)

// TestSource lays out scripts. A case is "=== name", the script, "--", the layout.
func TestSource(t *testing.T) {
	data, err := os.ReadFile("testdata/format.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases := strings.Split(string(data), "=== ")[1:]
	if len(cases) < 10 {
		t.Fatalf("got %d cases, want at least 10", len(cases))
	}
	for _, c := range cases {
		name, rest, _ := strings.Cut(c, "\n")
		src, want, _ := strings.Cut(rest, "--\n")
		t.Run(name, func(t *testing.T) {
			src := strings.NewReplacer(`<tab>`, "\t", `<cr>`, "\r").Replace(src)
			want := strings.ReplaceAll(want, `<tab>`, "\t")
			if got := settled(t, src); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// settled lays out a script, which laid out again must stay.
func settled(t *testing.T, src string) string {
	t.Helper()
	out, err := Source("a.star", src)
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	again, err := Source("a.star", out)
	if err != nil || again != out {
		t.Errorf("laid out again (%v), got\n%s\nwant\n%s", err, again, out)
	}
	return out
}

// eachScript calls f for each script of the repository; those of tests that hold
// several are split.
func eachScript(t testing.TB, f func(path, text string)) {
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".star" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		chunks, err := startest.Split(path, string(data))
		if err != nil || len(chunks) == 1 {
			f(path, string(data))
			return nil
		}
		for _, c := range chunks {
			f(path, c.Source)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestRepository lays out every script of the repository that is one.
func TestRepository(t *testing.T) {
	n := 0
	eachScript(t, func(path, text string) {
		if _, err := starlarkgs.Parse(path, text); err != nil {
			return // it shows an error of syntax
		}
		n++
		settled(t, text)
	})
	if n < 50 {
		t.Errorf("got %d scripts, want at least 50", n)
	}
}

// TestShipped holds the scripts that are shipped to their layout.
func TestShipped(t *testing.T) {
	n := 0
	eachScript(t, func(path, text string) {
		if !strings.HasPrefix(path, filepath.Join("..", "..", "scripts")) {
			return
		}
		n++
		if out, err := Source(path, text); err != nil || out != text {
			t.Errorf("%s is not laid out (%v): run sgs fmt scripts", path, err)
		}
	})
	if n < 3 {
		t.Errorf("got %d scripts, want at least 3", n)
	}
}

func TestErrors(t *testing.T) {
	tests := []struct{ name, src, want string }{
		{"syntax", "x = (1\n", "a.star:1:7: got end of file, want ')'"},
		{"decorator", "@a\nx = 1\n", "a.star:1:1: decorator @a: got \"x\" under it, want a def"},
		{"precedence", "x = not not a == b\n", "a.star: the layout would change what the script means, so the file is left as it is"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, err := Source("a.star", tt.src)
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) || out != "" {
				t.Errorf("got %q and %v, want the error %s", out, err, tt.want)
			}
		})
	}
}

// FuzzSource lays out any text: what is given back means the same and stays as
// it is when it is laid out again.
func FuzzSource(f *testing.F) {
	eachScript(f, func(_, text string) { f.Add(text) })
	for _, src := range []string{"@a\n\n# b\n@c(\n1) # d\ndef f():\n\twhile (x and\n\ty): pass\n", "x = 'é' + b'\\xff' + '''a\n'b'''\r\n", "if x:\n pass\nelse:\n while y:\n  z\n#a\n  #b\n", "f(a, # b\n c)\n"} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		out, err := Source("a.star", src)
		if err != nil {
			return
		}
		before, err := starlarkgs.Parse("a.star", src)
		if err != nil {
			t.Fatalf("%q was laid out, and does not parse: %v", src, err)
		}
		if err := unchanged("a.star", before, strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(src), out); err != nil {
			t.Errorf("%q: %v", src, err)
		}
		if again, err := Source("a.star", out); err != nil || again != out {
			t.Errorf("%q is laid out as %q, and that as %q (%v)", src, out, again, err)
		}
	})
}
