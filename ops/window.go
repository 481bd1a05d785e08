package ops

import "github.com/starlarkgs/starlarkgs/ops/sym"

// window is how a kernel slides over the spatial axes.
type window struct {
	kernel, strides, dilations []int
	before, after              []int
	ceil                       bool
	autoPad                    string
}

// window reads the attributes that convolutions and poolings share; kernel is
// what the weights say, or nil.
func (s *Site) window(rank int, kernel []int) (*window, error) {
	w := &window{kernel: s.Ints("kernel_shape"), strides: s.Ints("strides"), dilations: s.Ints("dilations"),
		ceil: s.Int("ceil_mode") != 0, autoPad: s.Str("auto_pad")}
	if w.kernel == nil {
		w.kernel = kernel
	}
	if w.strides == nil {
		w.strides = ones(rank)
	}
	if w.dilations == nil {
		w.dilations = ones(rank)
	}
	pads := s.Ints("pads")
	if pads == nil {
		pads = make([]int, 2*rank)
	}
	for _, p := range []struct {
		name string
		v    []int
		want int
		min  int
	}{{"kernel_shape", w.kernel, rank, 1}, {"strides", w.strides, rank, 1}, {"dilations", w.dilations, rank, 1}, {"pads", pads, 2 * rank, -1 << 30}} {
		if len(p.v) != p.want {
			return nil, s.Errorf("attribute %q: got %v, want %d numbers for %d spatial axes", p.name, p.v, p.want, rank)
		}
		for _, v := range p.v {
			if v < p.min {
				return nil, s.Errorf("attribute %q: got %v, want numbers ≥ %d", p.name, p.v, p.min)
			}
		}
	}
	w.before, w.after = append([]int(nil), pads[:rank]...), append([]int(nil), pads[rank:]...)
	for i, k := range kernel {
		if w.kernel[i] != k {
			return nil, s.Errorf("attribute \"kernel_shape\": got %v, want %v, the weights' own", w.kernel, kernel)
		}
	}
	return w, nil
}

// extent is the size that axis i of the kernel covers.
func (w *window) extent(i int) int { return (w.kernel[i]-1)*w.dilations[i] + 1 }

// out returns the size of the output along axis i for an input of size d, and
// fixes the pads that auto_pad asks for.
func (w *window) out(i, d int) int {
	e := w.extent(i)
	switch w.autoPad {
	case "SAME_UPPER", "SAME_LOWER":
		n := (d + w.strides[i] - 1) / w.strides[i]
		total := max(0, (n-1)*w.strides[i]+e-d)
		w.before[i], w.after[i] = total/2, total-total/2
		if w.autoPad == "SAME_LOWER" {
			w.before[i], w.after[i] = w.after[i], w.before[i]
		}
		return n
	case "VALID":
		w.before[i], w.after[i] = 0, 0
	}
	span := d + w.before[i] + w.after[i] - e
	if span < 0 {
		return 0
	}
	n := span/w.strides[i] + 1
	if w.ceil && span%w.strides[i] != 0 && n*w.strides[i] < d+w.before[i] {
		n++ // a window that begins in the padding behind does not count
	}
	return n
}

// symOut is out for sizes that may be symbolic.
func (w *window) symOut(i int, d sym.Expr) sym.Expr {
	if n, ok := d.Int(); ok {
		return sym.Int(int64(w.out(i, int(n))))
	}
	stride := sym.Int(int64(w.strides[i]))
	switch w.autoPad {
	case "SAME_UPPER", "SAME_LOWER":
		return d.CeilDiv(stride)
	case "VALID":
		w.before[i], w.after[i] = 0, 0
	}
	span := d.AddInt(int64(w.before[i] + w.after[i] - w.extent(i)))
	if w.ceil {
		return sym.Expr{} // whether the last window counts depends on the size
	}
	return span.FloorDiv(stride).AddInt(1)
}
