package format

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/starlarkgs/starlarkgs/internal/starlex"
)

// mask writes a script in the terms of the library: each string and each number
// with a point is a short string, each decorator a comment above its def, and each while a for loop with a variable
// of a name that the script does not have. Tabs before a line become spaces.
type mask struct {
	*starlex.Lexer
	name  string
	mark  string // begins what stands for a string or decorator
	loop  string // "for NAME in", which stands for while
	out   strings.Builder
	texts []string // what the marks stand for
	from  int      // of the text that is not written yet
	// decorated is set between a decorator and its def, where empty lines would
	// part the comment from the def.
	decorated bool
}

// maskSource masks a text whose lines end in \n.
func maskSource(name, src string) (*mask, error) {
	m := &mask{Lexer: starlex.New(src), name: name, mark: "@", loop: "for while_ in"}
	for strings.Contains(src, m.mark) {
		m.mark = "@" + strconv.Itoa(len(m.mark)) + m.mark
	}
	for strings.Contains(src, m.loop[len("for "):len(m.loop)-len(" in")]) {
		m.loop = strings.TrimSuffix(m.loop, " in") + "_ in"
	}
	for t := m.Next(); t.Kind != starlex.EOF; t = m.Next() {
		m.gap(t.Off)
		switch {
		case t.Kind == starlex.Op && src[t.Off] == '@':
			if err := m.decorator(); err != nil {
				return nil, err
			}
			continue
		case t.Kind == starlex.String, t.Kind == starlex.Number && strings.Contains(m.Text(t), "."): // 1.e5 too
			m.out.WriteString(`"` + m.stand(m.Text(t)) + `"`)
		case t.Kind == starlex.Newline:
			m.out.WriteByte('\n')
		case t.Kind == starlex.Name && t.First && m.Text(t) == "while":
			m.out.WriteString(m.loop)
		default:
			m.out.WriteString(m.Text(t))
		}
		m.from, m.decorated = t.End, false
	}
	m.gap(len(src))
	return m, nil
}

// stand returns the mark that stands for a text.
func (m *mask) stand(text string) string {
	m.texts = append(m.texts, text)
	return fmt.Sprintf("%s%d@", m.mark, len(m.texts)-1)
}

// gap writes what stands before the next token: spaces, comments, ends of lines.
func (m *mask) gap(to int) {
	parts := strings.Split(m.Src[m.from:to], "\n")
	fresh := m.from == 0 || m.Src[m.from-1] == '\n'
	for i, part := range parts {
		if fresh || i > 0 {
			part = untab(part)
			if m.decorated && i < len(parts)-1 && strings.TrimSpace(part) == "" {
				continue
			}
		}
		m.out.WriteString(part)
		if i < len(parts)-1 {
			m.out.WriteByte('\n')
		}
	}
}

// untab replaces the tabs before a line as Starlark counts them.
func untab(line string) string {
	col := 0
	for i := range len(line) {
		switch line[i] {
		case ' ':
			col++
		case '\t':
			col += 8 - col%8
		default:
			return strings.Repeat(" ", col) + line[i:]
		}
	}
	return strings.Repeat(" ", col)
}

// decorator writes the comment that stands for a decorator, whose expression is
// laid out as a statement of its own. What it holds stays masked.
func (m *mask) decorator() error {
	first := m.Next()
	at := first.Off
	end := at
	for t := first; t.Kind != starlex.Newline && t.Kind != starlex.EOF; t = m.Next() {
		end = t.End
	}
	comment := strings.TrimRight(m.Src[end:m.Off], "\n")
	text, err := round(m.name, m.Src[at:end]+comment+"\n")
	if err != nil {
		return err
	}
	m.out.WriteString("#" + m.stand("@"+strings.TrimRight(text, "\n")) + "\n")
	m.from, m.decorated = m.Off, true
	return nil
}

// unmask puts back what the marks stand for.
func (m *mask) unmask(text string) string {
	var out strings.Builder
	l := starlex.New(text)
	from, condition := 0, 0 // the column of a while's condition, in its lines
	for t := l.Next(); ; t = l.Next() {
		gap := text[from:t.Off]
		if condition > 0 && t.Col >= condition && strings.Contains(gap, "\n") {
			// It is aligned to what began behind the longer for.
			gap = gap[:len(gap)-len(m.loop)+len("while")]
		}
		m.unmaskComments(&out, gap)
		from = t.End
		if t.Kind == starlex.Newline {
			condition = 0
		}
		switch s := l.Text(t); {
		case t.Kind == starlex.EOF:
			return out.String()
		case t.Kind == starlex.String:
			out.WriteString(requote(m.texts[m.index(strings.Trim(s, `"`))]))
		case t.First && strings.HasPrefix(text[t.Off:], m.loop+" "):
			out.WriteString("while")
			l.To(t.Off + len(m.loop))
			from, condition = l.Off, l.Col+1
		default:
			out.WriteString(s)
		}
	}
}

// index returns which text a mark stands for; -1 for none.
func (m *mask) index(s string) int {
	digits, ok := strings.CutPrefix(s, m.mark)
	if !ok {
		return -1
	}
	i, err := strconv.Atoi(strings.TrimSuffix(digits, "@"))
	if err != nil {
		return -1
	}
	return i
}

// unmaskComments writes spaces and comments, with decorators for the comments
// that stand for them, indented as those are.
func (m *mask) unmaskComments(out *strings.Builder, gap string) {
	for i, line := range strings.Split(gap, "\n") {
		if i > 0 {
			out.WriteByte('\n')
		}
		comment := strings.TrimLeft(line, " ")
		if k := m.index(strings.TrimPrefix(comment, "#")); k >= 0 {
			line = indent(m.texts[k], line[:len(line)-len(comment)])
		}
		out.WriteString(line)
	}
}

// indent puts by before each line but for those inside a string.
func indent(text, by string) string {
	var out strings.Builder
	l := starlex.New(text)
	from := 0
	for {
		t := l.Next()
		for i, part := range strings.Split(text[from:t.Off], "\n") {
			if i > 0 {
				out.WriteString("\n" + by)
			}
			out.WriteString(part)
		}
		if t.Kind == starlex.EOF {
			return by + out.String()
		}
		out.WriteString(l.Text(t))
		from = t.End
	}
}

// requote returns a string with double quotes, when that needs no change of
// what stands between them.
func requote(s string) string {
	prefix := strings.IndexByte(s, '\'')
	if prefix < 0 || prefix > 0 && strings.Contains(s[:prefix], `"`) || strings.ContainsAny(s[prefix:], "\"\\") {
		return s
	}
	quote := "'"
	if strings.HasPrefix(s[prefix:], "'''") {
		quote = "'''"
	}
	body := strings.TrimSuffix(s[prefix+len(quote):], quote)
	if strings.Contains(body, "'") && quote == "'''" && strings.HasSuffix(body, "'") {
		return s
	}
	double := strings.ReplaceAll(quote, "'", `"`)
	return s[:prefix] + double + body + double
}
