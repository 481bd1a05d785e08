package starlarkgs

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.starlark.net/syntax"
)

// This file answers Python that Starlark lacks with the spelling to use here.
// The parser stops at the token that its grammar does not know; the rules below
// look at that token and its neighbours, so strings and comments never mislead.

// syntaxContext is the surroundings of a syntax error.
type syntaxContext struct {
	src  string
	toks []token
	i    int // the offending token
	msg  string
	open []token // brackets open there
}

// explainSyntax returns a parser's error at the start of the offending token,
// with a hint when Python is the likely reason.
func explainSyntax(src string, e syntax.Error) (pos syntax.Position, msg, hint string) {
	c := newSyntaxContext(src, e)
	if c == nil {
		return e.Pos, e.Msg, ""
	}
	pos, msg = c.position(e.Pos, 0), e.Msg
	for _, r := range syntaxRules {
		if r.match(c) {
			return c.position(e.Pos, r.back), cmp.Or(r.msg, msg), r.hint
		}
	}
	if word := c.text(0); pythonStatements[word] != "" && strings.HasPrefix(msg, "got "+word) {
		return pos, "Starlark has no " + word, pythonStatements[word]
	}
	return pos, msg, c.unclosed()
}

// endMessages begin the messages whose position is the end of the offending
// token, not its start.
var endMessages = regexp.MustCompile(`^(got .*, want|not an identifier|\S+ does not associate|keyword argument must|first operand of load|load operand must|original name of loaded|got .* after expression)`)

func newSyntaxContext(src string, e syntax.Error) *syntaxContext {
	c := &syntaxContext{src: src, msg: e.Msg}
	atEnd := endMessages.MatchString(e.Msg) && !strings.HasSuffix(e.Msg, "want primary expression") &&
		!strings.HasPrefix(e.Msg, "got indent") && !strings.HasPrefix(e.Msg, "got outdent")
	line, col := int(e.Pos.Line), int(e.Pos.Col)
	l := newLexer(src)
	for {
		open := l.Open
		t := l.Next()
		c.toks = append(c.toks, t)
		start := t.Line == line && t.Col == col
		end := t.EndLine == line && t.EndCol == col
		past := t.Line > line || t.Line == line && t.Col > col
		if atEnd && end || !atEnd && start || t.Kind == tokEOF || past {
			c.i = len(c.toks) - 1
			c.open = slices.Clone(open)
			break
		}
	}
	for range 3 { // what follows
		c.toks = append(c.toks, l.Next())
	}
	return c
}

// position returns where the error is shown: at the token, or one so many before
// it; behind the last one when a line or the file ends too early.
func (c *syntaxContext) position(was syntax.Position, back int) syntax.Position {
	t := c.toks[max(c.i-back, 0)]
	line, col := t.Line, t.Col
	if t.Kind == tokNewline || t.Kind == tokEOF {
		if c.i == 0 {
			return was
		}
		prev := c.toks[c.i-1]
		if prev.Kind == tokNewline && c.i > 1 {
			prev = c.toks[c.i-2]
		}
		line, col = prev.EndLine, prev.EndCol
	}
	name := was.Filename()
	return syntax.MakePosition(&name, int32(line), int32(col))
}

// text returns the text of the token k places from the offending one.
func (c *syntaxContext) text(k int) string {
	if i := c.i + k; i >= 0 && i < len(c.toks) {
		return c.src[c.toks[i].Off:c.toks[i].End]
	}
	return ""
}

func (c *syntaxContext) kind(k int) tokenKind {
	if i := c.i + k; i >= 0 && i < len(c.toks) {
		return c.toks[i].Kind
	}
	return tokEOF
}

// touching reports whether no space stands before the token k places on.
func (c *syntaxContext) touching(k int) bool {
	i := c.i + k
	return i > 0 && i < len(c.toks) && c.toks[i-1].End == c.toks[i].Off
}

// inside returns the innermost open bracket.
func (c *syntaxContext) inside() string {
	if n := len(c.open); n > 0 {
		return c.src[c.open[n-1].Off:c.open[n-1].End]
	}
	return ""
}

// statement returns the first token of the logical line.
func (c *syntaxContext) statement() string {
	for k := 0; c.i+k >= 0; k-- {
		if c.toks[c.i+k].First {
			return c.text(k)
		}
	}
	return ""
}

// unclosed tells of a bracket of an earlier line that is likely the reason.
func (c *syntaxContext) unclosed() string {
	t := c.toks[c.i]
	if n := len(c.open); n > 0 && c.open[n-1].Line < t.Line && (t.LineFirst || t.Kind == tokEOF) {
		return "the '" + c.inside() + "' of line " + strconv.Itoa(c.open[n-1].Line) + " is not closed"
	}
	return ""
}

