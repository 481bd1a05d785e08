package runtime

import (
	"fmt"
	"math"
	"math/cmplx"
	"slices"
	"sort"

	"github.com/starlarkgs/starlarkgs/array"
)

// Tolerance says how far two values may be apart: |a-b| ≤ Atol + Rtol·|b|, as
// numpy.allclose. Infinities equal themselves alone.
type Tolerance struct {
	Rtol, Atol float64
	EqualNaN   bool
}

// Difference tells how far two results of one name are apart.
type Difference struct {
	OK     bool
	Reason string // why they can't be compared, or differ in kind, type or shape; else ""
	// First is the row-major index of the first element that is too far off, -1
	// when none is; A and B are the elements there, Bad how many are too far off.
	First   int
	A, B    any
	Bad     int
	Count   int
	MaxAbs  float64
	MeanAbs float64
	MedAbs  float64
	MaxRel  float64
	MeanRel float64
	MedRel  float64
	MaxULP  float64
	Cosine  float64
	// Histogram counts the absolute differences in ten bins from 0 to MaxAbs.
	Histogram [10]int
}

// Compare compares two values element by element.
func Compare(a, b array.Value, tol Tolerance) Difference {
	switch x := a.(type) {
	case *array.Array:
		if y, ok := b.(*array.Array); ok {
			return compareArrays(x, y, tol)
		}
	case *array.Sequence:
		if y, ok := b.(*array.Sequence); ok {
			return compareItems(x.Items, y.Items, tol)
		}
	case *array.Optional:
		if y, ok := b.(*array.Optional); ok {
			if x.Value == nil || y.Value == nil {
				return verdict(x.Value == nil && y.Value == nil, "one of the optionals is absent")
			}
			return Compare(x.Value, y.Value, tol)
		}
		if x.Value != nil && b != nil {
			return Compare(x.Value, b, tol)
		}
	case *array.Map:
		if y, ok := b.(*array.Map); ok {
			if d := compareArrays(x.Keys, y.Keys, tol); !d.OK {
				return d
			}
			return compareItems(x.Values, y.Values, tol)
		}
	}
	if y, ok := b.(*array.Optional); ok && a != nil && y.Value != nil {
		return Compare(a, y.Value, tol)
	}
	return verdict(a == nil && b == nil, fmt.Sprintf("got %s and %s", summary(a), summary(b)))
}

func summary(v array.Value) string {
	if v == nil {
		return "none"
	}
	return v.Summary()
}

func verdict(ok bool, reason string) Difference {
	if ok {
		return Difference{OK: true, First: -1, Cosine: 1}
	}
	return Difference{Reason: reason, First: -1}
}

func compareItems(a, b []array.Value, tol Tolerance) Difference {
	if len(a) != len(b) {
		return verdict(false, fmt.Sprintf("got %d and %d elements", len(a), len(b)))
	}
	out := verdict(true, "")
	for i := range a {
		d := Compare(a[i], b[i], tol)
		if !d.OK {
			d.Reason = fmt.Sprintf("element %d: %s", i, d.Text())
			return d
		}
		if d.MaxAbs >= out.MaxAbs {
			out = d
		}
	}
	return out
}

func compareArrays(a, b *array.Array, tol Tolerance) Difference {
	switch {
	case a.DType() != b.DType():
		return verdict(false, fmt.Sprintf("got types %s and %s", a.DType(), b.DType()))
	case !slices.Equal(a.Shape(), b.Shape()):
		return verdict(false, fmt.Sprintf("got shapes %v and %v", a.Shape(), b.Shape()))
	}
	for _, x := range []*array.Array{a, b} {
		if err := x.Load(); err != nil {
			return verdict(false, err.Error())
		}
	}
	switch {
	case a.DType() == array.String:
		return compareExact(a, b)
	case a.DType().IsComplex():
		return compareComplex(a, b, tol)
	}
	x, errA := a.Float64s()
	y, errB := b.Float64s()
	if errA != nil || errB != nil {
		return verdict(false, fmt.Sprintf("%v, %v", errA, errB))
	}
	return compareFloats(a, b, x, y, tol)
}

func compareExact(a, b *array.Array) Difference {
	d := verdict(true, "")
	d.Count = a.Size()
	for i := range a.Size() {
		if x, y := a.At(i), b.At(i); x != y {
			d.Bad++
			if d.First < 0 {
				d.OK, d.First, d.A, d.B = false, i, x, y
			}
		}
	}
	return d
}

func compareFloats(a, b *array.Array, x, y []float64, tol Tolerance) Difference {
	s := newSums(len(x))
	for i := range x {
		e := gap(a, b, i, x[i], y[i])
		if !close(x[i], y[i], e, tol) {
			s.bad(i, a.At(i), b.At(i))
		}
		if math.IsNaN(x[i]) || math.IsNaN(y[i]) || math.IsInf(x[i], 0) || math.IsInf(y[i], 0) {
			continue
		}
		s.add(e, math.Abs(y[i]), x[i]*x[i], x[i]*y[i])
		s.d.MaxULP = max(s.d.MaxULP, ulps(a.DType(), x[i], y[i], e))
	}
	return s.difference()
}

