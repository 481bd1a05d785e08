package onnx

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/starlarkgs/starlarkgs/ir"
)

// Range is a part of a file.
type Range struct{ Offset, Length int64 }

// ExternalFile tells how a model uses a file of external data.
type ExternalFile struct {
	Path    string
	Size    int64 // of the file; -1 when it is not there
	Tensors int   // that lie in it
	Used    int64 // bytes that tensors lie in
	// Unused are the ranges that no tensor lies in, padding before an aligned
	// offset aside; Shared those that more than one does.
	Unused, Shared []Range
}

// maxPadding is the largest alignment that writers use: a page of Windows'
// mappings.
const maxPadding = 64 << 10

// ExternalFiles lists the files of external data that the constants of a model
// lie in, as they were when it was opened, by path.
func ExternalFiles(m *ir.Model) []ExternalFile {
	parts := map[*externalFile][]Range{}
	for _, g := range m.Graphs() {
		for _, t := range g.Initializers() {
			if t.Array() == nil {
				continue
			}
			if s, ok := t.Array().Source().(*externalSource); ok {
				parts[s.file] = append(parts[s.file], Range{s.off, s.n})
			}
		}
	}
	var out []ExternalFile
	for f, rs := range parts {
		out = append(out, f.usage(rs))
	}
	slices.SortFunc(out, func(a, b ExternalFile) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

func (f *externalFile) usage(parts []Range) ExternalFile {
	u := ExternalFile{Path: f.path, Size: -1, Tensors: len(parts)}
	slices.SortFunc(parts, func(a, b Range) int { return cmp.Compare(a.Offset, b.Offset) })
	end := int64(0)
	if f.headSize > 0 {
		end = f.headSize
	}
	for _, r := range parts {
		u.gap(end, r.Offset)
		if over := min(end, r.Offset+r.Length) - r.Offset; over > 0 {
			u.Shared = append(u.Shared, Range{r.Offset, over})
		}
		u.Used += max(r.Offset+r.Length-max(end, r.Offset), 0)
		end = max(end, r.Offset+r.Length)
	}
	if f.info != nil {
		u.Size = f.info.Size()
		u.gap(end, u.Size)
	}
	return u
}

// gap enters the bytes between two offsets, unless they only align the second.
func (u *ExternalFile) gap(from, to int64) {
	n := to - from
	if n > 0 && n >= min(int64(1)<<bits.TrailingZeros64(uint64(to)), maxPadding) {
		u.Unused = append(u.Unused, Range{from, n})
	}
}
