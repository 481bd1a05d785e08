package starlarkgs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/internal/spell"
)

// undefinedHint answers an undefined name: by the spelling to use for a name of
// Python's, else by the nearest names that are defined there.
func (h *Host) undefinedHint(name string, pos syntax.Position) string {
	if hint := pythonNames[name]; hint != "" {
		return hint
	}
	names := append(h.predeclared.Keys(), starlark.Universe.Keys()...)
	names = append(names, h.session.names()...)
	names = append(names, h.namesAt(pos)...)
	_, hint := cutHint(spell.HintName(name, names))
	return hint
}

// namesAt returns the names that the file binds and that are visible at a place:
// its globals, and the locals of the functions around the place.
func (h *Host) namesAt(pos syntax.Position) []string {
	file := h.syntaxOf(pos.Filename())
	if file == nil {
		return nil
	}
	var names []string
	for name := range bindings(file.Stmts) {
		names = append(names, name)
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		def, ok := n.(*syntax.DefStmt)
		if !ok {
			return true
		}
		start, end := def.Span()
		if before(pos, start) || before(end, pos) {
			return false
		}
		for _, p := range def.Params {
			names = append(names, paramName(p))
		}
		for name := range bindings(def.Body) {
			names = append(names, name)
		}
		return true
	})
	return names
}

func paramName(p syntax.Expr) string {
	switch p := p.(type) {
	case *syntax.Ident:
		return p.Name
	case *syntax.BinaryExpr:
		return paramName(p.X)
	case *syntax.UnaryExpr:
		if p.X != nil {
			return paramName(p.X)
		}
	}
	return ""
}

// syntaxOf parses a file again, for the analysis of an error in it.
func (h *Host) syntaxOf(name string) *syntax.File {
	src, ok := h.sources[name]
	if !ok {
		return nil
	}
	file, err := parse(name, src, dialect)
	if err != nil {
		return nil
	}
	return file
}

// bindings returns the names that statements bind outside of functions and
// comprehensions, each with the identifier that binds it first.
func bindings(stmts []syntax.Stmt) map[string]*syntax.Ident {
	out := map[string]*syntax.Ident{}
	forBindings(stmts, func(id *syntax.Ident) {
		if out[id.Name] == nil {
			out[id.Name] = id
		}
	})
	return out
}

// forBindings calls f for each identifier that statements bind.
func forBindings(stmts []syntax.Stmt, f func(*syntax.Ident)) {
	for _, s := range stmts {
		switch s := s.(type) {
		case *syntax.AssignStmt:
			forTargets(s.LHS, f)
		case *syntax.DefStmt:
			f(s.Name)
		case *syntax.ForStmt:
			forTargets(s.Vars, f)
			forBindings(s.Body, f)
		case *syntax.WhileStmt:
			forBindings(s.Body, f)
		case *syntax.IfStmt:
			forBindings(s.True, f)
			forBindings(s.False, f)
		case *syntax.LoadStmt:
			for _, id := range s.To {
				f(id)
			}
		}
	}
}

// forTargets calls f for each identifier that an assignment to e binds.
func forTargets(e syntax.Expr, f func(*syntax.Ident)) {
	switch e := e.(type) {
	case *syntax.Ident:
		f(e)
	case *syntax.ParenExpr:
		forTargets(e.X, f)
	case *syntax.TupleExpr:
		for _, x := range e.List {
			forTargets(x, f)
		}
	case *syntax.ListExpr:
		for _, x := range e.List {
			forTargets(x, f)
		}
	}
}

var (
	notCallable  = regexp.MustCompile(`^invalid call of non-function`)
	noAttribute  = regexp.MustCompile(`^(\S+) has no \.(\w+) field or method$`)
	noIndex      = regexp.MustCompile(`^unhandled index operation`)
	unassigned   = regexp.MustCompile(`^(?:global|local) variable (\S+) referenced before assignment$`)
	unpredefined = regexp.MustCompile(`^internal error: predeclared variable (\S+) is uninitialized$`)
	noParameter  = regexp.MustCompile(`^function (\S+) got an unexpected keyword argument "(\w+)"$`)
	notOrdered   = regexp.MustCompile(`^(tensor|array) (<=?|>=?) \S+ not implemented$`)
	noLoadName   = regexp.MustCompile(`^load: name (\S+) not found in module (.*)$`)
)

