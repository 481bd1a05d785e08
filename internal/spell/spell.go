// Package spell finds the names that a misspelt word most likely meant.
//
// It is the one source of the hints in error messages: Nearest gives the
// candidates, Hint their text. A candidate is near when few letters must be
// inserted, dropped, replaced or swapped with their neighbour to reach it, at
// most one for each three letters of the word; case and underscores count for
// nothing. All candidates that are equally near are given, since a guess
// between them would be wrong half the time.
package spell

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxShown is how many equally near candidates a hint lists.
const maxShown = 5

// Nearest returns the candidates nearest to the word, sorted, or nil when none
// is near. The word itself is never among them. Candidates of another length
// are passed over at a glance, so a hundred thousand of them are no matter.
func Nearest(word string, candidates []string) []string {
	m := measure{word: fold(nil, word, len(word))}
	limit := max(1, utf8.RuneCountInString(word)/3)
	if len(m.word) < 2 {
		limit = 0 // any other letter would be near
	}
	var best []string
	for _, c := range candidates {
		if c == word || c == "" {
			continue
		}
		d := m.distance(c, limit)
		if d > limit {
			continue
		}
		if d < limit {
			limit, best = d, best[:0]
		}
		best = append(best, c)
	}
	sort.Strings(best)
	return slices.Compact(best)
}

// Hint returns ` (did you mean "x"?)` for the candidates nearest to the word,
// or "" when none is near.
func Hint(word string, candidates []string) string {
	return hint(Nearest(word, candidates), func(s string) string { return fmt.Sprintf("%q", s) })
}

// HintName is Hint for names that stand bare in a script, such as variables.
func HintName(word string, candidates []string) string {
	return hint(Nearest(word, candidates), func(s string) string { return s })
}

func hint(near []string, quote func(string) string) string {
	if len(near) == 0 {
		return ""
	}
	return " (did you mean " + List(near, quote) + "?)"
}

// List joins names as "a, b or c"; beyond a handful it counts the rest.
func List(names []string, quote func(string) string) string {
	shown := make([]string, 0, maxShown+1)
	for i, n := range names {
		if i == maxShown {
			shown = append(shown, fmt.Sprintf("%d others", len(names)-maxShown))
			break
		}
		shown = append(shown, quote(n))
	}
	last := len(shown) - 1
	if last == 0 {
		return shown[0]
	}
	return strings.Join(shown[:last], ", ") + " or " + shown[last]
}

// fold appends to buf the letters of s without what people get wrong and do not
// notice: case and underscores. It stops at the first letter beyond most.
func fold(buf []rune, s string, most int) []rune {
	for _, r := range s {
		switch {
		case len(buf) > most:
			return buf
		case r == '_':
		case r < utf8.RuneSelf && (r < 'A' || r > 'Z'):
			buf = append(buf, r)
		default:
			buf = append(buf, unicode.ToLower(r))
		}
	}
	return buf
}

// measure tells how far candidates are from one word. It keeps its memory from
// one candidate to the next.
type measure struct {
	word             []rune // folded
	other            []rune
	prev2, prev, cur []int // rows of the table of distances
}

// distance returns how many letters of the candidate must be inserted, dropped,
// replaced or swapped with their neighbour (each letter at most once: the optimal
// string alignment distance) to get the word, or limit+1 when more than limit.
func (m *measure) distance(candidate string, limit int) int {
	if len(candidate) < len(m.word)-limit {
		return limit + 1 // even if each byte were a letter
	}
	m.other = fold(m.other[:0], candidate, len(m.word)+limit)
	a, b := m.word, m.other
	if diff := len(a) - len(b); diff > limit || -diff > limit {
		return limit + 1
	}
	m.rows(len(b) + 1)
	for i := 1; i <= len(a); i++ {
		if low := m.row(i); low > limit {
			return limit + 1
		}
		m.prev2, m.prev, m.cur = m.prev, m.cur, m.prev2
	}
	if d := m.prev[len(b)]; d <= limit {
		return d
	}
	return limit + 1
}

// rows makes three rows of n numbers; prev becomes the row of the empty word.
func (m *measure) rows(n int) {
	if cap(m.cur) < n {
		all := make([]int, 3*n)
		m.prev2, m.prev, m.cur = all[:n:n], all[n:2*n:2*n], all[2*n:]
	}
	m.prev2, m.prev, m.cur = m.prev2[:n], m.prev[:n], m.cur[:n]
	for j := range m.prev {
		m.prev[j] = j
	}
}

// row fills in the distances of the word's first i letters and returns the least.
func (m *measure) row(i int) int {
	a, b := m.word, m.other
	m.cur[0] = i
	low := i
	for j := 1; j <= len(b); j++ {
		cost := 1
		if a[i-1] == b[j-1] {
			cost = 0
		}
		d := min(m.prev[j]+1, m.cur[j-1]+1, m.prev[j-1]+cost)
		if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
			d = min(d, m.prev2[j-2]+1)
		}
		m.cur[j] = d
		low = min(low, d)
	}
	return low
}
