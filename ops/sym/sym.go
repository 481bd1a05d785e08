// Package sym is integer arithmetic over symbols, for sizes that are not known
// before a model runs: 2*N+1, (H-3)//2+1.
//
// An Expr is a sum of products of atoms; an atom is a symbol, or a floor
// division, remainder, minimum or maximum of expressions. Sums and products are
// kept in one normal form, so equal means equal. Symbols stand for sizes and are
// taken to be ≥ 0. The zero Expr is unknown, and what is computed from it is
// unknown.
package sym

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// maxTerms bounds an expression; one that grows beyond is unknown.
const maxTerms = 32

// Expr is an integer expression. The zero Expr is unknown.
type Expr struct{ p *poly }

// poly is a sum of terms by their key, the key "" being the constant.
type poly struct {
	terms map[string]term
}

type term struct {
	coef  int64
	atoms []string // sorted texts of the factors
}

// Int returns a number.
func Int(n int64) Expr {
	p := &poly{terms: map[string]term{}}
	if n != 0 {
		p.terms[""] = term{coef: n}
	}
	return Expr{p}
}

// Symbol returns a symbol.
func Symbol(name string) Expr {
	if name == "" {
		return Expr{}
	}
	return atom(name)
}

func atom(text string) Expr {
	return Expr{&poly{terms: map[string]term{text: {1, []string{text}}}}}
}

// Ints returns numbers.
func Ints(ns []int) []Expr {
	out := make([]Expr, len(ns))
	for i, n := range ns {
		out[i] = Int(int64(n))
	}
	return out
}

// AllInts returns the numbers when all expressions are.
func AllInts(es []Expr) ([]int, bool) {
	out := make([]int, len(es))
	for i, e := range es {
		n, ok := e.Int()
		if !ok {
			return nil, false
		}
		out[i] = int(n)
	}
	return out, true
}

// Product returns the product of all; 1 for none.
func Product(es []Expr) Expr {
	out := Int(1)
	for _, e := range es {
		out = out.Mul(e)
	}
	return out
}

// Int returns the number that the expression is.
func (e Expr) Int() (int64, bool) {
	if e.p == nil || len(e.p.terms) > 1 {
		return 0, false
	}
	if len(e.p.terms) == 0 {
		return 0, true
	}
	t, ok := e.p.terms[""]
	return t.coef, ok
}

// Known reports whether the expression is not the unknown one.
func (e Expr) Known() bool { return e.p != nil }

// Equal reports whether both are known and equal for all values of the symbols.
func (e Expr) Equal(f Expr) bool {
	if e.p == nil || f.p == nil {
		return false
	}
	if e.p == f.p {
		return true
	}
	if len(e.p.terms) != len(f.p.terms) {
		return false
	}
	for k, t := range e.p.terms {
		if f.p.terms[k].coef != t.coef {
			return false
		}
	}
	return true
}

func (p *poly) add(key string, atoms []string, coef int64) {
	t := p.terms[key]
	t.coef += coef
	t.atoms = atoms
	if t.coef == 0 {
		delete(p.terms, key)
		return
	}
	p.terms[key] = t
}

func done(p *poly) Expr {
	if len(p.terms) > maxTerms {
		return Expr{}
	}
	return Expr{p}
}

// Add returns e + f.
func (e Expr) Add(f Expr) Expr { return e.addScaled(f, 1) }

// Sub returns e - f.
func (e Expr) Sub(f Expr) Expr { return e.addScaled(f, -1) }

func (e Expr) addScaled(f Expr, by int64) Expr {
	if e.p == nil || f.p == nil {
		return Expr{}
	}
	p := &poly{terms: make(map[string]term, len(e.p.terms)+len(f.p.terms))}
	for k, t := range e.p.terms {
		p.terms[k] = t
	}
	for k, t := range f.p.terms {
		p.add(k, t.atoms, by*t.coef)
	}
	return done(p)
}

// Neg returns -e.
func (e Expr) Neg() Expr { return Int(0).Sub(e) }

// AddInt returns e + n.
func (e Expr) AddInt(n int64) Expr { return e.Add(Int(n)) }

// MulInt returns e * n.
func (e Expr) MulInt(n int64) Expr { return e.Mul(Int(n)) }

// Mul returns e * f.
func (e Expr) Mul(f Expr) Expr {
	if e.p == nil || f.p == nil {
		return Expr{}
	}
	p := &poly{terms: map[string]term{}}
	for _, t := range e.p.terms {
		for _, u := range f.p.terms {
			atoms := append(append([]string(nil), t.atoms...), u.atoms...)
			sort.Strings(atoms)
			p.add(strings.Join(atoms, "*"), atoms, t.coef*u.coef)
		}
	}
	return done(p)
}

