package onnx

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx/internal/pb"
)

// External says where weights are written.
type External string

// The places for weights.
const (
	// ExternalAuto keeps them as they are when a model is saved over itself,
	// else puts those that were external into one file beside the model; over
	// 2 GB all large ones go there.
	ExternalAuto   External = "auto"
	ExternalKeep   External = "keep"   // what is external and unchanged stays in its file
	ExternalSingle External = "single" // one file beside the model
	ExternalEach   External = "each"   // a file for each weight
	ExternalNone   External = "none"   // all inside the model
)

// Externals lists the places, the default first.
var Externals = []External{ExternalAuto, ExternalKeep, ExternalSingle, ExternalEach, ExternalNone}

// SaveOptions says how to save.
type SaveOptions struct {
	External External // "" is ExternalAuto
	// Threshold is the bytes from which a weight goes outside; 0 is 1024.
	Threshold int64
	// Location names the file of ExternalSingle, beside the model; "" is the
	// model's name with .data.
	Location string
}

// SaveReport tells what was written.
type SaveReport struct {
	Bytes int64    // of the model's file
	Files []string // external files written
	Notes []string // what was decided without being asked for
}

const (
	defaultThreshold = 1 << 10
	maxFile          = 2_000_000_000 // a message must stay below 2 GiB
	largeAlign       = 4096
	largeFrom        = 1 << 20
	smallAlign       = 64
)

// Save writes the model to path: to a temporary file beside it, which is synced
// and renamed, so the target holds the old content or the new one, and may be
// the very file that the model was opened from. Nodes that an edit left out of
// order are sorted first.
func Save(m *ir.Model, path string, o SaveOptions) (*SaveReport, error) {
	if err := checkExtension(path); err != nil {
		return nil, err
	}
	if err := checkSave(&o); err != nil {
		return nil, err
	}
	if err := sortAll(m); err != nil {
		return nil, err
	}
	report := &SaveReport{}
	p := newPlacer(path, o, m, report)
	segments, size, err := encode(m, p.place)
	if err != nil {
		return nil, err
	}
	if size > maxFile && p.mode == ExternalNone && o.External != ExternalNone {
		report.Notes = append(report.Notes, fmt.Sprintf("the model takes %d bytes, more than a file can hold, so its weights go to %s", size, p.location))
		p = newPlacer(path, o, m, report)
		p.mode = ExternalSingle
		if segments, size, err = encode(m, p.place); err != nil {
			return nil, err
		}
	}
	if size > 1<<31-1 {
		return nil, fmt.Errorf("save %s: the model takes %d bytes, want less than 2147483648 (use external=\"single\")", path, size)
	}
	if err := p.write(); err != nil {
		return nil, fmt.Errorf("save %s: %w", path, err)
	}
	report.Bytes = size
	if err := writeFile(path, segments); err != nil {
		return nil, fmt.Errorf("save %s: %w", path, err)
	}
	return report, nil
}

func checkSave(o *SaveOptions) error {
	if o.External == "" {
		o.External = ExternalAuto
	}
	for _, e := range Externals {
		if e == o.External {
			if o.Threshold == 0 {
				o.Threshold = defaultThreshold
			}
			if o.Location != "" {
				return checkLocation(o.Location)
			}
			return nil
		}
	}
	return fmt.Errorf("external: got %q, want one of %q", o.External, Externals)
}

// sortAll puts nodes after what they read, in every graph that an edit left out
// of order. One that the file had so already, and that was not edited, stays.
func sortAll(m *ir.Model) error {
	for _, g := range m.Graphs() {
		if x, ok := g.Extra.(*graphExtra); ok && x.unsorted != nil && slices.Equal(x.unsorted, g.Nodes()) {
			continue
		}
		if _, err := g.Sort(false); err != nil {
			return err
		}
	}
	return nil
}

type placeFunc = func(t *ir.Tensor, name string, a *array.Array, s *storage) []*pb.StringStringEntryProto

func encode(m *ir.Model, place placeFunc) ([]segment, int64, error) {
	e := &encoder{place: place}
	p, err := e.model(m)
	if err != nil {
		return nil, 0, err
	}
	skeleton, err := proto.MarshalOptions{Deterministic: true}.Marshal(p)
	if err != nil {
		return nil, 0, err
	}
	segments, size := expand(skeleton, e.payloads)
	return segments, size, nil
}

