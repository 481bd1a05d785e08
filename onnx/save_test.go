package onnx

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/mmap"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx/internal/pb"
)

// placesOf returns where each weight of a model lies: location and offset, or
// "inside".
func placesOf(m *ir.Model) []string {
	var out []string
	for _, t := range m.Graph().Initializers() {
		place := "inside"
		if s, ok := t.Array().Source().(*externalSource); ok {
			place = fmt.Sprintf("%s@%d", s.file.location, s.off)
		}
		out = append(out, place)
	}
	return out
}

// TestPlaces saves in each way and looks where the weights are.
func TestPlaces(t *testing.T) {
	// 400 bytes, 4 KB, 2 MB, 1.2 MB
	model := func(t *testing.T) *ir.Model { return weighed(t, 1, 100, 1000, 500_000, 300_000) }
	for _, c := range []struct {
		name   string
		o      SaveOptions
		files  string
		places string
	}{
		{"auto", SaveOptions{}, "m.onnx", "inside inside inside inside"},
		{"none", SaveOptions{External: ExternalNone}, "m.onnx", "inside inside inside inside"},
		{"single", SaveOptions{External: ExternalSingle}, "m.onnx m.onnx.data", "inside m.onnx.data@0 m.onnx.data@4096 m.onnx.data@2007040"},
		{"threshold", SaveOptions{External: ExternalSingle, Threshold: 1 << 20}, "m.onnx m.onnx.data", "inside inside m.onnx.data@0 m.onnx.data@2002944"},
		{"all", SaveOptions{External: ExternalSingle, Threshold: 1}, "m.onnx m.onnx.data", "m.onnx.data@0 m.onnx.data@448 m.onnx.data@8192 m.onnx.data@2011136"},
		{"location", SaveOptions{Location: "sub/w.bin"}, "m.onnx sub/w.bin", "inside sub/w.bin@0 sub/w.bin@4096 sub/w.bin@2007040"},
		{"each", SaveOptions{External: ExternalEach}, "m.onnx m.onnx.w1.data m.onnx.w2.data m.onnx.w3.data", "inside m.onnx.w1.data@0 m.onnx.w2.data@0 m.onnx.w3.data@0"},
		{"shards", SaveOptions{MaxShard: 2_100_000}, "m.onnx m.onnx-00001-of-00002.data m.onnx-00002-of-00002.data",
			"inside m.onnx-00001-of-00002.data@0 m.onnx-00001-of-00002.data@4096 m.onnx-00002-of-00002.data@0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			m := model(t)
			r := mustSave(t, m, dir+"/m.onnx", c.o)
			wantFiles(t, dir, strings.Fields(c.files)...)
			if len(r.Files) != len(strings.Fields(c.files))-1 {
				t.Errorf("the report names %q", r.Files)
			}
			back := mustOpen(t, dir+"/m.onnx")
			if got := strings.Join(placesOf(back), " "); got != c.places {
				t.Errorf("got places %q, want %q", got, c.places)
			}
			if mustHash(t, back) != mustHash(t, m) {
				t.Error("the weights differ")
			}
			savedTwice(t, dir, c.o)
			movedAway(t, dir, mustHash(t, m))
		})
	}
}

// savedTwice saves the model in dir over itself and wants the same bytes in the
// same files.
func savedTwice(t *testing.T, dir string, o SaveOptions) {
	t.Helper()
	content := func() (all string) {
		for _, name := range files(t, dir) {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			all += name + "\x00" + string(data)
		}
		return all
	}
	before := content()
	mustSave(t, mustOpen(t, dir+"/m.onnx"), dir+"/m.onnx", o)
	if content() != before {
		t.Errorf("saving twice gives other bytes, in %q", files(t, dir))
	}
}

// movedAway saves the model in dir to another folder, removes dir, and moves the
// other folder.
func movedAway(t *testing.T, dir, want string) {
	t.Helper()
	other := t.TempDir()
	mustSave(t, mustOpen(t, dir+"/m.onnx"), other+"/a/../m.onnx", SaveOptions{})
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	moved := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(other, moved); err != nil {
		t.Fatal(err)
	}
	if got := mustHash(t, mustOpen(t, moved+"/m.onnx")); got != want {
		t.Error("the weights differ in another folder")
	}
}

