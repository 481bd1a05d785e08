package onnx

import (
	"io"
	"math"
	"strconv"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/mmap"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx/internal/pb"
	"github.com/starlarkgs/starlarkgs/onnx/internal/typed"
)

// source is where bytes of a file lie.
type source = array.Source

// sectionOf returns a part of a source.
func sectionOf(s source, off, n int64) (source, error) {
	switch s := s.(type) {
	case *mmap.Section:
		return s.File().Section(s.Offset()+off, n)
	case *memory:
		return s.section(off, n), nil
	}
	return nil, faultf(ErrInvalid, "internal error: source %T has no parts", s)
}

// storage is how a file held the values of a tensor.
type storage struct {
	proto   *pb.TensorProto  // as decoded, without the elided field
	field   protowire.Number // of the elided field, 0 for none
	payload source           // of the elided field
	array   *array.Array     // what was made of it
	small   []byte           // its bytes, when they were decoded into memory
}

// tensorLoader makes arrays of TensorProtos.
type tensorLoader struct {
	src source
	key uint64
	ext *externalDir
	// given, where set, finds external data instead of a folder.
	given func(location string, offset, length int64) (array.Source, error)
}

// literal returns the value of a tensor. The TensorProto becomes part of the
// storage and must not be changed.
func (l *tensorLoader) literal(t *pb.TensorProto) (*ir.Literal, error) {
	s := &storage{proto: t}
	if err := l.takePayload(t, s); err != nil {
		return nil, err
	}
	shape, err := dims(t.Dims)
	if err != nil {
		return nil, err
	}
	a, err := l.array(t, s, shape)
	if err != nil {
		return nil, err
	}
	s.array = a
	if a.Source() == nil && a.DType() != array.String {
		if s.small, err = a.Bytes(); err != nil {
			return nil, err
		}
		s.small = append([]byte{}, s.small...)
	}
	return &ir.Literal{Array: a, Name: t.GetName(), Doc: t.GetDocString(), Storage: s}, nil
}

// takePayload moves the elided field from the private fields to the storage.
func (l *tensorLoader) takePayload(t *pb.TensorProto, s *storage) error {
	if t.ElidedOffset == nil && t.ElidedLength == nil && t.ElidedField == nil && t.ElidedKey == nil {
		return nil
	}
	if t.GetElidedKey() != l.key {
		return faultf(ErrInvalid, "the tensor uses a field number that is reserved")
	}
	part, err := sectionOf(l.src, t.GetElidedOffset(), t.GetElidedLength())
	if err != nil {
		return err
	}
	s.field, s.payload = protowire.Number(t.GetElidedField()), part
	t.ElidedOffset, t.ElidedLength, t.ElidedField, t.ElidedKey = nil, nil, nil, nil
	return nil
}

func dims(ds []int64) ([]int, error) {
	shape := make([]int, len(ds))
	for i, d := range ds {
		if d < 0 {
			return nil, faultf(ErrInvalid, "dims[%d]: got %d, want a size ≥ 0", i, d)
		}
		shape[i] = int(d)
	}
	return shape, nil
}

func (l *tensorLoader) array(t *pb.TensorProto, s *storage, shape []int) (*array.Array, error) {
	dt := array.DType(t.GetDataType())
	if t.GetDataType() < 0 || t.GetDataType() > 255 || !dt.Valid() {
		return nil, faultf(ErrInvalid, "data_type: got %d, want 1 to %d", t.GetDataType(), len(array.DTypes()))
	}
	if t.GetDataLocation() == pb.TensorProto_EXTERNAL {
		return l.external(t, dt, shape)
	}
	if dt == array.String {
		if n := product(shape); n != len(t.StringData) {
			return nil, faultf(ErrInvalid, "string_data: got %d strings, want %d for shape %v", len(t.StringData), n, shape)
		}
		strs := make([]string, len(t.StringData))
		for i, b := range t.StringData {
			strs[i] = string(b)
		}
		return array.FromStrings(strs, shape...), nil
	}
	src := s.payload
	switch {
	case s.field == fieldRaw:
	case s.field != 0:
		src = &typedPayload{field: s.field, dt: dt, src: s.payload, n: packedLen(dt, shape), elems: int64(product(shape))}
	case stripped(t) && product(shape) != 0:
		return wrapArray(array.NewLazy(dt, shape, &noData{packedLen(dt, shape), t.GetName()}))
	case t.RawData != nil:
		return wrapArray(array.FromBytes(dt, shape, t.RawData))
	default:
		raw, err := typedBytes(t, dt, shape)
		if err != nil {
			return nil, err
		}
		return wrapArray(array.FromBytes(dt, shape, raw))
	}
	return wrapArray(array.NewLazy(dt, shape, src))
}

// stripped reports whether a tensor holds no data at all, as the weights of a
// skeleton that is passed around without them.
func stripped(t *pb.TensorProto) bool {
	return len(t.RawData)+len(t.FloatData)+len(t.Int32Data)+len(t.Int64Data)+len(t.DoubleData)+len(t.Uint64Data) == 0
}

