package starlarkgs

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.starlark.net/syntax"
)

// The bounds of a script that Starlark's parser takes in good time and without
// overflowing the stack; it cannot be interrupted.
const (
	maxSource = 4 << 20
	maxElif   = 10_000 // in one file: a chain of them takes quadratic time
	maxParts  = 20_000 // in one expression without commas: a tree of that depth
)

// textError is what the passes over the text find before the parser runs.
type textError struct {
	pos       syntax.Position
	msg, hint string
}

// Error returns the place and the message.
func (e *textError) Error() string { return fmt.Sprintf("%s: %s", e.pos, e.msg) }

func textErrorf(name string, t token, format string, args ...any) *textError {
	return &textError{pos: syntax.MakePosition(&name, int32(t.Line), int32(t.Col)), msg: fmt.Sprintf(format, args...)}
}

// checkSize refuses what would take the parser too long or too deep.
func checkSize(name, src string) error {
	if len(src) > maxSource {
		return textErrorf(name, token{Line: 1, Col: 1}, "script: got %s bytes, want at most %s", count(len(src)), count(maxSource))
	}
	if i := badByte(src); i >= 0 {
		l := newLexer(src)
		l.To(i)
		return textErrorf(name, token{Line: l.Line, Col: l.Col}, "script: got the byte 0x%02x, want text in UTF-8", src[i])
	}
	if len(src) < maxElif { // too short for any of it
		return nil
	}
	l := newLexer(src)
	elif, parts := 0, []int{0} // parts since the last comma, for each open bracket
	for t := l.Next(); t.Kind != tokEOF; t = l.Next() {
		last := len(parts) - 1
		if len(l.Open) < last {
			parts = parts[:last] // what the bracket held counts on its own
			continue
		}
		if t.Kind == tokNewline || l.Src[t.Off] == ',' || l.Src[t.Off] == ';' {
			parts[last] = 0
			continue
		}
		if parts[last]++; parts[last] > maxParts {
			return textErrorf(name, t, "expression: got more than %s parts, want fewer: split it into several statements", count(maxParts))
		}
		if len(l.Open) > last {
			parts = append(parts, 0)
		}
		if t.Kind == tokName && l.Text(t) == "elif" {
			if elif++; elif > maxElif {
				return textErrorf(name, t, "script: got more than %s elif branches, want fewer: use a dict", count(maxElif))
			}
		}
	}
	return nil
}

// badByte returns the place of the first byte that is not UTF-8, or is NUL,
// which Starlark's scanner takes for the end; -1 when there is none.
func badByte(src string) int {
	nul := strings.IndexByte(src, 0)
	if utf8.ValidString(src) {
		return nul
	}
	for i, r := range src {
		if i == nul {
			return i
		}
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(src[i:]); n == 1 {
				return i
			}
		}
	}
	return nul
}

// lineOf returns the text of a source line, or "".
func (h *Host) lineOf(pos syntax.Position) string {
	src, ok := h.sources[pos.Filename()]
	if !ok || pos.Line < 1 {
		return ""
	}
	l := newLexer(src)
	for l.Off < len(src) && l.Line < int(pos.Line) {
		l.Advance()
	}
	if l.Line < int(pos.Line) {
		return ""
	}
	rest := src[l.Off:]
	if i := strings.IndexAny(rest, "\r\n"); i >= 0 {
		rest = rest[:i]
	}
	return rest
}

// excerpt returns a source line as it is shown, and what stands before the
// caret of its column col on the next one. A long line is cut around the place.
func excerpt(line string, col int) (shown, indent string) {
	const most, lead = 160, 60
	if strings.TrimSpace(line) == "" {
		return "", ""
	}
	runes := []rune(printable(strings.TrimRight(line, " \t")))
	at := min(max(col-1, 0), len(runes))
	cutLeft, cutRight := "", ""
	if len(runes) > most {
		from := max(0, min(at-lead, len(runes)-most))
		to := min(len(runes), from+most)
		if from > 0 {
			cutLeft = "…"
		}
		if to < len(runes) {
			cutRight = "…"
		}
		runes, at = runes[from:to], at-from
	}
	var b strings.Builder
	for _, r := range append([]rune(cutLeft), runes[:at]...) {
		switch {
		case r == '\t':
			b.WriteByte('\t')
		default:
			b.WriteString("  "[:runeWidth(r)])
		}
	}
	return cutLeft + string(runes) + cutRight, b.String()
}

// runeWidth returns how many columns of a terminal the character takes.
func runeWidth(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r >= 0x1100 && (r <= 0x115f || r >= 0x2e80 && r <= 0xa4cf || r >= 0xac00 && r <= 0xd7a3 ||
		r >= 0xf900 && r <= 0xfaff || r >= 0xfe30 && r <= 0xfe6f || r >= 0xff00 && r <= 0xff60 ||
		r >= 0xffe0 && r <= 0xffe6 || r >= 0x1f300 && r <= 0x1faff || r >= 0x20000 && r <= 0x3fffd):
		return 2
	}
	return 1
}

// printable replaces control characters, with which a name in a model could
// write to the terminal; newlines and tabs stay.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return '\ufffd'
		}
		return r
	}, s)
}

// count writes a number with commas between thousands.
func count(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
