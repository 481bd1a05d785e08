package starlarkgs

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/internal/spell"
)

// Error is an error of a script: where it arose, what it is, and through which
// calls.
type Error struct {
	Pos   syntax.Position
	Msg   string
	Line  string  // the source line, where it is known
	Stack []Frame // innermost first
	Err   error   // what it came from
}

// Frame is one active call of a script.
type Frame struct {
	Pos  syntax.Position
	Name string
}

// Error returns the position and message, the source line with a caret, and
// the call stack.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Pos.IsValid() {
		fmt.Fprintf(&b, "%s: ", e.Pos)
	}
	b.WriteString(e.Msg)
	if e.Line != "" {
		fmt.Fprintf(&b, "\n  %s\n  %s^", e.Line, caretIndent(e.Line, int(e.Pos.Col)))
	}
	for _, f := range e.Stack {
		fmt.Fprintf(&b, "\n    at %s in %s", f.Pos, f.Name)
	}
	return b.String()
}

// Unwrap returns what the error came from.
func (e *Error) Unwrap() error { return e.Err }

// caretIndent is as wide as what stands before column col: tabs stay tabs, wide
// characters take two places.
func caretIndent(line string, col int) string {
	var b strings.Builder
	n := 1
	for _, r := range line {
		if n >= col {
			break
		}
		switch {
		case r == '\t':
			b.WriteByte('\t')
		case isWide(r):
			b.WriteString("  ")
		default:
			b.WriteByte(' ')
		}
		n++
	}
	return b.String()
}

// isWide reports whether a terminal shows the character in two columns.
func isWide(r rune) bool {
	return r >= 0x1100 && (r <= 0x115f || r >= 0x2e80 && r <= 0xa4cf || r >= 0xac00 && r <= 0xd7a3 ||
		r >= 0xf900 && r <= 0xfaff || r >= 0xfe30 && r <= 0xfe6f || r >= 0xff00 && r <= 0xff60 || r >= 0x1f300 && r <= 0x1faff)
}

// wrap gives any error of a script its one shape.
func (h *Host) wrap(err error) error {
	var done *Error
	var eval *starlark.EvalError
	var list resolve.ErrorList
	var parse syntax.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &eval):
		return h.wrapEval(eval)
	case errors.As(err, &done):
		return done
	case errors.As(err, &list) && len(list) > 0:
		sort.SliceStable(list, func(i, j int) bool { return before(list[i].Pos, list[j].Pos) })
		return h.at(list[0].Pos, h.resolveHint(list[0].Msg), err)
	case errors.As(err, &parse):
		return h.at(parse.Pos, pythonHint(h.lineOf(parse.Pos), parse.Msg), err)
	}
	return &Error{Msg: err.Error(), Err: err}
}

func before(a, b syntax.Position) bool {
	return a.Line < b.Line || a.Line == b.Line && a.Col < b.Col
}

func (h *Host) at(pos syntax.Position, msg string, err error) *Error {
	return &Error{Pos: pos, Msg: msg, Line: h.lineOf(pos), Err: err}
}

func (h *Host) wrapEval(eval *starlark.EvalError) error {
	var inner *Error
	if errors.As(eval.Unwrap(), &inner) {
		return inner // an error of a file that this one loads
	}
	e := &Error{Msg: eval.Msg, Err: eval}
	var bug *builtin.PanicError
	if errors.As(eval, &bug) {
		e.Msg = bug.Error()
	}
	for i := len(eval.CallStack) - 1; i >= 0; i-- {
		f := eval.CallStack[i]
		if f.Pos.Line > 0 {
			e.Stack = append(e.Stack, Frame{f.Pos, f.Name})
		}
	}
	if len(e.Stack) > 0 {
		e.Pos = e.Stack[0].Pos
		e.Line = h.lineOf(e.Pos)
		e.Msg = h.shadowHint(e.Msg, e.Pos)
	}
	if name, ok := strings.CutPrefix(e.Msg, "internal error: predeclared variable "); ok {
		name = strings.TrimSuffix(name, " is uninitialized")
		e.Msg = h.resolveHint("undefined: " + name)
	}
	return e
}

// lineOf returns the text of a source line.
func (h *Host) lineOf(pos syntax.Position) string {
	src := h.sources[pos.Filename()]
	for range int(pos.Line) - 1 {
		_, rest, ok := strings.Cut(src, "\n")
		if !ok {
			return ""
		}
		src = rest
	}
	line, _, _ := strings.Cut(src, "\n")
	const longest = 400
	if len(line) > longest {
		return ""
	}
	return strings.TrimRight(line, "\r")
}

