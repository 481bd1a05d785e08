package onnx

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx/internal/pb"
)

// small returns a model with weights, a body and a function, as bytes.
func small(t testing.TB) []byte {
	m := ir.NewModel("small", ir.Import{Version: 21})
	g := m.Graph()
	cond := ir.NewTensor("cond", ir.TensorType(array.Bool, ir.Shape{}))
	x := ir.NewTensor("x", ir.TensorType(array.Float32, ir.Shape{ir.Sym("N"), ir.Num(600)}))
	g.SetInputs(cond, x)
	w := ir.NewConstant("w", array.New(array.Float32, 600))
	body := func(name string) *ir.Graph {
		b := ir.NewGraph(name)
		y := ir.NewTensor(name+"_y", nil)
		b.AddNode(ir.NewNode("Add", []*ir.Tensor{x, w}, []*ir.Tensor{y}))
		b.SetOutputs(y)
		return b
	}
	out := ir.NewTensor("out", nil)
	g.AddInitializer(w)
	g.AddNode(ir.NewNode("If", []*ir.Tensor{cond}, []*ir.Tensor{out}, ir.NewAttr("then_branch", body("t")), ir.NewAttr("else_branch", body("e"))))
	g.SetOutputs(out)
	data, err := Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// FuzzRead reads damaged models: whatever the bytes, there is a model or an
// error, and a small file takes little memory. A model is written, and what was
// written is read as the same.
func FuzzRead(f *testing.F) {
	data := small(f)
	f.Add(data)
	for _, n := range []int{1, 10, 50, 100} {
		f.Add(data[:len(data)-n])
	}
	f.Add(typedModel(f, 400))
	f.Add([]byte("version https://git-lfs.github.com/spec/v1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		before := allocated()
		m, err := Read(data)
		if err == nil {
			checkStable(t, m)
		}
		if got := allocated() - before; len(data) < 1024 && got > 4*maxSmall {
			t.Errorf("%d bytes made it allocate %d", len(data), got)
		}
	})
}

// checkStable writes a model and reads it again: both say the same. A model that
// can't be written, as one of a cycle, is an error and no more.
func checkStable(t *testing.T, m *ir.Model) {
	t.Helper()
	_, _ = hashes(m)
	_ = m.Verify()
	first, err := Marshal(m)
	if err != nil {
		return
	}
	again, err := Read(first)
	if err != nil {
		t.Fatalf("what was written is not read: %v", err)
	}
	second, err := Marshal(again)
	if err != nil {
		t.Fatalf("what was read is not written: %v", err)
	}
	if !bytes.Equal(first, second) {
		t.Errorf("written twice, the model has %d bytes, then %d, and differs", len(first), len(second))
	}
}

// FuzzExternal reads external_data entries with any values, beside a file of any
// size, and then saves the model: no file outside its folder is read or written.
func FuzzExternal(f *testing.F) {
	for _, s := range []struct{ location, offset, length, checksum string }{
		{"w.bin", "0", "16", ""}, {"../w.bin", "0", "16", ""}, {"sub/../../w.bin", "", "", ""}, {"link/key", "0", "16", ""}, {"folder", "0", "0", ""},
		{"*/_ORT_MEM_ADDR_/*", "140737488355328", "16", ""}, {"w.bin", "9223372036854775807", "16", ""}, {"w.bin", "0", "18446744073709551615", ""},
		{`..\w.bin`, "-1", "+16", "zz"}, {"C:w.bin", "0x10", "1e3", strings.Repeat("0", 40)}, {"w.safetensors", "", "", ""}, {"m.onnx", "0", "16", ""},
	} {
		f.Add(s.location, s.offset, s.length, s.checksum, int64(4), uint16(64))
	}
	top := f.TempDir()
	dir := filepath.Join(top, "in")
	if err := os.MkdirAll(filepath.Join(dir, "folder"), 0o755); err != nil {
		f.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(top, "key"), []byte(strings.Repeat("secret", 10)), 0o644); err != nil {
		f.Fatal(err)
	}
	_ = os.Symlink("..", filepath.Join(dir, "link")) // where there are no links there is less to try
	f.Fuzz(func(t *testing.T, location, offset, length, checksum string, n int64, size uint16) {
		for _, name := range []string{"w.bin", "w.safetensors"} {
			if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		tp := outsideTensor(n, "location", location)
		for _, kv := range [][2]string{{"offset", offset}, {"length", length}, {"checksum", checksum}} {
			if kv[1] != "" {
				tp.ExternalData = append(tp.ExternalData, entry(kv[0], kv[1]))
			}
		}
		path := filepath.Join(dir, "m.onnx")
		writeProto(t, path, modelOf(tp))
		m, err := Open(path, OpenOptions{})
		if err != nil {
			return
		}
		h, err := hashes(m)
		out := filepath.Join(dir, "out.onnx")
		if _, e := Save(m, out, SaveOptions{External: ExternalSingle, Threshold: 1}); e == nil && err == nil && n > 0 {
			if got := mustHash(t, mustOpen(t, out)); got != h {
				t.Errorf("saved, the weights differ")
			}
		}
		secret, err := os.ReadFile(filepath.Join(top, "key"))
		if err != nil || string(secret) != strings.Repeat("secret", 10) {
			t.Errorf("a file outside was written")
		}
		for _, name := range files(t, dir) {
			if data, err := os.ReadFile(filepath.Join(dir, name)); err == nil && bytes.Contains(data, []byte("secretsecret")) {
				t.Errorf("a file outside was read, into %s", name)
			}
		}
	})
}

// FuzzSafetensors reads damaged headers.
func FuzzSafetensors(f *testing.F) {
	for _, head := range []string{`{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, `{"__metadata__":{"a":"b"}}`, `[]`, `{"w":{"data_offsets":[-1,1]}}`} {
		f.Add(append([]byte{byte(len(head)), 0, 0, 0, 0, 0, 0, 0}, head+"12345678"...))
	}
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, '{', '}'})
	f.Fuzz(func(t *testing.T, data []byte) {
		before := allocated()
		head, n, err := decodeSafetensorsHead(bytes.NewReader(data), int64(len(data)))
		if err == nil && (n < 8 || n > int64(len(data))) {
			t.Errorf("a header of %d bytes in a file of %d: %v", n, len(data), head)
		}
		if got := allocated() - before; len(data) < 1024 && got > maxSmall {
			t.Errorf("%d bytes made it allocate %d", len(data), got)
		}
	})
}

// graphOf builds a graph by what the bytes say: nodes, names that clash,
// cycles, bodies that capture and shadow, initializers, declared values.
type graphOf struct{ data []byte }

func (b *graphOf) next(n int) int {
	if len(b.data) == 0 {
		return 0
	}
	v := int(b.data[0]) % n
	b.data = b.data[1:]
	return v
}

func (b *graphOf) name() string {
	return []string{"", "a", "b", "c", "d", "e", "f\xff", "é"}[b.next(8)]
}

func (b *graphOf) names() []string {
	out := make([]string, b.next(4))
	for i := range out {
		out[i] = b.name()
	}
	return out
}

func (b *graphOf) infos() (out []*pb.ValueInfoProto) {
	for _, n := range b.names() {
		v := &pb.ValueInfoProto{Name: proto.String(n)}
		if b.next(2) == 1 {
			v.Type = &pb.TypeProto{Value: &pb.TypeProto_TensorType{TensorType: &pb.TypeProto_Tensor{ElemType: proto.Int32(int32(b.next(30)))}}}
		}
		out = append(out, v)
	}
	return out
}

func (b *graphOf) tensor() *pb.TensorProto {
	return &pb.TensorProto{Name: proto.String(b.name()), DataType: proto.Int32(int32(array.Int8)), Dims: []int64{int64(b.next(5))}, RawData: make([]byte, b.next(5))}
}

func (b *graphOf) graph(depth int) *pb.GraphProto {
	g := &pb.GraphProto{Name: proto.String(b.name()), Input: b.infos(), Output: b.infos(), ValueInfo: b.infos()}
	for range b.next(3) {
		t := b.tensor()
		t.RawData = make([]byte, t.Dims[0])
		g.Initializer = append(g.Initializer, t)
	}
	for range b.next(2) {
		g.SparseInitializer = append(g.SparseInitializer, &pb.SparseTensorProto{Dims: []int64{3}, Values: b.tensor(), Indices: b.tensor()})
	}
	for range b.next(2) {
		g.QuantizationAnnotation = append(g.QuantizationAnnotation, &pb.TensorAnnotation{TensorName: proto.String(b.name())})
	}
	g.Node = b.nodes(depth)
	return g
}

func (b *graphOf) nodes(depth int) (out []*pb.NodeProto) {
	for range b.next(5) {
		n := &pb.NodeProto{Name: proto.String(b.name()), OpType: proto.String([]string{"If", "Loop", "a", "b", "Constant"}[b.next(5)]),
			Domain: proto.String([]string{"", "ai.onnx", "d"}[b.next(3)]), Input: b.names(), Output: b.names()}
		for k := range b.next(3) {
			a := &pb.AttributeProto{Name: proto.String(b.name())}
			switch b.next(6) {
			case 0:
				a.I = proto.Int64(int64(k))
			case 1:
				a.T = b.tensor()
			case 2:
				a.RefAttrName = proto.String(b.name())
			case 3:
				a.Type = pb.AttributeProto_AttributeType(b.next(16)).Enum()
			default:
				if depth < 3 {
					a.G = b.graph(depth + 1)
				}
			}
			n.Attribute = append(n.Attribute, a)
		}
		out = append(out, n)
	}
	return out
}

// FuzzGraph builds graphs: each is read, or an error, and what is read holds
// together, sorts or not, and is written and read again as the same.
func FuzzGraph(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x01\x02\x01\x03\x02\x01\x01\x01\x02\x01\x01\x02\x03\x01\x02\x01\x01\x04\x05\x01"))
	f.Add(bytes.Repeat([]byte{1, 2, 3, 4, 5, 6, 7}, 60))
	f.Add(bytes.Repeat([]byte{4, 1, 0, 2, 1, 1, 2, 3, 5}, 60))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := &graphOf{data}
		p := &pb.ModelProto{IrVersion: proto.Int64(10), Graph: b.graph(0)}
		for range b.next(3) {
			p.Functions = append(p.Functions, &pb.FunctionProto{Domain: proto.String("d"), Name: proto.String(b.name()), Input: b.names(), Output: b.names(), Node: b.nodes(2)})
		}
		m, err := readFuzz(t, p)
		if err == nil {
			checkStable(t, m)
		}
	})
}

func readFuzz(t *testing.T, p *pb.ModelProto) (*ir.Model, error) {
	t.Helper()
	data, err := proto.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return Read(data)
}

// TestTruncation cuts a model at every byte.
func TestTruncation(t *testing.T) {
	data := small(t)
	for n := range len(data) {
		if m, err := Read(data[:n]); err == nil && m.Graph().NumNodes() > 0 && n < len(data)-2500 {
			t.Errorf("a model cut at byte %d of %d opened with %d nodes", n, len(data), m.Graph().NumNodes())
		}
	}
}

// TestReservedFields sets the field numbers that the reader itself uses for what
// it leaves in the file: no input can name a place by them.
func TestReservedFields(t *testing.T) {
	for _, num := range []protowire.Number{elidedOffset, elidedLength, elidedField, elidedKey} {
		tp := protowire.AppendTag(nil, 2, protowire.VarintType)
		tp = protowire.AppendVarint(tp, 1)
		if num == elidedKey {
			tp = protowire.AppendTag(tp, num, protowire.Fixed64Type)
			tp = protowire.AppendFixed64(tp, 1)
		} else {
			tp = protowire.AppendTag(tp, num, protowire.VarintType)
			tp = protowire.AppendVarint(tp, 1)
		}
		b := protowire.AppendBytes(protowire.AppendTag(nil, 5, protowire.BytesType), tp)
		b = protowire.AppendBytes(protowire.AppendTag(nil, 7, protowire.BytesType), b)
		if _, err := Read(b); err == nil || !strings.Contains(err.Error(), "reserved") {
			t.Errorf("field %d: got %v", num, err)
		}
	}
}
