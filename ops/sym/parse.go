package sym

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// Parse reads an expression: numbers, names, + - * // %, min(a,b,…), max(a,b,…),
// ceildiv(a,b) and parentheses, with the precedence of Python; "?" is the
// unknown.
func Parse(s string) (Expr, error) {
	p := &parser{text: s}
	e, err := p.sum()
	p.space()
	if err == nil && p.at < len(p.text) {
		err = fmt.Errorf("expression %q: got %q, want an operator", s, p.text[p.at:])
	}
	if err != nil {
		return Expr{}, err
	}
	return e, nil
}

// FromText reads what a file or user wrote for a size, which may be any text:
// what is no expression is a symbol of that name, and an empty text is unknown.
func FromText(s string) Expr {
	if e, ok := readTexts.get(s); ok {
		return e
	}
	e, err := Parse(s)
	if err != nil {
		e = Symbol(s)
	}
	if len(s) <= maxText {
		readTexts.put(s, e)
	}
	return e
}

// readTexts remembers texts that were read: a graph's sizes repeat a few of
// them, and a node that is built reads those of its inputs.
var readTexts textCache

// textCache is emptied when it is full. Expressions never change, so all share one.
type textCache struct {
	mu   sync.RWMutex
	read map[string]Expr
}

const maxCached = 1 << 10

func (c *textCache) get(s string) (Expr, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e, ok := c.read[s]
	return e, ok
}

func (c *textCache) put(s string, e Expr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.read == nil || len(c.read) == maxCached {
		c.read = make(map[string]Expr)
	}
	c.read[strings.Clone(s)] = e
}

// maxParse bounds the text that is read as an expression, and maxDepth how deep
// its parts are nested.
const (
	maxParse = 1 << 12
	maxDepth = 50
)

type parser struct {
	text  string
	at    int
	depth int
}

func (p *parser) errorf(format string, args ...any) error {
	return fmt.Errorf("expression %q: %w", p.text, fmt.Errorf(format, args...))
}

func (p *parser) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
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
	if len(p.text) > maxParse {
		return Expr{}, fmt.Errorf("expression: got %d bytes, want at most %d", len(p.text), maxParse)
	}
	e, err := p.product()
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
		case p.take("//"):
			f, err = p.factor()
			e = e.FloorDiv(f)
		case p.take("*"):
			f, err = p.factor()
			e = e.Mul(f)
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
	if p.depth++; p.depth > maxDepth {
		return Expr{}, p.errorf("nested deeper than %d", maxDepth)
	}
	defer func() { p.depth-- }()
	switch {
	case p.take("-"):
		e, err := p.factor()
		return e.Neg(), err
	case p.take("("):
		e, err := p.sum()
		if err == nil && !p.take(")") {
			err = p.errorf("a parenthesis is not closed")
		}
		return e, err
	case p.take("`"):
		return p.quotedName()
	}
	return p.word()
}

func (p *parser) quotedName() (Expr, error) {
	var name strings.Builder
	for {
		i := strings.IndexByte(p.text[p.at:], '`')
		if i < 0 {
			return Expr{}, p.errorf("a backquote is not closed")
		}
		name.WriteString(p.text[p.at : p.at+i])
		p.at += i + 1
		if !strings.HasPrefix(p.text[p.at:], "`") {
			break
		}
		name.WriteByte('`')
		p.at++
	}
	if name.Len() == 0 {
		return Expr{}, p.errorf("got an empty name")
	}
	return Symbol(name.String()), nil
}

func (p *parser) word() (Expr, error) {
	start := p.at
	if i := strings.IndexAny(p.text[start:], notInName); i >= 0 {
		p.at += i
	} else {
		p.at = len(p.text)
	}
	word := p.text[start:p.at]
	switch {
	case word == "":
		return Expr{}, p.errorf("got nothing at %d, want a number or a name", start)
	case word == "?":
		return Expr{}, nil
	case isDigits(word):
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return Expr{}, p.errorf("the number %s leaves 64 bits", word)
		}
		return Int(n), nil
	case isFunction(word):
		return p.call(word)
	}
	return Symbol(word), nil
}

// call reads the operands of a function; a name alone is a symbol.
func (p *parser) call(name string) (Expr, error) {
	if !p.take("(") {
		return Expr{}, p.errorf("%s wants operands in parentheses", name)
	}
	var args []Expr
	for len(args) == 0 || p.take(",") {
		e, err := p.sum()
		if err != nil {
			return e, err
		}
		args = append(args, e)
	}
	switch {
	case !p.take(")"):
		return Expr{}, p.errorf("a parenthesis is not closed")
	case name == "ceildiv" && len(args) != 2, len(args) < 2:
		return Expr{}, p.errorf("%s: got %d operands, want two", name, len(args))
	case name == "ceildiv":
		return args[0].CeilDiv(args[1]), nil
	case name == "min":
		return pick(minAtom, args...), nil
	}
	return pick(maxAtom, args...), nil
}
