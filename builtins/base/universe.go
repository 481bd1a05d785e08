package base

import (
	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/builtins/builtin"
)

// maxDigits bounds the text that int takes, maxRange the length of a range: a
// longer one would take more memory than there is wherever it is made a list,
// and more steps than a script has where it is looped over.
const (
	maxDigits = 100_000
	maxRange  = 1 << 27
)

// universal describes a function of Starlark's own.
func universal(name, returns, doc, example string, params ...builtin.Param) *builtin.Func {
	fn := starlark.Universe[name].(*starlark.Builtin)
	return &builtin.Func{Name: name, Doc: doc, Params: params, Returns: returns, Example: example, Raw: fn.CallInternal}
}

// consumer describes a function of Starlark's own that goes over an iterable. It
// does as Starlark says, but stops when a limit of the script is hit.
func consumer(name, returns, doc, example string, params ...builtin.Param) *builtin.Func {
	f := universal(name, returns, doc, example, params...)
	fn := starlark.Universe[name].(*starlark.Builtin)
	f.Raw = func(t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return guarded(t, fn, args, kwargs)
	}
	return f
}

func pos(name, typ, doc string) builtin.Param { return builtin.Req(name, typ, doc).Positional() }
func opt(name string, def any, typ, doc string) builtin.Param {
	return builtin.Opt(name, def, typ, doc).Positional()
}

// universe is Starlark's own functions, but for those that this package replaces.
var universe = []*builtin.Func{
	universal("abs", "number", "returns the absolute value of a number.", `assert.eq(abs(-3), 3)`, pos("x", "number", "")),
	consumer("all", "bool", "reports whether every element is true.", `assert.true(all([1, "a"]))`, pos("x", "iterable", "")),
	consumer("any", "bool", "reports whether some element is true.", `assert.true(any([0, "a"]))`, pos("x", "iterable", "")),
	universal("bool", "bool", "returns whether a value counts as true.", `assert.eq(bool([]), False)`, opt("x", false, "any", "")),
	consumer("bytes", "bytes", "makes bytes of a string, or of numbers from 0 to 255.", `assert.eq(bytes([104, 105]), b"hi")`, pos("x", "string, bytes or iterable of int", "")),
	universal("chr", "string", "returns the character of a code point.", `assert.eq(chr(65), "A")`, pos("i", "int", "")),
	consumer("dict", "dict", "makes a dict of pairs, or copies one, and adds the named entries.", `assert.eq(dict([("a", 1)], b = 2), {"a": 1, "b": 2})`, opt("x", builtin.NoList, "dict or iterable of pairs", ""), builtin.RestKw("kwargs", "any", "further entries")),
	universal("dir", "list", "lists the fields and methods of a value.", `assert.contains(dir("x"), "upper")`, pos("x", "any", "")),
	consumer("enumerate", "list", "returns the pairs of number and element.", `assert.eq(enumerate(["a", "b"]), [(0, "a"), (1, "b")])`, pos("x", "iterable", ""), opt("start", 0, "int", "the first number")),
	universal("float", "float", "makes a float of a number or of its text.", `assert.eq(float("1.5"), 1.5)`, opt("x", 0.0, "number or string", "")),
	universal("getattr", "any", "returns the field or method of that name.", `assert.eq(getattr("a", "upper")(), "A")`, pos("x", "any", ""), pos("name", "string", ""), opt("default", nil, "any", "what to return when there is none; an error if not given")),
	universal("hasattr", "bool", "reports whether a value has a field or method of that name.", `assert.true(hasattr("a", "upper"))`, pos("x", "any", ""), pos("name", "string", "")),
	universal("hash", "int", "returns a number that is the same for equal strings.", `assert.eq(hash("a"), hash("a"))`, pos("x", "string or bytes", "")),
	integer,
	universal("len", "int", "returns the number of elements.", `assert.eq(len([1, 2]), 2)`, pos("x", "iterable or string", "")),
	consumer("list", "list", "makes a list of the elements.", `assert.eq(list((1, 2)), [1, 2])`, opt("x", builtin.NoList, "iterable", "")),
	consumer("max", "any", "returns the largest of its arguments, or of the elements of one.", `assert.eq(max([1, 3, 2]), 3)`, builtin.Rest("x", "any", "one iterable, or several values"), builtin.Key("key", nil, "function", "what to compare of each")),
	consumer("min", "any", "returns the smallest of its arguments, or of the elements of one.", `assert.eq(min(3, 1, 2), 1)`, builtin.Rest("x", "any", "one iterable, or several values"), builtin.Key("key", nil, "function", "what to compare of each")),
	universal("ord", "int", "returns the code point of a character.", `assert.eq(ord("A"), 65)`, pos("s", "string", "one character")),
	ranges,
	consumer("reversed", "list", "returns the elements from the last to the first.", `assert.eq(reversed([1, 2]), [2, 1])`, pos("x", "iterable", "")),
	consumer("set", "set", "makes a set of the elements.", `assert.eq(len(set([1, 1, 2])), 2)`, opt("x", builtin.NoList, "iterable", "")),
	consumer("sorted", "list", "returns the elements in order.", `assert.eq(sorted([2, 1]), [1, 2])`, builtin.Req("iterable", "iterable", ""), builtin.Opt("key", nil, "function", "what to compare of each"), builtin.Opt("reverse", false, "bool", "the largest first")),
	consumer("tuple", "tuple", "makes a tuple of the elements.", `assert.eq(tuple([1, 2]), (1, 2))`, opt("x", builtin.NoList, "iterable", "")),
	universal("type", "string", "returns the name of a value's type.", `assert.eq(type(1), "int")`, pos("x", "any", "")),
	consumer("zip", "list", "returns the tuples of the first elements, the second ones, and so on.", `assert.eq(zip([1, 2], ["a", "b"]), [(1, "a"), (2, "b")])`, builtin.Rest("x", "iterables", "")),
	{
		Name: "str", Doc: "returns the text of a value; a string is its own.",
		Params: []builtin.Param{pos("x", "any", "")}, Returns: "string", Example: `assert.eq(str([1]), "[1]")`,
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			if b, ok := c.Value("x").(starlark.Bytes); ok {
				return starlark.Call(c.Thread, starlark.Universe["str"], starlark.Tuple{b}, nil)
			}
			s, err := builtin.Str(c.Thread, c.Value("x"))
			return starlark.String(s), err
		},
	},
	{
		Name: "repr", Doc: "returns the text of a value; a string is quoted.",
		Params: []builtin.Param{pos("x", "any", "")}, Returns: "string", Example: `assert.eq(repr("a"), "\"a\"")`,
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			s, err := builtin.Repr(c.Thread, c.Value("x"))
			return starlark.String(s), err
		},
	},
	{
		Name: "fail", Doc: "ends the script with an error of that text.",
		Params:  []builtin.Param{builtin.Rest("args", "any", "what the text is made of"), builtin.Key("sep", " ", "string", "what stands between")},
		Example: `assert.fails(lambda: fail("no", 1), "fail: no 1")`,
		Fn: func(c *builtin.Call) (starlark.Value, error) {
			text, err := joined(c)
			if err != nil {
				return nil, err
			}
			return nil, c.Errorf("%s", text)
		},
	},
}

