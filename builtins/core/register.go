package core

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/internal/spell"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

func hint(word string, candidates []string) string { return spell.Hint(word, candidates) }

var registerFuncs = []*builtin.Func{
	{
		Name: "register",
		Doc:  "registers a function as a layer builder, so that graph.NAME(…) calls it with the graph as first argument. It is a decorator, with or without arguments, or a plain call; it returns the function.",
		Params: []builtin.Param{
			builtin.Opt("fn", nil, "function", "the builder; None returns a decorator").Positional(),
			builtin.Key("name", nil, "string", "the name, None for the function's own"),
			builtin.Key("opsets", nil, "list of int", "the opsets that it serves, None for all"),
			builtin.Key("override", false, "bool", "replace a builder of that name and opset"),
		},
		Returns: "function",
		Example: "def twice(self, x):\n    return self.layer(\"Add\", inputs = [x, x], outputs = [\"twice\"])[0]\n\nregister(twice)\nx = variable(\"x\", \"float32\", [2])\ng = graph(inputs = [x])\nassert.eq(g.twice(x).producer.op, \"Add\")",
		Fn:      register,
	},
	{
		Name:    "registered",
		Doc:     "lists the registered builders: each a struct of name, opsets (None for all), position and doc.",
		Returns: "list",
		Example: "assert.eq(type(registered()), \"list\")",
		Fn:      registered,
	},
}

func register(c *builtin.Call) (starlark.Value, error) {
	b := value.Builder{Name: c.Str("name"), Override: c.Bool("override")}
	var err error
	if b.Opsets, err = opsets(c); err != nil {
		return nil, err
	}
	if !c.IsNone("fn") {
		return add(c, b, c.Value("fn"))
	}
	return decorator(b), nil
}

// opsets returns the argument of that name, nil for all.
func opsets(c *builtin.Call) ([]int, error) {
	if c.IsNone("opsets") {
		return nil, c.Err()
	}
	versions := c.Ints("opsets")
	if c.Err() == nil && len(versions) == 0 {
		return nil, c.ArgErrorf("opsets", "got an empty list, want at least one opset, or None for all")
	}
	return versions, c.Err()
}

// Decorator returns a decorator that registers for the argument opsets.
func Decorator(c *builtin.Call) (starlark.Value, error) {
	versions, err := opsets(c)
	return decorator(value.Builder{Opsets: versions}), err
}

// decorator returns the function that registers what it decorates.
func decorator(b value.Builder) starlark.Value {
	f := &builtin.Func{
		Name:   "register",
		Doc:    "registers the function that it decorates.",
		Params: []builtin.Param{builtin.Req("fn", "function", "the builder").Positional()},
		Fn:     func(d *builtin.Call) (starlark.Value, error) { return add(d, b, d.Value("fn")) },
	}
	return f.Value()
}

func add(c *builtin.Call, b value.Builder, v starlark.Value) (starlark.Value, error) {
	fn, ok := v.(*starlark.Function)
	if !ok {
		return nil, fmt.Errorf("register: got %s, want a function defined by def (write @register, @register() or register(fn))", v.Type())
	}
	if fn.NumParams() == 0 {
		return nil, fmt.Errorf("register: %s takes no parameter, want the graph as its first: def %s(self, …)", fn.Name(), fn.Name())
	}
	if b.Name == "" {
		b.Name = fn.Name()
	}
	if b.Name == "lambda" {
		return nil, fmt.Errorf("register: a lambda has no name; give one: register(fn, name = …)")
	}
	b.Fn, b.Pos, b.Doc = fn, fn.Position(), fn.Doc()
	return v, c.Env().Builders.Add(&b, value.UnitOf(c.Thread))
}

func registered(c *builtin.Call) (starlark.Value, error) {
	var out []starlark.Value
	for _, b := range c.Env().Builders.All() {
		var opsets starlark.Value = starlark.None
		if len(b.Opsets) > 0 {
			vs := make([]starlark.Value, len(b.Opsets))
			for i, v := range b.Opsets {
				vs[i] = starlark.MakeInt(v)
			}
			opsets = starlark.NewList(vs)
		}
		out = append(out, record("builder", starlark.StringDict{
			"name": starlark.String(b.Name), "opsets": opsets,
			"position": starlark.String(b.Pos.String()), "doc": starlark.String(strings.TrimSpace(b.Doc)),
		}))
	}
	return starlark.NewList(out), nil
}
