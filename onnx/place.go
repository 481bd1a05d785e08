package onnx

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx/internal/pb"
)

// outside says which weights go into external files.
type outside int

const (
	noWeights       outside = iota
	externalWeights         // those that are external already
	allWeights              // those of the threshold's size
)

// placer decides which weights go into other files, and lays those out. Names
// and offsets are its own, never the input's.
type placer struct {
	dir, base string
	o         SaveOptions
	location  string // of the one file
	keep      bool   // what is external and can stay stays
	outside   outside
	report    *SaveReport

	here    *externalDir // what a reader of the saved model will reach
	stays   map[*externalFile]bool
	kept    map[string]bool // locations of kept files
	had     map[string]bool // locations in this folder that the model came with
	weights []*weight
	placed  map[spot]*weight
	files   []*dataFile
}

// weight is one on its way into an external file.
type weight struct {
	name    string
	array   *array.Array
	entries []*pb.StringStringEntryProto // location, offset, length and perhaps checksum
	offset  int64
}

// spot is a place that several tensors may share.
type spot struct {
	file   *externalFile
	off, n int64
	dtype  array.DType
}

func newPlacer(path string, o SaveOptions, report *SaveReport) *placer {
	p := &placer{dir: filepath.Dir(path), base: filepath.Base(path), o: o, location: o.Location, report: report,
		stays: map[*externalFile]bool{}, kept: map[string]bool{}, had: map[string]bool{}, placed: map[spot]*weight{}}
	if p.location == "" {
		p.location = p.base + ".data"
	}
	p.here = newExternalDir(p.dir, "", OpenOptions{})
	switch o.External {
	case ExternalAuto, ExternalKeep:
		p.keep, p.outside = !o.Compact, externalWeights
	case ExternalSingle, ExternalEach:
		p.outside = allWeights
	}
	return p
}

