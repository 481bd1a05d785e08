package num

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/starlarkgs/starlarkgs/array"
)

// Reduction is a function of the elements along some axes.
type Reduction struct {
	Name  string
	Int   func([]int64) int64
	F     func([]float64) float64
	S     func([]string) string
	Empty bool // defined for no elements
	// Result tells the element type of the result; nil keeps that of the operand.
	Result func(array.DType) array.DType
	// Index makes the result the position of an element, of type int64.
	Index func([]float64) int64
}

// NormalAxes returns the axes, made non-negative and sorted; none means all.
func NormalAxes(axes []int, rank int) ([]int, error) {
	if axes == nil {
		axes = make([]int, rank)
		for i := range axes {
			axes[i] = i
		}
		return axes, nil
	}
	out := make([]int, len(axes))
	for i, a := range axes {
		if out[i] = a; a < 0 {
			out[i] += rank
		}
		if out[i] < 0 || out[i] >= rank {
			return nil, fmt.Errorf("axis %d is out of range for an array of rank %d", a, rank)
		}
	}
	slices.Sort(out)
	if len(slices.Compact(slices.Clone(out))) != len(out) {
		return nil, fmt.Errorf("axes %v name one axis twice", axes)
	}
	return out, nil
}

// Apply reduces over the axes (nil for all).
func (f *Reduction) Apply(a *array.Array, axes []int, keep bool) (*array.Array, error) {
	axes, err := NormalAxes(axes, a.Rank())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	moved, outer, n, shape := split(a, axes, keep)
	if n == 0 && !f.Empty {
		return nil, fmt.Errorf("%s: the operand has no elements along the axes", f.Name)
	}
	dt := a.DType()
	if f.Result != nil {
		dt = f.Result(dt)
	}
	switch {
	case f.Index != nil:
		return f.reduceFloats(moved, outer, n, shape, array.Int64)
	case a.DType() == array.String && f.S != nil:
		rows := rowsOf(moved.Strings(), outer, n, f.S)
		return array.FromStrings(rows, shape...), nil
	case (a.DType().IsInt() || a.DType() == array.Bool) && dt.IsInt() && f.Int != nil, a.DType() == array.Bool && dt == array.Bool && f.Int != nil:
		return array.FromSlice(rowsOf(ints(moved), outer, n, f.Int), shape...).CastWith(dt, true)
	case f.F != nil:
		return f.reduceFloats(moved, outer, n, shape, dt)
	}
	return nil, fmt.Errorf("%s: not defined for %s", f.Name, a.DType())
}

func (f *Reduction) reduceFloats(a *array.Array, outer, n int, shape []int, dt array.DType) (*array.Array, error) {
	x, err := a.Float64s()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	if f.Index != nil {
		return array.FromSlice(rowsOf(x, outer, n, f.Index), shape...), nil
	}
	return array.FromSlice(rowsOf(x, outer, n, f.F), shape...).Cast(dt)
}

// split moves the reduced axes to the end: outer rows of n elements each.
func split(a *array.Array, axes []int, keep bool) (moved *array.Array, outer, n int, shape []int) {
	var perm []int
	outer, n, shape = 1, 1, []int{}
	for i, d := range a.Shape() {
		if slices.Contains(axes, i) {
			n *= d
			if keep {
				shape = append(shape, 1)
			}
			continue
		}
		perm = append(perm, i)
		outer *= d
		shape = append(shape, d)
	}
	moved = a
	if a.Rank() > 0 {
		moved, _ = a.Transpose(append(perm, axes...)...) // a permutation by construction
	}
	return moved.Contiguous(), outer, n, shape
}

func rowsOf[T, U any](x []T, outer, n int, f func([]T) U) []U {
	out := make([]U, outer)
	for i := range out {
		out[i] = f(x[i*n : (i+1)*n])
	}
	return out
}

// pairwise sums in halves, which keeps the rounding error of a long sum small.
func pairwise(x []float64) float64 {
	if len(x) <= 128 {
		s := 0.0
		for _, v := range x {
			s += v
		}
		return s
	}
	half := len(x) / 2
	return pairwise(x[:half]) + pairwise(x[half:])
}

func mean(x []float64) float64 { return pairwise(x) / float64(len(x)) }

func variance(x []float64) float64 {
	m := mean(x)
	d := make([]float64, len(x))
	for i, v := range x {
		d[i] = (v - m) * (v - m)
	}
	return pairwise(d) / float64(len(x))
}

func best(x []float64, better func(a, b float64) bool) int64 {
	at := 0
	for i, v := range x {
		if math.IsNaN(v) {
			return int64(i)
		}
		if better(v, x[at]) {
			at = i
		}
	}
	return int64(at)
}

func extreme(x []float64, pick func(a, b float64) float64) float64 {
	out := x[0]
	for _, v := range x[1:] {
		out = pick(out, v)
	}
	return out
}

func maxf(a, b float64) float64 { return max(a, b) }
func minf(a, b float64) float64 { return min(a, b) }

// sumType widens small integers, as NumPy's sum and prod.
func sumType(dt array.DType) array.DType {
	switch {
	case dt.IsUnsigned():
		return array.Uint64
	case dt.IsSigned() || dt == array.Bool:
		return array.Int64
	}
	return dt
}

func meanType(dt array.DType) array.DType {
	if dt.IsFloat() || dt.IsComplex() {
		return dt
	}
	return array.Float64
}