// noData stands for the bytes of a weight that the file lacks.
type noData struct {
	n    int64
	name string
}

// Len returns the bytes that type and shape take.
func (d *noData) Len() int64 { return d.n }

// Bytes fails.
func (d *noData) Bytes() ([]byte, error) {
	return nil, faultf(ErrInvalid, "tensor %q: the file holds none of its %d bytes: its weights were stripped", d.name, d.n)
}

// ReadAt fails.
func (d *noData) ReadAt([]byte, int64) (int, error) {
	_, err := d.Bytes()
	return 0, err
}

func wrapArray(a *array.Array, err error) (*array.Array, error) {
	if err != nil {
		return nil, faultf(ErrInvalid, "%v", err)
	}
	return a, nil
}

// product returns the number of elements of a shape; -1 when it overflows.
func product(shape []int) int {
	n := 1
	for _, d := range shape {
		if d != 0 && n > math.MaxInt64/d {
			return -1
		}
		n *= d
	}
	return n
}

func packedLen(dt array.DType, shape []int) int64 {
	n := product(shape)
	if n < 0 || n > math.MaxInt64/16 {
		return -1
	}
	return (int64(n)*int64(dt.Bits()) + 7) / 8
}

// typedBytes packs the elements of the typed fields into the layout of raw_data.
func typedBytes(t *pb.TensorProto, dt array.DType, shape []int) ([]byte, error) {
	want := packedLen(dt, shape)
	if dt.Bits() == 6 && len(t.Int32Data) != product(shape) {
		return nil, faultf(ErrInvalid, "the typed data holds %d elements, want %d for %s%v", len(t.Int32Data), product(shape), dt, shape)
	}
	out := typed.Pack(t)
	if int64(len(out)) != want {
		return nil, faultf(ErrInvalid, "the typed data holds %d bytes, want %d for %s%v", len(out), want, dt, shape)
	}
	return out, nil
}

// typedPayload is the elements of a packed typed field that lies in the file.
// Floats lie there as raw_data would have them; integers are varints and are
// decoded when they are read.
type typedPayload struct {
	field protowire.Number
	dt    array.DType
	src   source
	n     int64 // bytes as raw_data would have them
	elems int64

	mu   sync.Mutex
	next typedReader // goes on where the last read ended
}

// Len returns the number of bytes that the elements take in the layout of raw_data.
func (p *typedPayload) Len() int64 { return p.n }

func (p *typedPayload) plain() bool { return p.field == typed.Float || p.field == typed.Double }

// check refuses elements that can't be what type and shape say, before memory is
// taken for them: an element takes a byte of varint at least.
func (p *typedPayload) check() error {
	if p.field != typed.FieldOf(p.dt) {
		return faultf(ErrInvalid, "the elements of %s lie in field %d, want %d", p.dt, p.field, typed.FieldOf(p.dt))
	}
	if p.dt.Bits() == 6 && p.elems != p.src.Len() { // each is a varint of one byte
		return faultf(ErrInvalid, "the packed elements of %s are %d, want %d", p.dt, p.src.Len(), p.elems)
	}
	width := int64(max(p.dt.Bits(), 8) / 8)
	if p.n > p.src.Len()*width || p.plain() && p.n != p.src.Len() {
		return faultf(ErrInvalid, "the packed elements of %s take %d bytes, want %d in the end", p.dt, p.src.Len(), p.n)
	}
	return nil
}

// Bytes decodes the elements.
func (p *typedPayload) Bytes() ([]byte, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if p.plain() {
		return p.src.Bytes()
	}
	out := make([]byte, p.n)
	r := typedReader{p: p}
	if err := r.read(out); err != nil {
		return nil, err
	}
	if !r.done() {
		return nil, faultf(ErrInvalid, "the packed elements of %s hold more than %d bytes", p.dt, p.n)
	}
	return out, nil
}

// ReadAt reads decoded bytes. Reading them in order decodes each once.
func (p *typedPayload) ReadAt(b []byte, off int64) (int, error) {
	if err := p.check(); err != nil {
		return 0, err
	}
	if p.plain() {
		return p.src.ReadAt(b, off)
	}
	if off < 0 || off > p.n {
		return 0, faultf(ErrInvalid, "offset %d: the data has %d bytes", off, p.n)
	}
	short := int64(len(b)) > p.n-off
	b = b[:min(int64(len(b)), p.n-off)]
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next.p == nil || off < p.next.at {
		p.next = typedReader{p: p}
	}
	for p.next.at < off {
		var skipped [4096]byte
		if err := p.next.read(skipped[:min(off-p.next.at, int64(len(skipped)))]); err != nil {
			return 0, err
		}
	}
	if err := p.next.read(b); err != nil {
		return 0, err
	}
	if short {
		return len(b), io.EOF
	}
	return len(b), nil
}

// typedReader decodes varints through a window of the file.
type typedReader struct {
	p     *typedPayload
	c     *cursor
	at    int64    // decoded bytes that were given out
	left  [16]byte // of the element that the last read broke off in
	nLeft int
}

