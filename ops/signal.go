package ops

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/dsp/fourier"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/par"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// dftAxis returns the axis: an attribute before opset 20, an input since.
func (c *Call) dftAxis(rank int) (int, error) {
	axis := c.IntOr("axis", 1)
	if c.Opset >= 20 {
		axis = -2
		if c.Has(2) {
			var err error
			if axis, err = c.scalarInt(2); err != nil {
				return 0, err
			}
		}
	}
	return c.signalAxis(axis, rank)
}

// signalAxis makes the axis non-negative; the last axis holds the parts of
// complex numbers and is none to transform.
func (s *Site) signalAxis(axis, rank int) (int, error) {
	k, err := s.normalAxis(axis, rank)
	if err == nil && k == rank-1 {
		return 0, s.Errorf("axis: got %d, want one before the last, which holds the parts of complex numbers", axis)
	}
	return k, err
}

// dftPlan is the sizes of a transform: n points, of which it reads as many as
// there are up to that number, and writes out.
type dftPlan struct {
	n, out            int
	inverse, onesided bool
}

func (s *Site) dftPlan(d, length int, given bool) (dftPlan, error) {
	p := dftPlan{n: d, inverse: s.Int("inverse") != 0, onesided: s.Int("onesided") != 0}
	switch {
	case given:
		p.n = length
	case p.inverse && p.onesided:
		p.n = 2 * (d - 1)
	}
	if p.n < 1 || p.n > math.MaxInt32 {
		return p, s.Errorf("dft_length: got %d, want a positive number", p.n)
	}
	p.out = p.n
	if p.onesided && !p.inverse {
		p.out = p.n/2 + 1
	}
	return p, nil
}

// parts returns how many numbers stand for a point of the output: 1 where it is
// real.
func (p dftPlan) parts() int {
	if p.inverse && p.onesided {
		return 1
	}
	return 2
}

func dft(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	axis, err := c.dftAxis(a.Rank())
	if err != nil {
		return err
	}
	length := 0
	if c.Has(1) {
		if length, err = c.scalarInt(1); err != nil {
			return err
		}
	}
	plan, err := c.dftPlan(a.Shape()[axis], length, c.Has(1))
	if err != nil {
		return err
	}
	parts := a.Shape()[a.Rank()-1]
	if parts != 1 && parts != 2 {
		return c.Errorf("input 0: got a last axis of size %d, want 1 (real) or 2 (complex)", parts)
	}
	if plan.onesided && parts == 2 != plan.inverse {
		return c.Errorf("onesided: got an input with %d parts, want real numbers forward and complex ones in an inverse transform", parts)
	}
	shape := slices.Clone(a.Shape())
	shape[axis], shape[len(shape)-1] = plan.out, plan.parts()
	if err := c.CheckSize(array.Float64, shape); err != nil {
		return err
	}
	x, err := a.Float64s()
	if err != nil {
		return c.Errorf("input 0: %w", err)
	}
	outer, d, rest := splitAt(a.Shape(), axis)
	inner := rest / max(parts, 1)
	out := make([]float64, outer*plan.out*inner*plan.parts())
	par.For(outer*inner, max(1, rowGrain/(8*plan.n)), func(lo, hi int) {
		fft := fourier.NewCmplxFFT(plan.n)
		buf := make([]complex128, plan.n)
		for r := lo; r < hi; r++ {
			o, i := r/inner, r%inner
			plan.load(buf, x[min(o*d*rest+i*parts, len(x)):], d, rest, parts) // of d = 0 points, x has none
			plan.transform(fft, buf)
			plan.store(out[(o*plan.out*inner+i)*plan.parts():], buf, inner*plan.parts())
		}
	})
	c.Out[0], err = array.FromSlice(out, shape...).Cast(a.DType())
	return err
}

// load reads d points that are step apart, cut or filled with zeros to n.
func (p dftPlan) load(buf []complex128, x []float64, d, step, parts int) {
	clear(buf)
	for k := range min(d, p.n) {
		at := k * step
		if parts == 2 {
			buf[k] = complex(x[at], x[at+1])
		} else {
			buf[k] = complex(x[at], 0)
		}
	}
	if p.inverse && p.onesided { // the other half is the mirror image
		if buf[0] = complex(real(buf[0]), 0); p.n%2 == 0 {
			buf[p.n/2] = complex(real(buf[p.n/2]), 0)
		}
		for k := 1; k < (p.n+1)/2; k++ {
			buf[p.n-k] = complex(real(buf[k]), -imag(buf[k]))
		}
	}
}

