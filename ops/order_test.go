package ops_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"

	"github.com/starlarkgs/starlarkgs/array"
)

// TestTopK compares both ways of finding the first k with a full sort.
func TestTopK(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 7, 300} {
		xs := make([]float32, n)
		for i := range xs {
			xs[i] = float32(r.IntN(20)) - 10 // ties are common
		}
		for _, k := range []int{0, 1, n / 10, n} {
			for _, largest := range []int64{0, 1} {
				order := make([]int, n)
				for i := range order {
					order[i] = i
				}
				sort.SliceStable(order, func(i, j int) bool {
					if largest != 0 {
						return xs[order[i]] > xs[order[j]]
					}
					return xs[order[i]] < xs[order[j]]
				})
				values, indices := make([]float32, k), make([]int64, k)
				for i, p := range order[:k] {
					values[i], indices[i] = xs[p], int64(p)
				}
				test := nodeTest{op: "TopK", opset: 11, attrs: attrs(attr("largest", largest)), in: ins(floats32(xs...), int64s(int64(k))), outs: 2}
				outs := test.eval(t)
				what := fmt.Sprintf("TopK of %d, k=%d, largest=%d", n, k, largest)
				same(t, what, outs[0], nums([]int{k}, values...))
				same(t, what, outs[1], nums([]int{k}, indices...))
			}
		}
	}
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	odd := nodeTest{op: "TopK", opset: 11, in: ins(floats32(1, nan, -inf, inf, float32(math.Copysign(0, -1)), 0), int64s(6)), outs: 2}
	same(t, "odd numbers", odd.eval(t)[1], int64s(1, 3, 0, 4, 5, 2))
	u := nodeTest{op: "TopK", opset: 11, in: ins(array.FromSlice([]uint64{1, 1 << 63, 5}), int64s(2)), outs: 2}
	same(t, "uint64", u.eval(t)[1], int64s(1, 2))
	if got, want := (nodeTest{op: "TopK", opset: 11, in: ins(floats32(1), int64s(2)), outs: 2}).fails(t), "k: got 2, want 0 to 1"; !strings.Contains(got, want) {
		t.Errorf("got error %q, want %q", got, want)
	}
}

func TestUnique(t *testing.T) {
	words := nodeTest{op: "Unique", opset: 11, in: ins(strs("b", "a", "b", "c")), outs: 4}
	for i, want := range []*array.Array{strs("a", "b", "c"), int64s(1, 0, 3), int64s(1, 0, 1, 2), int64s(1, 2, 1)} {
		same(t, fmt.Sprintf("strings: output %d", i), words.eval(t)[i], want)
	}
	words.attrs = attrs(attr("sorted", int64(0)))
	same(t, "in order of appearance", words.eval(t)[0], strs("b", "a", "c"))
	nan := float32(math.NaN())
	same(t, "NaN", nodeTest{op: "Unique", opset: 11, in: ins(floats32(nan, 1, nan)), outs: 4}.eval(t)[3], int64s(1, 2))
	cplx := nodeTest{op: "Unique", opset: 11, in: ins(array.FromSlice([]complex64{2, 1i, 2, 1})), outs: 4}
	same(t, "complex", cplx.eval(t)[1], int64s(1, 3, 0))
}

func TestNonZero(t *testing.T) {
	for _, test := range []struct {
		in, want *array.Array
	}{
		{strs("", "x"), nums([]int{1, 1}, int64(1))},
		{nums([]int{2, 2}, true, false, false, true), nums([]int{2, 2}, []int64{0, 1, 0, 1}...)},
		{array.Scalar(float32(3)), nums([]int{0, 1}, []int64{}...)},
		{array.FromSlice([]complex64{0, 1i}), nums([]int{1, 1}, int64(1))},
	} {
		same(t, fmt.Sprint(test.in), nodeTest{op: "NonZero", opset: 13, in: ins(test.in)}.eval(t)[0], test.want)
	}
}

func TestScatterReductions(t *testing.T) {
	idx, upd := nums([]int{3, 1}, []int64{1, 1, 0}...), []float32{2, 3, -1}
	for reduction, want := range map[string][]float32{"none": {-1, 3}, "add": {9, 25}, "mul": {-10, 120}, "max": {10, 20}, "min": {-1, 2}} {
		for _, dt := range []array.DType{array.Float32, array.Float16, array.Float64, array.Int32, array.Int64} {
			in := make([]array.Value, 3)
			for i, a := range []*array.Array{floats32(10, 20), idx, floats32(upd...)} {
				if in[i] = a; i != 1 {
					c, err := a.Cast(dt)
					if err != nil {
						t.Fatal(err)
					}
					in[i] = c
				}
			}
			wanted, err := floats32(want...).Cast(dt)
			if err != nil {
				t.Fatal(err)
			}
			n := nodeTest{op: "ScatterND", opset: 18, attrs: attrs(attr("reduction", reduction)), in: in}
			same(t, fmt.Sprintf("%s of %s", reduction, dt), n.eval(t)[0], wanted)
		}
	}
	wrap := nodeTest{op: "ScatterND", opset: 18, attrs: attrs(attr("reduction", "add")), in: ins(array.FromSlice([]uint8{250}), nums([]int{1, 1}, int64(0)), array.FromSlice([]uint8{10}))}
	same(t, "uint8 wraps", wrap.eval(t)[0], array.FromSlice([]uint8{4}))
}

func TestTensorScatter(t *testing.T) {
	cache, upd := floats32(1, 2, 3, 4, 5, 6), floats32(8, 9)
	reshape := func(a *array.Array, shape ...int) *array.Array {
		b, err := a.Reshape(shape...)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	cache, upd = reshape(cache, 1, 3, 2), reshape(upd, 1, 1, 2)
	n := nodeTest{op: "TensorScatter", opset: 24, in: ins(cache, upd, int64s(2))}
	same(t, "linear", n.eval(t)[0], reshape(floats32(1, 2, 3, 4, 8, 9), 1, 3, 2))
	n.in = ins(cache, upd, int64s(3))
	if got, want := n.fails(t), "write_indices: got 3 for 1 elements, want 0 to 2"; !strings.Contains(got, want) {
		t.Errorf("got error %q, want %q", got, want)
	}
	n.attrs = attrs(attr("mode", "circular"))
	same(t, "circular", n.eval(t)[0], reshape(floats32(8, 9, 3, 4, 5, 6), 1, 3, 2))
}
