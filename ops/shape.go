package ops

import (
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// shapeRange returns the axes that Shape gives: start and end since opset 15.
func (s *Site) shapeRange(rank int) (lo, hi int) {
	clamp := func(v int) int {
		if v < 0 {
			v += rank
		}
		return min(max(v, 0), rank)
	}
	lo, hi = clamp(s.Int("start")), rank
	if s.HasAttr("end") {
		hi = clamp(s.Int("end"))
	}
	return lo, max(lo, hi)
}

func shapeOf(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	lo, hi := c.shapeRange(a.Rank())
	out := make([]int64, 0, hi-lo)
	for _, d := range a.Shape()[lo:hi] {
		out = append(out, int64(d))
	}
	c.Out[0] = array.FromSlice(out, len(out))
	return nil
}

func inferShape(c *Infer) error {
	dims := c.Fact(0).Dims
	if dims == nil {
		c.Set(0, TensorFact(array.Int64, []sym.Expr{{}}))
		return nil
	}
	lo, hi := c.shapeRange(len(dims))
	out := TensorFact(array.Int64, []sym.Expr{sym.Int(int64(hi - lo))})
	out.Elems = slices.Clone(dims[lo:hi])
	if out.Elems == nil {
		out.Elems = []sym.Expr{}
	}
	c.Set(0, out)
	return nil
}

func size(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	c.Out[0] = array.Scalar(int64(a.Size()))
	return nil
}

func inferSize(c *Infer) error {
	out := TensorFact(array.Int64, []sym.Expr{})
	if dims := c.Fact(0).Dims; dims != nil {
		if n := sym.Product(dims); n.Known() {
			out.Elems = []sym.Expr{n}
		}
	}
	c.Set(0, out)
	return nil
}

// reshapeTarget returns the target that an input, or before opset 5 the
// attribute, gives.
func reshape(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	target := c.Ints("shape")
	if c.Opset >= 5 || c.Has(1) {
		if target, err = c.IntsAt(1); err != nil {
			return err
		}
	}
	shape := slices.Clone(target)
	open := -1
	for i, d := range shape {
		switch {
		case d == 0 && c.Int("allowzero") == 0:
			if i >= a.Rank() {
				return c.Errorf("shape %v: 0 at %d copies a size, but the input has rank %d", target, i, a.Rank())
			}
			shape[i] = a.Shape()[i]
		case d == -1 && open < 0:
			open = i
		case d < 0:
			return c.Errorf("shape: got %v, want sizes ≥ 0 and at most one -1", target)
		}
	}
	out, err := a.Reshape(shape...)
	if err != nil {
		return c.Errorf("shape: got %v, which does not fit the %d elements of %s", target, a.Size(), a.Summary())
	}
	c.Out[0] = out
	return nil
}

func inferReshape(c *Infer) error {
	in := c.Fact(0)
	out := TensorFact(in.DType, nil)
	var target []sym.Expr
	if c.Opset >= 5 || c.HasIn(1) {
		target = c.ElemsAt(1)
		if dims := c.Fact(1).Dims; target == nil && len(dims) == 1 {
			if n, ok := dims[0].Int(); ok && n <= 64 {
				out.Dims = make([]sym.Expr, n)
			}
		}
	} else if ints := c.Ints("shape"); ints != nil {
		target = sym.Ints(ints)
	}
	if target != nil {
		out.Dims = reshapeDims(in.Dims, target, c.Int("allowzero") != 0)
	}
	out.Elems = c.ElemsAt(0)
	if _, ok := sym.AllInts(out.Dims); !ok {
		out.Elems = nil
	}
	c.Set(0, out)
	return nil
}

func reshapeDims(in, target []sym.Expr, allowZero bool) []sym.Expr {
	out := slices.Clone(target)
	open := -1
	rest := sym.Int(1)
	for i, e := range out {
		n, ok := e.Int()
		switch {
		case ok && n == 0 && !allowZero:
			out[i] = sym.Expr{}
			if i < len(in) {
				out[i] = in[i]
			}
		case ok && n == -1:
			open = i
			continue
		}
		rest = rest.Mul(out[i])
	}
	if open >= 0 {
		out[open] = sym.Expr{}
		if in != nil {
			out[open] = sym.Product(in).FloorDiv(rest)
		}
		// what divides without rest by cancelling is sure; another quotient is not
		if !out[open].Mul(rest).Equal(sym.Product(in)) && in != nil {
			if n, ok := out[open].Int(); !ok || n < 0 {
				out[open] = quotient(in, target, open)
			}
		}
	}
	return out
}

// quotient divides after sizes that stand on both sides are struck out.
func quotient(in, target []sym.Expr, open int) sym.Expr {
	left := slices.Clone(in)
	rest := sym.Int(1)
	for i, e := range target {
		if i == open {
			continue
		}
		if n, ok := e.Int(); ok && n == 0 && i < len(in) {
			e = in[i]
		}
		if k := slices.IndexFunc(left, e.Equal); k >= 0 {
			left = slices.Delete(left, k, k+1)
		} else {
			rest = rest.Mul(e)
		}
	}
	p := sym.Product(left)
	q := p.FloorDiv(rest)
	if q.Mul(rest).Equal(p) {
		return q
	}
	return sym.Expr{}
}

func flatten(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	axis := c.IntOr("axis", 1)
	if axis < 0 {
		axis += a.Rank()
	}
	if axis < 0 || axis > a.Rank() {
		return c.Errorf("axis: got %d, want %d to %d", c.IntOr("axis", 1), -a.Rank(), a.Rank())
	}
	rows, cols := 1, 1
	for i, d := range a.Shape() {
		if i < axis {
			rows *= d
		} else {
			cols *= d
		}
	}
	c.Out[0], err = a.Reshape(rows, cols)
	return err
}

func inferFlatten(c *Infer) error {
	in := c.Fact(0)
	out := TensorFact(in.DType, make([]sym.Expr, 2))
	if in.Dims != nil {
		axis := c.IntOr("axis", 1)
		if axis < 0 {
			axis += len(in.Dims)
		}
		if axis >= 0 && axis <= len(in.Dims) {
			out.Dims = []sym.Expr{sym.Product(in.Dims[:axis]), sym.Product(in.Dims[axis:])}
		}
	}
	c.Set(0, out)
	return nil
}

// axesInput returns the axes of Squeeze and Unsqueeze: an input since opset 13.
func axesInput(c *Call) ([]int, error) {
	if c.Has(1) {
		return c.IntsAt(1)
	}
	return c.Ints("axes"), nil
}

func (s *Site) normalAxes(axes []int, rank int) ([]int, error) {
	out := make([]int, len(axes))
	for i, a := range axes {
		n, err := s.normalAxis(a, rank)
		if err != nil {
			return nil, err
		}
		out[i] = n
	}
	slices.Sort(out)
	for i := 1; i < len(out); i++ {
		if out[i] == out[i-1] {
			return nil, s.Errorf("axes: got %v, want each axis once", axes)
		}
	}
	return out, nil
}

func squeeze(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	axes, err := axesInput(c)
	if err != nil {
		return err
	}
	given := axes != nil
	if axes, err = c.normalAxes(axes, a.Rank()); err != nil {
		return err
	}
	shape := []int{}
	for i, d := range a.Shape() {
		switch {
		case !given && d == 1:
		case given && slices.Contains(axes, i):
			if d != 1 {
				return c.Errorf("axes: axis %d has size %d, want 1", i, d)
			}
		default:
			shape = append(shape, d)
		}
	}
	c.Out[0], err = a.Reshape(shape...)
	return err
}

// axesOf returns the axes that an inference knows; false when they are an input
// of unknown values.
func axesOf(c *Infer, input int) (axes []int, given, known bool) {
	if c.HasIn(input) {
		axes, known = c.IntsAt(input)
		return axes, true, known
	}
	axes = c.Ints("axes")
	return axes, axes != nil, true
}

func inferSqueeze(c *Infer) error {
	in := c.Fact(0)
	out := TensorFact(in.DType, nil)
	axes, given, known := axesOf(c, 1)
	if in.Dims != nil && known {
		norm, err := c.normalAxes(axes, len(in.Dims))
		if err != nil {
			return err
		}
		out.Dims = []sym.Expr{}
		for i, d := range in.Dims {
			n, isInt := d.Int()
			switch {
			case given && slices.Contains(norm, i):
			case !given && !isInt:
				out.Dims = nil // it may be 1
				c.Set(0, out)
				return nil
			case !given && n == 1:
			default:
				out.Dims = append(out.Dims, d)
			}
		}
		out.Elems = c.ElemsAt(0)
	}
	c.Set(0, out)
	return nil
}

func unsqueeze(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	axes, err := axesInput(c)
	if err != nil {
		return err
	}
	if axes, err = c.normalAxes(axes, a.Rank()+len(axes)); err != nil {
		return err
	}
	shape := slices.Clone(a.Shape())
	for _, i := range axes {
		shape = slices.Insert(shape, i, 1)
	}
	c.Out[0], err = a.Reshape(shape...)
	return err
}

func inferUnsqueeze(c *Infer) error {
	in := c.Fact(0)
	out := TensorFact(in.DType, nil)
	axes, _, known := axesOf(c, 1)
	if in.Dims != nil && known {
		norm, err := c.normalAxes(axes, len(in.Dims)+len(axes))
		if err != nil {
			return err
		}
		out.Dims = slices.Clone(in.Dims)
		for _, i := range norm {
			out.Dims = slices.Insert(out.Dims, i, sym.Int(1))
		}
		out.Elems = c.ElemsAt(0)
	}
	c.Set(0, out)
	return nil
}

func transpose(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	v, err := a.Transpose(c.Ints("perm")...)
	if err != nil {
		return c.Errorf("perm: got %v, want a permutation of the %d axes", c.Ints("perm"), a.Rank())
	}
	c.Out[0] = contiguous(v)
	return nil
}

// contiguous lays a view out in row-major order, by rows of the inner axis for
// the common types.
func contiguous(a *array.Array) *array.Array { return a.Contiguous() }

func inferTranspose(c *Infer) error {
	in := c.Fact(0)
	out := TensorFact(in.DType, nil)
	perm := c.Ints("perm")
	if in.Dims != nil {
		if perm == nil {
			for i := range in.Dims {
				perm = append(perm, len(in.Dims)-1-i)
			}
		}
		if len(perm) != len(in.Dims) {
			return c.Errorf("perm: got %v, want a permutation of the %d axes", perm, len(in.Dims))
		}
		out.Dims = make([]sym.Expr, len(perm))
		for i, p := range perm {
			if p < 0 || p >= len(in.Dims) {
				return c.Errorf("perm: got %v, want a permutation of the %d axes", perm, len(in.Dims))
			}
			out.Dims[i] = in.Dims[p]
		}
	}
	c.Set(0, out)
	return nil
}

func concat(c *Call) error {
	first, err := c.Need(0)
	if err != nil {
		return err
	}
	axis, err := c.normalAxis(c.IntOr("axis", 1), first.Rank())
	if err != nil {
		return err
	}
	shape := slices.Clone(first.Shape())
	shape[axis] = 0
	parts := make([]*array.Array, len(c.In))
	for i := range c.In {
		if parts[i], err = c.Need(i); err != nil {
			return err
		}
		for k, d := range parts[i].Shape() {
			if parts[i].Rank() != len(shape) || k != axis && d != shape[k] {
				return c.Errorf("input %d: got shape %v, want that of input 0, %v, but for axis %d", i, parts[i].Shape(), first.Shape(), axis)
			}
		}
		if parts[i].DType() != first.DType() {
			return c.Errorf("input %d: got %s, want %s", i, parts[i].DType(), first.DType())
		}
		shape[axis] += parts[i].Shape()[axis]
	}
	out, err := c.Make(first.DType(), shape)
	if err != nil {
		return err
	}
	outer, total, inner := splitAt(shape, axis)
	at := 0
	for _, p := range parts {
		n := p.Shape()[axis]
		copyBlocks(out, p, outer, total*inner, at*inner, n*inner)
		at += n
	}
	c.Out[0] = out
	return nil
}

// copyBlocks copies, outer times, n elements of src to dst, whose blocks are
// stride apart and begin at offset.
func copyBlocks(dst, src *array.Array, outer, stride, offset, n int) {
	dt := dst.DType()
	if dt == array.String {
		d, s := array.MutableStrings(dst), src.Strings()
		for o := range outer {
			copy(d[o*stride+offset:o*stride+offset+n], s[o*n:(o+1)*n])
		}
		return
	}
	if dt.Bits() < 8 {
		for o := range outer {
			for i := range n {
				_ = dst.SetAt(o*stride+offset+i, src.At(o*n+i)) // the same type
			}
		}
		return
	}
	w := dt.Bits() / 8
	d, s := rawOf(dst), rawOf(src)
	for o := range outer {
		copy(d[(o*stride+offset)*w:(o*stride+offset+n)*w], s[o*n*w:(o+1)*n*w])
	}
}

// rawOf returns the bytes of a loaded array.
func rawOf(a *array.Array) []byte {
	b, err := a.Bytes()
	if err != nil {
		panic(err) // inputs are loaded before a kernel runs
	}
	return b
}

func inferConcat(c *Infer) error {
	first := c.Fact(0)
	out := TensorFact(first.DType, nil)
	rank := -1
	for i := range c.In {
		if c.In[i].Dims != nil {
			rank = len(c.In[i].Dims)
		}
	}
	if rank < 0 {
		c.Set(0, out)
		return nil
	}
	axis, err := c.normalAxis(c.IntOr("axis", 1), rank)
	if err != nil {
		return err
	}
	out.Dims = make([]sym.Expr, rank)
	sum := sym.Int(0)
	elems := []sym.Expr{}
	for i := range c.In {
		dims := c.In[i].Dims
		if dims == nil {
			sum, elems = sym.Expr{}, nil
			continue
		}
		if len(dims) != rank {
			return c.Errorf("input %d: got rank %d, want %d", i, len(dims), rank)
		}
		for k, d := range dims {
			if _, isInt := out.Dims[k].Int(); k != axis && !isInt && d.Known() {
				out.Dims[k] = d
			}
		}
		sum = sum.Add(dims[axis])
		if es := c.ElemsAt(i); es != nil && elems != nil && rank == 1 {
			elems = append(elems, es...)
		} else if elems != nil && rank == 1 {
			if n, ok := dims[0].Int(); ok && n < MaxElems {
				elems = append(elems, make([]sym.Expr, n)...)
			} else {
				elems = nil
			}
		} else {
			elems = nil
		}
	}
	out.Dims[axis] = sum
	if rank == 1 && len(elems) <= MaxElems {
		out.Elems = elems
	}
	c.Set(0, out)
	return nil
}

// splitSizes returns the sizes of the parts: given, or as even as they can be.
func (s *Site) splitSizes(d, outputs int, given []int) ([]int, error) {
	if given != nil {
		sum := 0
		for _, n := range given {
			if n < 0 {
				return nil, s.Errorf("split: got %v, want sizes ≥ 0", given)
			}
			sum += n
		}
		if sum != d || len(given) != outputs {
			return nil, s.Errorf("split: got %v for %d outputs, want that many sizes whose sum is %d", given, outputs, d)
		}
		return given, nil
	}
	chunk := (d + outputs - 1) / max(outputs, 1)
	sizes := make([]int, outputs)
	for i := range sizes {
		sizes[i] = max(0, min(chunk, d-i*chunk))
	}
	if s.Opset < 18 && outputs > 0 && d%outputs != 0 {
		return nil, s.Errorf("split: %d does not divide into %d equal parts", d, outputs)
	}
	return sizes, nil
}

func split(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	axis, err := c.normalAxis(c.Int("axis"), a.Rank())
	if err != nil {
		return err
	}
	given := c.Ints("split")
	if c.Has(1) {
		if given, err = c.IntsAt(1); err != nil {
			return err
		}
	}
	sizes, err := c.splitSizes(a.Shape()[axis], len(c.Out), given)
	if err != nil {
		return err
	}
	at := 0
	for i, n := range sizes {
		from, to := at, at+n
		key := slices.Repeat([]array.Index{{Kind: array.SliceIndex}}, a.Rank())
		key[axis] = array.Index{Kind: array.SliceIndex, Start: &from, Stop: &to}
		v, err := a.View(key)
		if err != nil {
			return c.Errorf("%w", err)
		}
		c.Out[i] = v.Contiguous()
		at = to
	}
	return nil
}

func inferSplit(c *Infer) error {
	in := c.Fact(0)
	given := c.Ints("split")
	known := true
	if c.HasIn(1) {
		given, known = c.IntsAt(1)
	}
	for i := range c.Out {
		out := TensorFact(in.DType, nil)
		if in.Dims != nil {
			axis, err := c.normalAxis(c.Int("axis"), len(in.Dims))
			if err != nil {
				return err
			}
			out.Dims = slices.Clone(in.Dims)
			out.Dims[axis] = sym.Expr{}
			switch d, ok := in.Dims[axis].Int(); {
			case known && given != nil && i < len(given):
				out.Dims[axis] = sym.Int(int64(given[i]))
			case known && given == nil && ok:
				sizes, err := c.splitSizes(int(d), len(c.Out), nil)
				if err != nil {
					return err
				}
				out.Dims[axis] = sym.Int(int64(sizes[i]))
			case known && given == nil && c.Opset < 18:
				out.Dims[axis] = in.Dims[axis].FloorDiv(sym.Int(int64(len(c.Out))))
			}
		}
		c.Set(i, out)
	}
	return nil
}

func expand(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	target, err := c.IntsAt(1)
	if err != nil {
		return err
	}
	shape, err := array.BroadcastShapes(a.Shape(), target)
	if err != nil {
		return c.Errorf("shape: got %v, to which %v does not broadcast", target, a.Shape())
	}
	if err := c.CheckSize(a.DType(), shape); err != nil {
		return err
	}
	v, err := a.BroadcastTo(shape)
	if err != nil {
		return c.Errorf("%w", err)
	}
	c.Out[0] = v.Contiguous()
	return nil
}

func inferExpand(c *Infer) error {
	in := c.Fact(0)
	out := TensorFact(in.DType, nil)
	if target := c.ElemsAt(1); target != nil && in.Dims != nil {
		out.Dims = broadcastDims(in.Dims, target)
	}
	c.Set(0, out)
	return nil
}

func tile(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	reps, err := c.IntsAt(1)
	if err != nil {
		return err
	}
	if len(reps) != a.Rank() {
		return c.Errorf("repeats: got %d numbers, want %d, the rank of the input", len(reps), a.Rank())
	}
	shape := slices.Clone(a.Shape())
	for i, r := range reps {
		if r < 0 {
			return c.Errorf("repeats: got %v, want numbers ≥ 0", reps)
		}
		shape[i] *= r
	}
	out, err := c.Make(a.DType(), shape)
	if err != nil {
		return err
	}
	pos := make([]int, len(shape))
	for i := range out.Size() {
		src, rest := 0, i
		for k := len(shape) - 1; k >= 0; k-- {
			pos[k] = rest % shape[k] % a.Shape()[k]
			rest /= shape[k]
		}
		for k := range pos {
			src = src*a.Shape()[k] + pos[k]
		}
		if err := out.SetAt(i, a.At(src)); err != nil {
			return err
		}
	}
	c.Out[0] = out
	return nil
}

func inferTile(c *Infer) error {
	in := c.Fact(0)
	out := TensorFact(in.DType, nil)
	if in.Dims != nil {
		out.Dims = make([]sym.Expr, len(in.Dims))
		if reps := c.ElemsAt(1); len(reps) == len(in.Dims) {
			for i, r := range reps {
				out.Dims[i] = in.Dims[i].Mul(r)
			}
		}
	}
	c.Set(0, out)
	return nil
}

var shapeOps = []Op{
	{Name: "Shape", Since: 1, Infer: inferShape, Eval: shapeOf},
	{Name: "Size", Since: 1, Infer: inferSize, Eval: size},
	{Name: "Reshape", Since: 1, Infer: inferReshape, Eval: reshape},
	{Name: "Flatten", Since: 1, Infer: inferFlatten, Eval: flatten},
	{Name: "Squeeze", Since: 1, Infer: inferSqueeze, Eval: squeeze},
	{Name: "Unsqueeze", Since: 1, Infer: inferUnsqueeze, Eval: unsqueeze},
	{Name: "Transpose", Since: 1, Infer: inferTranspose, Eval: transpose},
	{Name: "Concat", Since: 1, Infer: inferConcat, Eval: concat},
	{Name: "Split", Since: 1, Infer: inferSplit, Eval: split},
	{Name: "Expand", Since: 8, Infer: inferExpand, Eval: expand},
	{Name: "Tile", Since: 6, Infer: inferTile, Eval: tile},
}