// Marshal returns the model as bytes, weights inside.
func Marshal(m *ir.Model) ([]byte, error) {
	if err := sortAll(m); err != nil {
		return nil, err
	}
	segments, size, err := encode(m, nil)
	if err != nil {
		return nil, err
	}
	if size > 1<<31-1 {
		return nil, fmt.Errorf("the model takes %d bytes, want less than 2147483648", size)
	}
	var out bytes.Buffer
	out.Grow(int(size))
	if err := writeSegments(&out, segments); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// placer decides which weights go into other files, and writes those.
type placer struct {
	dir, location string
	mode          External
	threshold     int64
	report        *SaveReport
	wasOnly       bool // only what was external before goes outside, whatever its size
	offset        int64
	queue         []placement
	names         map[string]bool
}

// placement is one weight on its way into an external file.
type placement struct {
	location string
	offset   int64
	src      source
}

func newPlacer(path string, o SaveOptions, m *ir.Model, report *SaveReport) *placer {
	p := &placer{dir: filepath.Dir(path), location: o.Location, mode: o.External, threshold: o.Threshold, report: report, names: map[string]bool{}}
	if p.location == "" {
		p.location = filepath.Base(path) + ".data"
	}
	if p.mode != ExternalAuto {
		return p
	}
	p.mode = ExternalNone
	if first := firstExternal(m); first != nil {
		p.mode, p.wasOnly = ExternalSingle, true
		if sameFolder(first.dir.dir, p.dir) {
			p.mode = ExternalKeep
		}
	}
	return p
}

func firstExternal(m *ir.Model) *externalSource {
	for _, g := range m.Graphs() {
		for _, t := range g.Initializers() {
			if a := t.Array(); a != nil {
				if s, ok := a.Source().(*externalSource); ok {
					return s
				}
			}
		}
	}
	return nil
}

func sameFolder(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// place returns the external_data entries of a weight, or nil to keep it inside.
func (p *placer) place(_ *ir.Tensor, name string, a *array.Array, s *storage) []*pb.StringStringEntryProto {
	if a.DType() == array.String {
		return nil
	}
	if p.mode == ExternalKeep {
		if src, ok := a.Source().(*externalSource); ok && s != nil && sameFolder(src.dir.dir, p.dir) {
			return s.proto.ExternalData
		}
		return nil
	}
	if _, was := a.Source().(*externalSource); p.mode == ExternalNone || p.wasOnly && !was || !p.wasOnly && a.NBytes() < p.threshold {
		return nil
	}
	location := p.location
	if p.mode == ExternalEach {
		location = p.fileName(name)
		p.offset = 0
	}
	align := int64(smallAlign)
	if a.NBytes() >= largeFrom {
		align = largeAlign
	}
	p.offset = (p.offset + align - 1) / align * align
	p.queue = append(p.queue, placement{location, p.offset, arraySource{a}})
	entries := []*pb.StringStringEntryProto{
		entry("location", location), entry("offset", strconv.FormatInt(p.offset, 10)), entry("length", strconv.FormatInt(a.NBytes(), 10)),
	}
	p.offset += a.NBytes()
	return entries
}

func entry(k, v string) *pb.StringStringEntryProto {
	return &pb.StringStringEntryProto{Key: proto.String(k), Value: proto.String(v)}
}

// fileName makes a file name of a weight's: what is no letter, digit, dot, dash
// or underscore becomes an underscore, and a number makes it unique.
func (p *placer) fileName(name string) string {
	clean := []byte(name)
	for i, c := range clean {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' && i > 0) {
			clean[i] = '_'
		}
	}
	const longest = 100
	base := string(clean[:min(len(clean), longest)])
	out := base + ".data"
	for i := 1; p.names[out]; i++ {
		out = base + "_" + strconv.Itoa(i) + ".data"
	}
	p.names[out] = true
	return out
}

// write writes the external files, each by way of a temporary one.
func (p *placer) write() error {
	for from := 0; from < len(p.queue); {
		to := from
		var segments []segment
		at := int64(0)
		for ; to < len(p.queue) && p.queue[to].location == p.queue[from].location; to++ {
			q := p.queue[to]
			if gap := q.offset - at; gap > 0 {
				segments = append(segments, segment{bytes: make([]byte, gap)})
			}
			segments = append(segments, segment{src: q.src})
			at = q.offset + q.src.Len()
		}
		path := filepath.Join(p.dir, filepath.FromSlash(p.queue[from].location))
		if err := writeFile(path, segments); err != nil {
			return err
		}
		p.report.Files = append(p.report.Files, path)
		from = to
	}
	return nil
}

// writeHook, in tests, is called before each step of writing a file and may
// make it fail.
var writeHook func(step string) error

func hook(step string) error {
	if writeHook != nil {
		return writeHook(step)
	}
	return nil
}

// writeFile writes segments to path by way of a temporary file beside it.
func writeFile(path string, segments []segment) (err error) {
	dir := filepath.Dir(path)
	if err := hook("create"); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			tmp.Close()
			os.Remove(tmp.Name())
		}
	}()
	if err := hook("write"); err != nil {
		return err
	}
	if err := writeSegments(tmp, segments); err != nil {
		return err
	}
	if err := tmp.Chmod(fileMode(path)); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if err := hook("sync"); err != nil {
		return err
	}
	if err := tmp.Sync(); err != nil {
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	if err := hook("rename"); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

// fileMode returns the mode of the file that is replaced, or the usual one.
func fileMode(path string) os.FileMode {
	if info, err := os.Stat(path); err == nil {
		return info.Mode().Perm()
	}
	return 0o644
}

// syncDir makes a rename durable, where a folder can be synced.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	// some systems can't sync folders; the rename has happened all the same
	_ = d.Sync()
	return nil
}

const copyChunk = 1 << 20

func writeSegments(w io.Writer, segments []segment) error {
	buf := make([]byte, 0, copyChunk)
	flush := func() error {
		_, err := w.Write(buf)
		buf = buf[:0]
		return err
	}
	for _, s := range segments {
		if s.src != nil {
			if err := flush(); err != nil {
				return err
			}
			if err := copySource(w, s.src); err != nil {
				return err
			}
			continue
		}
		if len(buf)+len(s.bytes) > copyChunk {
			if err := flush(); err != nil {
				return err
			}
		}
		if len(s.bytes) > copyChunk {
			if _, err := w.Write(s.bytes); err != nil {
				return err
			}
			continue
		}
		buf = append(buf, s.bytes...)
	}
	return flush()
}

// copySource copies by pread and write in chunks: a mapping's touched pages
// would count as memory, and copy_file_range is slow where offsets differ.
func copySource(w io.Writer, src source) error {
	buf := make([]byte, min(copyChunk, max(src.Len(), 1)))
	for off := int64(0); off < src.Len(); {
		n := min(int64(len(buf)), src.Len()-off)
		k, err := src.ReadAt(buf[:n], off)
		if int64(k) < n {
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		if _, err := w.Write(buf[:n]); err != nil {
			return err
		}
		off += n
	}
	return nil
}
