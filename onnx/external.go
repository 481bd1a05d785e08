package onnx

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/starlarkgs/starlarkgs/internal/mmap"
)

// externalDir is where the external data of a model may lie: below its folder,
// or below the folder of the file that the model's path leads to when it is a
// link (the layout of the Hugging Face cache, where model and data are links
// into a folder of blobs).
type externalDir struct {
	dir   string
	roots []string
	mu    sync.Mutex
	files map[string]*mmap.File
}

func newExternalDir(dir, model string) *externalDir {
	e := &externalDir{dir: dir, files: map[string]*mmap.File{}}
	for _, root := range []string{dir, linkTarget(model)} {
		if real, err := filepath.EvalSymlinks(root); err == nil && root != "" {
			if abs, err := filepath.Abs(real); err == nil {
				e.roots = append(e.roots, abs)
			}
		}
	}
	return e
}

func linkTarget(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	return filepath.Dir(real)
}

// checkLocation refuses what no location of the standard is: absolute paths,
// ways out of the folder, and the runtime's internal markers.
func checkLocation(location string) error {
	switch {
	case strings.Contains(location, "_ORT_MEM_ADDR_"):
		return faultf(ErrExternal, "external data: got the location %q, a runtime's internal marker", location)
	case strings.ContainsRune(location, 0):
		return faultf(ErrExternal, "external data: the location %q holds a NUL", location)
	case !filepath.IsLocal(filepath.FromSlash(location)):
		return faultf(ErrExternal, "external data: got the location %q, want a path below the model's folder", location)
	}
	return nil
}

// path returns the file of a location: it must be a regular one, and lie, links
// resolved, below one of the roots. A file that is not there is found out when
// it is read.
func (e *externalDir) path(location string) (string, error) {
	if err := checkLocation(location); err != nil {
		return "", err
	}
	path := filepath.Join(e.dir, filepath.FromSlash(location))
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	if err != nil {
		return "", faultf(ErrExternal, "external data %q: %v", location, err)
	}
	if real, err = filepath.Abs(real); err != nil {
		return "", err
	}
	for _, root := range e.roots {
		if rel, err := filepath.Rel(root, real); err == nil && filepath.IsLocal(rel) {
			return path, nil
		}
	}
	return "", faultf(ErrExternal, "external data %q: it leads to %s, want a file below the model's folder", location, real)
}

// source returns the n bytes that an entry names. Their place is checked now
// where the file is there; the file is opened when they are read.
func (e *externalDir) source(entry externalEntry, n int64) (*externalSource, error) {
	path, err := e.path(entry.location)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err == nil {
		if !info.Mode().IsRegular() {
			return nil, faultf(ErrExternal, "external data %q: got no regular file", entry.location)
		}
		if n > info.Size() || entry.offset > info.Size()-n {
			return nil, faultf(ErrExternal, "external data %q: got a file of %d bytes, want at least %d (offset %d, length %d)",
				entry.location, info.Size(), entry.offset+n, entry.offset, n)
		}
	}
	return &externalSource{dir: e, path: path, entry: entry, n: n}, nil
}

func (e *externalDir) open(path string) (*mmap.File, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if f := e.files[path]; f != nil {
		return f, nil
	}
	f, err := mmap.Open(path)
	if err != nil {
		return nil, err
	}
	e.files[path] = f
	return f, nil
}

// externalSource is the bytes of one tensor in an external file.
type externalSource struct {
	dir   *externalDir
	path  string
	entry externalEntry
	n     int64
}

// Location returns the file that the bytes lie in.
func (s *externalSource) Location() string { return s.path }

// Place returns file, offset and length.
func (s *externalSource) Place() (path string, off, n int64) { return s.path, s.entry.offset, s.n }

// Len returns the number of bytes.
func (s *externalSource) Len() int64 { return s.n }

func (s *externalSource) section() (*mmap.Section, error) {
	f, err := s.dir.open(s.path)
	if err != nil {
		return nil, &FormatError{Path: s.path, Err: faultf(ErrExternal, "external data: %v", errors.Unwrap(err))}
	}
	return f.Section(s.entry.offset, s.n)
}

// ReadAt reads from the file.
func (s *externalSource) ReadAt(p []byte, off int64) (int, error) {
	part, err := s.section()
	if err != nil {
		return 0, err
	}
	return part.ReadAt(p, off)
}

// Bytes maps the file.
func (s *externalSource) Bytes() ([]byte, error) {
	part, err := s.section()
	if err != nil {
		return nil, err
	}
	return part.Bytes()
}
