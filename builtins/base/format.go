package base

import (
	"cmp"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/builtins/builtin"
)

var formatFuncs = []*builtin.Func{{
	Name: "format", Doc: "formats a number or string as Python's format does: [[fill]align][sign][#][0][width][,][.precision][type], as in \".3f\", \">10\", \",d\", \"08.3e\", \"%\".",
	Params:  []builtin.Param{builtin.Req("value", "any", "what to format"), builtin.Opt("spec", "", "string", "how; \"\" is str(value)")},
	Returns: "string", Example: `assert.eq(format(3.14159, ".2f"), "3.14")`,
	Fn: func(c *builtin.Call) (starlark.Value, error) {
		text := c.Str("spec")
		if err := c.Err(); err != nil {
			return nil, err
		}
		if _, isFloat := c.Value("value").(starlark.Float); text == "" && !isFloat {
			s, err := builtin.Str(c.Thread, c.Value("value"))
			return starlark.String(s), err
		}
		s, err := parseSpec(text)
		if err != nil {
			return nil, err
		}
		out, err := s.format(c.Value("value"))
		if err != nil {
			return nil, err
		}
		return starlark.String(out), nil
	},
}}

// spec is a format specification.
type spec struct {
	text      string
	fill      string
	align     byte // '<', '>', '^', '=', or 0
	sign      byte // '+', '-', ' ', or 0
	alt       bool
	zero      bool // the 0 alone asks for the align '='
	width     int
	group     byte // ',', '_', or 0
	precision int  // -1 for none
	verb      byte // 0 for none
}

// maxWidth bounds width and precision.
const maxWidth = 10_000

func parseSpec(text string) (spec, error) {
	s := spec{text: text, precision: -1}
	t := text
	if _, n := utf8.DecodeRuneInString(t); n < len(t) && isAlign(t[n]) {
		s.fill, s.align, t = t[:n], t[n], t[n+1:]
	} else if t != "" && isAlign(t[0]) {
		s.align, t = t[0], t[1:]
	}
	if t != "" && strings.IndexByte("+- ", t[0]) >= 0 {
		s.sign, t = t[0], t[1:]
	}
	if t, s.alt = strings.CutPrefix(t, "#"); strings.HasPrefix(t, "0") {
		s.zero, t = true, t[1:]
	}
	var ok bool
	if s.width, t, ok = number(t, 0); !ok {
		return s, s.bad()
	}
	if t != "" && (t[0] == ',' || t[0] == '_') {
		s.group, t = t[0], t[1:]
	}
	if rest, found := strings.CutPrefix(t, "."); found {
		if s.precision, t, ok = number(rest, -1); !ok || s.precision < 0 {
			return s, errorf("spec: got %q, want digits behind the point", text)
		}
	}
	if len(t) == 1 {
		s.verb, t = t[0], ""
	}
	if t != "" || s.group != 0 && s.verb == 'n' {
		return s, s.bad()
	}
	return s.filled(), nil
}

// filled settles what fills the width: a 0 before it stands for "0=".
func (s spec) filled() spec {
	if s.zero {
		s.fill = cmp.Or(s.fill, "0")
		s.zero = s.align == 0
		s.align = cmp.Or(s.align, '=')
	}
	s.fill = cmp.Or(s.fill, " ")
	return s
}

func (s spec) bad() error {
	return errorf("spec: got %q, want [[fill]align][sign][#][0][width][,][.precision][type]", s.text)
}

func isAlign(c byte) bool { return strings.IndexByte("<>^=", c) >= 0 }

// number takes the digits that s begins with; def stands for none.
func number(s string, def int) (n int, rest string, ok bool) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	if i == 0 {
		return def, s, true
	}
	n, err := strconv.Atoi(s[:i])
	return n, s[i:], err == nil && n <= maxWidth
}

