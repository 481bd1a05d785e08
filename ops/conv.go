package ops

import (
	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/par"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// convShape is a convolution brought to two or three spatial axes of fixed sizes.
type convShape struct {
	batch, group   int
	inC, outC      int // channels in all
	in, out        []int
	w              *window
	kernel, inSize int // products
	outSize        int
}

func (s *Site) convShape(x, weights []int) (*convShape, error) {
	if len(x) < 3 || len(weights) != len(x) {
		return nil, s.Errorf("inputs: got shapes %v and weights %v, want one rank of at least 3", x, weights)
	}
	w, err := s.window(len(x)-2, weights[2:])
	if err != nil {
		return nil, err
	}
	c := &convShape{batch: x[0], inC: x[1], outC: weights[0], group: s.IntOr("group", 1), in: x[2:], w: w, kernel: 1, inSize: 1, outSize: 1}
	if c.group < 1 || c.outC%c.group != 0 || c.inC != weights[1]*c.group {
		return nil, s.Errorf("inputs: got %d channels and weights %v in %d groups, want %d channels", c.inC, weights, c.group, weights[1]*c.group)
	}
	for i, d := range c.in {
		n := w.out(i, d)
		c.out = append(c.out, n)
		c.kernel *= w.kernel[i]
		c.inSize *= d
		c.outSize *= n
	}
	return c, nil
}

func conv(c *Call) error {
	x, w, err := operands(&Call{Site: Site{Node: c.Node, Opset: 7}, In: c.In, Out: c.Out})
	if err != nil {
		return err
	}
	cs, err := c.convShape(x.Shape(), w.Shape())
	if err != nil {
		return err
	}
	wide, back, err := widened(x)
	if err != nil {
		return err
	}
	dt := wide.DType()
	if dt == array.Float64 {
		// computed in float64 by way of the same loops
		return conv64(c, x, w, cs)
	}
	if dt != array.Float32 {
		return c.Errorf("input 0: got %s, want a float type", dt)
	}
	if w, err = w.Cast(dt); err != nil {
		return err
	}
	bias, err := convBias(c, cs.outC)
	if err != nil {
		return err
	}
	out, err := c.Make(dt, append([]int{cs.batch, cs.outC}, cs.out...))
	if err != nil {
		return err
	}
	convolve(cs, array.Data[float32](wide), array.Data[float32](w), bias, array.MutableData[float32](out))
	c.Out[0], err = back(out)
	return err
}

func convBias(c *Call, n int) ([]float32, error) {
	if !c.Has(2) {
		return nil, nil
	}
	b, err := c.Need(2)
	if err != nil {
		return nil, err
	}
	if b.Size() != n {
		return nil, c.Errorf("input 2: got %d elements, want %d, one for each output channel", b.Size(), n)
	}
	if b, err = b.Cast(array.Float32); err != nil {
		return nil, err
	}
	return array.Data[float32](b), nil
}

// convolve picks the loop: plain products for 1×1 kernels, a direct loop where
// every group has one channel, else unrolled patches and a matrix product.
func convolve(cs *convShape, x, w, bias, out []float32) {
	if cs.outSize == 0 {
		return
	}
	perGroup := cs.inC / cs.group
	if perGroup == 1 && len(cs.in) == 2 {
		depthwise(cs, x, w, bias, out)
		return
	}
	groups := cs.batch * cs.group
	outG := cs.outC / cs.group
	k := perGroup * cs.kernel
	pointwise := cs.kernel == 1 && cs.outSize == cs.inSize && plain(cs)
	var patches []float32
	if !pointwise {
		patches = make([]float32, k*cs.outSize)
	}
	for g := range groups {
		src := x[g*perGroup*cs.inSize : (g+1)*perGroup*cs.inSize]
		dst := out[g*outG*cs.outSize : (g+1)*outG*cs.outSize]
		wg := w[g%cs.group*outG*k : (g%cs.group+1)*outG*k]
		beta := float32(0)
		if bias != nil {
			beta = 1
			fillBias(dst, bias[g%cs.group*outG:], outG, cs.outSize)
		}
		if pointwise {
			gemm32(false, false, outG, cs.outSize, k, 1, wg, src, beta, dst)
			continue
		}
		unroll(cs, perGroup, src, patches)
		gemm32(false, false, outG, cs.outSize, k, 1, wg, patches, beta, dst)
	}
}

func plain(cs *convShape) bool {
	for i := range cs.in {
		if cs.w.strides[i] != 1 || cs.w.before[i] != 0 || cs.w.after[i] != 0 {
			return false
		}
	}
	return true
}

func fillBias(dst, bias []float32, channels, n int) {
	for ch := range channels {
		row := dst[ch*n : (ch+1)*n]
		for i := range row {
			row[i] = bias[ch]
		}
	}
}

// unroll lays out, for each element of the kernel and each channel, what it
// meets at every output position; zero in the padding.
func unroll(cs *convShape, channels int, src, patches []float32) {
	rank := len(cs.in)
	last := rank - 1
	rows := cs.outSize / cs.out[last]
	par.For(channels*cs.kernel, max(1, rowGrain/cs.outSize), func(lo, hi int) {
		kpos, opos := make([]int, rank), make([]int, rank)
		for r := lo; r < hi; r++ {
			ch, rest := r/cs.kernel, r%cs.kernel
			for i := last; i >= 0; i-- {
				kpos[i] = rest % cs.w.kernel[i]
				rest /= cs.w.kernel[i]
			}
			dst := patches[r*cs.outSize : (r+1)*cs.outSize]
			for row := range rows {
				base, ok, q := 0, true, row
				for i := last - 1; i >= 0; i-- {
					opos[i] = q % cs.out[i]
					q /= cs.out[i]
				}
				for i := range last {
					p := opos[i]*cs.w.strides[i] + kpos[i]*cs.w.dilations[i] - cs.w.before[i]
					ok = ok && p >= 0 && p < cs.in[i]
					base = base*cs.in[i] + p
				}
				line := dst[row*cs.out[last] : (row+1)*cs.out[last]]
				if !ok {
					clear(line)
					continue
				}
				copyLine(line, src[ch*cs.inSize:], base*cs.in[last], cs.in[last], kpos[last]*cs.w.dilations[last]-cs.w.before[last], cs.w.strides[last])
			}
		}
	})
}

// copyLine fills line[i] = src[base + i·stride + shift] where that lies in the
// n elements from base on, zero elsewhere.
func copyLine(line, src []float32, base, n, shift, stride int) {
	if stride == 1 {
		lo, hi := min(max(0, -shift), len(line)), max(0, min(len(line), n-shift))
		if hi <= lo {
			clear(line)
			return
		}
		clear(line[:lo])
		copy(line[lo:hi], src[base+lo+shift:base+hi+shift])
		clear(line[hi:])
		return
	}
	for i := range line {
		p := i*stride + shift
		if line[i] = 0; p >= 0 && p < n {
			line[i] = src[base+p]
		}
	}
}

// depthwise convolves each channel with kernels of its own.
func depthwise(cs *convShape, x, w, bias, out []float32) {
	mult := cs.outC / cs.group
	h, wd := cs.in[0], cs.in[1]
	oh, ow := cs.out[0], cs.out[1]
	kh, kw := cs.w.kernel[0], cs.w.kernel[1]
	par.For(cs.batch*cs.outC, max(1, rowGrain/(cs.outSize*cs.kernel)), func(lo, hi int) {
		for ch := lo; ch < hi; ch++ {
			oc := ch % cs.outC
			src := x[(ch/cs.outC*cs.inC+oc/mult)*cs.inSize:][:cs.inSize]
			ker := w[oc*cs.kernel:][:cs.kernel]
			dst := out[ch*cs.outSize:][:cs.outSize]
			b := float32(0)
			if bias != nil {
				b = bias[oc]
			}
			for i := range dst {
				dst[i] = b
			}
			for ky := range kh {
				for kx := range kw {
					v := ker[ky*kw+kx]
					shift := kx*cs.w.dilations[1] - cs.w.before[1]
					for oy := range oh {
						y := oy*cs.w.strides[0] + ky*cs.w.dilations[0] - cs.w.before[0]
						if y < 0 || y >= h {
							continue
						}
						addScaledLine(dst[oy*ow:(oy+1)*ow], src[y*wd:(y+1)*wd], v, shift, cs.w.strides[1])
					}
				}
			}
		}
	})
}

// addScaledLine adds v·src[i·stride + shift] to line[i] where that lies in src.
func addScaledLine(line, src []float32, v float32, shift, stride int) {
	lo := 0
	if shift < 0 {
		lo = (-shift + stride - 1) / stride
	}
	hi := len(line)
	if rest := len(src) - 1 - shift; rest < 0 {
		return
	} else if rest/stride+1 < hi {
		hi = rest/stride + 1
	}
	if lo >= hi {
		return
	}
	if stride == 1 {
		part := src[lo+shift : hi+shift]
		for i, s := range part {
			line[lo+i] += v * s
		}
		return
	}
	for i := lo; i < hi; i++ {
		line[i] += v * src[i*stride+shift]
	}
}

// conv64 convolves in float64, plainly.
func conv64(c *Call, x, w *array.Array, cs *convShape) error {
	out, err := c.Make(array.Float64, append([]int{cs.batch, cs.outC}, cs.out...))
	if err != nil {
		return err
	}
	xs, ws, dst := array.Data[float64](x), array.Data[float64](w), array.MutableData[float64](out)
	var bias []float64
	if b := c.Array(2); b != nil {
		if bias, err = b.Float64s(); err != nil {
			return err
		}
	}
	perGroup, outG := cs.inC/cs.group, cs.outC/cs.group
	rank := len(cs.in)
	opos, kpos := make([]int, rank), make([]int, rank)
	for i := range dst {
		rest := i
		for d := rank - 1; d >= 0; d-- {
			opos[d] = rest % cs.out[d]
			rest /= cs.out[d]
		}
		oc, n := rest%cs.outC, rest/cs.outC
		sum := 0.0
		if bias != nil {
			sum = bias[oc]
		}
		for k := range perGroup * cs.kernel {
			ch, q := k/cs.kernel, k%cs.kernel
			for d := rank - 1; d >= 0; d-- {
				kpos[d] = q % cs.w.kernel[d]
				q /= cs.w.kernel[d]
			}
			base, ok := n*cs.inC+oc/outG*perGroup+ch, true
			for d := range rank {
				p := opos[d]*cs.w.strides[d] + kpos[d]*cs.w.dilations[d] - cs.w.before[d]
				ok = ok && p >= 0 && p < cs.in[d]
				base = base*cs.in[d] + p
			}
			if ok {
				sum += xs[base] * ws[oc*perGroup*cs.kernel+k]
			}
		}
		dst[i] = sum
	}
	c.Out[0] = out
	return nil
}

func inferConv(c *Infer) error {
	x, w := c.Fact(0), c.Fact(1)
	out := TensorFact(x.DType, nil)
	rank := max(len(x.Dims), len(w.Dims))
	if rank < 3 {
		c.Set(0, out)
		return nil
	}
	if x.Dims != nil && w.Dims != nil && len(x.Dims) != len(w.Dims) {
		return c.Errorf("inputs: got %s and weights %s, want one rank", dimsText(x.Dims), dimsText(w.Dims))
	}
	out.Dims = make([]sym.Expr, rank)
	if w.Dims != nil {
		out.Dims[1] = w.Dims[0]
	}
	kernel, ok := spatial(w.Dims)
	if x.Dims != nil {
		if err := checkChannels(c, x.Dims, w.Dims); err != nil {
			return err
		}
		out.Dims[0] = x.Dims[0]
		if ok || c.HasAttr("kernel_shape") {
			win, err := c.window(rank-2, kernel)
			if err != nil {
				return err
			}
			for i := range rank - 2 {
				out.Dims[2+i] = win.symOut(i, x.Dims[2+i])
			}
		}
	}
	c.Set(0, out)
	return nil
}

func checkChannels(c *Infer, x, w []sym.Expr) error {
	if w == nil {
		return nil
	}
	channels, ok := x[1].Int()
	per, ok2 := w[1].Int()
	if g := int64(c.IntOr("group", 1)); ok && ok2 && channels != per*g {
		return c.Errorf("inputs: got %d channels and weights %s in %d groups, want %d channels", channels, dimsText(w), g, per*g)
	}
	return nil
}

// spatial returns the kernel's sizes when they are numbers.
func spatial(w []sym.Expr) ([]int, bool) {
	if len(w) < 3 {
		return nil, false
	}
	return sym.AllInts(w[2:])
}

// transposedOut returns the size that ConvTranspose gives axis i, and fixes pads.
func transposedOut(w *window, i, d, extra int, want []int) int {
	full := w.strides[i]*(d-1) + extra + w.extent(i)
	switch {
	case want != nil:
		total := max(0, full-want[i])
		w.before[i], w.after[i] = total/2, total-total/2
		if w.autoPad == "SAME_UPPER" {
			w.before[i], w.after[i] = total/2, total-total/2
		} else if w.autoPad == "SAME_LOWER" || w.autoPad == "" || w.autoPad == "NOTSET" {
			w.before[i], w.after[i] = total-total/2, total/2
		}
		return want[i]
	case w.autoPad == "SAME_UPPER" || w.autoPad == "SAME_LOWER":
		n := d * w.strides[i]
		total := max(0, full-n)
		w.before[i], w.after[i] = total/2, total-total/2
		if w.autoPad == "SAME_LOWER" {
			w.before[i], w.after[i] = w.after[i], w.before[i]
		}
		return n
	case w.autoPad == "VALID":
		w.before[i], w.after[i] = 0, 0
	}
	return full - w.before[i] - w.after[i]
}

func convTranspose(c *Call) error {
	x, w, err := operands(&Call{Site: Site{Node: c.Node, Opset: 7}, In: c.In, Out: c.Out})
	if err != nil {
		return err
	}
	if x.Rank() < 3 || w.Rank() != x.Rank() {
		return c.Errorf("inputs: got shapes %v and weights %v, want one rank of at least 3", x.Shape(), w.Shape())
	}
	win, err := c.window(x.Rank()-2, w.Shape()[2:])
	if err != nil {
		return err
	}
	group := c.IntOr("group", 1)
	batch, inC, outG := x.Shape()[0], x.Shape()[1], w.Shape()[1]
	if inC != w.Shape()[0] || group < 1 || inC%group != 0 {
		return c.Errorf("inputs: got %d channels and weights %v in %d groups, want %d channels", inC, w.Shape(), group, w.Shape()[0])
	}
	extra, want := c.Ints("output_padding"), c.Ints("output_shape")
	if len(want) == x.Rank() {
		want = want[2:]
	}
	if extra == nil {
		extra = make([]int, x.Rank()-2)
	}
	if len(extra) != x.Rank()-2 || want != nil && len(want) != x.Rank()-2 {
		return c.Errorf("output_padding, output_shape: got %v and %v, want %d numbers", extra, want, x.Rank()-2)
	}
	shape := []int{batch, outG * group}
	for i, d := range x.Shape()[2:] {
		shape = append(shape, transposedOut(win, i, d, extra[i], want))
	}
	wide, back, err := widened(x)
	if err != nil {
		return err
	}
	wide, err = wide.Cast(array.Float32)
	if err != nil {
		return err
	}
	if w, err = w.Cast(array.Float32); err != nil {
		return err
	}
	bias, err := convBias(c, outG*group)
	if err != nil {
		return err
	}
	out, err := c.Make(array.Float32, shape)
	if err != nil {
		return err
	}
	scatter(win, array.Data[float32](wide), array.Data[float32](w), bias, array.MutableData[float32](out), x.Shape(), shape, group)
	if x.DType() == array.Float64 {
		c.Out[0], err = out.Cast(array.Float64)
		return err
	}
	c.Out[0], err = back(out)
	return err
}

// scatter adds each input element, times the kernel, to where it belongs: the
// product of weights and input gives what every position adds.
func scatter(w *window, x, weights, bias, out []float32, inShape, shape []int, group int) {
	rank := len(inShape) - 2
	inSize, outSize, kernel := 1, 1, 1
	for i := range rank {
		inSize *= inShape[2+i]
		outSize *= shape[2+i]
		kernel *= w.kernel[i]
	}
	inG, outG := inShape[1]/group, shape[1]/group
	if bias != nil {
		for n := range inShape[0] {
			fillBias(out[n*shape[1]*outSize:], bias, shape[1], outSize)
		}
	}
	cols := make([]float32, outG*kernel*inSize)
	pos, kpos := make([]int, rank), make([]int, rank)
	for g := range inShape[0] * group {
		src := x[g*inG*inSize : (g+1)*inG*inSize]
		wg := weights[g%group*inG*outG*kernel : (g%group+1)*inG*outG*kernel]
		gemm32(true, false, outG*kernel, inSize, inG, 1, wg, src, 0, cols)
		for r := range outG * kernel {
			dst := out[(g*outG+r/kernel)*outSize:][:outSize]
			rest := r % kernel
			for i := rank - 1; i >= 0; i-- {
				kpos[i] = rest % w.kernel[i]
				rest /= w.kernel[i]
			}
			for p, v := range cols[r*inSize : (r+1)*inSize] {
				q := p
				for i := rank - 1; i >= 0; i-- {
					pos[i] = q % inShape[2+i]
					q /= inShape[2+i]
				}
				at, ok := 0, true
				for i := range rank {
					o := pos[i]*w.strides[i] + kpos[i]*w.dilations[i] - w.before[i]
					ok = ok && o >= 0 && o < shape[2+i]
					at = at*shape[2+i] + o
				}
				if ok {
					dst[at] += v
				}
			}
		}
	}
}

func inferConvTranspose(c *Infer) error {
	x, w := c.Fact(0), c.Fact(1)
	out := TensorFact(x.DType, nil)
	kernel, ok := spatial(w.Dims)
	if x.Dims == nil || !ok || len(x.Dims) != len(w.Dims) {
		c.Set(0, out)
		return nil
	}
	rank := len(x.Dims) - 2
	win, err := c.window(rank, kernel)
	if err != nil {
		return err
	}
	extra, want := c.Ints("output_padding"), c.Ints("output_shape")
	if len(want) == rank+2 {
		want = want[2:]
	}
	if extra == nil {
		extra = make([]int, rank)
	}
	if len(extra) != rank || want != nil && len(want) != rank {
		return c.Errorf("output_padding, output_shape: got %v and %v, want %d numbers", extra, want, rank)
	}
	out.Dims = []sym.Expr{x.Dims[0], w.Dims[1].MulInt(int64(c.IntOr("group", 1)))}
	for i, d := range x.Dims[2:] {
		if n, ok := d.Int(); ok {
			out.Dims = append(out.Dims, sym.Int(int64(transposedOut(win, i, int(n), extra[i], want))))
			continue
		}
		// linear in the size: what a size of 1 gives, and a stride for each more
		one := int64(transposedOut(win, i, 1, extra[i], want))
		if want != nil {
			out.Dims = append(out.Dims, sym.Int(one))
			continue
		}
		out.Dims = append(out.Dims, d.AddInt(-1).MulInt(int64(win.strides[i])).AddInt(one))
	}
	c.Set(0, out)
	return nil
}

var convOps = []Op{
	{Name: "Conv", Since: 1, Infer: inferConv, Eval: conv},
	{Name: "ConvTranspose", Since: 1, Infer: inferConvTranspose, Eval: convTranspose},
}
