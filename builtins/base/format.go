package base

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

const plus = syntax.PLUS

// spec is Python's format specification: [[fill]align][sign][#][0][width][,][.precision][type].
type spec struct {
	fill      rune
	align     byte
	sign      byte
	alt       bool
	width     int
	comma     byte
	precision int // -1 for none
	verb      byte
}

func parseSpec(text string) (spec, error) {
	s := spec{fill: ' ', precision: -1}
	rest := []rune(text)
	isAlign := func(r rune) bool { return strings.ContainsRune("<>=^", r) }
	switch {
	case len(rest) > 1 && isAlign(rest[1]):
		s.fill, s.align, rest = rest[0], byte(rest[1]), rest[2:]
	case len(rest) > 0 && isAlign(rest[0]):
		s.align, rest = byte(rest[0]), rest[1:]
	}
	t := string(rest)
	if t != "" && strings.IndexByte("+- ", t[0]) >= 0 {
		s.sign, t = t[0], t[1:]
	}
	if strings.HasPrefix(t, "#") {
		s.alt, t = true, t[1:]
	}
	if strings.HasPrefix(t, "0") {
		if t = t[1:]; s.align == 0 {
			s.fill, s.align = '0', '='
		}
	}
	digits := func() (int, bool) {
		n := 0
		for n < len(t) && t[n] >= '0' && t[n] <= '9' {
			n++
		}
		v, err := strconv.Atoi(t[:n])
		t = t[n:]
		return v, err == nil
	}
	s.width, _ = digits()
	if t != "" && (t[0] == ',' || t[0] == '_') {
		s.comma, t = t[0], t[1:]
	}
	if strings.HasPrefix(t, ".") {
		t = t[1:]
		p, ok := digits()
		if !ok {
			return s, fmt.Errorf("spec: got %q, want digits after the point", text)
		}
		s.precision = p
	}
	if len(t) == 1 {
		s.verb, t = t[0], ""
	}
	if t != "" || s.width > 10_000 || s.precision > 10_000 {
		return s, fmt.Errorf("spec: got %q, want [[fill]align][sign][0][width][,][.precision][type]", text)
	}
	return s, nil
}

func formatValue(v starlark.Value, text string) (string, error) {
	s, err := parseSpec(text)
	if err != nil {
		return "", err
	}
	switch v := v.(type) {
	case starlark.Int:
		if s.verb != 0 && strings.IndexByte("eEfFgG%", s.verb) >= 0 || s.precision >= 0 {
			return s.float(float64(v.Float()))
		}
		return s.int(v.BigInt())
	case starlark.Bool:
		if s.verb == 0 {
			return s.pad(v.String(), '<'), nil
		}
		n, _ := starlark.NumberToInt(starlark.MakeInt(map[starlark.Bool]int{true: 1}[v]))
		return s.int(n.BigInt())
	case starlark.Float:
		return s.float(float64(v))
	case starlark.String:
		if s.verb != 0 && s.verb != 's' {
			return "", fmt.Errorf("spec: got type %q for a string, want s", s.verb)
		}
		out := string(v)
		if r := []rune(out); s.precision >= 0 && len(r) > s.precision {
			out = string(r[:s.precision])
		}
		return s.pad(out, '<'), nil
	}
	if text == "" {
		return v.String(), nil
	}
	return "", fmt.Errorf("value: got %s, want a number or string", v.Type())
}

func (s spec) int(n *big.Int) (string, error) {
	base, prefix := 10, ""
	switch s.verb {
	case 0, 'd', 'n':
	case 'b':
		base, prefix = 2, "0b"
	case 'o':
		base, prefix = 8, "0o"
	case 'x', 'X':
		base, prefix = 16, "0x"
	case 'c':
		return s.pad(string(rune(n.Int64())), '<'), nil
	default:
		return "", fmt.Errorf("spec: got type %q for an int, want b, c, d, o, x, X, or one for floats", s.verb)
	}
	digits := new(big.Int).Abs(n).Text(base)
	if s.verb == 'X' {
		digits, prefix = strings.ToUpper(digits), "0X"
	}
	if !s.alt {
		prefix = ""
	}
	return s.number(n.Sign() < 0, prefix, s.grouped(digits)), nil
}

func (s spec) float(x float64) (string, error) {
	neg := math.Signbit(x) && !math.IsNaN(x)
	abs := math.Abs(x)
	p := s.precision
	if p < 0 {
		p = 6
	}
	var out string
	switch verb := s.verb; verb {
	case 0:
		if s.precision >= 0 {
			out = general(abs, s.precision, 'g')
			break
		}
		out = starlark.Float(abs).String()
	case 'e', 'E', 'f':
		out = strconv.FormatFloat(abs, verb, p, 64)
	case 'F':
		out = strings.ToUpper(strconv.FormatFloat(abs, 'f', p, 64))
	case 'g', 'G', 'n':
		out = general(abs, p, verb)
	case '%':
		out = strconv.FormatFloat(abs*100, 'f', p, 64) + "%"
	default:
		return "", fmt.Errorf("spec: got type %q for a float, want e, E, f, F, g, G or %%", verb)
	}
	if math.IsInf(x, 0) {
		out = "inf"
	} else if math.IsNaN(x) {
		out = "nan"
	}
	whole, frac, point := strings.Cut(out, ".")
	if point {
		frac = "." + frac
	}
	return s.number(neg, "", s.grouped(whole)+frac), nil
}

// general is C's %g: precision significant digits, no trailing zeros.
func general(x float64, p int, verb byte) string {
	if p == 0 {
		p = 1
	}
	e := strconv.FormatFloat(x, 'e', p-1, 64)
	_, expText, _ := strings.Cut(e, "e")
	exp, _ := strconv.Atoi(expText)
	out := e
	if exp >= -4 && exp < p {
		out = strconv.FormatFloat(x, 'f', p-1-exp, 64)
	}
	mantissa, tail, hasExp := strings.Cut(out, "e")
	if strings.Contains(mantissa, ".") {
		mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	}
	if hasExp {
		mantissa += "e" + tail
	}
	if verb == 'G' {
		return strings.ToUpper(mantissa)
	}
	return mantissa
}

func (s spec) grouped(digits string) string {
	if s.comma == 0 {
		return digits
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + string(s.comma) + digits[i:]
	}
	return digits
}

func (s spec) number(neg bool, prefix, digits string) string {
	sign := ""
	switch {
	case neg:
		sign = "-"
	case s.sign == '+' || s.sign == ' ':
		sign = string(s.sign)
	}
	if s.align == '=' {
		if n := s.width - len(sign) - len(prefix) - len([]rune(digits)); n > 0 {
			digits = strings.Repeat(string(s.fill), n) + digits
		}
		return sign + prefix + digits
	}
	return s.pad(sign+prefix+digits, '>')
}

func (s spec) pad(text string, def byte) string {
	n := s.width - len([]rune(text))
	if n <= 0 {
		return text
	}
	align := s.align
	if align == 0 {
		align = def
	}
	fill := string(s.fill)
	switch align {
	case '<':
		return text + strings.Repeat(fill, n)
	case '^':
		return strings.Repeat(fill, n/2) + text + strings.Repeat(fill, n-n/2)
	}
	return strings.Repeat(fill, n) + text
}