// TestKeep edits a model and keeps its weights where they are.
func TestKeep(t *testing.T) {
	dir := t.TempDir()
	m, path, _, after := scene(t, dir, SaveOptions{External: ExternalSingle})
	before, err := os.Stat(path + ".data")
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []External{ExternalAuto, ExternalKeep} {
		if r := mustSave(t, m, path, SaveOptions{External: mode}); len(r.Files)+len(r.Notes) > 0 {
			t.Errorf("%s: files %q were written, with notes %q", mode, r.Files, r.Notes)
		}
		now, err := os.Stat(path + ".data")
		if err != nil || !os.SameFile(before, now) || !now.ModTime().Equal(before.ModTime()) {
			t.Errorf("%s: the external file was touched: %v", mode, err)
		}
		back := mustOpen(t, path)
		if got, want := strings.Join(placesOf(back), " "), "m.onnx.data@0 inside m.onnx.data@12032"; got != want {
			t.Errorf("%s: got places %q, want %q", mode, got, want)
		}
		if mustHash(t, back) != after {
			t.Errorf("%s: the weights differ", mode)
		}
	}
	r := mustSave(t, m, t.TempDir()+"/m.onnx", SaveOptions{External: ExternalKeep})
	if len(r.Files) != 1 || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "are copied") {
		t.Errorf("kept in another folder: files %q, notes %q", r.Files, r.Notes)
	}
}

// TestMissing keeps the reference to a file that is not there.
func TestMissing(t *testing.T) {
	dir := t.TempDir()
	mustSave(t, weighed(t, 1, 1000), dir+"/m.onnx", SaveOptions{External: ExternalSingle})
	if err := os.Remove(dir + "/m.onnx.data"); err != nil {
		t.Fatal(err)
	}
	m := mustOpen(t, dir+"/m.onnx")
	other := t.TempDir()
	if r := mustSave(t, m, other+"/m.onnx", SaveOptions{}); len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "is not there") {
		t.Errorf("got notes %q", r.Notes)
	}
	if diff, err := Compare(dir+"/m.onnx", other+"/m.onnx"); err != nil || len(diff) > 0 {
		t.Errorf("the copy differs: %q, %v", diff, err)
	}
	_, err := Save(m, other+"/n.onnx", SaveOptions{External: ExternalNone})
	wantError(t, err, ErrExternal, "m.onnx.data", "no such file")
	wantFiles(t, other, "m.onnx")
}

// TestSharded saves in shards, and again with other bounds: no shard of before
// stays, nor is one lost.
func TestSharded(t *testing.T) {
	dir := t.TempDir()
	path := dir + "/m.onnx"
	sizes := make([]int, 40)
	for i := range sizes {
		sizes[i] = 300 + 17*i
	}
	m := weighed(t, 3, sizes...)
	want := mustHash(t, m)
	for _, max := range []int64{5000, 20_000, 3000, 1, 1 << 40} {
		mustSave(t, m, path, SaveOptions{MaxShard: max})
		m = mustOpen(t, path)
		if mustHash(t, m) != want {
			t.Fatalf("shards of %d bytes: the weights differ", max)
		}
		used, err := locationsOf(path)
		if err != nil || len(files(t, dir)) != len(used)+1 {
			t.Errorf("shards of %d bytes: the folder holds %q, the model uses %d", max, files(t, dir), len(used))
		}
		for name := range used {
			if info, err := os.Stat(filepath.Join(dir, name)); err != nil || max > 3000 && info.Size() > max {
				t.Errorf("shards of %d bytes: %s: %v, %v", max, name, info, err)
			}
		}
	}
	wantFiles(t, dir, "m.onnx", "m.onnx.data")
}

// TestShared stores a weight that several tensors share once.
func TestShared(t *testing.T) {
	dir := t.TempDir()
	mustSave(t, weighed(t, 1, 5000), dir+"/m.onnx", SaveOptions{External: ExternalSingle})
	m := mustOpen(t, dir+"/m.onnx")
	again := ir.NewConstant("again", m.Graph().Initializers()[0].Array().Share())
	m.Graph().AddInitializer(again)
	mustSave(t, m, dir+"/n.onnx", SaveOptions{External: ExternalSingle})
	if info, err := os.Stat(dir + "/n.onnx.data"); err != nil || info.Size() != 20_000 {
		t.Errorf("got %v, %v, want a file of 20000 bytes", info, err)
	}
	if mustHash(t, mustOpen(t, dir+"/n.onnx")) != mustHash(t, m) {
		t.Error("the weights differ")
	}
}

