package sym

import (
	"fmt"
	"strconv"
	"strings"
)

// Parse reads an expression: numbers, names, + - * // %, min(a,b), max(a,b) and
// parentheses. A text that is no expression is a symbol of that name, since a
// model's dim_param may hold anything.
func Parse(s string) (Expr, error) {
	p := &parser{text: s}
	e, err := p.sum()
	p.space()
	if err == nil && p.at < len(p.text) {
		err = fmt.Errorf("expression %q: got %q, want an operator", s, p.text[p.at:])
	}
	return e, err
}

// FromText is Parse, where what does not parse is a symbol.
func FromText(s string) Expr {
	if e, err := Parse(s); err == nil {
		return e
	}
	return Symbol(s)
}

type parser struct {
	text  string
	at    int
	depth int
}

func (p *parser) space() {
	for p.at < len(p.text) && p.text[p.at] == ' ' {
		p.at++
	}
}

func (p *parser) take(s string) bool {
	p.space()
	if strings.HasPrefix(p.text[p.at:], s) {
		p.at += len(s)
		return true
	}
	return false
}

func (p *parser) sum() (Expr, error) {
	if p.depth++; p.depth > 50 {
		return Expr{}, fmt.Errorf("expression %q: nested deeper than 50", p.text)
	}
	defer func() { p.depth-- }()
	var e Expr
	var err error
	if p.take("-") {
		if e, err = p.product(); err == nil {
			e = e.Neg()
		}
	} else {
		e, err = p.product()
	}
	for err == nil {
		var f Expr
		switch {
		case p.take("+"):
			f, err = p.product()
			e = e.Add(f)
		case p.take("-"):
			f, err = p.product()
			e = e.Sub(f)
		default:
			return e, nil
		}
	}
	return e, err
}

func (p *parser) product() (Expr, error) {
	e, err := p.factor()
	for err == nil {
		var f Expr
		switch {
		case p.take("*"):
			f, err = p.factor()
			e = e.Mul(f)
		case p.take("//"):
			f, err = p.factor()
			e = e.FloorDiv(f)
		case p.take("%"):
			f, err = p.factor()
			e = e.Mod(f)
		default:
			return e, nil
		}
	}
	return e, err
}

func (p *parser) factor() (Expr, error) {
	p.space()
	if p.take("(") {
		e, err := p.sum()
		if err == nil && !p.take(")") {
			err = fmt.Errorf("expression %q: a parenthesis is not closed", p.text)
		}
		return e, err
	}
	start := p.at
	for p.at < len(p.text) && !strings.ContainsRune("+-*/%(), ", rune(p.text[p.at])) {
		p.at++
	}
	word := p.text[start:p.at]
	switch n, err := strconv.ParseInt(word, 10, 64); {
	case word == "":
		return Expr{}, fmt.Errorf("expression %q: got nothing at %d, want a number or a name", p.text, start)
	case err == nil:
		return Int(n), nil
	case (word == "min" || word == "max") && p.take("("):
		return p.pick(word)
	}
	return Symbol(word), nil
}

func (p *parser) pick(name string) (Expr, error) {
	a, err := p.sum()
	if err != nil {
		return a, err
	}
	if !p.take(",") {
		return a, fmt.Errorf("expression %q: %s wants two operands", p.text, name)
	}
	b, err := p.sum()
	if err == nil && !p.take(")") {
		err = fmt.Errorf("expression %q: a parenthesis is not closed", p.text)
	}
	if name == "min" {
		return a.Min(b), err
	}
	return a.Max(b), err
}
