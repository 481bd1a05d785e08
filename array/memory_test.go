package array

import (
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
)

// memory is a Source that counts how often it is read, and whose bytes must stay
// as they were.
type memory struct {
	data []byte
	fail error
	read int
}

func (m *memory) ReadAt(p []byte, off int64) (int, error) { return copy(p, m.data[off:]), nil }
func (m *memory) Len() int64                              { return int64(len(m.data)) }
func (m *memory) Bytes() ([]byte, error) {
	m.read++
	return m.data, m.fail
}

func lazy(t *testing.T, dt DType, data []byte, shape ...int) (*Array, *memory) {
	t.Helper()
	src := &memory{data: data}
	a, err := NewLazy(dt, shape, src)
	if err != nil {
		t.Fatal(err)
	}
	return a, src
}

// wantPanic calls f, which must panic with that text.
func wantPanic(t *testing.T, text string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		got := ""
		switch r := recover().(type) {
		case string:
			got = r
		case error:
			got = r.Error()
		}
		if got != text {
			t.Errorf("panic %q, want %q", got, text)
		}
	}()
	f()
}

func TestMakeErrors(t *testing.T) {
	for _, tc := range []struct {
		name  string
		dt    DType
		shape []int
		want  string
	}{
		{"negative", Float32, []int{2, -1}, "array: shape [2 -1]: got a negative size"},
		{"negative beside zero", Float32, []int{0, -1}, "array: shape [0 -1]: got a negative size"},
		{"count overflows", Float32, []int{1 << 32, 1 << 32}, "array: shape [4294967296 4294967296]: got more elements than an int counts"},
		{"count overflows to zero", Float32, []int{1 << 32, 1 << 32, 0}, "array: shape [4294967296 4294967296 0]: got more elements than an int counts"},
		{"bytes overflow", Float64, []int{math.MaxInt / 4}, "array: 2305843009213693951 elements of float64: got more bytes than an int counts"},
		{"too large", Uint8, []int{1 << 41}, "array: got 2199023255552 elements of uint8, want at most 1099511627776 bytes"},
		{"too many strings", String, []int{1 << 40}, "array: got 1099511627776 elements of string, want at most 1099511627776 bytes"},
		{"no type", Undefined, []int{1}, "array: got element type undefined, want one of ONNX's"},
		{"unknown type", 99, []int{1}, "array: got element type dtype(99), want one of ONNX's"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := Make(tc.dt, tc.shape); errText(err) != tc.want {
				t.Errorf("Make(%s, %v): %q, want %q", tc.dt, tc.shape, errText(err), tc.want)
			}
		})
	}
	wantPanic(t, "internal error: array: shape [-1]: got a negative size", func() { New(Float32, -1) })
}

func TestMakeEachType(t *testing.T) {
	for _, d := range DTypes() {
		a, err := Make(d, []int{3, 1})
		if err != nil {
			t.Fatal(err)
		}
		zero := FromStrings([]string{"", "", ""}, 3, 1)
		if d != String {
			zero, err = FromBytes(d, []int{3, 1}, make([]byte, (3*d.Bits()+7)/8))
		}
		if err != nil || !Equal(a, zero) || a.Rank() != 2 || a.Size() != 3 || a.DType() != d {
			t.Errorf("Make(%s, [3 1]) = %s %v, %v", d, a.Summary(), a, err)
		}
		if want := int64(3*d.Bits()+7) / 8; a.NBytes() != want {
			t.Errorf("%s: NBytes %d, want %d", a.Summary(), a.NBytes(), want)
		}
	}
}

