package onnx

import (
	"crypto/sha1"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx/internal/pb"
)

var errTest = errors.New("made to fail")

// files lists the names of the files below a folder, slashed and sorted.
func files(t testing.TB, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			names = append(names, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

func wantFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	if got := files(t, dir); !slices.Equal(got, want) {
		t.Errorf("the folder holds %q, want %q", got, want)
	}
}

// weighed returns a model that adds weights of these sizes, in elements, one
// after another; the elements of each count up from start.
func weighed(t testing.TB, start int, sizes ...int) *ir.Model {
	t.Helper()
	m := ir.NewModel("weighed", ir.Import{Version: 21})
	g := m.Graph()
	x := ir.NewTensor("x", ir.TensorType(array.Float32, ir.Shape{ir.Num(1)}))
	g.SetInputs(x)
	for i, n := range sizes {
		w := ir.NewConstant(fmt.Sprintf("w%d", i), counting(t, start+i, n))
		g.AddInitializer(w)
		y := ir.NewTensor(fmt.Sprintf("y%d", i), nil)
		g.AddNode(ir.NewNode("Add", []*ir.Tensor{x, w}, []*ir.Tensor{y}))
		x = y
	}
	g.SetOutputs(x)
	return m
}

func counting(t testing.TB, start, n int) *array.Array {
	t.Helper()
	raw := make([]byte, 4*n)
	for i := range raw {
		raw[i] = byte((i/4 + start) * (i%4 + 1))
	}
	a, err := array.FromBytes(array.Float32, []int{n}, raw)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func mustSave(t testing.TB, m *ir.Model, path string, o SaveOptions) *SaveReport {
	t.Helper()
	r, err := Save(m, path, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustOpen(t testing.TB, path string) *ir.Model {
	t.Helper()
	m, err := Open(path, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// hashes returns the digest of each constant's bytes by name, all of them read.
func hashes(m *ir.Model) (string, error) {
	var out []string
	for _, g := range m.Graphs() {
		for _, t := range g.Initializers() {
			if t.Array() == nil { // a sparse one
				continue
			}
			b, err := t.Array().Bytes()
			if err != nil {
				return "", err
			}
			out = append(out, fmt.Sprintf("%s %s %x", t.Name(), t.Array().Summary(), sha1.Sum(b)))
		}
	}
	return strings.Join(out, "\n"), nil
}

func mustHash(t testing.TB, m *ir.Model) string {
	t.Helper()
	h, err := hashes(m)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// wantError fails unless err is of the kind and says each text.
func wantError(t *testing.T, err error, kind error, texts ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("got error %v, want one of kind %q", err, kind)
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("got error %q, want it to say %q", err, text)
		}
	}
}

// rewrite changes each tensor of a model file whose weights are all outside.
func rewrite(t testing.TB, path string, f func(*pb.TensorProto)) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var p pb.ModelProto
	if err := proto.Unmarshal(data, &p); err != nil {
		t.Fatal(err)
	}
	eachTensor(p.ProtoReflect(), f)
	writeProto(t, path, &p)
}

func writeProto(t testing.TB, path string, p *pb.ModelProto) {
	t.Helper()
	data, err := proto.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// modelOf returns a model of these tensors, all of them outputs.
func modelOf(ts ...*pb.TensorProto) *pb.ModelProto {
	g := &pb.GraphProto{Name: proto.String("g"), Initializer: ts}
	for _, tp := range ts {
		g.Output = append(g.Output, &pb.ValueInfoProto{Name: tp.Name})
	}
	return &pb.ModelProto{IrVersion: proto.Int64(10), Graph: g, OpsetImport: []*pb.OperatorSetIdProto{{Domain: proto.String(""), Version: proto.Int64(21)}}}
}

// outsideTensor returns a tensor of n float32 whose external_data says this.
func outsideTensor(n int64, keysAndValues ...string) *pb.TensorProto {
	tp := &pb.TensorProto{Name: proto.String("w"), DataType: proto.Int32(int32(array.Float32)), Dims: []int64{n}, DataLocation: pb.TensorProto_EXTERNAL.Enum()}
	for i := 0; i < len(keysAndValues); i += 2 {
		tp.ExternalData = append(tp.ExternalData, entry(keysAndValues[i], keysAndValues[i+1]))
	}
	return tp
}

// sparseModel writes a model of n weights of size bytes each that lie in one
// file that is a hole, and returns its path.
func sparseModel(t testing.TB, dir string, size int64, n int) string {
	t.Helper()
	var ts []*pb.TensorProto
	for i := range n {
		tp := outsideTensor(size/4, "location", "w.bin", "offset", strconv.FormatInt(int64(i)*size, 10), "length", strconv.FormatInt(size, 10))
		tp.Name = proto.String(fmt.Sprintf("w%d", i))
		ts = append(ts, tp)
	}
	writeProto(t, filepath.Join(dir, "m.onnx"), modelOf(ts...))
	f, err := os.Create(filepath.Join(dir, "w.bin"))
	if err == nil {
		err = f.Truncate(size * int64(n))
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "m.onnx")
}

// typedModel returns a model whose one weight lies in int64_data.
func typedModel(t testing.TB, n int) []byte {
	t.Helper()
	tp := &pb.TensorProto{Name: proto.String("w"), DataType: proto.Int32(int32(array.Int64)), Dims: []int64{int64(n)}}
	for i := range n {
		tp.Int64Data = append(tp.Int64Data, int64(i*i)*int64(1-2*(i%2)))
	}
	data, err := proto.Marshal(modelOf(tp))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
