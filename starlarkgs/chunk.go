package starlarkgs

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// chunkDialect is the prompt's: names that load binds stay.
var chunkDialect = func() *syntax.FileOptions {
	o := *dialect
	o.LoadBindsGlobally = true
	return &o
}()

// The names by which the rewritten tree of a chunk reaches the session. No script
// can spell them.
const (
	sharedSuffix = "@" // x@ is the session's x
	setName      = "@set"
	resultName   = "@result"
)

// session is what the chunks of a prompt share. Starlark keeps the globals of a
// program in slots of its own, so that a function would never see what a later
// chunk binds. Here each chunk is a program whose globals are only way stations:
// after each statement that binds a name, its value goes into one map that is
// the predeclared environment of all chunks, and every use of a global reads
// that map.
type session struct {
	shared  starlark.StringDict // predeclared and bound names; x and x@ are one
	globals starlark.StringDict // those bound by chunks
	bound   map[string]syntax.Position
	chunks  int            // how many were numbered
	result  starlark.Value // of the last statement, when it is an expression
}

func newSession(predeclared starlark.StringDict) *session {
	s := &session{shared: maps.Clone(predeclared), globals: starlark.StringDict{}, bound: map[string]syntax.Position{}}
	s.shared[setName] = starlark.NewBuiltin(setName, func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		for i := 0; i+1 < len(args); i += 2 {
			s.set(string(args[i].(starlark.String)), args[i+1])
		}
		return starlark.None, nil
	})
	s.shared[resultName] = starlark.NewBuiltin(resultName, func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		s.result = args[0]
		return starlark.None, nil
	})
	return s
}

func (s *session) set(name string, v starlark.Value) {
	s.globals[name], s.shared[name], s.shared[name+sharedSuffix] = v, v, v
}

// names returns the names that chunks have bound.
func (s *session) names() []string { return s.globals.Keys() }

// boundAt returns where a chunk last bound the name.
func (s *session) boundAt(name string) syntax.Position { return s.bound[name] }

// Chunk runs what was typed at the prompt, one or several statements, and
// returns the value of the last one when it is an expression, else nil.
// Functions see later re-definitions of the names that they use, and may use
// names that are bound later.
//
// Several chunks may have one name; in errors they are told apart by a number.
func (h *Host) Chunk(ctx context.Context, name, src string) (starlark.Value, error) {
	s := h.session
	s.result = nil
	unit := source{name: name, key: name}
	name = h.chunkName(name)
	h.sources[name] = src
	err := h.guarded(ctx, name, func(t *starlark.Thread) error {
		file, err := parse(name, src, chunkDialect)
		if err != nil {
			return err
		}
		prog, err := s.program(file)
		if err != nil {
			return err
		}
		defer h.enter(t, unit)()
		_, err = prog.Init(t, s.shared)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.result, nil
}

// chunkName returns the name, with a number when it was used before: functions
// of earlier chunks live on, and errors in them show their own text.
func (h *Host) chunkName(name string) string {
	if _, used := h.sources[name]; !used {
		return name
	}
	stem, end := strings.CutSuffix(name, ">")
	for {
		h.session.chunks++
		numbered := fmt.Sprintf("%s %d", stem, h.session.chunks+1)
		if end {
			numbered += ">"
		}
		if _, used := h.sources[numbered]; !used {
			return numbered
		}
	}
}

// Globals returns what the prompt has defined.
func (h *Host) Globals() starlark.StringDict { return h.session.globals }

// Define binds a name at the prompt.
func (h *Host) Define(name string, v starlark.Value) { h.session.set(name, v) }

// known reports whether the resolver should take a name for predeclared: a
// universal one is not, any other may be bound later.
func (s *session) known(name string) bool { return s.shared.Has(name) || !starlark.Universe.Has(name) }

// program compiles a chunk.
func (s *session) program(file *syntax.File) (*starlark.Program, error) {
	// The first pass tells globals from locals; compiling resolves again.
	if err := resolve.File(file, s.known, starlark.Universe.Has); err != nil {
		return nil, err
	}
	bound := bindings(file.Stmts)
	if err := s.undefined(file, bound); err != nil {
		return nil, err
	}
	for name, id := range bound {
		s.bound[name] = id.NamePos
		if v, ok := s.shared[name]; ok {
			s.shared[name+sharedSuffix] = v
		}
	}
	if n := len(file.Stmts); n > 0 {
		if x, ok := file.Stmts[n-1].(*syntax.ExprStmt); ok {
			start, end := x.X.Span()
			x.X = &syntax.CallExpr{Fn: &syntax.Ident{NamePos: start, Name: resultName}, Lparen: start, Args: []syntax.Expr{x.X}, Rparen: end}
		}
	}
	renameUses(file)
	file.Stmts = exporting(file.Stmts)
	return starlark.FileProgram(file, s.known)
}

// undefined returns the errors of names that are used outside of functions and
// that nothing has bound.
func (s *session) undefined(file *syntax.File, bound map[string]*syntax.Ident) error {
	var list resolve.ErrorList
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.DefStmt:
			return false
		case *syntax.LambdaExpr:
			return false
		case *syntax.Ident:
			b, ok := n.Binding.(*resolve.Binding)
			if ok && b.Scope == resolve.Predeclared && !s.shared.Has(n.Name) && bound[n.Name] == nil {
				list = append(list, resolve.Error{Pos: n.NamePos, Msg: "undefined: " + n.Name})
			}
		}
		return true
	})
	if len(list) > 0 {
		return list
	}
	return nil
}

