package par

import (
	"sync/atomic"
	"testing"
)

func TestForCoversEachOnce(t *testing.T) {
	for _, n := range []int{0, 1, 7, 1000} {
		seen := make([]atomic.Int32, n)
		For(n, 3, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				seen[i].Add(1)
			}
		})
		for i := range seen {
			if got := seen[i].Load(); got != 1 {
				t.Errorf("n=%d: iteration %d ran %d times, want once", n, i, got)
			}
		}
	}
}

func TestForRaisesPanics(t *testing.T) {
	defer func() {
		if r := recover(); r != "boom" {
			t.Errorf("recovered %v, want boom", r)
		}
	}()
	For(100, 1, func(lo, _ int) {
		if lo == 0 {
			panic("boom")
		}
	})
	t.Error("For returned")
}
