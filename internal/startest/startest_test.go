package startest

import (
	"errors"
	"strings"
	"testing"
)

const file = `# first chunk
x = 1
---
# skip:not today
# backend:reference
# second, with options
x = 2
# key:no option behind a statement
---

## third
f(  ### "got .*, want" ` + "`primary`" + `
`

func TestSplit(t *testing.T) {
	cs, err := Split("a.star", file)
	if err != nil {
		t.Fatal(err)
	}
	if len(cs) != 3 {
		t.Fatalf("got %d chunks, want 3", len(cs))
	}
	if c := cs[0]; c.Name != "first chunk" || c.Source != "# first chunk\nx = 1\n" || len(c.Options) != 0 {
		t.Errorf("first = %+v", c)
	}
	if c := cs[1]; c.Name != "second, with options" || c.Options["skip"] != "not today" || c.Options["backend"] != "reference" || len(c.Options) != 2 || c.Line != 4 {
		t.Errorf("second = %+v", c)
	}
	if c := cs[2]; c.Name != "third" || strings.Index(c.Source, "f(") != strings.LastIndex(c.Source[:strings.Index(c.Source, "f(")], "\n")+1 || strings.Count(c.Source[:strings.Index(c.Source, "f(")], "\n") != 11 || len(c.wants) != 2 {
		t.Errorf("third = %+v", c)
	}
	for _, bad := range []string{"x = 1\n", "# a\nx ### \"(\"\n"} {
		if _, err := Split("a.star", bad); err == nil || !strings.HasPrefix(err.Error(), "a.star:") {
			t.Errorf("Split(%q) = %v, want an error with a place", bad, err)
		}
	}
}

func TestCheck(t *testing.T) {
	cs, err := Split("a.star", "# c\nf(x) ### \"undefined: x\"\ng(y) ### \"undefined: y\"\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, err string
		want      int
	}{
		{"both, the texts of calls aside", "a.star:2:3: undefined: x\n  f(x)\n    ^\na.star:3:3: undefined: y\n    at a.star:9:9 in f", 0},
		{"none", "", 2},
		{"one missing", "a.star:2:3: undefined: x", 1},
		{"other line", "a.star:2:3: undefined: x\na.star:4:3: undefined: y", 2},
		{"other file", "b.star:2:3: undefined: x\na.star:3:3: undefined: y", 2},
		{"other text", "a.star:2:3: undefined: z\na.star:3:3: undefined: y", 2},
		{"no place", "boom", 3},
	} {
		var err error
		if tc.err != "" {
			err = errors.New(tc.err)
		}
		if got := cs[0].Check(err); len(got) != tc.want {
			t.Errorf("%s: got %q, want %d problems", tc.name, got, tc.want)
		}
	}
}

func TestRun(t *testing.T) {
	var names []string
	Run(t, "testdata/*.star", func(t *testing.T, c Chunk) error {
		names = append(names, c.Name)
		if strings.Contains(c.Source, "boom") {
			return errors.New("x.star:5:1: boom")
		}
		return nil
	})
	if got := strings.Join(names, ","); got != "runs,fails as it should" {
		t.Errorf("ran %s", got)
	}
}
