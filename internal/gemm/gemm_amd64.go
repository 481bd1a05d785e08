package gemm

import "golang.org/x/sys/cpu"

var (
	hasAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasFMA
	kernels = available()
	best    = kernels[0]
)

// available returns the kernels that run here, the fastest first.
func available() []kernel {
	var ks []kernel
	if cpu.X86.HasAVX512F {
		ks = append(ks, kernel{8, 32, tile8x32})
	}
	if hasAVX2 {
		ks = append(ks, kernel{4, 24, tile4x24})
	}
	return append(ks, generic)
}

// tile8x32 needs AVX-512, tile4x24 AVX2 and FMA, as do axpy8 and dot8, which
// take a multiple of 8 elements.
//
//go:noescape
func tile8x32(k int, a, b, c *float32, ldc int)

//go:noescape
func tile4x24(k int, a, b, c *float32, ldc int)

//go:noescape
func axpy8(n int, a float32, x, y *float32)

//go:noescape
func dot8(n int, x, y *float32) float32

// Axpy computes y += a·x.
func Axpy(y []float32, a float32, x []float32) {
	x = x[:len(y)]
	if n := len(y) &^ 7; hasAVX2 && n > 0 {
		axpy8(n, a, &x[0], &y[0])
		x, y = x[n:], y[n:]
	}
	axpyGeneric(y, a, x)
}

// Dot returns the sum of the products of x and y, which have one length.
func Dot(x, y []float32) float32 {
	y = y[:len(x)]
	sum := float32(0)
	if n := len(x) &^ 7; hasAVX2 && n > 0 {
		sum = dot8(n, &x[0], &y[0])
		x, y = x[n:], y[n:]
	}
	return sum + dotGeneric(x, y)
}
