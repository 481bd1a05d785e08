package onnx

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/starlarkgs/starlarkgs/internal/mmap"
	"github.com/starlarkgs/starlarkgs/internal/spell"
	"github.com/starlarkgs/starlarkgs/onnx/internal/pb"
	"github.com/starlarkgs/starlarkgs/onnx/internal/syntax"
)

// format is a text form of a model. A text is read into a message, whose binary
// form is then read as any file is, under the same limits.
type format struct {
	ext   string
	print func(*pb.ModelProto) ([]byte, error)
	parse func(text []byte, depth int, into *pb.ModelProto) error
	looks func(head []byte) bool // whether a file begins so
}

var formats = []*format{
	{".textproto", printTextproto, parseTextproto, func(head []byte) bool { return bytes.HasPrefix(head, []byte("ir_version:")) }},
	{".json", printJSON, parseJSON, func(head []byte) bool { return bytes.HasPrefix(head, []byte("{")) }},
	{".onnxtxt", syntax.Print, parseSyntax, syntaxBegins.Match},
}

// syntaxBegins is how a text of the standard's own syntax begins.
var syntaxBegins = regexp.MustCompile(`^(#@|<\s*(ir_version|opset_import|producer_name|domain|model_version|doc_string)\s*:)`)

// Extensions lists the file extensions that can be opened and saved.
var Extensions = []string{".onnx", ".onnxtxt", ".textproto", ".json"}

// notText lists extensions that are never a text form, whatever the content.
var notText = []string{".onnx", ".ort", ".pb"}

// formatOf returns the text form that the extension of a path names, or nil.
func formatOf(path string) *format {
	ext := strings.ToLower(filepath.Ext(path))
	for _, f := range formats {
		if f.ext == ext {
			return f
		}
	}
	return nil
}

// sniffFormat returns the text form that a file has by its extension, or, where
// that says nothing, by how it begins.
func sniffFormat(path string, src source) *format {
	if f := formatOf(path); f != nil {
		return f
	}
	ext := strings.ToLower(filepath.Ext(path))
	for _, b := range notText {
		if b == ext {
			return nil
		}
	}
	head := make([]byte, min(src.Len(), 64))
	if _, err := src.ReadAt(head, 0); err != nil && err != io.EOF {
		return nil
	}
	head = bytes.TrimLeft(head, " \t\r\n")
	for _, f := range formats {
		if f.looks(head) {
			return f
		}
	}
	return nil
}

// openSource opens a file as the binary form of a model.
func openSource(path string, limits Limits) (source, error) {
	file, err := mmap.Open(path)
	if err != nil {
		return nil, err
	}
	src, err := file.Section(0, file.Size())
	if err != nil {
		return nil, err
	}
	f := sniffFormat(path, src)
	if f == nil {
		return src, nil
	}
	data, err := f.read(src, limits.withDefaults())
	var at *textError
	if errors.As(err, &at) {
		return nil, &FormatError{Path: fmt.Sprintf("%s:%d:%d", path, at.line, at.col), Err: faultf(ErrInvalid, "%s", at.text)}
	}
	if err != nil {
		return nil, inFile(path, err)
	}
	return &memory{bytes.NewReader(data), data}, nil
}

// read returns the binary form of a text.
func (f *format) read(src source, limits Limits) ([]byte, error) {
	if src.Len() > limits.FileSize {
		return nil, over("file_size", "bytes in the file", limits.FileSize)
	}
	if src.Len() == 0 {
		return nil, ErrEmpty
	}
	text := make([]byte, src.Len())
	if _, err := src.ReadAt(text, 0); err != nil && err != io.EOF {
		return nil, err
	}
	var p pb.ModelProto
	if err := f.parse(text, limits.Depth, &p); err != nil {
		return nil, err
	}
	if p.Graph == nil {
		return nil, faultf(ErrInvalid, "not an ONNX model: it has no graph")
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(&p)
}

// render replaces the binary form by the text, which is read back to make sure
// that it says all that the model does.
func (f *format) render(e *encoded) error {
	want := &bufferSink{}
	want.Grow(int(e.size))
	if err := writeSegments(want, e.segments); err != nil {
		return err
	}
	var p, back pb.ModelProto
	if err := proto.Unmarshal(want.Bytes(), &p); err != nil {
		return err
	}
	if at := findUnknown("", p.ProtoReflect()); at != "" && f.ext != ".onnxtxt" {
		return fmt.Errorf("%s: got fields that this version of ONNX has not, which %s can't express (save as .onnx)", at, f.ext)
	}
	text, err := f.print(&p)
	if err != nil {
		return fmt.Errorf("%s can't express the model: %s (save as .onnx)", f.ext, plain(err))
	}
	if err := f.parse(text, defaultLimits.Depth, &back); err != nil {
		return fmt.Errorf("%s can't express the model: %s (save as .onnx)", f.ext, plain(err))
	}
	got, err := proto.MarshalOptions{Deterministic: true}.Marshal(&back)
	if err != nil {
		return err
	}
	// Both go through the same encoder, so that order of fields does not count.
	same, err := proto.MarshalOptions{Deterministic: true}.Marshal(&p)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, same) {
		return fmt.Errorf("%s can't express %s (save as .onnx)", f.ext, firstDifference(&p, &back))
	}
	e.segments, e.size = []segment{{bytes: text}}, int64(len(text))
	return nil
}