// integer is int, which would take a text of millions of digits for ever.
var integer = func() *builtin.Func {
	f := universal("int", "int", "makes an int of a number, cutting its fraction, or of a text in some base.", `assert.eq(int("ff", 16), 255)`,
		opt("x", 0, "number or string", ""), builtin.Opt("base", nil, "int", "of the text; None is 10, 0 takes that of a prefix"))
	inner := f.Raw
	f.Raw = func(t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		for _, v := range args {
			if s, ok := v.(starlark.String); ok && len(s) > maxDigits {
				return nil, errorf("int: got a text of %d characters, want at most %d", len(s), maxDigits)
			}
		}
		return inner(t, args, kwargs)
	}
	return f
}()

// ranges is range with a bound on its length.
var ranges = func() *builtin.Func {
	f := universal("range", "range", "returns the numbers from start up to stop, without it.", `assert.eq(list(range(1, 7, 2)), [1, 3, 5])`,
		builtin.Rest("bounds", "int", "stop; or start, stop and step"))
	f.Params[0].Doc = "stop; or start, stop and step"
	inner := f.Raw
	f.Raw = func(t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		v, err := inner(t, args, kwargs)
		if n := starlark.Len(v); err == nil && n > maxRange {
			return nil, errorf("range: got %d numbers, want at most %d: write a while loop", n, maxRange)
		}
		return v, err
	}
	return f
}()
