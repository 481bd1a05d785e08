package onnx

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"

	"google.golang.org/protobuf/proto"

	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx/internal/pb"
)

// OpenOptions says how to open a model.
type OpenOptions struct {
	// ExternalDir is where external data lies; "" is the model's folder.
	ExternalDir string
	// AllowDirs are folders outside the model's that links of its external data
	// may lead into.
	AllowDirs []string
	// Strict refuses external data that is reached by a link, or that has
	// several names.
	Strict bool
	Limits Limits
}

// Open opens the model in a file, in the binary form or a text form, as its
// extension says. Weights in the binary form are mapped, not read.
func Open(path string, o OpenOptions) (*ir.Model, error) {
	src, err := openSource(path, o.Limits)
	if err != nil {
		return nil, err
	}
	dir := o.ExternalDir
	if dir == "" {
		dir = filepath.Dir(path)
	}
	m, err := read(src, newExternalDir(dir, path, o), o.Limits)
	if err != nil {
		return nil, inFile(path, err)
	}
	return m, nil
}

// Read decodes the model in data, which the model then refers to: it must not
// be changed. External data can't be reached.
func Read(data []byte) (*ir.Model, error) {
	return read(&memory{bytes.NewReader(data), data}, nil, Limits{})
}

// memory is bytes as a source.
type memory struct {
	*bytes.Reader
	data []byte
}

func (m *memory) Len() int64             { return int64(len(m.data)) }
func (m *memory) Bytes() ([]byte, error) { return m.data, nil }

// section returns a part of a source as a source.
func (m *memory) section(off, n int64) source {
	part := m.data[off : off+n : off+n]
	return &memory{bytes.NewReader(part), part}
}

// decode reads a message of any kind from a source: its skeleton, with weights
// of at least elideFrom bytes left out.
func decode(src source, kind *message, into proto.Message, limits Limits) (key uint64, err error) {
	if src.Len() > limits.FileSize {
		return 0, over("file_size", "bytes in the file", limits.FileSize)
	}
	if err := sniff(src, src.Len()); err != nil {
		return 0, err
	}
	key = rand.Uint64() | 1
	w := &walker{c: &cursor{r: src, size: src.Len()}, key: key, n: counter{limits: limits}}
	if err := w.walk(kind, src.Len(), 0); err != nil {
		return 0, notModel(src, err)
	}
	opts := proto.UnmarshalOptions{RecursionLimit: 2 * limits.Depth}
	if err := opts.Unmarshal(w.out, into); err != nil {
		return 0, notModel(src, faultf(ErrInvalid, "the message does not decode: %v", err))
	}
	return key, nil
}

// notModel tells a damaged model from a file that never was one: a model begins
// with a field of ModelProto.
func notModel(src source, err error) error {
	head := make([]byte, 1)
	if _, e := src.ReadAt(head, 0); e == nil && head[0] != 0x08 && head[0] != 0x12 && head[0] != 0x1a && head[0] != 0x3a && head[0] != 0x42 && head[0] != 0x0a {
		return faultf(ErrNotONNX, "not an ONNX model: %v", err)
	}
	return err
}

func read(src source, ext *externalDir, limits Limits) (*ir.Model, error) {
	return readBy(tensorLoader{src: src, ext: ext}, limits)
}

func readBy(tensors tensorLoader, limits Limits) (*ir.Model, error) {
	limits = limits.withDefaults()
	var p pb.ModelProto
	var err error
	if tensors.key, err = decode(tensors.src, modelMsg, &p, limits); err != nil {
		return nil, err
	}
	if p.Graph == nil {
		return nil, faultf(ErrInvalid, "not an ONNX model: it has no graph")
	}
	l := &loader{tensors: tensors, n: counter{limits: limits}}
	return l.model(&p)
}
