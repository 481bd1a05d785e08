package ops

import "testing"

// BenchmarkRows compares the loops over rows with a call for each element.
func BenchmarkRows(b *testing.B) {
	x, y, out := make([]float32, 1<<14), make([]float32, 1<<14), make([]float32, 1<<14)
	slow := each(func(a, b float32) float32 { return max(a, b) })
	b.Run("loop", func(b *testing.B) {
		for b.Loop() {
			maxLoop(x, y, out)
		}
	})
	b.Run("calls", func(b *testing.B) {
		for b.Loop() {
			slow(x, y, out)
		}
	})
}

// TestRepeatedElements gives rows32 single elements on either side.
func TestRepeatedElements(t *testing.T) {
	n := 2*repeats + 7
	long, out := make([]float32, n), make([]float32, n)
	for i := range long {
		long[i] = float32(i)
	}
	for _, tc := range []struct {
		a, b []float32
		want func(i int) float32
	}{
		{long, long, func(int) float32 { return 0 }},
		{long, []float32{5}, func(i int) float32 { return float32(i) - 5 }},
		{[]float32{5}, long, func(i int) float32 { return 5 - float32(i) }},
		{[]float32{5}, []float32{3}, func(int) float32 { return 2 }},
	} {
		rows32(subLoop)(tc.a, tc.b, out)
		for i, v := range out {
			if v != tc.want(i) {
				t.Fatalf("element %d: got %v, want %v", i, v, tc.want(i))
			}
		}
	}
}
