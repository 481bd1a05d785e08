package ops

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/par"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// orderKeys returns a number for each element such that elements compare as
// their numbers do: equal elements have equal ones, NaN is the largest and
// equal to itself. Complex elements have two, the real part first. So one
// comparison serves all types.
func orderKeys(a *array.Array) ([]uint64, error) {
	switch dt := a.DType(); {
	case dt == array.Float32:
		return floatKeys(array.Data[float32](a)), nil
	case dt == array.Uint64:
		return array.Data[uint64](a), nil
	case dt.IsInt() || dt == array.Bool:
		vs, err := a.Int64s()
		if err != nil {
			return nil, err
		}
		keys := make([]uint64, len(vs))
		for i, v := range vs {
			keys[i] = uint64(v) ^ 1<<63
		}
		return keys, nil
	case dt.IsFloat():
		vs, err := a.Float64s()
		return floatKeys(vs), err
	case dt.IsComplex():
		w, err := a.Cast(array.Complex128)
		if err != nil {
			return nil, err
		}
		var parts []float64
		for _, v := range array.Data[complex128](w) {
			parts = append(parts, real(v), imag(v))
		}
		return floatKeys(parts), nil
	}
	return stringKeys(a.Strings()), nil
}

func floatKeys[T float32 | float64](vs []T) []uint64 {
	keys := make([]uint64, len(vs))
	for i, v := range vs {
		if v == 0 {
			v = 0 // -0 too
		}
		b := math.Float64bits(float64(v))
		b ^= uint64(int64(b)>>63) | 1<<63 // negative ones by all bits; no branch to guess
		if v != v {
			b = math.MaxUint64
		}
		keys[i] = b
	}
	return keys
}

// stringKeys returns the ranks of the strings.
func stringKeys(ss []string) []uint64 {
	sorted := slices.Clone(ss)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	keys := make([]uint64, len(ss))
	for i, s := range ss {
		k, _ := slices.BinarySearch(sorted, s)
		keys[i] = uint64(k)
	}
	return keys
}

// topAttrs returns the axis and the number of elements to find.
func (c *Call) topArgs(a *array.Array) (axis, k int, err error) {
	if axis, err = c.normalAxis(c.IntOr("axis", -1), a.Rank()); err != nil {
		return 0, 0, err
	}
	k = c.Int("k")
	if c.Opset >= 10 {
		if k, err = c.scalarInt(1); err != nil {
			return 0, 0, err
		}
	}
	if k < 0 || k > a.Shape()[axis] {
		return 0, 0, c.Errorf("k: got %d, want 0 to %d, the size of axis %d", k, a.Shape()[axis], axis)
	}
	return axis, k, nil
}

func topK(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	axis, k, err := c.topArgs(a)
	if err != nil {
		return err
	}
	if !a.DType().IsFloat() && !a.DType().IsInt() {
		return c.Errorf("input 0: got %s, want numbers", a.DType())
	}
	keys, err := orderKeys(a)
	if err != nil {
		return c.Errorf("%w", err)
	}
	shape := slices.Clone(a.Shape())
	shape[axis] = k
	values, err := c.Make(a.DType(), shape)
	if err != nil {
		return err
	}
	indices, err := c.Make(array.Int64, shape)
	if err != nil {
		return err
	}
	at := make([]int, values.Size())
	if len(at) > 0 {
		outer, n, inner := splitAt(a.Shape(), axis)
		var flip uint64 // makes the largest come first
		if c.IntOr("largest", 1) != 0 {
			flip = math.MaxUint64
		}
		ix := array.MutableData[int64](indices)
		par.For(outer*inner, max(1, rowGrain/n), func(lo, hi int) {
			row := make([]ranked, 0, n)
			for r := lo; r < hi; r++ {
				from, to := r/inner*n*inner+r%inner, r/inner*k*inner+r%inner
				for i, e := range firstRanked(row, keys[from:], flip, n, inner, k) {
					ix[to+i*inner], at[to+i*inner] = int64(e.at), from+e.at*inner
				}
			}
		})
		takeBlocks(values, a, 1, at)
	}
	c.Out[0] = values
	if len(c.Out) > 1 {
		c.Out[1] = indices
	}
	return nil
}

