package builtin_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/starlarkgs/starlarkgs/builtins/builtin"
)

// layer shows every kind of parameter.
var layer = &builtin.Func{
	Name: "graph.layer",
	Doc:  "makes a node. It is appended.",
	Params: []builtin.Param{
		builtin.Req("op", "string", "the operator"),
		builtin.Opt("inputs", builtin.NoList, "list of string", "their names"),
		builtin.Opt("axis", nil, "int", ""),
		builtin.Key("mode", "auto", "string", "how"),
		builtin.Key("scale", 1.5, "float", ""),
	},
	Returns: "string",
	Example: `print("layer")`,
	Fn: func(c *builtin.Call) (starlark.Value, error) {
		op, inputs, axis := c.Str("op"), c.Strs("inputs"), c.Int("axis")
		mode, scale := c.Enum("mode", "auto", "keep", "none"), c.Float("scale")
		if err := c.Err(); err != nil {
			return nil, err
		}
		if op == "Bad" {
			return nil, errors.New("no such operator")
		}
		return starlark.String(fmt.Sprint(op, inputs, axis, c.Given("axis"), mode, scale)), nil
	},
}

var all = &builtin.Func{
	Name:   "all_of",
	Doc:    "takes anything.",
	Params: []builtin.Param{builtin.Req("fn", "function", "").Positional(), builtin.Rest("args", "any", ""), builtin.RestKw("kw", "any", "")},
	Fn: func(c *builtin.Call) (starlark.Value, error) {
		if c.Value("fn") == starlark.None {
			var names []string
			return nil, errors.New(names[0]) // a bug: out of range
		}
		fn := c.Callable("fn")
		if err := c.Err(); err != nil {
			return nil, err
		}
		if len(c.Rest) > 0 {
			return c.Invoke(fn, c.Rest...)
		}
		return starlark.String(fmt.Sprint(c.Rest, c.Kw)), nil
	},
}

var nothing = &builtin.Func{Name: "nothing", Doc: "returns None.", Fn: func(c *builtin.Call) (starlark.Value, error) {
	return nil, c.ArgErrorf("x", "got %d, want %d", 1, 2)
}}

var ints = &builtin.Func{
	Name:   "ints",
	Doc:    "reads lists.",
	Params: []builtin.Param{builtin.Opt("xs", builtin.NoList, "list of int", ""), builtin.Opt("d", builtin.NoDict, "dict", ""), builtin.Opt("b", false, "bool", ""), builtin.Opt("n", 3, "int", "")},
	Fn: func(c *builtin.Call) (starlark.Value, error) {
		xs, d, b, n := c.Ints("xs"), c.Items("d"), c.Bool("b"), c.Int("n")
		if err := c.Err(); err != nil {
			return nil, err
		}
		return starlark.String(fmt.Sprint(xs, d, b, n, len(c.List("xs")))), nil
	},
}

func env() starlark.StringDict {
	mod := builtin.NewModule("m", "A module. More.", []*builtin.Func{{Name: "m.zeros", Doc: "makes zeros.", Fn: ints.Fn, Params: ints.Params}}, starlark.StringDict{"pi": starlark.Float(3)})
	d := starlark.StringDict{"m": mod}
	for _, f := range []*builtin.Func{layer, all, nothing, ints} {
		name := f.Base()
		d[name] = f.Value()
	}
	return d
}

func eval(src string) (starlark.Value, error) {
	return starlark.EvalOptions(&syntax.FileOptions{}, new(starlark.Thread), "x.star", src, env())
}

func TestCall(t *testing.T) {
	const sig = "graph.layer(op, inputs=[], axis=None, *, mode=\"auto\", scale=1.5)"
	for _, tc := range []struct{ src, want string }{
		{`layer("Relu")`, `"Relu[] 0 falseauto1.5"`},
		{`layer("Relu", ("a", "b"), 2, mode="keep", scale=2)`, `"Relu[a b] 2 truekeep2"`},
		{`layer(inputs={"a": 1}, op="Relu", axis=None)`, `"Relu[a] 0 trueauto1.5"`},
		{`layer()`, `graph.layer: missing argument "op": ` + sig},
		{`layer("R", [], 1, 2)`, `graph.layer: got 4 positional arguments, want at most 3: ` + sig + `; give "mode" by name`},
		{`layer("R", op="S")`, `graph.layer: argument "op" is given twice`},
		{`layer("R", inptus=[])`, `graph.layer: unexpected keyword argument "inptus" (did you mean "inputs"?)`},
		{`layer("R", xyz=[])`, `graph.layer: unexpected keyword argument "xyz", want one of "op", "inputs", "axis", "mode", "scale"`},
		{`layer(1)`, `graph.layer: op: got int 1, want string`},
		{`layer("R", "abc")`, `graph.layer: inputs: got string "abc", want list or another iterable`},
		{`layer("R", ["a", 1])`, `graph.layer: inputs[1]: got int 1, want string`},
		{`layer("R", axis="x")`, `graph.layer: axis: got string "x", want int`},
		{`layer("R", axis=1.0)`, `graph.layer: axis: got float 1.0, want int: write int(1.0)`},
		{`layer("R", axis=1 << 70)`, `graph.layer: axis: got 1180591620717411303424, want an int of 64 bits`},
		{`layer("R", mode="keeep")`, `graph.layer: mode: got "keeep", want one of "auto", "keep", "none" (did you mean "keep"?)`},
		{`layer("R", mode=None)`, `graph.layer: mode: got None, want string`},
		{`layer("R", scale=[])`, `graph.layer: scale: got list, want float or int`},
		{`layer("Bad")`, `graph.layer: no such operator`},
		{`all_of(len, x=1)`, `"() [(\"x\", 1)]"`},
		{`all_of(len, "abc", x=1)`, `3`},
		{`all_of(3)`, `all_of: fn: got int 3, want function`},
		{`all_of(fn=3)`, `all_of: missing argument "fn": all_of(fn, *args, **kw)`},
		{`all_of(None)`, `internal error: all_of: runtime error: index out of range [0] with length 0`},
		{`all_of(layer, 3)`, `graph.layer: op: got int 3, want string`},
		{`nothing()`, `nothing: x: got 1, want 2`},
		{`nothing(1)`, `nothing: got 1 positional argument, want 0: nothing()`},
		{`nothing(x=1)`, `nothing: unexpected keyword argument "x", want none`},
		{`ints([1, 2], {"a": 1}, True)`, `"[1 2] [(\"a\", 1)] true 3 2"`},
		{`ints(d=[])`, `ints: d: got list, want dict`},
		{`ints(b=1)`, `ints: b: got int 1, want bool`},
		{`ints(n=None)`, `ints: n: got None, want int`},
		{`m.zeros([1, "x"])`, `m.zeros: xs[1]: got string "x", want int`},
		{`m.zeross`, `m has no .zeross field or method (did you mean zeros?)`},
		{`layer == layer`, `True`},
		{`layer == all_of`, `False`},
		{`{layer: 1}[layer]`, `1`},
		{`layer < layer`, `functions can't be ordered by <`},
		{`type(layer), str(layer)`, `("builtin_function_or_method", "<built-in function graph.layer>")`},
	} {
		v, err := eval(tc.src)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = v.String()
		}
		if got != tc.want {
			t.Errorf("%s\n got %s\nwant %s", tc.src, got, tc.want)
		}
	}
}

