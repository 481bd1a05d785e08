//go:build !amd64

package gemm

var (
	best    = generic
	kernels = []kernel{generic}
)

// Axpy computes y += a·x.
func Axpy(y []float32, a float32, x []float32) { axpyGeneric(y, a, x) }

// Dot returns the sum of the products of x and y, which have one length.
func Dot(x, y []float32) float32 { return dotGeneric(x, y) }