func (p dftPlan) transform(fft *fourier.CmplxFFT, buf []complex128) {
	if !p.inverse {
		fft.Coefficients(buf, buf)
		return
	}
	fft.Sequence(buf, buf)
	scale := complex(1/float64(p.n), 0)
	for i := range buf {
		buf[i] *= scale
	}
}

func (p dftPlan) store(out []float64, buf []complex128, step int) {
	for k := range p.out {
		out[k*step] = real(buf[k])
		if p.parts() == 2 {
			out[k*step+1] = imag(buf[k])
		}
	}
}

func inferDFT(c *Infer) error {
	in := c.Fact(0)
	out := TensorFact(in.DType, nil)
	if in.Dims == nil {
		c.Set(0, out)
		return nil
	}
	out.Dims = make([]sym.Expr, len(in.Dims))
	c.Set(0, out)
	axis := c.IntOr("axis", 1)
	if c.Opset >= 20 {
		axis = -2
		if c.HasIn(2) {
			vs, ok := c.IntsAt(2)
			if !ok || len(vs) != 1 {
				return nil
			}
			axis = vs[0]
		}
	}
	axis, err := c.signalAxis(axis, len(in.Dims))
	if err != nil {
		return err
	}
	copy(out.Dims, in.Dims)
	inverse, onesided := c.Int("inverse") != 0, c.Int("onesided") != 0
	n := in.Dims[axis]
	switch es := c.ElemsAt(1); {
	case c.HasIn(1) && len(es) == 1:
		n = es[0]
	case c.HasIn(1):
		n = sym.Expr{}
	case inverse && onesided:
		n = n.AddInt(-1).MulInt(2)
	}
	if onesided && !inverse {
		n = n.FloorDiv(sym.Int(2)).AddInt(1)
	}
	out.Dims[axis], out.Dims[len(out.Dims)-1] = n, sym.Int(int64(dftPlan{inverse: inverse, onesided: onesided}.parts()))
	return nil
}

// stftFrames are the sizes of a short-time transform.
type stftFrames struct{ batch, signal, parts, step, length, frames, bins int }

func (c *Call) stftFrames(a *array.Array) (f stftFrames, err error) {
	if a.Rank() != 3 && a.Rank() != 2 {
		return f, c.Errorf("signal: got rank %d, want 3", a.Rank())
	}
	f.batch, f.signal, f.parts = a.Shape()[0], a.Shape()[1], 1
	if a.Rank() == 3 {
		f.parts = a.Shape()[2]
	}
	if f.parts != 1 && f.parts != 2 {
		return f, c.Errorf("signal: got a last axis of size %d, want 1 (real) or 2 (complex)", f.parts)
	}
	if f.step, err = c.scalarInt(1); err != nil {
		return f, err
	}
	f.length = f.signal
	if w := c.Array(2); w != nil {
		f.length = w.Size()
	}
	if c.Has(3) {
		if f.length, err = c.scalarInt(3); err != nil {
			return f, err
		}
	}
	if w := c.Array(2); w != nil && w.Size() != f.length {
		return f, c.Errorf("window: got %d elements, want %d, the frame length", w.Size(), f.length)
	}
	if f.step < 1 || f.length < 1 || f.length > f.signal {
		return f, c.Errorf("got frame_step %d and frame_length %d, want positive numbers, and a length of at most %d, the signal's", f.step, f.length, f.signal)
	}
	f.frames = (f.signal-f.length)/f.step + 1
	f.bins = f.length
	if c.IntOr("onesided", 1) != 0 {
		f.bins = f.length/2 + 1
		if f.parts == 2 {
			return f, c.Errorf("onesided: got a complex signal, want a real one")
		}
	}
	return f, nil
}

