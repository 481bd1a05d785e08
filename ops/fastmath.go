package ops

import "math"

// exp32 returns e^x to about one unit in the last place, in float32 arithmetic:
// x = k·ln2 + r with |r| ≤ ln2/2, and a polynomial for e^r.
func exp32(x float32) float32 {
	const (
		log2e = 1.44269504088896341
		ln2Hi = 0.693359375 // few bits, so that k·ln2Hi is exact
		ln2Lo = -2.12194440e-4
	)
	switch {
	case x != x:
		return x
	case x > 88.7228394:
		return float32(math.Inf(1))
	case x < -87.3365479: // subnormal results, or 0
		return float32(math.Exp(float64(x)))
	}
	k := x * log2e
	if k >= 0 {
		k += 0.5
	} else {
		k -= 0.5
	}
	n := int32(k)
	r := x - float32(n)*ln2Hi
	r -= float32(n) * ln2Lo
	p := float32(1.0 / 5040)
	p = p*r + 1.0/720
	p = p*r + 1.0/120
	p = p*r + 1.0/24
	p = p*r + 1.0/6
	p = p*r + 0.5
	p = p*r*r + r + 1
	if n > 127 { // 2^128 is not a float32: in two steps
		return p * 2 * math.Float32frombits(uint32(n-1+127)<<23)
	}
	return p * math.Float32frombits(uint32(n+127)<<23)
}

// sigmoid32 returns 1/(1+e^-x).
func sigmoid32(x float32) float32 {
	if x >= 0 {
		return 1 / (1 + exp32(-x))
	}
	e := exp32(x)
	return e / (1 + e)
}

// tanh32 returns the hyperbolic tangent: near 0 by its series' continued
// fraction, else by e^2|x|.
func tanh32(x float32) float32 {
	a := x
	if a < 0 {
		a = -a
	}
	switch {
	case a > 9.1: // 1 to the last place
		return float32(math.Copysign(1, float64(x)))
	case a < 0.55:
		z := x * x
		return x * (135135 + z*(17325+z*(378+z))) / (135135 + z*(62370+z*(3150+z*28)))
	}
	t := 1 - 2/(exp32(2*a)+1)
	if x < 0 {
		return -t
	}
	return t
}
