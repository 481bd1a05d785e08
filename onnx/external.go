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
// into a folder of blobs), or below a folder that the caller allows.
type externalDir struct {
	dir    string
	roots  []string // absolute, links resolved
	strict bool     // no links at all, nor files of several names

	mu    sync.Mutex
	files map[string]*externalFile // by location
}

func newExternalDir(dir, model string, o OpenOptions) *externalDir {
	e := &externalDir{dir: dir, strict: o.Strict, files: map[string]*externalFile{}}
	for _, root := range append([]string{dir, linkTarget(model)}, o.AllowDirs...) {
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
// ways out of the folder, what would be either on Windows, and the runtime's
// internal markers.
func checkLocation(location string) error {
	slashed := strings.ReplaceAll(location, `\`, "/")
	drive := len(location) > 1 && location[1] == ':'
	switch {
	case strings.Contains(location, "_ORT_MEM_ADDR_"):
		return faultf(ErrExternal, "external data: got the location %q, a runtime's internal marker", location)
	case strings.ContainsRune(location, 0):
		return faultf(ErrExternal, "external data: the location %q holds a NUL", location)
	case drive, !filepath.IsLocal(filepath.FromSlash(location)), !filepath.IsLocal(filepath.FromSlash(slashed)), strings.HasPrefix(slashed, "/"):
		return faultf(ErrExternal, "external data: got the location %q, want a path below the model's folder", location)
	}
	return nil
}

// externalFile is one file of external data.
type externalFile struct {
	dir       *externalDir
	location  string
	path      string // as a user knows it
	root, rel string // links resolved: one of the roots, and the way below it

	mu       sync.Mutex
	info     os.FileInfo // when the model was opened; nil when it was not there
	checksum string      // SHA-1 of the whole file, "" for none
	verified bool
	file     *mmap.File

	head     map[string]safetensorsEntry // of a .safetensors file, once it is asked for
	headSize int64
}

// at returns the file of a location, which need not be there.
func (e *externalDir) at(location string) (*externalFile, error) {
	if err := checkLocation(location); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if f := e.files[location]; f != nil {
		return f, nil
	}
	f := &externalFile{dir: e, location: location, path: filepath.Join(e.dir, filepath.FromSlash(location))}
	if err := f.resolve(); err != nil {
		return nil, err
	}
	e.files[location] = f
	return f, nil
}

// resolve finds the file and looks whether it is one that may be read. One that
// is not there is found out when it is read.
func (f *externalFile) resolve() error {
	real, err := filepath.EvalSymlinks(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return faultf(ErrExternal, "external data %q: %v", f.location, err)
	}
	if real, err = filepath.Abs(real); err != nil {
		return err
	}
	if f.root, f.rel = f.dir.contains(real); f.root == "" {
		return faultf(ErrExternal, "external data %q: it leads to %s, want a file below %s (the model's folder, that of the file the model links to, or one of allow_dirs)",
			f.location, real, strings.Join(f.dir.roots, " or "))
	}
	info, err := os.Stat(real)
	if err != nil {
		return faultf(ErrExternal, "external data %q: %v", f.location, err)
	}
	if !info.Mode().IsRegular() {
		return faultf(ErrExternal, "external data %q: got %s, want a regular file", f.location, info.Mode().Type())
	}
	if f.dir.strict {
		if err := f.checkStrict(real, info); err != nil {
			return err
		}
	}
	f.info = info
	return nil
}

func (e *externalDir) contains(real string) (root, rel string) {
	for _, root := range e.roots {
		if rel, err := filepath.Rel(root, real); err == nil && filepath.IsLocal(rel) {
			return root, rel
		}
	}
	return "", ""
}

func (f *externalFile) checkStrict(real string, info os.FileInfo) error {
	if len(f.dir.roots) == 0 || real != filepath.Join(f.dir.roots[0], filepath.FromSlash(f.location)) {
		return faultf(ErrExternal, "external data %q: it leads to %s by a link, which the strict mode refuses", f.location, real)
	}
	if n := mmap.Links(info); n > 1 {
		return faultf(ErrExternal, "external data %q: the file has %d names, which the strict mode refuses", f.location, n)
	}
	return nil
}

// source returns the n bytes that an entry names. Their place is checked now
// where the file is there; the file is opened when they are read.
func (e *externalDir) source(entry externalEntry, n int64) (*externalSource, error) {
	f, err := e.at(entry.location)
	if err != nil {
		return nil, err
	}
	looked := ""
	if entry.unplaced && filepath.Ext(f.path) == ".safetensors" && f.info != nil {
		var length int64
		if entry.offset, length, err = f.find(entry.name); err != nil {
			return nil, err
		}
		looked = entry.name
		if length != n {
			return nil, faultf(ErrExternal, "external data %q: got %d bytes of tensor %q, want %d", entry.location, length, entry.name, n)
		}
	}
	if f.info != nil && (n > f.info.Size() || entry.offset > f.info.Size()-n) {
		return nil, faultf(ErrExternal, "external data %q: got a file of %d bytes, want %d more from offset %d on",
			entry.location, f.info.Size(), n, entry.offset)
	}
	if err := f.expect(entry.checksum); err != nil {
		return nil, err
	}
	return &externalSource{file: f, off: entry.offset, n: n, name: looked}, nil
}

// open returns the file, opened on the first call. It must be the one that was
// there when the model was opened, and what its checksum says.
func (f *externalFile) open() (*mmap.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		if err := f.openFile(); err != nil {
			return nil, &FormatError{Path: f.path, Err: err}
		}
	}
	if err := f.verify(); err != nil {
		return nil, &FormatError{Path: f.path, Err: err}
	}
	return f.file, nil
}

func (f *externalFile) openFile() error {
	if f.info == nil { // it may have come since
		if err := f.resolve(); err != nil {
			return err
		}
		if f.info == nil {
			return faultf(ErrExternal, "external data: no such file")
		}
	}
	file, err := mmap.OpenIn(f.root, f.rel)
	if err != nil {
		return faultf(ErrExternal, "external data: %v", err)
	}
	if !os.SameFile(file.Info(), f.info) || file.Size() < f.info.Size() {
		return faultf(ErrExternal, "external data: the file was replaced or cut after the model was opened")
	}
	f.file = file
	return nil
}

// missing reports whether the file is not there.
func (f *externalFile) missing() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.info != nil {
		return false
	}
	_, err := os.Stat(f.path)
	return errors.Is(err, fs.ErrNotExist)
}

// externalSource is the bytes of one tensor in an external file.
type externalSource struct {
	file   *externalFile
	off, n int64
	name   string // by which it was looked up in a .safetensors file, or ""
}

// Location returns the file that the bytes lie in.
func (s *externalSource) Location() string { return s.file.path }

// Place returns file, offset and length.
func (s *externalSource) Place() (path string, off, n int64) { return s.file.path, s.off, s.n }

// Len returns the number of bytes.
func (s *externalSource) Len() int64 { return s.n }

func (s *externalSource) section() (*mmap.Section, error) {
	f, err := s.file.open()
	if err != nil {
		return nil, err
	}
	part, err := f.Section(s.off, s.n)
	if err != nil {
		return nil, faultf(ErrExternal, "external data: %v", err)
	}
	return part, nil
}

// ReadAt reads from the file.
func (s *externalSource) ReadAt(p []byte, off int64) (int, error) {
	part, err := s.section()
	if err != nil {
		return 0, err
	}
	return part.ReadAt(p, off)
}

// NextData tells the holes of the file, as mmap.Section does.
func (s *externalSource) NextData(off int64) (from, to int64) {
	part, err := s.section()
	if err != nil {
		return off, s.n // reading tells
	}
	return part.NextData(off)
}

// Bytes maps the file.
func (s *externalSource) Bytes() ([]byte, error) {
	part, err := s.section()
	if err != nil {
		return nil, err
	}
	return part.Bytes()
}