// firstDifference names what a text lost.
func firstDifference(a, b *pb.ModelProto) string {
	c := &comparer{a: &decoded{model: a}, b: &decoded{model: b}}
	c.message("", a.ProtoReflect(), b.ProtoReflect())
	if len(c.out) == 0 {
		return "the bits of a NaN"
	}
	return c.out[0]
}

// findUnknown returns the path of a message with unknown fields, or "".
func findUnknown(path string, m protoreflect.Message) (at string) {
	if len(m.GetUnknown()) > 0 {
		if path == "" {
			return "model"
		}
		return path
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		name := strings.TrimPrefix(path+"."+string(f.Name()), ".")
		switch {
		case f.Message() == nil:
		case f.IsList():
			for i := 0; i < v.List().Len() && at == ""; i++ {
				at = findUnknown(fmt.Sprintf("%s[%d]", name, i), v.List().Get(i).Message())
			}
		default:
			at = findUnknown(name, v.Message())
		}
		return at == ""
	})
	return at
}

// textError is what is wrong with a text, and where.
type textError struct {
	line, col int
	text      string
}

func (e *textError) Error() string { return fmt.Sprintf("%d:%d: %s", e.line, e.col, e.text) }

var (
	// The libraries put either a space or a no-break space behind their names, at
	// random, so that no one relies on the texts.
	libraryName = regexp.MustCompile(`^proto:[\s\x{00a0}]*`)
	position    = regexp.MustCompile(`\(line (\d+):(\d+)\): `)
	unknownName = regexp.MustCompile(`unknown field:? "?([A-Za-z_0-9]+)"?`)
)

func plain(err error) string { return libraryName.ReplaceAllString(err.Error(), "") }

// located makes an error of the libraries one with a position, and with the
// names that are near an unknown one.
func located(err error) error {
	if err == nil {
		return nil
	}
	text := plain(err)
	if m := unknownName.FindStringSubmatch(text); m != nil {
		if near := spell.Nearest(m[1], fieldNames()); len(near) > 0 {
			text += fmt.Sprintf(" (did you mean %s?)", strings.Join(near, ", "))
		}
	}
	at := position.FindStringSubmatchIndex(text)
	if at == nil {
		return faultf(ErrInvalid, "%s", text)
	}
	line, _ := strconv.Atoi(text[at[2]:at[3]])
	col, _ := strconv.Atoi(text[at[4]:at[5]])
	return &textError{line, col, text[:at[0]] + text[at[1]:]}
}

// fieldNames lists the fields of all messages of a model.
func fieldNames() []string {
	var names []string
	messages := pb.File_sgs_onnx_proto.Messages()
	for i := range messages.Len() {
		fields := messages.Get(i).Fields()
		for k := range fields.Len() {
			if name := string(fields.Get(k).Name()); !strings.HasPrefix(name, "elided") {
				names = append(names, name)
			}
		}
	}
	return names
}

// extraSpace finds the second space that prototext puts behind a name at random.
// Strings hold no line breaks, so a name is all that a line can begin with.
var extraSpace = regexp.MustCompile(`(?m)^( *[a-z_0-9]+:?)  `)

func parseSyntax(text []byte, depth int, into *pb.ModelProto) error {
	err := syntax.Parse(text, depth, into)
	var at *syntax.Error
	if errors.As(err, &at) {
		return &textError{at.Line, at.Col, at.Text}
	}
	return err
}

func printTextproto(p *pb.ModelProto) ([]byte, error) {
	text, err := prototext.MarshalOptions{Multiline: true, Indent: "  "}.Marshal(p)
	if err != nil {
		return nil, err
	}
	text = extraSpace.ReplaceAll(text, []byte("$1 "))
	return append(bytes.TrimRight(text, "\n"), '\n'), nil
}

func parseTextproto(text []byte, depth int, into *pb.ModelProto) error {
	return located(prototext.UnmarshalOptions{RecursionLimit: 2 * depth}.Unmarshal(text, into))
}

// printJSON prints with the standard's field names; protojson's random spaces go.
func printJSON(p *pb.ModelProto) ([]byte, error) {
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(p)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

func parseJSON(text []byte, depth int, into *pb.ModelProto) error {
	return located(protojson.UnmarshalOptions{RecursionLimit: 2 * depth}.Unmarshal(text, into))
}
