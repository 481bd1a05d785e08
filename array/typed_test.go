package array

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"unsafe"
)

// checkTyped reads and writes misaligned memory as T. Run with the race
// detector it also holds that no misaligned pointer is made.
func checkTyped[T Elem](t *testing.T, v T) {
	t.Helper()
	dt := DTypeOf[T]()
	size := int(unsafe.Sizeof(v))
	if size*8 != dt.Bits() {
		t.Errorf("%s: %T has %d bytes", dt, v, size)
	}
	want := []T{v, *new(T), v}
	room := alignedBytes(3*size + 1)
	raw := room[1:]
	copy(raw, sliceBytes(want))
	a, err := FromBytes(dt, []int{3}, raw)
	if err != nil {
		t.Fatal(err)
	}
	if got := Data[T](a); !slices.Equal(got, want) {
		t.Errorf("%s: Data of misaligned bytes = %v, want %v", dt, got, want)
	}
	if !Equal(a.Copy(), FromSlice(want)) || !Equal(must(t)(a.View(parseKey(t, "::-1"))), FromSlice(want)) {
		t.Errorf("%s: misaligned array reads %v, want %v", dt, a, want)
	}
	MutableData[T](a)[1] = v
	if got := Data[T](a); !slices.Equal(got, []T{v, v, v}) {
		t.Errorf("%s: after a write %v, want %v thrice", dt, got, v)
	}
	if got := FromSlice([]T{v, v, v, v}, 2, 2); got.DType() != dt || got.Rank() != 2 || got.At(3) != Scalar(v).At(0) {
		t.Errorf("%s: FromSlice = %s %v", dt, got.Summary(), got)
	}
	if got := Data[T](New(dt, 0)); got == nil || len(got) != 0 {
		t.Errorf("%s: Data of nothing = %#v, want an empty slice", dt, got)
	}
}

func TestTypedEachType(t *testing.T) {
	checkTyped(t, true)
	checkTyped(t, int8(-3))
	checkTyped(t, int16(-300))
	checkTyped(t, int32(-70000))
	checkTyped(t, int64(math.MinInt64))
	checkTyped(t, uint8(200))
	checkTyped(t, uint16(60000))
	checkTyped(t, uint32(4000000000))
	checkTyped(t, uint64(math.MaxUint64))
	checkTyped(t, float32(1.5))
	checkTyped(t, 2.5)
	checkTyped(t, complex64(1+2i))
	checkTyped(t, 3-4i)
	checkTyped(t, ToF16(0.1))
	checkTyped(t, ToBF16(0.1))
	checkTyped(t, ToF8E4M3FN(448, true))
	checkTyped(t, ToF8E4M3FNUZ(-240, true))
	checkTyped(t, ToF8E5M2(57344, true))
	checkTyped(t, ToF8E5M2FNUZ(0.25, true))
	checkTyped(t, ToF8E8M0(4, true, RoundUp))
}

func TestDataShares(t *testing.T) {
	data := []float32{1, 2, 3, 4}
	a := FromSlice(data)
	b := must(t)(a.View(parseKey(t, "1:3")))
	if got := Data[float32](b); &got[0] != &data[1] || cap(got) != 2 {
		t.Errorf("Data of a part is not the part: %v, room for %d", got, cap(got))
	}
	MutableData[float32](b)[0] = 9
	if data[1] != 9 {
		t.Error("a write through MutableData does not reach the slice")
	}
	wantPanic(t, "internal error: Data of float32 as int32", func() { Data[int32](a) })
	wantPanic(t, "internal error: MutableData of an array that is not contiguous", func() {
		MutableData[float32](must(t)(a.View(parseKey(t, "::2"))))
	})
	s := FromStrings([]string{"a", "b"})
	wantPanic(t, "internal error: MutableStrings of an array that is not contiguous", func() {
		MutableStrings(must(t)(s.View(parseKey(t, "::-1"))))
	})
	wantPanic(t, "internal error: Strings of float32", func() { a.Strings() })
	if _, err := s.Bytes(); errText(err) != "array: got strings, want a type that has raw bytes" {
		t.Errorf("Bytes of strings: %v", err)
	}
}