func stft(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	f, err := c.stftFrames(a)
	if err != nil {
		return err
	}
	window := slices.Repeat([]float64{1}, f.length)
	if c.Has(2) {
		if window, err = realsAt[float64](c, 2, f.length); err != nil {
			return err
		}
	}
	shape := []int{f.batch, f.frames, f.bins, 2}
	if err := c.CheckSize(array.Float64, shape); err != nil {
		return err
	}
	x, err := a.Float64s()
	if err != nil {
		return c.Errorf("signal: %w", err)
	}
	out := make([]float64, sizeOf(shape))
	plan := dftPlan{n: f.length, out: f.bins}
	par.For(f.batch*f.frames, max(1, rowGrain/(8*f.length)), func(lo, hi int) {
		fft := fourier.NewCmplxFFT(plan.n)
		buf := make([]complex128, plan.n)
		for r := lo; r < hi; r++ {
			b, at := r/f.frames, r%f.frames*f.step
			plan.load(buf, x[(b*f.signal+at)*f.parts:], f.length, f.parts, f.parts)
			for k, w := range window {
				buf[k] *= complex(w, 0)
			}
			plan.transform(fft, buf)
			plan.store(out[r*f.bins*2:], buf, 2)
		}
	})
	c.Out[0], err = array.FromSlice(out, shape...).Cast(a.DType())
	return err
}

func inferSTFT(c *Infer) error {
	in := c.Fact(0)
	out := TensorFact(in.DType, []sym.Expr{{}, {}, {}, sym.Int(2)})
	if len(in.Dims) < 2 {
		c.Set(0, out)
		return nil
	}
	out.Dims[0] = in.Dims[0]
	length, signal := in.Dims[1], in.Dims[1]
	switch {
	case c.HasIn(3):
		length = sym.Expr{}
		if es := c.ElemsAt(3); len(es) == 1 {
			length = es[0]
		}
	case c.HasIn(2):
		length = sym.Expr{}
		if dims := c.Fact(2).Dims; len(dims) == 1 {
			length = dims[0]
		}
	}
	if es := c.ElemsAt(1); len(es) == 1 {
		if n, ok := es[0].Int(); !ok || n > 0 {
			out.Dims[1] = signal.Sub(length).FloorDiv(es[0]).AddInt(1)
		}
	}
	out.Dims[2] = length
	if c.IntOr("onesided", 1) != 0 {
		out.Dims[2] = length.FloorDiv(sym.Int(2)).AddInt(1)
	}
	c.Set(0, out)
	return nil
}

// cosines makes a window that is a sum of cosines with these coefficients.
func cosines(coef ...float64) func(*Call) error {
	return func(c *Call) error {
		n, err := c.scalarInt(0)
		if err != nil {
			return err
		}
		dt, err := c.outputType()
		if err != nil {
			return err
		}
		if err := c.CheckSize(array.Float64, []int{n}); err != nil {
			return err
		}
		period := float64(n)
		if c.IntOr("periodic", 1) == 0 {
			period--
		}
		out := make([]float64, n)
		for i := range out {
			sign := 1.0
			for k, a := range coef {
				out[i] += sign * a * math.Cos(2*math.Pi*float64(k)*float64(i)/max(period, 1))
				sign = -sign
			}
		}
		c.Out[0], err = array.FromSlice(out, n).Cast(dt)
		return err
	}
}

// outputType returns the element type that output_datatype names.
func (s *Site) outputType() (array.DType, error) {
	n := s.IntOr("output_datatype", int(array.Float32))
	dt := array.DType(n)
	if n < 1 || n > 255 || !dt.Valid() {
		return 0, s.Errorf("output_datatype: got %d, want the number of a type", n)
	}
	return dt, nil
}

func inferWindow(c *Infer) error {
	dt, err := c.outputType()
	if err != nil {
		return err
	}
	out := TensorFact(dt, []sym.Expr{{}})
	if es := c.ElemsAt(0); len(es) == 1 {
		out.Dims[0] = es[0]
	}
	c.Set(0, out)
	return nil
}

var signalOps = []Op{
	{Name: "DFT", Since: 17, Infer: inferDFT, Eval: dft},
	{Name: "STFT", Since: 17, Infer: inferSTFT, Eval: stft},
	{Name: "HannWindow", Since: 17, Infer: inferWindow, Eval: cosines(0.5, 0.5)},
	{Name: "HammingWindow", Since: 17, Infer: inferWindow, Eval: cosines(25.0/46, 21.0/46)},
	{Name: "BlackmanWindow", Since: 17, Infer: inferWindow, Eval: cosines(0.42, 0.5, 0.08)},
	{Name: "MelWeightMatrix", Since: 17, Infer: inferMel, Eval: melWeights},
}