// ranked is an element's key and place; of equal keys the lower place is first.
type ranked struct {
	key uint64
	at  int
}

func (a ranked) compare(b ranked) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.at, b.at))
}

// firstRanked returns the k first of n keys that are step apart, in order; row is
// memory for it. A few of many are found with a heap whose root is the last of
// the best so far: an equal key that comes later never takes its place.
func firstRanked(row []ranked, keys []uint64, flip uint64, n, step, k int) []ranked {
	row = row[:0]
	if k*8 >= n || k == 0 {
		for i := range n {
			row = append(row, ranked{keys[i*step] ^ flip, i})
		}
		slices.SortFunc(row, ranked.compare)
		return row[:k]
	}
	for i := range k {
		row = append(row, ranked{keys[i*step] ^ flip, i})
	}
	for i := k/2 - 1; i >= 0; i-- {
		sink(row, i)
	}
	for i := k; i < n; i++ {
		if key := keys[i*step] ^ flip; key < row[0].key {
			row[0] = ranked{key, i}
			sink(row, 0)
		}
	}
	slices.SortFunc(row, ranked.compare)
	return row
}

func sink(heap []ranked, i int) {
	for {
		child := 2*i + 1
		if child >= len(heap) {
			return
		}
		if child+1 < len(heap) && heap[child+1].compare(heap[child]) > 0 {
			child++
		}
		if heap[child].compare(heap[i]) <= 0 {
			return
		}
		heap[i], heap[child] = heap[child], heap[i]
		i = child
	}
}

func inferTopK(c *Infer) error {
	in := c.Fact(0)
	out, idx := TensorFact(in.DType, nil), TensorFact(array.Int64, nil)
	if in.Dims != nil {
		axis, err := c.normalAxis(c.IntOr("axis", -1), len(in.Dims))
		if err != nil {
			return err
		}
		out.Dims = slices.Clone(in.Dims)
		out.Dims[axis] = sym.Expr{}
		if c.Opset < 10 {
			out.Dims[axis] = sym.Int(int64(c.Int("k")))
		} else if es := c.ElemsAt(1); len(es) == 1 {
			out.Dims[axis] = es[0]
		}
		idx.Dims = slices.Clone(out.Dims)
	}
	c.Set(0, out)
	c.Set(1, idx)
	return nil
}

// unique finds the different elements, or the different parts along an axis.
func unique(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	shape, axis := []int{a.Size()}, 0
	if c.HasAttr("axis") {
		shape = a.Shape()
		if axis, err = c.normalAxis(c.Int("axis"), a.Rank()); err != nil {
			return err
		}
	}
	groups, err := c.groups(a, shape, axis)
	if err != nil {
		return err
	}
	if c.IntOr("sorted", 1) == 0 {
		sort.Slice(groups, func(i, j int) bool { return groups[i][0] < groups[j][0] })
	}
	first := make([]int, len(groups))
	inverse := make([]int64, shape[axis])
	indices, counts := make([]int64, len(groups)), make([]int64, len(groups))
	for g, members := range groups {
		first[g], indices[g], counts[g] = members[0], int64(members[0]), int64(len(members))
		for _, i := range members {
			inverse[i] = int64(g)
		}
	}
	if c.Out[0], err = c.taken(a, shape, axis, first); err != nil {
		return err
	}
	for i, vs := range [][]int64{indices, inverse, counts} {
		if i+1 < len(c.Out) {
			c.Out[i+1] = array.FromSlice(vs, len(vs))
		}
	}
	return nil
}

