package ops

import (
	"math"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

func toMel(hz float64) float64 { return 2595 * math.Log10(1+hz/700) }

func fromMel(mel float64) float64 { return 700 * (math.Pow(10, mel/2595) - 1) }

// melArgs are the sizes and frequencies of MelWeightMatrix.
type melArgs struct {
	bins, dft, rate int
	edges           []int // the spectrogram bins where the triangles begin, peak and end
}

func (c *Call) melArgs() (m melArgs, err error) {
	for i, to := range []*int{&m.bins, &m.dft, &m.rate} {
		if *to, err = c.scalarInt(i); err != nil {
			return m, err
		}
		if *to < 1 || *to > 1<<30 {
			return m, c.Errorf("input %d: got %d, want a positive number", i, *to)
		}
	}
	var hertz [2]float64
	for i := range hertz {
		v, err := realsAt[float64](c, 3+i, 1)
		if err != nil {
			return m, err
		}
		if v == nil {
			return m, c.Errorf("input %d: got none, want a frequency", 3+i)
		}
		hertz[i] = v[0]
	}
	low, high := toMel(hertz[0]), toMel(hertz[1])
	if err := c.CheckSize(array.Int64, []int{m.bins + 2}); err != nil {
		return m, err
	}
	step := (high - low) / float64(m.bins+2)
	for i := range m.bins + 2 {
		e := math.Floor(float64(m.dft+1) * fromMel(low+float64(i)*step) / float64(m.rate))
		if !(e >= 0 && e <= float64(m.dft/2)) {
			return m, c.Errorf("got edges of %g and %g hertz, want frequencies from 0 to half of the sample rate, %d", hertz[0], hertz[1], m.rate)
		}
		m.edges = append(m.edges, int(e))
	}
	return m, nil
}

// melWeights fills a matrix whose columns are triangles, evenly spaced on the
// mel scale.
func melWeights(c *Call) error {
	dt, err := c.outputType()
	if err != nil {
		return err
	}
	m, err := c.melArgs()
	if err != nil {
		return err
	}
	shape := []int{m.dft/2 + 1, m.bins}
	if err := c.CheckSize(array.Float64, shape); err != nil {
		return err
	}
	out := make([]float64, shape[0]*shape[1])
	for i := range m.bins {
		left, peak, right := m.edges[i], m.edges[i+1], m.edges[i+2]
		if left == peak {
			out[peak*m.bins+i] = 1
		}
		for j := left; j <= peak && left < peak; j++ {
			out[j*m.bins+i] = float64(j-left) / float64(peak-left)
		}
		for j := peak; j < right; j++ {
			out[j*m.bins+i] = float64(right-j) / float64(right-peak)
		}
	}
	c.Out[0], err = array.FromSlice(out, shape...).Cast(dt)
	return err
}

func inferMel(c *Infer) error {
	dt, err := c.outputType()
	if err != nil {
		return err
	}
	out := TensorFact(dt, []sym.Expr{{}, {}})
	if es := c.ElemsAt(1); len(es) == 1 {
		out.Dims[0] = es[0].FloorDiv(sym.Int(2)).AddInt(1)
	}
	if es := c.ElemsAt(0); len(es) == 1 {
		out.Dims[1] = es[0]
	}
	c.Set(0, out)
	return nil
}
