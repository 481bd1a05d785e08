// Package base is the functions that scripts have beside models and arrays:
// print, help, try_call, format, round, sum, slice, dir and file texts, and
// versions of Starlark's own that stop when a limit is hit.
package base

import (
	"fmt"
	"math"
	"os"
	"sort"
	"strconv"
	"strings"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/internal/spell"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

// Funcs are the predeclared functions of this package.
var Funcs = []*builtin.Func{
	{
		Name: "print", Doc: "writes its arguments, with spaces between. One argument alone is shown as its table, where it has one.",
		Params:  []builtin.Param{builtin.Rest("args", "any", "what to write"), builtin.Key("sep", " ", "string", "what stands between")},
		Example: `print("a", 1)`,
		Fn:      printArgs,
	},
	{
		Name: "help", Doc: "returns the documentation of any value; alone at the prompt it is shown.",
		Params:  []builtin.Param{builtin.Opt("x", nil, "any", "what to explain")},
		Example: `help(len)`,
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			_, err := fmt.Fprint(c.Env().Stdout, builtin.Help(c.Value("x")))
			return starlark.None, err
		},
	},
	{
		Name: "try_call", Doc: "calls a function and returns its value and None, or None and the text of the error. Limits and interruption are not caught.",
		Params:  []builtin.Param{builtin.Req("fn", "function", "what to call").Positional(), builtin.Rest("args", "any", "its arguments"), builtin.RestKw("kwargs", "any", "its named arguments")},
		Returns: "tuple",
		Example: "def f(x):\n    return 1 // x\n\nassert.eq(try_call(f, 0)[1], \"floored division by zero\")",
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			v, err := starlark.Call(c.Thread, c.Value("fn"), c.Rest, c.Kw)
			if err == nil {
				return starlark.Tuple{v, starlark.None}, nil
			}
			if builtin.Stopped(c.Thread) || c.Context().Err() != nil {
				return nil, err
			}
			return starlark.Tuple{starlark.None, starlark.String(err.Error())}, nil
		},
	},
	{
		Name: "format", Doc: "formats a number or string by Python's format specification, as \".3f\", \">10\" or \",d\".",
		Params:  []builtin.Param{builtin.Req("value", "number or string", "what to format"), builtin.Opt("spec", "", "string", "how")},
		Returns: "string", Example: `assert.eq(format(3.14159, ".2f"), "3.14")`,
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			spec := c.Str("spec")
			if err := c.Err(); err != nil {
				return nil, err
			}
			s, err := formatValue(c.Value("value"), spec)
			return starlark.String(s), err
		},
	},
	{
		Name: "round", Doc: "rounds a number, halves to even; without digits it gives an int.",
		Params:  []builtin.Param{builtin.Req("number", "number", "what to round"), builtin.Opt("ndigits", nil, "int", "places after the point")},
		Returns: "number", Example: `assert.eq(round(2.5), 2)`,
		Fn: round,
	},
	{
		Name: "sum", Doc: "adds the elements of a list to start.",
		Params:  []builtin.Param{builtin.Req("iterable", "list", "what to add"), builtin.Opt("start", 0, "number", "the first operand")},
		Returns: "number", Example: `assert.eq(sum([1, 2, 3]), 6)`,
		Fn: sum,
	},
	{
		Name: "slice", Doc: "makes a slice for indices of several axes: a[slice(None), slice(0, 3)]. slice(stop), or slice(start, stop, step).",
		Params:  []builtin.Param{builtin.Rest("bounds", "int or None", "stop; or start, stop and step")},
		Returns: "slice", Example: `assert.eq(np.arange(6)[slice(1, 6, 2)].tolist(), [1, 3, 5])`,
		Fn: newSlice,
	},
	{
		Name: "read_text", Doc: "reads a text file.",
		Params:  []builtin.Param{builtin.Req("path", "string", "the file")},
		Returns: "string", Example: `write_text("note.txt", "hello")` + "\n" + `assert.eq(read_text("note.txt"), "hello")`,
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			path := c.Str("path")
			if err := c.Err(); err != nil {
				return nil, err
			}
			path, err := c.Env().Files.Read(path)
			if err != nil {
				return nil, err
			}
			data, err := os.ReadFile(path)
			return starlark.String(data), err
		},
	},
	{
		Name: "write_text", Doc: "writes a text file, whole or not at all.",
		Params:  []builtin.Param{builtin.Req("path", "string", "the file"), builtin.Req("text", "string", "its content")},
		Example: `write_text("note.txt", "hello")`,
		Fn:      writeText,
	},
}

