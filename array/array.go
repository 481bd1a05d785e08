package array

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"
)

// maxBytes is more than any machine gives one array, and less than what makes
// Go's own allocation panic.
const maxBytes = 1 << 40

// Source is where the bytes of a lazy array lie.
type Source interface {
	io.ReaderAt
	// Len returns the number of bytes.
	Len() int64
	// Bytes maps or reads all of them; the caller must not write into them.
	Bytes() ([]byte, error)
}

// buffer is memory that an array and its views share. Whoever holds an array
// may read it while others do: loading and sharing are guarded. A write must be
// alone.
type buffer struct {
	mu     sync.Mutex
	size   int // in elements
	bytes  []byte
	strs   []string
	src    Source      // until the first write
	unread atomic.Bool // the bytes are still in src alone
	cow    bool        // the bytes are not ours alone: a write makes a copy first
}

// Array is a dense N-dimensional array. The zero value is not usable.
type Array struct {
	dtype   DType
	shape   []int
	strides []int // in elements
	offset  int   // of the first element, in elements
	buf     *buffer
}

// count returns the number of elements of a shape, or an error when a size is
// negative or the product does not fit.
func count(shape []int) (int, error) {
	n, zero := 1, false
	for _, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("array: shape %v: got a negative size", shape)
		}
		if d == 0 {
			zero = true
			continue
		}
		if n > math.MaxInt/d {
			return 0, fmt.Errorf("array: shape %v: got more elements than an int counts", shape)
		}
		n *= d
	}
	if zero {
		return 0, nil
	}
	return n, nil
}

// byteLen returns the bytes that n packed elements take.
func byteLen(dt DType, n int) (int, error) {
	bits := dt.Bits()
	if bits > 0 && n > (math.MaxInt-7)/bits {
		return 0, fmt.Errorf("array: %d elements of %s: got more bytes than an int counts", n, dt)
	}
	return (n*bits + 7) / 8, nil
}

// checkRoom refuses what can't be allocated. A string takes 16 bytes for itself.
func checkRoom(dt DType, n int) (int, error) {
	size, err := byteLen(dt, n)
	if err != nil {
		return 0, err
	}
	if size > maxBytes || dt == String && n > maxBytes/16 {
		return 0, fmt.Errorf("array: got %d elements of %s, want at most %d bytes", n, dt, maxBytes)
	}
	return size, nil
}

func rowMajor(shape []int) []int {
	strides := make([]int, len(shape))
	step := 1
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = step
		step *= max(shape[i], 1)
	}
	return strides
}

// cloned returns a copy of a shape that is never nil: FromSlice and others take
// nil for "one axis", and a scalar's shape is passed on to them.
func cloned(shape []int) []int { return append(make([]int, 0, len(shape)), shape...) }

// fresh returns the array that fills the buffer.
func fresh(dt DType, shape []int, buf *buffer) *Array {
	a := &Array{dtype: dt, shape: cloned(shape), strides: rowMajor(shape), buf: buf}
	buf.size = a.Size()
	return a
}

// Make returns an array of zeros (false, ""). Negative sizes, sizes that
// overflow and types that are none are errors.
func Make(dt DType, shape []int) (*Array, error) {
	if !dt.Valid() {
		return nil, fmt.Errorf("array: got element type %s, want one of ONNX's", dt)
	}
	n, err := count(shape)
	if err != nil {
		return nil, err
	}
	size, err := checkRoom(dt, n)
	if err != nil {
		return nil, err
	}
	if dt == String {
		return fresh(dt, shape, &buffer{strs: make([]string, n)}), nil
	}
	return fresh(dt, shape, &buffer{bytes: alignedBytes(size)}), nil
}

// AlignedBytes returns zeroed memory aligned for every element type.
func AlignedBytes(n int) []byte { return alignedBytes(n) }

func alignedBytes(n int) []byte {
	words := make([]complex128, (n+15)/16)
	return sliceBytes(words)[:n:n]
}

// MakeUnset is Make for a caller that writes every element: until then a large
// array holds anything, which spares the time of a second write.
func MakeUnset(dt DType, shape []int) (*Array, error) {
	if !dt.Valid() || dt == String || dt.Bits()%8 != 0 { // bits after the last element are 0
		return Make(dt, shape)
	}
	n, err := count(shape)
	if err != nil {
		return nil, err
	}
	size, err := checkRoom(dt, n)
	if err != nil {
		return nil, err
	}
	return fresh(dt, shape, &buffer{bytes: unsetBytes(size)}), nil
}

// unsetBytes returns memory that is not cleared, where it is large: that of a
// string that is being built is the only such memory that Go gives.
func unsetBytes(n int) []byte {
	const large = 32 << 10 // from here on it begins at a page, aligned for every type
	if n <= large {
		return alignedBytes(n)
	}
	var b strings.Builder
	b.Grow(n)
	b.WriteByte(0)
	return unsafe.Slice(unsafe.StringData(b.String()), n)
}

