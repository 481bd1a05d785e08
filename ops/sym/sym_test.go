package sym_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/starlarkgs/starlarkgs/ops/sym"
)

func parse(t *testing.T, s string) sym.Expr {
	t.Helper()
	e, err := sym.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestText(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"2*N+1", "2*N+1"},
		{"1+N*2", "2*N+1"},
		{"(H-3)//2+1", "(H-1)//2"},
		{"(H+2*1-3)//2+1", "(H+1)//2"},
		{"H//2*2", "2*(H//2)"},
		{"(2*H)//2", "H"},
		{"2*H//2", "H"},
		{"N*(H//2)", "(H//2)*N"},
		{"(N*H)//2", "(H*N)//2"},
		{"(4*N+6)//4", "N+1"},
		{"(4*N+6*M)//4", "M//2+M+N"},
		{"(4*N+2*M)//4", "M//2+N"},
		{"(2*N+3)//2", "N+1"},
		{"(N*C+C)//C", "N+1"},
		{"(N*C)//(N*2)", "C//2"},
		{"(A*N+B*N)//(A+B)", "N"},
		{"N//3//4", "N//12"},
		{"(2*(N//3)+5)//4", "(N+6)//6"},
		{"-(-N//2)", "(N+1)//2"},
		{"ceildiv(N, 2)", "(N+1)//2"},
		{"ceildiv(N*C, C)", "N"},
		{"N%1", "0"},
		{"N-N", "0"},
		{"N%2", "N-2*(N//2)"},
		{"-(N//2)", "-(N//2)"},
		{"M-N//2", "M-N//2"},
		{"max(N, N)", "N"},
		{"min(N, N+1)", "N"},
		{"max(N, 0)", "N"},
		{"max(N-3, 0)", "max(0,N-3)"},
		{"min(a, min(b, a), 4)", "min(4,a,b)"},
		{"sequence-length", "sequence-length"},
		{"length-sequence", "length-sequence"},
		{"2*`batch size`", "2*`batch size`"},
		{"`2*N`+1", "`2*N`+1"},
		{"`a``b`*2", "2*`a``b`"},
		{"?", "?"},
		{"?+1", "?"},
		{"N//0", "?"},
		{"-5//2", "-3"},
		{"5//-2", "-3"},
		{"-5%3", "1"},
	} {
		got := parse(t, test.in)
		if got.String() != test.want {
			t.Errorf("Parse(%q) = %s, want %s", test.in, got, test.want)
		}
		if again := parse(t, got.String()); got.Known() && !again.Equal(got) {
			t.Errorf("Parse(%q) = %s, which reads back as %s", test.in, got, again)
		}
	}
}