func printArgs(c *builtin.Call) (starlark.Value, error) {
	sep := c.Str("sep")
	if err := c.Err(); err != nil {
		return nil, err
	}
	if len(c.Rest) == 1 {
		if t, ok := c.Rest[0].(value.Tabler); ok {
			_, err := fmt.Fprintln(c.Env().Stdout, t.Table())
			return starlark.None, err
		}
	}
	parts := make([]string, len(c.Rest))
	for i, v := range c.Rest {
		if s, ok := starlark.AsString(v); ok {
			parts[i] = s
		} else {
			parts[i] = v.String()
		}
	}
	_, err := fmt.Fprintln(c.Env().Stdout, strings.Join(parts, sep))
	return starlark.None, err
}

func round(c *builtin.Call) (starlark.Value, error) {
	if i, ok := c.Value("number").(starlark.Int); ok && c.IsNone("ndigits") {
		return i, nil
	}
	x, digits := c.Float("number"), c.Int("ndigits")
	if err := c.Err(); err != nil {
		return nil, err
	}
	if c.IsNone("ndigits") {
		return starlark.NumberToInt(starlark.Float(math.RoundToEven(x)))
	}
	r, err := strconv.ParseFloat(strconv.FormatFloat(x, 'f', max(digits, 0), 64), 64)
	if digits < 0 {
		scale := math.Pow(10, float64(-digits))
		r = math.RoundToEven(x/scale) * scale
	}
	if _, isInt := c.Value("number").(starlark.Int); isInt {
		return starlark.NumberToInt(starlark.Float(r))
	}
	return starlark.Float(r), err
}

func sum(c *builtin.Call) (starlark.Value, error) {
	acc := c.Value("start")
	items := c.List("iterable")
	if err := c.Err(); err != nil {
		return nil, err
	}
	for _, x := range items {
		v, err := starlark.Binary(plus, acc, x)
		if err != nil {
			return nil, err
		}
		acc = v
	}
	return acc, nil
}

// sliceValue is slice(start, stop, step).
type sliceValue struct{ start, stop, step starlark.Value }

var _ value.Bounds = sliceValue{}

func newSlice(c *builtin.Call) (starlark.Value, error) {
	s := sliceValue{starlark.None, starlark.None, starlark.None}
	switch len(c.Rest) {
	case 1:
		s.stop = c.Rest[0]
	case 2:
		s.start, s.stop = c.Rest[0], c.Rest[1]
	case 3:
		s.start, s.stop, s.step = c.Rest[0], c.Rest[1], c.Rest[2]
	default:
		return nil, c.Errorf("got %d arguments, want stop, or start, stop and step", len(c.Rest))
	}
	for _, v := range c.Rest {
		if _, isInt := v.(starlark.Int); !isInt && v != starlark.None {
			return nil, c.Errorf("got %s, want int or None", v.Type())
		}
	}
	return s, nil
}

// Bounds returns the three parts.
func (s sliceValue) Bounds() (start, stop, step starlark.Value) { return s.start, s.stop, s.step }
func (s sliceValue) String() string                             { return fmt.Sprintf("slice(%s, %s, %s)", s.start, s.stop, s.step) }

// Type returns "slice".
func (s sliceValue) Type() string { return "slice" }

// Freeze does nothing.
func (s sliceValue) Freeze() {}

// Truth is true.
func (s sliceValue) Truth() starlark.Bool { return true }

// Hash fails, as Python's.
func (s sliceValue) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable type: slice") }

func writeText(c *builtin.Call) (starlark.Value, error) {
	path, text := c.Str("path"), c.Str("text")
	if err := c.Err(); err != nil {
		return nil, err
	}
	path, err := c.Env().Files.Write(path)
	if err != nil {
		return nil, err
	}
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, []byte(text), 0o644); err != nil {
		return nil, err
	}
	if err := os.Rename(tmp, path); err != nil {
		os.Remove(tmp)
		return nil, err
	}
	return starlark.None, nil
}

// Self is the value sgs: every predeclared name as a field, so that a file that
// uses one as a variable can still reach it.
type Self struct{ Names starlark.StringDict }

// String returns the one-line form.
func (s Self) String() string { return "<sgs>" }

// Type returns "module".
func (s Self) Type() string { return "module" }

// Freeze does nothing.
func (s Self) Freeze() {}

// Truth is true.
func (s Self) Truth() starlark.Bool { return true }

// Hash fails.
func (s Self) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable type: module") }

// Attr returns a predeclared name.
func (s Self) Attr(name string) (starlark.Value, error) {
	if v := s.Names[name]; v != nil {
		return v, nil
	}
	return nil, starlark.NoSuchAttrError(fmt.Sprintf("sgs has no field %q%s", name, spell.Hint(name, s.AttrNames())))
}

// AttrNames lists the predeclared names.
func (s Self) AttrNames() []string {
	names := s.Names.Keys()
	sort.Strings(names)
	return names
}
