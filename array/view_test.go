package array

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func ramp(t *testing.T, dt DType, shape ...int) *Array {
	t.Helper()
	n, err := count(shape)
	if err != nil {
		t.Fatal(err)
	}
	a := New(dt, shape...)
	for i := range n {
		v := any(i)
		switch {
		case dt == String:
			v = strconv.Itoa(i)
		case dt == Bool:
			v = i%3 == 0
		case dt.Bits() < 8:
			v = i % 2
		case dt == Float8E8M0:
			v = math.Ldexp(1, i)
		}
		if err := a.SetAt(i, v); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// parseKey reads a key as index.txt has it.
func parseKey(t *testing.T, s string) []Index {
	t.Helper()
	var key []Index
	number := func(s string) *int {
		if s == "" {
			return nil
		}
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return &n
	}
	for _, part := range strings.Split(s, ",") {
		switch {
		case part == "":
		case part == "...":
			key = append(key, Index{Kind: Ellipsis})
		case part == "None":
			key = append(key, Index{Kind: NewAxis})
		case strings.Contains(part, ":"):
			p := append(strings.Split(part, ":"), "")
			x := Index{Kind: SliceIndex, Start: number(p[0]), Stop: number(p[1])}
			if step := number(p[2]); step != nil {
				x.Step = *step
			}
			key = append(key, x)
		default:
			key = append(key, Index{Kind: AtIndex, At: *number(part)})
		}
	}
	return key
}

// TestViewLikeNumPy reads the views through every way there is, for types of all
// widths.
func TestViewLikeNumPy(t *testing.T) {
	for _, dt := range []DType{Int64, Uint8, Uint16, Complex128, Int4, Uint2, String} {
		base := ramp(t, dt, 2, 3, 4)
		oracle(t, "testdata/index.txt", func(line string) {
			f := strings.Split(line, "; ")
			v, err := base.View(parseKey(t, f[0]))
			if err != nil {
				t.Fatalf("a[%s]: %v", f[0], err)
			}
			if got := strings.Trim(fmt.Sprint(v.Shape()), "[]"); got != f[1] {
				t.Errorf("a[%s].Shape() = [%s], want [%s]", f[0], got, f[1])
			}
			want := New(dt, v.Shape()...)
			for i, at := range strings.Fields(f[2]) {
				k, _ := strconv.Atoi(at)
				if err := want.SetAt(i, base.At(k)); err != nil {
					t.Fatal(err)
				}
				if v.At(i) != base.At(k) {
					t.Errorf("%s: a[%s].At(%d) = %v, want %v", dt, f[0], i, v.At(i), base.At(k))
				}
			}
			if !Equal(v, want) || !Equal(v.Copy(), want) || !Equal(v.Contiguous(), want) {
				t.Errorf("%s: a[%s] = %v, want %v", dt, f[0], v, want)
			}
		})
	}
}

func TestViewErrors(t *testing.T) {
	a := New(Float32, 2, 3)
	for _, tc := range []struct{ key, want string }{
		{"2", "index 2 is out of range for axis 0 of size 2"},
		{":,-4", "index -4 is out of range for axis 1 of size 3"},
		{"0,0,0", "got 3 indices, want at most 2, the rank of the array"},
		{"...,...", "an index can hold one ellipsis only"},
	} {
		if _, err := a.View(parseKey(t, tc.key)); errText(err) != tc.want {
			t.Errorf("a[%s]: %q, want %q", tc.key, errText(err), tc.want)
		}
	}
}

func TestViewSteps(t *testing.T) {
	a := ramp(t, Int64, 5)
	for _, tc := range []struct {
		x    Index
		want []int64
	}{
		{Index{Kind: SliceIndex, Step: math.MinInt}, []int64{4}},
		{Index{Kind: SliceIndex, Step: math.MaxInt}, []int64{0}},
		{Index{Kind: SliceIndex, Start: ptr(math.MinInt), Stop: ptr(math.MaxInt)}, []int64{0, 1, 2, 3, 4}},
		{Index{Kind: SliceIndex, Start: ptr(math.MaxInt), Stop: ptr(math.MinInt), Step: -3}, []int64{4, 1}},
	} {
		v, err := a.View([]Index{tc.x})
		if err != nil || !slices.Equal(Data[int64](v), tc.want) {
			t.Errorf("a[%+v] = %v, %v, want %v", tc.x, v, err, tc.want)
		}
	}
}

func ptr(n int) *int { return &n }

func TestEmptyViews(t *testing.T) {
	for _, dt := range []DType{Float32, Int4, String} {
		a := New(dt, 5, 0)
		v, err := a.View([]Index{{Kind: AtIndex, At: 4}})
		if err != nil {
			t.Fatal(err)
		}
		flat, err := v.Reshape(-1)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range []*Array{a, v, flat, v.Copy()} {
			if x.Size() != 0 || !x.IsContiguous() || x.String() != "[]" || x.NBytes() != 0 || !Equal(x, New(dt, x.Shape()...)) {
				t.Errorf("%s prints %s, has %d elements", x.Summary(), x, x.Size())
			}
		}
		if dt != String {
			if raw, err := v.Bytes(); len(raw) != 0 || err != nil {
				t.Errorf("Bytes of an empty view = %v, %v", raw, err)
			}
		}
	}
}

func TestWritesThroughViews(t *testing.T) {
	for _, dt := range []DType{Int8, Int64, Float16, Int4, Complex64} {
		a := New(dt, 3, 3)
		turned, err := a.Transpose()
		if err != nil {
			t.Fatal(err)
		}
		v, err := turned.View(parseKey(t, "::-1,1"))
		if err != nil {
			t.Fatal(err)
		}
		if err := v.SetAt(0, 1); err != nil {
			t.Fatal(err)
		}
		want := New(dt, 3, 3)
		if err := want.SetAt(5, 1); err != nil { // row 1, the last column
			t.Fatal(err)
		}
		if !Equal(a, want) {
			t.Errorf("%s: after the write\n%v\nwant\n%v", dt, a, want)
		}
	}
}

// TestPackedPart holds that bytes hold nothing of the elements beside a view's.
func TestPackedPart(t *testing.T) {
	a, err := FromBytes(Int4, []int{4}, []byte{0x21, 0x43})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string][]byte{":3": {0x21, 0x03}, ":1": {0x01}, "1:": {0x32, 0x04}, "2:": {0x43}, "2:3": {0x03}, "::-1": {0x34, 0x12}, ":": {0x21, 0x43}} {
		v, err := a.View(parseKey(t, key))
		if err != nil {
			t.Fatal(err)
		}
		if raw, err := v.Bytes(); !slices.Equal(raw, want) || err != nil {
			t.Errorf("a[%s].Bytes() = %x, %v, want %x", key, raw, err, want)
		}
	}
	// Padding that a file has is kept: what is not edited is written as it was.
	odd, err := FromBytes(Int4, []int{3}, []byte{0x21, 0xf3})
	if err != nil {
		t.Fatal(err)
	}
	if raw, err := odd.Bytes(); !slices.Equal(raw, []byte{0x21, 0xf3}) || err != nil {
		t.Errorf("Bytes() = %x, %v, want the bytes given", raw, err)
	}
}

func TestReshape(t *testing.T) {
	a := ramp(t, Int32, 2, 6)
	for _, tc := range []struct {
		shape []int
		want  string
		err   string
	}{
		{[]int{3, 4}, "int32[3,4]", ""},
		{[]int{-1}, "int32[12]", ""},
		{[]int{2, -1, 3}, "int32[2,2,3]", ""},
		{[]int{1, 12, 1}, "int32[1,12,1]", ""},
		{[]int{5, -1}, "", "array: cannot reshape 12 elements to [5 -1]: the size of the -1 does not follow"},
		{[]int{0, -1}, "", "array: cannot reshape 12 elements to [0 -1]: the size of the -1 does not follow"},
		{[]int{-1, -1}, "", "array: cannot reshape 12 elements to [-1 -1]: got a size of -1, want sizes ≥ 0 and at most one -1"},
		{[]int{-2, 6}, "", "array: cannot reshape 12 elements to [-2 6]: got a size of -2, want sizes ≥ 0 and at most one -1"},
		{[]int{5}, "", "array: cannot reshape 12 elements to [5]"},
		{[]int{}, "", "array: cannot reshape 12 elements to []"},
		{[]int{1 << 32, 1 << 32, 12}, "", "array: cannot reshape 12 elements to [4294967296 4294967296 12]"},
		{[]int{1 << 62, 1 << 62, -1}, "", "array: cannot reshape 12 elements to [4611686018427387904 4611686018427387904 -1]: the size of the -1 does not follow"},
	} {
		got, err := a.Reshape(tc.shape...)
		if errText(err) != tc.err {
			t.Errorf("Reshape(%v): %q, want %q", tc.shape, errText(err), tc.err)
			continue
		}
		if err == nil && (got.Summary() != tc.want || !slices.Equal(Data[int32](got), Data[int32](a))) {
			t.Errorf("Reshape(%v) = %s %v, want %s", tc.shape, got.Summary(), got, tc.want)
		}
	}
	if err := must(t)(a.Reshape(12)).SetAt(0, 99); err != nil || a.At(0) != int64(99) {
		t.Errorf("a write through a reshaped contiguous array does not show: %v, %v", a.At(0), err)
	}
	turned := must(t)(must(t)(a.Transpose()).Reshape(12))
	if want := []int32{99, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11}; !slices.Equal(Data[int32](turned), want) {
		t.Errorf("reshaped transpose = %v, want %v", turned, want)
	}
}

// must returns the array of a call that must not fail.
func must(t *testing.T) func(*Array, error) *Array {
	return func(a *Array, err error) *Array {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
}

func TestTranspose(t *testing.T) {
	a := ramp(t, Int16, 2, 3, 4)
	for _, tc := range []struct {
		perm []int
		want string
		err  string
	}{
		{nil, "int16[4,3,2]", ""},
		{[]int{1, 0, 2}, "int16[3,2,4]", ""},
		{[]int{-1, 0, 1}, "int16[4,2,3]", ""},
		{[]int{0, 1}, "", "array: transpose: got 2 axes, want 3"},
		{[]int{0, 1, 1}, "", "array: transpose: got axes [0 1 1], want a permutation of 0 to 2"},
		{[]int{0, 1, 3}, "", "array: transpose: got axes [0 1 3], want a permutation of 0 to 2"},
		{[]int{0, 1, -4}, "", "array: transpose: got axes [0 1 -4], want a permutation of 0 to 2"},
	} {
		got, err := a.Transpose(tc.perm...)
		if errText(err) != tc.err || err == nil && got.Summary() != tc.want {
			t.Errorf("Transpose(%v) = %v, %q, want %s, %q", tc.perm, got, errText(err), tc.want, tc.err)
		}
	}
	b := must(t)(a.Transpose(2, 0, 1))
	for i := range 4 {
		for j := range 2 {
			for k := range 3 {
				if got, want := b.At(i*6+j*3+k), a.At(j*12+k*4+i); got != want {
					t.Errorf("b[%d,%d,%d] = %v, want %v", i, j, k, got, want)
				}
			}
		}
	}
}

func TestBroadcast(t *testing.T) {
	a := ramp(t, Int32, 3, 1)
	got := must(t)(a.BroadcastTo([]int{2, 3, 2}))
	if want := []int32{0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2}; !slices.Equal(Data[int32](got), want) || got.IsContiguous() {
		t.Errorf("BroadcastTo = %v, want %v", got, want)
	}
	if got := must(t)(a.BroadcastTo([]int{3, 0})); got.Size() != 0 {
		t.Errorf("BroadcastTo([3 0]) has %d elements, want none", got.Size())
	}
	for _, tc := range []struct {
		shape []int
		want  string
	}{
		{[]int{3}, "array: cannot broadcast [3 1] to [3]"},
		{[]int{2, 2}, "array: cannot broadcast [3 1] to [2 2]"},
		{[]int{3, -1}, "array: shape [3 -1]: got a negative size"},
		{[]int{1 << 40, 3, 1 << 20}, "array: 3458764513820540928 elements of int32: got more bytes than an int counts"},
	} {
		if _, err := a.BroadcastTo(tc.shape); errText(err) != tc.want {
			t.Errorf("BroadcastTo(%v): %q, want %q", tc.shape, errText(err), tc.want)
		}
	}
	huge := must(t)(a.BroadcastTo([]int{1 << 45, 3, 1}))
	want := "array: got 105553116266496 elements of int32, want at most 1099511627776 bytes"
	if _, err := huge.Bytes(); errText(err) != want {
		t.Errorf("Bytes of a huge array: %q, want %q", errText(err), want)
	}
	if _, err := huge.Reshape(-1); errText(err) != want {
		t.Errorf("Reshape of a huge array: %q, want %q", errText(err), want)
	}
	wantPanic(t, want, func() { huge.Contiguous() })
}

func TestBroadcastShapes(t *testing.T) {
	for _, tc := range []struct {
		in   [][]int
		want []int
		err  string
	}{
		{nil, []int{}, ""},
		{[][]int{{2, 3}, {}}, []int{2, 3}, ""},
		{[][]int{{2, 1}, {3}, {1, 1, 1}}, []int{1, 2, 3}, ""},
		{[][]int{{0}, {1}}, []int{0}, ""},
		{[][]int{{0}, {2}}, nil, "array: shapes [[0] [2]] do not broadcast together"},
		{[][]int{{2}, {3}}, nil, "array: shapes [[2] [3]] do not broadcast together"},
	} {
		got, err := BroadcastShapes(tc.in...)
		if !slices.Equal(got, tc.want) || errText(err) != tc.err {
			t.Errorf("BroadcastShapes(%v) = %v, %q, want %v, %q", tc.in, got, errText(err), tc.want, tc.err)
		}
	}
}
