package onnx

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/starlarkgs/starlarkgs/onnx/internal/pb"
)

// usedBefore lists the external files that the model at the path, which is about
// to be replaced, uses. It is not asked for where nothing is external.
func (p *placer) usedBefore(path string) map[string]bool {
	if len(p.files) == 0 && len(p.had) == 0 {
		return nil
	}
	used, err := locationsOf(path)
	if err != nil {
		return nil // no model is there
	}
	return used
}

// locationsOf returns the locations that a model file names.
func locationsOf(path string) (map[string]bool, error) {
	d, err := decodeFile(path)
	if err != nil {
		return nil, err
	}
	used := map[string]bool{}
	eachTensor(d.model.ProtoReflect(), func(t *pb.TensorProto) {
		if e, err := parseExternal(t.ExternalData); err == nil && t.GetDataLocation() == pb.TensorProto_EXTERNAL {
			used[filepath.ToSlash(filepath.Clean(filepath.FromSlash(e.location)))] = true
		}
	})
	return used, nil
}

// tidy removes the external files that the old model used and the new one does
// not: those that have a name of ours, and with compact the others. A file that
// another model of the folder uses, and a link, stays.
func (p *placer) tidy(path string, used map[string]bool) {
	for _, f := range p.files {
		delete(used, f.now)
		delete(used, f.name)
	}
	for location := range p.kept {
		delete(used, filepath.ToSlash(filepath.Clean(filepath.FromSlash(location))))
	}
	if len(used) == 0 {
		return
	}
	others := usedByOthers(path)
	for _, location := range slices.Sorted(maps.Keys(used)) {
		file := filepath.Join(p.dir, filepath.FromSlash(location))
		switch info, err := os.Lstat(file); {
		case err != nil || !info.Mode().IsRegular() || checkLocation(location) != nil:
		case others[location]:
			p.report.note("%s stays: another model of the folder uses it", file)
		case !p.o.Compact && !strings.HasPrefix(location, p.base+".") && !strings.HasPrefix(location, p.base+"-"):
			p.report.note("%s is used no more (compact=True removes it)", file)
		default:
			if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
				p.report.note("%s is used no more, and could not be removed: %v", file, err)
				continue
			}
			p.report.Removed = append(p.report.Removed, file)
		}
	}
}

// usedByOthers returns the locations that the other models of the folder name.
func usedByOthers(path string) map[string]bool {
	out := map[string]bool{}
	entries, _ := os.ReadDir(filepath.Dir(path)) // a folder that can't be read has no others for us
	for _, e := range entries {
		if e.Name() == filepath.Base(path) || !slices.Contains(Extensions, strings.ToLower(filepath.Ext(e.Name()))) {
			continue
		}
		if used, err := locationsOf(filepath.Join(filepath.Dir(path), e.Name())); err == nil {
			maps.Copy(out, used)
		}
	}
	return out
}

// eachTensor calls f for every TensorProto in a message.
func eachTensor(m protoreflect.Message, f func(*pb.TensorProto)) {
	if t, ok := m.Interface().(*pb.TensorProto); ok {
		f(t)
		return
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Message() == nil:
		case fd.IsList():
			for i := range v.List().Len() {
				eachTensor(v.List().Get(i).Message(), f)
			}
		default:
			eachTensor(v.Message(), f)
		}
		return true
	})
}
