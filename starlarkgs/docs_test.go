package starlarkgs_test

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
)

var block = regexp.MustCompile("(?s)```python\n(.*?)```\n\nprints\n\n```text\n(.*?)```")

// TestReadme runs the script of the README and compares what it prints.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := block.FindAllSubmatch(text, -1)
	if len(found) == 0 {
		t.Fatal("the README has no script with its output")
	}
	for _, m := range found {
		h, out := newHost(t)
		if _, err := h.RunSource(context.Background(), "README.md", string(m[1]), nil); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); got != string(m[2]) {
			t.Errorf("the script prints\n%s\nwant\n%s", got, m[2])
		}
	}
}

var (
	pythonBlock = regexp.MustCompile("(?s)```python\n(.*?)```")
	printsLine  = regexp.MustCompile(`(?m)^ *print\(.*\)(?:  # prints (.*))?$`)
)

// TestPages runs the blocks of each page as one script, with the lines where they
// stand, and compares what each print says with the comment behind it.
func TestPages(t *testing.T) {
	for page, least := range map[string]int{"from-graphsurgeon.md": 15, "standard-library.md": 5} {
		t.Run(page, func(t *testing.T) { runPage(t, page, least) })
	}
}

func runPage(t *testing.T, page string, least int) {
	text, err := os.ReadFile("../docs/" + page)
	if err != nil {
		t.Fatal(err)
	}
	var script, want strings.Builder
	at := 0
	for _, m := range pythonBlock.FindAllSubmatchIndex(text, -1) {
		script.WriteString(strings.Repeat("\n", bytes.Count(text[at:m[2]], []byte("\n"))))
		script.Write(text[m[2]:m[3]])
		at = m[3]
	}
	for _, m := range printsLine.FindAllStringSubmatch(script.String(), -1) {
		want.WriteString(m[1] + "\n")
	}
	if strings.Count(want.String(), "\n") < least {
		t.Fatalf("the page prints\n%swant %d lines or more", want.String(), least)
	}
	t.Chdir(t.TempDir())
	h, out := newHost(t)
	if _, err := h.RunSource(context.Background(), page, script.String(), nil); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != want.String() {
		t.Errorf("the page prints\n%s\nwant\n%s", got, want.String())
	}
}
