package ops

import "math"

// svmProbabilities turns the scores of pairs of classes into a probability for
// each class, by Platt scaling and pairwise coupling.
func svmProbabilities(scores []float64, a, b []float32, k int) []float64 {
	const least = 1e-7
	pair := make([][]float64, k) // pair[i][j]: that it is i, given that it is i or j
	for i := range pair {
		pair[i] = make([]float64, k)
	}
	n := 0
	for i := range k {
		for j := i + 1; j < k; j++ {
			p := 1 - sigmoid(scores[n]*float64(a[n])+float64(b[n]))
			p = min(max(p, least), 1-least)
			pair[i][j], pair[j][i] = p, 1-p
			n++
		}
	}
	return coupled(pair)
}

// coupled finds the probabilities that fit those of pairs best: the minimum of
// a quadratic form on the simplex (Wu, Lin and Weng, method 2), by iteration.
func coupled(pair [][]float64) []float64 {
	k := len(pair)
	q, p, qp := make([][]float64, k), make([]float64, k), make([]float64, k)
	for t := range k {
		p[t] = 1 / float64(k)
		q[t] = make([]float64, k)
		for j := range k {
			if j != t {
				q[t][t] += pair[j][t] * pair[j][t]
				q[t][j] = -pair[j][t] * pair[t][j]
			}
		}
	}
	for range max(100, k) {
		total, worst := 0.0, 0.0
		for t := range k {
			qp[t] = 0
			for j, v := range q[t] {
				qp[t] += v * p[j]
			}
			total += p[t] * qp[t]
		}
		for _, v := range qp {
			worst = max(worst, math.Abs(v-total))
		}
		if worst < 0.005/float64(k) {
			break
		}
		for t := range k {
			d := (total - qp[t]) / q[t][t]
			p[t] += d
			total = (total + d*(d*q[t][t]+2*qp[t])) / ((1 + d) * (1 + d))
			for j := range k {
				qp[j] = (qp[j] + d*q[t][j]) / (1 + d)
				p[j] /= 1 + d
			}
		}
	}
	return p
}