func (s spec) format(v starlark.Value) (string, error) {
	isFloat := s.verb != 0 && strings.IndexByte("eEfFgG%", s.verb) >= 0
	switch v := v.(type) {
	case starlark.Bool:
		n := 0
		if v {
			n = 1
		}
		return s.format(starlark.MakeInt(n))
	case starlark.Int:
		if !isFloat {
			return s.int(v.BigInt())
		}
		f := float64(v.Float())
		if math.IsInf(f, 0) {
			return "", errorf("value: got an int that is too large for type %q", s.verb)
		}
		return s.float(f)
	case starlark.Float:
		return s.float(float64(v))
	case starlark.String:
		return s.string(string(v))
	}
	return "", errorf("value: got %s, want a number or string for the spec %q", v.Type(), s.text)
}

func (s spec) string(v string) (string, error) {
	if s.verb != 0 && s.verb != 's' {
		return "", errorf("spec: got type %q for a string, want s", s.verb)
	}
	if s.sign != 0 || s.alt || s.group != 0 || s.align == '=' && !s.zero {
		return "", errorf("spec: got %q for a string, want [[fill]align][width][.precision][s]", s.text)
	}
	if s.align == '=' {
		s.align = '<'
	}
	if s.precision >= 0 && utf8.RuneCountInString(v) > s.precision {
		v = string([]rune(v)[:s.precision])
	}
	return s.pad("", "", v, '<'), nil
}

func (s spec) int(n *big.Int) (string, error) {
	if s.precision >= 0 {
		return "", errorf("spec: got %q for an int, want no precision (float(x) takes one)", s.text)
	}
	base, prefix, per := 10, "", 3
	switch s.verb {
	case 0, 'd', 'n':
	case 'b':
		base, prefix, per = 2, "0b", 4
	case 'o':
		base, prefix, per = 8, "0o", 4
	case 'x', 'X':
		base, prefix, per = 16, "0"+string(s.verb), 4
	case 'c':
		return s.char(n)
	default:
		return "", errorf("spec: got type %q for an int, want one of b c d n o x X e E f F g G %%", s.verb)
	}
	if per == 4 && s.group == ',' {
		return "", errorf("spec: got ',' with type %q, want '_'", s.verb)
	}
	digits := new(big.Int).Abs(n).Text(base)
	if s.verb == 'X' {
		digits = strings.ToUpper(digits)
	}
	if !s.alt {
		prefix = ""
	}
	return s.number(n.Sign() < 0, prefix, digits, "", per), nil
}

func (s spec) char(n *big.Int) (string, error) {
	if !n.IsInt64() || n.Int64() < 0 || n.Int64() > utf8.MaxRune {
		return "", errorf("value: got %s for type 'c', want a code point", n)
	}
	if s.sign != 0 || s.group != 0 || s.alt {
		return "", s.bad()
	}
	return s.pad("", "", string(rune(n.Int64())), '<'), nil
}

func (s spec) float(x float64) (string, error) {
	if s.verb != 0 && strings.IndexByte("eEfFgGn%", s.verb) < 0 {
		return "", errorf("spec: got type %q for a float, want one of e E f F g G n %%", s.verb)
	}
	neg := math.Signbit(x) && !math.IsNaN(x)
	text := s.digits(math.Abs(x))
	if s.verb != 0 && strings.IndexByte("EFG", s.verb) >= 0 {
		text = strings.ToUpper(text)
	}
	end := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(text)
	}
	return s.number(neg, "", text[:end], text[end:], 3), nil
}

// digits writes a number that is not negative.
func (s spec) digits(x float64) string {
	percent := ""
	if s.verb == '%' {
		x, percent = x*100, "%"
	}
	switch {
	case math.IsInf(x, 0):
		return "inf" + percent
	case math.IsNaN(x):
		return "nan" + percent
	}
	p := s.precision
	if p < 0 {
		p = 6
	}
	switch s.verb {
	case 'e', 'E':
		return s.point(strconv.FormatFloat(x, 'e', p, 64))
	case 'f', 'F', '%':
		return s.point(strconv.FormatFloat(x, 'f', p, 64)) + percent
	case 0:
		return s.plain(x)
	}
	return s.general(x, max(p, 1))
}

