package ops

import (
	"math"
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// blockWindow reads the attributes that Col2Im shares with convolutions.
func (s *Site) blockWindow(block []int) (*window, error) {
	w, err := s.window(len(block), block)
	if err != nil {
		return nil, err
	}
	for i, b := range block {
		if b < 1 {
			return nil, s.Errorf("block_shape: got %v, want numbers ≥ 1", block)
		}
		w.kernel[i] = b
	}
	return w, nil
}

// col2im adds the columns of blocks to where the blocks lie in an image.
func col2im(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	image, err := c.IntsAt(1)
	if err != nil {
		return err
	}
	block, err := c.IntsAt(2)
	if err != nil {
		return err
	}
	if len(image) != len(block) || len(image) == 0 {
		return c.Errorf("image_shape, block_shape: got %v and %v, want one count of axes", image, block)
	}
	w, err := c.blockWindow(block)
	if err != nil {
		return err
	}
	columns := make([]int, len(image)) // along each axis
	for i, d := range image {
		columns[i] = w.out(i, d)
	}
	n, size := sizeOf(columns), sizeOf(block)
	if a.Rank() != 3 || a.Shape()[1]%size != 0 || a.Shape()[2] != n {
		return c.Errorf("input 0: got %s, want [N, C·%d, %d], as blocks %v of an image %v make", a.Summary(), size, n, block, image)
	}
	shape := append([]int{a.Shape()[0], a.Shape()[1] / size}, image...)
	if err := c.CheckSize(array.Float64, shape); err != nil {
		return err
	}
	x, err := a.Float64s()
	if err != nil {
		return err
	}
	out := make([]float64, sizeOf(shape))
	for i, v := range x {
		row := i / n
		if at, ok := w.lands(image, columns, row%size, i%n); ok {
			out[row/size*sizeOf(image)+at] += v
		}
	}
	return c.setFloats(0, out, shape, a.DType())
}

// lands returns where element k of the block at a column lies in the image;
// false in the padding.
func (w *window) lands(image, columns []int, k, column int) (at int, ok bool) {
	step := 1
	for i := len(image) - 1; i >= 0; i-- {
		p := column%columns[i]*w.strides[i] + k%w.kernel[i]*w.dilations[i] - w.before[i]
		if p < 0 || p >= image[i] {
			return 0, false
		}
		at += p * step
		step *= image[i]
		column /= columns[i]
		k /= w.kernel[i]
	}
	return at, true
}

func inferCol2Im(c *Infer) error {
	a := c.Fact(0)
	out := TensorFact(a.DType, nil)
	if image := c.ElemsAt(1); image != nil && len(a.Dims) == 3 {
		channels := sym.Expr{}
		if block := c.ElemsAt(2); block != nil {
			channels = a.Dims[1].FloorDiv(sym.Product(block))
		}
		out.Dims = joinDims(a.Dims[:1], []sym.Expr{channels}, image)
	} else if n, ok := c.lengthAt(1); ok && len(a.Dims) == 3 {
		out.Dims = joinDims(a.Dims[:1], make([]sym.Expr, n+1))
	}
	c.Set(0, out)
	return nil
}

// unpooledShape is the shape of what was pooled, as the attributes say.
func (s *Site) unpooledShape(in []int) ([]int, error) {
	if len(in) < 3 {
		return nil, s.Errorf("input 0: got shape %v, want rank 3 or more", in)
	}
	w, err := s.window(len(in)-2, nil)
	if err != nil {
		return nil, err
	}
	shape := slices.Clone(in[:2])
	for i, d := range in[2:] {
		shape = append(shape, (d-1)*w.strides[i]+w.kernel[i]-w.before[i]-w.after[i])
	}
	return shape, nil
}

// maxUnpool puts each element where the indices say that MaxPool found it, and
// zeros elsewhere. A larger output_shape gets the zeros at its end.
func maxUnpool(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	indices, err := c.IntsAt(1)
	if err != nil {
		return err
	}
	if len(indices) != a.Size() {
		return c.Errorf("input 1: got %d indices, want %d, one for each element", len(indices), a.Size())
	}
	pooled, err := c.unpooledShape(a.Shape())
	if err != nil {
		return err
	}
	shape := pooled
	if c.Has(2) {
		if shape, err = c.IntsAt(2); err != nil {
			return err
		}
		if len(shape) != len(pooled) {
			return c.Errorf("output_shape: got %v, want %d numbers", shape, len(pooled))
		}
	}
	out, err := c.Make(a.DType(), shape)
	if err != nil {
		return err
	}
	for i, at := range indices {
		if at < 0 || at >= sizeOf(pooled) {
			return c.Errorf("input 1: got index %d, want 0 to %d", at, sizeOf(pooled)-1)
		}
		to, step, fits := 0, 1, true
		for k := len(shape) - 1; k >= 0; k-- {
			p := at % pooled[k]
			at /= pooled[k]
			fits = fits && p < shape[k]
			to += p * step
			step *= shape[k]
		}
		if !fits {
			return c.Errorf("output_shape: got %v, which has no place for index %d of %v", shape, indices[i], pooled)
		}
		if err := out.SetAt(to, a.At(i)); err != nil {
			return err
		}
	}
	c.Out[0] = out
	return nil
}

func inferMaxUnpool(c *Infer) error {
	a := c.Fact(0)
	out := TensorFact(a.DType, nil)
	if es := c.ElemsAt(2); c.HasIn(2) {
		if out.Dims = es; es == nil && a.Dims != nil {
			out.Dims = make([]sym.Expr, len(a.Dims))
		}
	} else if dims, ok := sym.AllInts(a.Dims); ok && a.Dims != nil {
		shape, err := c.unpooledShape(dims)
		if err != nil {
			return err
		}
		out.Dims = sym.Ints(shape)
	}
	c.Set(0, out)
	return nil
}

// squares returns input 0, whose last two axes hold square matrices, its elements,
// and the size of a side.
func (c *Call) squares() (a *array.Array, x []float64, n int, err error) {
	if a, err = c.Need(0); err != nil {
		return nil, nil, 0, err
	}
	rank := a.Rank()
	if rank < 2 || a.Shape()[rank-1] != a.Shape()[rank-2] {
		return nil, nil, 0, c.Errorf("input 0: got %s, want square matrices", a.Summary())
	}
	x, err = a.Float64s()
	return a, x, a.Shape()[rank-1], err
}

// det is the determinant of each matrix in the last two axes, by elimination
// with the largest pivot.
func det(c *Call) error {
	a, x, n, err := c.squares()
	if err != nil {
		return err
	}
	shape := a.Shape()[:a.Rank()-2]
	out := make([]float64, sizeOf(shape))
	for i := range out {
		out[i] = determinant(slices.Clone(x[i*n*n:(i+1)*n*n]), n)
	}
	return c.setFloats(0, out, shape, a.DType())
}

// determinant uses up the matrix m.
func determinant(m []float64, n int) float64 {
	d := 1.0
	for k := range n {
		pivot := k
		for i := k + 1; i < n; i++ {
			if math.Abs(m[i*n+k]) > math.Abs(m[pivot*n+k]) {
				pivot = i
			}
		}
		if m[pivot*n+k] == 0 {
			return 0
		}
		if pivot != k {
			d = -d
			for j := k; j < n; j++ {
				m[k*n+j], m[pivot*n+j] = m[pivot*n+j], m[k*n+j]
			}
		}
		d *= m[k*n+k]
		for i := k + 1; i < n; i++ {
			f := m[i*n+k] / m[k*n+k]
			for j := k + 1; j < n; j++ {
				m[i*n+j] -= f * m[k*n+j]
			}
		}
	}
	return d
}

func inferDet(c *Infer) error {
	a := c.Fact(0)
	out := TensorFact(a.DType, nil)
	if n := len(a.Dims); n >= 2 {
		out.Dims = joinDims(a.Dims[:n-2])
	}
	c.Set(0, out)
	return nil
}

var unpoolOps = []Op{
	{Name: "Col2Im", Since: 18, Infer: inferCol2Im, Eval: col2im},
	{Name: "MaxUnpool", Since: 9, Infer: inferMaxUnpool, Eval: maxUnpool},
	{Name: "Det", Since: 11, Checks: []Check{rankIn(0, 2, -1), meet(0, -1, 0, -2)}, Infer: inferDet, Eval: det},
}