func sameFolder(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// place returns the external_data entries of a weight, or nil to keep it inside.
func (p *placer) place(t *ir.Tensor, name string, a *array.Array, s *storage) []*pb.StringStringEntryProto {
	src, was := a.Source().(*externalSource)
	if was && p.mayStay(src.file) {
		if s != nil && (src.name == "" || src.name == name) {
			return s.proto.ExternalData
		}
		return newEntries(src.file.location, src.off, src.n, src.file.checksum)
	}
	wanted := p.outside == allWeights && a.NBytes() >= p.o.Threshold || p.outside == externalWeights && was
	if t == nil || !wanted || a.DType() == array.String {
		return nil
	}
	if was && !p.packed() {
		at := spot{src.file, src.off, src.n, a.DType()}
		if w := p.placed[at]; w != nil {
			return w.entries
		}
		defer func() { p.placed[at] = p.weights[len(p.weights)-1] }()
	}
	w := &weight{name: name, array: a, entries: newEntries("", 0, a.NBytes(), "")}
	if p.o.Checksum {
		w.entries = append(w.entries, entry("checksum", strings.Repeat("0", 40)))
	}
	p.weights = append(p.weights, w)
	return w.entries
}

// packed reports whether the file's format gives each tensor bytes of its own.
func (p *placer) packed() bool {
	return p.o.External != ExternalEach && filepath.Ext(p.location) == ".safetensors"
}

// mayStay reports whether what lies in the file can stay there: the saved model
// must reach it, as a reader that was told nothing would.
func (p *placer) mayStay(f *externalFile) bool {
	stays, known := p.stays[f]
	if known {
		return stays
	}
	same := sameFolder(f.dir.dir, p.dir)
	if same {
		p.had[f.location] = true
	}
	switch _, err := p.here.at(f.location); {
	case !p.keep && (p.outside != externalWeights || !f.missing()):
	case f.missing():
		p.report.note("%s is not there: what refers to it is kept as it is", f.path)
		stays = true
	case same && err == nil:
		stays = true
	case p.o.External == ExternalKeep || same:
		p.report.note("the weights in %s are copied: the saved model could not reach them there", f.path)
	}
	if stays {
		p.kept[f.location] = true
	}
	p.stays[f] = stays
	return stays
}

func newEntries(location string, off, n int64, sum string) []*pb.StringStringEntryProto {
	es := []*pb.StringStringEntryProto{entry("location", location), entry("offset", strconv.FormatInt(off, 10)), entry("length", strconv.FormatInt(n, 10))}
	if sum != "" {
		es = append(es, entry("checksum", sum))
	}
	return es
}

func entry(k, v string) *pb.StringStringEntryProto {
	return &pb.StringStringEntryProto{Key: proto.String(k), Value: proto.String(v)}
}

// layout gives each weight a file and a place in it.
func (p *placer) layout() error {
	if p.o.Compact && p.o.Location == "" && len(p.had) == 1 {
		for location := range p.had {
			p.compactInto(location)
		}
	}
	switch {
	case len(p.weights) == 0:
		return nil
	case p.o.External == ExternalEach:
		names := map[string]bool{}
		for _, w := range p.weights {
			p.files = append(p.files, &dataFile{name: p.fileName(w.name, names), weights: []*weight{w}})
		}
	default:
		p.shards()
	}
	for _, f := range p.files {
		if err := f.layout(); err != nil {
			return err
		}
	}
	return nil
}

// compactInto makes the model's one external file, if it is one and no link,
// the file that its weights are packed into.
func (p *placer) compactInto(location string) {
	if info, err := os.Lstat(filepath.Join(p.dir, filepath.FromSlash(location))); err == nil && info.Mode().IsRegular() {
		p.location = location
	}
}

// shards cuts the weights, in their order, into files of the size wanted.
func (p *placer) shards() {
	for i := 1; p.kept[p.location]; i++ { // what is kept must not be written over
		p.location = fmt.Sprintf("%s.%d.data", p.base, i)
	}
	f, size := &dataFile{}, int64(0)
	p.files = []*dataFile{f}
	for _, w := range p.weights {
		if n := w.array.NBytes(); p.o.MaxShard > 0 && len(f.weights) > 0 && size+n > p.o.MaxShard {
			f, size = &dataFile{}, 0
			p.files = append(p.files, f)
		}
		f.weights = append(f.weights, w)
		size = aligned(size, w.array.NBytes()) + w.array.NBytes()
	}
	ext := filepath.Ext(p.location)
	for i, f := range p.files {
		f.name = p.location
		if len(p.files) > 1 {
			f.name = fmt.Sprintf("%s-%05d-of-%05d%s", strings.TrimSuffix(p.location, ext), i+1, len(p.files), ext)
		}
	}
}

// aligned returns where n bytes go at off or after it: large ones at a page, so
// that they can be mapped by themselves.
func aligned(off, n int64) int64 {
	align := int64(smallAlign)
	if n >= largeFrom {
		align = largeAlign
	}
	return (off + align - 1) / align * align
}

// fileName makes the name of a weight's own file: the model's, then the weight's
// with what is no letter, digit, dot, dash or underscore replaced, and a number
// that makes it unique, on volumes too that do not tell upper from lower case.
func (p *placer) fileName(name string, taken map[string]bool) string {
	clean := []byte(name)
	for i, c := range clean {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.') {
			clean[i] = '_'
		}
	}
	const longest = 100
	stem := p.base + "." + string(clean[:min(len(clean), longest)])
	out := stem + ".data"
	for i := 1; taken[strings.ToLower(out)] || p.kept[out]; i++ {
		out = stem + "_" + strconv.Itoa(i) + ".data"
	}
	taken[strings.ToLower(out)] = true
	return out
}

// dataFile is one external file to write.
type dataFile struct {
	name    string // slashed, below the model's folder
	weights []*weight
	head    []byte // of .safetensors
	size    int64
	now     string // the name that it has so far
	sum     string
}

// layout computes the offsets.
func (f *dataFile) layout() error {
	if filepath.Ext(f.name) == ".safetensors" {
		if err := f.layoutSafetensors(); err != nil {
			return err
		}
	} else {
		for _, w := range f.weights {
			w.offset = aligned(f.size, w.array.NBytes())
			f.size = w.offset + w.array.NBytes()
		}
	}
	for _, w := range f.weights {
		w.entries[1].Value = proto.String(strconv.FormatInt(w.offset, 10))
	}
	f.refer(f.name)
	return nil
}

// refer makes the model look for the weights in a file of that name.
func (f *dataFile) refer(name string) {
	f.now = name
	for _, w := range f.weights {
		w.entries[0].Value = proto.String(name)
		if f.sum != "" {
			w.entries[3].Value = proto.String(f.sum)
		}
	}
}

// segments returns what to write.
func (f *dataFile) segments() []segment {
	out := []segment{{bytes: f.head}}
	at := int64(len(f.head))
	for _, w := range f.weights {
		if gap := w.offset - at; gap > 0 {
			out = append(out, segment{skip: gap})
		}
		out = append(out, segment{src: arraySource{w.array}})
		at = w.offset + w.array.NBytes()
	}
	return out
}