// point gives the alternate form a point even where no digit follows.
func (s spec) point(text string) string {
	mantissa, exp, found := strings.Cut(text, "e")
	if !s.alt || strings.Contains(mantissa, ".") {
		return text
	}
	if found {
		return mantissa + ".e" + exp
	}
	return mantissa + "."
}

// plain is the form without a type: the shortest text, or as 'g', but always
// with a digit behind the point.
func (s spec) plain(x float64) string {
	if s.precision < 0 {
		if exp := exponent(x, 0); exp < -4 || exp >= 16 {
			return s.point(strconv.FormatFloat(x, 'e', -1, 64))
		}
		return withFraction(strconv.FormatFloat(x, 'f', -1, 64))
	}
	p := max(s.precision, 1)
	exp := exponent(x, p)
	if exp < -4 || exp >= p-1 { // no room for the digit behind the point
		return s.exponential(x, p)
	}
	return withFraction(s.trimmed(strconv.FormatFloat(x, 'f', p-1-exp, 64)))
}

func withFraction(text string) string {
	if strings.Contains(text, ".") {
		return text
	}
	return text + ".0"
}

// exponent returns the decimal exponent of x rounded to p digits; 0 is the
// shortest text of x.
func exponent(x float64, p int) int {
	_, text, _ := strings.Cut(strconv.FormatFloat(x, 'e', p-1, 64), "e")
	exp, _ := strconv.Atoi(text)
	return exp
}

// general is C's %g: p significant digits, without zeros at the end.
func (s spec) general(x float64, p int) string {
	exp := exponent(x, p)
	if exp < -4 || exp >= p {
		return s.exponential(x, p)
	}
	return s.trimmed(strconv.FormatFloat(x, 'f', p-1-exp, 64))
}

func (s spec) exponential(x float64, p int) string {
	mantissa, exp, _ := strings.Cut(strconv.FormatFloat(x, 'e', p-1, 64), "e")
	return s.trimmed(mantissa) + "e" + exp
}

// trimmed drops the zeros behind the point, unless the alternate form keeps them.
func (s spec) trimmed(text string) string {
	if s.alt {
		return s.point(text)
	}
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// number joins the parts of a number: digits are grouped by per; zeros that fill
// the width are grouped with them.
func (s spec) number(neg bool, prefix, digits, rest string, per int) string {
	sign := ""
	switch {
	case neg:
		sign = "-"
	case s.sign == '+' || s.sign == ' ':
		sign = string(s.sign)
	}
	if s.group != 0 && digits != "" {
		if s.fill == "0" && s.align == '=' {
			room := s.width - len(sign) - len(prefix) - len(rest)
			for len(digits)+(len(digits)-1)/per < room {
				digits = "0" + digits
			}
		}
		for i := len(digits) - per; i > 0; i -= per {
			digits = digits[:i] + string(s.group) + digits[i:]
		}
	}
	return s.pad(sign, prefix, digits+rest, '>')
}

// pad fills up to the width; '=' puts the fill behind sign and prefix.
func (s spec) pad(sign, prefix, text string, align byte) string {
	head := sign + prefix
	n := s.width - utf8.RuneCountInString(head) - utf8.RuneCountInString(text)
	if n <= 0 {
		return head + text
	}
	if s.align != 0 {
		align = s.align
	}
	switch align {
	case '<':
		return head + text + strings.Repeat(s.fill, n)
	case '^':
		return strings.Repeat(s.fill, n/2) + head + text + strings.Repeat(s.fill, n-n/2)
	case '=':
		return head + strings.Repeat(s.fill, n) + text
	}
	return strings.Repeat(s.fill, n) + head + text
}
