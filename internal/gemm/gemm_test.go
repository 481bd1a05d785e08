package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	goruntime "runtime"
	"testing"
)

func random(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = r.Float32()*2 - 1
	}
	return x
}

// exact computes c + a·b in float64.
func exact(m, n, k int, a, b, c []float32) []float64 {
	out := make([]float64, m*n)
	for i := range m {
		for j := range n {
			sum := float64(c[i*n+j])
			for p := range k {
				sum += float64(a[i*k+p]) * float64(b[p*n+j])
			}
			out[i*n+j] = sum
		}
	}
	return out
}

func near(t *testing.T, what string, got []float32, want []float64, k int) {
	t.Helper()
	for i, v := range got {
		if d := math.Abs(float64(v) - want[i]); !(d <= 1e-6*float64(k+4)) {
			t.Fatalf("%s: element %d: got %v, want %v", what, i, v, want[i])
		}
	}
}

func turned(x []float32, rows, cols int) []float32 {
	out := make([]float32, len(x))
	transpose(out, x, rows, cols)
	return out
}

func TestAdd(t *testing.T) {
	before := goruntime.GOMAXPROCS(3) // for the race detector
	defer goruntime.GOMAXPROCS(before)
	ms, ns, ks := []int{1, 2, 3, 4, 7, 8, 9, 17, 40}, []int{1, 3, 23, 24, 25, 31, 32, 33, 128, 129, 700}, []int{1, 2, 7, 8, 64, 256, 257, 600}
	if testing.Short() {
		ms, ns, ks = []int{3, 9, 40}, []int{2, 33, 600}, []int{7, 257}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, u := range kernels {
		for _, m := range ms {
			for _, n := range ns {
				for _, k := range ks {
					a, b, c := random(r, m*k), random(r, k*n), random(r, m*n)
					want := exact(m, n, k, a, b, c)
					what := fmt.Sprintf("kernel %d×%d, m = %d, n = %d, k = %d", u.mr, u.nr, m, n, k)
					check := func(how string, f func(c []float32)) {
						got := append([]float32{}, c...)
						f(got)
						near(t, what+", "+how, got, want, k)
					}
					check("panels", func(c []float32) { addPanels(u, m, n, k, a, false, RowsOf(b, n), c) })
					if u.nr != kernels[0].nr {
						continue
					}
					check("Add", func(c []float32) { Add(m, n, k, a, RowsOf(b, n), c) })
					check("AddTransposed", func(c []float32) { AddTransposed(m, n, k, turned(a, m, k), RowsOf(b, n), c) })
					check("Mul of transposes", func(c []float32) { Mul(true, true, m, n, k, turned(a, m, k), turned(b, k, n), c) })
					check("AddDots", func(c []float32) { AddDots(m, n, k, a, turned(b, k, n), c) })
				}
			}
		}
	}
}

// TestSameBits runs one product on several numbers of processors.
func TestSameBits(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, size := range [][3]int{{40, 700, 300}, {300, 40, 700}, {1, 5000, 300}} {
		m, n, k := size[0], size[1], size[2]
		a, b := random(r, m*k), random(r, k*n)
		var want []float32
		for _, procs := range []int{1, 2, 5} {
			before := goruntime.GOMAXPROCS(procs)
			got := make([]float32, m*n)
			Add(m, n, k, a, RowsOf(b, n), got)
			goruntime.GOMAXPROCS(before)
			if want == nil {
				want = got
			}
			for i := range got {
				if got[i] != want[i] {
					t.Fatalf("%v on %d processors: element %d: got %v, want %v", size, procs, i, got[i], want[i])
				}
			}
		}
	}
}

func TestAxpyAndDot(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for n := range 100 {
		x, y := random(r, n+1)[1:], random(r, n)
		want, dot := make([]float64, n), 0.0
		for i := range want {
			want[i] = float64(y[i]) + 0.75*float64(x[i])
			dot += float64(x[i]) * float64(y[i])
		}
		near(t, "Dot", []float32{Dot(x, y)}, []float64{dot}, n)
		Axpy(y, 0.75, x)
		near(t, "Axpy", y, want, 1)
	}
}

// TestSpecial checks that NaN and infinities go where they belong, and nowhere else.
func TestSpecial(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, u := range kernels {
		m, n, k := 9, 33, 5
		a, b, c := make([]float32, m*k), make([]float32, k*n), make([]float32, m*n)
		for i := range b {
			b[i] = 1
		}
		a[4*k+2] = inf
		addPanels(u, m, n, k, a, false, RowsOf(b, n), c)
		for i, v := range c {
			want := float32(0)
			if i/n == 4 {
				want = inf
			}
			if v != want {
				t.Fatalf("kernel %d×%d: element %d: got %v, want %v", u.mr, u.nr, i, v, want)
			}
		}
	}
}

func BenchmarkAdd(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, size := range [][3]int{{16, 6400, 144}, {96, 400, 480}, {256, 256, 256}, {1, 1536, 512}, {512, 1, 128}} {
		m, n, k := size[0], size[1], size[2]
		x, y, z := random(r, m*k), random(r, k*n), random(r, m*n)
		for _, u := range kernels {
			b.Run(fmt.Sprintf("%dx%dx%d/kernel%dx%d", m, n, k, u.mr, u.nr), func(b *testing.B) {
				for b.Loop() {
					addPanels(u, m, n, k, x, false, RowsOf(y, n), z)
				}
				b.ReportMetric(2*float64(m*n*k)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOPS")
			})
		}
		b.Run(fmt.Sprintf("%dx%dx%d/Add", m, n, k), func(b *testing.B) {
			for b.Loop() {
				Add(m, n, k, x, RowsOf(y, n), z)
			}
			b.ReportMetric(2*float64(m*n*k)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOPS")
		})
	}
}
