// Package startest runs test files written in Starlark under go test.
//
// A file is split into chunks at lines that begin with ---. Each chunk is a
// subtest, named by the file and by the chunk's first comment:
//
//	# the list is sorted
//	assert.eq(sorted([2, 1]), [1, 2])
//	---
//	# a typo is answered
//	grahp()  ### "undefined: grahp \(did you mean graph\?\)"
//
// A comment ### "regexp" says that its line must fail with a message that the
// regular expression matches; several on one line must all match. A chunk fails
// when it has an error that none expects, or lacks one that is expected. Chunks
// are padded with empty lines, so that line numbers are those of the file.
//
// Comments of the form "# key:value" before the first statement are options; skip
// with a reason passes a chunk over, the others are the evaluator's.
//
// The package knows nothing of hosts: the function given to Run evaluates a
// chunk, and makes its environment.
package startest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Chunk is one part of a test file.
type Chunk struct {
	Name    string            // of its first comment
	File    string            // the base name of the file
	Source  string            // with empty lines in front
	Options map[string]string // "# key:value"
	Line    int               // its first line in the file

	wants []want
}

// want is one expected error.
type want struct {
	line int
	rx   *regexp.Regexp
}

// Eval runs a chunk. The text of its error has lines "file:line:col: message",
// each of which is one error.
type Eval func(t *testing.T, c Chunk) error

// Run runs the chunks of the files that match the pattern.
func Run(t *testing.T, pattern string, eval Eval) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: got no files (%v), want at least one", pattern, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		chunks, err := Split(filepath.Base(file), string(data))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".star"), func(t *testing.T) {
			for _, c := range chunks {
				t.Run(c.Name, func(t *testing.T) { runChunk(t, c, eval) })
			}
		})
	}
}

func runChunk(t *testing.T, c Chunk, eval Eval) {
	if reason, ok := c.Options["skip"]; ok {
		t.Skip(reason)
	}
	for _, problem := range c.Check(eval(t, c)) {
		t.Error(problem)
	}
}

var (
	optionLine = regexp.MustCompile(`^#\s*([a-z][a-z-]*):(\S.*)$`)
	quoted     = regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`")
	errorLine  = regexp.MustCompile(`(?m)^(\S[^\n]*?):(\d+):(\d+): (.*)$`)
)

// Split splits the text of a test file into chunks.
func Split(file, text string) ([]Chunk, error) {
	var chunks []Chunk
	start := 1
	var lines []string
	flush := func() error {
		c := Chunk{File: file, Line: start, Options: map[string]string{}, Source: strings.Repeat("\n", start-1) + strings.Join(lines, "\n") + "\n"}
		if err := c.scan(lines); err != nil {
			return err
		}
		chunks = append(chunks, c)
		return nil
	}
	for i, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(line, "---") {
			lines = append(lines, line)
			continue
		}
		if err := flush(); err != nil {
			return nil, err
		}
		start, lines = i+2, nil
	}
	return chunks, flush()
}

// scan reads the name, the options and the expectations of a chunk.
func (c *Chunk) scan(lines []string) error {
	head := true
	for i, line := range lines {
		text := strings.TrimSpace(line)
		if m := optionLine.FindStringSubmatch(text); head && m != nil {
			c.Options[m[1]] = m[2]
		} else if comment, ok := strings.CutPrefix(text, "#"); ok && c.Name == "" {
			c.Name = strings.TrimSpace(strings.TrimLeft(comment, "#"))
		}
		head = head && (text == "" || strings.HasPrefix(text, "#"))
		_, expect, ok := strings.Cut(line, "###")
		if !ok {
			continue
		}
		for _, q := range quoted.FindAllString(expect, -1) {
			pattern, err := strconv.Unquote(q)
			if err != nil {
				return fmt.Errorf("%s:%d: %s: %w", c.File, c.Line+i, q, err)
			}
			rx, err := regexp.Compile(pattern)
			if err != nil {
				return fmt.Errorf("%s:%d: %w", c.File, c.Line+i, err)
			}
			c.wants = append(c.wants, want{c.Line + i, rx})
		}
	}
	if c.Name == "" {
		return fmt.Errorf("%s:%d: got a chunk without a comment, want one that names it", c.File, c.Line)
	}
	return nil
}

// Check compares the error of a chunk with those that it expects, and returns
// what is wrong.
func (c *Chunk) Check(err error) []string {
	var problems []string
	met := make([]bool, len(c.wants))
	text := ""
	if err != nil {
		text = err.Error()
	}
	found := errorLine.FindAllStringSubmatch(text, -1)
	for _, m := range found {
		line, _ := strconv.Atoi(m[2])
		expected := false
		for i, w := range c.wants {
			if w.line == line && filepath.Base(m[1]) == c.File && w.rx.MatchString(m[4]) {
				met[i], expected = true, true
			}
		}
		if !expected {
			problems = append(problems, "unexpected error: "+text)
		}
	}
	if err != nil && len(found) == 0 {
		problems = append(problems, "unexpected error: "+text)
	}
	for i, w := range c.wants {
		if !met[i] {
			problems = append(problems, fmt.Sprintf("%s:%d: got no error that matches %q; got %q", c.File, w.line, w.rx, text))
		}
	}
	return problems
}
