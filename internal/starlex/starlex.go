// Package starlex splits the text of a script into tokens, for the passes that
// look at it before or beside the parser: decorators, bounds, what a prompt
// waits for, hints, formatting.
package starlex

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind is what a token is, as far as the passes over the text must know.
type Kind uint8

// The kinds of tokens.
const (
	EOF     Kind = iota
	Newline      // the end of a logical line: no bracket is open
	Name         // identifier or keyword
	Number
	String // with its prefix
	Op     // operator, bracket or any other character
)

// Token is a piece of the text. Lines and columns count from 1, columns in
// characters, as Starlark's scanner counts.
type Token struct {
	Kind             Kind
	Off, End         int // bytes of the text
	Line, Col        int // where it starts
	EndLine, EndCol  int
	First, LineFirst bool // first of its logical line; of its line of text
}

// Lexer splits a script into tokens as Starlark's scanner does, but never fails:
// what it does not know is a token too, and the parser reports it. It skips
// spaces, comments and continued lines.
type Lexer struct {
	Src       string
	Off       int
	Line, Col int
	First     bool // no token of this logical line yet
	LineFirst bool
	Open      []Token // brackets that are open
}

// New returns a lexer at the start of the text.
func New(src string) *Lexer {
	return &Lexer{Src: src, Line: 1, Col: 1, First: true, LineFirst: true}
}

// Text returns the text of a token.
func (l *Lexer) Text(t Token) string { return l.Src[t.Off:t.End] }

// Advance moves over one character; "\r\n" and "\r" are newlines.
func (l *Lexer) Advance() {
	c := l.Src[l.Off]
	switch {
	case c == '\n' || c == '\r':
		l.Off++
		if c == '\r' && l.Off < len(l.Src) && l.Src[l.Off] == '\n' {
			l.Off++
		}
		l.Line, l.Col = l.Line+1, 1
		return
	case c < utf8.RuneSelf:
		l.Off++
	default:
		_, n := utf8.DecodeRuneInString(l.Src[l.Off:])
		l.Off += n
	}
	l.Col++
}

// To moves to a place of the text, as Advance does.
func (l *Lexer) To(off int) {
	for l.Off < off {
		l.Advance()
	}
}

// IsNewline reports whether a byte ends a line.
func IsNewline(c byte) bool { return c == '\n' || c == '\r' }

// skip moves to the start of the next token.
func (l *Lexer) skip() {
	for l.Off < len(l.Src) {
		switch c := l.Src[l.Off]; {
		case c == ' ' || c == '\t':
			l.Advance()
		case c == '#':
			for l.Off < len(l.Src) && !IsNewline(l.Src[l.Off]) {
				l.Advance()
			}
		case c == '\\' && l.Off+1 < len(l.Src) && IsNewline(l.Src[l.Off+1]):
			l.Advance()
			l.newline()
		case IsNewline(c) && (len(l.Open) > 0 || l.First):
			l.newline()
		default:
			return
		}
	}
}

func (l *Lexer) newline() {
	l.Advance()
	l.LineFirst = true
}

// Next returns the next token.
func (l *Lexer) Next() Token {
	l.skip()
	t := Token{Off: l.Off, Line: l.Line, Col: l.Col, First: l.First, LineFirst: l.LineFirst}
	switch {
	case l.Off == len(l.Src):
		t.Kind = EOF
	case IsNewline(l.Src[l.Off]):
		t.Kind = Newline
		l.newline()
		l.First = true
	default:
		t.Kind = l.word()
		l.First, l.LineFirst = false, false
	}
	t.End, t.EndLine, t.EndCol = l.Off, l.Line, l.Col
	l.bracket(t)
	return t
}

// word moves over a token that is neither newline nor end.
func (l *Lexer) word() Kind {
	rest := l.Src[l.Off:]
	if n, _ := StringLen(rest); n > 0 {
		l.To(l.Off + n)
		return String
	}
	switch r, size := utf8.DecodeRuneInString(rest); {
	case isNameStart(r):
		l.To(l.Off + nameLen(rest))
		return Name
	case r >= '0' && r <= '9':
		l.To(l.Off + numberLen(rest))
		return Number
	default:
		n := size
		for _, op := range longOps {
			if strings.HasPrefix(rest, op) {
				n = len(op)
				break
			}
		}
		l.To(l.Off + n)
		return Op
	}
}

// longOps are the operators of several characters, longest first.
var longOps = []string{"<<=", ">>=", "//=", "**", "//", "<<", ">>", "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="}

func (l *Lexer) bracket(t Token) {
	if t.Kind != Op {
		return
	}
	switch l.Src[t.Off] {
	case '(', '[', '{':
		l.Open = append(l.Open, t)
	case ')', ']', '}':
		if n := len(l.Open); n > 0 {
			l.Open = l.Open[:n-1]
		}
	}
}

func isNameStart(r rune) bool {
	return r == '_' || r < utf8.RuneSelf && (r|0x20 >= 'a' && r|0x20 <= 'z') || r >= utf8.RuneSelf && unicode.IsLetter(r)
}

func nameLen(s string) int {
	for i, r := range s {
		if !isNameStart(r) && (r < '0' || r > '9') {
			return i
		}
	}
	return len(s)
}

// numberLen is generous: what follows the digits without a space, as in 1_000 or
// 10L, is the parser's to refuse; it is a token of its own.
func numberLen(s string) int {
	n := 0
	hex := len(s) > 1 && s[0] == '0' && s[1]|0x20 == 'x'
	for n < len(s) {
		c := s[n]
		switch {
		case c >= '0' && c <= '9' || c == '.':
		case hex && (n == 1 || c|0x20 >= 'a' && c|0x20 <= 'f'):
		case n == 1 && s[0] == '0' && (c|0x20 == 'o' || c|0x20 == 'b'):
		case !hex && c|0x20 == 'e':
			if n+1 < len(s) && (s[n+1] == '+' || s[n+1] == '-') {
				n++
			}
		default:
			return n
		}
		n++
	}
	return n
}

// StringLen returns the length of the string literal that s begins with, 0 for
// none. One that does not end stops at the end of its line, one in triple quotes
// at the end of the text; the parser reports it.
func StringLen(s string) (n int, closed bool) {
	prefix := 0
	switch {
	case strings.HasPrefix(s, `rb"`), strings.HasPrefix(s, `rb'`):
		prefix = 2
	case len(s) > 1 && (s[0] == 'r' || s[0] == 'b') && (s[1] == '"' || s[1] == '\''):
		prefix = 1
	}
	if len(s) <= prefix || s[prefix] != '"' && s[prefix] != '\'' {
		return 0, true
	}
	quote := s[prefix : prefix+1]
	triple := len(s) >= prefix+3 && s[prefix+1] == quote[0] && s[prefix+2] == quote[0]
	if triple {
		quote = s[prefix : prefix+3]
	}
	for i := prefix + len(quote); i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			if i+1 < len(s) && s[i+1] == '\r' && i+2 < len(s) && s[i+2] == '\n' {
				i++
			}
			i++
		case IsNewline(c) && !triple:
			return i, false
		case c == quote[0] && strings.HasPrefix(s[i:], quote):
			return i + len(quote), true
		}
	}
	return len(s), false
}
