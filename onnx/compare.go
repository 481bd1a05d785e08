package onnx

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/starlarkgs/starlarkgs/onnx/internal/pb"
)

// Compare decodes two model files and returns each field in which they differ,
// with its path: a field that is set to its default counts as set, weights are
// compared by their bytes, wherever these lie.
func Compare(pathA, pathB string) ([]string, error) {
	a, err := decodeFile(pathA)
	if err != nil {
		return nil, err
	}
	b, err := decodeFile(pathB)
	if err != nil {
		return nil, err
	}
	c := &comparer{a: a, b: b}
	c.message("", a.model.ProtoReflect(), b.model.ProtoReflect())
	return c.out, c.err
}

type decoded struct {
	model  *pb.ModelProto
	loader tensorLoader
}

func decodeFile(path string) (*decoded, error) {
	src, err := openSource(path, defaultLimits)
	if err != nil {
		return nil, err
	}
	d := &decoded{model: &pb.ModelProto{}}
	key, err := decode(src, modelMsg, d.model, defaultLimits)
	if err != nil {
		return nil, inFile(path, err)
	}
	d.loader = tensorLoader{src: src, key: key, ext: newExternalDir(filepath.Dir(path), path, OpenOptions{})}
	return d, nil
}

type comparer struct {
	a, b *decoded
	out  []string
	err  error
}

const maxDifferences = 1000

func (c *comparer) differ(path, format string, args ...any) {
	if len(c.out) < maxDifferences {
		c.out = append(c.out, path+": "+fmt.Sprintf(format, args...))
	}
}

func (c *comparer) message(path string, a, b protoreflect.Message) {
	if ta, ok := a.Interface().(*pb.TensorProto); ok {
		c.tensor(path, ta, b.Interface().(*pb.TensorProto))
		return
	}
	fields := a.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		name := path + "." + string(f.Name())
		if path == "" {
			name = string(f.Name())
		}
		switch {
		case a.Has(f) != b.Has(f):
			c.differ(name, "set: %v, then %v", a.Has(f), b.Has(f))
		case !a.Has(f):
		case f.IsList():
			c.list(name, f, a.Get(f).List(), b.Get(f).List())
		case f.Message() != nil:
			c.message(name, a.Get(f).Message(), b.Get(f).Message())
		case !a.Get(f).Equal(b.Get(f)):
			c.differ(name, "%v, then %v", a.Get(f), b.Get(f))
		}
	}
	if !bytes.Equal(a.GetUnknown(), b.GetUnknown()) {
		c.differ(path, "unknown fields differ")
	}
}

func (c *comparer) list(path string, f protoreflect.FieldDescriptor, a, b protoreflect.List) {
	if a.Len() != b.Len() {
		c.differ(path, "%d elements, then %d", a.Len(), b.Len())
		return
	}
	for i := range a.Len() {
		at := fmt.Sprintf("%s[%d]", path, i)
		if f.Message() != nil {
			c.message(at, a.Get(i).Message(), b.Get(i).Message())
		} else if !a.Get(i).Equal(b.Get(i)) {
			c.differ(at, "%v, then %v", a.Get(i), b.Get(i))
		}
	}
}

// tensor compares two TensorProtos: where the payload lies does not count, nor,
// for external ones, in which file.
func (c *comparer) tensor(path string, a, b *pb.TensorProto) {
	x, y := clone(a), clone(b)
	srcA, errA := c.a.payload(x)
	srcB, errB := c.b.payload(y)
	if errA != nil || errB != nil {
		c.differ(path, "%v, then %v", errA, errB)
		return
	}
	if !proto.Equal(x, y) {
		c.differ(path, "tensor %q: its fields differ", a.GetName())
	}
	if (srcA == nil) != (srcB == nil) {
		c.differ(path, "tensor %q: one has a payload", a.GetName())
		return
	}
	if srcA != nil {
		same, err := sameBytes(srcA, srcB)
		if err != nil || !same {
			c.differ(path, "tensor %q: its bytes differ (%v)", a.GetName(), err)
		}
	}
}

// payload takes the bytes of a tensor out of it.
func (d *decoded) payload(t *pb.TensorProto) (source, error) {
	s := &storage{}
	if err := d.loader.takePayload(t, s); err != nil {
		return nil, err
	}
	if t.GetDataLocation() != pb.TensorProto_EXTERNAL {
		return s.payload, nil
	}
	e, err := parseExternal(t.ExternalData)
	if err != nil {
		return nil, err
	}
	t.ExternalData = nil
	if e.length < 0 {
		shape, err := dims(t.Dims)
		if err != nil {
			return nil, err
		}
		e.length = packedLen(elem(t.GetDataType()), shape)
	}
	src, err := d.loader.ext.source(e, e.length)
	if err != nil {
		return nil, err
	}
	if _, err := src.section(); err != nil {
		return nil, nil // the file is not there: there is nothing to compare
	}
	return src, nil
}

func sameBytes(a, b source) (bool, error) {
	if a.Len() != b.Len() {
		return false, nil
	}
	x, y := make([]byte, copyChunk), make([]byte, copyChunk)
	for off := int64(0); off < a.Len(); off += copyChunk {
		n := min(copyChunk, a.Len()-off)
		if _, err := a.ReadAt(x[:n], off); err != nil && err != io.EOF {
			return false, err
		}
		if _, err := b.ReadAt(y[:n], off); err != nil && err != io.EOF {
			return false, err
		}
		if !bytes.Equal(x[:n], y[:n]) {
			return false, nil
		}
	}
	return true, nil
}
