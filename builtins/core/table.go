package core

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

// maxRows bounds the nodes that the table of a graph shows: the first and the
// last of them stand, with a line between that says how many are left out.
const maxRows = 40

// table renders what print shows of a graph, node or tensor alone.
func table(v starlark.Value) string {
	var b strings.Builder
	switch v := v.(type) {
	case value.Graph:
		graphTable(&b, v.IR())
	case value.Node:
		nodeTable(&b, v.IR())
	case value.Tensor:
		tensorTable(&b, v)
	default:
		return v.String()
	}
	return strings.TrimRight(b.String(), "\n")
}

func columns(b *strings.Builder) *tabwriter.Writer {
	return tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
}

func graphTable(b *strings.Builder, g *ir.Graph) {
	fmt.Fprintf(b, "%s  opset %d", g.Label(), g.Opset(""))
	for _, im := range g.Imports() {
		if !ir.IsStandard(im.Domain) {
			fmt.Fprintf(b, ", %s %d", clean(im.Domain), im.Version)
		}
	}
	fmt.Fprintf(b, ", %s, %s\n", count(g.NumNodes(), "node"), count(len(g.Initializers()), "initializer"))
	w := columns(b)
	for _, t := range g.Inputs() {
		fmt.Fprintf(w, "  in\t%s\t%s\n", clean(t.Name()), typeText(t))
	}
	for _, t := range g.Outputs() {
		fmt.Fprintf(w, "  out\t%s\t%s\n", clean(t.Name()), typeText(t))
	}
	flush(w)
	w = columns(b)
	nodes := g.Nodes()
	for i, n := range nodes {
		if len(nodes) > maxRows && i == maxRows/2 {
			fmt.Fprintf(w, "  …\t%d more\t\t\n", len(nodes)-maxRows)
		}
		if len(nodes) > maxRows && i >= maxRows/2 && i < len(nodes)-maxRows/2 {
			continue
		}
		nodeRow(w, i, n)
	}
	flush(w)
}

// flush writes to a strings.Builder, which can't fail.
func flush(w *tabwriter.Writer) { _ = w.Flush() }

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func nodeRow(w *tabwriter.Writer, i int, n *ir.Node) {
	fmt.Fprintf(w, "  %d\t%s\t%s\t→ %s\t%s\n", i, opText(n), joined(n.Inputs()), joined(n.Outputs()), outTypes(n))
}

func opText(n *ir.Node) string {
	if ir.IsStandard(n.Domain()) {
		return clean(n.Op())
	}
	return clean(n.Domain() + "::" + n.Op())
}

func joined(ts []*ir.Tensor) string {
	names := make([]string, len(ts))
	for i, t := range ts {
		if names[i] = "-"; t != nil {
			names[i] = clean(t.Name())
		}
	}
	return strings.Join(names, ", ")
}

func outTypes(n *ir.Node) string {
	var types []string
	for _, t := range n.Outputs() {
		if t != nil {
			types = append(types, typeText(t))
		}
	}
	return strings.Join(types, ", ")
}

func typeText(t *ir.Tensor) string {
	if typ := t.Type(); typ != nil {
		return clean(typ.String())
	}
	return "?"
}

// clean escapes control characters, so that a name in a model can't write to
// the user's terminal.
func clean(s string) string {
	q := fmt.Sprintf("%q", s)
	if q = q[1 : len(q)-1]; q == s {
		return s
	}
	return strings.ReplaceAll(q, `\"`, `"`)
}

func nodeTable(b *strings.Builder, n *ir.Node) {
	fmt.Fprintf(b, "%s  %s\n", n.Label(), opText(n))
	w := columns(b)
	for i, t := range n.Inputs() {
		if t == nil {
			fmt.Fprintf(w, "  in %d\t-\t(omitted)\n", i)
			continue
		}
		fmt.Fprintf(w, "  in %d\t%s\t%s\n", i, clean(t.Name()), typeText(t))
	}
	for i, t := range n.Outputs() {
		if t != nil {
			fmt.Fprintf(w, "  out %d\t%s\t%s\n", i, clean(t.Name()), typeText(t))
		}
	}
	for _, a := range n.Attrs() {
		fmt.Fprintf(w, "  attr\t%s\t%s\n", clean(a.Name), attrText(a))
	}
	flush(w)
}

// attrText is the short text of an attribute's value.
func attrText(a *ir.Attr) string {
	const most = 60
	var text string
	switch v := a.Value.(type) {
	case nil:
		return fmt.Sprintf("attr_ref(%q)", a.Ref)
	case *ir.Literal:
		return v.DType().String() + fmt.Sprint(v.Sizes())
	case *ir.Graph:
		return fmt.Sprintf("%s, %s", v.Label(), count(v.NumNodes(), "node"))
	case string:
		text = fmt.Sprintf("%q", v)
	case []string:
		text = fmt.Sprintf("%q", v)
	default:
		text = fmt.Sprint(v)
	}
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}

func tensorTable(b *strings.Builder, t value.Tensor) {
	x := t.IR()
	kind := "variable"
	if x.IsConstant() {
		kind = "constant"
	}
	fmt.Fprintf(b, "%s %q  %s\n", kind, x.Name(), typeText(x))
	w := columns(b)
	if p, i := x.Producer(); p != nil {
		fmt.Fprintf(w, "  made by\t%s\toutput %d\n", clean(p.Label()), i)
	}
	for u := range x.Uses() {
		if u.Node() != nil {
			fmt.Fprintf(w, "  read by\t%s\tinput %d\n", clean(u.Node().Label()), u.Index())
		} else {
			fmt.Fprintf(w, "  output of\t%s\t%d\n", clean(u.Graph().Label()), u.Index())
		}
	}
	flush(w)
	if a := x.Array(); a != nil {
		fmt.Fprintf(b, "%s\n", a.String())
	}
}
