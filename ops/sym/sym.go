package sym

import (
	"math"
	"math/bits"
	"slices"
	"strings"
)

// The bounds of an expression; one that grows beyond is unknown.
const (
	maxTerms   = 32  // of a sum
	maxFactors = 16  // of a product
	maxChoices = 8   // of min and max
	maxText    = 400 // bytes of text
)

// Expr is an integer expression. The zero Expr is unknown.
type Expr struct {
	known bool
	n     int64  // the constant term
	terms []term // sorted by key; no coefficient is 0
}

// term is one product of a sum. Its factors are shared and never changed.
type term struct {
	coef  int64
	key   string // the text of the factors, which tells products apart
	atoms []*atom
}

// Int returns a number.
func Int(n int64) Expr { return Expr{known: true, n: n} }

// Symbol returns a symbol, which may have any name; the unknown for none.
func Symbol(name string) Expr {
	if name == "" || len(name) > maxText {
		return Expr{}
	}
	return single(&atom{kind: symbolAtom, name: name, key: quoted(name), nonNegative: true})
}

func single(a *atom) Expr {
	return Expr{known: true, terms: []term{{1, a.factor(), []*atom{a}}}}
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
	if !e.known || len(e.terms) > 0 {
		return 0, false
	}
	return e.n, true
}

// Known reports whether the expression is not the unknown one.
func (e Expr) Known() bool { return e.known }

// Equal reports whether both are known and equal for all values of the symbols.
func (e Expr) Equal(f Expr) bool {
	if !e.known || !f.known {
		return false
	}
	if e.same(f) {
		return true
	}
	if !e.divides() && !f.divides() {
		return false
	}
	d := e.Sub(f).strict()
	return d.known && d.n == 0 && len(d.terms) == 0
}

// same reports whether both have one text.
func (e Expr) same(f Expr) bool {
	if e.known != f.known || e.n != f.n || len(e.terms) != len(f.terms) {
		return false
	}
	for i, t := range e.terms {
		if u := f.terms[i]; t.coef != u.coef || t.key != u.key {
			return false
		}
	}
	return true
}

// Add returns e + f.
func (e Expr) Add(f Expr) Expr {
	if !e.known || !f.known {
		return Expr{}
	}
	n, ok := addInts(e.n, f.n)
	if !ok {
		return Expr{}
	}
	switch {
	case len(f.terms) == 0:
		return Expr{true, n, e.terms}
	case len(e.terms) == 0:
		return Expr{true, n, f.terms}
	}
	out := make([]term, 0, len(e.terms)+len(f.terms))
	a, b := e.terms, f.terms
	for len(a) > 0 && len(b) > 0 {
		switch c := strings.Compare(a[0].key, b[0].key); {
		case c < 0:
			out, a = append(out, a[0]), a[1:]
		case c > 0:
			out, b = append(out, b[0]), b[1:]
		default:
			t := a[0]
			if t.coef, ok = addInts(a[0].coef, b[0].coef); !ok || t.coef == math.MinInt64 {
				return Expr{}
			}
			if t.coef != 0 {
				out = append(out, t)
			}
			a, b = a[1:], b[1:]
		}
	}
	return sum(n, append(append(out, a...), b...))
}

// sum returns the expression of these sorted terms, or the unknown for too many.
func sum(n int64, terms []term) Expr {
	size := 0
	for _, t := range terms {
		size += len(t.key)
	}
	if len(terms) > maxTerms || size > maxText {
		return Expr{}
	}
	return Expr{true, n, terms}
}

// Sub returns e - f.
func (e Expr) Sub(f Expr) Expr { return e.Add(f.Neg()) }

// Neg returns -e.
func (e Expr) Neg() Expr { return e.MulInt(-1) }

// AddInt returns e + n.
func (e Expr) AddInt(n int64) Expr { return e.Add(Int(n)) }

// MulInt returns e * n.
func (e Expr) MulInt(n int64) Expr {
	if !e.known || n == 0 {
		return Expr{known: e.known}
	}
	c, ok := mulInts(e.n, n)
	out := Expr{true, c, make([]term, len(e.terms))}
	for i, t := range e.terms {
		var fits bool
		t.coef, fits = mulInts(t.coef, n)
		ok = ok && fits
		out.terms[i] = t
	}
	if !ok {
		return Expr{}
	}
	return out
}

// Mul returns e * f.
func (e Expr) Mul(f Expr) Expr {
	switch {
	case !e.known || !f.known:
		return Expr{}
	case len(f.terms) == 0:
		return e.MulInt(f.n)
	case len(e.terms) == 0:
		return f.MulInt(e.n)
	case len(e.terms)*len(f.terms) > maxTerms*maxTerms/2:
		return Expr{}
	}
	out := f.MulInt(e.n)
	for _, t := range e.terms {
		out = out.Add(f.mulTerm(t))
	}
	return out
}

// mulTerm returns e * t.
func (e Expr) mulTerm(t term) Expr {
	if !e.known {
		return Expr{}
	}
	terms := make([]term, 0, len(e.terms)+1)
	if c, ok := mulInts(e.n, t.coef); !ok {
		return Expr{}
	} else if c != 0 {
		terms = append(terms, term{c, t.key, t.atoms})
	}
	for _, u := range e.terms {
		c, ok := mulInts(t.coef, u.coef)
		if !ok || len(t.atoms)+len(u.atoms) > maxFactors {
			return Expr{}
		}
		atoms := slices.Concat(t.atoms, u.atoms)
		slices.SortFunc(atoms, func(a, b *atom) int { return strings.Compare(a.key, b.key) })
		terms = append(terms, product(c, atoms))
	}
	slices.SortFunc(terms, func(a, b term) int { return strings.Compare(a.key, b.key) })
	return sum(0, terms)
}

// product returns the term of these sorted factors.
func product(coef int64, atoms []*atom) term {
	keys := make([]string, len(atoms))
	for i, a := range atoms {
		keys[i] = a.factor()
	}
	return term{coef, strings.Join(keys, "*"), atoms}
}

// NonNegative reports whether the expression is certainly ≥ 0, which follows
// when no coefficient is negative and no factor can be.
func (e Expr) NonNegative() bool {
	if !e.known || e.n < 0 {
		return false
	}
	for _, t := range e.terms {
		if t.coef < 0 {
			return false
		}
		for _, a := range t.atoms {
			if !a.nonNegative {
				return false
			}
		}
	}
	return true
}

// Positive reports whether the expression is certainly > 0.
func (e Expr) Positive() bool { return e.NonNegative() && e.n > 0 }

func addInts(a, b int64) (int64, bool) {
	c := a + b
	return c, (c > a) == (b > 0)
}

func mulInts(a, b int64) (int64, bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	if hi != 0 || lo > math.MaxInt64 {
		return 0, false
	}
	return a * b, true
}

func magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}
