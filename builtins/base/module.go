package base

import (
	"fmt"
	"strings"

	"go.starlark.net/lib/json"
	"go.starlark.net/lib/math"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"github.com/starlarkgs/starlarkgs/builtins/builtin"
)

// maxNesting bounds how deep JSON may be nested, maxParts of how many values it
// may be made: the codec recurses, costs more at each level, and never looks at
// the limits of the script.
const (
	maxNesting = 1_000
	maxParts   = 1 << 26
)

var structFuncs = []*builtin.Func{{
	Name: "struct", Doc: "makes a value with the given fields, which cannot change.",
	Params: []builtin.Param{builtin.RestKw("fields", "any", "")}, Returns: "struct", Example: `assert.eq(struct(a = 1).a, 1)`,
	Raw: func(t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return starlarkstruct.Make(t, nil, args, kwargs)
	},
}}

// Modules returns the modules of this package, by name.
func Modules() starlark.StringDict {
	return starlark.StringDict{
		"json": builtin.NewModule("json", "Values as JSON text and back.", jsonFuncs, nil),
		"math": builtin.NewModule("math", "Functions of numbers; np has those of arrays.", mathFuncs(), starlark.StringDict{
			"e": math.Module.Members["e"], "pi": math.Module.Members["pi"],
		}),
	}
}

var jsonFuncs = []*builtin.Func{
	jsonFunc("encode", "string", "returns the JSON text of a value.", `assert.eq(json.encode({"a": [1, None]}), "{\"a\":[1,null]}")`, pos("x", "any", "")),
	jsonFunc("decode", "any", "returns the value of a JSON text.", `assert.eq(json.decode("[1, null]"), [1, None])`, pos("x", "string", ""), builtin.Opt("default", nil, "any", "what to return for a text that is not JSON; an error if not given")),
	jsonFunc("indent", "string", "returns a JSON text with its parts on lines of their own.", `assert.eq(json.indent("[1]"), "[\n\t1\n]")`, pos("str", "string", ""), builtin.Key("prefix", "", "string", "of each line"), builtin.Key("indent", "\t", "string", "of each level")),
	jsonFunc("encode_indent", "string", "returns the JSON text of a value with its parts on lines of their own.", `assert.eq(json.encode_indent([1], indent = " "), "[\n 1\n]")`, pos("x", "any", ""), builtin.Key("prefix", "", "string", "of each line"), builtin.Key("indent", "\t", "string", "of each level")),
}

func jsonFunc(name, returns, doc, example string, params ...builtin.Param) *builtin.Func {
	fn := json.Module.Members[name].(*starlark.Builtin)
	return &builtin.Func{Name: "json." + name, Doc: doc, Params: params, Returns: returns, Example: example,
		Raw: func(t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			for _, v := range args {
				parts := maxParts
				if s, ok := v.(starlark.String); ok && textNesting(string(s)) > maxNesting {
					return nil, errorf("json.%s: got a text nested deeper than %d", name, maxNesting)
				}
				if got := unfit(v, maxNesting, &parts); got != "" {
					return nil, errorf("json.%s: got %s", name, got)
				}
			}
			return fn.CallInternal(t, args, kwargs)
		}}
}

// textNesting returns how many brackets of a text may be open at once.
func textNesting(s string) int {
	if strings.Count(s, "[")+strings.Count(s, "{") <= maxNesting {
		return 0
	}
	depth, most := 0, 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '[', '{':
			depth++
			most = max(most, depth)
		case ']', '}':
			depth--
		}
	}
	return most
}

