package ops

import (
	"math"
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
)

// needMatrix returns input 0 in float64, as rows of features. Integers go
// through float32, the type in which models hold their thresholds and weights.
func (c *Call) needMatrix() (xs []float64, rows, cols int, err error) {
	a, err := c.Need(0)
	if err != nil {
		return nil, 0, 0, err
	}
	switch a.Rank() {
	case 1:
		rows, cols = 1, a.Shape()[0]
	case 2:
		rows, cols = a.Shape()[0], a.Shape()[1]
	default:
		return nil, 0, 0, c.Errorf("input 0: got rank %d, want 1 or 2", a.Rank())
	}
	if a.DType().IsInt() {
		if a, err = a.Cast(array.Float32); err != nil {
			return nil, 0, 0, c.Errorf("input 0: %w", err)
		}
	}
	if err := c.CheckSize(array.Float64, a.Shape()); err != nil {
		return nil, 0, 0, err
	}
	xs, err = a.Float64s()
	if err != nil {
		return nil, 0, 0, c.Errorf("input 0: %w", err)
	}
	return xs, rows, cols, nil
}

// transformScores applies a post_transform to the scores of one example.
func (s *Site) transformScores(name string, scores []float64) error {
	switch name {
	case "", "NONE":
	case "LOGISTIC":
		for i, x := range scores {
			scores[i] = sigmoid(x)
		}
	case "PROBIT":
		for i, x := range scores {
			scores[i] = math.Sqrt2 * math.Erfinv(2*x-1)
		}
	case "SOFTMAX":
		softmaxScores(scores, false)
	case "SOFTMAX_ZERO":
		softmaxScores(scores, true)
	default:
		return s.Errorf("post_transform: got %q, want \"NONE\", \"SOFTMAX\", \"LOGISTIC\", \"SOFTMAX_ZERO\" or \"PROBIT\"", name)
	}
	return nil
}

// softmaxScores is softmax in place; with keepZero a score of 0 stays 0.
func softmaxScores(scores []float64, keepZero bool) {
	if len(scores) == 0 {
		return
	}
	most, sum := slices.Max(scores), 0.0
	for i, x := range scores {
		if keepZero && math.Abs(x) <= 1e-7 {
			scores[i] = x * math.Exp(-most)
		} else {
			scores[i] = math.Exp(x - most)
		}
		sum += scores[i]
	}
	for i := range scores {
		if sum == 0 {
			scores[i] = 0.5
		} else {
			scores[i] /= sum
		}
	}
}

// matrixOut returns scores, all rows of one length, as a float32 matrix.
func matrixOut(scores []float64, rows int) (*array.Array, error) {
	cols := 0
	if rows > 0 {
		cols = len(scores) / rows
	}
	return array.FromSlice(scores, rows, cols).Cast(array.Float32)
}

// classLabels are the labels of a classifier.
type classLabels struct {
	ints    []int
	strings []string
}

func (s *Site) classLabels(ints, strings string) classLabels {
	return classLabels{ints: s.Ints(ints), strings: s.Strs(strings)}
}

func (l classLabels) count() int { return max(len(l.ints), len(l.strings)) }

// pick returns the labels of these classes.
func (l classLabels) pick(classes []int) *array.Array {
	if len(l.strings) > 0 {
		out := make([]string, len(classes))
		for i, k := range classes {
			if k >= 0 && k < len(l.strings) {
				out[i] = l.strings[k]
			}
		}
		return array.FromStrings(out, len(out))
	}
	out := make([]int64, len(classes))
	for i, k := range classes {
		if out[i] = int64(k); k >= 0 && k < len(l.ints) {
			out[i] = int64(l.ints[k])
		}
	}
	return array.FromSlice(out, len(out))
}

func argMax(xs []float64) int {
	best := 0
	for i, x := range xs {
		if x > xs[best] {
			best = i
		}
	}
	return best
}