func TestEqual(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"(N+1)//2", "N-N//2", true},
		{"-(-N//3)", "(N+2)//3", true},
		{"N//2+(N+1)//2", "N", true},
		{"(N-M)//2", "-((M-N+1)//2)", true},
		{"max((N+1)//2, M)", "max(M, N-N//2)", true},
		{"(3*N)//4", "N-(N+3)//4", true},
		{"N//2*2", "N", false},
		{"N", "M", false},
		{"N+1", "N", false},
		{"2*N", "`2*N`", false},
		{"?", "?", false},
	} {
		if got := parse(t, test.a).Equal(parse(t, test.b)); got != test.want {
			t.Errorf("%s = %s: got %v, want %v", test.a, test.b, got, test.want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for in, want := range map[string]string{
		"":                      `expression "": got nothing at 0, want a number or a name`,
		"2*":                    `expression "2*": got nothing at 2, want a number or a name`,
		"(N":                    `expression "(N": a parenthesis is not closed`,
		"N M":                   `expression "N M": got "M", want an operator`,
		"min(N)":                `expression "min(N)": min: got 1 operands, want two`,
		"min":                   `expression "min": min wants operands in parentheses`,
		"`N":                    "expression \"`N\": a backquote is not closed",
		"99999999999999999999":  `expression "99999999999999999999": the number 99999999999999999999 leaves 64 bits`,
		strings.Repeat("-", 60): fmt.Sprintf("expression %q: nested deeper than 50", strings.Repeat("-", 60)),
	} {
		if e, err := sym.Parse(in); err == nil || err.Error() != want {
			t.Errorf("Parse(%q) = %v, %v, want the error %s", in, e, err, want)
		}
	}
}

// A name that a file gives comes back unchanged, whatever it is.
func TestFromText(t *testing.T) {
	for _, name := range []string{"N", "batch size", "input.1", "größe", "7b", "a:0", "min", "[x]", "`", "2 N"} {
		e := sym.FromText(name)
		if e.String() != name || !e.Equal(sym.FromText(e.String())) {
			t.Errorf("FromText(%q) = %s", name, e)
		}
		if got := sym.FromText(e.MulInt(2).AddInt(1).String()); !got.Equal(e.MulInt(2).AddInt(1)) {
			t.Errorf("2*%q+1 reads back as %s", name, got)
		}
	}
	for _, none := range []string{"", "?", "?+1"} {
		if e := sym.FromText(none); e.Known() {
			t.Errorf("FromText(%q) = %s, want the unknown", none, e)
		}
	}
}

func TestHints(t *testing.T) {
	for _, test := range []struct {
		in                    string
		nonNegative, positive bool
	}{
		{"N", true, false},
		{"N+1", true, true},
		{"N-1", false, false},
		{"N//2", true, false},
		{"(N-1)//2", false, false},
		{"max(N-3, 0)", true, false},
		{"min(N-3, M)", false, false},
		{"max(0, N-3)+1", true, true},
		{"?", false, false},
	} {
		e := parse(t, test.in)
		if e.NonNegative() != test.nonNegative || e.Positive() != test.positive {
			t.Errorf("%s: got %v, %v, want %v, %v", test.in, e.NonNegative(), e.Positive(), test.nonNegative, test.positive)
		}
	}
	if got := parse(t, "max(B, 2*A)//C + `x y`").Symbols(); !slices.Equal(got, []string{"A", "B", "C", "x y"}) {
		t.Errorf("got the symbols %q", got)
	}
}

// What grows without bound, or leaves 64 bits, becomes unknown, and soon.
func TestBounds(t *testing.T) {
	grow := map[string]func(e sym.Expr, i int) sym.Expr{
		"sum":    func(e sym.Expr, i int) sym.Expr { return e.Add(sym.Symbol(fmt.Sprint("N", i))) },
		"power":  func(e sym.Expr, i int) sym.Expr { return e.Mul(e.AddInt(1)) },
		"double": func(e sym.Expr, i int) sym.Expr { return e.Add(e) },
		"min":    func(e sym.Expr, i int) sym.Expr { return e.Min(sym.Symbol(fmt.Sprint("N", i))) },
		"nested": func(e sym.Expr, i int) sym.Expr { return e.FloorDiv(sym.Int(3)).Max(e.Sub(sym.Symbol("M"))).AddInt(1) },
		"divide": func(e sym.Expr, i int) sym.Expr { return sym.Symbol("M").FloorDiv(e.AddInt(1)) },
	}
	for name, f := range grow {
		e := sym.Symbol("N")
		for i := range 2000 {
			e = f(e, i)
		}
		if e.Known() {
			t.Errorf("%s: got %s after 2000 steps, want the unknown", name, e)
		}
	}
	for _, e := range []sym.Expr{
		sym.Int(math.MaxInt64).AddInt(1), sym.Int(math.MinInt64).Neg(), sym.Int(math.MinInt64).FloorDiv(sym.Int(-1)),
		sym.Symbol("N").MulInt(math.MaxInt64).MulInt(2), sym.Symbol("N").MulInt(math.MaxInt64).Mul(sym.Symbol("N").AddInt(2)),
	} {
		if e.Known() {
			t.Errorf("got %s, want the unknown", e)
		}
	}
}

// tree is an expression beside what it means.
type tree struct {
	e    sym.Expr
	text string
	eval func(map[string]int64) (int64, bool)
}

var names = []string{"A", "B", "N", "x y"}

func leaf(r *rand.Rand) tree {
	if r.IntN(3) == 0 {
		n := int64(r.IntN(9) - 3)
		return tree{sym.Int(n), fmt.Sprintf("(%d)", n), func(map[string]int64) (int64, bool) { return n, true }}
	}
	name := names[r.IntN(len(names))]
	text := name
	if strings.Contains(name, " ") {
		text = "`" + name + "`"
	}
	return tree{sym.Symbol(name), text, func(m map[string]int64) (int64, bool) { return m[name], true }}
}

func floor(a, b int64) int64 { return int64(math.Floor(float64(a) / float64(b))) }

func random(r *rand.Rand, depth int) tree {
	if depth == 0 || r.IntN(6) == 0 {
		return leaf(r)
	}
	a, b := random(r, depth-1), random(r, depth-1)
	type operation struct {
		text  string
		join  func(e, f sym.Expr) sym.Expr
		apply func(x, y int64) int64
		div   bool
	}
	ops := []operation{
		{"(%s+%s)", sym.Expr.Add, func(x, y int64) int64 { return x + y }, false},
		{"(%s-%s)", sym.Expr.Sub, func(x, y int64) int64 { return x - y }, false},
		{"%s*%s", sym.Expr.Mul, func(x, y int64) int64 { return x * y }, false},
		{"(%s)//(%s)", sym.Expr.FloorDiv, floor, true},
		{"(%s)%%(%s)", sym.Expr.Mod, func(x, y int64) int64 { return x - y*floor(x, y) }, true},
		{"ceildiv(%s,%s)", sym.Expr.CeilDiv, func(x, y int64) int64 { return -floor(-x, y) }, true},
		{"min(%s,%s)", sym.Expr.Min, func(x, y int64) int64 { return min(x, y) }, false},
		{"max(%s,%s)", sym.Expr.Max, func(x, y int64) int64 { return max(x, y) }, false},
	}
	op := ops[r.IntN(len(ops))]
	return tree{op.join(a.e, b.e), "(" + fmt.Sprintf(op.text, a.text, b.text) + ")", func(m map[string]int64) (int64, bool) {
		x, ok := a.eval(m)
		y, ok2 := b.eval(m)
		// sizes are not negative, and nothing is divided by 0
		if !ok || !ok2 || op.div && y == 0 || max(x, -x, y, -y) > 1<<24 {
			return 0, false
		}
		return op.apply(x, y), true
	}}
}

func bindings(r *rand.Rand) map[string]int64 {
	m := map[string]int64{}
	for _, n := range names {
		m[n] = int64(1 + r.IntN(20))
	}
	return m
}

// Normal forms mean what was written, as counted with numbers, and read back as
// what they are.
func TestMeaning(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	checked := 0
	for range 20000 {
		x := random(r, 4)
		if !x.e.Known() {
			continue
		}
		if again := sym.FromText(x.e.String()); !again.Equal(x.e) {
			t.Fatalf("%s is %s, which reads back as %s", x.text, x.e, again)
		}
		if parsed, err := sym.Parse(x.text); err != nil || !parsed.Equal(x.e) {
			t.Fatalf("%s is %s and parses as %s, %v", x.text, x.e, parsed, err)
		}
		for range 8 {
			m := bindings(r)
			want, ok := x.eval(m)
			got, ok2 := x.e.Eval(func(s string) (int64, bool) { return m[s], true })
			if !ok || !ok2 {
				continue
			}
			checked++
			if got != want {
				t.Fatalf("%s is %s: got %d, want %d with %v", x.text, x.e, got, want, m)
			}
			if x.e.NonNegative() && want < 0 || x.e.Positive() && want <= 0 {
				t.Fatalf("%s is %s: its sign is wrong, it is %d with %v", x.text, x.e, want, m)
			}
		}
	}
	if checked < 50000 {
		t.Errorf("checked %d values, want many more", checked)
	}
}

// Two sums of divisions by one number are found equal if and only if they are.
func TestEqualMeansEqual(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	same := 0
	for range 20000 {
		n := int64(2 + r.IntN(3))
		one := func() sym.Expr {
			e := sym.Int(int64(r.IntN(3)))
			for _, s := range []string{"A", "B"} {
				e = e.Add(sym.Symbol(s).MulInt(int64(r.IntN(7) - 3)))
			}
			return e
		}
		a, b := one(), one()
		e := a.FloorDiv(sym.Int(n)).Add(b)
		f := b.Add(one()).Sub(a.Neg().AddInt(n - 1).FloorDiv(sym.Int(n))).Sub(sym.Int(0))
		equal := true
		for x := int64(0); x < 2*n+1; x++ {
			for y := int64(0); y < 2*n+1; y++ {
				at := func(s string) (int64, bool) { return map[string]int64{"A": x, "B": y}[s], true }
				v, _ := e.Eval(at)
				w, _ := f.Eval(at)
				equal = equal && v == w
			}
		}
		if got := e.Equal(f); got != equal {
			t.Fatalf("%s = %s: got %v, want %v", e, f, got, equal)
		}
		if equal {
			same++
		}
	}
	if same < 20 {
		t.Errorf("met %d equal pairs, want more", same)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"2*N+1", "(H-3)//2+1", "min(a,b)%c", "`x y`", "ceildiv(N,-2)", "?"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e, err := sym.Parse(s)
		if err != nil || !e.Known() {
			return
		}
		if again := sym.FromText(e.String()); again.Known() && !again.Equal(e) {
			t.Errorf("Parse(%q) = %s, which reads back as %s", s, e, again)
		}
	})
}

func BenchmarkArithmetic(b *testing.B) {
	n, h := sym.Symbol("N"), sym.Symbol("H")
	b.ReportAllocs()
	for b.Loop() {
		e := h.AddInt(2).AddInt(-3).FloorDiv(sym.Int(2)).AddInt(1)
		if !n.Mul(e).MulInt(64).FloorDiv(n.MulInt(64)).Equal(e) {
			b.Fatal("not equal")
		}
	}
}
