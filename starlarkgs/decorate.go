package starlarkgs

import (
	"fmt"
	"strings"

	"go.starlark.net/syntax"
)

// dialect is the variant of Starlark that scripts are written in.
var dialect = &syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true, Recursion: true}

// decorator is one '@' line: its place, and its expression.
type decorator struct {
	line, col int // of the '@', from 1
	text      string
	expr      syntax.Expr
}

type place struct{ line, col int }

// parse reads a script with decorators: it blanks them, parses the rest once,
// and inserts f = decorator(f) after each def that has some.
func parse(name, src string, opts *syntax.FileOptions) (*syntax.File, error) {
	blanked, found, err := findDecorators(name, src)
	if err != nil {
		return nil, err
	}
	file, err := opts.Parse(name, blanked, 0)
	if err != nil {
		return nil, err
	}
	for _, ds := range found {
		for _, d := range ds {
			if d.expr, err = parseDecorator(name, d, opts); err != nil {
				return nil, err
			}
		}
	}
	if len(found) > 0 {
		file.Stmts = insertDecorators(file.Stmts, found)
	}
	return file, nil
}

// findDecorators returns the text with decorators blanked, and those that stand
// above each def, by the def's place.
func findDecorators(name, src string) (string, map[place][]*decorator, error) {
	if !strings.Contains(src, "@") {
		return src, nil, nil
	}
	s := &decoratorScanner{name: name, src: src, out: []byte(src), line: 1, col: 1, found: map[place][]*decorator{}}
	if err := s.run(); err != nil {
		return "", nil, err
	}
	return string(s.out), s.found, nil
}

// decoratorScanner goes over the text once. It knows strings, comments and
// brackets; columns count characters, as Starlark's scanner does.
type decoratorScanner struct {
	name      string
	src       string
	out       []byte
	i         int
	line, col int
	depth     int // of brackets
	inLine    bool
	pending   []*decorator
	found     map[place][]*decorator
}

func (s *decoratorScanner) errorf(line, col int, format string, args ...any) error {
	return syntax.Error{Pos: syntax.MakePosition(&s.name, int32(line), int32(col)), Msg: fmt.Sprintf(format, args...)}
}

// next moves over one character.
func (s *decoratorScanner) next() {
	c := s.src[s.i]
	s.i++
	switch {
	case c == '\n':
		s.line, s.col = s.line+1, 1
	case c&0xc0 != 0x80: // not the middle of a UTF-8 sequence
		s.col++
	}
}

func (s *decoratorScanner) run() error {
	for s.i < len(s.src) {
		if err := s.step(); err != nil {
			return err
		}
	}
	return s.orphan()
}

// orphan is the error of a decorator that no def follows.
func (s *decoratorScanner) orphan() error {
	if len(s.pending) == 0 {
		return nil
	}
	d := s.pending[len(s.pending)-1]
	return s.errorf(d.line, d.col, "decorator @%s: want a def on the next line", strings.TrimSpace(d.text))
}

func (s *decoratorScanner) step() error {
	c := s.src[s.i]
	switch {
	case c == '\n':
		if s.depth == 0 {
			s.inLine = false
		}
		s.next()
	case c == ' ' || c == '\t' || c == '\r':
		s.next()
	case c == '#':
		s.comment()
	case c == '\\' && s.i+1 < len(s.src) && s.src[s.i+1] == '\n':
		s.next()
		s.next()
	case c == '@' && !s.inLine && s.depth == 0:
		return s.decorator()
	case c == '@' && s.depth > 0 && s.firstOnLine():
		return s.errorf(s.line, s.col, "got '@' inside brackets, want a closing bracket before a decorator")
	case c == '@':
		return s.errorf(s.line, s.col, "operator @ is not one of Starlark's; use np.matmul(a, b), or g.op.MatMul(a, b) for tensors")
	default:
		return s.token()
	}
	return nil
}

