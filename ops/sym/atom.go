package sym

import (
	"slices"
	"strings"
)

type atomKind uint8

const (
	symbolAtom atomKind = iota
	divAtom             // args[0] // args[1]
	minAtom
	maxAtom
)

// atom is a factor: a symbol, or a function of expressions.
type atom struct {
	kind        atomKind
	name        string
	args        []Expr
	key         string // its text, which tells atoms apart
	nonNegative bool   // it is certainly ≥ 0
}

// factor returns the text as it stands in a product.
func (a *atom) factor() string {
	if a.kind == divAtom {
		return "(" + a.key + ")"
	}
	return a.key
}

// call returns the expression of a new atom, or the unknown for a too long one.
func call(a *atom) Expr {
	parts := make([]string, len(a.args))
	size := 0
	for i, e := range a.args {
		parts[i] = e.text()
		size += len(parts[i])
	}
	if size > maxText {
		return Expr{}
	}
	switch a.kind {
	case divAtom:
		a.key = group(a.args[0], parts[0]) + "//" + group(a.args[1], parts[1])
		a.nonNegative = a.args[0].NonNegative() && a.args[1].NonNegative()
	case minAtom:
		a.key = "min(" + strings.Join(parts, ",") + ")"
		a.nonNegative = !slices.ContainsFunc(a.args, func(e Expr) bool { return !e.NonNegative() })
	case maxAtom:
		a.key = "max(" + strings.Join(parts, ",") + ")"
		a.nonNegative = slices.ContainsFunc(a.args, Expr.NonNegative)
	}
	return single(a)
}

// group returns the text of an operand of //: in parentheses unless it is one word.
func group(e Expr, text string) string {
	if len(e.terms) == 0 && e.n >= 0 {
		return text
	}
	if a := e.lone(); a != nil && a.kind != divAtom {
		return text
	}
	return "(" + text + ")"
}

// lone returns the atom that the whole expression is, or nil.
func (e Expr) lone() *atom {
	if e.n == 0 && len(e.terms) == 1 && e.terms[0].coef == 1 && len(e.terms[0].atoms) == 1 {
		return e.terms[0].atoms[0]
	}
	return nil
}

// Min returns the smaller one.
func (e Expr) Min(f Expr) Expr { return pick(minAtom, e, f) }

// Max returns the larger one.
func (e Expr) Max(f Expr) Expr { return pick(maxAtom, e, f) }

// pick returns the least or the greatest. What another choice certainly beats
// is left out, and a choice that is one of the same kind is taken apart.
func pick(kind atomKind, es ...Expr) Expr {
	var all []Expr
	for _, e := range es {
		if !e.known {
			return Expr{}
		}
		if a := e.lone(); a != nil && a.kind == kind {
			all = append(all, a.args...)
		} else {
			all = append(all, e)
		}
	}
	var kept []Expr
	for i, e := range all {
		beaten := false
		for j, f := range all {
			beaten = beaten || i != j && beats(kind, f, e) && (i > j || !beats(kind, e, f))
		}
		if !beaten {
			kept = append(kept, e)
		}
	}
	switch {
	case len(kept) == 1:
		return kept[0]
	case len(kept) > maxChoices:
		return Expr{}
	}
	slices.SortFunc(kept, func(a, b Expr) int { return strings.Compare(a.text(), b.text()) })
	return call(&atom{kind: kind, args: kept})
}

// beats reports whether e is certainly a choice as good as f.
func beats(kind atomKind, e, f Expr) bool {
	if kind == minAtom {
		e, f = f, e
	}
	return e.Sub(f).NonNegative()
}

// Symbols returns the names of the symbols, sorted, each once.
func (e Expr) Symbols() []string {
	var names []string
	e.eachSymbol(func(name string) bool {
		names = append(names, name)
		return true
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// HasSymbol reports whether the expression has a symbol whose name fits.
func (e Expr) HasSymbol(fits func(name string) bool) bool {
	return !e.eachSymbol(func(name string) bool { return !fits(name) })
}

// eachSymbol calls f for each occurrence until f says no.
func (e Expr) eachSymbol(f func(string) bool) bool {
	for _, t := range e.terms {
		for _, a := range t.atoms {
			if a.kind == symbolAtom && !f(a.name) {
				return false
			}
			for _, arg := range a.args {
				if !arg.eachSymbol(f) {
					return false
				}
			}
		}
	}
	return true
}

// Eval returns the value, with the value that each symbol has; false when one
// has none, a divisor is 0 or a number leaves 64 bits.
func (e Expr) Eval(symbol func(name string) (int64, bool)) (int64, bool) {
	if !e.known {
		return 0, false
	}
	total := e.n
	for _, t := range e.terms {
		value := t.coef
		for _, a := range t.atoms {
			v, ok := a.eval(symbol)
			if !ok {
				return 0, false
			}
			if value, ok = mulInts(value, v); !ok {
				return 0, false
			}
		}
		var ok bool
		if total, ok = addInts(total, value); !ok {
			return 0, false
		}
	}
	return total, true
}

func (a *atom) eval(symbol func(string) (int64, bool)) (int64, bool) {
	if a.kind == symbolAtom {
		return symbol(a.name)
	}
	vs := make([]int64, len(a.args))
	for i, e := range a.args {
		var ok bool
		if vs[i], ok = e.Eval(symbol); !ok {
			return 0, false
		}
	}
	switch a.kind {
	case minAtom:
		return slices.Min(vs), true
	case maxAtom:
		return slices.Max(vs), true
	}
	return floorDiv(vs[0], vs[1])
}