// explainRun rewords an error of a running script and adds a hint. Operations of
// the script itself may come of a predeclared name that is a variable there.
func (h *Host) explainRun(msg string, pos syntax.Position, script bool) (string, string) {
	if m := unpredefined.FindStringSubmatch(msg); m != nil {
		name := strings.TrimSuffix(m[1], sharedSuffix)
		return "undefined: " + name, h.undefinedHint(name, pos)
	}
	if m := noLoadName.FindStringSubmatch(msg); m != nil {
		return fmt.Sprintf("load %q: it defines no %s", m[2], m[1]), h.loadHint(m[1])
	}
	if m := noParameter.FindStringSubmatch(msg); m != nil {
		return msg, h.parameterHint(m[1], m[2])
	}
	if script {
		if hint := h.shadowHint(msg, pos); hint != "" {
			return msg, hint
		}
	}
	if m := noAttribute.FindStringSubmatch(msg); m != nil {
		return msg, pythonMethods[m[1]+"."+m[2]]
	}
	if m := notOrdered.FindStringSubmatch(msg); m != nil {
		return msg, fmt.Sprintf("a comparison gives a bool here; %s(a, b)", builders[m[1]+m[2]])
	}
	for _, r := range runHints {
		if strings.Contains(msg, r.text) {
			return msg, r.hint
		}
	}
	return msg, ""
}

// parameterHint names the parameters, near to the word, of the functions of that
// name in the files of the host, or, when none is near, all parameters of the only
// one.
func (h *Host) parameterHint(function, word string) string {
	var names []string
	defs := 0
	for file := range h.sources {
		root := h.syntaxOf(file)
		if root == nil {
			continue
		}
		syntax.Walk(root, func(n syntax.Node) bool {
			if def, ok := n.(*syntax.DefStmt); ok && def.Name.Name == function {
				defs++
				for _, p := range def.Params {
					names = append(names, paramName(p))
				}
			}
			return true
		})
	}
	if _, hint := cutHint(spell.Hint(word, names)); hint != "" || defs != 1 {
		return hint
	}
	return "it takes " + strings.Join(slices.DeleteFunc(names, func(s string) bool { return s == "" }), ", ")
}

// loadHint names what a loaded file defines.
func (h *Host) loadHint(name string) string {
	var names []string
	for _, n := range h.lastLoad.Keys() {
		if !strings.HasPrefix(n, "_") {
			names = append(names, n)
		}
	}
	if _, hint := cutHint(spell.HintName(name, names)); hint != "" {
		return hint
	}
	if len(names) == 0 {
		return "it defines nothing"
	}
	const most = 10
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return "it defines " + strings.Join(names, ", ")
}

// shadowHint explains an error that comes of a predeclared name that is a
// variable at that place.
func (h *Host) shadowHint(msg string, pos syntax.Position) string {
	if !notCallable.MatchString(msg) && !noAttribute.MatchString(msg) && !noIndex.MatchString(msg) && !unassigned.MatchString(msg) {
		return ""
	}
	file := h.syntaxOf(pos.Filename())
	if file == nil {
		return ""
	}
	known := func(string) bool { return true }
	if err := resolve.File(file, known, starlark.Universe.Has); err != nil {
		return ""
	}
	id := operandAt(file, pos)
	if id == nil || !h.predeclared.Has(id.Name) && !starlark.Universe.Has(id.Name) {
		return ""
	}
	where := h.boundAt(id, pos)
	if where == "" {
		return ""
	}
	return fmt.Sprintf("%s is a variable here since %s; the %s is sgs.%s", id.Name, where, kindOf(h.predeclared[id.Name]), id.Name)
}

// boundAt tells where the variable that id names was first bound, or "".
func (h *Host) boundAt(id *syntax.Ident, pos syntax.Position) string {
	bound := h.session.boundAt(id.Name)
	if b, ok := id.Binding.(*resolve.Binding); ok && b.First != nil {
		switch b.Scope {
		case resolve.Local, resolve.Cell, resolve.Free, resolve.Global:
			bound = b.First.NamePos
		}
	}
	switch {
	case !bound.IsValid():
		return ""
	case bound.Filename() == pos.Filename():
		return fmt.Sprintf("line %d", bound.Line)
	}
	return bound.String()
}

func kindOf(v starlark.Value) string {
	switch v := v.(type) {
	case *builtin.Module:
		return "module"
	case starlark.Callable:
		switch v.Name() {
		case "graph", "node", "tensor", "variable", "constant", "function":
			return "constructor"
		}
		return "function"
	case starlark.HasAttrs:
		return "module"
	}
	return "value"
}

// operandAt returns the identifier that the operation at a place is applied to:
// node in node("Add"), node.x or node[0]; or the identifier there itself.
func operandAt(file *syntax.File, pos syntax.Position) *syntax.Ident {
	var found *syntax.Ident
	syntax.Walk(file, func(n syntax.Node) bool {
		var x syntax.Expr
		switch n := n.(type) {
		case *syntax.CallExpr:
			if n.Lparen == pos || samePlace(n.Lparen, pos) {
				x = n.Fn
			}
		case *syntax.DotExpr:
			if samePlace(n.Dot, pos) {
				x = n.X
			}
		case *syntax.IndexExpr:
			if samePlace(n.Lbrack, pos) {
				x = n.X
			}
		case *syntax.Ident:
			if samePlace(n.NamePos, pos) {
				x = n
			}
		}
		if id, ok := x.(*syntax.Ident); ok && found == nil {
			found = id
		}
		return found == nil
	})
	return found
}

