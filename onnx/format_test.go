package onnx

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/starlarkgs/starlarkgs/onnx/internal/pb"
)

// largestText bounds the models that are printed as text here: the text of a
// weight is several times as long as its bytes, and tells nothing new.
const largestText = 1 << 20

// TestTextRoundTrip saves every model of the corpus as text, twice to the same
// bytes, and reads it back to the same messages.
func TestTextRoundTrip(t *testing.T) {
	root := corpus(t)
	done, large := 0, 0
	dir := t.TempDir()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".onnx") {
			return err
		}
		if info, err := d.Info(); err != nil || info.Size() > largestText {
			large++
			return err
		}
		done++
		for _, f := range formats {
			textRoundTrip(t, path, filepath.Join(dir, "m"+f.ext))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if done < 1700 {
		t.Errorf("got %d models of at most %d bytes, want most of the corpus", done, largestText)
	}
	t.Logf("%d models, %d larger ones not printed", done, large)
}

func textRoundTrip(t *testing.T, path, out string) {
	m, err := Open(path, OpenOptions{})
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return
	}
	if _, err := Save(m, out, SaveOptions{}); err != nil {
		if !errors.Is(err, fs.ErrNotExist) { // the corpus lacks the external data of one model
			t.Errorf("%s: %v", path, err)
		}
		return
	}
	diffs, err := Compare(path, out)
	if err != nil || len(diffs) > 0 {
		t.Errorf("%s as %s: %v %v", path, filepath.Ext(out), diffs, err)
	}
}

func saveText(t *testing.T, p *pb.ModelProto, ext string) ([]byte, error) {
	t.Helper()
	data, err := proto.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Read(data)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "m"+ext)
	if _, err := Save(m, path, SaveOptions{}); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text, nil
}

// TestTextIsStable pins the text, whose random spaces are taken out.
func TestTextIsStable(t *testing.T) {
	p := &pb.ModelProto{IrVersion: proto.Int64(10), Graph: &pb.GraphProto{Name: proto.String("g:  \"x\"\n  é"), Node: []*pb.NodeProto{{OpType: proto.String("Relu"), Output: []string{"y"}}}}}
	for ext, want := range map[string]string{
		".textproto": "ir_version: 10\ngraph: {\n  node: {\n    output: \"y\"\n    op_type: \"Relu\"\n  }\n  name: \"g:  \\\"x\\\"\\n  é\"\n}\n",
		".json":      "{\n  \"ir_version\": \"10\",\n  \"graph\": {\n    \"node\": [\n      {\n        \"output\": [\n          \"y\"\n        ],\n        \"op_type\": \"Relu\"\n      }\n    ],\n    \"name\": \"g:  \\\"x\\\"\\n  é\"\n  }\n}\n",
	} {
		got, err := saveText(t, p, ext)
		if err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", ext, got, err, want)
		}
	}
}

// TestTextRefusals: what a text can't say is refused by name, not lost.
func TestTextRefusals(t *testing.T) {
	unknown := modelOf()
	unknown.Graph.ProtoReflect().SetUnknown([]byte{0xc0, 0x3e, 1})
	latin := modelOf()
	latin.Graph.DocString = proto.String("caf\xe9")
	nan := modelOf(&pb.TensorProto{Name: proto.String("w"), DataType: proto.Int32(1), Dims: []int64{1}, FloatData: []float32{math.Float32frombits(0x7fc12345)}})
	for _, c := range []struct {
		p    *pb.ModelProto
		ext  string
		want string // "" is accepted
	}{
		{unknown, ".textproto", "graph: got fields that this version"},
		{unknown, ".onnxtxt", ""},
		{latin, ".onnxtxt", ""},
		{nan, ".onnxtxt", ""},
		{nan, ".textproto", "can't express the bits of a NaN"},
		{nan, ".json", "can't express the bits of a NaN"},
		{unknown, ".json", "graph: got fields that this version"},
		{latin, ".textproto", ""},
		{latin, ".json", "invalid UTF-8"},
	} {
		_, err := saveText(t, c.p, c.ext)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.ext, err, c.want)
		}
	}
}

// TestTextErrors: an error tells the file, line and column, and what was meant.
func TestTextErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"m.textproto", "ir_version: 10\ngraph {\n  nodes {}\n}\n", "m.textproto:3:3: unknown field: nodes (did you mean node"},
		{"m.json", "{\n \"graph\": {\"nodes\": []}\n}", "m.json:2:12: unknown field \"nodes\" (did you mean node"},
		{"m.textproto", "graph { name: 7 }", "m.textproto:1:15: "},
		{"m.textproto", "", "the file is empty"},
		{"m.onnxtxt", "g () =>\n() {\n y = Relu x }", "m.onnxtxt:3:11: got \"x\", want \"(\""},
		{"m.onnxtxt", "g () => () { y = Op <a = seq(" + strings.Repeat("seq(", 3000), "nested too deep"},
		{"noext", "<ir_version: 8> g () => (float y) <float[2] y = {1}> {}", "noext: "},
		{"m.textproto", strings.Repeat("graph{node{attribute{g{", 1) + strings.Repeat("node{attribute{g{", 2000), "recursion"},
		{"m.json", strings.Repeat(`{"graph":`, 3000), "m.json:"},
		{"noext", "ir_version: 10", "it has no graph"},
		{"noext", "{}", "it has no graph"},
	} {
		path := filepath.Join(t.TempDir(), c.name)
		if err := os.WriteFile(path, []byte(c.text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path, OpenOptions{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %.60q: got %v, want %q", c.name, c.text, err, c.want)
		}
	}
}

// FuzzTextForms reads any text; what is read is printed and read to the same.
func FuzzTextForms(f *testing.F) {
	f.Add("ir_version: 10\ngraph { node { op_type: \"Relu\" output: 'y' } name: \"g\" }", uint8(0))
	f.Add(`{"ir_version": "10", "graph": {"initializer": [{"dims": ["1"], "data_type": 1, "float_data": ["NaN"]}]}}`, uint8(1))
	f.Add("<ir_version: 10> g () => (float[1] w) <\n#@ raw\nfloat[1] w = {nan}> { [n] y = Relu(w) }", uint8(2))
	f.Fuzz(func(t *testing.T, text string, kind uint8) {
		form := formats[int(kind)%len(formats)]
		data, err := form.read(&memory{bytes.NewReader([]byte(text)), []byte(text)}, defaultLimits)
		if err != nil {
			return
		}
		e := &encoded{segments: []segment{{bytes: data}}, size: int64(len(data))}
		if err := form.render(e); err != nil {
			return // refused, as invalid UTF-8 is in JSON
		}
		again, err := form.read(&memory{bytes.NewReader(e.segments[0].bytes), e.segments[0].bytes}, defaultLimits)
		if err != nil || !bytes.Equal(again, data) {
			t.Errorf("got %q, %v, want %q", again, err, data)
		}
	})
}
