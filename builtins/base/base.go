// Package base is what scripts have beside models and arrays: print, help,
// try_call, fail, format, round, sum, slice, struct, json, math, texts of files,
// and Starlark's own functions.
//
// The latter are Starlark's, wrapped: they have documentation, a bug in them is
// an error of the script, and they count what they go over against its limits,
// which Starlark's do not (iter.go).
package base

import (
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/internal/spell"
)

// Funcs are the predeclared functions of this package.
var Funcs = slices.Concat(scriptFuncs, numberFuncs, formatFuncs, sliceFuncs, structFuncs, fileFuncs, universe)

var scriptFuncs = []*builtin.Func{
	{
		Name: "print", Doc: "writes its arguments and a newline. One argument alone is shown as its table, where it has one.",
		Params:  []builtin.Param{builtin.Rest("args", "any", "what to write"), builtin.Key("sep", " ", "string", "what stands between")},
		Example: `assert.eq(print("a", 1), None)`,
		Fn:      printArgs,
	},
	{
		Name: "help", Doc: "prints the documentation of any value: of a function, a module, a graph, a function of a script.",
		Params:  []builtin.Param{builtin.Opt("x", nil, "any", "what to explain")},
		Example: `assert.eq(help(len), None)`,
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			text := overview
			if c.Given("x") {
				text = builtin.Help(c.Value("x"))
			}
			_, err := fmt.Fprint(c.Env().Stdout, text)
			return starlark.None, err
		},
	},
	{
		Name: "try_call", Doc: "calls a function and returns its value and None, or None and the text of its error. Limits and interruption are not caught.",
		Params:  []builtin.Param{pos("fn", "function", "what to call"), builtin.Rest("args", "any", "its arguments"), builtin.RestKw("kwargs", "any", "its named arguments")},
		Returns: "tuple",
		Example: "def f(x):\n    return 1 // x\n\nassert.eq(try_call(f, 0), (None, \"floored division by zero\"))\nassert.eq(try_call(f, 1), (1, None))",
		Fn:      tryCall,
	},
}

const overview = `help(x) explains any value: help(graph), help(np), help(np.zeros), help(g.layer).
dir(sgs) lists what is predeclared, dir(x) the fields and methods of a value.
`

func printArgs(c *builtin.Call) (starlark.Value, error) {
	text, err := joined(c)
	if len(c.Rest) == 1 {
		if _, isString := c.Rest[0].(starlark.String); !isString {
			text, err = builtin.Display(c.Thread, c.Rest[0])
		}
	}
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintln(c.Env().Stdout, text)
	return starlark.None, err
}

// joined returns the texts of the arguments with sep between them.
func joined(c *builtin.Call) (string, error) {
	sep := c.Str("sep")
	if err := c.Err(); err != nil {
		return "", err
	}
	parts := make([]string, len(c.Rest))
	for i, v := range c.Rest {
		var err error
		if parts[i], err = builtin.Str(c.Thread, v); err != nil {
			return "", err
		}
	}
	return strings.Join(parts, sep), nil
}

func tryCall(c *builtin.Call) (starlark.Value, error) {
	fn := c.Callable("fn")
	if err := c.Err(); err != nil {
		return nil, err
	}
	v, err := starlark.Call(c.Thread, fn, c.Rest, c.Kw)
	switch {
	case err == nil:
		return starlark.Tuple{v, starlark.None}, nil
	case builtin.Stopped(c.Thread) || c.Context().Err() != nil:
		return nil, err
	}
	return starlark.Tuple{starlark.None, starlark.String(err.Error())}, nil
}

func errorf(format string, args ...any) error { return fmt.Errorf(format, args...) }

// Self is the value sgs: every predeclared name as a field, so that a file that
// uses one as a variable can still reach it.
type Self struct{ Names starlark.StringDict }

var _ starlark.HasAttrs = Self{}

// String returns the one-line form.
func (s Self) String() string { return "<module sgs>" }

// Type returns "module".
func (s Self) Type() string { return "module" }

// Freeze does nothing.
func (s Self) Freeze() {}

// Truth reports true.
func (s Self) Truth() starlark.Bool { return true }

// Hash fails: a module is no key.
func (s Self) Hash() (uint32, error) { return 0, errorf("unhashable type: module") }

// Attr returns a predeclared name.
func (s Self) Attr(name string) (starlark.Value, error) {
	if v := s.Names[name]; v != nil {
		return v, nil
	}
	return nil, errorf("sgs has no .%s field or method%s", name, spell.HintName(name, s.AttrNames()))
}

// AttrNames lists the predeclared names, sorted.
func (s Self) AttrNames() []string { return s.Names.Keys() }
