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
	"sort"
	"strings"
	"unicode/utf8"
)

// maxShown is how many equally near candidates a hint lists.
const maxShown = 5

// Nearest returns the candidates nearest to the word, sorted, or nil when none
// is near. The word itself is never among them.
func Nearest(word string, candidates []string) []string {
	folded := fold(word)
	limit := max(1, utf8.RuneCountInString(word)/3)
	if len(folded) < 2 {
		limit = 0 // any other letter would be near
	}
	var best []string
	for _, c := range candidates {
		if c == word || c == "" {
			continue
		}
		d := distance(folded, fold(c), limit)
		if d > limit {
			continue
		}
		if d < limit {
			limit, best = d, best[:0]
		}
		best = append(best, c)
	}
	sort.Strings(best)
	return compact(best)
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

// fold removes what people get wrong without noticing: case and underscores.
func fold(s string) []rune {
	return []rune(strings.ReplaceAll(strings.ToLower(s), "_", ""))
}

func compact(sorted []string) []string {
	out := sorted[:0]
	for i, s := range sorted {
		if i == 0 || s != sorted[i-1] {
			out = append(out, s)
		}
	}
	return out
}

// distance returns the Damerau-Levenshtein distance (adjacent swaps count one)
// of a and b, or limit+1 when it is larger than limit.
func distance(a, b []rune, limit int) int {
	if diff := len(a) - len(b); diff > limit || -diff > limit {
		return limit + 1
	}
	prev2 := make([]int, len(b)+1)
	prev := make([]int, len(b)+1)
	cur := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		low := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, prev2[j-2]+1)
			}
			cur[j] = d
			low = min(low, d)
		}
		if low > limit {
			return limit + 1
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}
