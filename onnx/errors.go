package onnx

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// What can be wrong with a file, for errors.Is.
var (
	ErrEmpty     = errors.New("the file is empty")
	ErrTruncated = errors.New("the file is truncated")
	ErrNotONNX   = errors.New("not an ONNX model")
	ErrInvalid   = errors.New("invalid ONNX model")
	ErrExternal  = errors.New("external data")
	ErrLimit     = errors.New("a limit is reached")
)

// FormatError tells what is wrong with a file.
type FormatError struct {
	Path string // of the file; "" for bytes
	At   string // where in the message, as graph.node[17].attribute[0], or ""
	Err  error
}

// Error returns path, place and fault.
func (e *FormatError) Error() string {
	parts := make([]string, 0, 3)
	for _, p := range []string{e.Path, e.At} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(append(parts, e.Err.Error()), ": ")
}

// Unwrap returns the fault.
func (e *FormatError) Unwrap() error { return e.Err }

// faultf makes a fault of a kind with a text of its own.
func faultf(kind error, format string, args ...any) error {
	return &fault{kind, fmt.Sprintf(format, args...)}
}

type fault struct {
	kind error
	text string
}

func (f *fault) Error() string { return f.text }
func (f *fault) Unwrap() error { return f.kind }

// inFile gives an error the file's path.
func inFile(path string, err error) error {
	var f *FormatError
	if errors.As(err, &f) {
		if f.Path == "" {
			f.Path = path
		}
		return err
	}
	return &FormatError{Path: path, Err: err}
}

// at gives an error the place in the message, outermost last.
func at(place string, err error) error {
	if f, ok := err.(*FormatError); ok {
		if f.At == "" {
			f.At = place
		} else {
			f.At = place + "." + f.At
		}
		return f
	}
	return &FormatError{At: place, Err: err}
}

// sniff looks at the first bytes of a file for what is mistaken for a model:
// a pointer of Git LFS, a page of a download site, an archive.
func sniff(r io.ReaderAt, size int64) error {
	if size == 0 {
		return ErrEmpty
	}
	head := make([]byte, min(size, 512))
	if _, err := r.ReadAt(head, 0); err != nil && err != io.EOF {
		return err
	}
	text := bytes.ToLower(bytes.TrimLeft(head, " \t\r\n\ufeff"))
	switch {
	case bytes.HasPrefix(head, []byte("version https://git-lfs")):
		return faultf(ErrNotONNX, "got a Git LFS pointer%s, want the model itself: run git lfs pull", lfsSize(head))
	case bytes.HasPrefix(text, []byte("<!doctype html")), bytes.HasPrefix(text, []byte("<html")):
		return faultf(ErrNotONNX, "got an HTML page, want an ONNX model: the download gave a web page")
	case bytes.HasPrefix(text, []byte("<?xml")):
		return faultf(ErrNotONNX, "got an XML document, want an ONNX model")
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return faultf(ErrNotONNX, "got a zip archive, want an ONNX model: unpack it (a .pt or .npz file is a zip too)")
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return faultf(ErrNotONNX, "got a gzip file, want an ONNX model: unpack it")
	case bytes.HasPrefix(text, []byte("{")):
		return faultf(ErrNotONNX, "got JSON, want the binary form of an ONNX model")
	case bytes.HasPrefix(text, []byte("ir_version:")), bytes.HasPrefix(text, []byte("<ir_version")):
		return faultf(ErrNotONNX, "got a text form of a model, want the binary form")
	}
	return nil
}

// lfsSize quotes the size that a Git LFS pointer gives.
func lfsSize(head []byte) string {
	for line := range bytes.Lines(head) {
		if n, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("size ")); ok {
			return fmt.Sprintf(" (to a file of %s bytes)", n)
		}
	}
	return ""
}
