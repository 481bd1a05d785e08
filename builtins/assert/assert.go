// Package assert is the module of the same name that test scripts have: an
// assertion that does not hold is an error of the script, with its place and
// the calls that led there.
package assert

import (
	"fmt"
	"math"
	"regexp"
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

// Module returns the module assert.
func Module() *builtin.Module {
	return builtin.NewModule("assert", "Assertions of tests: one that does not hold ends the test with an error.", Funcs, nil)
}

// Funcs are the functions of the module.
var Funcs = []*builtin.Func{
	{
		Name: "assert.eq", Doc: "asserts that two values are equal; arrays in dtype, shape and each element.",
		Params: pair, Example: `assert.eq(1 + 1, 2)`,
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			eq, err := equal(c.Value("x"), c.Value("y"))
			return verdict(c, eq, err, "got %s, want %s")
		},
	},
	{
		Name: "assert.ne", Doc: "asserts that two values are not equal.",
		Params: pair, Example: `assert.ne(1, 2)`,
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			eq, err := equal(c.Value("x"), c.Value("y"))
			return verdict(c, !eq, err, "got %s, want another value than %s")
		},
	},
	{
		Name: "assert.lt", Doc: "asserts that x < y.",
		Params: pair, Example: `assert.lt(1, 2)`,
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			lt, err := starlark.Compare(syntax.LT, c.Value("x"), c.Value("y"))
			return verdict(c, lt, err, "got %s, want less than %s")
		},
	},
	{
		Name: "assert.contains", Doc: "asserts that y is in x.",
		Params: pair, Example: `assert.contains([1, 2], 2)`,
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			in, err := starlark.Binary(syntax.IN, c.Value("y"), c.Value("x"))
			return verdict(c, err == nil && bool(in.Truth()), err, "got %s, want it to contain %s")
		},
	},
	{
		Name: "assert.true", Doc: "asserts that a value counts as true.",
		Params: []builtin.Param{builtin.Req("cond", "any", ""), builtin.Opt("msg", "assertion failed", "string", "of the error")}, Example: `assert.true(1 < 2)`,
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			msg := c.Str("msg")
			if err := c.Err(); err != nil || bool(c.Value("cond").Truth()) {
				return starlark.None, err
			}
			return nil, c.Errorf("%s", msg)
		},
	},
	{
		Name: "assert.fail", Doc: "fails.",
		Params: []builtin.Param{builtin.Opt("msg", "assertion failed", "string", "of the error")}, Example: `assert.fails(lambda: assert.fail("no"), "no")`,
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			return nil, c.Errorf("%s", c.Str("msg"))
		},
	},
	{
		Name: "assert.fails", Doc: "asserts that a call of fn fails with an error that the regular expression matches somewhere.",
		Params: []builtin.Param{builtin.Req("fn", "function", "called without arguments"), builtin.Req("pattern", "string", "a regular expression of Go's")}, Example: `assert.fails(lambda: 1 // 0, "division by zero")`,
		Fn: fails,
	},
	{
		Name: "assert.close", Doc: "asserts that |x - y| <= atol + rtol * |y| for numbers, arrays, and lists and dicts of them; NaN equals NaN.",
		Params: []builtin.Param{builtin.Req("x", "number, array, list or dict", "what was computed"), builtin.Req("y", "the same", "what is right"),
			builtin.Opt("rtol", 1e-5, "float", ""), builtin.Opt("atol", 1e-8, "float", "")},
		Example: `assert.close([0.1 + 0.2], [0.3])`,
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			t := tolerance{rtol: c.Float("rtol"), atol: c.Float("atol")}
			if err := c.Err(); err != nil {
				return nil, err
			}
			return starlark.None, t.compare("x", c.Value("x"), c.Value("y"))
		},
	},
}

var pair = []builtin.Param{builtin.Req("x", "any", "what was found"), builtin.Req("y", "any", "what was wanted")}

// verdict returns None, or the error of an assertion about x and y.
func verdict(c *builtin.Call, ok bool, err error, format string) (starlark.Value, error) {
	if err != nil || ok {
		return starlark.None, err
	}
	return nil, c.Errorf(format, builtin.Text(c.Value("x")), builtin.Text(c.Value("y")))
}