// unfit says why the codec must not see a value, or "": it is nested more than
// limit deep, of more than parts values, or a function.
func unfit(v starlark.Value, limit int, parts *int) string {
	*parts--
	switch {
	case limit == 0:
		return fmt.Sprintf("a value nested deeper than %d", maxNesting)
	case *parts < 0:
		return fmt.Sprintf("a value of more than %d parts", maxParts)
	}
	each := func(n int, at func(int) starlark.Value) string {
		for i := range n {
			if got := unfit(at(i), limit-1, parts); got != "" {
				return got
			}
		}
		return ""
	}
	switch v := v.(type) {
	case *builtin.Callable:
		return "a function, want a value"
	case starlark.String, starlark.Bytes:
		return ""
	case *starlark.List:
		return each(v.Len(), v.Index)
	case starlark.Tuple:
		return each(v.Len(), v.Index)
	case starlark.IterableMapping:
		items := v.Items()
		return each(len(items), func(i int) starlark.Value { return items[i][1] })
	case *starlarkstruct.Struct:
		fields := starlark.StringDict{}
		v.ToStringDict(fields)
		names := fields.Keys()
		return each(len(names), func(i int) starlark.Value { return fields[names[i]] })
	case starlark.Indexable: // an array, a live list, a range
		return each(v.Len(), v.Index)
	case starlark.HasAttrs:
		if _, iterable := v.(starlark.Iterable); !iterable {
			// The codec writes the attributes of any value: of a graph its nodes, of
			// each its graph, and so on.
			return "a " + v.Type() + ", want null, a bool, number, string, list or dict"
		}
	}
	return ""
}

// mathDocs says what each function of math does, with the arguments of an example
// and its result.
var mathDocs = map[string]struct{ does, args, result string }{
	"ceil":      {"the least int not below x", "1.2", "2"},
	"floor":     {"the greatest int not above x", "-1.2", "-2"},
	"fabs":      {"the absolute value of x", "-1.5", "1.5"},
	"round":     {"x rounded, halves away from zero", "2.5", "3.0"},
	"copysign":  {"x with the sign of y", "2, -1", "-2.0"},
	"mod":       {"the remainder of x / y, with the sign of x", "-7, 3", "-1.0"},
	"pow":       {"x to the power y", "2, 10", "1024.0"},
	"remainder": {"the IEEE remainder of x / y", "7, 4", "-1.0"},
	"exp":       {"e to the power x", "1", "2.718281828459045"},
	"sqrt":      {"the square root of x", "2", "1.4142135623730951"},
	"log":       {"the logarithm of x, to the base e or y", "8, 2", "3.0"},
	"gamma":     {"the gamma function of x", "5", "24.0"},
	"acos":      {"the arc cosine of x", "0.5", "1.0471975511965979"},
	"asin":      {"the arc sine of x", "0.5", "0.5235987755982989"},
	"atan":      {"the arc tangent of x", "1", "0.7853981633974483"},
	"atan2":     {"the angle of the point (y, x)", "1, -1", "2.356194490192345"},
	"cos":       {"the cosine of x", "1", "0.5403023058681398"},
	"sin":       {"the sine of x", "1", "0.8414709848078965"},
	"tan":       {"the tangent of x", "1", "1.5574077246549023"},
	"hypot":     {"the length of the vector (x, y)", "3, 4", "5.0"},
	"degrees":   {"the angle x in degrees", "1", "57.29577951308232"},
	"radians":   {"the angle x in radians", "180", "3.141592653589793"},
	"acosh":     {"the inverse hyperbolic cosine of x", "2", "1.3169578969248166"},
	"asinh":     {"the inverse hyperbolic sine of x", "1", "0.881373587019543"},
	"atanh":     {"the inverse hyperbolic tangent of x", "0.5", "0.5493061443340548"},
	"cosh":      {"the hyperbolic cosine of x", "1", "1.5430806348152437"},
	"sinh":      {"the hyperbolic sine of x", "1", "1.1752011936438014"},
	"tanh":      {"the hyperbolic tangent of x", "1", "0.7615941559557649"},
}

func mathFuncs() []*builtin.Func {
	var fs []*builtin.Func
	for _, name := range math.Module.Members.Keys() {
		fn, ok := math.Module.Members[name].(*starlark.Builtin)
		if !ok {
			continue
		}
		params := []builtin.Param{pos("x", "number", "")}
		switch name {
		case "copysign", "mod", "pow", "remainder", "hypot":
			params = append(params, pos("y", "number", ""))
		case "atan2":
			params = []builtin.Param{pos("y", "number", ""), pos("x", "number", "")}
		case "log":
			params = append(params, builtin.Opt("base", nil, "number", "None is e"))
		}
		fs = append(fs, &builtin.Func{Name: "math." + name, Doc: "returns " + mathDocs[name].does + ".", Params: params, Returns: "number",
			Example: mathExample(name), Raw: fn.CallInternal})
	}
	return fs
}

func mathExample(name string) string {
	return "assert.close(math." + name + "(" + mathDocs[name].args + "), " + mathDocs[name].result + ")"
}
