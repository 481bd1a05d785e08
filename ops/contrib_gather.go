package ops

import (
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// gatherBlockQuantized is Gather of what block-wise quantized data stands for; an
// index out of range gives zeros.
func gatherBlockQuantized(c *Call) error {
	in, err := c.needs(3)
	if err != nil {
		return err
	}
	data, err := c.blockReals(in[0], in[2])
	if err != nil {
		return err
	}
	axis, err := c.normalAxis(c.Int("gather_axis"), data.Rank())
	if err != nil {
		return err
	}
	index, outside, err := c.indicesWithin(data.Shape()[axis])
	if err != nil {
		return err
	}
	y, err := c.part(gather, []*ir.Attr{ir.NewAttr("axis", int64(axis))}, data, index)
	if err != nil {
		return err
	}
	if outside != nil {
		shape := append(slices.Clone(index.Shape()), ones(data.Rank()-axis-1)...)
		if outside, err = outside.Reshape(shape...); err != nil {
			return err
		}
		if y, err = c.part(where, nil, outside, array.Scalar(float32(0)), y); err != nil {
			return err
		}
	}
	c.Out[0], err = y.Cast(in[2].DType())
	return err
}

// indicesWithin returns input 1 with 0 for what is out of the range of n, and
// where that is; nil for nowhere.
func (c *Call) indicesWithin(n int) (index, outside *array.Array, err error) {
	ids, err := c.IntsAt(1)
	if err != nil {
		return nil, nil, err
	}
	within, out, any := make([]int64, len(ids)), make([]bool, len(ids)), false
	for i, id := range ids {
		if within[i] = int64(id); id < -n || id >= n {
			within[i], out[i], any = 0, true, true
		}
	}
	shape := c.Array(1).Shape()
	index = array.FromSlice(within, shape...)
	if any {
		outside = array.FromSlice(out, shape...)
	}
	return index, outside, nil
}

// blockReals is what data stands for: integers in blocks along an axis, with a
// scale, and perhaps a zero point, for each. Bytes may hold several.
func (c *Call) blockReals(data, scales *array.Array) (*array.Array, error) {
	bits, zeros := 8, array.Scalar(float32(0))
	if data.DType() == array.Uint8 {
		if bits = c.IntOr("bits", 4); bits != 2 && bits != 4 && bits != 8 {
			return nil, c.Errorf("attribute \"bits\": got %d, want 2, 4 or 8", bits)
		}
		zeros = array.Scalar(float32(int(1) << (bits - 1)))
	}
	if !data.DType().IsInt() || data.Rank() == 0 {
		return nil, c.Errorf("input 0: got %s, want integers of rank 1 or more", data.Summary())
	}
	x, err := c.unpackedBytes(data, bits)
	if err != nil {
		return nil, err
	}
	if c.Has(3) {
		z, err := c.Need(3)
		if err != nil {
			return nil, err
		}
		if zeros, err = c.unpackedBytes(z, bits); err != nil {
			return nil, err
		}
		if zeros, err = c.cropTo(zeros, scales.Shape()); err != nil {
			return nil, err
		}
	}
	return c.scaleBlocks(x, scales, zeros)
}

// unpackedBytes are the integers of a as float32; bytes that hold several give
// them along the last axis.
func (c *Call) unpackedBytes(a *array.Array, bits int) (*array.Array, error) {
	if bits == 8 || a.DType() != array.Uint8 || a.Rank() == 0 {
		return a.Cast(array.Float32)
	}
	per := 8 / bits
	shape := slices.Clone(a.Shape())
	shape[len(shape)-1] *= per
	if err := c.CheckSize(array.Float32, shape); err != nil {
		return nil, err
	}
	bytes := array.Data[uint8](a.Contiguous())
	out := make([]float32, len(bytes)*per)
	for i := range out {
		out[i] = float32(unpackBits(bytes, i, bits))
	}
	return array.FromSlice(out, shape...), nil
}

// cropTo drops what padding to whole bytes has added to the last axis.
func (c *Call) cropTo(a *array.Array, shape []int) (*array.Array, error) {
	n := len(shape)
	if a.Rank() != n || n == 0 || a.Shape()[n-1] < shape[n-1] {
		return nil, c.Errorf("input 3: got %s, want one zero point for each scale, %v", a.Summary(), shape)
	}
	parts, err := c.parts(a, n-1, []int{shape[n-1], a.Shape()[n-1] - shape[n-1]})
	if err != nil {
		return nil, err
	}
	return parts[0], nil
}

func (c *Call) scaleBlocks(x, scales, zeros *array.Array) (*array.Array, error) {
	axis, err := c.normalAxis(c.IntOr("quantize_axis", 1), x.Rank())
	if err != nil {
		return nil, err
	}
	block := c.IntOr("block_size", 128)
	want := slices.Clone(x.Shape())
	if block < 1 {
		return nil, c.Errorf("attribute \"block_size\": got %d, want 1 or more", block)
	}
	want[axis] = (want[axis] + block - 1) / block
	if !slices.Equal(scales.Shape(), want) || zeros.Size() != 1 && !slices.Equal(zeros.Shape(), want) {
		return nil, c.Errorf("scales: got %s, want shape %v: one for each block of %d on axis %d", scales.Summary(), want, block, axis)
	}
	s, err := scales.Float64s()
	if err != nil {
		return nil, err
	}
	z, err := zeros.Float64s()
	if err != nil {
		return nil, err
	}
	_, n, inner := splitAt(x.Shape(), axis)
	v := array.Data[float32](x.Contiguous())
	out := make([]float32, len(v))
	for i := range out {
		at := (i/(n*inner)*want[axis]+i/inner%n/block)*inner + i%inner
		out[i] = float32((float64(v[i]) - z[min(at, len(z)-1)]) * s[at])
	}
	return array.FromSlice(out, x.Shape()...), nil
}

func inferGatherBlockQuantized(c *Infer) error {
	data := c.Fact(0)
	data.Elems, data.Const = nil, nil
	if bits := c.IntOr("bits", 4); data.DType == array.Uint8 && len(data.Dims) > 0 && bits > 0 {
		data.Dims = slices.Clone(data.Dims)
		last := len(data.Dims) - 1
		data.Dims[last] = data.Dims[last].MulInt(int64(8 / min(bits, 8)))
	}
	if data.DType == array.Undefined {
		data.Dims = nil // bytes may hold several
	}
	out, err := c.part(inferGather, []*ir.Attr{ir.NewAttr("axis", int64(c.Int("gather_axis")))}, data, c.Fact(1))
	out.DType = c.Fact(2).DType
	c.Set(0, out)
	return err
}

// inferOf makes an inference of output 0 that has the type of one input and the
// sizes that dims makes of the inputs'.
func inferOf(typ int, dims func(c *Infer) []sym.Expr) func(*Infer) error {
	return func(c *Infer) error {
		c.Set(0, TensorFact(c.Fact(typ).DType, dims(c)))
		return nil
	}
}

var contribGatherOps = []Op{
	{Domain: contribDomain, Name: "GatherBlockQuantized", Since: 1, Infer: inferGatherBlockQuantized, Eval: gatherBlockQuantized},
	{Domain: contribDomain, Name: "TorchEmbedding", Since: 1, Infer: inferOf(0, func(c *Infer) []sym.Expr {
		w, index := c.Fact(0).Dims, c.Fact(1).Dims
		if len(w) != 2 || index == nil {
			return nil
		}
		return joinDims(index, w[1:])
	})},
}
