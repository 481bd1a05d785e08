package sym

import (
	"math"
	"slices"
	"strings"
)

// floorDiv returns a / b rounded down; false for b = 0 and for what leaves 64 bits.
func floorDiv(a, b int64) (int64, bool) {
	if b == 0 || a == math.MinInt64 && b == -1 {
		return 0, false
	}
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q, true
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	if a < 0 {
		return -a
	}
	return a
}

// FloorDiv returns e / f, rounded down; the unknown for f = 0.
func (e Expr) FloorDiv(f Expr) Expr {
	if !e.known || !f.known {
		return Expr{}
	}
	if n, ok := f.Int(); ok {
		return e.divInt(n)
	}
	if q, ok := e.quotient(f); ok {
		return q
	}
	if e, f = cancel(e, f); f.n != 0 && len(f.terms) == 0 {
		return e.divInt(f.n)
	}
	whole, rest := e.multiples(f)
	switch n, ok := rest.Int(); {
	case ok && n == 0:
		return whole
	case ok && n == -1 && f.NonNegative():
		return whole.AddInt(-1) // f is at least 1
	}
	return whole.Add(call(&atom{kind: divAtom, args: []Expr{rest, f}}))
}

// CeilDiv returns e / f, rounded up; the unknown for f = 0.
func (e Expr) CeilDiv(f Expr) Expr {
	switch n, ok := f.Int(); {
	case ok && n > 0, !ok && f.NonNegative():
		return e.Add(f).AddInt(-1).FloorDiv(f)
	case ok && n < 0:
		return e.Neg().CeilDiv(f.Neg())
	}
	return e.Neg().FloorDiv(f).Neg()
}

// Mod returns e - e//f*f, which has the sign of f.
func (e Expr) Mod(f Expr) Expr { return e.Sub(e.FloorDiv(f).Mul(f)) }

// divInt returns e // n.
func (e Expr) divInt(n int64) Expr {
	if n < 0 {
		if n == math.MinInt64 {
			return Expr{}
		}
		e, n = e.Neg(), -n
	}
	switch {
	case n == 0 || !e.known:
		return Expr{}
	case n == 1:
		return e
	}
	whole, rest := e.splitInt(n, near)
	if len(rest.terms) == 0 {
		return whole
	}
	if joined, ok := rest.overDivision(n); ok {
		return whole.Add(joined)
	}
	if g := rest.common(n); g > 1 {
		return whole.Add(rest.scaled(g).divInt(n / g))
	}
	negatives := 0
	for _, t := range rest.terms {
		if t.coef < 0 {
			negatives++
		}
	}
	if negatives*2 > len(rest.terms) { // a//n = -((-a+n-1)//n)
		return whole.Sub(rest.Neg().AddInt(n - 1).divInt(n))
	}
	return whole.Add(call(&atom{kind: divAtom, args: []Expr{rest, Int(n)}}))
}

// overDivision returns (a//m+c)//n, which is (a+c*m)//(m*n).
func (e Expr) overDivision(n int64) (Expr, bool) {
	c := e.n
	e.n = 0
	a := e.lone()
	if a == nil || a.kind != divAtom {
		return Expr{}, false
	}
	m, ok := a.args[1].Int()
	if !ok || m < 1 {
		return Expr{}, false
	}
	mn, ok := mulInts(m, n)
	cm, ok2 := mulInts(c, m)
	return a.args[0].AddInt(cm).divInt(mn), ok && ok2
}

// near returns the multiple of n to take out of the coefficient c: none when c
// is small already, so that H-3 stays what it is, else what leaves the least.
func near(c, n int64) int64 {
	if c >= -(n/2) && c <= n/2 {
		return 0
	}
	q, _ := floorDiv(c, n)
	if c-q*n > n/2 {
		q++
	}
	return q
}

// down returns the multiple of n to take out of c so that the rest is in [0,n).
func down(c, n int64) int64 {
	q, _ := floorDiv(c, n)
	return q
}

// splitInt returns whole and rest with e = whole*n + rest, the constant of rest
// in [0,n) and its coefficients as take says.
func (e Expr) splitInt(n int64, take func(c, n int64) int64) (whole, rest Expr) {
	q := down(e.n, n)
	whole, rest = Int(q), Int(e.n-q*n)
	for _, t := range e.terms {
		q := take(t.coef, n)
		if q != 0 {
			whole.terms = append(whole.terms, term{q, t.key, t.atoms})
		}
		if r := t.coef - q*n; r != 0 {
			rest.terms = append(rest.terms, term{r, t.key, t.atoms})
		}
	}
	return whole, rest
}

// common returns the greatest divisor of n and all coefficients.
func (e Expr) common(n int64) int64 {
	for _, t := range e.terms {
		n = gcd(n, t.coef)
	}
	return n
}

// scaled divides by g, which divides the coefficients; the constant is rounded down.
func (e Expr) scaled(g int64) Expr {
	out := Int(down(e.n, g))
	for _, t := range e.terms {
		out.terms = append(out.terms, term{t.coef / g, t.key, t.atoms})
	}
	return out
}

// cancel drops the factors that are common to all terms of both.
func cancel(e, f Expr) (Expr, Expr) {
	if g := e.common(f.common(gcd(e.n, f.n))); g > 1 {
		e, f = e.scaled(g), f.scaled(g)
	}
	if e.n != 0 || f.n != 0 || len(e.terms) == 0 {
		return e, f
	}
	common := f.terms[0].atoms
	for _, t := range slices.Concat(e.terms, f.terms) {
		_, missing, _ := without(t.atoms, common)
		common, _, _ = without(common, missing)
	}
	if len(common) == 0 {
		return e, f
	}
	return e.dropAtoms(common), f.dropAtoms(common)
}