// TestCompact removes what an edit left unused.
func TestCompact(t *testing.T) {
	dir := t.TempDir()
	m, path, _, after := scene(t, dir, SaveOptions{External: ExternalSingle, Location: "w.bin"})
	mustSave(t, m, path, SaveOptions{})
	m = mustOpen(t, path)
	usage := ExternalFiles(m)
	if len(usage) != 1 || len(usage[0].Unused) != 1 || usage[0].Unused[0] != (Range{4000, 8032}) || usage[0].Used != 16_000 {
		t.Errorf("got usage %+v", usage)
	}
	mustSave(t, m, path, SaveOptions{Compact: true})
	m = mustOpen(t, path)
	if usage = ExternalFiles(m); len(usage) != 1 || len(usage[0].Unused) != 0 || usage[0].Size != 4032+12_000 {
		t.Errorf("compacted: got usage %+v", usage)
	}
	if mustHash(t, m) != after {
		t.Error("the weights differ")
	}
	wantFiles(t, dir, "m.onnx", "w.bin")
}

// TestOthersStay leaves a file that another model of the folder uses.
func TestOthersStay(t *testing.T) {
	dir := t.TempDir()
	m, path, before, _ := scene(t, dir, SaveOptions{External: ExternalSingle})
	mustSave(t, mustOpen(t, path), dir+"/other.onnx", SaveOptions{External: ExternalKeep})
	r := mustSave(t, m, path, SaveOptions{External: ExternalNone})
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "another model") {
		t.Errorf("got notes %q", r.Notes)
	}
	if mustHash(t, mustOpen(t, dir+"/other.onnx")) != before {
		t.Error("the other model's weights differ")
	}
}

// TestSafetensors writes weights of every type into a .safetensors file and
// reads them back, by place and by name.
func TestSafetensors(t *testing.T) {
	dir := t.TempDir()
	m := ir.NewModel("st", ir.Import{Version: 21})
	for _, dt := range array.DTypes() {
		if dt == array.String {
			continue
		}
		raw := make([]byte, (7*dt.Bits()+7)/8)
		for i := range raw {
			raw[i] = byte(i) & 1
		}
		a, err := array.FromBytes(dt, []int{7}, raw)
		if err != nil {
			t.Fatal(err)
		}
		w := ir.NewConstant("w_"+dt.String(), a)
		m.Graph().AddInitializer(w)
	}
	m.Graph().SetOutputs(m.Graph().Initializers()...)
	mustSave(t, m, dir+"/m.onnx", SaveOptions{Location: "m.safetensors", Threshold: 1})
	wantFiles(t, dir, "m.onnx", "m.safetensors")
	back := mustOpen(t, dir+"/m.onnx")
	if mustHash(t, back) != mustHash(t, m) {
		t.Error("the weights differ")
	}
	// Renamed and kept, a tensor that was looked up by name has a place.
	byName(t, dir+"/m.onnx")
	m2 := mustOpen(t, dir+"/m.onnx")
	if mustHash(t, m2) != mustHash(t, m) {
		t.Error("by name: the weights differ")
	}
	m2.Graph().Initializers()[0].SetName("renamed")
	mustSave(t, m2, dir+"/m.onnx", SaveOptions{})
	if got := strings.Replace(mustHash(t, mustOpen(t, dir+"/m.onnx")), "renamed", m.Graph().Initializers()[0].Name(), 1); got != mustHash(t, m) {
		t.Error("renamed: the weights differ")
	}
}

// byName rewrites a model so that its tensors are looked up by their names.
func byName(t *testing.T, path string) {
	t.Helper()
	rewrite(t, path, func(tp *pb.TensorProto) {
		if len(tp.ExternalData) > 0 {
			tp.ExternalData = tp.ExternalData[:1]
		}
	})
}