func TestAskingForAnUnknownParameterIsABug(t *testing.T) {
	f := &builtin.Func{Name: "f", Fn: func(c *builtin.Call) (starlark.Value, error) { return c.Value("nope"), nil }}
	_, err := starlark.Call(new(starlark.Thread), f.Value(), nil, nil)
	var bug *builtin.PanicError
	if !errors.As(err, &bug) || !strings.Contains(err.Error(), `f has no parameter "nope"`) || len(bug.Stack) == 0 {
		t.Errorf("got %v, want a PanicError", err)
	}
}

func TestHelp(t *testing.T) {
	d := env()
	fn, err := starlark.ExecFileOptions(&syntax.FileOptions{}, new(starlark.Thread), "f.star", `
def f(a, b=1, *rest, c, d=2, **kw):
    """Does f.

    More."""
def g(a, *, c): pass
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		v    starlark.Value
		want string
	}{
		{d["layer"], `graph.layer(op, inputs=[], axis=None, *, mode="auto", scale=1.5) -> string

  makes a node. It is appended.

  op           string: the operator
  inputs=[]    list of string: their names
  axis=None    int
  mode="auto"  string: how
  scale=1.5    float

  Example:
    print("layer")
`},
		{d["m"], "module m\n\n  A module. More.\n\n  pi     float 3.0\n  zeros  makes zeros.\n"},
		{fn["f"], "f(a, b=1, *rest, c, d=2, **kw)\n\n  Does f.\n\n  More.\n\n  defined at f.star:2:1\n"},
		{fn["g"], "g(a, *, c)\n\n  defined at f.star:6:1\n"},
		{starlark.MakeInt(3), "3: a value of type int\n"},
	} {
		if got := builtin.Help(tc.v); got != tc.want {
			t.Errorf("Help(%v) =\n%s\nwant\n%s", tc.v, got, tc.want)
		}
	}
}

func TestMethods(t *testing.T) {
	table := builtin.Methods([]*builtin.Func{
		{Name: "list.second", Doc: "is the second.", Fn: func(c *builtin.Call) (starlark.Value, error) {
			return c.Recv.(*starlark.List).Index(1), nil
		}},
		{Name: "list.size", Property: true, Fn: func(c *builtin.Call) (starlark.Value, error) {
			return starlark.MakeInt(c.Recv.(*starlark.List).Len()), nil
		}},
	})
	l := starlark.NewList([]starlark.Value{starlark.MakeInt(5), starlark.MakeInt(6)})
	if got := fmt.Sprint(table.Names()); got != "[second size]" {
		t.Errorf("Names = %s", got)
	}
	m, err := table.Bind(l, "second")
	if err != nil || m.String() != "<built-in method second of list value>" {
		t.Fatalf("Bind = %v, %v", m, err)
	}
	if v, err := starlark.Call(new(starlark.Thread), m, nil, nil); err != nil || v.String() != "6" {
		t.Errorf("second() = %v, %v", v, err)
	}
	again, _ := table.Bind(l, "second")
	if eq, err := starlark.Equal(m, again); !eq || err != nil {
		t.Errorf("the same method of the same list: equal = %v, %v", eq, err)
	}
	if v, err := table.Bind(l, "size"); err != nil || v.String() != "2" {
		t.Errorf("size = %v, %v", v, err)
	}
	if v, err := table.Bind(l, "third"); v != nil || err != nil {
		t.Errorf("third = %v, %v, want nothing", v, err)
	}
}

func BenchmarkCall(b *testing.B) {
	fn := layer.Value()
	th := new(starlark.Thread)
	args := starlark.Tuple{starlark.String("Relu"), starlark.NewList(nil)}
	kw := []starlark.Tuple{{starlark.String("mode"), starlark.String("keep")}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := starlark.Call(th, fn, args, kw); err != nil {
			b.Fatal(err)
		}
	}
}
