package ops

import (
	"math"
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/par"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// batchNorm normalizes by the recorded statistics, or, in training mode, by
// those of the batch, which it then mixes into the recorded ones.
func batchNorm(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	if a.Rank() < 2 || !a.DType().IsFloat() {
		return c.Errorf("input 0: got %s, want floats of rank 2 or more", a.Summary())
	}
	channels := a.Shape()[1]
	var p [4][]float64 // scale, shift, mean, variance
	for i := range p {
		v, err := c.Need(i + 1)
		if err != nil {
			return err
		}
		if p[i], err = v.Float64s(); err != nil {
			return err
		}
		if len(p[i]) != channels {
			return c.Errorf("input %d: got %d elements, want %d, one for each channel", i+1, len(p[i]), channels)
		}
	}
	if c.Opset < 6 && c.Int("is_test") == 0 || c.Int("training_mode") != 0 {
		if p[2], p[3], err = c.batchStatistics(a, p[2], p[3]); err != nil {
			return err
		}
	}
	eps := float64(c.FloatOr("epsilon", 1e-5))
	scale, shift := make([]float64, channels), make([]float64, channels)
	for ch := range channels {
		scale[ch] = p[0][ch] / math.Sqrt(p[3][ch]+eps)
		shift[ch] = p[1][ch] - p[2][ch]*scale[ch]
	}
	wide, back, err := widened(a)
	if err != nil {
		return err
	}
	out, err := c.Make(wide.DType(), a.Shape())
	if err != nil {
		return err
	}
	n := sizeOf(a.Shape()[2:])
	if wide.DType() == array.Float64 {
		affine(array.Data[float64](wide), array.MutableData[float64](out), scale, shift, n)
	} else {
		affine(array.Data[float32](wide), array.MutableData[float32](out), scale, shift, n)
	}
	c.Out[0], err = back(out)
	return err
}

// batchStatistics returns mean and variance of each channel over the batch, and
// makes outputs 1 and 2 of the recorded ones with these mixed in, 3 and 4, which
// opsets before 14 have, of these alone.
func (c *Call) batchStatistics(a *array.Array, mean, variance []float64) (batchMean, batchVar []float64, err error) {
	x, err := a.Float64s()
	if err != nil {
		return nil, nil, err
	}
	channels, n := a.Shape()[1], sizeOf(a.Shape()[2:])
	batchMean, batchVar = make([]float64, channels), make([]float64, channels)
	count := float64(max(1, a.Shape()[0]*n))
	for i, v := range x {
		batchMean[i/n%channels] += v / count
	}
	for i, v := range x {
		d := v - batchMean[i/n%channels]
		batchVar[i/n%channels] += d * d / count
	}
	momentum := float64(c.FloatOr("momentum", 0.9))
	mix := func(old, now []float64) []float64 {
		out := make([]float64, channels)
		for ch := range out {
			out[ch] = old[ch]*momentum + now[ch]*(1-momentum)
		}
		return out
	}
	for i, v := range [][]float64{mix(mean, batchMean), mix(variance, batchVar), batchMean, batchVar} {
		if err := c.setFloats(i+1, v, []int{channels}, c.Array(3+i%2).DType()); err != nil {
			return nil, nil, err
		}
	}
	return batchMean, batchVar, nil
}

func affine[T float32 | float64](x, out []T, scale, shift []float64, n int) {
	if n == 0 || len(x) == 0 {
		return
	}
	par.For(len(x)/n, max(1, rowGrain/n), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			s, b := T(scale[r%len(scale)]), T(shift[r%len(shift)])
			dst := out[r*n : (r+1)*n]
			for i, v := range x[r*n : (r+1)*n] {
				dst[i] = v*s + b
			}
		}
	})
}

func inferBatchNorm(c *Infer) error {
	f := c.Fact(0)
	c.Set(0, TensorFact(f.DType, f.Dims))
	for i := 1; i < len(c.Out); i++ {
		c.Set(i, c.Fact(3))
	}
	return nil
}

// dropout passes its input on, the mask all true, or, in training mode, drops
// each element with the probability ratio and scales the others up.
func dropout(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	ratio, err := c.dropRatio()
	if err != nil {
		return err
	}
	mask, err := c.Make(array.Bool, a.Shape())
	if err != nil {
		return err
	}
	c.Out[0] = a
	keep := array.MutableData[bool](mask)
	r := c.generator()
	for i := range keep {
		keep[i] = ratio == 0 || r.Float64() >= ratio
	}
	if ratio > 0 {
		x, err := a.Float64s()
		if err != nil {
			return c.Errorf("input 0: %w", err)
		}
		for i, k := range keep {
			if x[i] /= 1 - ratio; !k {
				x[i] = 0
			}
		}
		if err := c.setFloats(0, x, a.Shape(), a.DType()); err != nil {
			return err
		}
	}
	if c.Wants(1) {
		c.Out[1] = mask
		if c.Opset < 10 { // the mask had the type of the data
			c.Out[1], err = mask.Cast(a.DType())
		}
	}
	return err
}

// dropRatio returns the probability of dropping an element: 0 outside training.
func (c *Call) dropRatio() (float64, error) {
	t := c.Array(2)
	training := t != nil && t.Size() == 1 && t.At(0) == true
	if c.Opset < 7 {
		training = c.Int("is_test") == 0
	}
	if !training {
		return 0, nil
	}
	ratio := float64(c.FloatOr("ratio", 0.5))
	if v := c.Array(1); v != nil && v.Size() == 1 {
		x, err := v.Float64s()
		if err != nil {
			return 0, err
		}
		ratio = x[0]
	}
	if !(ratio >= 0 && ratio < 1) {
		return 0, c.Errorf("ratio: got %v, want 0 or more and less than 1", ratio)
	}
	return ratio, nil
}

