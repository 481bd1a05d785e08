package sym

import (
	"strconv"
	"strings"
)

// String returns the text, as 2*N+1; "?" for the unknown. A symbol alone is its
// name as it is, in backquotes only where it would be read as an expression.
func (e Expr) String() string {
	if a := e.lone(); a != nil && a.kind == symbolAtom && a.key != a.name {
		if _, err := Parse(a.name); err != nil {
			return a.name // FromText takes it for a symbol
		}
	}
	return e.text()
}

// IsWord reports whether the expression is a symbol alone whose text is s.
func (e Expr) IsWord(s string) bool {
	a := e.lone()
	return a != nil && a.kind == symbolAtom && a.key == s && a.name == s
}

// text returns the text as it can be a part of another.
func (e Expr) text() string {
	if !e.known {
		return "?"
	}
	if s, ok := e.divisionText(); ok {
		return s
	}
	var b strings.Builder
	for _, positive := range []bool{true, false} {
		for _, t := range e.terms {
			if t.coef > 0 == positive {
				t.write(&b)
			}
		}
	}
	if e.n > 0 && b.Len() > 0 {
		b.WriteByte('+')
	}
	if e.n != 0 || b.Len() == 0 {
		b.WriteString(strconv.FormatInt(e.n, 10))
	}
	return b.String()
}

func (t term) write(b *strings.Builder) {
	bare := t.key
	if len(t.atoms) == 1 {
		bare = t.atoms[0].key
	}
	switch first := b.Len() == 0; {
	case t.coef == 1 && first:
		b.WriteString(bare)
	case t.coef == 1:
		b.WriteString("+" + bare)
	case t.coef == -1 && first:
		b.WriteString("-" + t.key) // -(a//b) is not -a//b
	case t.coef == -1:
		b.WriteString("-" + bare)
	default:
		if t.coef > 0 && !first {
			b.WriteByte('+')
		}
		b.WriteString(strconv.FormatInt(t.coef, 10) + "*" + t.key)
	}
}

// divisionText writes a//n+c, with nothing besides, as (a+c*n)//n.
func (e Expr) divisionText() (string, bool) {
	if e.n == 0 {
		return "", false
	}
	rest := e
	rest.n = 0
	a := rest.lone()
	if a == nil || a.kind != divAtom {
		return "", false
	}
	n, isInt := a.args[1].Int()
	shift, ok := mulInts(e.n, n)
	if !isInt || !ok {
		return "", false
	}
	inner := a.args[0].AddInt(shift)
	if !inner.known {
		return "", false
	}
	return group(inner, inner.text()) + "//" + strconv.FormatInt(n, 10), true
}

// notInName are the characters that end a name.
const notInName = "+-*/%(),` \t\r\n"

// quoted returns the name as it stands in an expression.
func quoted(name string) string {
	if plainName(name) {
		return name
	}
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}

func plainName(name string) bool {
	if strings.ContainsAny(name, notInName) || name == "?" || isFunction(name) {
		return false
	}
	return !isDigits(name)
}

func isDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

func isFunction(s string) bool { return s == "min" || s == "max" || s == "ceildiv" }