func samePlace(a, b syntax.Position) bool { return a.Line == b.Line && a.Col == b.Col }

// builders are what compares in place of an operator.
var builders = map[string]string{
	"tensor<": "the node is g.op.Less", "tensor<=": "the node is g.op.LessOrEqual",
	"tensor>": "the node is g.op.Greater", "tensor>=": "the node is g.op.GreaterOrEqual",
	"array<": "the elements are compared by np.less", "array<=": "the elements are compared by np.less_equal",
	"array>": "the elements are compared by np.greater", "array>=": "the elements are compared by np.greater_equal",
}

// runHints answer errors of running scripts that Python's habits cause.
var runHints = []struct{ text, hint string }{
	{"unknown conversion %.", `% takes no width or precision: format(x, ".2f")`},
	{"format spec features not supported", `.format takes no width or precision: format(x, ".2f")`},
	{"cannot append to frozen", "values of a loaded file are read-only; list(x) is a copy"},
	{"cannot insert into frozen hash table", "values of a loaded file are read-only; dict(x) is a copy"},
	{"unknown binary op: string + int", "str(x) makes a string of a number"},
	{"unknown binary op: string + float", "str(x) makes a string of a number"},
	{"unhashable type: list", "a tuple can be a key: tuple(x)"},
	{"cannot assign to element of frozen list", "assign a whole list, as t.shape = [1] + t.shape[1:]"},
	{"Starlark stack overflow", "the recursion has no end"},
}

// pythonMethods are methods of Python's that Starlark's types lack.
var pythonMethods = map[string]string{
	"list.sort": "write sorted(x)", "list.reverse": "write reversed(x)", "list.copy": "write list(x)",
	"list.count":   "write len([e for e in x if e == y])",
	"dict.copy":    "write dict(d)",
	"dict.has_key": "write key in d", "dict.iteritems": "write d.items()", "dict.itervalues": "write d.values()", "dict.iterkeys": "write d.keys()",
	"string.encode": "write bytes(s)", "bytes.decode": "write str(b)",
	"string.ljust": `write format(s, "<10")`, "string.rjust": `write format(s, ">10")`, "string.center": `write format(s, "^10")`,
	"string.zfill": `write format(n, "05d")`, "string.isnumeric": "write s.isdigit()", "string.isdecimal": "write s.isdigit()",
	"string.isidentifier": "write s.isalnum()", "string.casefold": "write s.lower()", "set.copy": "write set(x)",
}

// pythonNames are names of Python's that scripts reach for.
var pythonNames = map[string]string{
	"isinstance": `write type(x) == "tensor"`, "issubclass": "Starlark has no classes", "super": "Starlark has no classes",
	"object": "Starlark has no classes", "property": "Starlark has no classes", "staticmethod": "Starlark has no classes",
	"map": "write [f(x) for x in xs]", "filter": "write [x for x in xs if f(x)]", "reduce": "write a for loop",
	"next": "write xs[0]", "iter": "a for loop takes any list", "xrange": "write range(n)", "pow": "write np.power(a, b)",
	"divmod": "write a // b and a % b", "callable": `write type(x) in ("function", "builtin_function_or_method")`,
	"frozenset": "write set(x)", "bytearray": "write bytes(x)", "setattr": "write x.name = value",
	"locals": "Starlark has no view of its variables", "globals": "Starlark has no view of its variables", "vars": "write dir(x)",
	"eval": "write load(\"file.star\", \"name\")", "exec": "write load(\"file.star\", \"name\")", "compile": "write load(\"file.star\", \"name\")",
	"input": "a script gets its arguments through argv", "raw_input": "a script gets its arguments through argv",
	"exit": "write fail(message), or return", "quit": "write fail(message), or return",
	"__name__": "a script has no __name__: write main() at its end", "__file__": "load paths are relative to the loading file",
	"sys": "argv is predeclared, fail(message) ends the script", "os": "files: read_text, write_text, open", "re": "strings have find, split, replace, startswith",
	"time": "a script sees no clock", "random": "write np.random(seed).normal(shape)", "copy": "write x.copy()",
	"itertools": "write loops", "functools": "write a def inside a def", "collections": "dicts keep their order",
	"numpy": "np is predeclared", "onnx_graphsurgeon": "gs is predeclared", "onnxruntime": `write run(g, inputs, backend = "onnxruntime")`,
	"Exception": "write fail(message)", "ValueError": "write fail(message)", "TypeError": "write fail(message)",
	"KeyError": "write fail(message)", "RuntimeError": "write fail(message)", "AssertionError": "write fail(message)",
	"true": "write True", "false": "write False", "null": "write None", "none": "write None", "nil": "write None",
	"self": "the graph is the first parameter of a builder: def f(self, x)", "assert": "write if not condition: fail(message)",
	"long": "write int(x)", "unicode": "write str(x)", "complex": `write np.array(x, "complex64")`, "Ellipsis": "write slice(None)",
}
