package ops

import (
	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/gemm"
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

// convolve picks the loop: a direct one where every group has one channel, else
// a product of the weights and the patches of the input, which for 1×1 kernels
// are the input itself. dst is zero.
func convolve(cs *convShape, x, w, bias, out []float32) {
	if cs.outSize == 0 {
		return
	}
	perGroup := cs.inC / cs.group
	if perGroup == 1 && len(cs.in) == 2 {
		depthwise(cs, x, w, bias, out)
		return
	}
	outG := cs.outC / cs.group
	k := perGroup * cs.kernel
	pointwise := cs.kernel == 1 && cs.outSize == cs.inSize && plain(cs)
	par.For(cs.batch*cs.group, max(1, rowGrain*16/max(1, outG*k*cs.outSize)), func(lo, hi int) {
		for g := lo; g < hi; g++ {
			src := x[g*perGroup*cs.inSize : (g+1)*perGroup*cs.inSize]
			dst := out[g*outG*cs.outSize : (g+1)*outG*cs.outSize]
			wg := w[g%cs.group*outG*k : (g%cs.group+1)*outG*k]
			if bias != nil {
				fillBias(dst, bias[g%cs.group*outG:], outG, cs.outSize)
			}
			patches := gemm.RowsOf(src, cs.inSize)
			if !pointwise {
				patches = cs.patches(src)
			}
			gemm.Add(outG, cs.outSize, k, wg, patches, dst)
		}
	})
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

// patches returns, as the rows of a matrix, what each element of the kernel and
// each channel meets at every output position; zero in the padding.
func (cs *convShape) patches(src []float32) gemm.Rows {
	last := len(cs.in) - 1
	width := cs.out[last]
	return func(p, lo, hi int, buf []float32) []float32 {
		var store [8]int // of few axes no memory is allocated
		kpos := append(store[:0], cs.in...)
		rest := p % cs.kernel
		for i := last; i >= 0; i-- {
			kpos[i] = rest % cs.w.kernel[i]
			rest /= cs.w.kernel[i]
		}
		plane := src[p/cs.kernel*cs.inSize:][:cs.inSize]
		shift := kpos[last]*cs.w.dilations[last] - cs.w.before[last]
		row, col := lo/width, lo%width
		for at := lo; at < hi; row, col = row+1, 0 {
			line := buf[at-lo : at-lo+min(width-col, hi-at)]
			if base, ok := cs.source(row, kpos); ok {
				copyLine(line, plane, base*cs.in[last], cs.in[last], shift+col*cs.w.strides[last], cs.w.strides[last])
			} else {
				clear(line)
			}
			at += len(line)
		}
		return buf[:hi-lo]
	}
}

// source returns the row of the input that a row of the output meets, at a
// position of the kernel; false in the padding.
func (cs *convShape) source(row int, kpos []int) (base int, ok bool) {
	step := 1
	for i := len(cs.in) - 2; i >= 0; i-- {
		at := row
		if i > 0 { // divisions take longer than the rest
			at = row % cs.out[i]
			row /= cs.out[i]
		}
		p := at*cs.w.strides[i] + kpos[i]*cs.w.dilations[i] - cs.w.before[i]
		if p < 0 || p >= cs.in[i] {
			return 0, false
		}
		base += p * step
		step *= cs.in[i]
	}
	return base, true
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

// depthwise convolves each channel with kernels of its own, row by row.
func depthwise(cs *convShape, x, w, bias, out []float32) {
	mult := cs.outC / cs.group
	par.For(cs.batch*cs.outC, max(1, rowGrain/(cs.outSize*cs.kernel)), func(lo, hi int) {
		phases := make([]float32, cs.in[1]+cs.w.strides[1])
		for ch := lo; ch < hi; ch++ {
			oc := ch % cs.outC
			src := x[(ch/cs.outC*cs.inC+oc/mult)*cs.inSize:][:cs.inSize]
			b := float32(0)
			if bias != nil {
				b = bias[oc]
			}
			depthwisePlane(cs, src, w[oc*cs.kernel:][:cs.kernel], b, out[ch*cs.outSize:][:cs.outSize], phases)
		}
	})
}

func depthwisePlane(cs *convShape, src, ker []float32, bias float32, dst, phases []float32) {
	h, wd, ow := cs.in[0], cs.in[1], cs.out[1]
	stride := cs.w.strides[1]
	for oy := range cs.out[0] {
		line := dst[oy*ow : (oy+1)*ow]
		for i := range line {
			line[i] = bias
		}
		for ky := range cs.w.kernel[0] {
			y := oy*cs.w.strides[0] + ky*cs.w.dilations[0] - cs.w.before[0]
			if y < 0 || y >= h {
				continue
			}
			row := src[y*wd : (y+1)*wd]
			if stride > 1 {
				row = deinterleave(phases, row, stride)
			}
			for kx := range cs.w.kernel[1] {
				addScaledLine(line, row, ker[ky*cs.w.kernel[1]+kx], kx*cs.w.dilations[1]-cs.w.before[1], stride, wd)
			}
		}
	}
}

// deinterleave sorts a row by the remainder of the position by stride, so that
// what one element of a kernel meets lies side by side. Each part is as long as
// the longest: phase r begins at r·⌈len(row)/stride⌉.
func deinterleave(phases, row []float32, stride int) []float32 {
	n := (len(row) + stride - 1) / stride
	if len(phases) < n*stride {
		phases = make([]float32, n*stride)
	}
	for r := range min(stride, len(row)) {
		part := phases[r*n:]
		for i, p := 0, r; p < len(row); i, p = i+1, p+stride {
			part[i] = row[p]
		}
	}
	return phases
}

// addScaledLine adds v times what a row of n elements has at i·stride + shift to
// line[i], where that lies in the row. The row is deinterleaved for a stride over 1.
func addScaledLine(line, row []float32, v float32, shift, stride, n int) {
	lo := 0
	if shift < 0 {
		lo = (-shift + stride - 1) / stride
	}
	if n-1-shift < 0 {
		return
	}
	hi := min(len(line), (n-1-shift)/stride+1)
	if lo >= hi {
		return
	}
	first := lo*stride + shift
	if stride > 1 {
		first = first%stride*((n+stride-1)/stride) + first/stride
	}
	gemm.Axpy(line[lo:hi], v, row[first:first+hi-lo])
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
	for g := range inShape[0] * group {
		src := x[g*inG*inSize : (g+1)*inG*inSize]
		wg := weights[g%group*inG*outG*kernel : (g%group+1)*inG*outG*kernel]
		gemm32(true, false, outG*kernel, inSize, inG, 1, wg, src, 0, cols)
		par.For(outG, max(1, rowGrain/(kernel*inSize)), func(lo, hi int) {
			for r := lo * kernel; r < hi*kernel; r++ {
				w.scatterPlane(cols[r*inSize:(r+1)*inSize], out[(g*outG+r/kernel)*outSize:][:outSize], inShape[2:], shape[2:], r%kernel)
			}
		})
	}
}

// scatterPlane adds each element of a plane of the input's size to where one
// element of the kernel puts it, row by row.
func (w *window) scatterPlane(src, dst []float32, in, out []int, element int) {
	last := len(in) - 1
	kpos := make([]int, len(in))
	for i := last; i >= 0; i-- {
		kpos[i] = element % w.kernel[i]
		element /= w.kernel[i]
	}
	width, stride := in[last], w.strides[last]
	shift := kpos[last]*w.dilations[last] - w.before[last]
	lo, hi := 0, min(width, floorDiv(out[last]-1-shift, stride)+1) // those that fall into the row
	if shift < 0 {
		lo = (-shift + stride - 1) / stride
	}
	for row := 0; lo < hi && (row+1)*width <= len(src); row++ {
		at, step, ok, rest := 0, out[last], true, row
		for i := last - 1; i >= 0; i-- {
			o := rest%in[i]*w.strides[i] + kpos[i]*w.dilations[i] - w.before[i]
			rest /= in[i]
			ok = ok && o >= 0 && o < out[i]
			at += o * step
			step *= out[i]
		}
		if !ok {
			continue
		}
		line := dst[at : at+out[last]]
		for k, o := lo, lo*stride+shift; k < hi; k, o = k+1, o+stride {
			line[o] += src[row*width+k]
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
	{Name: "ConvTranspose", Since: 1, Checks: []Check{rankIn(0, 3, -1), divides("group", 0, 1, -1), meet(0, 1, 1, 0)}, Infer: inferConvTranspose, Eval: convTranspose},
}
