package syntax

import (
	_ "embed"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/starlarkgs/starlarkgs/onnx/internal/pb"
)

//go:embed testdata/standard.json
var standardJSON []byte

// TestStandard reads texts as the onnx package's parser does, what its printer
// writes too. Empty names and domains, which that parser always sets, do not count.
func TestStandard(t *testing.T) {
	var cases []struct {
		Name, Text, Printed string
		Model               []byte
	}
	if err := json.Unmarshal(standardJSON, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			var want pb.ModelProto
			if err := proto.Unmarshal(c.Model, &want); err != nil {
				t.Fatal(err)
			}
			dropEmpty(want.ProtoReflect())
			got := parsed(t, c.Text)
			dropEmpty(got.ProtoReflect())
			if !sameMessage(got.ProtoReflect(), want.ProtoReflect()) {
				t.Errorf("got\n%s\nwant\n%s", prototext.Format(got), prototext.Format(&want))
			}
			if strings.Contains(c.Printed, "...") || c.Name == "no type" || c.Name == "functions" || c.Name == "no header" {
				return // the printer leaves out elements, types and documentation, and adds a header
			}
			again := parsed(t, c.Printed)
			dropEmpty(again.ProtoReflect())
			if !sameMessage(again.ProtoReflect(), want.ProtoReflect()) {
				t.Errorf("of what the printer wrote: got\n%s\nwant\n%s", prototext.Format(again), prototext.Format(&want))
			}
		})
	}
}

func parsed(t *testing.T, text string) *pb.ModelProto {
	t.Helper()
	m := &pb.ModelProto{}
	if err := Parse([]byte(text), 100, m); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return m
}

// dropEmpty clears the strings that are set to "".
func dropEmpty(m protoreflect.Message) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsList() && f.Message() != nil:
			for i := range v.List().Len() {
				dropEmpty(v.List().Get(i).Message())
			}
		case f.IsList():
		case f.Message() != nil:
			dropEmpty(v.Message())
		case f.Kind() == protoreflect.StringKind && v.String() == "" && (f.Name() == "name" || f.Name() == "domain" || f.Name() == "overload"):
			m.Clear(f)
		}
		return true
	})
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", `1:1: got the end of the text, want the name of a graph`},
		{"g (flaot x) => () {}", `1:4: got "flaot", want a type (did you mean "float"?)`},
		{"g (float x, flaot[N] y) => () {}", `1:13: got "flaot", want a type (did you mean "float"?)`},
		{"g () => () <\n#@ raw\nfloat[1] w", `3:11: got the end of the text, want ",", "=" or the end of the list`},
		{"g (y z) => () {}", `1:4: got "y", want a type`},
		{"g (seq(flaot) x) => () {}", `1:8: got "flaot", want a type (did you mean "float"?)`},
		{"<ir_versoin: 3> g () => () {}", `1:2: got "ir_versoin", want one of doc_string, domain, ir_version, metadata_props, model_version, opset_import, producer_name, producer_version (did you mean "ir_version"?)`},
		{"<ir_version: x> g () => () {}", `1:14: got "x", want a number`},
		{"<ir_version: 1.5> g () => () {}", `1:14: got 1.5, want a version`},
		{"<opset_import: [\"\" : 99999999999999999999]>", `1:22: got 99999999999999999999, want a version`},
		{"g () => ()\n{ y = Relu(x }", `2:14: got "}", want ")"`},
		{"g () => ()\n{ y Relu(x) }", `2:5: got "Relu", want "="`},
		{"g () = () {}", `1:8: got "(", want "=>"`},
		{"g () => () { y = Op <a : itn = 1> () }", `1:26: got "itn", want a kind of attribute (did you mean "int"?)`},
		{"g () => () { y = Op <a : int = 1.5> () }", `1:32: attribute "a": got float, want int`},
		{"g () => () { y = Op <a : int = [1]> () }", `1:33: attribute "a": got a list, want int`},
		{"g () => () { y = Op <a : ints = [1, \"x\"]> () }", `1:37: attribute "a": got string among items of int`},
		{"g () => () { y = Op <a = []> () }", `1:27: attribute "a": got an empty list, want its kind before it, as in : ints = []`},
		{"g () => () { y = Op <a = \"x> () }", `1:26: the string has no end`},
		{"g () => () <float[N] w = {1}> {}", `1:13: got a tensor with a size that is no number, want numbers: it has elements`},
		{"g () => () <float[] w = {1}> {}", `1:13: got a value with elements, want a tensor's type with its sizes before it`},
		{"g () => () <uint64[1] w = {-1}> {}", `1:28: got -1, want a number of 0 or more`},
		{"g () => () <int8[1] w = {3000000000}> {}", `1:26: got 3000000000, want an integer of 32 bits`},
		{"g () => () <float[1] w = {1e99}> {}", `1:27: got 1e99, want a number that fits into 32 bits`},
		{"g () => () <string[1] w = {1}> {}", `1:28: got "1", want a string`},
		{"#@ doc_sting: \"x\"\ng () => () {}", `1:1: the #@ comment: unknown field: doc_sting`},
		{"g () => () {\n#@ raw\ny = Op() }", `2:1: got raw before an element that is no tensor`},
		{"g () => () {\n#@ -nam\ny = Op() }", `2:1: got -nam, want a field of NodeProto (did you mean "name"?)`},
		{"g () => () {\n#@ raw\n}", `2:1: got a #@ comment, want an element after it`},
		{"g () => () {\n#@ binary \"!\"\ny = Op() }", `2:1: the #@ comment: illegal base64 data at input byte 0`},
		{"g () => () {} trailing", `1:23: got the end of the text, want "("`},
		{"g (" + strings.Repeat("seq(", 200) + " x) => () {}", `the text is nested too deep`},
	} {
		err := Parse([]byte(c.text), 100, &pb.ModelProto{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q:\ngot  %v\nwant %s", c.text, err, c.want)
		}
	}
}