func (r *typedReader) done() bool { return r.c == nil || r.c.off >= r.c.size }

// read fills b with the next decoded bytes.
func (r *typedReader) read(b []byte) error {
	if r.c == nil {
		r.c = &cursor{r: r.p.src, size: r.p.src.Len()}
	}
	for len(b) > 0 {
		if r.nLeft == 0 {
			if r.done() {
				return faultf(ErrInvalid, "the packed elements of %s hold %d bytes, want %d", r.p.dt, r.at, r.p.n)
			}
			entries := make([]uint64, 0, 4)
			for len(entries) < typed.AtOnce(r.p.dt) && !r.done() {
				v, err := r.c.varint(r.c.size)
				if err != nil {
					return faultf(ErrInvalid, "a varint of the packed elements does not end")
				}
				entries = append(entries, v)
			}
			r.nLeft = len(typed.Append(r.left[:0], r.p.dt, entries))
		}
		k := copy(b, r.left[:r.nLeft])
		copy(r.left[:], r.left[k:r.nLeft])
		r.nLeft -= k
		r.at += int64(k)
		b = b[k:]
	}
	return nil
}

func (m *memory) readAt(b []byte, off int64) (int, error) {
	if off < 0 || off > int64(len(m.data)) {
		return 0, faultf(ErrInvalid, "offset %d: the data has %d bytes", off, len(m.data))
	}
	return copy(b, m.data[off:]), nil
}

// external returns the array of a tensor whose bytes lie in another file.
func (l *tensorLoader) external(t *pb.TensorProto, dt array.DType, shape []int) (*array.Array, error) {
	n := packedLen(dt, shape)
	if n < 0 || dt == array.String {
		return nil, faultf(ErrInvalid, "external data: got %s%v, want a type and a shape of a fixed size", dt, shape)
	}
	e, err := parseExternal(t.ExternalData)
	if err != nil {
		return nil, err
	}
	if e.length >= 0 && e.length != n {
		return nil, faultf(ErrExternal, "external data %q: got a length of %d bytes, want %d for %s%v", e.location, e.length, n, dt, shape)
	}
	if l.given != nil {
		src, err := l.given(e.location, e.offset, n)
		if err != nil {
			return nil, err
		}
		return wrapArray(array.NewLazy(dt, shape, src))
	}
	if l.ext == nil {
		return nil, faultf(ErrExternal, "external data %q: the model was read from memory, so it has no folder", e.location)
	}
	e.name = t.GetName()
	src, err := l.ext.source(e, n)
	if err != nil {
		return nil, err
	}
	return wrapArray(array.NewLazy(dt, shape, src))
}

// externalEntry is what external_data says; length is -1 when it is not given.
type externalEntry struct {
	location, checksum string
	offset, length     int64
	unplaced           bool   // neither offset nor length is given
	name               string // of the tensor
}

// parseExternal reads the five keys that the standard has; each may come once.
func parseExternal(entries []*pb.StringStringEntryProto) (externalEntry, error) {
	e := externalEntry{length: -1}
	seen := map[string]bool{}
	for _, kv := range entries {
		k, v := kv.GetKey(), kv.GetValue()
		if seen[k] {
			return e, faultf(ErrExternal, "external_data: key %q is given twice", k)
		}
		seen[k] = true
		var err error
		switch k {
		case "location":
			e.location = v
		case "checksum":
			e.checksum = v
		case "offset":
			e.offset, err = parseSize(k, v)
		case "length":
			e.length, err = parseSize(k, v)
		}
		if err != nil {
			return e, err
		}
	}
	e.unplaced = !seen["offset"] && !seen["length"]
	if e.location == "" {
		return e, faultf(ErrExternal, "external_data: got no location")
	}
	return e, nil
}

func parseSize(k, v string) (int64, error) {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 0 || v[0] == '+' || v[0] == '-' {
		return 0, faultf(ErrExternal, "external_data: %s: got %q, want a decimal number ≥ 0", k, v)
	}
	return n, nil
}

// unchanged reports whether the literal still holds what the file held.
func (s *storage) unchanged(a *array.Array) bool {
	if s == nil || a == nil || a.DType() != s.array.DType() || !equalShape(a.Shape(), s.proto.Dims) {
		return false
	}
	if a.DType() == array.String {
		strs := a.Strings()
		if len(strs) != len(s.proto.StringData) {
			return false
		}
		for i, v := range strs {
			if v != string(s.proto.StringData[i]) {
				return false
			}
		}
		return true
	}
	if src := a.Source(); src != nil {
		return src == s.array.Source()
	}
	if s.small == nil {
		return false
	}
	b, err := a.Bytes()
	return err == nil && string(b) == string(s.small)
}

func equalShape(a []int, b []int64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if int64(a[i]) != b[i] {
			return false
		}
	}
	return true
}

// clone copies a TensorProto that does not hold much.
func clone(t *pb.TensorProto) *pb.TensorProto { return proto.Clone(t).(*pb.TensorProto) }