// syntaxRule answers one piece of Python. msg, when it is set, replaces the
// parser's message.
type syntaxRule struct {
	match     func(c *syntaxContext) bool
	msg, hint string
	back      int // how many tokens before the offending one the error stands
}

// token matches an offending token by its text.
func offends(texts ...string) func(*syntaxContext) bool {
	return func(c *syntaxContext) bool {
		for _, t := range texts {
			if c.text(0) == t {
				return true
			}
		}
		return false
	}
}

func within(bracket string) func(*syntaxContext) bool {
	return func(c *syntaxContext) bool { return c.inside() == bracket }
}

func after(texts ...string) func(*syntaxContext) bool {
	return func(c *syntaxContext) bool {
		for _, t := range texts {
			if c.text(-1) == t {
				return true
			}
		}
		return false
	}
}

func wants(token string) func(*syntaxContext) bool {
	return func(c *syntaxContext) bool { return strings.HasSuffix(c.msg, "want "+token) }
}

func touches(k int) func(*syntaxContext) bool {
	return func(c *syntaxContext) bool { return c.touching(k) }
}

func next(text string) func(*syntaxContext) bool {
	return func(c *syntaxContext) bool { return c.text(1) == text }
}

func all(fs ...func(*syntaxContext) bool) func(*syntaxContext) bool {
	return func(c *syntaxContext) bool {
		for _, f := range fs {
			if !f(c) {
				return false
			}
		}
		return true
	}
}

func isString(k int) func(*syntaxContext) bool {
	return func(c *syntaxContext) bool { return c.kind(k) == tokString }
}

// line matches the first word of the logical line.
func line(word string) func(*syntaxContext) bool {
	return func(c *syntaxContext) bool { return c.statement() == word }
}

const primary = "primary expression"

// syntaxRules are tried in order.
var syntaxRules = []syntaxRule{
	{offends("from"), "Starlark has no import", loadHint, 0},
	{all(offends("is"), next("not")), "Starlark has no is not", "write !=; on graph, node and tensor it compares identity", 0},
	{offends("is"), "Starlark has no is", "write ==; on graph, node and tensor it compares identity", 0},
	{all(offends("**"), within("{")), "Starlark has no ** in a dict display", "write a | b", 0},
	{all(offends("*"), wants(primary)), "Starlark has no * there", "write list(a) + list(b) to join, and x[0], x[1:] to take apart", 0},
	{offends("**"), "Starlark has no operator **", "write np.power(a, b) for numbers and arrays, g.op.Pow(a, b) for tensors", 0},
	{all(isString(0), touches(0), after("f", "F", "fr", "rf", "Rf", "fR", "FR", "RF")), "Starlark has no f-strings", `write "…{}…".format(x), and format(x, ".3f") for digits`, 1},
	{all(isString(0), touches(0), after("u", "U", "R", "B", "br", "Rb", "rB", "RB", "BR", "Br", "bR")), "", `the prefixes of strings are r, b and rb`, 1},
	{all(isString(0), isString(-1)), "", "strings in a row are not joined: put + between them, or a comma", 0},
	{all(offends(","), within("["), after(":")), "Starlark has no a[:, i]", "write a[slice(None), i]", 0},
	{all(offends(","), within("["), wants("']'")), "Starlark has no a[i:j, k]", "write a[slice(i, j), k]", 0},
	{all(offends(":"), within("["), wants(primary), after(",")), "Starlark has no a[i, :]", "write a[i, slice(None)]", 0},
	{all(offends("."), within("["), next(".")), "Starlark has no a[..., i]", "write slice(None) for each axis", 0},
	{func(c *syntaxContext) bool { return strings.Contains(c.msg, "does not associate") }, "Starlark has no chained comparison", "write a < b and b < c", 0},
	{all(offends(":"), next("="), touches(1)), "Starlark has no := in expressions", "assign on a line of its own", 0},
	{all(offends(":"), line("def"), within("(")), "Starlark has no annotations", "write the parameter alone", 0},
	{all(offends("-"), next(">"), line("def")), "Starlark has no annotations", "write def f(x):", 0},
	{all(offends(":"), wants("newline")), "Starlark has no annotations", "write x = value", 0},
	{all(offends("/"), line("def")), "Starlark has no / among parameters", "a lone * makes those behind it keyword-only", 0},
	{all(offends("="), wants("':'"), within("")), "", "write == to compare", 0},
	{all(offends("if"), after("else")), "", "write elif", 0},
	{all(offends("else"), wants(primary)), "", "an else belongs to an if, with the same indentation; loops have none", 0},
	{all(offends("elif"), wants(primary)), "", "an elif belongs to an if, with the same indentation", 0},
	{all(offends("for"), within("(")), "Starlark has no generator expressions", "write a list: [x for x in xs]", 0},
	{all(offends(","), within("{"), wants("':'")), "Starlark has no set displays", "write set([a, b])", 0},
	{all(offends("}"), within("{"), wants("':'")), "Starlark has no set displays", "write set([a, b]), or key: value for a dict", 0},
	{func(c *syntaxContext) bool {
		return c.kind(-1) == tokNumber && c.kind(0) == tokName && c.touching(0)
	}, "", "write the digits alone: no 1_000, 10L or 2j", 0},
	{func(c *syntaxContext) bool {
		return (c.kind(0) == tokNewline || c.kind(0) == tokEOF) && (c.text(-1) == "+" && c.text(-2) == "+" || c.text(-1) == "-" && c.text(-2) == "-")
	}, "Starlark has no ++ and --", "write x += 1", 0},
	{offends("!"), "Starlark has no operator !", "write not x", 0},
	{all(offends("&"), after("&")), "Starlark has no operator &&", "write a and b", 0},
	{all(offends("|"), after("|")), "Starlark has no operator ||", "write a or b", 0},
	{all(offends(">"), after("<")), "Starlark has no operator <>", "write a != b", 0},
	{offends("?"), "Starlark has no operator ?", "write a if condition else b", 0},
	{offends("@"), noMatMul, matMulHint, 0},
	{all(after("print"), line("print"), wants("newline")), "print is a function", "write print(x)", 1},
	{all(after("assert"), line("assert"), wants("newline")), "Starlark has no assert", "write if not condition: fail(message)", 1},
	{all(after("exec"), line("exec")), "Starlark has no exec", `write load("file.star", "name")`, 1},
	{all(after("match"), line("match"), wants("newline")), "Starlark has no match statement", "write if and elif", 1},
	{all(offends("load"), after(".")), "load is a keyword, after a dot too", "models are opened with open(path), arrays with np.read(path)", 0},
	{func(c *syntaxContext) bool { return strings.HasPrefix(c.msg, "got indent") }, "got an indented line, want none here", "", 0},
	{wants("indent"), "got a line that is not indented, want the body of the statement above", "", 0},
	{func(c *syntaxContext) bool { return c.msg == "unexpected newline in string" }, "", `a string over several lines stands in """three quotes"""`, 0},
}

