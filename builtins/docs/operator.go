package docs

import (
	"fmt"
	"strings"

	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/ops/schema"
)

// newest returns the newest schema of each operator.
func newest() []*schema.Schema {
	var out []*schema.Schema
	for _, domain := range schema.Domains() {
		for _, name := range schema.Names(domain, schema.MaxOpset(domain)) {
			if s, ok := schema.Lookup(domain, name, schema.MaxOpset(domain)); ok {
				out = append(out, s)
			}
		}
	}
	for _, s := range schema.All() {
		if _, ok := schema.Standard(s.Name, schema.MaxOpset("")); s.Own && s.Domain == "" && !ok {
			out = append(out, s)
		}
	}
	return out
}

// operatorText writes the documentation of an operator from its schema.
func operatorText(s *schema.Schema) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n  %s\n", s.Signature(), versionsText(s))
	builtin.Section(&b, "Inputs", paramRows(s, s.Inputs))
	builtin.Section(&b, "Outputs", paramRows(s, s.Outputs))
	var attrs [][2]string
	for _, a := range s.Attrs {
		text := a.Kind.String()
		if a.Required {
			text += ", required"
		}
		attrs = append(attrs, [2]string{a.Name, text})
	}
	builtin.Section(&b, "Attributes", attrs)
	return b.String()
}

// versionsText says since which opsets the operator is as it is, and was as it
// was.
func versionsText(s *schema.Schema) string {
	domain := s.Domain
	if domain == "" {
		domain = "ai.onnx"
	}
	text := fmt.Sprintf("operator of %s since opset %d", domain, s.Since)
	if s.Own {
		text += ", of ONNX Runtime's own"
	}
	var before []string
	for _, v := range schema.Versions(s.Domain, s.Name) {
		if v.Since < s.Since {
			before = append(before, fmt.Sprint(v.Since))
		}
	}
	if len(before) > 0 {
		text += "; before that, of opset " + strings.Join(before, ", ")
	}
	if s.Deprecated {
		text += "; deprecated"
	}
	return text
}

func paramRows(s *schema.Schema, ps []schema.Param) [][2]string {
	var rows [][2]string
	for _, p := range ps {
		name := p.Name
		switch p.Option {
		case schema.Optional:
			name += " (optional)"
		case schema.Variadic:
			name = fmt.Sprintf("*%s (%d or more)", name, p.MinArity)
		}
		rows = append(rows, [2]string{name, strings.Join(s.Allowed(&p), ", ")})
	}
	return rows
}
