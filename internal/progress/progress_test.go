package progress

import (
	"context"
	"slices"
	"testing"
)

// TestSinks asks who is told: the innermost sink, and none where there is none or
// where the work is a part of other work.
func TestSinks(t *testing.T) {
	var outer, inner []Event
	ctx := With(t.Context(), func(e Event) { outer = append(outer, e) })
	Report(ctx, "fold", 1, 3)
	Report(With(ctx, func(e Event) { inner = append(inner, e) }), "run", 2, 0)
	Report(Without(ctx), "run", 3, 3)
	Reporter(context.Background(), "run", 3)(1)
	if want := []Event{{"fold", 1, 3}}; !slices.Equal(outer, want) {
		t.Errorf("outer: got %v, want %v", outer, want)
	}
	if want := []Event{{"run", 2, 0}}; !slices.Equal(inner, want) {
		t.Errorf("inner: got %v, want %v", inner, want)
	}
}
