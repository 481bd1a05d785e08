package onnx

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/mmap"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx/internal/pb"
)

// External says where weights are written.
type External string

// The places for weights.
const (
	// ExternalAuto keeps what is external and unchanged in its file where the
	// model stays in its folder, else puts what was external into one file beside
	// the model; over 2 GB all large ones go there.
	ExternalAuto   External = "auto"
	ExternalKeep   External = "keep"   // the same, and it is said what can't stay
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
	// model's name with .data. One that ends in .safetensors has that format.
	Location string
	// MaxShard is the bytes from which a file of ExternalSingle is cut in several,
	// which get -00001-of-00003 in their names; 0 is one file.
	MaxShard int64
	// Checksum writes the SHA-1 of each external file into the model.
	Checksum bool
	// Compact packs weights that would be kept anew, without what nobody uses, and
	// removes the files that the model at the path used before, unless another
	// model of the folder uses them.
	Compact bool
	// InFlight bounds the bytes of the buffers through which several external
	// files are written at a time; 0 is 8 MiB.
	InFlight int64
}

// SaveReport tells what was written.
type SaveReport struct {
	Bytes   int64    // of the model's file
	Files   []string // external files written
	Removed []string // external files that the model used before, now gone
	Notes   []string // what was decided without being asked for
}

func (r *SaveReport) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

const (
	defaultThreshold = 1 << 10
	maxFile          = 2_000_000_000 // a message must stay below 2 GiB
	largeAlign       = 4096
	largeFrom        = 1 << 20
	smallAlign       = 64
	copyChunk        = 1 << 20
	defaultInFlight  = 8 * copyChunk
)

// Save writes the model to path, in the form that the extension says. Model and external files switch as one: each is
// written to a file of another name, synced and renamed, the model last, so the
// path holds the old model or the new one whatever happens, and may be the very
// file that the model was opened from. Nodes that an edit left out of order are
// sorted first.
func Save(m *ir.Model, path string, o SaveOptions) (*SaveReport, error) {
	if err := checkSave(path, &o); err != nil {
		return nil, err
	}
	if err := sortAll(m); err != nil {
		return nil, err
	}
	report := &SaveReport{}
	err := mmap.Guard(func() error { return save(m, path, o, report) })
	if err != nil {
		return nil, fmt.Errorf("save %s: %w", path, err)
	}
	return report, nil
}

func save(m *ir.Model, path string, o SaveOptions, report *SaveReport) error {
	if err := checkCalls(m, math.MaxInt); err != nil { // a long chain opens under other limits
		return err
	}
	e, p, err := arrange(m, newPlacer(path, o, report), formatOf(path))
	if err != nil {
		return err
	}
	if e.size > maxFile && p.outside != allWeights && o.External != ExternalNone {
		report.Notes = nil
		report.note("the model takes %d bytes, more than a file can hold, so its weights go to %s", e.size, p.location)
		p = newPlacer(path, o, report)
		p.outside = allWeights
		if e, p, err = arrange(m, p, formatOf(path)); err != nil {
			return err
		}
	}
	if e.size > 1<<31-1 || e.format != nil && e.size > maxFile {
		return fmt.Errorf("the model takes %d bytes, want less than 2147483648 (use external=\"single\")", e.size)
	}
	used := p.usedBefore(path)
	if err := (&commit{dir: p.dir, name: filepath.Base(path), model: e, files: p.files, report: report, sums: o.Checksum, budget: o.InFlight}).run(); err != nil {
		return err
	}
	p.tidy(path, used)
	return nil
}

// arrange encodes the model and lays out its external files.
func arrange(m *ir.Model, p *placer, f *format) (*encoded, *placer, error) {
	e, err := encode(m, p.place)
	if err != nil {
		return nil, nil, err
	}
	e.format = f
	if err := p.layout(); err != nil {
		return nil, nil, err
	}
	return e, p, e.render()
}

func checkSave(path string, o *SaveOptions) error {
	if o.External == "" {
		o.External = ExternalAuto
	}
	if !slices.Contains(Externals, o.External) {
		return fmt.Errorf("external: got %q, want one of %q", o.External, Externals)
	}
	for _, f := range []struct {
		name  string
		value *int64
		dflt  int64
	}{{"threshold", &o.Threshold, defaultThreshold}, {"max_shard", &o.MaxShard, 0}, {"in_flight", &o.InFlight, defaultInFlight}} {
		if *f.value < 0 {
			return fmt.Errorf("%s: got %d, want a number of bytes ≥ 0", f.name, *f.value)
		}
		if *f.value == 0 {
			*f.value = f.dflt
		}
	}
	if o.External == ExternalAuto && (o.Location != "" || o.MaxShard > 0) {
		o.External = ExternalSingle // this is what they are for
	}
	if o.Location == "" {
		return nil
	}
	if filepath.Clean(filepath.FromSlash(o.Location)) == filepath.Base(path) {
		return fmt.Errorf("location: got %q, the model itself, want another file", o.Location)
	}
	for _, ext := range Extensions {
		if strings.EqualFold(filepath.Ext(o.Location), ext) {
			return fmt.Errorf("location: got %q, the name of a model, want one of a file of weights", o.Location)
		}
	}
	return checkLocation(o.Location)
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

// encoded is a model as messages and the payloads that belong into them.
type encoded struct {
	model    *pb.ModelProto
	payloads []payload
	format   *format   // a text form, nil for the binary one
	segments []segment // of the file
	size     int64
}

func encode(m *ir.Model, place placeFunc) (*encoded, error) {
	e := &encoder{place: place}
	p, err := e.model(m)
	if err != nil {
		return nil, err
	}
	return &encoded{model: p, payloads: e.payloads}, nil
}

// render makes the file's segments of the messages as they now are.
func (e *encoded) render() error {
	skeleton, err := proto.MarshalOptions{Deterministic: true}.Marshal(e.model)
	if err != nil {
		return err
	}
	e.segments, e.size = expand(skeleton, e.payloads)
	if e.format == nil || e.size > maxFile {
		return nil // one that is too large gets another layout or is refused
	}
	return e.format.render(e)
}

// Marshal returns the model as bytes, weights inside.
func Marshal(m *ir.Model) ([]byte, error) { return marshal(m, nil) }

func marshal(m *ir.Model, place placeFunc) ([]byte, error) {
	if err := sortAll(m); err != nil {
		return nil, err
	}
	e, err := encode(m, place)
	if err == nil {
		err = e.render()
	}
	if err != nil {
		return nil, err
	}
	if e.size > 1<<31-1 {
		return nil, fmt.Errorf("the model takes %d bytes, want less than 2147483648", e.size)
	}
	out := &bufferSink{}
	out.Grow(int(e.size))
	if err := mmap.Guard(func() error { return writeSegments(out, e.segments) }); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