// New is Make for a type and sizes that are known to be good; it panics otherwise.
func New(dt DType, shape ...int) *Array {
	a, err := Make(dt, shape)
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return a
}

// FromBytes returns the array of these bytes, in the layout of raw_data, which
// become the array's. Their number must be exactly what type and shape take.
func FromBytes(dt DType, shape []int, raw []byte) (*Array, error) {
	if err := checkLen(dt, shape, int64(len(raw))); err != nil {
		return nil, err
	}
	return fresh(dt, shape, &buffer{bytes: raw}), nil
}

// NewLazy returns the array whose bytes lie in src, whose length must be
// exactly what type and shape take. Nothing is read.
func NewLazy(dt DType, shape []int, src Source) (*Array, error) {
	if err := checkLen(dt, shape, src.Len()); err != nil {
		return nil, err
	}
	buf := &buffer{src: src, cow: true}
	buf.unread.Store(true)
	return fresh(dt, shape, buf), nil
}

func checkLen(dt DType, shape []int, got int64) error {
	if !dt.Valid() || dt == String {
		return fmt.Errorf("array: got element type %s, want one of a fixed size", dt)
	}
	n, err := count(shape)
	if err != nil {
		return err
	}
	want, err := byteLen(dt, n)
	if err != nil {
		return err
	}
	if got != int64(want) {
		return fmt.Errorf("array: got %d bytes, want %d for %s%v", got, want, dt, shape)
	}
	return nil
}

// FromStrings returns the array of these strings, which it shares; with no
// shape it has one axis.
func FromStrings(data []string, shape ...int) *Array {
	if shape == nil {
		shape = []int{len(data)}
	}
	if n, err := count(shape); err != nil || n != len(data) {
		panic(fmt.Sprintf("internal error: %d strings for shape %v", len(data), shape))
	}
	return fresh(String, shape, &buffer{strs: data})
}

// DType returns the element type.
func (a *Array) DType() DType { return a.dtype }

// Shape returns the sizes; callers must not change them.
func (a *Array) Shape() []int { return a.shape }

// Rank returns the number of axes.
func (a *Array) Rank() int { return len(a.shape) }

// Size returns the number of elements.
func (a *Array) Size() int {
	n := 1
	for _, d := range a.shape {
		n *= d
	}
	return n
}

// NBytes returns the bytes that the elements take when packed; for strings,
// the sum of their lengths.
func (a *Array) NBytes() int64 {
	if a.dtype == String {
		n := int64(0)
		for _, s := range a.Strings() {
			n += int64(len(s))
		}
		return n
	}
	return (int64(a.Size())*int64(a.dtype.Bits()) + 7) / 8
}

// Loaded reports whether the elements are in memory (or mapped).
func (a *Array) Loaded() bool { return !a.buf.unread.Load() }

// Load reads the bytes of a lazy array, once. After it has returned nil, access
// to elements can't fail, but for a fault when a mapped file is cut later.
func (a *Array) Load() error {
	b := a.buf
	if !b.unread.Load() {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.unread.Load() {
		return nil // another goroutine was first
	}
	data, err := b.src.Bytes()
	if err != nil {
		return err
	}
	if int64(len(data)) != b.src.Len() {
		return fmt.Errorf("array: the source gave %d bytes, want %d", len(data), b.src.Len())
	}
	b.bytes = data
	b.unread.Store(false)
	return nil
}

// Base returns the address at which the memory of the elements begins, by which
// arrays of one memory are known; 0 for strings and for what is not in memory.
func (a *Array) Base() uintptr {
	return uintptr(unsafe.Pointer(unsafe.SliceData(a.buf.bytes)))
}

// Source returns where the bytes lie, as long as the array is the whole of it
// and nothing was written; else nil.
func (a *Array) Source() Source {
	if a.offset != 0 || a.Size() != a.buf.size || !a.IsContiguous() {
		return nil
	}
	return a.buf.src
}

// Part returns the place of the bytes in their source: n bytes from off on, as
// long as they lie there in one piece, whole bytes, and nothing was written; else
// a nil source.
func (a *Array) Part() (src Source, off, n int64) {
	bits := a.dtype.Bits()
	if a.buf.src == nil || !a.IsContiguous() || a.offset*bits%8 != 0 || a.Size()*bits%8 != 0 && a.Source() == nil {
		return nil, 0, 0
	}
	return a.buf.src, int64(a.offset) * int64(bits) / 8, a.NBytes()
}

// own makes the buffer private before a write; views of it see the write.
func (a *Array) own() error {
	if err := a.Load(); err != nil {
		return err
	}
	b := a.buf
	if !b.cow {
		return nil
	}
	if b.strs != nil {
		b.strs = slices.Clone(b.strs)
	} else {
		data := alignedBytes(len(b.bytes))
		copy(data, b.bytes)
		b.bytes = data
	}
	b.src, b.cow = nil, false
	return nil
}

// Share returns an array of the same bytes: they are copied when either side
// writes for the first time, so neither sees the other's edits.
func (a *Array) Share() *Array {
	b := a.buf
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cow = true
	c := *a
	c.buf = &buffer{size: b.size, bytes: b.bytes, strs: b.strs, src: b.src, cow: true}
	c.buf.unread.Store(b.unread.Load())
	return &c
}

// Unwritten returns what takes back all writes to come, in views of a too, and
// makes the array stand for its source again; nil when that is past, since
// something was written before.
func (a *Array) Unwritten() (revert func()) {
	b := a.buf
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.src == nil {
		return nil
	}
	b.cow = true
	bytes, strs, src, unread := b.bytes, b.strs, b.src, b.unread.Load()
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.bytes, b.strs, b.src, b.cow = bytes, strs, src, true
		b.unread.Store(unread)
	}
}

