package starlarkgs

import (
	"fmt"
	"strings"

	"go.starlark.net/syntax"

	"github.com/starlarkgs/starlarkgs/internal/starlex"
)

// dialect is the variant of Starlark that scripts are written in.
var dialect = &syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true, Recursion: true}

// place is where a token starts.
type place struct{ line, col int }

// decorator is the expression behind one '@' that begins a statement.
type decorator struct {
	at       token // the '@'
	off, end int   // its text
	line     int   // where the text starts
	col      int
	expr     syntax.Expr
}

// parse reads a script with decorators: one pass over the text finds and blanks
// them, the rest is parsed once, and behind each def that has some the
// assignment f = decorator(f) is put into the tree.
func parse(name, src string, opts *syntax.FileOptions) (*syntax.File, error) {
	if err := checkSize(name, src); err != nil {
		return nil, err
	}
	blanked, found, err := findDecorators(name, src)
	if err != nil {
		return nil, err
	}
	file, err := opts.Parse(name, blanked, 0)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return file, nil
	}
	for _, ds := range found {
		for _, d := range ds {
			if err := d.parse(name, src, opts); err != nil {
				return nil, err
			}
		}
	}
	file.Stmts = insertDecorators(file.Stmts, found)
	return file, nil
}

// Parse reads a script as the host does, decorators included, for tools that look
// at its syntax tree. Its error is an *Error.
func Parse(name, src string) (*syntax.File, error) {
	src = strings.TrimPrefix(src, byteOrderMark)
	file, err := parse(name, src, dialect)
	if err != nil {
		h := New(Options{})
		h.sources[name] = src
		return nil, h.wrap(err)
	}
	return file, nil
}

// findDecorators returns the text with the decorators blanked, so that every
// other character keeps its place, and the decorators of each def by the place
// of the def.
func findDecorators(name, src string) ([]byte, map[place][]*decorator, error) {
	if strings.IndexByte(src, '@') < 0 {
		return []byte(src), nil, nil
	}
	s := &decoratorScan{lexer: newLexer(src), name: name, out: []byte(src), found: map[place][]*decorator{}}
	for {
		t := s.Next()
		switch {
		case t.Kind == tokOp && src[t.Off] == '@':
			if err := s.decorator(t); err != nil {
				return nil, nil, err
			}
		case t.Kind == tokEOF:
			return s.out, s.found, s.orphan("the end of the file")
		case t.First && len(s.pending) > 0:
			if err := s.decorated(t); err != nil {
				return nil, nil, err
			}
		}
	}
}

// decoratorScan is one pass over the text.
type decoratorScan struct {
	*lexer
	name    string
	out     []byte
	pending []*decorator // wait for their def
	found   map[place][]*decorator
}

func (s *decoratorScan) errorf(t token, format string, args ...any) error {
	return textErrorf(s.name, t, format, args...)
}

// decorator takes the expression behind an '@' up to the end of its logical
// line, and blanks both.
func (s *decoratorScan) decorator(at token) error {
	if n := len(s.Open); n > 0 && at.LineFirst {
		b := s.Open[n-1]
		return s.errorf(at, "decorator: got '@' inside brackets, want the '%s' of line %d closed before it", s.Text(b), b.Line)
	}
	if !at.First {
		err := textErrorf(s.name, at, noMatMul)
		err.hint = matMulHint
		return err
	}
	if n := len(s.pending); n > 0 && s.pending[n-1].at.Col != at.Col {
		return s.errorf(at, "decorator: got a decorator in column %d, want it in column %d, as the one above", at.Col, s.pending[n-1].at.Col)
	}
	d := &decorator{at: at}
	for t := s.Next(); t.Kind != tokNewline; t = s.Next() {
		if t.Kind == tokEOF {
			if n := len(s.Open); n > 0 {
				return s.errorf(s.Open[n-1], "decorator: '%s' is not closed", s.Text(s.Open[n-1]))
			}
			break
		}
		if d.end == 0 {
			d.off, d.line, d.col = t.Off, t.Line, t.Col
		}
		d.end = t.End
	}
	if d.end == 0 {
		return s.errorf(at, "decorator: got nothing behind '@', want an expression such as @register")
	}
	for i := at.Off; i < s.Off; i++ {
		if !starlex.IsNewline(s.out[i]) {
			s.out[i] = ' '
		}
	}
	s.pending = append(s.pending, d)
	return nil
}

// decorated hands the decorators that wait to the def that t begins.
func (s *decoratorScan) decorated(t token) error {
	if s.Text(t) != "def" {
		return s.orphan(fmt.Sprintf("%q", s.Text(t)))
	}
	if d := s.pending[0]; d.at.Col != t.Col {
		return s.errorf(d.at, "decorator: got a def in column %d under it, want it in column %d too", t.Col, d.at.Col)
	}
	s.found[place{t.Line, t.Col}] = s.pending
	s.pending = nil
	return nil
}

// orphan is the error of decorators that no def follows.
func (s *decoratorScan) orphan(got string) error {
	if len(s.pending) == 0 {
		return nil
	}
	d := s.pending[len(s.pending)-1]
	return s.errorf(d.at, "decorator @%s: got %s under it, want a def", s.Src[d.off:d.end], got)
}

// parse parses the expression at its true position.
func (d *decorator) parse(name, src string, opts *syntax.FileOptions) error {
	portion := syntax.FilePortion{Content: []byte(src[d.off:d.end]), FirstLine: int32(d.line), FirstCol: int32(d.col)}
	expr, err := opts.ParseExpr(name, portion, 0)
	if err != nil {
		return err
	}
	if t, ok := expr.(*syntax.TupleExpr); ok && !t.Lparen.IsValid() {
		return textErrorf(name, token{Line: d.line, Col: d.col}, "decorator: got several expressions, want one")
	}
	d.expr = expr
	return nil
}

// insertDecorators puts the assignments behind decorated defs, at all depths.
func insertDecorators(stmts []syntax.Stmt, found map[place][]*decorator) []syntax.Stmt {
	out := make([]syntax.Stmt, 0, len(stmts))
	for _, stmt := range stmts {
		out = append(out, stmt)
		switch stmt := stmt.(type) {
		case *syntax.DefStmt:
			stmt.Body = insertDecorators(stmt.Body, found)
			if ds := found[place{int(stmt.Def.Line), int(stmt.Def.Col)}]; ds != nil {
				out = append(out, decoration(stmt, ds))
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

// decoration is the assignment f = upper(lower(f)). A call of a decorator stands
// at the decorator, so an error in it points there.
func decoration(def *syntax.DefStmt, ds []*decorator) syntax.Stmt {
	ident := func() *syntax.Ident { return &syntax.Ident{NamePos: def.Name.NamePos, Name: def.Name.Name} }
	var x syntax.Expr = ident()
	for i := len(ds) - 1; i >= 0; i-- {
		start, end := ds[i].expr.Span()
		x = &syntax.CallExpr{Fn: ds[i].expr, Lparen: start, Args: []syntax.Expr{x}, Rparen: end}
	}
	return &syntax.AssignStmt{OpPos: def.Name.NamePos, Op: syntax.EQ, LHS: ident(), RHS: x}
}
