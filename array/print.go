package array

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What NumPy's default print options have.
const (
	printAll  = 1000 // elements up to which all are shown
	edgeItems = 3    // shown at each end of an axis that is cut
	lineWidth = 75
	precision = 8 // digits after the point, at most
)

// String returns the elements as NumPy 2 prints them, cut like there when there
// are many. The types that NumPy lacks are laid out as its own are, with the
// digits that ml_dtypes gives them.
func (a *Array) String() string {
	if err := a.Load(); err != nil {
		return fmt.Sprintf("<%s: %v>", a.Summary(), err)
	}
	switch {
	case a.Rank() == 0:
		return scalarText(a.dtype, a.At(0))
	case a.Size() == 0:
		return "[]"
	}
	p := &printer{a: a, cut: a.Size() > printAll}
	p.text = p.format()
	return p.axis(0, 0, " ", lineWidth)
}

// printer prints an array; text gives an element its common width.
type printer struct {
	a    *Array
	cut  bool
	text func(v any) string
}

// shown calls f with each element that is printed.
func (p *printer) shown(axis, base int, f func(v any)) {
	if axis == len(p.a.shape) {
		f(p.a.At(base))
		return
	}
	d := p.a.shape[axis]
	for k := 0; k < d; k++ {
		if k == edgeItems && p.cuts(d) {
			k = d - edgeItems
		}
		p.shown(axis+1, base*d+k, f)
	}
}

// cuts reports whether an axis of size d is shown by its ends alone.
func (p *printer) cuts(d int) bool { return p.cut && d > 2*edgeItems }

// format returns the function that prints an element, made for all that are
// shown.
func (p *printer) format() func(v any) string {
	switch dt := p.a.dtype; {
	case dt == String:
		return func(v any) string { return quoted(v.(string)) }
	case dt == Bool:
		return func(v any) string {
			if v.(bool) {
				return " True"
			}
			return "False"
		}
	case dt.IsComplex():
		return p.formatComplex()
	case dt.IsFloat():
		var vs []float64
		p.shown(0, 0, func(v any) { vs = append(vs, v.(float64)) })
		f := newFloatFormat(dt, vs, false)
		return func(v any) string { return f.text(v.(float64)) }
	}
	width := 0
	p.shown(0, 0, func(v any) { width = max(width, len(fmt.Sprint(v))) })
	return func(v any) string { return fmt.Sprintf("%*d", width, v) }
}

func (p *printer) formatComplex() func(v any) string {
	var re, im []float64
	p.shown(0, 0, func(v any) {
		c := v.(complex128)
		re, im = append(re, real(c)), append(im, imag(c))
	})
	part := partOf(p.a.dtype)
	fr, fi := newFloatFormat(part, re, false), newFloatFormat(part, im, true)
	return func(v any) string {
		c := v.(complex128)
		text := fi.text(imag(c))
		digits := strings.TrimRight(text, " ")
		return fr.text(real(c)) + digits + "j" + text[len(digits):]
	}
}

// partOf returns the type of the parts of a complex number.
func partOf(dt DType) DType {
	if dt == Complex64 {
		return Float32
	}
	return Float64
}

// axis prints one axis and those inside it. Lines hang by indent, and the
// brackets to come take their part of width.
func (p *printer) axis(axis, base int, indent string, width int) string {
	d := p.a.shape[axis]
	last := axis == len(p.a.shape)-1
	var items []string
	for k := 0; k < d; k++ {
		if k == edgeItems && p.cuts(d) {
			items = append(items, "...")
			k = d - edgeItems
		}
		if last {
			items = append(items, p.text(p.a.At(base*d+k)))
		} else {
			items = append(items, p.axis(axis+1, base*d+k, indent+" ", width-1))
		}
	}
	if last {
		return "[" + wrapLine(items, indent, width-1) + "]"
	}
	gap := strings.Repeat("\n", len(p.a.shape)-axis-1) + indent
	return "[" + strings.Join(items, gap) + "]"
}

// wrapLine joins items by spaces and breaks lines that would grow beyond width;
// the indent that the first line has already counts.
func wrapLine(items []string, indent string, width int) string {
	var lines []string
	line, col := "", len(indent)
	for _, s := range items {
		n := utf8.RuneCountInString(s)
		if col+n > width && line != "" {
			lines = append(lines, strings.TrimRight(line, " "))
			line, col = "", len(indent)
		}
		line, col = line+s+" ", col+n+1
	}
	lines = append(lines, line[:len(line)-1])
	return strings.Join(lines, "\n"+indent)
}

// scalarText returns the element of an array of rank 0, as NumPy prints its
// scalars.
func scalarText(dt DType, v any) string {
	switch v := v.(type) {
	case float64:
		return scalarFloat(dt, v, ".0")
	case bool:
		if v {
			return "True"
		}
		return "False"
	case complex128:
		return scalarComplex(partOf(dt), real(v), imag(v))
	}
	return fmt.Sprint(v)
}

// quoted returns a string as Python writes it.
func quoted(s string) string {
	quote := '\''
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	b := []byte(string(quote))
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			b = fmt.Appendf(b, `\x%02x`, s[i]) // a byte that is no UTF-8
		case r == quote || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case unicode.IsPrint(r):
			b = utf8.AppendRune(b, r)
		case r < 0x100:
			b = fmt.Appendf(b, `\x%02x`, r)
		case r < 0x10000:
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = fmt.Appendf(b, `\U%08x`, r)
		}
	}
	return string(append(b, byte(quote)))
}
