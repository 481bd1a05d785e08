package starlarkgs_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/starlarkgs/starlarkgs/starlarkgs"
)

var update = flag.Bool("update", false, "write the errors that the scripts of testdata/errors.txt give into it")

// TestErrors runs the scripts of testdata/errors.txt, each of which fails, and
// compares the whole text of the error. A case is "=== name", the script, "--",
// the text.
func TestErrors(t *testing.T) {
	const file = "testdata/errors.txt"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for i, c := range strings.Split(string(data), "\n=== ") {
		if i == 0 {
			out.WriteString(c)
			continue
		}
		name, rest, _ := strings.Cut(c, "\n")
		src, want, ok := strings.Cut(rest+"\n", "\n--\n")
		if !ok {
			t.Fatalf("%s: got no line with -- and the error behind it", name)
		}
		got := ""
		t.Run(name, func(t *testing.T) {
			got = scriptError(t, strings.NewReplacer(`\r`, "\r", `\x1b`, "\x1b").Replace(src))
			if got != strings.TrimRight(want, "\n") && !*update {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
		out.WriteString("\n=== " + name + "\n" + src + "\n--\n" + got)
	}
	if *update {
		if err := os.WriteFile(file, []byte(out.String()+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// scriptError runs a script in testdata and returns the text of its error.
func scriptError(t *testing.T, src string) string {
	t.Helper()
	var out bytes.Buffer
	h := starlarkgs.New(starlarkgs.Options{Stdout: &out, Stderr: &out, MaxSteps: 1_000_000})
	_, err := h.RunSource(context.Background(), "testdata/a.star", src, nil)
	if err == nil {
		t.Fatal("got no error, want one")
	}
	return err.Error()
}
