package spell

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestHint(t *testing.T) {
	ops := []string{"Add", "And", "Conv", "ConvTranspose", "LeakyRelu", "Relu", "Selu", "Elu", "Celu"}
	for _, tc := range []struct {
		name, word string
		from       []string
		want       string
	}{
		{"one letter replaced", "Comv", ops, ` (did you mean "Conv"?)`},
		{"letters swapped", "graph_nmae", []string{"graph_name", "graph"}, ` (did you mean "graph_name"?)`},
		{"case counts for nothing", "leakyrelu", ops, ` (did you mean "LeakyRelu"?)`},
		{"underscores count for nothing", "rightarm", []string{"right_arm", "right_art"}, ` (did you mean "right_arm"?)`},
		{"equally near ones are all given", "Delu", ops, ` (did you mean "Celu", "Elu", "Relu" or "Selu"?)`},
		{"nothing near", "Softmax", ops, ""},
		{"the word itself is no hint", "Add", []string{"Add"}, ""},
		{"a single letter hints at nothing", "x", []string{"y", "z"}, ""},
		{"a single letter in the other case", "x", []string{"X", "y"}, ` (did you mean "X"?)`},
		{"duplicates are given once", "Comv", []string{"Conv", "Conv"}, ` (did you mean "Conv"?)`},
		{"three letters allow one error", "Ads", []string{"Add", "Sum"}, ` (did you mean "Add"?)`},
		{"many are counted", "n1x", []string{"n1a", "n1b", "n1c", "n1d", "n1e", "n1f", "n1g"},
			` (did you mean "n1a", "n1b", "n1c", "n1d", "n1e" or 2 others?)`},
		{"empty word", "", ops, ""},
		{"no candidates", "Add", nil, ""},
		{"letters beyond ASCII", "größe", []string{"grösse", "größen"}, ` (did you mean "größen"?)`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Hint(tc.word, tc.from); got != tc.want {
				t.Errorf("Hint(%q) = %q, want %q", tc.word, got, tc.want)
			}
		})
	}
	if got, want := HintName("grahp", []string{"graph", "node"}), " (did you mean graph?)"; got != want {
		t.Errorf("HintName = %q, want %q", got, want)
	}
}

func TestDistance(t *testing.T) {
	for _, tc := range []struct {
		a, b        string
		limit, want int
	}{
		{"abc", "abc", 3, 0}, {"abc", "acb", 3, 1}, {"abc", "", 3, 3}, {"", "ab", 3, 2},
		{"kitten", "sitting", 5, 3}, {"kitten", "sitting", 2, 3}, {"ab", "ba", 1, 1}, {"abcdef", "a", 2, 3},
	} {
		m := measure{word: []rune(tc.a)}
		if got := m.distance(tc.b, tc.limit); got != tc.want {
			t.Errorf("distance(%q, %q, %d) = %d, want %d", tc.a, tc.b, tc.limit, got, tc.want)
		}
	}
}

// TestNearestAll holds Nearest, which keeps its memory and looks at lengths first,
// against the plain recursive definition of the distance.
func TestNearestAll(t *testing.T) {
	letters := []rune("abÉ_")
	var words []string
	for n := range 4 * 4 * 4 * 4 {
		w := ""
		for ; n > 0; n /= 4 {
			w += string(letters[n%4])
		}
		words = append(words, w)
	}
	for _, word := range words {
		want := slowNearest(word, words)
		if got := Nearest(word, words); !slices.Equal(got, want) {
			t.Fatalf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func slowNearest(word string, candidates []string) []string {
	plain := func(s string) []rune { return []rune(strings.ReplaceAll(strings.ToLower(s), "_", "")) }
	limit := max(1, len([]rune(word))/3)
	if len(plain(word)) < 2 {
		limit = 0
	}
	for d := 0; d <= limit; d++ {
		var near []string
		for _, c := range candidates {
			if c != word && c != "" && slowDistance(plain(word), plain(c)) == d {
				near = append(near, c)
			}
		}
		if near != nil {
			slices.Sort(near)
			return slices.Compact(near)
		}
	}
	return nil
}

func slowDistance(a, b []rune) int {
	if len(a) == 0 || len(b) == 0 {
		return len(a) + len(b)
	}
	x, y := len(a)-1, len(b)-1
	cost := 1
	if a[x] == b[y] {
		cost = 0
	}
	d := min(slowDistance(a[:x], b)+1, slowDistance(a, b[:y])+1, slowDistance(a[:x], b[:y])+cost)
	if x > 0 && y > 0 && a[x] == b[y-1] && a[x-1] == b[y] {
		d = min(d, slowDistance(a[:x-1], b[:y-1])+1)
	}
	return d
}

func BenchmarkNearest100k(b *testing.B) {
	names := make([]string, 100_000)
	for i := range names {
		names[i] = fmt.Sprintf("%s/Conv_%d", strings.Repeat("layer", 1+i%9), i)
	}
	for b.Loop() {
		Nearest("layerlayer/Comv_7711", names)
	}
}