func TestLengthsMustMatch(t *testing.T) {
	for _, tc := range []struct {
		dt    DType
		shape []int
		n     int
		want  string
	}{
		{Float32, []int{2}, 8, ""},
		{Float32, []int{2}, 7, "array: got 7 bytes, want 8 for float32[2]"},
		{Float32, nil, 5, "array: got 5 bytes, want 4 for float32[]"},
		{Int4, []int{3}, 2, ""},
		{Int4, []int{3}, 3, "array: got 3 bytes, want 2 for int4[3]"},
		{Uint2, []int{5}, 2, ""},
		{String, []int{1}, 1, "array: got element type string, want one of a fixed size"},
		{Undefined, []int{1}, 1, "array: got element type undefined, want one of a fixed size"},
		{Uint8, []int{-1}, 1, "array: shape [-1]: got a negative size"},
	} {
		_, err := FromBytes(tc.dt, tc.shape, make([]byte, tc.n))
		_, lazyErr := NewLazy(tc.dt, tc.shape, &memory{data: make([]byte, tc.n)})
		if errText(err) != tc.want || errText(lazyErr) != tc.want {
			t.Errorf("%s%v of %d bytes: %q and lazy %q, want %q", tc.dt, tc.shape, tc.n, errText(err), errText(lazyErr), tc.want)
		}
	}
	wantPanic(t, "internal error: 3 elements for shape [2]", func() { FromSlice([]int8{1, 2, 3}, 2) })
	wantPanic(t, "internal error: 1 strings for shape [2 2]", func() { FromStrings([]string{"a"}, 2, 2) })
}

func TestScalarShapeIsNotNil(t *testing.T) {
	made, err := Make(Float32, nil)
	if err != nil {
		t.Fatal(err)
	}
	first, err := FromSlice([]float32{5}).View([]Index{{Kind: AtIndex}})
	if err != nil {
		t.Fatal(err)
	}
	reshaped, err := first.Reshape()
	if err != nil {
		t.Fatal(err)
	}
	spread, err := first.BroadcastTo(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []*Array{made, first, reshaped, spread, Scalar(int8(1)), ScalarString("x"), first.Copy()} {
		// A shape passed on must not turn into "one axis".
		if again := FromSlice([]float32{5}, a.Shape()...); again.Rank() != 0 {
			t.Errorf("an array of the shape of %s has rank %d, want 0", a.Summary(), again.Rank())
		}
	}
}

func TestLazy(t *testing.T) {
	a, src := lazy(t, Int16, []byte{1, 0, 2, 0, 3, 0}, 3)
	if a.Loaded() || a.NBytes() != 6 || a.Summary() != "int16[3]" || src.read != 0 {
		t.Errorf("a new lazy array: loaded %t, read %d times", a.Loaded(), src.read)
	}
	if a.Source() != Source(src) {
		t.Errorf("Source() = %v, want the source", a.Source())
	}
	for range 2 {
		if got := Data[int16](a); !slices.Equal(got, []int16{1, 2, 3}) {
			t.Errorf("Data = %v, want [1 2 3]", got)
		}
	}
	if src.read != 1 || !a.Loaded() {
		t.Errorf("read %d times, loaded %t, want once and true", src.read, a.Loaded())
	}
}

func TestLazyErrors(t *testing.T) {
	a, src := lazy(t, Uint8, []byte{1, 2}, 2)
	src.fail = errors.New("disk on fire")
	if err := a.Load(); !errors.Is(err, src.fail) {
		t.Errorf("Load: %v, want the source's error", err)
	}
	if err := a.SetAt(0, 1); !errors.Is(err, src.fail) {
		t.Errorf("SetAt: %v, want the source's error", err)
	}
	if _, err := a.Bytes(); !errors.Is(err, src.fail) {
		t.Errorf("Bytes: %v, want the source's error", err)
	}
	if _, err := a.Cast(Int8); !errors.Is(err, src.fail) {
		t.Errorf("Cast: %v, want the source's error", err)
	}
	if got, want := a.String(), "<uint8[2]: disk on fire>"; got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
	wantPanic(t, "disk on fire", func() { Data[uint8](a) })
	wantPanic(t, "disk on fire", func() { a.At(0) })
	wantPanic(t, "disk on fire", func() { a.Copy() })
	src.fail = nil
	if err := a.Load(); err != nil { // an error is not kept
		t.Errorf("Load after the error has gone: %v", err)
	}
	b, short := lazy(t, Uint8, []byte{1, 2}, 2)
	b.buf.src = liar{short}
	if got, want := errText(b.Load()), "array: the source gave 2 bytes, want 3"; got != want {
		t.Errorf("Load of a source with a wrong length: %q, want %q", got, want)
	}
}

// liar says that it has a byte more than it gives.
type liar struct{ *memory }

func (l liar) Len() int64 { return l.memory.Len() + 1 }

func TestSourceIsOfTheWholeAlone(t *testing.T) {
	two := 2
	a, src := lazy(t, Uint8, []byte{1, 2, 3, 4}, 4)
	prefix, err := a.View([]Index{{Kind: SliceIndex, Stop: &two}})
	if err != nil {
		t.Fatal(err)
	}
	square, err := a.Reshape(2, 2)
	if err != nil {
		t.Fatal(err)
	}
	turned, err := square.Transpose()
	if err != nil {
		t.Fatal(err)
	}
	one, oneSrc := lazy(t, Uint8, []byte{9}, 1)
	spread, err := one.BroadcastTo([]int{1, 1})
	if err != nil {
		t.Fatal(err)
	}
	wide, err := one.BroadcastTo([]int{3})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		a    *Array
		want Source
	}{{"a prefix", prefix, nil}, {"reshaped", square, src}, {"transposed", turned, nil}, {"shared", a.Share(), src},
		{"a copy", a.Copy(), nil}, {"an axis of size 1 added", spread, oneSrc}, {"repeated", wide, nil}, {"in memory", New(Uint8, 4), nil}} {
		if got := tc.a.Source(); got != tc.want {
			t.Errorf("%s: Source() = %v, want %v", tc.name, got, tc.want)
		}
	}
}