// random fills a message with fields of all kinds, some of them wrong.
func random(rng *rand.Rand, m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if strings.HasPrefix(string(f.Name()), "elided") || rng.IntN(3) > 0 || f.Message() != nil && depth == 0 {
			continue
		}
		if f.IsList() {
			list := m.Mutable(f).List()
			for range rng.IntN(4) {
				if f.Message() != nil {
					random(rng, list.AppendMutable().Message(), depth-1)
				} else {
					list.Append(scalar(rng, f))
				}
			}
			continue
		}
		if f.Message() != nil {
			random(rng, m.Mutable(f).Message(), depth-1)
		} else {
			m.Set(f, scalar(rng, f))
		}
	}
	if rng.IntN(40) == 0 {
		m.SetUnknown([]byte{0xc0, 0x3e, 1})
	}
}

func scalar(rng *rand.Rand, f protoreflect.FieldDescriptor) protoreflect.Value {
	texts := []string{"", "x", "N", "float", "map", "nan", "a/b:0", "é 日本", "\"q\\", "two\nlines", "#@ raw", "a.b", "1a", "_", "ai.onnx"}
	small := rng.IntN(34) - 2
	switch f.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(texts[rng.IntN(len(texts))])
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte(texts[rng.IntN(len(texts))] + string([]byte{byte(rng.Uint32()), 255, 0})))
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(int32(small))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(int64(small) << rng.IntN(50))
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(rng.Uint64())
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(math.Float32frombits(rng.Uint32() | uint32(rng.IntN(2))*0x7fc00000))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(math.Float64frombits(rng.Uint64()))
	}
	return protoreflect.ValueOfEnum(protoreflect.EnumNumber(rng.IntN(16)))
}

// TestRandomModels prints and reads models of random fields, which no standard
// allows for the most part: nothing is lost, not the bits of a NaN.
func TestRandomModels(t *testing.T) {
	said := 0
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 3))
		m := &pb.ModelProto{Graph: &pb.GraphProto{}}
		random(rng, m.ProtoReflect(), 7)
		text, err := Print(m)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		got := parsed(t, string(text))
		if !sameMessage(got.ProtoReflect(), m.ProtoReflect()) {
			d := &differ{said: map[proto.Message]string{}}
			d.element(got.ProtoReflect(), m.ProtoReflect())
			for _, s := range d.said {
				t.Errorf("seed %d: lost %.300s", seed, s)
			}
			t.Fatalf("of\n%.4000s", text)
		}
		if again, err := Print(got); err != nil || string(again) != string(text) {
			t.Errorf("seed %d: printed again: %v, another text", seed, err)
		}
		said += strings.Count(string(text), "#@")
	}
	if said == 0 {
		t.Error("no model had anything that the syntax lacks")
	}
}

// FuzzSyntax reads any text: it is a model that comes back from its own text, or
// an error.
func FuzzSyntax(f *testing.F) {
	var cases []struct{ Text string }
	if err := json.Unmarshal(standardJSON, &cases); err != nil {
		f.Fatal(err)
	}
	for _, c := range cases {
		f.Add(c.Text)
	}
	f.Add("#@ doc_string: \"x\"\ng () => () {\n#@ -name binary \"wD4B\"\n[n] y = Op() }")
	f.Fuzz(func(t *testing.T, text string) {
		m := &pb.ModelProto{}
		if Parse([]byte(text), 50, m) != nil {
			return
		}
		printed, err := Print(m)
		if err != nil {
			t.Fatal(err)
		}
		again := &pb.ModelProto{}
		if err := Parse(printed, maxNesting, again); err != nil || !sameMessage(again.ProtoReflect(), m.ProtoReflect()) {
			t.Fatalf("%v: another model from\n%s", err, printed)
		}
	})
}