// dropAtoms divides by a product of atoms that every term has.
func (e Expr) dropAtoms(drop []*atom) Expr {
	out := Int(0)
	for _, t := range e.terms {
		rest, _, _ := without(t.atoms, drop)
		if len(rest) == 0 {
			out.n = t.coef
			continue
		}
		out.terms = append(out.terms, product(t.coef, rest))
	}
	slices.SortFunc(out.terms, func(a, b term) int { return strings.Compare(a.key, b.key) })
	return out
}

// without takes the sorted atoms drop out of all; missing are those not there.
func without(all, drop []*atom) (rest, missing []*atom, ok bool) {
	for len(drop) > 0 && len(all) > 0 {
		switch c := strings.Compare(all[0].key, drop[0].key); {
		case c < 0:
			rest, all = append(rest, all[0]), all[1:]
		case c > 0:
			missing, drop = append(missing, drop[0]), drop[1:]
		default:
			all, drop = all[1:], drop[1:]
		}
	}
	missing = append(missing, drop...)
	return append(rest, all...), missing, len(missing) == 0
}

// multiples takes out of e the terms that f, a single product, divides.
func (e Expr) multiples(f Expr) (whole, rest Expr) {
	if f.n != 0 || len(f.terms) != 1 {
		return Int(0), e
	}
	by := f.terms[0]
	whole, rest = Int(0), Int(e.n)
	for _, t := range e.terms {
		if q, ok := t.over(by); ok {
			whole = whole.Add(q)
		} else {
			rest.terms = append(rest.terms, t)
		}
	}
	return whole, rest
}

// over returns t / by when that has no remainder.
func (t term) over(by term) (Expr, bool) {
	if t.coef%by.coef != 0 {
		return Expr{}, false
	}
	rest, _, ok := without(t.atoms, by.atoms)
	switch {
	case !ok:
		return Expr{}, false
	case len(rest) == 0:
		return Int(t.coef / by.coef), true
	}
	return Expr{known: true, terms: []term{product(t.coef/by.coef, rest)}}, true
}

// quotient divides polynomials; false when there is a remainder.
func (e Expr) quotient(f Expr) (Expr, bool) {
	q, lead := Int(0), f.leading()
	for range maxTerms {
		if n, ok := e.Int(); ok && n == 0 {
			return q, true
		}
		t, ok := e.leading().over(lead)
		if !ok {
			return Expr{}, false
		}
		q, e = q.Add(t), e.Sub(t.Mul(f))
		if !e.known || !q.known {
			return Expr{}, false
		}
	}
	return Expr{}, false
}

// leading returns the term of the highest degree, of several the first in the
// order of their atoms: an order that multiplication keeps.
func (e Expr) leading() term {
	best := term{coef: e.n}
	for _, t := range e.terms {
		if len(t.atoms) > len(best.atoms) || len(t.atoms) == len(best.atoms) && before(t.atoms, best.atoms) {
			best = t
		}
	}
	return best
}

func before(a, b []*atom) bool {
	return slices.CompareFunc(a, b, func(x, y *atom) int { return strings.Compare(x.key, y.key) }) < 0
}

// divides reports whether the expression has a division in it.
func (e Expr) divides() bool {
	for _, t := range e.terms {
		for _, a := range t.atoms {
			if a.kind == divAtom || slices.ContainsFunc(a.args, Expr.divides) {
				return true
			}
		}
	}
	return false
}

// strict returns e with its divisions by numbers in the one form that equal
// ones share, which is not the one that is nicest to read: N-N//2 for (N+1)//2.
func (e Expr) strict() Expr {
	out := Int(e.n)
	for _, t := range e.terms {
		p := Int(t.coef)
		for _, a := range t.atoms {
			p = p.Mul(a.strict())
		}
		out = out.Add(p)
	}
	return out
}

func (a *atom) strict() Expr {
	if a.kind == symbolAtom {
		return single(a)
	}
	args := make([]Expr, len(a.args))
	for i, e := range a.args {
		args[i] = e.strict()
		if !args[i].known {
			return Expr{}
		}
	}
	if a.kind != divAtom {
		return pick(a.kind, args...)
	}
	n, ok := args[1].Int()
	if !ok || n < 2 {
		return args[0].FloorDiv(args[1])
	}
	whole, rest := args[0].splitInt(n, down)
	if len(rest.terms) == 0 {
		return whole
	}
	if joined, ok := rest.overDivision(n); ok {
		return whole.Add(joined.strict())
	}
	if g := rest.common(n); g > 1 {
		return whole.Add(rest.scaled(g).divInt(n / g).strict())
	}
	flipped, other := rest.Neg().AddInt(n-1).splitInt(n, down)
	if other.less(rest) {
		return whole.Sub(flipped).Sub(call(&atom{kind: divAtom, args: []Expr{other, Int(n)}}))
	}
	return whole.Add(call(&atom{kind: divAtom, args: []Expr{rest, Int(n)}}))
}

// less orders two numerators of the same terms.
func (e Expr) less(f Expr) bool {
	for i, t := range e.terms {
		if t.coef != f.terms[i].coef {
			return t.coef < f.terms[i].coef
		}
	}
	return e.n < f.n
}