// TestCopyOnWrite holds that no writer reaches a source's bytes, that views of
// one array see each other's writes, and that shared arrays do not.
func TestCopyOnWrite(t *testing.T) {
	writers := map[string]func(t *testing.T, a *Array){
		"SetAt": func(t *testing.T, a *Array) {
			if err := a.SetAt(1, 7); err != nil {
				t.Fatal(err)
			}
		},
		"MutableData": func(_ *testing.T, a *Array) { MutableData[int32](a)[1] = 7 },
	}
	for name, write := range writers {
		t.Run(name, func(t *testing.T) {
			a, src := lazy(t, Int32, []byte{1, 0, 0, 0, 2, 0, 0, 0}, 2)
			shared := a.Share()
			view, err := a.Transpose()
			if err != nil {
				t.Fatal(err)
			}
			write(t, a)
			if !slices.Equal(src.data, []byte{1, 0, 0, 0, 2, 0, 0, 0}) {
				t.Errorf("the source's bytes are now %v", src.data)
			}
			if a.At(1) != int64(7) || view.At(1) != int64(7) || shared.At(1) != int64(2) {
				t.Errorf("array %v, its view %v, the shared one %v, want 7, 7 and 2", a.At(1), view.At(1), shared.At(1))
			}
			if a.Source() != nil || view.Source() != nil || shared.Source() != Source(src) {
				t.Error("the source must be gone from the array that was written, and from its view, alone")
			}
			write(t, shared)
			if a.At(0) != int64(1) || shared.At(1) != int64(7) {
				t.Errorf("array %v, shared %v after a write to the shared one", a, shared)
			}
		})
	}
}

func TestFailedWriteLeavesTheArray(t *testing.T) {
	a, src := lazy(t, Int8, []byte{1, 2}, 2)
	for _, v := range []any{300, "x", math.NaN(), 1i, nil} {
		if err := a.SetAt(0, v); err == nil {
			t.Errorf("SetAt(0, %v) on int8: no error", v)
		}
	}
	if a.Source() != Source(src) || src.read != 0 {
		t.Error("a write that failed has made the array's bytes its own")
	}
}

func TestShareStrings(t *testing.T) {
	a := FromStrings([]string{"a", "b"})
	b := a.Share()
	MutableStrings(a)[0] = "changed"
	if err := b.SetAt(1, "other"); err != nil {
		t.Fatal(err)
	}
	if got := a.String() + b.String(); got != "['changed' 'b']['a' 'other']" {
		t.Errorf("the arrays are %s", got)
	}
	if a.NBytes() != 8 {
		t.Errorf("NBytes() = %d, want 8", a.NBytes())
	}
}

func TestCopyIsOfThePartAlone(t *testing.T) {
	three := 3
	base := New(Uint8, 1000)
	part, err := base.View([]Index{{Kind: SliceIndex, Stop: &three}})
	if err != nil {
		t.Fatal(err)
	}
	c := part.Copy()
	if n := len(c.buf.bytes); n != 3 {
		t.Errorf("a copy of 3 bytes keeps %d", n)
	}
	MutableData[uint8](c)[0] = 1
	if base.At(0) != uint64(0) {
		t.Error("a write to the copy shows in the original")
	}
}