func equal(x, y starlark.Value) (bool, error) {
	a, isA := x.(*value.Array)
	b, isB := y.(*value.Array)
	if !isA || !isB {
		return starlark.Equal(x, y)
	}
	p, q := a.Array(), b.Array()
	if p.DType() != q.DType() || !slices.Equal(p.Shape(), q.Shape()) {
		return false, nil
	}
	for i := range p.Size() {
		if p.At(i) != q.At(i) {
			return false, nil
		}
	}
	return true, nil
}

func fails(c *builtin.Call) (starlark.Value, error) {
	fn, pattern := c.Callable("fn"), c.Str("pattern")
	if err := c.Err(); err != nil {
		return nil, err
	}
	rx, err := regexp.Compile(pattern)
	if err != nil {
		return nil, c.ArgErrorf("pattern", "%v", err)
	}
	_, err = c.Invoke(fn)
	switch {
	case err == nil:
		return nil, c.Errorf("got no error, want one that matches %q", pattern)
	case builtin.Stopped(c.Thread):
		return nil, err
	case !rx.MatchString(err.Error()):
		return nil, c.Errorf("got the error %q, want one that matches %q", err.Error(), pattern)
	}
	return starlark.None, nil
}

// tolerance is how far numbers may be apart.
type tolerance struct{ rtol, atol float64 }

func (t tolerance) compare(what string, x, y starlark.Value) error {
	if xf, ok := starlark.AsFloat(x); ok {
		yf, ok := starlark.AsFloat(y)
		if !ok {
			return fmt.Errorf("%s: got %s, want %s", what, x.Type(), y.Type())
		}
		return t.numbers(what, xf, yf)
	}
	switch x := x.(type) {
	case starlark.String, starlark.Bytes, starlark.NoneType, starlark.Bool:
		if eq, err := starlark.Equal(x, y); err != nil || eq {
			return err
		}
		return fmt.Errorf("%s: got %s, want %s", what, x, y)
	case *value.Array:
		if y, ok := y.(*value.Array); ok {
			return t.arrays(what, x.Array(), y.Array())
		}
	case *starlark.Dict:
		if y, ok := y.(*starlark.Dict); ok {
			return t.dicts(what, x, y)
		}
	case starlark.Indexable:
		if y, ok := y.(starlark.Indexable); ok {
			return t.lists(what, x, y)
		}
	}
	return fmt.Errorf("%s: got %s, want %s", what, x.Type(), y.Type())
}

func (t tolerance) numbers(what string, x, y float64) error {
	if x == y || math.IsNaN(x) && math.IsNaN(y) || math.Abs(x-y) <= t.atol+t.rtol*math.Abs(y) {
		return nil
	}
	return fmt.Errorf("%s: got %v, want %v (rtol %v, atol %v)", what, x, y, t.rtol, t.atol)
}

func (t tolerance) arrays(what string, x, y *array.Array) error {
	if !slices.Equal(x.Shape(), y.Shape()) {
		return fmt.Errorf("%s: got shape %v, want %v", what, x.Shape(), y.Shape())
	}
	xs, err := x.Float64s()
	if err != nil {
		return err
	}
	ys, err := y.Float64s()
	if err != nil {
		return err
	}
	for i := range xs {
		if err := t.numbers(fmt.Sprintf("%s: element %d", what, i), xs[i], ys[i]); err != nil {
			return err
		}
	}
	return nil
}

func (t tolerance) lists(what string, x, y starlark.Indexable) error {
	if x.Len() != y.Len() {
		return fmt.Errorf("%s: got %d elements, want %d", what, x.Len(), y.Len())
	}
	for i := range x.Len() {
		if err := t.compare(fmt.Sprintf("%s[%d]", what, i), x.Index(i), y.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

func (t tolerance) dicts(what string, x, y *starlark.Dict) error {
	if x.Len() != y.Len() {
		return fmt.Errorf("%s: got %d entries, want %d", what, x.Len(), y.Len())
	}
	for _, item := range y.Items() {
		v, found, err := x.Get(item[0])
		if err != nil || !found {
			return fmt.Errorf("%s: got no entry %s", what, item[0])
		}
		if err := t.compare(fmt.Sprintf("%s[%s]", what, item[0]), v, item[1]); err != nil {
			return err
		}
	}
	return nil
}