// resolveHint adds the nearest predeclared name to "undefined: x".
func (h *Host) resolveHint(msg string) string {
	name, ok := strings.CutPrefix(msg, "undefined: ")
	if !ok || strings.Contains(name, "did you mean") {
		return msg
	}
	if hint := pythonNames[name]; hint != "" {
		return fmt.Sprintf("undefined: %s (%s)", name, hint)
	}
	names := append(h.predeclared.Keys(), starlark.Universe.Keys()...)
	for k := range h.globals {
		names = append(names, k)
	}
	return msg + spell.HintName(name, names)
}

// pythonNames are names of Python's that scripts reach for.
var pythonNames = map[string]string{
	"open_model": "open(path) opens a model", "numpy": "np is predeclared", "onnx_graphsurgeon": "gs is predeclared",
	"isinstance": `compare type(x) == "tensor"`, "super": "Starlark has no classes", "self": "the graph is the first parameter of a builder",
	"input": "scripts get arguments through argv", "exec": "load(…) loads a file", "eval": "load(…) loads a file", "map": "use a list comprehension",
	"filter": "use a list comprehension", "next": "index a list instead", "iter": "loops take any list", "super().__init__": "Starlark has no classes",
}

// shadowHint explains an error that comes of a predeclared name that the file
// uses as a variable.
func (h *Host) shadowHint(msg string, pos syntax.Position) string {
	line := h.lineOf(pos)
	for name, where := range h.shadowed[pos.Filename()] {
		if strings.Contains(msg, "not callable") || strings.HasPrefix(msg, "invalid call of non-function") || strings.Contains(msg, "referenced before assignment") {
			if containsWord(line, name) {
				return fmt.Sprintf("%s (%s is a variable here since line %d; the constructor is sgs.%s)", msg, name, where, name)
			}
		}
	}
	return msg
}

func containsWord(line, word string) bool {
	for i := 0; ; {
		k := strings.Index(line[i:], word)
		if k < 0 {
			return false
		}
		k += i
		end := k + len(word)
		if (k == 0 || !isLetter(line[k-1]) && line[k-1] != '.') && (end == len(line) || !isLetter(line[end])) {
			return true
		}
		i = end
	}
}

// pythonHint answers a syntax error that Python's grammar caused with the
// spelling to use here.
func pythonHint(line, msg string) string {
	trimmed := strings.TrimSpace(line)
	first, _, _ := strings.Cut(trimmed, " ")
	first = strings.TrimSuffix(first, ":")
	if hint := pythonStatements[first]; hint != "" {
		return fmt.Sprintf("Starlark has no %s: %s", first, hint)
	}
	for _, p := range pythonParts {
		if strings.Contains(trimmed, p.text) {
			return fmt.Sprintf("%s (%s)", msg, p.hint)
		}
	}
	return msg
}

var pythonStatements = map[string]string{
	"import":   `load("file.star", "name") loads a file; np, gs, onnx, math and json are predeclared`,
	"from":     `load("file.star", "name") loads a file; np, gs, onnx, math and json are predeclared`,
	"class":    "use struct(…) for data and functions for behaviour",
	"try":      "value, error = try_call(fn, …) calls a function and returns its error",
	"except":   "value, error = try_call(fn, …) calls a function and returns its error",
	"raise":    "fail(message) ends the script with an error",
	"with":     "files need no closing here: read_text(path), write_text(path, text)",
	"del":      "d.pop(key) removes an entry, list.pop(i) an element",
	"assert":   "write: if not condition: fail(message)",
	"global":   "a function may not rebind a global; keep state in a dict or list",
	"nonlocal": "a function may not rebind an outer variable; keep state in a dict or list",
	"yield":    "return a list",
	"async":    "scripts run one thing at a time",
	"await":    "scripts run one thing at a time",
}

var pythonParts = []struct{ text, hint string }{
	{"**", "Starlark has no power operator: np.power(a, b), or g.op.Pow(a, b) for tensors"},
	{" is not ", "Starlark has no is: write != , which is identity for graph, node and tensor"},
	{" is ", "Starlark has no is: write == , which is identity for graph, node and tensor"},
	{`f"`, `Starlark has no f-strings: "{}".format(x), and format(x, ".3f") for digits`},
	{"f'", `Starlark has no f-strings: "{}".format(x), and format(x, ".3f") for digits`},
	{":=", "Starlark has no assignment in expressions: assign on a line of its own"},
	{"[:,", "Starlark has no a[:, 0]: write a[slice(None), 0]"},
	{", :", "Starlark has no a[0, :]: write a[0, slice(None)]"},
	{"->", "Starlark has no annotations"},
	{"print ", "print is a function: print(x)"},
}