// divide returns e / n when n divides every coefficient.
func (e Expr) divide(n int64) (Expr, bool) {
	p := &poly{terms: map[string]term{}}
	for k, t := range e.p.terms {
		if t.coef%n != 0 {
			return Expr{}, false
		}
		p.terms[k] = term{t.coef / n, t.atoms}
	}
	return Expr{p}, true
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// FloorDiv returns e // f, rounded down.
func (e Expr) FloorDiv(f Expr) Expr {
	if e.p == nil || f.p == nil {
		return Expr{}
	}
	n, isInt := f.Int()
	if isInt && n == 0 {
		return Expr{}
	}
	if m, ok := e.Int(); ok && isInt {
		return Int(floorDiv(m, n))
	}
	if isInt {
		if q, ok := e.divide(n); ok {
			return q
		}
		if whole, rest, ok := e.splitMultiples(n); ok {
			return whole.Add(atom(group(rest) + "//" + group(f)))
		}
	}
	if q, ok := e.cancel(f); ok {
		return q
	}
	return atom(group(e) + "//" + group(f))
}

// splitMultiples takes out the terms that n divides: (2*N+3)//2 = N + 3//2 …
func (e Expr) splitMultiples(n int64) (whole, rest Expr, ok bool) {
	w, r := &poly{terms: map[string]term{}}, &poly{terms: map[string]term{}}
	for k, t := range e.p.terms {
		if t.coef%n == 0 {
			w.terms[k] = term{t.coef / n, t.atoms}
		} else {
			r.terms[k] = t
		}
	}
	if len(w.terms) == 0 {
		return Expr{}, Expr{}, false
	}
	if m, isInt := (Expr{r}).Int(); isInt {
		return Expr{w}.AddInt(floorDiv(m, n)), Expr{}, false
	}
	return Expr{w}, Expr{r}, true
}

// cancel divides by a product of symbols that every term holds: (N*C)//N = C.
func (e Expr) cancel(f Expr) (Expr, bool) {
	if len(f.p.terms) != 1 {
		return Expr{}, false
	}
	var by term
	for _, t := range f.p.terms {
		by = t
	}
	p := &poly{terms: map[string]term{}}
	for _, t := range e.p.terms {
		rest, ok := without(t.atoms, by.atoms)
		if !ok || t.coef%by.coef != 0 {
			return Expr{}, false
		}
		p.add(strings.Join(rest, "*"), rest, t.coef/by.coef)
	}
	return Expr{p}, true
}

func without(all, drop []string) ([]string, bool) {
	rest := append([]string(nil), all...)
	for _, d := range drop {
		i := sort.SearchStrings(rest, d)
		if i >= len(rest) || rest[i] != d {
			return nil, false
		}
		rest = append(rest[:i], rest[i+1:]...)
	}
	return rest, true
}

// CeilDiv returns e / f, rounded up.
func (e Expr) CeilDiv(f Expr) Expr { return e.Neg().FloorDiv(f).Neg() }

// Mod returns e - e//f*f.
func (e Expr) Mod(f Expr) Expr {
	q := e.FloorDiv(f)
	return e.Sub(q.Mul(f))
}

// Min returns the smaller one.
func (e Expr) Min(f Expr) Expr { return e.pick(f, "min", -1) }

// Max returns the larger one.
func (e Expr) Max(f Expr) Expr { return e.pick(f, "max", 1) }

func (e Expr) pick(f Expr, name string, sign int64) Expr {
	if e.p == nil || f.p == nil {
		return Expr{}
	}
	if d, ok := e.Sub(f).Int(); ok {
		if d*sign >= 0 {
			return e
		}
		return f
	}
	if name == "max" {
		if n, ok := f.Int(); ok && n <= 0 && e.NonNegative() {
			return e
		}
		if n, ok := e.Int(); ok && n <= 0 && f.NonNegative() {
			return f
		}
	}
	a, b := e.String(), f.String()
	if a > b {
		a, b = b, a
	}
	return atom(name + "(" + a + "," + b + ")")
}

// NonNegative reports whether the expression is certainly ≥ 0: no coefficient
// is negative.
func (e Expr) NonNegative() bool {
	if e.p == nil {
		return false
	}
	for _, t := range e.p.terms {
		if t.coef < 0 {
			return false
		}
		for _, a := range t.atoms {
			if strings.Contains(a, "-") {
				return false
			}
		}
	}
	return true
}

// Positive reports whether the expression is certainly > 0.
func (e Expr) Positive() bool {
	return e.NonNegative() && e.p.terms[""].coef > 0
}

// group returns the text in parentheses where it is a sum.
func group(e Expr) string {
	s := e.String()
	if strings.ContainsAny(s, "+-*/ ") {
		return "(" + s + ")"
	}
	return s
}

// String returns the text, as 2*N+1; "?" for the unknown.
func (e Expr) String() string {
	if e.p == nil {
		return "?"
	}
	keys := make([]string, 0, len(e.p.terms))
	for k := range e.p.terms {
		if k != "" {
			keys = append(keys, k)
		}
	}
	sort.Strings(keys)
	var b strings.Builder
	for _, k := range keys {
		c := e.p.terms[k].coef
		switch {
		case c == 1:
			plus(&b)
		case c == -1:
			b.WriteByte('-')
		default:
			if c > 0 {
				plus(&b)
			}
			fmt.Fprintf(&b, "%d*", c)
		}
		b.WriteString(k)
	}
	if c := e.p.terms[""].coef; c != 0 || len(keys) == 0 {
		if c >= 0 {
			plus(&b)
		}
		b.WriteString(strconv.FormatInt(c, 10))
	}
	return b.String()
}

func plus(b *strings.Builder) {
	if b.Len() > 0 {
		b.WriteByte('+')
	}
}

// Symbols returns the names of the symbols, sorted.
func (e Expr) Symbols() []string {
	seen := map[string]bool{}
	var out []string
	for _, word := range strings.FieldsFunc(e.String(), func(r rune) bool { return strings.ContainsRune("+-*/(), ", r) }) {
		if _, err := strconv.Atoi(word); err != nil && word != "min" && word != "max" && word != "?" && !seen[word] {
			seen[word] = true
			out = append(out, word)
		}
	}
	sort.Strings(out)
	return out
}
