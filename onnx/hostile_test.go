package onnx

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx/internal/pb"
)

// The tests here are named by the rules of safety that they hold: what a file
// may not make the reader or the writer do.

// readProto encodes a model and reads it under the limits.
func readProto(t *testing.T, p *pb.ModelProto, l Limits) (*ir.Model, error) {
	t.Helper()
	data, err := proto.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return read(&memory{bytes.NewReader(data), data}, nil, l)
}

// busy returns a model with something of everything that is counted: two nodes,
// three attributes, a body, a function that calls another, a long string.
func busy() *pb.ModelProto {
	attr := func(name string) *pb.AttributeProto {
		return &pb.AttributeProto{Name: proto.String(name), Type: pb.AttributeProto_INT.Enum(), I: proto.Int64(1)}
	}
	inner := &pb.GraphProto{Name: proto.String("b"), Node: []*pb.NodeProto{{OpType: proto.String("Relu"), Output: []string{"r"}, DocString: proto.String(strings.Repeat("d", 5000))}}}
	p := modelOf()
	p.Graph.Node = []*pb.NodeProto{{OpType: proto.String("If"), Output: []string{"y"}, Attribute: []*pb.AttributeProto{
		attr("a"), attr("b"), {Name: proto.String("then_branch"), Type: pb.AttributeProto_GRAPH.Enum(), G: inner}}}}
	p.Functions = []*pb.FunctionProto{function("F", "G"), function("G", "H"), function("H", "Relu")}
	return p
}

// function returns a function of the domain d that calls operators of it.
func function(name string, calls ...string) *pb.FunctionProto {
	f := &pb.FunctionProto{Domain: proto.String("d"), Name: proto.String(name)}
	for _, c := range calls {
		f.Node = append(f.Node, &pb.NodeProto{Domain: proto.String("d"), OpType: proto.String(c)})
	}
	return f
}

// TestS1Limits sets each limit to what a model has, which changes nothing, and
// to one less, which is an error that names the limit.
func TestS1Limits(t *testing.T) {
	size := int64(proto.Size(busy()))
	for _, c := range []struct {
		name        string
		fits, short Limits
	}{
		{"file_size", Limits{FileSize: size}, Limits{FileSize: size - 1}},
		{"string", Limits{String: 5000}, Limits{String: 4999}},
		{"depth", Limits{Depth: 5}, Limits{Depth: 4}},
		{"bodies", Limits{Bodies: 2}, Limits{Bodies: 1}},
		{"calls", Limits{Calls: 2}, Limits{Calls: 1}},
		{"nodes", Limits{Nodes: 5}, Limits{Nodes: 4}},
		{"attributes", Limits{Attributes: 3}, Limits{Attributes: 2}},
		{"functions", Limits{Functions: 3}, Limits{Functions: 2}},
	} {
		m, err := readProto(t, busy(), c.fits)
		if err != nil {
			t.Errorf("%s: the limit is not passed: %v", c.name, err)
			continue
		}
		free, err := readProto(t, busy(), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		a, errA := Marshal(m)
		b, errB := Marshal(free)
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s: the model differs from that without a limit: %v, %v", c.name, errA, errB)
		}
		_, err = readProto(t, busy(), c.short)
		wantError(t, err, ErrLimit, strconv.Quote(c.name))
	}
}

// TestS1Nesting nests messages and bodies far deeper than any model does.
func TestS1Nesting(t *testing.T) {
	deep := bytes.Repeat([]byte("x"), 2000) // so that each level is walked
	b := protowire.AppendBytes(protowire.AppendTag(nil, 10, protowire.BytesType), deep)
	for range 3000 {
		b = protowire.AppendBytes(protowire.AppendTag(nil, 6, protowire.BytesType), b) // attribute.g
		b = protowire.AppendBytes(protowire.AppendTag(nil, 5, protowire.BytesType), b) // node.attribute
		b = protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), b) // graph.node
	}
	b = protowire.AppendBytes(protowire.AppendTag(nil, 7, protowire.BytesType), b)
	_, err := Read(b)
	wantError(t, err, ErrLimit, `"depth"`)

	body := &pb.GraphProto{Name: proto.String("b")}
	for range 33 {
		body = &pb.GraphProto{Name: proto.String("b"), Node: []*pb.NodeProto{{OpType: proto.String("If"),
			Attribute: []*pb.AttributeProto{{Name: proto.String("g"), Type: pb.AttributeProto_GRAPH.Enum(), G: body}}}}}
	}
	p := modelOf()
	p.Graph = body
	_, err = readProto(t, p, Limits{Depth: 1000})
	wantError(t, err, ErrLimit, `"bodies"`)
}

