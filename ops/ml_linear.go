package ops

import (
	"math"
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// linearScores returns x·coefficientsᵀ + intercepts, with k rows of coefficients.
func (c *Call) linearScores(xs []float64, rows, cols, k int) ([]float64, error) {
	coef, bias := c.Floats("coefficients"), c.Floats("intercepts")
	if n, ok := mulSizes(k, cols); !ok || k < 1 || len(coef) != n {
		return nil, c.Errorf("coefficients: got %d numbers, want %d, %d times the number of features", len(coef), k*cols, k)
	}
	if len(bias) != 0 && len(bias) != k {
		return nil, c.Errorf("intercepts: got %d numbers, want %d", len(bias), k)
	}
	if err := c.CheckSize(array.Float64, []int{rows, k}); err != nil {
		return nil, err
	}
	scores := make([]float64, rows*k)
	for r := range rows {
		for t := range k {
			sum := 0.0
			if len(bias) > 0 {
				sum = float64(bias[t])
			}
			for j, x := range xs[r*cols : (r+1)*cols] {
				sum += x * float64(coef[t*cols+j])
			}
			scores[r*k+t] = sum
		}
	}
	return scores, nil
}

func linearRegressor(c *Call) error {
	xs, rows, cols, err := c.needMatrix()
	if err != nil {
		return err
	}
	k := c.IntOr("targets", 1)
	scores, err := c.linearScores(xs, rows, cols, k)
	if err != nil {
		return err
	}
	for r := range rows {
		if err := c.transformScores(c.Str("post_transform"), scores[r*k:(r+1)*k]); err != nil {
			return err
		}
	}
	c.Out[0], err = matrixOut(scores, rows)
	return err
}

// linearClassifier has a row of coefficients for each class, or a single one for
// the second of two.
func linearClassifier(c *Call) error {
	xs, rows, cols, err := c.needMatrix()
	if err != nil {
		return err
	}
	labels := c.classLabels("classlabels_ints", "classlabels_strings")
	k := len(c.Floats("intercepts"))
	if k == 0 {
		k = len(c.Floats("coefficients")) / max(cols, 1)
	}
	scores, err := c.linearScores(xs, rows, cols, k)
	if err != nil {
		return err
	}
	classes := make([]int, rows)
	var all []float64
	for r := range rows {
		row := scores[r*k : (r+1)*k]
		classes[r] = argMax(row)
		if k == 1 {
			if classes[r] = 0; row[0] > 0 {
				classes[r] = 1
			}
			if labels.count() == 2 {
				row = []float64{1 - row[0], row[0]}
				if c.Str("post_transform") != "NONE" {
					row[0] = -row[1]
				}
			}
		}
		if err := c.transformScores(c.Str("post_transform"), row); err != nil {
			return err
		}
		all = append(all, row...)
	}
	return c.classified(labels, classes, all, rows)
}

// classified sets the outputs of a classifier. With a single label its class is
// the positive one, and 0 or "" the other.
func (c *Call) classified(labels classLabels, classes []int, scores []float64, rows int) error {
	switch {
	case len(labels.strings) == 1:
		labels.strings = []string{"", labels.strings[0]}
	case len(labels.ints) == 1:
		labels.ints = []int{0, labels.ints[0]}
	}
	c.Out[0] = labels.pick(classes)
	if len(c.Out) < 2 {
		return nil
	}
	var err error
	c.Out[1], err = matrixOut(scores, rows)
	return err
}

// rowsOf returns the number of examples in input 0.
func (c *Infer) rowsOf() sym.Expr {
	switch dims := c.Fact(0).Dims; len(dims) {
	case 2:
		return dims[0]
	case 1:
		return sym.Int(1)
	}
	return sym.Expr{}
}

func inferRegressor(targets string) func(*Infer) error {
	return func(c *Infer) error {
		n := sym.Int(1)
		if targets != "" {
			n = sym.Int(int64(c.IntOr(targets, 1)))
		}
		c.Set(0, TensorFact(array.Float32, []sym.Expr{c.rowsOf(), n}))
		return nil
	}
}

func inferClassifier(ints, strings string) func(*Infer) error {
	return func(c *Infer) error {
		labels := c.classLabels(ints, strings)
		dt := array.Int64
		if len(labels.strings) > 0 {
			dt = array.String
		}
		c.Set(0, TensorFact(dt, []sym.Expr{c.rowsOf()}))
		var n sym.Expr
		if labels.count() > 2 && c.Node.Op() != "SVMClassifier" {
			n = sym.Int(int64(labels.count()))
		}
		c.Set(1, TensorFact(array.Float32, []sym.Expr{c.rowsOf(), n}))
		return nil
	}
}

// svm is what the support vector operators share.
type svm struct {
	kernel        string
	gamma, coef0  float64
	degree        float64
	coef, vectors []float32
	rho           []float32
	cols, count   int // features; vectors
}

func (c *Call) newSVM(cols, count int) (*svm, error) {
	s := &svm{kernel: c.strOr("kernel_type", "LINEAR"), coef: c.Floats("coefficients"), vectors: c.Floats("support_vectors"),
		rho: c.Floats("rho"), cols: cols, count: count}
	switch s.kernel {
	case "LINEAR", "POLY", "RBF", "SIGMOID":
	default:
		return nil, c.Errorf("kernel_type: got %q, want \"LINEAR\", \"POLY\", \"RBF\" or \"SIGMOID\"", s.kernel)
	}
	if p := c.Floats("kernel_params"); len(p) >= 3 {
		s.gamma, s.coef0, s.degree = float64(p[0]), float64(p[1]), float64(p[2])
	} else if len(p) > 0 {
		return nil, c.Errorf("kernel_params: got %d numbers, want 3: gamma, coef0 and degree", len(p))
	}
	if len(s.rho) == 0 {
		return nil, c.Errorf("rho: got no numbers, want 1 at least")
	}
	if n, ok := mulSizes(count, cols); !ok || count < 0 || count > 0 && len(s.vectors) != n {
		return nil, c.Errorf("support_vectors: got %d numbers, want %d for %d vectors of %d features", len(s.vectors), count*cols, count, cols)
	}
	return s, nil
}

// similarity is the kernel function.
func (s *svm) similarity(x []float64, v []float32) float64 {
	sum := 0.0
	for i, a := range x {
		b := float64(v[i])
		if s.kernel == "RBF" {
			sum += (a - b) * (a - b)
		} else {
			sum += a * b
		}
	}
	switch s.kernel {
	case "POLY":
		return math.Pow(s.gamma*sum+s.coef0, s.degree)
	case "SIGMOID":
		return math.Tanh(s.gamma*sum + s.coef0)
	case "RBF":
		return math.Exp(-s.gamma * sum)
	}
	return sum
}

// similarities compares x with every support vector.
func (s *svm) similarities(x []float64) []float64 {
	out := make([]float64, s.count)
	for j := range out {
		out[j] = s.similarity(x, s.vectors[j*s.cols:(j+1)*s.cols])
	}
	return out
}

func svmRegressor(c *Call) error {
	xs, rows, cols, err := c.needMatrix()
	if err != nil {
		return err
	}
	s, err := c.newSVM(cols, c.Int("n_supports"))
	if err != nil {
		return err
	}
	want := s.count
	if want == 0 { // a linear model: one coefficient for each feature
		want, s.kernel = cols, "LINEAR"
	}
	if len(s.coef) != want {
		return c.Errorf("coefficients: got %d numbers, want %d", len(s.coef), want)
	}
	out := make([]float64, rows)
	for r := range rows {
		x := xs[r*cols : (r+1)*cols]
		sum := float64(s.rho[0])
		if s.count == 0 {
			sum += s.similarity(x, s.coef)
		}
		for j, k := range s.similarities(x) {
			sum += float64(s.coef[j]) * k
		}
		if c.Int("one_class") != 0 {
			sum = math.Copysign(1, sum)
			if sum == 0 {
				sum = -1
			}
		}
		out[r] = sum
		if err := c.transformScores(c.Str("post_transform"), out[r:r+1]); err != nil {
			return err
		}
	}
	c.Out[0], err = matrixOut(out, rows)
	return err
}

func svmClassifier(c *Call) error {
	xs, rows, cols, err := c.needMatrix()
	if err != nil {
		return err
	}
	labels := c.classLabels("classlabels_ints", "classlabels_strings")
	k := max(labels.count(), 1)
	perClass := c.Ints("vectors_per_class")
	total := 0
	for _, n := range perClass {
		if n < 0 || n > mostPad {
			return c.Errorf("vectors_per_class: got %v, want numbers ≥ 0", perClass)
		}
		total += n
	}
	s, err := c.newSVM(cols, total)
	if err != nil {
		return err
	}
	if err := c.checkSVM(s, k, perClass); err != nil {
		return err
	}
	positive := !slices.ContainsFunc(s.coef, func(v float32) bool { return v < 0 })
	classes := make([]int, rows)
	var all []float64
	for r := range rows {
		x := xs[r*cols : (r+1)*cols]
		var scores, votes []float64
		if total > 0 {
			scores, votes = s.duels(x, k, perClass)
		} else {
			scores = s.linear(x, k)
		}
		isProb := total > 0 && len(c.Floats("prob_a")) > 0
		if isProb {
			scores = svmProbabilities(scores, c.Floats("prob_a"), c.Floats("prob_b"), k)
		}
		var row []float64
		if classes[r], row, err = c.svmScores(scores, votes, len(s.rho) == 1, isProb, positive, labels.count()); err != nil {
			return err
		}
		all = append(all, row...)
	}
	return c.classified(labels, classes, all, rows)
}

func (c *Call) checkSVM(s *svm, k int, perClass []int) error {
	if s.count == 0 {
		s.kernel = "LINEAR"
		if len(s.coef) != k*s.cols {
			return c.Errorf("coefficients: got %d numbers, want %d, one for each class and feature", len(s.coef), k*s.cols)
		}
		return nil
	}
	pairs := k * (k - 1) / 2
	if len(perClass) != k || len(s.coef) != (k-1)*s.count || len(s.rho) < pairs {
		return c.Errorf("got %d classes, vectors_per_class %v, %d coefficients and %d rho, want a count for each class, %d coefficients and %d rho",
			k, perClass, len(s.coef), len(s.rho), (k-1)*s.count, pairs)
	}
	a, b := c.Floats("prob_a"), c.Floats("prob_b")
	if len(a) > 0 && (len(a) < pairs || len(b) < pairs) {
		return c.Errorf("got %d prob_a and %d prob_b, want %d of each", len(a), len(b), pairs)
	}
	return nil
}

// linear scores each class by its own coefficients.
func (s *svm) linear(x []float64, k int) []float64 {
	out := make([]float64, k)
	for i := range out {
		rho := s.rho[0]
		if len(s.rho) == k {
			rho = s.rho[i]
		}
		out[i] = float64(rho) + s.similarity(x, s.coef[i*s.cols:(i+1)*s.cols])
	}
	return out
}

// duels scores each pair of classes, and counts which class wins how often.
func (s *svm) duels(x []float64, k int, perClass []int) (scores, votes []float64) {
	near := s.similarities(x)
	start := make([]int, k+1)
	for i, n := range perClass {
		start[i+1] = start[i] + n
	}
	votes = make([]float64, k)
	for i := range k {
		for j := i + 1; j < k; j++ {
			sum := float64(s.rho[len(scores)])
			for v := start[i]; v < start[i+1]; v++ {
				sum += float64(s.coef[(j-1)*s.count+v]) * near[v]
			}
			for v := start[j]; v < start[j+1]; v++ {
				sum += float64(s.coef[i*s.count+v]) * near[v]
			}
			scores = append(scores, sum)
			if sum > 0 {
				votes[i]++
			} else {
				votes[j]++
			}
		}
	}
	return scores, votes
}

// svmScores decides the class, and what is written as scores. A model of two
// classes has a single score, of which both are made.
func (c *Call) svmScores(scores, votes []float64, single, isProb, positive bool, labels int) (class int, row []float64, err error) {
	transform := c.Str("post_transform")
	ranking := scores
	if votes != nil {
		ranking = votes
	}
	class = argMax(ranking)
	row = slices.Clone(scores)
	if single && labels == 2 && len(row) == 1 {
		if !isProb && votes == nil {
			class = 0
			if positive && row[0] >= 0.5 || !positive && row[0] > 0 {
				class = 1
			}
		}
		if transform != "PROBIT" {
			row = []float64{-row[0], row[0]}
		}
	}
	return class, row, c.transformScores(transform, row)
}

var mlLinearOps = []Op{
	{Domain: mlDomain, Name: "LinearClassifier", Since: 1, Infer: inferClassifier("classlabels_ints", "classlabels_strings"), Eval: linearClassifier},
	{Domain: mlDomain, Name: "LinearRegressor", Since: 1, Infer: inferRegressor("targets"), Eval: linearRegressor},
	{Domain: mlDomain, Name: "SVMClassifier", Since: 1, Infer: inferClassifier("classlabels_ints", "classlabels_strings"), Eval: svmClassifier},
	{Domain: mlDomain, Name: "SVMRegressor", Since: 1, Infer: inferRegressor(""), Eval: svmRegressor},
}
