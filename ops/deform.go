package ops

import (
	"math"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/par"
)

// deforming is a convolution whose kernel reads at places that an input moves
// (Dai et al. 2017), each weighed by a mask (Zhu et al. 2018).
type deforming struct {
	*convShape
	x, w, offset, mask, bias []float64
	groups                   int // of offsets
}

func deformConv(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	weights, err := c.Need(1)
	if err != nil {
		return err
	}
	d := &deforming{groups: c.IntOr("offset_group", 1)}
	if d.convShape, err = c.convShape(a.Shape(), weights.Shape()); err != nil {
		return err
	}
	if d.groups < 1 || d.inC%d.groups != 0 {
		return c.Errorf("attribute \"offset_group\": got %d, want a divisor of %d channels", d.groups, d.inC)
	}
	shape := append([]int{d.batch, d.outC}, d.out...)
	if err := c.CheckSize(array.Float64, shape); err != nil {
		return err
	}
	positions := d.batch * d.groups * d.kernel * d.outSize
	for _, in := range []struct {
		to   *[]float64
		at   int
		want int // elements; -1 for any
	}{{&d.x, 0, -1}, {&d.w, 1, -1}, {&d.offset, 2, positions * len(d.in)}, {&d.bias, 3, d.outC}, {&d.mask, 4, positions}} {
		if in.at > 2 && !c.Has(in.at) {
			continue
		}
		v, err := c.Need(in.at)
		if err != nil {
			return err
		}
		if *in.to, err = v.Float64s(); err != nil {
			return err
		}
		if in.want >= 0 && len(*in.to) != in.want {
			return c.Errorf("input %d: got %s, want %d elements", in.at, v.Summary(), in.want)
		}
	}
	out := make([]float64, sizeOf(shape))
	d.run(out)
	return c.setFloats(0, out, shape, a.DType())
}

func (d *deforming) run(out []float64) {
	if d.outSize == 0 {
		return
	}
	perGroup, outG := d.inC/d.group, d.outC/d.group
	par.For(d.batch*d.outSize, max(1, 256/max(1, d.inC*d.kernel)), func(lo, hi int) {
		columns := make([]float64, d.inC*d.kernel)
		axes := make([][]tap, len(d.in))
		for i := lo; i < hi; i++ {
			b, o := i/d.outSize, i%d.outSize
			d.read(b, o, columns, axes)
			for oc := range d.outC {
				sum := 0.0
				if d.bias != nil {
					sum = d.bias[oc]
				}
				n := perGroup * d.kernel
				sum += dot(d.w[oc*n:(oc+1)*n], columns[oc/outG*n:][:n])
				out[(b*d.outC+oc)*d.outSize+o] = sum
			}
		}
	})
}

// read fills, for output position o, what each element of the kernel reads of
// each channel.
func (d *deforming) read(b, o int, columns []float64, axes [][]tap) {
	per := d.inC / d.groups
	rank := len(d.in)
	for g := range d.groups {
		for k := range d.kernel {
			rest, element := o, k
			for i := rank - 1; i >= 0; i-- {
				pos := rest % d.out[i] * d.convShape.w.strides[i]
				pos += element%d.convShape.w.kernel[i]*d.convShape.w.dilations[i] - d.convShape.w.before[i]
				rest /= d.out[i]
				element /= d.convShape.w.kernel[i]
				moved := float64(pos) + d.offset[(((b*d.groups+g)*d.kernel+k)*rank+i)*d.outSize+o]
				axes[i] = linearTaps(moved, d.in[i], axes[i][:0])
			}
			weight := 1.0
			if d.mask != nil {
				weight = d.mask[((b*d.groups+g)*d.kernel+k)*d.outSize+o]
			}
			for ch := g * per; ch < (g+1)*per; ch++ {
				plane := d.x[(b*d.inC+ch)*d.inSize:][:d.inSize]
				columns[ch*d.kernel+k] = weighed(plane, d.in, axes, 0, weight)
			}
		}
	}
}

// linearTaps returns the neighbours of a position that lie in an axis of n.
func linearTaps(x float64, n int, out []tap) []tap {
	if !(x > -1 && x < float64(n)) {
		return out
	}
	base := math.Floor(x)
	for i, w := range [2]float64{base + 1 - x, x - base} {
		if at := int(base) + i; at >= 0 && at < n && w != 0 {
			out = append(out, tap{at, w})
		}
	}
	return out
}