// TestBoolsOfAFile holds that a byte other than 0 and 1 never becomes a Go bool,
// for which the compiler takes no third value.
func TestBoolsOfAFile(t *testing.T) {
	raw := []byte{0, 1, 2, 255, 0, 7}
	a, err := FromBytes(Bool, []int{6}, raw)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, got []bool) {
		t.Helper()
		if !slices.Equal(got, []bool{false, true, true, true, false, true}) || slices.Max(sliceBytes(got)) != 1 {
			t.Errorf("%s = %v, bytes %v", what, got, sliceBytes(got))
		}
	}
	check("Data", Data[bool](a))
	if raw[2] != 2 {
		t.Error("reading has changed the bytes")
	}
	ints := must(t)(a.Cast(Int8))
	if want := []int8{0, 1, 1, 1, 0, 1}; !slices.Equal(Data[int8](ints), want) {
		t.Errorf("Cast = %v, want %v", ints, want)
	}
	check("MutableData", MutableData[bool](a))
	MutableData[bool](a)[0] = true
	if a.At(0) != true {
		t.Error("a write through MutableData is lost")
	}
}

func TestPack(t *testing.T) {
	a, err := Pack(Int4, []int8{-8, 7, -1}, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	if raw, _ := a.Bytes(); a.Summary() != "int4[3,1]" || !slices.Equal(raw, []byte{0x78, 0x0f}) {
		t.Errorf("Pack = %s % x", a.Summary(), raw)
	}
	for _, tc := range []struct {
		a    func() (*Array, error)
		want any
		read func(a *Array) any
	}{
		{func() (*Array, error) { return Pack(Int4, []int8{-8, 7, -1}) }, []int8{-8, 7, -1}, func(a *Array) any { return Unpack[int8](a) }},
		{func() (*Array, error) { return Pack(Int2, []int8{-2, 1, 0, -1, 1}) }, []int8{-2, 1, 0, -1, 1}, func(a *Array) any { return Unpack[int8](a) }},
		{func() (*Array, error) { return Pack(Uint4, []uint8{15, 0, 8}) }, []uint8{15, 0, 8}, func(a *Array) any { return Unpack[uint8](a) }},
		{func() (*Array, error) { return Pack(Uint2, []uint8{3, 0, 1}) }, []uint8{3, 0, 1}, func(a *Array) any { return Unpack[uint8](a) }},
		{func() (*Array, error) { return Pack(Float4E2M1, []float32{100, -0.6, 1.25}) }, []float32{6, -0.5, 1}, func(a *Array) any { return Unpack[float32](a) }},
		{func() (*Array, error) { return Pack(Float4E2M1, []float32{1, -6}) }, []int8{2, 15}, func(a *Array) any { return Unpack4(a) }},
		{func() (*Array, error) { return Pack(Int4, []int8{}) }, []int8{}, func(a *Array) any { return Unpack[int8](a) }},
	} {
		a := must(t)(tc.a())
		if got := tc.read(a); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s unpacks to %v, want %v", a.Summary(), got, tc.want)
		}
	}
}

func TestPackErrors(t *testing.T) {
	for _, tc := range []struct {
		f    func() (*Array, error)
		want string
	}{
		{func() (*Array, error) { return Pack(Int4, []int8{0, 8}) }, "element 1: array: got 8, which does not fit into int4"},
		{func() (*Array, error) { return Pack(Uint2, []uint8{4}) }, "element 0: array: got 4, which does not fit into uint2"},
		{func() (*Array, error) { return Pack(Int4, []uint8{4}) }, "array: got uint8 for int4, want the type that its elements unpack to"},
		{func() (*Array, error) { return Pack(Int4, []int8{4}, 2) }, "array: got 1 elements for shape [2]"},
	} {
		if _, err := tc.f(); errText(err) != tc.want {
			t.Errorf("Pack: %q, want %q", errText(err), tc.want)
		}
	}
	wantPanic(t, "internal error: Unpack of int4 as uint8", func() { Unpack[uint8](New(Int4, 1)) })
	wantPanic(t, "internal error: Unpack4 of int8", func() { Unpack4(New(Int8, 1)) })
}
