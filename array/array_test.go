package array

import (
	"math"
	"slices"
	"testing"
)

func TestSizesAreChecked(t *testing.T) {
	for _, shape := range [][]int{{-1}, {1 << 40, 1 << 40}, {1 << 62, 4}} {
		if _, err := Make(Float64, shape); err == nil {
			t.Errorf("Make(float64, %v) succeeded", shape)
		}
	}
	if _, err := FromBytes(Int4, []int{3}, []byte{1}); err == nil {
		t.Error("3 elements of int4 in one byte succeeded")
	}
	if _, err := FromBytes(Int4, []int{3}, []byte{0x21, 0x0f}); err != nil {
		t.Error(err)
	}
}

func TestPackedElements(t *testing.T) {
	a, err := FromBytes(Int4, []int{3}, []byte{0x2f, 0x08})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := a.Int64s(); err != nil || !slices.Equal(got, []int64{-1, 2, -8}) {
		t.Errorf("Int64s = %v, %v, want [-1 2 -8]", got, err)
	}
	if err := a.SetAt(1, 7); err != nil || a.At(1) != int64(7) || a.At(0) != int64(-1) {
		t.Errorf("after SetAt(1, 7): %v, %v", a, err)
	}
	if err := a.SetAt(0, 8); err == nil {
		t.Error("8 fits into int4")
	}
}

// countingSource tells how often it is read.
type countingSource struct {
	data  []byte
	reads int
}

func (s *countingSource) Len() int64 { return int64(len(s.data)) }
func (s *countingSource) Bytes() ([]byte, error) {
	s.reads++
	return s.data, nil
}
func (s *countingSource) ReadAt(p []byte, off int64) (int, error) {
	return copy(p, s.data[off:]), nil
}

func TestLazyArraysCopyBeforeAWrite(t *testing.T) {
	src := &countingSource{data: []byte{1, 2, 3, 4}}
	a, err := NewLazy(Uint8, []int{4}, src)
	if err != nil || src.reads != 0 {
		t.Fatalf("making a lazy array read its source (%v)", err)
	}
	b := a.Share()
	if err := a.SetAt(0, 9); err != nil {
		t.Fatal(err)
	}
	if src.data[0] != 1 || b.At(0) != uint64(1) || a.At(0) != uint64(9) {
		t.Errorf("the write reached the source or the shared array: %v, %v, %v", src.data, b, a)
	}
	if a.Source() != nil || b.Source() != Source(src) {
		t.Error("Source must be nil after a write, and the file's before")
	}
}

func TestViewsShareMemory(t *testing.T) {
	a := FromSlice([]int64{0, 1, 2, 3, 4, 5}, 2, 3)
	one, three := 1, 3
	v, err := a.View([]Index{{Kind: SliceIndex}, {Kind: SliceIndex, Start: &one, Stop: &three}})
	if err != nil {
		t.Fatal(err)
	}
	if err := v.SetAt(2, 40); err != nil || a.At(4) != int64(40) {
		t.Errorf("the array is %v after a write through a view (%v)", a, err)
	}
	tr, err := a.Transpose()
	if err != nil || !slices.Equal(Data[int64](tr), []int64{0, 3, 1, 40, 2, 5}) {
		t.Errorf("transposed: %v (%v)", tr, err)
	}
}

func TestHalfRoundsToEven(t *testing.T) {
	for _, c := range []struct {
		in   float32
		want F16
	}{{1, 0x3c00}, {65504, 0x7bff}, {65519.996, 0x7bff}, {65520, 0x7c00}, {1e-8, 0}, {5.9604645e-8, 1}, {float32(math.Inf(-1)), 0xfc00}, {1 + 1.0/2048, 0x3c00}, {1 + 3.0/2048, 0x3c02}} {
		if got := ToF16(c.in); got != c.want {
			t.Errorf("ToF16(%v) = %#x, want %#x", c.in, got, c.want)
		}
	}
	for code := range 1 << 16 {
		f := F16(code).Float32()
		if back := ToF16(f); back != F16(code) && f == f {
			t.Fatalf("float16 %#x is %v and comes back as %#x", code, f, back)
		}
	}
}

func TestSmallFloatsComeBack(t *testing.T) {
	for _, dt := range []DType{Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ} {
		for code := range 256 {
			a, err := FromBytes(dt, []int{1}, []byte{byte(code)})
			if err != nil {
				t.Fatal(err)
			}
			f := a.At(0).(float64)
			if math.IsNaN(f) {
				continue
			}
			if back := floatBits(dt, f, false, RoundNearest); back != uint64(code) && f != 0 {
				t.Errorf("%s %#x is %v and comes back as %#x", dt, code, f, back)
			}
		}
	}
}

func TestReshapeErrors(t *testing.T) {
	a := New(Float32, 6)
	for _, shape := range [][]int{{4}, {-1, -1}, {-1, 4}, {-2, 3}} {
		if _, err := a.Reshape(shape...); err == nil {
			t.Errorf("Reshape(%v) of 6 elements succeeded", shape)
		}
	}
}