func (s *decoratorScanner) firstOnLine() bool {
	start := strings.LastIndexByte(s.src[:s.i], '\n') + 1
	return strings.TrimSpace(s.src[start:s.i]) == ""
}

func (s *decoratorScanner) comment() {
	for s.i < len(s.src) && s.src[s.i] != '\n' {
		s.next()
	}
}

// token moves over what is no space: a string whole, a bracket, a word, else
// one character. The first one of a line decides what waits for a def.
func (s *decoratorScanner) token() error {
	if !s.inLine && len(s.pending) > 0 {
		if !isWord(s.src[s.i:], "def") {
			return s.orphan()
		}
		s.found[place{s.line, s.col}] = s.pending
		s.pending = nil
	}
	s.inLine = true
	switch c := s.src[s.i]; c {
	case '(', '[', '{':
		s.depth++
	case ')', ']', '}':
		s.depth = max(0, s.depth-1)
	case ';':
		s.next()
		return nil
	default:
		if n := s.quoted(); n > 0 {
			for end := s.i + n; s.i < end; {
				s.next()
			}
			return nil
		}
		if isLetter(c) {
			for s.i < len(s.src) && (isLetter(s.src[s.i]) || s.src[s.i] >= '0' && s.src[s.i] <= '9') {
				s.next()
			}
			return nil
		}
	}
	s.next()
	return nil
}

func isLetter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}

func isWord(s, word string) bool {
	return strings.HasPrefix(s, word) && (len(s) == len(word) || !isLetter(s[len(word)]) && !(s[len(word)] >= '0' && s[len(word)] <= '9'))
}

// quoted returns the length of the string literal that begins here, 0 for none.
// One that does not end stops at the end of its line; the parser reports it.
func (s *decoratorScanner) quoted() int {
	rest := s.src[s.i:]
	prefix := 0
	for prefix < len(rest) && prefix < 2 && strings.IndexByte("rbRB", rest[prefix]) >= 0 {
		prefix++
	}
	if prefix >= len(rest) || rest[prefix] != '"' && rest[prefix] != '\'' {
		return 0
	}
	quote := rest[prefix : prefix+1]
	triple := strings.HasPrefix(rest[prefix:], strings.Repeat(quote, 3))
	if triple {
		quote = strings.Repeat(quote, 3)
	}
	for i := prefix + len(quote); i < len(rest); i++ {
		switch {
		case rest[i] == '\\':
			i++
		case rest[i] == '\n' && !triple:
			return i
		case strings.HasPrefix(rest[i:], quote):
			return i + len(quote)
		}
	}
	return len(rest)
}

// decorator takes the expression behind an '@', up to the end of its logical
// line, and blanks it.
func (s *decoratorScanner) decorator() error {
	d := &decorator{line: s.line, col: s.col}
	start := s.i
	s.next()
	s.inLine = true
	waiting := s.pending
	s.pending = nil
	for s.i < len(s.src) && !(s.depth == 0 && s.src[s.i] == '\n') {
		switch s.src[s.i] {
		case ' ', '\t', '\r', '\n':
			s.next()
		case '#':
			s.comment()
		default:
			if err := s.token(); err != nil {
				return err
			}
		}
	}
	if s.depth > 0 {
		return s.errorf(d.line, d.col, "decorator: a bracket is not closed")
	}
	d.text = s.src[start+1 : s.i]
	for k := start; k < s.i; k++ {
		if s.out[k] != '\n' {
			s.out[k] = ' '
		}
	}
	s.pending = append(waiting, d)
	return nil
}

// parseDecorator parses the expression of a decorator at its true position.
func parseDecorator(name string, d *decorator, opts *syntax.FileOptions) (syntax.Expr, error) {
	if strings.TrimSpace(d.text) == "" {
		return nil, syntax.Error{Pos: syntax.MakePosition(&name, int32(d.line), int32(d.col)), Msg: "decorator: got nothing after '@', want an expression such as @register"}
	}
	text := strings.TrimLeft(d.text, " \t")
	indent := len(d.text) - len(text)
	expr, err := opts.ParseExpr(name, text, 0)
	if err != nil {
		if e, ok := err.(syntax.Error); ok {
			shiftPos(&e.Pos, d.line, d.col+indent)
			return nil, e
		}
		return nil, err
	}
	shift(expr, d.line, d.col+indent)
	return expr, nil
}