const (
	noMatMul   = "Starlark has no operator @"
	matMulHint = "write np.matmul(a, b) for arrays, g.op.MatMul(a, b) for tensors"
)

const loadHint = `write load("file.star", "name"); np, gs, onnx, json and math are predeclared`

// pythonStatements are the words that begin what Starlark lacks.
var pythonStatements = map[string]string{
	"import":   loadHint,
	"class":    "write struct(…) for data, functions for behaviour",
	"try":      "write value, error = try_call(fn, …)",
	"except":   "write value, error = try_call(fn, …)",
	"finally":  "write value, error = try_call(fn, …), and what must follow behind it",
	"raise":    "write fail(message)",
	"with":     "files need no closing: read_text(path), write_text(path, text)",
	"as":       "a load renames by load(\"file.star\", mine = \"theirs\")",
	"del":      "write d.pop(key) or list.pop(i)",
	"global":   "a function cannot rebind a global; change a dict or list that it holds",
	"nonlocal": "a function cannot rebind an outer variable; change a dict or list that it holds",
	"yield":    "return a list",
	"async":    "scripts do one thing at a time",
	"await":    "scripts do one thing at a time",
}

// explainResolve rewords an error of the resolver and adds a hint.
func explainResolve(msg string) (string, string) {
	switch {
	case msg == "positional argument may not follow *args":
		return msg, "nothing but **kw may: write f(y, *x), or f(*(list(x) + [y]))"
	case msg == "keyword argument may not follow *args":
		return msg, "nothing but **kw may: write f(k = y, *x)"
	case strings.HasPrefix(msg, "can't assign to "):
		kind := strings.TrimPrefix(msg, "can't assign to ")
		if kind == "sliceexpr" {
			return "can't assign to a slice with ':'", "write a[slice(1, 3)] = x for an array; a list is changed by its items and methods"
		}
		if name := exprNames[kind]; name != "" {
			return "can't assign to " + name, ""
		}
	case strings.HasPrefix(msg, "load statement within"):
		return msg, "a load stands at the top level of a file"
	}
	return msg, ""
}

// exprNames are the kinds of expression by the names that the resolver has for them.
var exprNames = map[string]string{
	"callexpr": "a call", "literal": "a literal", "binaryexpr": "an expression", "unaryexpr": "an expression", "condexpr": "an expression",
	"comprehension": "a comprehension", "dictexpr": "a dict", "lambdaexpr": "a lambda",
}
