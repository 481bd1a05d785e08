package syntax

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/starlarkgs/starlarkgs/internal/spell"
)

// Error is what is wrong with a text, and where.
type Error struct {
	Line, Col int // from 1; columns count bytes
	Text      string
}

// Error returns line, column and text.
func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Col, e.Text) }

// scanner reads the words of a text. After the first error it is at the end, and
// whatever reads on finds nothing; so only the first error counts.
type scanner struct {
	text []byte
	pos  int
	err  *Error
	// pragmas are the #@ comments that no element has taken yet; up to noted the
	// text was searched for them.
	pragmas []pragma
	noted   int
}

// pragma is the text of one #@ comment and where it begins.
type pragma struct {
	text string
	pos  int
}

func (s *scanner) fail(pos int, format string, args ...any) {
	if s.err == nil {
		before := s.text[:min(pos, len(s.text))]
		line := bytes.Count(before, []byte("\n"))
		s.err = &Error{line + 1, len(before) - bytes.LastIndexByte(before, '\n'), fmt.Sprintf(format, args...)}
	}
	s.pos = len(s.text)
}

// want fails at the next word.
func (s *scanner) want(what string) {
	s.space()
	s.fail(s.pos, "got %s, want %s", s.found(), what)
}

// found names the next word for an error.
func (s *scanner) found() string {
	if s.pos >= len(s.text) {
		return "the end of the text"
	}
	end := s.pos + 1
	if isIDByte(s.text[s.pos]) {
		for end < len(s.text) && isIDByte(s.text[end]) && end-s.pos < 40 {
			end++
		}
	}
	return fmt.Sprintf("%q", s.text[s.pos:end])
}

// space passes over white space and comments, and takes note of pragmas.
func (s *scanner) space() {
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; {
		case c == ' ' || c >= '\t' && c <= '\r':
			s.pos++
		case c == '#':
			end := len(s.text)
			if i := bytes.IndexByte(s.text[s.pos:], '\n'); i >= 0 {
				end = s.pos + i
			}
			if rest, ok := bytes.CutPrefix(s.text[s.pos:end], []byte("#@")); ok && s.pos >= s.noted {
				s.pragmas = append(s.pragmas, pragma{string(rest), s.pos})
				s.noted = end
			}
			s.pos = end
		default:
			return
		}
	}
}

// taken returns the pragmas that stand before the next word.
func (s *scanner) taken() []pragma {
	s.space()
	ps := s.pragmas
	s.pragmas = nil
	return ps
}

func (s *scanner) next() byte {
	s.space()
	if s.pos < len(s.text) {
		return s.text[s.pos]
	}
	return 0
}

func (s *scanner) matches(c byte) bool {
	if s.next() == c && s.pos < len(s.text) {
		s.pos++
		return true
	}
	return false
}

func (s *scanner) match(c byte) {
	if !s.matches(c) {
		s.want(fmt.Sprintf("%q", string(c)))
	}
}

func isAlpha(c byte) bool  { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isIDByte(c byte) bool { return isAlpha(c) || isDigit(c) || c == '_' }

// isID reports whether a name can stand without quotes.
func isID(name string) bool {
	if name == "" || isDigit(name[0]) {
		return false
	}
	for i := range len(name) {
		if !isIDByte(name[i]) {
			return false
		}
	}
	return true
}

// word returns the identifier that comes next, or "".
func (s *scanner) word() string {
	s.space()
	from := s.pos
	if from < len(s.text) && !isDigit(s.text[from]) {
		for s.pos < len(s.text) && isIDByte(s.text[s.pos]) {
			s.pos++
		}
	}
	return string(s.text[from:s.pos])
}

// peek is word that stays where it is.
func (s *scanner) peek() string {
	s.space()
	pos := s.pos
	w := s.word()
	s.pos = pos
	return w
}

// name returns the identifier or quoted name that must come next.
func (s *scanner) name(what string) string {
	if s.next() == '"' {
		return s.quoted()
	}
	w := s.word()
	if w == "" {
		s.want(what)
	}
	return w
}

// str returns the string that must come next.
func (s *scanner) str(what string) string {
	if s.next() != '"' {
		s.want(what)
		return ""
	}
	return s.quoted()
}

// quoted reads a string, in which a backslash stands before a quote or backslash.
func (s *scanner) quoted() string {
	from := s.pos
	var b strings.Builder
	for i := s.pos + 1; i < len(s.text); i++ {
		switch c := s.text[i]; c {
		case '"':
			s.pos = i + 1
			return b.String()
		case '\\':
			if i++; i < len(s.text) {
				b.WriteByte(s.text[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	s.fail(from, "the string has no end")
	return ""
}

// quote writes a string as quoted reads it.
func quote(v string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(v) + `"`
}

func ident(name string) string {
	if isID(name) && !isTypeWord(name) && !isFloatWord(name) {
		return name
	}
	return quote(name)
}

// number returns the text of the number that must come next, and whether it is
// an integer's; inf, infinity and nan are numbers too.
func (s *scanner) number() (text string, integer bool) {
	s.space()
	from := s.pos
	if s.matches('-') {
		s.space()
	}
	if w := s.word(); w != "" {
		switch strings.ToLower(w) {
		case "inf", "infinity", "nan":
			return s.since(from), false
		}
		s.pos = from
		s.want("a number")
		return "", false
	}
	digits := func() {
		for s.pos < len(s.text) && isDigit(s.text[s.pos]) {
			s.pos++
		}
	}
	start := s.pos
	digits()
	if s.pos == start {
		s.pos = from
		s.want("a number")
		return "", false
	}
	integer = true
	if s.pos < len(s.text) && s.text[s.pos] == '.' {
		integer = false
		s.pos++
		digits()
	}
	if s.pos < len(s.text) && (s.text[s.pos] == 'e' || s.text[s.pos] == 'E') {
		integer = false
		s.pos++
		if s.pos < len(s.text) && (s.text[s.pos] == '+' || s.text[s.pos] == '-') {
			s.pos++
		}
		digits()
	}
	return s.since(from), integer
}

// since returns the text from a place on, without the space after a sign.
func (s *scanner) since(from int) string {
	return strings.Join(strings.Fields(string(s.text[from:s.pos])), "")
}

// hint returns names near a word, as errors have them.
func hint(word string, names []string) string { return spell.Hint(word, names) }