// TestSafetensorsLayout holds a file against the format: eight bytes of length,
// JSON, and tensors that follow one another without a gap.
func TestSafetensorsLayout(t *testing.T) {
	dir := t.TempDir()
	mustSave(t, weighed(t, 1, 1000, 300, 512), dir+"/m.onnx", SaveOptions{Location: "m.safetensors"})
	data, err := os.ReadFile(dir + "/m.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	n := int(data[0]) | int(data[1])<<8
	var head map[string]struct {
		DType   string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets []int  `json:"data_offsets"`
	}
	if err := json.Unmarshal(data[8:8+n], &head); err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, name := range []string{"w0", "w1", "w2"} {
		h := head[name]
		if h.DType != "F32" || len(h.Shape) != 1 || h.Offsets[0] != at || h.Offsets[1]-at != 4*h.Shape[0] {
			t.Errorf("%s: got %+v, want it at %d", name, h, at)
		}
		at = h.Offsets[1]
	}
	if n%8 != 0 || 8+n+at != len(data) {
		t.Errorf("the header has %d bytes, the tensors %d, the file %d", n, at, len(data))
	}
}

// TestTypedPayload moves elements that lie as varints in the model into an
// external file: decoded once, in pieces of any size.
func TestTypedPayload(t *testing.T) {
	data := typedModel(t, 3000)
	m, err := Read(data)
	if err != nil {
		t.Fatal(err)
	}
	src := m.Graph().Initializers()[0].Array().Source()
	want, err := src.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(want))
	for _, piece := range []int{1, 7, 8, 1000, len(want)} {
		for off := 0; off < len(got); off += piece {
			if n, err := src.ReadAt(got[off:min(off+piece, len(got))], int64(off)); err != nil {
				t.Fatalf("ReadAt(%d, %d) = %d, %v", piece, off, n, err)
			}
		}
		if string(got) != string(want) {
			t.Errorf("in pieces of %d the bytes differ", piece)
		}
		clear(got)
	}
	dir := t.TempDir()
	mustSave(t, m, dir+"/m.onnx", SaveOptions{External: ExternalSingle})
	if mustHash(t, mustOpen(t, dir+"/m.onnx")) != mustHash(t, m) {
		t.Error("saved outside, the weights differ")
	}
}

// TestOptionErrors pins what the options refuse.
func TestOptionErrors(t *testing.T) {
	m := weighed(t, 1, 1000)
	for _, c := range []struct {
		o    SaveOptions
		want string
	}{
		{SaveOptions{External: "all"}, `external: got "all", want one of ["auto" "keep" "single" "each" "none"]`},
		{SaveOptions{Threshold: -1}, "threshold: got -1, want a number of bytes ≥ 0"},
		{SaveOptions{MaxShard: -1}, "max_shard: got -1, want a number of bytes ≥ 0"},
		{SaveOptions{Location: "m.onnx"}, `location: got "m.onnx", the model itself, want another file`},
		{SaveOptions{Location: "../w"}, `external data: got the location "../w", want a path below the model's folder`},
	} {
		dir := t.TempDir()
		if _, err := Save(m, dir+"/m.onnx", c.o); err == nil || err.Error() != c.want {
			t.Errorf("Save(%+v) = %v, want %s", c.o, err, c.want)
		}
		wantFiles(t, dir)
	}
}

// TestHolesStay copies a weight that is one hole, and takes no disk for it.
func TestHolesStay(t *testing.T) {
	dir := t.TempDir()
	path := sparseModel(t, dir, 1<<30, 1)
	m := mustOpen(t, path)
	mustSave(t, m, dir+"/n.onnx", SaveOptions{External: ExternalSingle})
	f, err := mmap.Open(dir + "/n.onnx.data")
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.Section(0, f.Size())
	if err != nil || f.Size() != 1<<30 {
		t.Fatalf("got %d bytes, %v", f.Size(), err)
	}
	if next, _ := s.NextData(0); next != 0 && next != 1<<30 {
		t.Errorf("the first data lies at %d", next)
	}
}

// TestSaveTwice saves a model, opens it, saves it over itself and compares.
func TestSaveTwice(t *testing.T) {
	m, err := Read(small(t))
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() + "/m.onnx"
	if _, err := Save(m, path, SaveOptions{}); err != nil {
		t.Fatal(err)
	}
	again, err := Open(path, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	first, err := Marshal(again)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Save(again, path, SaveOptions{}); err != nil {
		t.Fatal(err)
	}
	second, err := Marshal(again)
	if err != nil || string(first) != string(second) {
		t.Errorf("saving twice gives other bytes: %v", err)
	}
}