// compareComplex measures distances in the plane, as numpy.allclose does: a
// number of which a part is NaN is NaN, and an infinite one equals itself alone.
func compareComplex(a, b *array.Array, tol Tolerance) Difference {
	s := newSums(a.Size())
	for i := range a.Size() {
		x, y := a.At(i).(complex128), b.At(i).(complex128)
		e := cmplx.Abs(x - y)
		nanX, nanY := hasNaN(x), hasNaN(y)
		switch {
		case nanX || nanY:
			if !tol.EqualNaN || !nanX || !nanY {
				s.bad(i, x, y)
			}
		case cmplx.IsInf(x) || cmplx.IsInf(y):
			if x != y {
				s.bad(i, x, y)
			}
		default:
			if e > tol.Atol+tol.Rtol*cmplx.Abs(y) {
				s.bad(i, x, y)
			}
			s.add(e, cmplx.Abs(y), real(x*cmplx.Conj(x)), real(x*cmplx.Conj(y)))
		}
	}
	return s.difference()
}

func hasNaN(v complex128) bool { return real(v) != real(v) || imag(v) != imag(v) }

// sums gathers what a Difference says of the finite elements.
type sums struct {
	d          Difference
	abs, rel   []float64
	xx, yy, xy float64
}

func newSums(n int) *sums {
	s := &sums{d: verdict(true, ""), abs: make([]float64, 0, n), rel: make([]float64, 0, n)}
	s.d.Count = n
	return s
}

// bad notes elements that are too far apart.
func (s *sums) bad(i int, a, b any) {
	s.d.Bad++
	if s.d.First < 0 {
		s.d.OK, s.d.First, s.d.A, s.d.B = false, i, a, b
	}
}

// add notes the distance e of x and y, the length of y, and the products x·x and x·y.
func (s *sums) add(e, y, xx, xy float64) {
	s.abs = append(s.abs, e)
	if y != 0 {
		s.rel = append(s.rel, e/y)
	}
	s.xx, s.yy, s.xy = s.xx+xx, s.yy+y*y, s.xy+xy
}

func (s *sums) difference() Difference {
	d := s.d
	d.MaxAbs, d.MeanAbs, d.MedAbs = stats(s.abs)
	d.MaxRel, d.MeanRel, d.MedRel = stats(s.rel)
	switch {
	case s.xx > 0 && s.yy > 0:
		d.Cosine = s.xy / math.Sqrt(s.xx) / math.Sqrt(s.yy)
	case s.xx > 0 || s.yy > 0:
		d.Cosine = 0
	}
	for _, e := range s.abs {
		bin := 0
		if d.MaxAbs > 0 {
			bin = min(int(e/d.MaxAbs*10), 9)
		}
		d.Histogram[bin]++
	}
	return d
}

// gap returns |x-y|. Integers of 64 bits are subtracted as such: those beyond
// 2^53 that differ by little are one float64.
func gap(a, b *array.Array, i int, x, y float64) float64 {
	switch a.DType() {
	case array.Int64:
		p, q := a.At(i).(int64), b.At(i).(int64)
		return float64(uint64(max(p, q)) - uint64(min(p, q)))
	case array.Uint64:
		p, q := a.At(i).(uint64), b.At(i).(uint64)
		return float64(max(p, q) - min(p, q))
	}
	return math.Abs(x - y)
}

// close reports whether a and b, which are gap apart, are within the tolerance.
func close(a, b, gap float64, tol Tolerance) bool {
	switch {
	case math.IsNaN(a) || math.IsNaN(b):
		return tol.EqualNaN && math.IsNaN(a) && math.IsNaN(b)
	case math.IsInf(a, 0) || math.IsInf(b, 0):
		return a == b
	}
	return gap <= tol.Atol+tol.Rtol*math.Abs(b)
}

// format is the binary places of a float type and the exponent of its least
// normal number, below which the steps get no smaller.
type format struct{ places, least int }

var formats = map[array.DType]format{
	array.Float64: {52, -1022}, array.Float32: {23, -126}, array.Float16: {10, -14}, array.BFloat16: {7, -126},
	array.Float8E4M3FN: {3, -6}, array.Float8E4M3FNUZ: {3, -7}, array.Float8E5M2: {2, -14}, array.Float8E5M2FNUZ: {2, -15},
	array.Float4E2M1: {1, 0}, array.Float6E2M3: {3, 0}, array.Float6E3M2: {2, -2}, array.Float8E8M0: {0, -127},
}

// ulps counts the steps between two numbers of the type that are gap apart, in
// units of the place of the larger.
func ulps(dt array.DType, a, b, gap float64) float64 {
	f, ok := formats[dt]
	if gap == 0 || !ok {
		return gap
	}
	_, e := math.Frexp(max(math.Abs(a), math.Abs(b)))
	return math.Ldexp(gap, f.places-max(e-1, f.least))
}

func stats(v []float64) (most, mean, median float64) {
	if len(v) == 0 {
		return 0, 0, 0
	}
	sum := 0.0
	for _, x := range v {
		most = max(most, x)
		sum += x
	}
	sorted := slices.Clone(v)
	sort.Float64s(sorted)
	n := len(sorted)
	median = sorted[n/2]
	if n%2 == 0 {
		median = (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return most, sum / float64(len(v)), median
}

// Text says in one line how the values differ.
func (d Difference) Text() string {
	switch {
	case d.Reason != "":
		return d.Reason
	case d.OK:
		return fmt.Sprintf("max |a-b| %.3g, mean %.3g", d.MaxAbs, d.MeanAbs)
	}
	return fmt.Sprintf("%d of %d elements differ, first at %d: %v and %v; max |a-b| %.3g", d.Bad, d.Count, d.First, d.A, d.B, d.MaxAbs)
}
