package starlarkgs

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind is what a token is, as far as the passes over the text must know.
type tokenKind uint8

const (
	tokEOF     tokenKind = iota
	tokNewline           // the end of a logical line: no bracket is open
	tokName              // identifier or keyword
	tokNumber
	tokString // with its prefix
	tokOp     // operator, bracket or any other character
)

// token is a piece of the text. Lines and columns count from 1, columns in
// characters, as Starlark's scanner counts.
type token struct {
	kind             tokenKind
	off, end         int // bytes of the text
	line, col        int // where it starts
	endLine, endCol  int
	first, lineFirst bool // first of its logical line; of its line of text
}

// lexer splits a script into tokens as Starlark's scanner does, but never fails:
// what it does not know is a token too, and the parser reports it. It skips
// spaces, comments and continued lines.
type lexer struct {
	src       string
	off       int
	line, col int
	first     bool // no token of this logical line yet
	lineFirst bool
	open      []token // brackets that are open
}

func newLexer(src string) *lexer {
	return &lexer{src: src, line: 1, col: 1, first: true, lineFirst: true}
}

// text returns the text of a token.
func (l *lexer) text(t token) string { return l.src[t.off:t.end] }

// advance moves over one character; "\r\n" and "\r" are newlines.
func (l *lexer) advance() {
	c := l.src[l.off]
	switch {
	case c == '\n' || c == '\r':
		l.off++
		if c == '\r' && l.off < len(l.src) && l.src[l.off] == '\n' {
			l.off++
		}
		l.line, l.col = l.line+1, 1
		return
	case c < utf8.RuneSelf:
		l.off++
	default:
		_, n := utf8.DecodeRuneInString(l.src[l.off:])
		l.off += n
	}
	l.col++
}

func (l *lexer) to(off int) {
	for l.off < off {
		l.advance()
	}
}

func isNewline(c byte) bool { return c == '\n' || c == '\r' }

// skip moves to the start of the next token.
func (l *lexer) skip() {
	for l.off < len(l.src) {
		switch c := l.src[l.off]; {
		case c == ' ' || c == '\t':
			l.advance()
		case c == '#':
			for l.off < len(l.src) && !isNewline(l.src[l.off]) {
				l.advance()
			}
		case c == '\\' && l.off+1 < len(l.src) && isNewline(l.src[l.off+1]):
			l.advance()
			l.newline()
		case isNewline(c) && (len(l.open) > 0 || l.first):
			l.newline()
		default:
			return
		}
	}
}

func (l *lexer) newline() {
	l.advance()
	l.lineFirst = true
}

// next returns the next token.
func (l *lexer) next() token {
	l.skip()
	t := token{off: l.off, line: l.line, col: l.col, first: l.first, lineFirst: l.lineFirst}
	switch {
	case l.off == len(l.src):
		t.kind = tokEOF
	case isNewline(l.src[l.off]):
		t.kind = tokNewline
		l.newline()
		l.first = true
	default:
		t.kind = l.word()
		l.first, l.lineFirst = false, false
	}
	t.end, t.endLine, t.endCol = l.off, l.line, l.col
	l.bracket(t)
	return t
}

// word moves over a token that is neither newline nor end.
func (l *lexer) word() tokenKind {
	rest := l.src[l.off:]
	if n, _ := stringLen(rest); n > 0 {
		l.to(l.off + n)
		return tokString
	}
	switch r, size := utf8.DecodeRuneInString(rest); {
	case isNameStart(r):
		l.to(l.off + nameLen(rest))
		return tokName
	case r >= '0' && r <= '9':
		l.to(l.off + numberLen(rest))
		return tokNumber
	default:
		n := size
		for _, op := range longOps {
			if strings.HasPrefix(rest, op) {
				n = len(op)
				break
			}
		}
		l.to(l.off + n)
		return tokOp
	}
}

// longOps are the operators of several characters, longest first.
var longOps = []string{"<<=", ">>=", "//=", "**", "//", "<<", ">>", "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="}

func (l *lexer) bracket(t token) {
	if t.kind != tokOp {
		return
	}
	switch l.src[t.off] {
	case '(', '[', '{':
		l.open = append(l.open, t)
	case ')', ']', '}':
		if n := len(l.open); n > 0 {
			l.open = l.open[:n-1]
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

// stringLen returns the length of the string literal that s begins with, 0 for
// none. One that does not end stops at the end of its line, one in triple quotes
// at the end of the text; the parser reports it.
func stringLen(s string) (n int, closed bool) {
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
		case isNewline(c) && !triple:
			return i, false
		case c == quote[0] && strings.HasPrefix(s[i:], quote):
			return i + len(quote), true
		}
	}
	return len(s), false
}