// groups sorts the parts of a along an axis, element by element, and returns
// the positions of equal ones together, ascending in each group.
func (c *Call) groups(a *array.Array, shape []int, axis int) ([][]int, error) {
	keys, err := orderKeys(a)
	if err != nil {
		return nil, c.Errorf("%w", err)
	}
	outer, n, inner := splitAt(shape, axis)
	if a.DType().IsComplex() {
		inner *= 2
	}
	compare := func(i, j int) int {
		for o := range outer {
			x, y := (o*n+i)*inner, (o*n+j)*inner
			if d := slices.Compare(keys[x:x+inner], keys[y:y+inner]); d != 0 {
				return d
			}
		}
		return 0
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Or(compare(i, j), cmp.Compare(i, j)) })
	var groups [][]int
	for _, i := range order {
		if k := len(groups) - 1; k >= 0 && compare(groups[k][0], i) == 0 {
			groups[k] = append(groups[k], i)
		} else {
			groups = append(groups, []int{i})
		}
	}
	return groups, nil
}

func inferUnique(c *Infer) error {
	in := c.Fact(0)
	count := c.Fresh()
	out := TensorFact(in.DType, []sym.Expr{count})
	inverse := TensorFact(array.Int64, []sym.Expr{{}})
	if in.Dims != nil {
		inverse.Dims[0] = sym.Product(in.Dims)
	}
	if c.HasAttr("axis") {
		if out.Dims = slices.Clone(in.Dims); in.Dims != nil {
			axis, err := c.normalAxis(c.Int("axis"), len(in.Dims))
			if err != nil {
				return err
			}
			out.Dims[axis], inverse.Dims[0] = count, in.Dims[axis]
		}
	}
	c.Set(0, out)
	c.Set(1, TensorFact(array.Int64, []sym.Expr{count}))
	c.Set(2, inverse)
	c.Set(3, TensorFact(array.Int64, []sym.Expr{count}))
	return nil
}

// nonZero returns the positions of the elements that are not zero, false or "".
func nonZero(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	set, err := isSet(a)
	if err != nil {
		return c.Errorf("input 0: %w", err)
	}
	var at []int
	for i, yes := range set {
		if yes {
			at = append(at, i)
		}
	}
	out, err := c.Make(array.Int64, []int{a.Rank(), len(at)})
	if err != nil {
		return err
	}
	dst := array.MutableData[int64](out)
	for i, p := range at {
		for k := a.Rank() - 1; k >= 0; k-- {
			d := a.Shape()[k]
			dst[k*len(at)+i] = int64(p % d)
			p /= d
		}
	}
	c.Out[0] = out
	return nil
}

// isSet tells of each element whether it is not zero, false or "".
func isSet(a *array.Array) ([]bool, error) {
	found := make([]bool, a.Size())
	switch {
	case a.DType() == array.String:
		for i, s := range a.Strings() {
			found[i] = s != ""
		}
		return found, nil
	case a.DType().IsComplex():
		w, err := a.Cast(array.Complex128)
		if err != nil {
			return nil, err
		}
		for i, v := range array.Data[complex128](w) {
			found[i] = v != 0
		}
		return found, nil
	}
	w, err := a.Cast(array.Bool)
	if err != nil {
		return nil, err
	}
	return array.Data[bool](w), nil
}

func inferNonZero(c *Infer) error {
	out := TensorFact(array.Int64, make([]sym.Expr, 2))
	if dims := c.Fact(0).Dims; dims != nil {
		out.Dims[0] = sym.Int(int64(len(dims)))
	}
	c.Set(0, out)
	return nil
}

var orderOps = []Op{
	{Name: "TopK", Since: 1, Infer: inferTopK, Eval: topK},
	{Name: "Unique", Since: 11, Infer: inferUnique, Eval: unique},
	{Name: "NonZero", Since: 9, Infer: inferNonZero, Eval: nonZero},
	{Name: "NonMaxSuppression", Since: 10, Checks: []Check{rankIn(0, 3, 3), rankIn(1, 3, 3), meet(0, 0, 1, 0), meet(0, 1, 1, 2)}, Infer: inferNMS, Eval: nonMaxSuppression},
}
