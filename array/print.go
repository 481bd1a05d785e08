package array

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

const (
	printAll  = 1000 // elements up to which all are shown
	edgeItems = 3    // shown at each end of an axis that is cut
	lineWidth = 75
	precision = 8
)

// String returns the elements as NumPy 2 prints them, cut like there when
// there are many.
func (a *Array) String() string {
	if err := a.Load(); err != nil {
		return fmt.Sprintf("<%s: %v>", a.Summary(), err)
	}
	p := &printer{a: a, cut: a.Size() > printAll}
	p.measure()
	if len(a.shape) == 0 {
		return strings.TrimLeft(p.text(a.At(0)), " ")
	}
	if a.Size() == 0 {
		return "[]"
	}
	return p.axis(0, 0, " ")
}

type printer struct {
	a     *Array
	cut   bool
	exp   bool // floats in scientific notation
	left  int  // widest part before the point
	right int  // digits after the point
	width int
}

// shown calls f with the row-major index of each element that is printed.
func (p *printer) shown(axis, base int, f func(i int)) {
	if axis == len(p.a.shape) {
		f(base)
		return
	}
	d := p.a.shape[axis]
	for k := range d {
		if p.cut && d > 2*edgeItems && k >= edgeItems && k < d-edgeItems {
			continue
		}
		p.shown(axis+1, base*d+k, f)
	}
}

// measure finds the widths that all printed elements share.
func (p *printer) measure() {
	if p.a.Size() == 0 {
		return
	}
	if p.a.dtype.IsFloat() {
		p.measureFloats()
	}
	p.shown(0, 0, func(i int) { p.width = max(p.width, len([]rune(p.text(p.a.At(i))))) })
}

func (p *printer) measureFloats() {
	least, most := math.Inf(1), 0.0
	p.shown(0, 0, func(i int) {
		v := math.Abs(p.a.At(i).(float64))
		if v != 0 && !math.IsInf(v, 0) && !math.IsNaN(v) {
			least, most = min(least, v), max(most, v)
		}
	})
	p.exp = most >= 1e8 || most > 0 && (least < 1e-4 || most/least > 1000) && (least < 1e-4 || most >= 1e8 || most/least > 1000)
	p.shown(0, 0, func(i int) {
		v := p.a.At(i).(float64)
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return
		}
		whole, frac, _ := strings.Cut(p.digits(v), ".")
		frac, _, _ = strings.Cut(frac, "e")
		p.left, p.right = max(p.left, len(whole)), max(p.right, len(frac))
	})
}

// digits returns the shortest text of v, at most precision places after the
// point, trailing zeros cut.
func (p *printer) digits(v float64) string {
	bits := 64
	if p.a.dtype != Float64 {
		bits = 32
	}
	verb := byte('f')
	if p.exp {
		verb = 'e'
	}
	short := strconv.FormatFloat(p.shortest(v), verb, -1, bits)
	mantissa, exponent, hasExp := strings.Cut(short, "e")
	if _, frac, _ := strings.Cut(mantissa, "."); len(frac) > precision {
		short = strconv.FormatFloat(v, verb, precision, bits)
		mantissa, exponent, hasExp = strings.Cut(short, "e")
		mantissa = strings.TrimRight(mantissa, "0")
	}
	if !strings.Contains(mantissa, ".") {
		mantissa += "."
	}
	if hasExp {
		return mantissa + "e" + exponent
	}
	return mantissa
}

// shortest returns the number of fewest digits that rounds to v in a float type
// narrower than float32; others are left to strconv.
func (p *printer) shortest(v float64) float64 {
	if p.a.dtype.Bits() >= 32 {
		return v
	}
	want := floatBits(p.a.dtype, v, true)
	for digits := range 6 {
		x, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', digits, 64), 64)
		if err == nil && floatBits(p.a.dtype, x, true) == want {
			return x
		}
	}
	return v
}

func (p *printer) text(v any) string {
	switch v := v.(type) {
	case float64:
		return p.floatText(v)
	case bool:
		if v {
			return "True"
		}
		return "False"
	case string:
		return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`, "\x1b", `\x1b`).Replace(v) + "'"
	case complex128:
		return strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(v), "("), "i)") + "j"
	}
	return fmt.Sprint(v)
}

func (p *printer) floatText(v float64) string {
	switch {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	}
	text := p.digits(v)
	if len(p.a.shape) == 0 {
		if !p.exp {
			return strings.TrimSuffix(text, ".") + map[bool]string{true: ".0"}[strings.HasSuffix(text, ".")]
		}
		return text
	}
	if p.exp { // NumPy pads an exponent form with the true digits
		text = strconv.FormatFloat(v, 'e', p.right, 64)
		if p.right == 0 {
			text = strings.Replace(text, "e", ".e", 1)
		}
		whole, _, _ := strings.Cut(text, ".")
		return strings.Repeat(" ", max(0, p.left-len(whole))) + text
	}
	whole, frac, _ := strings.Cut(text, ".")
	return strings.Repeat(" ", p.left-len(whole)) + whole + "." + frac + strings.Repeat(" ", p.right-len(frac))
}

// axis prints one axis and those inside it.
func (p *printer) axis(axis, base int, indent string) string {
	d := p.a.shape[axis]
	last := axis == len(p.a.shape)-1
	var items []string
	for k := 0; k < d; k++ {
		if p.cut && d > 2*edgeItems && k == edgeItems {
			items = append(items, "...")
			k = d - edgeItems
		}
		if !last {
			items = append(items, p.axis(axis+1, base*d+k, indent+" "))
			continue
		}
		text := p.text(p.a.At(base*d + k))
		items = append(items, strings.Repeat(" ", p.width-len([]rune(text)))+text)
	}
	if last {
		return "[" + wrapLine(items, indent) + "]"
	}
	gap := strings.Repeat("\n", len(p.a.shape)-axis-1) + indent
	return "[" + strings.Join(items, gap) + "]"
}

// wrapLine joins items by spaces and breaks lines that grow too long.
func wrapLine(items []string, indent string) string {
	var b strings.Builder
	col := len(indent)
	for i, s := range items {
		n := len([]rune(s))
		switch {
		case i == 0:
		case col+1+n >= lineWidth:
			b.WriteString("\n" + indent)
			col = len(indent)
		default:
			b.WriteByte(' ')
			col++
		}
		b.WriteString(s)
		col += n
	}
	return b.String()
}