func boolType(array.DType) array.DType { return array.Bool }

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// reductions by their NumPy names.
var reductions = []*Reduction{
	{Name: "sum", Empty: true, Result: sumType, F: pairwise, Int: func(x []int64) int64 {
		s := int64(0)
		for _, v := range x {
			s += v
		}
		return s
	}},
	{Name: "prod", Empty: true, Result: sumType, F: func(x []float64) float64 {
		p := 1.0
		for _, v := range x {
			p *= v
		}
		return p
	}, Int: func(x []int64) int64 {
		p := int64(1)
		for _, v := range x {
			p *= v
		}
		return p
	}},
	{Name: "mean", Result: meanType, F: mean},
	{Name: "var", Result: meanType, F: variance},
	{Name: "std", Result: meanType, F: func(x []float64) float64 { return math.Sqrt(variance(x)) }},
	{Name: "max", F: func(x []float64) float64 { return extreme(x, maxf) }, Int: slices.Max[[]int64], S: slices.Max[[]string]},
	{Name: "min", F: func(x []float64) float64 { return extreme(x, minf) }, Int: slices.Min[[]int64], S: slices.Min[[]string]},
	{Name: "argmax", Index: func(x []float64) int64 { return best(x, func(a, b float64) bool { return a > b }) }},
	{Name: "argmin", Index: func(x []float64) int64 { return best(x, func(a, b float64) bool { return a < b }) }},
	{Name: "any", Empty: true, Result: boolType, F: func(x []float64) float64 {
		return truth(slices.ContainsFunc(x, func(v float64) bool { return v != 0 }))
	}},
	{Name: "all", Empty: true, Result: boolType, F: func(x []float64) float64 { return truth(!slices.Contains(x, 0)) }},
}

// Reductions lists the reductions.
func Reductions() []*Reduction { return reductions }

// Reduce returns the reduction of that name, or nil.
func Reduce(name string) *Reduction {
	for _, f := range reductions {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// ArgSort returns, along an axis, the positions that would sort the elements
// stably, NaN last.
func ArgSort(a *array.Array, axis int) (*array.Array, error) {
	axes, err := NormalAxes([]int{axis}, a.Rank())
	if err != nil {
		return nil, fmt.Errorf("argsort: %w", err)
	}
	moved, outer, n, _ := split(a, axes, false)
	less, err := lessOf(moved)
	if err != nil {
		return nil, fmt.Errorf("argsort: %w", err)
	}
	out := make([]int64, outer*n)
	for r := range outer {
		row := out[r*n : (r+1)*n]
		for i := range row {
			row[i] = int64(i)
		}
		sort.SliceStable(row, func(i, j int) bool { return less(r*n+int(row[i]), r*n+int(row[j])) })
	}
	return unsplit(array.FromSlice(out, moved.Shape()...), axes[0])
}

// lessOf returns the order of a contiguous array's elements.
func lessOf(a *array.Array) (func(i, j int) bool, error) {
	switch {
	case a.DType() == array.String:
		s := a.Strings()
		return func(i, j int) bool { return s[i] < s[j] }, nil
	case a.DType() == array.Uint64:
		u := uints(a)
		return func(i, j int) bool { return u[i] < u[j] }, nil
	case a.DType().IsInt() || a.DType() == array.Bool:
		v := ints(a)
		return func(i, j int) bool { return v[i] < v[j] }, nil
	}
	x, err := a.Float64s()
	return func(i, j int) bool { return x[i] < x[j] || math.IsNaN(x[j]) && !math.IsNaN(x[i]) }, err
}

// unsplit moves the last axis back to its place.
func unsplit(a *array.Array, axis int) (*array.Array, error) {
	perm := make([]int, 0, a.Rank())
	for i := range a.Rank() - 1 {
		if i == axis {
			perm = append(perm, a.Rank()-1)
		}
		perm = append(perm, i)
	}
	if axis == a.Rank()-1 {
		perm = append(perm, axis)
	}
	out, err := a.Transpose(perm...)
	if err != nil {
		return nil, err
	}
	return out.Contiguous(), nil
}

// Take gathers elements along an axis by positions, which may be negative.
func Take(a *array.Array, indices *array.Array, axis int) (*array.Array, error) {
	axes, err := NormalAxes([]int{axis}, a.Rank())
	if err != nil {
		return nil, fmt.Errorf("take: %w", err)
	}
	at, err := indices.Int64s()
	if err != nil {
		return nil, fmt.Errorf("take: %w", err)
	}
	axis = axes[0]
	d := a.Shape()[axis]
	shape := slices.Concat(a.Shape()[:axis], indices.Shape(), a.Shape()[axis+1:])
	inner := 1
	for _, s := range a.Shape()[axis+1:] {
		inner *= s
	}
	outer := 1
	for _, s := range a.Shape()[:axis] {
		outer *= s
	}
	out, err := array.Make(a.DType(), shape)
	if err != nil {
		return nil, fmt.Errorf("take: %w", err)
	}
	k := 0
	for o := range outer {
		for _, i := range at {
			if i < 0 {
				i += int64(d)
			}
			if i < 0 || i >= int64(d) {
				return nil, fmt.Errorf("take: index %d is out of range for axis %d of size %d", i, axis, d)
			}
			for j := range inner {
				if err := out.SetAt(k, a.At((o*d+int(i))*inner+j)); err != nil {
					return nil, err
				}
				k++
			}
		}
	}
	return out, nil
}
