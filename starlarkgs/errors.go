package starlarkgs

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"sort"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/starlarkgs/starlarkgs/builtins/builtin"
)

// Error is an error of a script: where it arose, what it is, how to mend it, and
// through which calls it came.
type Error struct {
	Pos   syntax.Position
	Msg   string
	Hint  string   // the spelling to use, the nearest name; may be ""
	Line  string   // the source line, where it is known
	Stack []Frame  // the active calls, innermost first; none for an error of syntax
	More  []*Error // further errors of the same text
	Err   error    // what it came from
}

// Frame is one active call. One of a function of the host stands at the call.
type Frame struct {
	Pos  syntax.Position
	Name string
}

// Error returns the position and message, the source line with a caret, and
// the call stack.
func (e *Error) Error() string {
	var b strings.Builder
	e.write(&b)
	for _, more := range e.More {
		b.WriteByte('\n')
		more.write(&b)
	}
	return b.String()
}

// Unwrap returns what the error came from.
func (e *Error) Unwrap() error { return e.Err }

func (e *Error) write(b *strings.Builder) {
	if e.Pos.IsValid() {
		fmt.Fprintf(b, "%s: ", e.Pos)
	}
	b.WriteString(printable(e.Msg))
	if e.Hint != "" {
		fmt.Fprintf(b, " (%s)", printable(e.Hint))
	}
	if line, caret := excerpt(e.Line, int(e.Pos.Col)); line != "" {
		fmt.Fprintf(b, "\n  %s\n  %s^", line, caret)
	}
	const inner, outer = 12, 4 // frames that are shown of a deep stack
	for i, f := range e.Stack {
		if n := len(e.Stack); n > inner+outer+1 && i >= inner && i < n-outer {
			if i == inner {
				fmt.Fprintf(b, "\n    … %s more calls", count(n-inner-outer))
			}
			continue
		}
		fmt.Fprintf(b, "\n    at %s in %s", f.Pos, f.Name)
	}
}

// maxErrors is how many errors of one text are shown.
const maxErrors = 5

// wrap gives any error of a script its one shape.
func (h *Host) wrap(err error) error {
	if err == nil {
		return nil
	}
	var done *Error
	if errors.As(err, &done) {
		return done
	}
	e := h.explained(err)
	e.Err = err
	return e
}

// explained never panics, as bad as the script may be: without an explanation
// there is still the error.
func (h *Host) explained(err error) (e *Error) {
	defer func() {
		if r := recover(); r != nil {
			e = &Error{Msg: err.Error(), Hint: fmt.Sprintf("internal error while it was explained: %v", r)}
		}
	}()
	return h.explain(innermost(err), err)
}

// innermost returns the evaluation error at the bottom of a chain, which has
// the whole stack: those above it arose as it passed through calls of the host.
func innermost(err error) *starlark.EvalError {
	var last *starlark.EvalError
	for {
		var eval *starlark.EvalError
		if !errors.As(err, &eval) {
			return last
		}
		last, err = eval, eval.Unwrap()
	}
}

func (h *Host) explain(eval *starlark.EvalError, err error) *Error {
	var stack []Frame
	msg := err.Error()
	if eval != nil {
		stack = frames(eval)
		msg = message(err, eval)
	}
	var list resolve.ErrorList
	var parse syntax.Error
	var text *textError
	switch {
	case errors.As(err, &text):
		return &Error{Pos: text.pos, Msg: text.msg, Hint: text.hint, Line: h.lineOf(text.pos), Stack: stack}
	case errors.As(err, &list) && len(list) > 0:
		return h.explainList(list, stack)
	case errors.As(err, &parse):
		pos, msg, hint := explainSyntax(h.sources[parse.Pos.Filename()], parse)
		return &Error{Pos: pos, Msg: msg, Hint: hint, Line: h.lineOf(pos), Stack: stack}
	case eval == nil:
		return &Error{Msg: msg}
	}
	e := &Error{Msg: msg, Stack: stack}
	if len(stack) > 0 {
		e.Pos = stack[0].Pos
		e.Line = h.lineOf(e.Pos)
	}
	msg, known := cutHint(msg)
	e.Msg, e.Hint = h.explainRun(msg, e.Pos, topIsScript(eval))
	e.Hint = cmp.Or(e.Hint, known)
	return e
}

// explainList makes one error of those that the resolver found, by place.
func (h *Host) explainList(list resolve.ErrorList, stack []Frame) *Error {
	sort.SliceStable(list, func(i, j int) bool { return before(list[i].Pos, list[j].Pos) })
	var all []*Error
	for i, r := range list {
		if i == maxErrors {
			all = append(all, &Error{Msg: fmt.Sprintf("… %s more errors", count(len(list)-i))})
			break
		}
		msg, hint := cutHint(r.Msg)
		if name, ok := strings.CutPrefix(msg, "undefined: "); ok {
			hint = h.undefinedHint(name, r.Pos)
		} else if hint == "" {
			msg, hint = explainResolve(msg)
		}
		all = append(all, &Error{Pos: r.Pos, Msg: msg, Hint: hint, Line: h.lineOf(r.Pos)})
	}
	all[0].More, all[0].Stack = all[1:], stack
	return all[0]
}

func before(a, b syntax.Position) bool {
	return a.Line < b.Line || a.Line == b.Line && a.Col < b.Col
}

var loadPrefix = regexp.MustCompile(`^cannot load [^\n]*?: `)

// message returns what the error says: the outermost text when it holds the
// innermost, since it names the calls of the host in between.
func message(err error, eval *starlark.EvalError) string {
	var bug *builtin.PanicError
	if errors.As(err, &bug) {
		return bug.Error()
	}
	msg := err.Error()
	for {
		cut := loadPrefix.ReplaceAllString(msg, "")
		if cut == msg || !strings.Contains(cut, eval.Msg) {
			break
		}
		msg = cut
	}
	if !strings.Contains(msg, eval.Msg) {
		return eval.Msg
	}
	return msg
}

// callErrors are the messages of a call whose arguments do not fit: the frame of
// the function that never began is no place to point at.
var callErrors = regexp.MustCompile(`^function (\S+) (missing|accepts|got|takes)`)

// frames returns the calls of an error, innermost first. A function of the host
// has no place of its own: it stands at its call, and the innermost one is left
// out, since the message names it.
func frames(eval *starlark.EvalError) []Frame {
	stack := eval.CallStack
	if n := len(stack); n > 1 {
		m := callErrors.FindStringSubmatch(eval.Msg)
		if stack[n-1].Pos.Line == 0 || m != nil && m[1] == stack[n-1].Name {
			stack = stack[:n-1]
		}
	}
	out := make([]Frame, 0, len(stack))
	var pos syntax.Position
	for _, f := range stack {
		if f.Pos.Line > 0 {
			pos = f.Pos
		}
		if pos.Line > 0 {
			out = append(out, Frame{pos, f.Name})
		}
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}

// topIsScript reports whether the error arose in an operation of the script
// itself, not in a function of the host.
func topIsScript(eval *starlark.EvalError) bool {
	n := len(eval.CallStack)
	return n > 0 && eval.CallStack[n-1].Pos.Line > 0
}

// cutHint splits "message (did you mean x?)" as the interpreter writes it.
func cutHint(msg string) (string, string) {
	const mark = " (did you mean "
	i := strings.LastIndex(msg, mark)
	if i < 0 || !strings.HasSuffix(msg, "?)") {
		return msg, ""
	}
	return msg[:i], msg[i+2 : len(msg)-1]
}
