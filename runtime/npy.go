package runtime

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/starlarkgs/starlarkgs/array"
)

// The NumPy file format, versions 1 and 2 (NEP 1). Types that NumPy lacks are
// written as NumPy does for ml_dtypes: as void of their width ("|V2"), packed
// types one element to a byte; they read back as unsigned integers.
var npyCodes = map[array.DType]string{
	array.Float32: "<f4", array.Float64: "<f8", array.Float16: "<f2", array.Bool: "|b1",
	array.Int8: "|i1", array.Int16: "<i2", array.Int32: "<i4", array.Int64: "<i8",
	array.Uint8: "|u1", array.Uint16: "<u2", array.Uint32: "<u4", array.Uint64: "<u8",
	array.Complex64: "<c8", array.Complex128: "<c16",
}

const npyMagic = "\x93NUMPY"

// WriteNPY writes an array in NumPy's format.
func WriteNPY(w io.Writer, a *array.Array) error {
	code, body, err := npyBody(a)
	if err != nil {
		return err
	}
	dims := make([]string, a.Rank())
	for i, d := range a.Shape() {
		dims[i] = strconv.Itoa(d) + ","
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", code, strings.TrimSuffix(strings.Join(dims, " "), map[bool]string{true: ","}[a.Rank() > 1]))
	const align = 64
	pad := align - (len(npyMagic)+4+len(header)+1)%align
	header += strings.Repeat(" ", pad%align) + "\n"
	var b bytes.Buffer
	b.WriteString(npyMagic)
	b.Write([]byte{1, 0})
	b.Write(binary.LittleEndian.AppendUint16(nil, uint16(len(header))))
	b.WriteString(header)
	if _, err := w.Write(b.Bytes()); err != nil {
		return err
	}
	_, err = w.Write(body)
	return err
}

func npyBody(a *array.Array) (code string, body []byte, err error) {
	if a.DType() == array.String {
		return npyStrings(a.Strings())
	}
	if bits := a.DType().Bits(); bits < 8 {
		for _, v := range array.Unpack4(a) {
			body = append(body, byte(v))
		}
		return "|i1", body, nil
	}
	body, err = a.Bytes()
	if code = npyCodes[a.DType()]; code == "" {
		code = fmt.Sprintf("|V%d", a.DType().Bits()/8)
	}
	return code, body, err
}

// npyStrings encodes strings as UCS-4 of the width of the longest.
func npyStrings(ss []string) (string, []byte, error) {
	width := 1
	for _, s := range ss {
		width = max(width, utf8.RuneCountInString(s))
	}
	var body []byte
	for _, s := range ss {
		n := 0
		for _, r := range s {
			body = binary.LittleEndian.AppendUint32(body, uint32(r))
			n++
		}
		body = append(body, make([]byte, 4*(width-n))...)
	}
	return fmt.Sprintf("<U%d", width), body, nil
}

var npyHeader = regexp.MustCompile(`'descr':\s*'([^']+)'.*'fortran_order':\s*(True|False).*'shape':\s*\(([^)]*)\)`)

const maxNPY = 1 << 34

// ReadNPY reads an array in NumPy's format.
func ReadNPY(r io.Reader) (*array.Array, error) {
	head := make([]byte, 10)
	if _, err := io.ReadFull(r, head); err != nil || string(head[:6]) != npyMagic {
		return nil, fmt.Errorf("npy: got %q, want the magic bytes of a NumPy file", head)
	}
	n := int(binary.LittleEndian.Uint16(head[8:]))
	if head[6] >= 2 {
		more := make([]byte, 2)
		if _, err := io.ReadFull(r, more); err != nil {
			return nil, fmt.Errorf("npy: the header is cut: %w", err)
		}
		n |= int(binary.LittleEndian.Uint16(more)) << 16
	}
	if n > 1<<20 {
		return nil, fmt.Errorf("npy: got a header of %d bytes, want at most %d", n, 1<<20)
	}
	header := make([]byte, n)
	if _, err := io.ReadFull(r, header); err != nil {
		return nil, fmt.Errorf("npy: the header is cut: %w", err)
	}
	m := npyHeader.FindSubmatch(header)
	if m == nil {
		return nil, fmt.Errorf("npy: got the header %q, want descr, fortran_order and shape", header)
	}
	return npyData(r, string(m[1]), string(m[2]) == "True", string(m[3]))
}

func npyData(r io.Reader, code string, fortran bool, dims string) (*array.Array, error) {
	shape := []int{}
	size := 1
	for _, d := range strings.Split(dims, ",") {
		if d = strings.TrimSpace(d); d == "" {
			continue
		}
		v, err := strconv.Atoi(d)
		if err != nil || v < 0 || size*max(v, 1) > maxNPY {
			return nil, fmt.Errorf("npy: got the shape (%s), want sizes whose product is at most %d", dims, maxNPY)
		}
		shape = append(shape, v)
		size *= max(v, 1)
	}
	body, err := io.ReadAll(io.LimitReader(r, maxNPY))
	if err != nil {
		return nil, err
	}
	if fortran {
		for i, j := 0, len(shape)-1; i < j; i, j = i+1, j-1 {
			shape[i], shape[j] = shape[j], shape[i]
		}
	}
	a, err := npyArray(code, shape, body)
	if err != nil {
		return nil, fmt.Errorf("npy: %w", err)
	}
	if fortran {
		t, err := a.Transpose()
		if err != nil {
			return nil, err
		}
		return t.Contiguous(), nil
	}
	return a, nil
}

func npyArray(code string, shape []int, body []byte) (*array.Array, error) {
	for dt, c := range npyCodes {
		if c == code || strings.TrimLeft(c, "<|") == strings.TrimLeft(code, "<|=") {
			return array.FromBytes(dt, shape, body)
		}
	}
	if width, ok := strings.CutPrefix(code, "<U"); ok {
		return npyText(width, shape, body)
	}
	switch code {
	case "|V1":
		return array.FromBytes(array.Uint8, shape, body)
	case "|V2":
		return array.FromBytes(array.Uint16, shape, body)
	}
	return nil, fmt.Errorf("got the type %q, want one of little-endian numbers, bools or strings", code)
}

func npyText(width string, shape []int, body []byte) (*array.Array, error) {
	n, err := strconv.Atoi(width)
	if err != nil || n < 1 || len(body)%(4*n) != 0 {
		return nil, fmt.Errorf("got strings of width %q in %d bytes", width, len(body))
	}
	var out []string
	for ; len(body) > 0; body = body[4*n:] {
		var s []rune
		for i := range n {
			if r := rune(binary.LittleEndian.Uint32(body[4*i:])); r != 0 {
				s = append(s, r)
			}
		}
		out = append(out, string(s))
	}
	size := 1
	for _, d := range shape {
		size *= d
	}
	if size != len(out) {
		return nil, fmt.Errorf("got %d strings, want %d for shape %v", len(out), size, shape)
	}
	return array.FromStrings(out, shape...), nil
}

// SaveNPY writes an array as an .npy file, whole or not at all.
func SaveNPY(path string, a *array.Array) error {
	return replace(path, func(w io.Writer) error { return WriteNPY(w, a) })
}

// replace writes a file beside path and renames it to path when write succeeds.
func replace(path string, write func(io.Writer) error) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			tmp.Close()
			os.Remove(tmp.Name())
		}
	}()
	if err := write(tmp); err != nil {
		return err
	}
	if err := tmp.Chmod(0o644); err != nil {
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// WriteNPZ writes arrays by name as an .npz file, sorted by name, whole or not
// at all. What is no array is left out, with an error.
func WriteNPZ(path string, values map[string]array.Value) error {
	return replace(path, func(w io.Writer) error { return writeZip(w, path, values) })
}

func writeZip(to io.Writer, path string, values map[string]array.Value) error {
	z := zip.NewWriter(to)
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		a, ok := values[name].(*array.Array)
		if !ok {
			return fmt.Errorf("%s: %q is %s, and an .npz file holds arrays only", path, name, values[name].Summary())
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Store})
		if err != nil {
			return err
		}
		if err := WriteNPY(w, a); err != nil {
			return err
		}
	}
	return z.Close()
}

// ReadNPZ reads the arrays of an .npz file by name.
func ReadNPZ(path string) (map[string]array.Value, error) {
	z, err := zip.OpenReader(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer z.Close()
	out := map[string]array.Value{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, f.Name, err)
		}
		a, err := ReadNPY(r)
		r.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, f.Name, err)
		}
		out[strings.TrimSuffix(f.Name, ".npy")] = a
	}
	return out, nil
}