// TestS2Sizes gives tensors whose shape and bytes do not agree.
func TestS2Sizes(t *testing.T) {
	const float, int4, str, int64s = int32(array.Float32), int32(array.Int4), int32(array.String), int32(array.Int64)
	raw := func(n int) []byte { return make([]byte, n) }
	for _, c := range []struct {
		name string
		t    *pb.TensorProto
		want string
	}{
		{"negative", &pb.TensorProto{Dims: []int64{-1}, DataType: proto.Int32(float), RawData: raw(4)}, "dims[0]: got -1"},
		{"negative pair", &pb.TensorProto{Dims: []int64{-1, -1}, DataType: proto.Int32(float), RawData: raw(4)}, "dims[0]: got -1"},
		{"product", &pb.TensorProto{Dims: []int64{1 << 32, 1 << 32}, DataType: proto.Int32(float), RawData: raw(4)}, "more elements than an int counts"},
		{"width", &pb.TensorProto{Dims: []int64{1 << 61}, DataType: proto.Int32(float), RawData: raw(4)}, "than an int counts"},
		{"zero beside huge", &pb.TensorProto{Dims: []int64{0, 1 << 62, 1 << 62}, DataType: proto.Int32(float), RawData: raw(4)}, "more elements than an int counts"},
		{"short", &pb.TensorProto{Dims: []int64{3}, DataType: proto.Int32(float), RawData: raw(8)}, "got 8 bytes, want 12"},
		{"long", &pb.TensorProto{Dims: []int64{3}, DataType: proto.Int32(float), RawData: raw(16)}, "got 16 bytes, want 12"},
		{"packed", &pb.TensorProto{Dims: []int64{3}, DataType: proto.Int32(int4), RawData: raw(1)}, "got 1 bytes, want 2"},
		{"large", &pb.TensorProto{Dims: []int64{3}, DataType: proto.Int32(float), RawData: raw(2000)}, "got 2000 bytes, want 12"},
		{"few", &pb.TensorProto{Dims: []int64{3}, DataType: proto.Int32(int64s), Int64Data: []int64{1, 2}}, "holds 16 bytes, want 24"},
		{"strings", &pb.TensorProto{Dims: []int64{3}, DataType: proto.Int32(str), StringData: [][]byte{{1}}}, "got 1 strings, want 3"},
		{"strings beyond", &pb.TensorProto{Dims: []int64{1 << 40, 1 << 40}, DataType: proto.Int32(str), StringData: [][]byte{{1}}}, "got 1 strings"},
		{"type", &pb.TensorProto{Dims: []int64{1}, DataType: proto.Int32(300), RawData: raw(4)}, "data_type: got 300"},
	} {
		_, err := readProto(t, modelOf(c.t), Limits{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error that says %q", c.name, err, c.want)
		}
	}
}

// TestS2TypedSizes gives packed fields that stay in the file and hold less or
// more than their shape says: an error when they are read, without memory for
// what is not there.
func TestS2TypedSizes(t *testing.T) {
	for _, n := range []int64{2999, 3001, 1 << 40} {
		var p pb.ModelProto
		if err := proto.Unmarshal(typedModel(t, 3000), &p); err != nil {
			t.Fatal(err)
		}
		p.Graph.Initializer[0].Dims = []int64{n}
		m, err := readProto(t, &p, Limits{})
		if err == nil {
			_, err = hashes(m)
		}
		wantError(t, err, ErrInvalid, "packed elements of int64")
	}
}

// openOutside opens a model whose tensor of 4 float32 says this in
// external_data, beside a file w.bin of 20 bytes, and reads it.
func openOutside(t *testing.T, keysAndValues ...string) error {
	t.Helper()
	dir := t.TempDir()
	writeProto(t, dir+"/m.onnx", modelOf(outsideTensor(4, keysAndValues...)))
	if err := os.WriteFile(dir+"/w.bin", make([]byte, 20), 0o644); err != nil {
		t.Fatal(err)
	}
	m, err := Open(dir+"/m.onnx", OpenOptions{})
	if err == nil {
		_, err = hashes(m)
	}
	return err
}

// TestS3Entries gives external_data entries that are wrong, and some that are not.
func TestS3Entries(t *testing.T) {
	for _, good := range [][]string{
		{"location", "w.bin"}, {"location", "w.bin", "offset", "4"}, {"location", "w.bin", "offset", "4", "length", "16"},
		{"location", "w.bin", "basepath", "/etc"}, {"location", "./w.bin"}, {"location", "a/../w.bin"},
		{"location", "w.bin", "__class__", "evil", "prepare", "1"},
		{"location", "w.bin", "checksum", "6768033E216468247BD031A0A2D9876D79818F8F"}, // of twenty zeros
	} {
		if err := openOutside(t, good...); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, c := range []struct {
		kv   []string
		want string
	}{
		{[]string{"offset", "0"}, "got no location"},
		{[]string{"location", "w.bin", "location", "w.bin"}, `key "location" is given twice`},
		{[]string{"location", "w.bin", "offset", "-1"}, `offset: got "-1"`},
		{[]string{"location", "w.bin", "offset", "+1"}, `offset: got "+1"`},
		{[]string{"location", "w.bin", "offset", "0x1"}, `offset: got "0x1"`},
		{[]string{"location", "w.bin", "offset", " 1"}, `offset: got " 1"`},
		{[]string{"location", "w.bin", "offset", ""}, `offset: got ""`},
		{[]string{"location", "w.bin", "offset", "1e1"}, `offset: got "1e1"`},
		{[]string{"location", "w.bin", "offset", "9223372036854775808"}, `offset: got "9223372036854775808"`},
		{[]string{"location", "w.bin", "offset", "9223372036854775807"}, "got a file of 20 bytes, want 16 more from offset 9223372036854775807"},
		{[]string{"location", "w.bin", "offset", "5"}, "got a file of 20 bytes, want 16 more from offset 5"},
		{[]string{"location", "w.bin", "length", "15"}, "got a length of 15 bytes, want 16"},
		{[]string{"location", "w.bin", "length", "9223372036854775807"}, "want 16"},
		{[]string{"location", "w.bin", "checksum", "abc"}, "want the 40 hexadecimal digits"},
		{[]string{"location", "w.bin", "checksum", strings.Repeat("0", 40)}, "it is damaged, or another one"},
	} {
		wantError(t, openOutside(t, c.kv...), ErrExternal, c.want)
	}
}

// TestS4Locations gives locations that lead out of the folder, on any system.
func TestS4Locations(t *testing.T) {
	for _, bad := range []string{"/etc/passwd", "../w.bin", "a/../../w.bin", "..", ".", "a\x00b", `..\w.bin`, `a\..\..\w.bin`, `\w.bin`, `\\host\share\w`,
		`C:\w.bin`, "C:w.bin", "c:/w.bin", `\\?\C:\w`, "sub/w.bin/../../../x"} {
		if err := openOutside(t, "location", bad); err == nil {
			t.Errorf("location %q is accepted", bad)
		} else if bad != "." {
			wantError(t, err, ErrExternal)
		}
	}
}

// TestS4Links holds the rule of links: the model's folder, or that of the file
// the model is a link to; no other, unless it is allowed.
func TestS4Links(t *testing.T) {
	if goruntime.GOOS == "windows" {
		t.Skip("links need a privilege here")
	}
	top := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	blobs, snap, secret := top+"/blobs", top+"/snapshots/abc/onnx", top+"/secret"
	for _, dir := range []string{blobs, snap, secret} {
		must(os.MkdirAll(dir, 0o755))
	}
	must(os.WriteFile(blobs+"/ee11", make([]byte, 16), 0o644))
	must(os.WriteFile(secret+"/key", make([]byte, 16), 0o644))
	writeProto(t, blobs+"/aa22", modelOf(outsideTensor(4, "location", "model.onnx_data")))
	link := func(target, name string) { must(os.Symlink(target, snap+"/"+name)) }
	link("../../../blobs/aa22", "model.onnx")
	link("../../../blobs/ee11", "model.onnx_data")
	open := func(path string, o OpenOptions) error {
		m, err := Open(path, o)
		if err == nil {
			_, err = hashes(m)
		}
		return err
	}
	if err := open(snap+"/model.onnx", OpenOptions{}); err != nil {
		t.Errorf("the layout of the Hugging Face cache: %v", err)
	}
	wantError(t, open(snap+"/model.onnx", OpenOptions{Strict: true}), ErrExternal, "by a link, which the strict mode refuses")

	// Of a model that is no link, the same link to its weights leads outside.
	writeProto(t, snap+"/plain.onnx", modelOf(outsideTensor(4, "location", "model.onnx_data")))
	wantError(t, open(snap+"/plain.onnx", OpenOptions{}), ErrExternal, "blobs/ee11", "allow_dirs")
	if err := open(snap+"/plain.onnx", OpenOptions{AllowDirs: []string{blobs}}); err != nil {
		t.Errorf("an allowed folder: %v", err)
	}

	link(secret+"/key", "evil")  // the last part
	link(secret, "sub")          // one before it
	link("../abc/onnx", "again") // round and back
	link("loop", "loop")
	for location, want := range map[string]string{"evil": "secret/key", "sub/key": "secret/key", "loop": "loop"} {
		writeProto(t, snap+"/e.onnx", modelOf(outsideTensor(4, "location", location)))
		wantError(t, open(snap+"/e.onnx", OpenOptions{}), ErrExternal, want)
	}
	must(os.Link(secret+"/key", snap+"/hard"))
	writeProto(t, snap+"/h.onnx", modelOf(outsideTensor(4, "location", "hard")))
	wantError(t, open(snap+"/h.onnx", OpenOptions{Strict: true}), ErrExternal, "has 2 names")

	// Saved over itself, the model of the cache is no link any more: its weights
	// come along, and the blobs stay as they are.
	m := mustOpen(t, snap+"/model.onnx")
	r := mustSave(t, m, snap+"/model.onnx", SaveOptions{})
	if len(r.Files) != 1 || len(r.Notes) == 0 {
		t.Errorf("saved over the cache: files %q, notes %q", r.Files, r.Notes)
	}
	if err := open(snap+"/model.onnx", OpenOptions{Strict: true}); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(blobs + "/ee11"); err != nil || len(got) != 16 {
		t.Errorf("the blob: %d bytes, %v", len(got), err)
	}
}

// TestS4Swapped replaces a file, and a folder by a link, between opening the
// model and reading its weights.
func TestS4Swapped(t *testing.T) {
	if goruntime.GOOS == "windows" {
		t.Skip("links need a privilege here")
	}
	for _, c := range []struct {
		name string
		swap func(dir, out string) error
		want string
	}{
		{"another file", func(dir, out string) error { return os.Rename(out+"/w.bin", dir+"/sub/w.bin") }, "replaced"},
		{"a link", func(dir, out string) error {
			os.Remove(dir + "/sub/w.bin")
			return os.Symlink(out+"/w.bin", dir+"/sub/w.bin")
		}, "escapes"},
		{"a folder's link", func(dir, out string) error {
			os.RemoveAll(dir + "/sub")
			return os.Symlink(out, dir+"/sub")
		}, "escapes"},
		{"cut", func(dir, _ string) error { return os.Truncate(dir+"/sub/w.bin", 3) }, "cut"},
		{"gone", func(dir, _ string) error { return os.Remove(dir + "/sub/w.bin") }, "no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, out := t.TempDir(), t.TempDir()
			if err := os.Mkdir(dir+"/sub", 0o755); err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{dir + "/sub/w.bin", out + "/w.bin"} {
				if err := os.WriteFile(path, make([]byte, 16), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			writeProto(t, dir+"/m.onnx", modelOf(outsideTensor(4, "location", "sub/w.bin")))
			m := mustOpen(t, dir+"/m.onnx")
			if err := c.swap(dir, out); err != nil {
				t.Fatal(err)
			}
			_, err := hashes(m)
			wantError(t, err, ErrExternal, "w.bin", c.want)
		})
	}
}

// TestS4NotRegular names what is no regular file.
func TestS4NotRegular(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(dir+"/folder", 0o755); err != nil {
		t.Fatal(err)
	}
	names := []string{"folder"}
	if goruntime.GOOS == "linux" {
		if out, err := exec.Command("mkfifo", dir+"/pipe").CombinedOutput(); err != nil {
			t.Fatalf("mkfifo: %v %s", err, out)
		}
		names = append(names, "pipe")
	}
	for _, name := range names {
		writeProto(t, dir+"/m.onnx", modelOf(outsideTensor(4, "location", name)))
		_, err := Open(dir+"/m.onnx", OpenOptions{})
		wantError(t, err, ErrExternal, "want a regular file")
	}
	if goruntime.GOOS == "linux" {
		_, err := Open("/proc/self/mem", OpenOptions{})
		if err == nil {
			t.Error("/proc/self/mem opened as a model")
		}
		if _, err = Open("/dev/zero", OpenOptions{}); err == nil {
			t.Error("/dev/zero opened as a model")
		}
	}
}

// TestS5Markers refuses locations that a runtime takes for addresses.
func TestS5Markers(t *testing.T) {
	for _, bad := range []string{"*/_ORT_MEM_ADDR_/*", "_ORT_MEM_ADDR_", "a/_ORT_MEM_ADDR_/b"} {
		wantError(t, openOutside(t, "location", bad, "offset", "140737488355328"), ErrExternal, "a runtime's internal marker")
	}
}

// TestS6Names saves models whose names and locations are paths: nothing is
// written but the files that the options name, in the folder of the model.
func TestS6Names(t *testing.T) {
	names := []string{"../../evil", "/etc/evil", `..\evil`, "a/b", "", "..", "con", "W", "w", strings.Repeat("long", 100), "é\x00\x1b[31m", "m.onnx"}
	top := t.TempDir()
	dir := top + "/x/y"
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/w.data", []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	m := weighed(t, 1, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000)
	for i, w := range m.Graph().Initializers() {
		w.SetName(names[i])
	}
	r := mustSave(t, m, dir+"/m.onnx", SaveOptions{External: ExternalEach})
	if len(r.Files) != len(names) {
		t.Errorf("got %d files, want %d", len(r.Files), len(names))
	}
	lower := map[string]bool{}
	for _, name := range files(t, top) {
		if !strings.HasPrefix(name, "x/y/m.onnx") && name != "x/y/w.data" {
			t.Errorf("%q was written", name)
		}
		lower[strings.ToLower(name)] = true
	}
	if len(lower) != len(names)+2 {
		t.Errorf("some names are one where upper and lower case are")
	}
	if got, err := os.ReadFile(dir + "/w.data"); err != nil || string(got) != "mine" {
		t.Errorf("a file that is not the model's: %q, %v", got, err)
	}
	if mustHash(t, mustOpen(t, dir+"/m.onnx")) == "" {
		t.Error("no weights came back")
	}
}

// TestS6Offsets saves a model whose external_data has a huge offset: the writer
// picks its own.
func TestS6Offsets(t *testing.T) {
	dir := t.TempDir()
	const far = int64(1) << 40
	writeProto(t, dir+"/m.onnx", modelOf(outsideTensor(4, "location", "w.bin", "offset", strconv.FormatInt(far, 10))))
	f, err := os.Create(dir + "/w.bin")
	if err == nil {
		err = f.Truncate(far + 16)
	}
	if err != nil {
		t.Skipf("no file of %d bytes here: %v", far, err)
	}
	f.Close()
	mustSave(t, mustOpen(t, dir+"/m.onnx"), dir+"/n.onnx", SaveOptions{External: ExternalSingle, Threshold: 1})
	if info, err := os.Stat(dir + "/n.onnx.data"); err != nil || info.Size() != 16 {
		t.Errorf("got %v, %v, want a file of 16 bytes", info, err)
	}
}

// TestS6Links saves where links wait for the writer: it replaces them, and
// follows none out of the folder.
func TestS6Links(t *testing.T) {
	if goruntime.GOOS == "windows" {
		t.Skip("links need a privilege here")
	}
	dir, out := t.TempDir(), t.TempDir()
	for _, name := range []string{"model", "data"} {
		if err := os.WriteFile(filepath.Join(out, name), []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"m.onnx": out + "/model", "m.onnx.data": out + "/data", "sub": out} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	m := weighed(t, 1, 1000)
	mustSave(t, m, dir+"/m.onnx", SaveOptions{External: ExternalSingle})
	if _, err := Save(m, dir+"/m.onnx", SaveOptions{Location: "sub/w.bin"}); err == nil {
		t.Error("a link led the writer out of the folder")
	}
	wantFiles(t, out, "data", "model")
	for _, name := range []string{"model", "data"} {
		if got, err := os.ReadFile(filepath.Join(out, name)); err != nil || string(got) != "mine" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if mustHash(t, mustOpen(t, dir+"/m.onnx")) != mustHash(t, m) {
		t.Error("the weights differ")
	}
}

// maxSmall is the bytes that opening a file of under 1 KB may allocate.
const maxSmall = 4 << 20

// allocated returns the bytes that were allocated so far.
func allocated() int64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}

// TestS7Lazy opens small files that claim huge tensors.
func TestS7Lazy(t *testing.T) {
	dir := t.TempDir()
	huge := outsideTensor(1<<38, "location", "w.bin")
	if f, err := os.Create(dir + "/w.bin"); err == nil {
		if err := f.Truncate(1 << 40); err != nil {
			t.Skipf("no sparse file of 1 TB here: %v", err)
		}
		f.Close()
	}
	stripped := &pb.TensorProto{Name: proto.String("s"), Dims: []int64{1 << 40}, DataType: proto.Int32(int32(array.Float32))}
	constant := modelOf(stripped)
	constant.Graph.Node = []*pb.NodeProto{{OpType: proto.String("Constant"), Output: []string{"c"}, Attribute: []*pb.AttributeProto{
		{Name: proto.String("value"), Type: pb.AttributeProto_TENSOR.Enum(), T: stripped}}}}
	for i, p := range []*pb.ModelProto{modelOf(huge), modelOf(stripped), constant, modelOf(outsideTensor(1<<60, "location", "absent"))} {
		path := fmt.Sprintf("%s/%d.onnx", dir, i)
		writeProto(t, path, p)
		before := allocated()
		m, err := Open(path, OpenOptions{})
		if got := allocated() - before; got > maxSmall {
			t.Errorf("%d: opening allocates %d bytes", i, got)
		}
		if err == nil {
			_, err = Save(m, path, SaveOptions{External: ExternalKeep})
		}
		if got := allocated() - before; got > 2*maxSmall {
			t.Errorf("%d: opening and saving allocates %d bytes (%v)", i, got, err)
		}
	}
}

// TestS8Calls gives functions that call one another in a ring, by way of a body
// too, and a web of calls that has a path for every subset of its functions.
func TestS8Calls(t *testing.T) {
	inBody := function("B")
	inBody.Node = []*pb.NodeProto{{OpType: proto.String("If"), Attribute: []*pb.AttributeProto{{Name: proto.String("then_branch"), Type: pb.AttributeProto_GRAPH.Enum(),
		G: &pb.GraphProto{Node: []*pb.NodeProto{{Domain: proto.String("d"), OpType: proto.String("A")}}}}}}}
	for _, c := range []struct {
		name string
		fs   []*pb.FunctionProto
		want string
	}{
		{"itself", []*pb.FunctionProto{function("A", "A")}, `"d::A" calls "d::A"`},
		{"ring", []*pb.FunctionProto{function("A", "B"), function("B", "C"), function("C", "A")}, `"d::A" calls "d::B" calls "d::C" calls "d::A"`},
		{"tail", []*pb.FunctionProto{function("Z", "A"), function("A", "B"), function("B", "A")}, `"d::A" calls "d::B" calls "d::A"`},
		{"body", []*pb.FunctionProto{function("A", "B"), inBody}, `"d::A" calls "d::B" calls "d::A"`},
	} {
		p := modelOf()
		p.Functions = c.fs
		_, err := readProto(t, p, Limits{})
		wantError(t, err, ErrInvalid, c.want)
	}
	web := modelOf()
	for i := range 60 {
		f := function(fmt.Sprintf("F%d", i))
		for k := i + 1; k < 60; k++ {
			f.Node = append(f.Node, &pb.NodeProto{Domain: proto.String("d"), OpType: proto.String(fmt.Sprintf("F%d", k))})
		}
		web.Functions = append(web.Functions, f)
	}
	if _, err := readProto(t, web, Limits{}); err != nil {
		t.Errorf("functions without a ring: %v", err)
	}
	long := modelOf()
	for i := range 5000 {
		long.Functions = append(long.Functions, function(fmt.Sprintf("F%d", i), fmt.Sprintf("F%d", i+1)))
	}
	_, err := readProto(t, long, Limits{})
	wantError(t, err, ErrLimit, `"calls"`)
	m, err := readProto(t, long, Limits{Calls: 5000})
	if err != nil {
		t.Fatalf("with the limit raised: %v", err)
	}
	mustSave(t, m, filepath.Join(t.TempDir(), "m.onnx"), SaveOptions{}) // what opened can be saved
}

// TestS11Nothing holds that the reader unpacks no archive and knows no network:
// none of its packages imports what could.
func TestS11Nothing(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if .Module}}{{if .Module.Main}}{{join .Imports \" \"}}{{end}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	imports := strings.Fields(string(out))
	if len(imports) < 20 {
		t.Errorf("got imports %q, want those of several packages", imports)
	}
	for _, path := range imports {
		if path == "net" || strings.HasPrefix(path, "net/") || strings.HasPrefix(path, "archive/") || strings.HasPrefix(path, "compress/") || path == "os/exec" || path == "plugin" {
			t.Errorf("the reader imports %s", path)
		}
	}
	for head, want := range map[string]string{
		"PK\x03\x04": "zip archive", "PK\x05\x06": "zip archive", "\x1f\x8b\x08": "gzip",
		"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 42\n": "to a file of 42 bytes",
		"<!DOCTYPE html>": "HTML page", "\xef\xbb\xbf<html>": "HTML page", "<?xml?>": "XML",
	} {
		_, err := Read([]byte(head + strings.Repeat(" ", 100)))
		wantError(t, err, ErrNotONNX, want)
	}
}

// TestS14Checksum writes checksums, and finds a byte that was changed since.
func TestS14Checksum(t *testing.T) {
	dir := t.TempDir()
	m := weighed(t, 1, 1000, 2000, 3000)
	mustSave(t, m, dir+"/m.onnx", SaveOptions{External: ExternalEach, Checksum: true})
	mustSave(t, mustOpen(t, dir+"/m.onnx"), dir+"/m.onnx", SaveOptions{MaxShard: 9000, Checksum: true})
	if mustHash(t, mustOpen(t, dir+"/m.onnx")) != mustHash(t, m) {
		t.Error("the weights differ")
	}
	data, err := os.ReadFile(dir + "/m.onnx-00002-of-00003.data")
	if err != nil {
		t.Fatal(err)
	}
	data[777] ^= 1
	if err := os.WriteFile(dir+"/m.onnx-00002-of-00003.data", data, 0o644); err != nil {
		t.Fatal(err)
	}
	back := mustOpen(t, dir+"/m.onnx") // nothing is read yet
	_, err = hashes(back)
	wantError(t, err, ErrExternal, "m.onnx-00002-of-00003.data", "it is damaged")
	_, err = Save(back, dir+"/n.onnx", SaveOptions{External: ExternalSingle})
	wantError(t, err, ErrExternal, "it is damaged")
	if _, err := os.Stat(dir + "/n.onnx.data"); err == nil {
		t.Error("the failed save left a file")
	}
}

// TestS14Ranges reports what overlaps and what nobody uses.
func TestS14Ranges(t *testing.T) {
	dir := t.TempDir()
	a := outsideTensor(4, "location", "w.bin", "offset", "0")
	b := outsideTensor(4, "location", "w.bin", "offset", "8")
	c := outsideTensor(4, "location", "w.bin", "offset", "4096")
	b.Name, c.Name = proto.String("b"), proto.String("c")
	writeProto(t, dir+"/m.onnx", modelOf(a, b, c))
	if err := os.WriteFile(dir+"/w.bin", make([]byte, 9999), 0o644); err != nil {
		t.Fatal(err)
	}
	u := ExternalFiles(mustOpen(t, dir+"/m.onnx"))
	want := fmt.Sprintf("%+v", []ExternalFile{{Path: dir + "/w.bin", Size: 9999, Tensors: 3, Used: 40, Unused: []Range{{4112, 5887}}, Shared: []Range{{8, 8}}}})
	if got := fmt.Sprintf("%+v", u); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestCutWhileSaving cuts the files that a save reads, the model's own and an
// external one: an error that names the file, and nothing is left.
func TestCutWhileSaving(t *testing.T) {
	for _, external := range []External{ExternalNone, ExternalSingle} {
		dir, other := t.TempDir(), t.TempDir()
		mustSave(t, weighed(t, 1, 1<<20), dir+"/m.onnx", SaveOptions{External: external})
		m := mustOpen(t, dir+"/m.onnx")
		cut := dir + "/" + files(t, dir)[len(files(t, dir))-1]
		if _, err := m.Graph().Initializers()[0].Array().Bytes(); err != nil { // mapped
			t.Fatal(err)
		}
		if err := os.Truncate(cut, 1<<20); err != nil {
			if goruntime.GOOS == "windows" {
				t.Skip("a mapped file can't be cut here")
			}
			t.Fatal(err)
		}
		_, err := Save(m, other+"/m.onnx", SaveOptions{External: external})
		if err == nil || !strings.Contains(err.Error(), cut) || !strings.Contains(err.Error(), "the file was cut") {
			t.Errorf("got %v, want an error that names %s", err, cut)
		}
		wantFiles(t, other)
	}
}

// TestCutWhileSavingAView does so where only mapped bytes can be saved: those of
// a view that is not in one piece.
func TestCutWhileSavingAView(t *testing.T) {
	if goruntime.GOOS == "windows" {
		t.Skip("a mapped file can't be cut here")
	}
	for _, external := range []External{ExternalNone, ExternalSingle} {
		dir, other := t.TempDir(), t.TempDir()
		mustSave(t, weighed(t, 1, 1<<20), dir+"/m.onnx", SaveOptions{})
		m := mustOpen(t, dir+"/m.onnx")
		w := m.Graph().Initializers()[0]
		square, err := w.Array().Reshape(1<<10, 1<<10)
		if err != nil {
			t.Fatal(err)
		}
		view, err := square.Transpose(1, 0)
		if err != nil {
			t.Fatal(err)
		}
		w.SetLiteral(&ir.Literal{Array: view})
		if err := os.Truncate(dir+"/m.onnx", 1<<20); err != nil {
			t.Fatal(err)
		}
		if _, err := Save(m, other+"/m.onnx", SaveOptions{External: external}); err == nil || !strings.Contains(err.Error(), dir+"/m.onnx: offset 0x") {
			t.Errorf("got %v, want a fault with path and offset", err)
		}
		wantFiles(t, other)
	}
}
