package starlarkgs

import (
	"context"
	"fmt"
	"strings"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/internal/starlex"
)

// Incomplete reports whether the lines typed so far are the beginning of a
// statement that goes on: a bracket, a string or a continued line is open, a
// decorator waits for its def, or the block of a compound statement was not yet
// ended by an empty line.
func Incomplete(src string) bool {
	l := newLexer(src)
	var first, last token // of the logical line
	block, waiting := false, false
	for t := l.Next(); t.Kind != tokEOF; t = l.Next() {
		if t.Kind == tokNewline {
			continue
		}
		if t.First {
			block = block || opensBlock(l, first, last)
			first = t
			if t.Col == 1 {
				word := l.Text(t)
				block = block && (word == "else" || word == "elif")
				waiting = word == "@" || waiting && word != "def"
			}
		}
		last = t
	}
	continued := strings.HasSuffix(strings.TrimRight(src, "\r\n"), "\\") && !strings.HasSuffix(src, "\n\n")
	switch {
	case len(l.Open) > 0 || continued || last.Kind == tokString && unclosedTriple(l.Text(last)):
		return true
	case waiting:
		return !strings.HasSuffix(strings.ReplaceAll(src, " ", ""), "\n\n")
	}
	return (block || opensBlock(l, first, last)) && !endsBlank(src)
}

// opensBlock reports whether a logical line begins a block on the next lines.
func opensBlock(l *lexer, first, last token) bool {
	if last.Kind != tokOp || l.Text(last) != ":" {
		return false
	}
	switch l.Text(first) {
	case "def", "if", "elif", "else", "for", "while":
		return true
	}
	return false
}

// unclosedTriple reports whether a literal in triple quotes lacks its end.
func unclosedTriple(s string) bool {
	s = strings.TrimLeft(s, "rb")
	_, closed := starlex.StringLen(s)
	return !closed && (strings.HasPrefix(s, `"""`) || strings.HasPrefix(s, "'''"))
}

// endsBlank reports whether the last line is empty, which ends a block.
func endsBlank(src string) bool {
	i := strings.LastIndexAny(src, "\r\n")
	return i >= 0 && strings.TrimSpace(src[i:]) == ""
}

// Complete returns the fields and methods of the value of an expression, for a
// prompt that completes what follows its dot. Nothing happens meanwhile: an
// expression that is more than names, dots and plain indices has none.
func (h *Host) Complete(ctx context.Context, expr string) []string {
	if strings.ContainsAny(expr, "()=\n") {
		return nil
	}
	var v starlark.Value
	err := h.guarded(ctx, "completion", func(t *starlark.Thread) error {
		var err error
		v, err = starlark.EvalOptions(dialect, t, "completion", expr, h.session.shared)
		return err
	})
	if x, ok := v.(starlark.HasAttrs); ok && err == nil {
		return x.AttrNames()
	}
	return nil
}

// Show writes what the prompt shows of a value: its table or one-line form.
func (h *Host) Show(v starlark.Value) {
	if v == nil || v == starlark.None {
		return
	}
	err := h.guarded(context.Background(), "show", func(t *starlark.Thread) error {
		text, err := builtin.Display(t, v)
		fmt.Fprintln(h.opts.Stdout, text)
		return err
	})
	if err != nil {
		fmt.Fprintln(h.opts.Stderr, err)
	}
}
