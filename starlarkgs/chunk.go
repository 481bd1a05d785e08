package starlarkgs

import (
	"context"
	"fmt"
	"maps"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

// chunkDialect is the prompt's: names that load binds stay.
var chunkDialect = func() *syntax.FileOptions {
	o := *dialect
	o.LoadBindsGlobally = true
	return &o
}()

// Chunk runs what was typed at the prompt and returns the value of its last
// statement when that is an expression, else nil. Each statement is a program
// over one shared map of names, so functions see later re-definitions.
func (h *Host) Chunk(ctx context.Context, name, src string) (starlark.Value, error) {
	h.sources[name] = src
	var last starlark.Value
	err := h.guarded(ctx, name, func(t *starlark.Thread) error {
		value.SetUnit(t, &value.Unit{File: name})
		file, err := parse(name, src, chunkDialect)
		if err != nil {
			return err
		}
		for _, stmts := range units(file.Stmts) {
			if last, err = h.statement(t, name, stmts); err != nil {
				return err
			}
		}
		return nil
	})
	return last, err
}

// units groups statements into programs: a def with the assignments of its
// decorators, else one statement each.
func units(stmts []syntax.Stmt) [][]syntax.Stmt {
	var out [][]syntax.Stmt
	for i := 0; i < len(stmts); i++ {
		unit := []syntax.Stmt{stmts[i]}
		if def, ok := stmts[i].(*syntax.DefStmt); ok && i+1 < len(stmts) {
			if a, ok := stmts[i+1].(*syntax.AssignStmt); ok {
				if id, ok := a.LHS.(*syntax.Ident); ok && id.NamePos == def.Name.NamePos {
					unit = append(unit, a)
					i++
				}
			}
		}
		out = append(out, unit)
	}
	return out
}

const resultName = "_"

// before_ is the suffix of the predeclared names that hold what a name was
// bound to before the statement that binds it again.
const beforeSuffix = "\x00"

func (h *Host) statement(t *starlark.Thread, name string, stmts []syntax.Stmt) (starlark.Value, error) {
	isExpr := false
	if e, ok := stmts[0].(*syntax.ExprStmt); ok {
		pos, _ := e.X.Span()
		stmts, isExpr = []syntax.Stmt{&syntax.AssignStmt{OpPos: pos, Op: syntax.EQ, LHS: &syntax.Ident{NamePos: pos, Name: resultName}, RHS: e.X}}, true
	}
	env := maps.Clone(h.predeclared)
	maps.Copy(env, h.globals)
	shared := lookup{h}
	var prelude []syntax.Stmt
	for bound := range boundNames(stmts) {
		if old, ok := env[bound]; ok && !(isExpr && bound == resultName) {
			pos, _ := stmts[0].Span()
			env[bound+beforeSuffix] = old
			prelude = append(prelude, &syntax.AssignStmt{OpPos: pos, Op: syntax.EQ, LHS: &syntax.Ident{NamePos: pos, Name: bound},
				RHS: &syntax.Ident{NamePos: pos, Name: bound + beforeSuffix}})
		}
	}
	file := &syntax.File{Path: name, Stmts: append(prelude, stmts...), Options: chunkDialect}
	isPredeclared := func(id string) bool { return env.Has(id) || !starlark.Universe.Has(id) }
	prog, err := starlark.FileProgram(file, isPredeclared)
	if err != nil {
		return nil, err
	}
	defer maps.DeleteFunc(h.globals, func(k string, _ starlark.Value) bool { return k != "" && k[len(k)-1] == 0 })
	for k, v := range env {
		if k[len(k)-1] == 0 {
			h.globals[k] = v
		}
	}
	globals, err := prog.Init(t, shared.dict())
	for k, v := range globals {
		if isExpr && k == resultName {
			continue
		}
		h.globals[k] = v
	}
	if err != nil {
		return nil, err
	}
	if isExpr {
		return globals[resultName], nil
	}
	return nil, nil
}

// lookup is the one map that all programs of the prompt share as predeclared.
type lookup struct{ h *Host }

// dict merges the predeclared names into the prompt's globals once, so that
// functions defined earlier see, in the same map, what is bound later.
func (l lookup) dict() starlark.StringDict {
	for k, v := range l.h.predeclared {
		if _, ok := l.h.globals[k]; !ok {
			l.h.globals[k] = v
		}
	}
	return l.h.globals
}

// Complete returns the names that begin with prefix: of the prompt, or of the
// value before the last dot of an expression such as g.nodes[0].op.
func (h *Host) Complete(ctx context.Context, expr string) []string {
	v, err := h.Chunk(ctx, "<complete>", expr)
	if err != nil || v == nil {
		return nil
	}
	if x, ok := v.(starlark.HasAttrs); ok {
		return x.AttrNames()
	}
	return nil
}

// Define binds a name at the prompt.
func (h *Host) Define(name string, v starlark.Value) { h.globals[name] = v }

// Show writes what the prompt shows of a value: its table or one-line form.
func (h *Host) Show(v starlark.Value) {
	if v == nil || v == starlark.None {
		return
	}
	if x, ok := v.(value.Tabler); ok {
		fmt.Fprintln(h.opts.Stdout, x.Table())
		return
	}
	fmt.Fprintln(h.opts.Stdout, v.String())
}
