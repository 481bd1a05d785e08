package repl

import (
	"context"
	"sort"
	"strings"
	"time"
	"unicode"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/starlarkgs"
)

// completer completes the word before the cursor: names that are defined, or
// the attributes of the value before a dot.
type completer struct{ h *starlarkgs.Host }

var keywords = []string{"and", "break", "continue", "def", "elif", "else", "for", "if", "in", "lambda", "load", "not", "or", "pass", "return", "while"}

const completeLimit = 200 * time.Millisecond

// Do returns the endings of the words that fit, and the length of what is there.
func (c *completer) Do(line []rune, pos int) ([][]rune, int) {
	before := string(line[:pos])
	if strings.TrimSpace(before) == "" {
		return [][]rune{[]rune("    ")}, 0
	}
	path := lastPath(before)
	base, word := "", path
	if dot := strings.LastIndexByte(path, '.'); dot >= 0 {
		base, word = path[:dot], path[dot+1:]
	}
	var out [][]rune
	for _, name := range c.candidates(base) {
		if rest, ok := strings.CutPrefix(name, word); ok && (word != "" || !strings.HasPrefix(name, "_")) {
			out = append(out, []rune(rest))
		}
	}
	return out, len([]rune(word))
}

func (c *completer) candidates(base string) []string {
	if base != "" {
		ctx, cancel := context.WithTimeout(context.Background(), completeLimit)
		defer cancel()
		return c.h.Complete(ctx, base)
	}
	seen := map[string]bool{}
	for _, names := range [][]string{keywords, starlark.Universe.Keys(), c.h.Predeclared().Keys(), c.h.Globals().Keys()} {
		for _, n := range names {
			if !strings.Contains(n, "\x00") {
				seen[n] = true
			}
		}
	}
	out := make([]string, 0, len(seen))
	for n := range seen {
		out = append(out, n)
	}
	sort.Strings(out)
	return out
}

// lastPath returns the name, dotted and indexed by literals, that ends the text.
// Calls are left out: completing must not run anything.
func lastPath(text string) string {
	runes := []rune(text)
	i := len(runes)
	for i > 0 {
		r := runes[i-1]
		switch {
		case r == ']':
			k := i - 1
			for k > 0 && runes[k-1] != '[' {
				k--
			}
			inner := string(runes[k : i-1])
			if k == 0 || strings.ContainsAny(inner, "()") {
				return string(runes[i:])
			}
			i = k - 1
			continue
		case r == '.' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			i--
			continue
		}
		break
	}
	return string(runes[i:])
}
