package onnx

import (
	"bytes"
	"os"
	"path/filepath"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/mmap"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx/internal/pb"
)

// Place is a range of a file.
type Place struct {
	Path           string // absolute
	Offset, Length int64
}

// PlaceOf returns the place of an array's bytes: of one that was read from a file
// and not changed, as long as the path still leads to that file.
func PlaceOf(a *array.Array) (Place, bool) {
	src, off, n := a.Part()
	var part *mmap.Section
	var path string
	switch s := src.(type) {
	case *mmap.Section:
		part, path = s, s.File().Name()
	case *externalSource:
		section, err := s.section()
		if err != nil {
			return Place{}, false // whoever reads the array is told
		}
		part, path = section, s.file.path
	default:
		return Place{}, false
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return Place{}, false
	}
	info, err := os.Stat(path)
	if err != nil || !os.SameFile(info, part.File().Info()) || info.Size() < part.File().Size() {
		return Place{}, false
	}
	return Place{path, part.Offset() + off, n}, true
}

// MarshalWithout returns the model as bytes, without those of the initializers
// of the main graph that elsewhere answers for: they become external data at the
// location and offset that it returns. The locations are for the reader alone:
// nothing checks them here.
func MarshalWithout(m *ir.Model, elsewhere func(t *ir.Tensor) (location string, offset int64, ok bool)) ([]byte, error) {
	main := map[*ir.Tensor]bool{}
	for _, t := range m.Graph().Initializers() {
		main[t] = true
	}
	return marshal(m, func(t *ir.Tensor, _ string, a *array.Array, _ *storage) []*pb.StringStringEntryProto {
		if !main[t] || a.DType() == array.String {
			return nil
		}
		location, offset, ok := elsewhere(t)
		if !ok {
			return nil
		}
		return newEntries(location, offset, a.NBytes(), "")
	})
}

// ReadWith decodes what MarshalWithout made: given finds the bytes of the
// initializers that were left out. The model refers to data, as Read's does.
func ReadWith(data []byte, given func(location string, offset, length int64) (array.Source, error)) (*ir.Model, error) {
	return readBy(tensorLoader{src: &memory{bytes.NewReader(data), data}, given: given}, Limits{})
}
