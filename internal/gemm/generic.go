package gemm

import "unsafe"

// generic is the kernel in Go.
var generic = kernel{4, 4, tile4x4}

func tile4x4(k int, a, b, c *float32, ldc int) {
	as, bs := unsafe.Slice(a, 4*k), unsafe.Slice(b, 4*k)
	var c00, c01, c02, c03, c10, c11, c12, c13, c20, c21, c22, c23, c30, c31, c32, c33 float32
	for len(as) >= 4 && len(bs) >= 4 {
		b0, b1, b2, b3 := bs[0], bs[1], bs[2], bs[3]
		x := as[0]
		c00, c01, c02, c03 = c00+x*b0, c01+x*b1, c02+x*b2, c03+x*b3
		x = as[1]
		c10, c11, c12, c13 = c10+x*b0, c11+x*b1, c12+x*b2, c13+x*b3
		x = as[2]
		c20, c21, c22, c23 = c20+x*b0, c21+x*b1, c22+x*b2, c23+x*b3
		x = as[3]
		c30, c31, c32, c33 = c30+x*b0, c31+x*b1, c32+x*b2, c33+x*b3
		as, bs = as[4:], bs[4:]
	}
	tile := [4][4]float32{{c00, c01, c02, c03}, {c10, c11, c12, c13}, {c20, c21, c22, c23}, {c30, c31, c32, c33}}
	for i := range tile {
		row := unsafe.Slice((*float32)(unsafe.Add(unsafe.Pointer(c), 4*i*ldc)), 4)
		for j, v := range tile[i] {
			row[j] += v
		}
	}
}

func axpyGeneric(y []float32, a float32, x []float32) {
	for i, v := range x[:len(y)] {
		y[i] += a * v
	}
}

func dotGeneric(x, y []float32) float32 {
	var s0, s1, s2, s3 float32
	for len(x) >= 4 && len(y) >= 4 {
		s0 += x[0] * y[0]
		s1 += x[1] * y[1]
		s2 += x[2] * y[2]
		s3 += x[3] * y[3]
		x, y = x[4:], y[4:]
	}
	for i, v := range x {
		s0 += v * y[i]
	}
	return (s0 + s1) + (s2 + s3)
}
