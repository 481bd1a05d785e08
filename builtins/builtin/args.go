package builtin

import (
	"fmt"
	"math"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/internal/spell"
)

// at returns the place of a parameter; asking for one that the entry lacks is a bug.
func (c *Call) at(name string) int {
	for i := range c.Func.Params {
		if p := &c.Func.Params[i]; p.Name == name || p.Inner == name {
			return i
		}
	}
	panic(fmt.Sprintf("internal error: %s has no parameter %q", c.Func.Name, name))
}

// Value returns the argument, or its default; nil when the parameter has neither.
func (c *Call) Value(name string) starlark.Value {
	i := c.at(name)
	if c.args[i] != nil {
		return c.args[i]
	}
	return c.Func.Params[i].Def
}

// Given reports whether the caller gave the argument.
func (c *Call) Given(name string) bool { return c.args[c.at(name)] != nil }

// IsNone reports whether the argument is None, given or by default.
func (c *Call) IsNone(name string) bool { return c.Value(name) == starlark.None }

// Arg returns the argument as a converter makes it of the value; what names the
// argument for the converter's error. None goes to the converter too.
func Arg[T any](c *Call, name string, convert func(v starlark.Value, what string) (T, error)) T {
	x, err := convert(c.Value(name), c.what(name))
	if err != nil {
		c.Fail(err)
	}
	return x
}

// get is Arg for the plain kinds: None is the zero value where it is the default.
func get[T any](c *Call, name string, convert func(v starlark.Value, what string) (T, error)) T {
	var zero T
	v := c.Value(name)
	if v == starlark.None && c.Func.Params[c.at(name)].Def == starlark.None {
		return zero
	}
	x, err := convert(v, "")
	if err != nil { // once more, for an error that says what is wrong
		_, err = convert(v, c.what(name))
		c.Fail(err)
		return zero
	}
	return x
}

// Int returns an int argument; 0 for a None that is the default.
func (c *Call) Int(name string) int { return get(c, name, AsInt) }

// Float returns a float argument, given as a float or an int.
func (c *Call) Float(name string) float64 { return get(c, name, AsFloat) }

// Str returns a string argument.
func (c *Call) Str(name string) string { return get(c, name, AsString) }

// Bool returns a bool argument.
func (c *Call) Bool(name string) bool { return get(c, name, AsBool) }

// List returns the elements of an argument that is any iterable but a string.
func (c *Call) List(name string) []starlark.Value { return get(c, name, AsList) }

// Strs returns an argument that is an iterable of strings.
func (c *Call) Strs(name string) []string { return get(c, name, Each(AsString)) }

// Ints returns an argument that is an iterable of ints.
func (c *Call) Ints(name string) []int { return get(c, name, Each(AsInt)) }

// Items returns the key-value pairs of an argument that is a dict.
func (c *Call) Items(name string) []starlark.Tuple { return get(c, name, AsItems) }

// Callable returns an argument that is a function.
func (c *Call) Callable(name string) starlark.Callable { return get(c, name, AsCallable) }

// Enum returns a string argument that must be one of those allowed.
func (c *Call) Enum(name string, allowed ...string) string {
	return get(c, name, func(v starlark.Value, what string) (string, error) {
		s, err := AsString(v, what)
		if err != nil {
			return "", err
		}
		for _, a := range allowed {
			if s == a {
				return s, nil
			}
		}
		return "", fmt.Errorf("%s: got %q, want %s%s", what, s, oneOf(allowed), spell.Hint(s, allowed))
	})
}

// AsInt returns an int, or an error that begins with what.
func AsInt(v starlark.Value, what string) (int, error) {
	i, ok := v.(starlark.Int)
	if !ok {
		if f, isFloat := v.(starlark.Float); isFloat && float64(f) == math.Trunc(float64(f)) {
			return 0, fmt.Errorf("%s: got float %s, want int: write int(%s)", what, v, v)
		}
		return 0, mismatch(v, what, "int")
	}
	n, ok := i.Int64()
	if !ok || int64(int(n)) != n {
		return 0, fmt.Errorf("%s: got %s, want an int of 64 bits", what, short(v))
	}
	return int(n), nil
}

// AsFloat returns the number that v is, or an error that begins with what.
func AsFloat(v starlark.Value, what string) (float64, error) {
	f, ok := starlark.AsFloat(v)
	if !ok {
		return 0, mismatch(v, what, "float or int")
	}
	return f, nil
}

// AsString returns a string, or an error that begins with what.
func AsString(v starlark.Value, what string) (string, error) {
	s, ok := starlark.AsString(v)
	if !ok {
		return "", mismatch(v, what, "string")
	}
	return s, nil
}

// AsBool returns a bool, or an error that begins with what.
func AsBool(v starlark.Value, what string) (bool, error) {
	b, ok := v.(starlark.Bool)
	if !ok {
		return false, mismatch(v, what, "bool")
	}
	return bool(b), nil
}

// AsCallable returns a function, or an error that begins with what.
func AsCallable(v starlark.Value, what string) (starlark.Callable, error) {
	fn, ok := v.(starlark.Callable)
	if !ok {
		return nil, mismatch(v, what, "function")
	}
	return fn, nil
}

// AsList returns the elements of any iterable, or an error that begins with what.
func AsList(v starlark.Value, what string) ([]starlark.Value, error) {
	it := starlark.Iterate(v)
	if it == nil {
		return nil, mismatch(v, what, "list or another iterable")
	}
	defer it.Done()
	var out []starlark.Value
	if n := starlark.Len(v); n > 0 {
		out = make([]starlark.Value, 0, min(n, 1<<16))
	}
	var x starlark.Value
	for it.Next(&x) {
		if len(out) == maxElems {
			return nil, fmt.Errorf("%s: got more than %d elements", what, maxElems)
		}
		out = append(out, x)
	}
	return out, nil
}

// maxElems bounds what AsList collects: range(1 << 40) would end the process.
const maxElems = 1 << 26

// AsItems returns the key-value pairs of a dict, or an error that begins with what.
func AsItems(v starlark.Value, what string) ([]starlark.Tuple, error) {
	m, ok := v.(starlark.IterableMapping)
	if !ok {
		return nil, mismatch(v, what, "dict")
	}
	return m.Items(), nil
}

// Each returns the converter of an iterable whose elements conv converts.
func Each[T any](conv func(v starlark.Value, what string) (T, error)) func(starlark.Value, string) ([]T, error) {
	return func(v starlark.Value, what string) ([]T, error) {
		items, err := AsList(v, what)
		if err != nil {
			return nil, err
		}
		out := make([]T, len(items))
		for i, x := range items {
			if out[i], err = conv(x, what); err != nil {
				_, err = conv(x, fmt.Sprintf("%s[%d]", what, i))
				return nil, err
			}
		}
		return out, nil
	}
}

// mismatch is the error of a value of the wrong type.
func mismatch(v starlark.Value, what, want string) error {
	if v == starlark.None {
		return fmt.Errorf("%s: got None, want %s", what, want)
	}
	switch v.(type) {
	case starlark.String, starlark.Int, starlark.Float, starlark.Bool:
		return fmt.Errorf("%s: got %s %s, want %s", what, v.Type(), short(v), want)
	}
	return fmt.Errorf("%s: got %s, want %s", what, v.Type(), want)
}

// short returns the text of a plain value, cut when it is long.
func short(v starlark.Value) string {
	const limit = 40
	s := v.String()
	if len(s) > limit {
		return s[:limit] + "…"
	}
	return s
}
