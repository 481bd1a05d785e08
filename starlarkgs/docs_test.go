package starlarkgs_test

import (
	"context"
	"os"
	"regexp"
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
