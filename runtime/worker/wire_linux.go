package worker

import (
	"encoding/gob"
	"fmt"
	"io"
	"sync"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/runtime"
)

// The operations of a request, and the kinds of a reply.
const (
	opOpen = iota + 1
	opRun
	opClose
	opVersion
	opProfile
	opCancel

	replyDone
	replyBeat // a sign of life
)

// request is what the parent sends.
type request struct {
	Op      int
	Backend string // of opOpen and opVersion
	Setting string
	Model   []byte // without its large weights
	Options runtime.Options
	Inputs  []value
	// Tells is set where the parent takes what Options.Fallback is told.
	Tells  bool
	Shared int64 // the size of the memory that the parent writes
}

// reply is what the worker sends.
type reply struct {
	Kind    int
	Names   []string // of the outputs, of opOpen
	Outputs []value
	Shared  int64 // the size of the memory that the worker writes
	Version string
	// Providers are those of the library, of opVersion.
	Providers []string
	Trace     []byte   // of opProfile
	Told      []string // what Options.Fallback was told
	Failed    *failure
}

// failure is an error with what callers test it for.
type failure struct {
	Text                                   string
	Unavailable, Unsupported, Name, Option bool
}

// fileLocation begins the location of a weight that lies in a file; others lie in
// shared memory.
const fileLocation = "file:"

// remote is an error that happened in the worker.
type remote struct {
	text string
	is   error
}

// Error returns the text that the worker's error has.
func (e *remote) Error() string { return e.text }

// Unwrap returns the error that it is one of, or nil.
func (e *remote) Unwrap() error { return e.is }

func (f *failure) err() error {
	switch {
	case f.Name:
		return &runtime.NameError{Text: f.Text}
	case f.Option:
		return &runtime.OptionError{Text: f.Text}
	case f.Unavailable:
		return &remote{f.Text, runtime.ErrUnavailable}
	case f.Unsupported:
		return &remote{f.Text, runtime.ErrUnsupported}
	}
	return &remote{f.Text, nil}
}

// value is an array.Value, whose numbers lie in shared memory.
type value struct {
	Name   string
	Kind   int
	DType  array.DType
	Shape  []int
	Offset int64
	Length int64
	Texts  []string
	Items  []value
}

// The kinds of value.
const (
	arrayKind = iota + 1
	sequenceKind
	mapKind
	optionalKind
)

// wire is one end of the socket. Sending is open to several goroutines.
type wire struct {
	mu  sync.Mutex
	enc *gob.Encoder
	dec *gob.Decoder
}

func newWire(c io.ReadWriter) *wire { return &wire{enc: gob.NewEncoder(c), dec: gob.NewDecoder(c)} }

func (w *wire) send(v any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.enc.Encode(v)
}

// writer lays values out in shared memory: first all are placed, then there is
// room, then the bytes are copied.
type writer struct {
	arrays  []*array.Array
	offsets []int64
	size    int64
	in      *memory // arrays that lie in it already stay; may be nil
}

// lined returns where the next array may begin: at what the fastest loads of any
// processor want.
func lined(at int64) int64 {
	const lineUp = 64
	return (at + lineUp - 1) / lineUp * lineUp
}

func (w *writer) place(a *array.Array) int64 {
	if at, ok := w.in.find(a); ok {
		return at
	}
	at := lined(w.size)
	w.arrays, w.offsets = append(w.arrays, a), append(w.offsets, at)
	w.size = at + a.NBytes()
	return at
}

// copyTo copies the bytes of all arrays to where they were placed.
func (w *writer) copyTo(m *memory) error {
	if err := m.reserve(w.size); err != nil {
		return err
	}
	for i, a := range w.arrays {
		raw, err := a.Bytes()
		if err != nil {
			return err
		}
		copy(m.data[w.offsets[i]:], raw)
	}
	return nil
}

func (w *writer) value(name string, v array.Value) (value, error) {
	out := value{Name: name}
	var items []array.Value
	switch v := v.(type) {
	case *array.Array:
		out.Kind, out.DType, out.Shape = arrayKind, v.DType(), v.Shape()
		if v.DType() == array.String {
			out.Texts = v.Strings()
			return out, nil
		}
		out.Offset, out.Length = w.place(v), v.NBytes()
	case *array.Sequence:
		out.Kind, items = sequenceKind, v.Items
	case *array.Map:
		out.Kind, items = mapKind, append([]array.Value{v.Keys}, v.Values...)
	case *array.Optional:
		out.Kind = optionalKind
		if v.Value != nil {
			items = []array.Value{v.Value}
		}
	default:
		return out, fmt.Errorf("value %q: got none", name)
	}
	for _, item := range items {
		part, err := w.value("", item)
		if err != nil {
			return out, err
		}
		out.Items = append(out.Items, part)
	}
	return out, nil
}

// read makes the value again. Numbers are copied out of the memory where private
// is set, else they lie in it.
func (v value) read(m *memory, private bool) (array.Value, error) {
	if v.Kind == arrayKind {
		return v.readArray(m, private)
	}
	items := make([]array.Value, len(v.Items))
	for i, item := range v.Items {
		var err error
		if items[i], err = item.read(m, private); err != nil {
			return nil, err
		}
	}
	switch {
	case v.Kind == sequenceKind:
		return &array.Sequence{Items: items}, nil
	case v.Kind == optionalKind && len(items) == 0:
		return &array.Optional{}, nil
	case v.Kind == optionalKind:
		return &array.Optional{Value: items[0]}, nil
	case v.Kind == mapKind && len(items) > 0:
		if keys, ok := items[0].(*array.Array); ok {
			return &array.Map{Keys: keys, Values: items[1:]}, nil
		}
	}
	return nil, fmt.Errorf("got a value of kind %d, want one that the other end can send", v.Kind)
}

func (v value) readArray(m *memory, private bool) (array.Value, error) {
	shape := append([]int{}, v.Shape...)
	if v.DType == array.String {
		return array.FromStrings(v.Texts, shape...), nil
	}
	raw, err := m.slice(v.Offset, v.Length)
	if err != nil {
		return nil, err
	}
	shared, err := array.FromBytes(v.DType, shape, raw)
	if err != nil || !private {
		return shared, err
	}
	return shared.Copy(), nil
}