// renameUses makes each use of a global, but for those that bind it, a use of
// the session's.
func renameUses(file *syntax.File) {
	binds := map[*syntax.Ident]bool{}
	forBindings(file.Stmts, func(id *syntax.Ident) { binds[id] = true })
	syntax.Walk(file, func(n syntax.Node) bool {
		if id, ok := n.(*syntax.Ident); ok && !binds[id] {
			if b, ok := id.Binding.(*resolve.Binding); ok && b.Scope == resolve.Global {
				id.Name += sharedSuffix
			}
		}
		return true
	})
}

// exporting returns the statements with each binding handed to the session.
func exporting(stmts []syntax.Stmt) []syntax.Stmt {
	var out []syntax.Stmt
	for _, stmt := range stmts {
		switch stmt := stmt.(type) {
		case *syntax.AssignStmt:
			if id, ok := unparen(stmt.LHS).(*syntax.Ident); ok && stmt.Op != syntax.EQ {
				// x += y reads the session's x first.
				out = append(out, &syntax.AssignStmt{OpPos: stmt.OpPos, Op: syntax.EQ, LHS: copyOf(id, ""), RHS: copyOf(id, sharedSuffix)})
			}
			out = append(out, stmt)
			out = appendExport(out, func(f func(*syntax.Ident)) { forTargets(stmt.LHS, f) })
			continue
		case *syntax.ForStmt:
			stmt.Body = append(appendExport(nil, func(f func(*syntax.Ident)) { forTargets(stmt.Vars, f) }), exporting(stmt.Body)...)
		case *syntax.WhileStmt:
			stmt.Body = exporting(stmt.Body)
		case *syntax.IfStmt:
			stmt.True, stmt.False = exporting(stmt.True), exporting(stmt.False)
		}
		out = append(out, stmt)
		switch stmt := stmt.(type) {
		case *syntax.DefStmt:
			out = appendExport(out, func(f func(*syntax.Ident)) { f(stmt.Name) })
		case *syntax.LoadStmt:
			for _, id := range stmt.To {
				out = appendExport(out, func(f func(*syntax.Ident)) { f(id) })
			}
		}
	}
	return out
}

func unparen(e syntax.Expr) syntax.Expr {
	for {
		p, ok := e.(*syntax.ParenExpr)
		if !ok {
			return e
		}
		e = p.X
	}
}

func copyOf(id *syntax.Ident, suffix string) *syntax.Ident {
	return &syntax.Ident{NamePos: id.NamePos, Name: id.Name + suffix}
}

// appendExport appends the calls that hand the identifiers to the session.
func appendExport(stmts []syntax.Stmt, each func(func(*syntax.Ident))) []syntax.Stmt {
	each(func(id *syntax.Ident) {
		name := &syntax.Literal{Token: syntax.STRING, TokenPos: id.NamePos, Raw: `"` + id.Name + `"`, Value: id.Name}
		call := &syntax.CallExpr{Fn: &syntax.Ident{NamePos: id.NamePos, Name: setName}, Lparen: id.NamePos, Args: []syntax.Expr{name, copyOf(id, "")}, Rparen: id.NamePos}
		stmts = append(stmts, &syntax.ExprStmt{X: call})
	})
	return stmts
}