func inferDropout(c *Infer) error {
	f := c.Fact(0)
	c.Set(0, TensorFact(f.DType, f.Dims))
	mask := TensorFact(array.Bool, f.Dims)
	if c.Opset < 10 {
		mask.DType = f.DType
	}
	c.Set(1, mask)
	return nil
}

// normalizeRows gives each row of n elements mean 0 and variance 1, then scales
// and shifts by the element's place.
func layerNorm(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	axis, err := c.normalAxis(c.IntOr("axis", -1), a.Rank())
	if err != nil {
		return err
	}
	n := 1
	for _, d := range a.Shape()[axis:] {
		n *= d
	}
	x, err := a.Float64s()
	if err != nil {
		return err
	}
	scale, err := c.Need(1)
	if err != nil {
		return err
	}
	s, err := spreadTo(c, scale, a.Shape()[axis:])
	if err != nil {
		return err
	}
	var b []float64
	if c.Has(2) {
		shift, err := c.Need(2)
		if err != nil {
			return err
		}
		if b, err = spreadTo(c, shift, a.Shape()[axis:]); err != nil {
			return err
		}
	}
	eps := float64(c.FloatOr("epsilon", 1e-5))
	rows := 1
	for _, d := range a.Shape()[:axis] {
		rows *= d
	}
	means, devs := make([]float64, rows), make([]float64, rows)
	for r := range rows {
		row := x[r*n : (r+1)*n]
		m, v := mean(row), 0.0
		for _, e := range row {
			v += (e - m) * (e - m)
		}
		inv := 1 / math.Sqrt(v/float64(n)+eps)
		for i := range row {
			if row[i] = (row[i] - m) * inv * s[i]; b != nil {
				row[i] += b[i]
			}
		}
		means[r], devs[r] = m, inv
	}
	if c.Out[0], err = array.FromSlice(x, a.Shape()...).Cast(a.DType()); err != nil {
		return err
	}
	shape := append(append([]int{}, a.Shape()[:axis]...), ones(a.Rank()-axis)...)
	for i, v := range [][]float64{means, devs} {
		if c.Wants(i + 1) {
			if c.Out[i+1], err = array.FromSlice(v, shape...).Cast(array.Float32); err != nil {
				return err
			}
		}
	}
	return nil
}

func spreadTo(c *Call, a *array.Array, shape []int) ([]float64, error) {
	v, err := a.BroadcastTo(shape)
	if err != nil {
		return nil, c.Errorf("got shape %v, which does not broadcast to %v", a.Shape(), shape)
	}
	return v.Float64s()
}

func inferLayerNorm(c *Infer) error {
	f := c.Fact(0)
	c.Set(0, TensorFact(f.DType, f.Dims))
	stats := TensorFact(array.DType(c.IntOr("stash_type", int(array.Float32))), nil)
	if f.Dims != nil {
		axis, err := c.normalAxis(c.IntOr("axis", -1), len(f.Dims))
		if err != nil {
			return err
		}
		stats.Dims = slices.Clone(f.Dims)
		for i := axis; i < len(stats.Dims); i++ {
			stats.Dims[i] = sym.Int(1)
		}
	}
	c.Set(1, stats)
	c.Set(2, stats)
	return nil
}

// instanceNorm normalizes each channel of each instance.
func instanceNorm(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	if a.Rank() < 3 {
		return c.Errorf("input 0: got %s, want rank 3 or more", a.Summary())
	}
	x, err := a.Float64s()
	if err != nil {
		return err
	}
	var p [2][]float64
	for i := range p {
		v, err := c.Need(i + 1)
		if err != nil {
			return err
		}
		if p[i], err = v.Float64s(); err != nil {
			return err
		}
		if len(p[i]) != a.Shape()[1] {
			return c.Errorf("input %d: got %d elements, want %d, one for each channel", i+1, len(p[i]), a.Shape()[1])
		}
	}
	n := spatialSize(a.Shape())
	eps := float64(c.FloatOr("epsilon", 1e-5))
	for r := range a.Shape()[0] * a.Shape()[1] {
		row := x[r*n : (r+1)*n]
		m, v := mean(row), 0.0
		for _, e := range row {
			v += (e - m) * (e - m)
		}
		inv := 1 / math.Sqrt(v/float64(max(n, 1))+eps)
		ch := r % a.Shape()[1]
		for i := range row {
			row[i] = (row[i]-m)*inv*p[0][ch] + p[1][ch]
		}
	}
	c.Out[0], err = array.FromSlice(x, a.Shape()...).Cast(a.DType())
	return err
}

var normOps = []Op{
	{Name: "BatchNormalization", Since: 1, Checks: []Check{rankIn(0, 2, -1), perChannel(1, 2, 3, 4)}, Infer: inferBatchNorm, Eval: batchNorm},
	{Name: "Dropout", Since: 7, Infer: inferDropout, Eval: dropout},
	{Name: "LayerNormalization", Since: 17, Checks: []Check{spreadsBehind(-1, 1, 2)}, Infer: inferLayerNorm, Eval: layerNorm},
	{Name: "InstanceNormalization", Since: 6, Checks: []Check{rankIn(0, 3, -1), perChannel(1, 2)}, Infer: inferSame, Eval: instanceNorm},
}
