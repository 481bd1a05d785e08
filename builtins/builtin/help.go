package builtin

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

// Help returns what help() prints of a value: the signature, text, parameters
// and example of a function; the members of a module; the fields and methods
// of any other value.
func Help(v starlark.Value) string {
	switch v := v.(type) {
	case *Callable:
		return v.fn.Help()
	case *Module:
		return v.help()
	case *starlark.Function:
		return scriptHelp(v)
	case starlark.HasAttrs:
		return typeHelp(v)
	}
	return fmt.Sprintf("%s: a value of type %s\n", short(v), v.Type())
}

// Help returns the documentation of the entry as plain text.
func (f *Func) Help() string {
	var b strings.Builder
	b.WriteString(f.Signature())
	if f.Returns != "" {
		b.WriteString(" -> " + f.Returns)
	}
	fmt.Fprintf(&b, "\n\n%s\n", indent(f.Doc, "  "))
	if len(f.Params) > 0 {
		b.WriteString("\n")
		rows := make([][2]string, len(f.Params))
		for i, p := range f.Params {
			rows[i] = [2]string{p.String(), join(": ", p.Type, p.Doc)}
		}
		WriteRows(&b, rows)
	}
	if f.Example != "" {
		fmt.Fprintf(&b, "\n  Example:\n%s\n", indent(strings.TrimSpace(f.Example), "    "))
	}
	return b.String()
}

// Summary returns the first sentence of the documentation.
func (f *Func) Summary() string { return firstSentence(f.Doc) }

func (m *Module) help() string {
	var b strings.Builder
	fmt.Fprintf(&b, "module %s\n\n%s\n\n", m.Name, indent(m.Doc, "  "))
	var rows [][2]string
	for _, name := range m.AttrNames() {
		rows = append(rows, [2]string{name, Summary(m.Members[name])})
	}
	WriteRows(&b, rows)
	return b.String()
}

func scriptHelp(fn *starlark.Function) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", scriptSignature(fn))
	if doc := Dedent(fn.Doc()); doc != "" {
		fmt.Fprintf(&b, "\n%s\n", indent(doc, "  "))
	}
	fmt.Fprintf(&b, "\n  defined at %s\n", fn.Position())
	return b.String()
}

// scriptSignature is a function of a script as its call is written.
func scriptSignature(fn *starlark.Function) string {
	parts := make([]string, fn.NumParams())
	star := fn.NumParams() - fn.NumKwonlyParams()
	if fn.HasVarargs() {
		star--
	}
	if fn.HasKwargs() {
		star--
	}
	for i := range parts {
		name, _ := fn.Param(i)
		if d := fn.ParamDefault(i); d != nil {
			name += "=" + short(d)
		}
		parts[i] = name
	}
	// The interpreter puts *args and **kwargs last; a script writes *args
	// before the parameters that are given by name alone.
	last := len(parts)
	if fn.HasKwargs() {
		last--
		parts[last] = "**" + parts[last]
	}
	if fn.HasVarargs() {
		last--
		rest := "*" + parts[last]
		copy(parts[star+1:last+1], parts[star:last])
		parts[star] = rest
	} else if fn.NumKwonlyParams() > 0 {
		parts = append(parts[:star], append([]string{"*"}, parts[star:]...)...)
	}
	return fn.Name() + "(" + strings.Join(parts, ", ") + ")"
}

func typeHelp(v starlark.HasAttrs) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", v.Type())
	documented := map[string]bool{}
	var fields, methods [][2]string
	for _, f := range value.Fields(v.Type()) {
		documented[f.Name] = true
		name := f.Name
		if !f.Settable {
			name += " (read-only)"
		}
		fields = append(fields, [2]string{name, f.Doc})
	}
	for _, name := range v.AttrNames() {
		if documented[name] {
			continue
		}
		x, err := v.Attr(name)
		if err != nil || x == nil {
			fields = append(fields, [2]string{name, ""})
			continue
		}
		switch x := x.(type) {
		case *Callable:
			methods = append(methods, [2]string{strings.TrimPrefix(x.fn.Signature(), v.Type()), x.fn.Summary()})
		case *starlark.Function:
			methods = append(methods, [2]string{"." + scriptSignature(x), Summary(x)})
		case starlark.Callable:
			methods = append(methods, [2]string{"." + name + "()", ""})
		default:
			fields = append(fields, [2]string{name, x.Type()})
		}
	}
	Section(&b, "Fields", fields)
	Section(&b, "Methods", methods)
	return b.String()
}

// Section writes rows under a title, if there are any.
func Section(b *strings.Builder, title string, rows [][2]string) {
	if len(rows) > 0 {
		fmt.Fprintf(b, "\n  %s:\n", title)
		WriteRows(b, rows)
	}
}

// Summary describes a value in a few words, as a list of names does.
func Summary(v starlark.Value) string {
	switch v := v.(type) {
	case *starlark.Function:
		return firstSentence(v.Doc())
	case *Callable:
		return v.fn.Summary()
	case *Module:
		return firstSentence(v.Doc)
	}
	return v.Type() + " " + short(v)
}

// WriteRows writes two columns, the second starting at the same place unless
// the first is long.
func WriteRows(b *strings.Builder, rows [][2]string) {
	const most = 28
	width := 0
	for _, r := range rows {
		if n := len(r[0]); n > width && n <= most {
			width = n
		}
	}
	for _, r := range rows {
		switch {
		case r[1] == "":
			fmt.Fprintf(b, "  %s\n", r[0])
		case len(r[0]) > width:
			fmt.Fprintf(b, "  %s\n  %*s  %s\n", r[0], width, "", r[1])
		default:
			fmt.Fprintf(b, "  %-*s  %s\n", width, r[0], r[1])
		}
	}
}

func firstSentence(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	for i := 0; i+1 < len(s); i++ {
		if s[i] == '.' && s[i+1] == ' ' {
			return s[:i+1]
		}
	}
	return s
}

// Dedent trims a doc string and removes the indentation that its lines after
// the first share.
func Dedent(doc string) string {
	lines := strings.Split(strings.TrimSpace(doc), "\n")
	shared := -1
	for _, l := range lines[1:] {
		if text := strings.TrimLeft(l, " \t"); text != "" && (shared < 0 || len(l)-len(text) < shared) {
			shared = len(l) - len(text)
		}
	}
	for i, l := range lines[1:] {
		lines[i+1] = strings.TrimRight(l[min(len(l), max(shared, 0)):], " \t\r")
	}
	return strings.Join(lines, "\n")
}

// indent puts by before every line that is not empty.
func indent(s, by string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if l != "" {
			lines[i] = by + l
		}
	}
	return strings.Join(lines, "\n")
}

func join(sep string, parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, sep)
}
