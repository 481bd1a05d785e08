package builtin

import (
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

// maxTextDepth is how deep in containers texts go: the interpreter's own way
// takes quadratic time and stack for each level.
const maxTextDepth = 100

// maxTextLen bounds the text that is made without a thread, for messages: a value
// that holds another twice, which holds another twice, and so on, is small and
// its text is not.
const maxTextLen = 1 << 16

// Text returns the one-line form of a value for a message. What is nested too
// deep or too long, and a container inside itself, is written as an ellipsis.
func Text(v starlark.Value) string {
	var w textWriter
	w.write(v)
	return w.String()
}

// Repr returns the one-line form of a value, as repr does, counting its elements
// against the limits of the script. What is nested too deep is written as an
// ellipsis.
func Repr(t *starlark.Thread, v starlark.Value) (string, error) {
	w := textWriter{thread: t}
	w.write(v)
	return w.String(), w.err
}

// Str returns a string as it is and any other value's one-line form, as str and
// print do.
func Str(t *starlark.Thread, v starlark.Value) (string, error) {
	if s, ok := starlark.AsString(v); ok {
		return s, nil
	}
	return Repr(t, v)
}

// Display returns what print and the prompt show of one value: its table, where
// it has one.
func Display(t *starlark.Thread, v starlark.Value) (string, error) {
	if x, ok := v.(value.Tabler); ok {
		return x.Table(), nil
	}
	return Repr(t, v)
}

type textWriter struct {
	strings.Builder
	path   []starlark.Value // the containers around
	thread *starlark.Thread // nil for a message
	n      int              // elements since the last count
	err    error
}

// full reports whether to stop: a limit is hit, or a message is long enough.
func (w *textWriter) full() bool {
	const every = 1024
	if w.thread == nil {
		return w.Len() > maxTextLen
	}
	if w.n++; w.n == every && w.err == nil {
		w.n, w.err = 0, Tick(w.thread, every)
	}
	return w.err != nil
}

func (w *textWriter) write(v starlark.Value) {
	switch x := v.(type) {
	case *starlark.List:
		w.inside(v, "[", "]", func() { w.elems(x, x.Len()) })
	case starlark.Tuple:
		end := ")"
		if len(x) == 1 {
			end = ",)"
		}
		w.inside(nil, "(", end, func() { w.elems(x, len(x)) })
	case *starlark.Set:
		w.inside(v, "set([", "])", func() { w.elems(x, x.Len()) })
	case *starlark.Dict:
		w.inside(v, "{", "}", func() { w.entries(x) })
	case *starlarkstruct.Struct:
		w.inside(nil, structName(x)+"(", ")", func() { w.fields(x) })
	default:
		if !w.full() {
			w.WriteString(v.String())
		}
	}
}

func (w *textWriter) elems(v starlark.Iterable, n int) {
	it := v.Iterate()
	defer it.Done()
	var x starlark.Value
	for i := 0; i < n && it.Next(&x) && w.err == nil; i++ {
		w.comma(i)
		w.write(x)
	}
}

func (w *textWriter) entries(d *starlark.Dict) {
	for i, item := range d.Items() {
		w.comma(i)
		w.write(item[0])
		w.WriteString(": ")
		w.write(item[1])
	}
}

// structName returns what a struct's text begins with.
func structName(s *starlarkstruct.Struct) string {
	if name, ok := s.Constructor().(starlark.String); ok {
		return string(name)
	}
	return s.Constructor().String()
}

func (w *textWriter) fields(s *starlarkstruct.Struct) {
	for i, name := range s.AttrNames() {
		w.comma(i)
		w.WriteString(name + " = ")
		if x, err := s.Attr(name); err == nil {
			w.write(x)
		}
	}
}

func (w *textWriter) comma(i int) {
	if i > 0 {
		w.WriteString(", ")
	}
}

// inside writes a container; a nil one, such as a tuple, cannot hold itself.
func (w *textWriter) inside(v starlark.Value, begin, end string, body func()) {
	w.WriteString(begin)
	if len(w.path) == maxTextDepth || w.full() || w.holds(v) {
		w.WriteString("...")
	} else {
		w.path = append(w.path, v)
		body()
		w.path = w.path[:len(w.path)-1]
	}
	w.WriteString(end)
}

func (w *textWriter) holds(v starlark.Value) bool {
	for _, p := range w.path {
		if v != nil && p == v {
			return true
		}
	}
	return false
}