// TestReadersTogether is for the race detector: loading and sharing are reads.
func TestReadersTogether(t *testing.T) {
	a, src := lazy(t, Int16, []byte{1, 0, 2, 0, 3, 0}, 3)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			b := a.Share()
			if got := Data[int16](a)[2] + Data[int16](b)[0]; got != 4 {
				t.Errorf("read %d, want 4", got)
			}
			_ = a.String()
			a.Source()
		})
	}
	wg.Wait()
	if src.read < 1 || src.read > 9 {
		t.Errorf("read %d times, want once for the array and at most once for each shared one", src.read)
	}
}

func TestEqual(t *testing.T) {
	nan := math.NaN()
	other := math.Float64frombits(math.Float64bits(nan) ^ 1<<20)
	a := FromSlice([]float64{1, nan})
	for _, tc := range []struct {
		name string
		a, b *Array
		want bool
	}{
		{"the same NaN", a, FromSlice([]float64{1, nan}), true},
		{"another NaN", a, FromSlice([]float64{1, other}), false},
		{"signs of zero", FromSlice([]float32{0}), FromSlice([]float32{float32(math.Copysign(0, -1))}), false},
		{"another shape", a, FromSlice([]float64{1, nan}, 2, 1), false},
		{"another type", FromSlice([]int32{1}), FromSlice([]uint32{1}), false},
		{"strings", FromStrings([]string{"a"}), FromStrings([]string{"a"}), true},
		{"other strings", FromStrings([]string{"a"}), FromStrings([]string{"b"}), false},
		{"empty", New(Int4, 0), New(Int4, 0), true},
	} {
		if got := Equal(tc.a, tc.b); got != tc.want {
			t.Errorf("%s: Equal = %t, want %t", tc.name, got, tc.want)
		}
	}
	x, _ := FromBytes(Int4, []int{3}, []byte{0x21, 0x03})
	y, _ := FromBytes(Int4, []int{3}, []byte{0x21, 0xf3})
	if !Equal(x, y) {
		t.Error("bits beyond the last element count in Equal")
	}
	broken, src := lazy(t, Uint8, []byte{1}, 1)
	src.fail = errors.New("gone")
	if Equal(broken, New(Uint8, 1)) {
		t.Error("an array that can't be read equals another")
	}
}

func TestSummary(t *testing.T) {
	for want, a := range map[string]Value{
		"float32[2,3]": New(Float32, 2, 3), "bool[]": Scalar(true), "int4[0]": New(Int4, 0),
		"seq(bool[], string[1])":                      &Sequence{Items: []Value{Scalar(true), FromStrings([]string{"x"})}},
		"map(int64[1]: float32[])":                    &Map{Keys: New(Int64, 1), Values: []Value{New(Float32)}},
		"optional()":                                  &Optional{},
		"optional(seq())":                             &Optional{Value: &Sequence{}},
		"seq(" + strings.Repeat("int8[], ", 4) + "…)": &Sequence{Items: slices.Repeat([]Value{New(Int8)}, 6)},
	} {
		if got := a.Summary(); got != want {
			t.Errorf("Summary() = %q, want %q", got, want)
		}
	}
}

// Unset arrays have the size and the alignment of others.
func TestMakeUnset(t *testing.T) {
	for _, dt := range DTypes() {
		for _, shape := range [][]int{{}, {0}, {3}, {1 << 12, 9}, {1 << 16}} {
			a, err := MakeUnset(dt, shape)
			if err != nil {
				t.Fatal(err)
			}
			if want := New(dt, shape...); a.Summary() != want.Summary() || a.NBytes() != want.NBytes() {
				t.Errorf("got %s of %d bytes, want %s of %d", a.Summary(), a.NBytes(), want.Summary(), want.NBytes())
			}
			if dt != String && a.Base()%16 != 0 {
				t.Errorf("%s begins at %x, want a multiple of 16", a.Summary(), a.Base())
			}
			if dt != String && a.Size() > 0 { // the last byte is there
				raw, err := a.Bytes()
				if err != nil {
					t.Fatal(err)
				}
				raw[len(raw)-1] = 1
			}
		}
	}
	if _, err := MakeUnset(Float32, []int{-1}); err == nil {
		t.Error("got no error for a negative size")
	}
}