// Copy returns a contiguous array with bytes of its own. It panics with the
// source's error where a lazy array can't be read: see Load.
func (a *Array) Copy() *Array {
	c, err := a.copied()
	if err != nil {
		panic(err)
	}
	return c
}

func (a *Array) copied() (*Array, error) {
	if err := a.Load(); err != nil {
		return nil, err
	}
	c, err := MakeUnset(a.dtype, a.shape)
	if err != nil {
		return nil, err
	}
	a.copyTo(c)
	return c, nil
}

// IsContiguous reports whether the elements lie in row-major order without gaps.
func (a *Array) IsContiguous() bool {
	if slices.Contains(a.shape, 0) {
		return true
	}
	step := 1
	for i := len(a.shape) - 1; i >= 0; i-- {
		if a.shape[i] != 1 && a.strides[i] != step {
			return false
		}
		step *= a.shape[i]
	}
	return true
}

// Contiguous returns the array itself when its elements lie in row-major order
// (and begin at a whole byte), else a copy in which they do. It panics where
// Copy does.
func (a *Array) Contiguous() *Array {
	c, err := a.contiguous()
	if err != nil {
		panic(err)
	}
	return c
}

func (a *Array) contiguous() (*Array, error) {
	if a.IsContiguous() && a.offset*a.dtype.Bits()%8 == 0 {
		return a, nil
	}
	return a.copied()
}

// Bytes returns the elements in the layout of raw_data; callers must not write
// into them. Nothing is copied where the array is contiguous.
func (a *Array) Bytes() ([]byte, error) {
	if a.dtype == String {
		return nil, fmt.Errorf("array: got strings, want a type that has raw bytes")
	}
	if err := a.Load(); err != nil {
		return nil, err
	}
	c, err := a.contiguous()
	if err != nil {
		return nil, err
	}
	bits := c.dtype.Bits()
	from := c.offset * bits / 8
	n := c.Size() * bits
	raw := c.buf.bytes[from : from+(n+7)/8 : from+(n+7)/8]
	if n%8 != 0 && c.offset+c.Size() < c.buf.size {
		// The last byte also has elements that are not the array's: without them.
		raw = slices.Clone(raw)
		raw[len(raw)-1] &= 1<<(n%8) - 1
	}
	return raw, nil
}

// Strings returns the elements of a string array in row-major order; callers
// must not change them. Another type is a bug and panics.
func (a *Array) Strings() []string {
	if a.dtype != String {
		panic("internal error: Strings of " + a.dtype.String())
	}
	c := a.Contiguous()
	return c.buf.strs[c.offset : c.offset+c.Size()]
}

// Summary returns the one-line form, as "float32[2,3]".
func (a *Array) Summary() string {
	s := []byte(a.dtype.String() + "[")
	for i, d := range a.shape {
		if i > 0 {
			s = append(s, ',')
		}
		s = strconv.AppendInt(s, int64(d), 10)
	}
	return string(append(s, ']'))
}

// Equal reports whether both have the same type, shape and elements, bit for bit.
func Equal(a, b *Array) bool {
	if a.dtype != b.dtype || !slices.Equal(a.shape, b.shape) {
		return false
	}
	if a.dtype == String {
		return slices.Equal(a.Strings(), b.Strings())
	}
	x, errX := a.Bytes()
	y, errY := b.Bytes()
	if errX != nil || errY != nil {
		return false
	}
	return equalPacked(x, y, a.Size()*a.dtype.Bits())
}

// equalPacked compares the first bits of both, so that padding does not count.
func equalPacked(x, y []byte, bits int) bool {
	whole := bits / 8
	if !slices.Equal(x[:whole], y[:whole]) {
		return false
	}
	rest := bits % 8
	return rest == 0 || (x[whole]^y[whole])&(1<<rest-1) == 0
}