// shiftPos moves a position of text that was parsed alone to where the text
// stands: its first line begins after column col of line.
func shiftPos(p *syntax.Position, line, col int) {
	if p.Line == 1 {
		p.Col += int32(col)
	}
	p.Line += int32(line - 1)
}

// shift moves all positions in an expression.
func shift(root syntax.Node, line, col int) {
	move := func(ps ...*syntax.Position) {
		for _, p := range ps {
			shiftPos(p, line, col)
		}
	}
	syntax.Walk(root, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Ident:
			move(&n.NamePos)
		case *syntax.Literal:
			move(&n.TokenPos)
		case *syntax.CallExpr:
			move(&n.Lparen, &n.Rparen)
		case *syntax.DotExpr:
			move(&n.Dot, &n.NamePos)
		case *syntax.IndexExpr:
			move(&n.Lbrack, &n.Rbrack)
		case *syntax.SliceExpr:
			move(&n.Lbrack, &n.Rbrack)
		case *syntax.ListExpr:
			move(&n.Lbrack, &n.Rbrack)
		case *syntax.DictExpr:
			move(&n.Lbrace, &n.Rbrace)
		case *syntax.DictEntry:
			move(&n.Colon)
		case *syntax.TupleExpr:
			if n.Lparen.IsValid() {
				move(&n.Lparen, &n.Rparen)
			}
		case *syntax.ParenExpr:
			move(&n.Lparen, &n.Rparen)
		case *syntax.UnaryExpr:
			move(&n.OpPos)
		case *syntax.BinaryExpr:
			move(&n.OpPos)
		case *syntax.CondExpr:
			move(&n.If, &n.ElsePos)
		case *syntax.LambdaExpr:
			move(&n.Lambda)
		case *syntax.Comprehension:
			move(&n.Lbrack, &n.Rbrack)
		case *syntax.ForClause:
			move(&n.For, &n.In)
		case *syntax.IfClause:
			move(&n.If)
		}
		return true
	})
}

// insertDecorators puts the assignments behind decorated defs, at all depths.
func insertDecorators(stmts []syntax.Stmt, found map[place][]*decorator) []syntax.Stmt {
	var out []syntax.Stmt
	for _, stmt := range stmts {
		out = append(out, stmt)
		switch stmt := stmt.(type) {
		case *syntax.DefStmt:
			stmt.Body = insertDecorators(stmt.Body, found)
			if ds := found[place{int(stmt.Def.Line), int(stmt.Def.Col)}]; ds != nil {
				out = append(out, assignment(stmt, ds))
			}
		case *syntax.IfStmt:
			stmt.True = insertDecorators(stmt.True, found)
			stmt.False = insertDecorators(stmt.False, found)
		case *syntax.ForStmt:
			stmt.Body = insertDecorators(stmt.Body, found)
		case *syntax.WhileStmt:
			stmt.Body = insertDecorators(stmt.Body, found)
		}
	}
	return out
}

// assignment is f = outer(inner(f)).
func assignment(def *syntax.DefStmt, ds []*decorator) syntax.Stmt {
	ident := func() *syntax.Ident { return &syntax.Ident{NamePos: def.Name.NamePos, Name: def.Name.Name} }
	var value syntax.Expr = ident()
	for i := len(ds) - 1; i >= 0; i-- {
		start, end := ds[i].expr.Span()
		value = &syntax.CallExpr{Fn: ds[i].expr, Lparen: start, Args: []syntax.Expr{value}, Rparen: end}
	}
	pos, _ := ds[0].expr.Span()
	return &syntax.AssignStmt{OpPos: pos, Op: syntax.EQ, LHS: ident(), RHS: value}
}
