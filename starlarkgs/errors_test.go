package starlarkgs_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/starlarkgs/starlarkgs/starlarkgs"
)

var update = flag.Bool("update", false, "write the errors that the scripts of testdata/errors give beside them")

// TestErrors runs the scripts of testdata/errors, each of which fails, and
// compares the whole text of the error with the one in the .txt of its name.
func TestErrors(t *testing.T) {
	scripts, err := filepath.Glob("testdata/errors/*.star")
	if err != nil || len(scripts) < 200 {
		t.Fatalf("got %d scripts (%v), want at least 200", len(scripts), err)
	}
	texts, err := filepath.Glob("testdata/errors/*.txt")
	if err != nil || len(texts) != len(scripts) && !*update {
		t.Errorf("got %d texts (%v) for %d scripts", len(texts), err, len(scripts))
	}
	for _, script := range scripts {
		script = filepath.ToSlash(script)
		t.Run(strings.TrimSuffix(filepath.Base(script), ".star"), func(t *testing.T) { checkError(t, script) })
	}
}

func checkError(t *testing.T, script string) {
	src, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	got := scriptError(t, script, string(src)) + "\n"
	file := strings.TrimSuffix(script, ".star") + ".txt"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || got != string(want) {
		t.Errorf("got\n%s\nwant (%v)\n%s", got, err, want)
	}
}

// scriptError runs a script and returns the text of its error.
func scriptError(t *testing.T, name, src string) string {
	t.Helper()
	var out bytes.Buffer
	h := starlarkgs.New(starlarkgs.Options{Stdout: &out, Stderr: &out, MaxSteps: 1_000_000})
	_, err := h.RunSource(context.Background(), name, src, nil)
	if err == nil {
		t.Fatal("got no error, want one")
	}
	return err.Error()
}
