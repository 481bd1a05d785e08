package ir

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestNamesAgainstASet draws names of a few prefixes, given and made up, and holds the
// index against a plain set.
func TestNamesAgainstASet(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	prefixes := []string{"a", "a_1", "", "_", "a_01", "é"}
	given := []string{"a_0", "a_00", "a_5", "a_05", "_3", "__0", "a_1_2", "a_9999999999", "a_", "a", "é_1", "a_-1", "a_+1"}
	x, set := newNames(), map[string]bool{}
	for range 2000 {
		if rng.IntN(4) == 0 {
			name := given[rng.IntN(len(given))]
			if rng.IntN(2) == 0 {
				name = fmt.Sprintf("%s_%d", prefixes[rng.IntN(len(prefixes))], rng.IntN(1000))
			}
			x.take(name)
			set[name] = true
			continue
		}
		prefix := prefixes[rng.IntN(len(prefixes))]
		want := ""
		for n := 0; want == "" || set[want]; n++ {
			want = fmt.Sprintf("%s_%d", prefix, n)
		}
		if got := x.fresh(prefix); got != want {
			t.Fatalf("fresh(%q): got %q, want %q", prefix, got, want)
		}
		set[want] = true
	}
	for name := range set {
		if !x.has(name) {
			t.Errorf("has(%q): got false, want true", name)
		}
	}
	for _, name := range given {
		if x.has(name) != set[name] {
			t.Errorf("has(%q): got %v, want %v", name, x.has(name), set[name])
		}
	}
	if len(x.taken) > 700 {
		t.Errorf("got %d entries of their own for %d names, want only those that were given", len(x.taken), len(set))
	}
}
