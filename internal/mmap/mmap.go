// Package mmap reads files by mapping them into memory, and hands out parts of
// them as sources of bytes.
//
//	f, err := mmap.Open(path)
//	s, err := f.Section(off, n)
//	s.ReadAt(buf, 0)      // reads through the file, touches no mapping
//	b, err := s.Bytes()   // the mapped bytes, which must not be written
//
// The file is mapped when bytes are first asked for, as a whole, and read-only.
// The kernel is told that access is random: its read-ahead would otherwise pull
// megabytes in for each kilobyte looked at. Section.WillRead says when a part
// is about to be read from end to end.
//
// A File needs no closing. When nothing refers to it or its sections any more,
// the file is closed and, some time later, the mapping removed: a slice of
// mapped bytes does not keep its owner alive, so whoever reads one for long
// holds on to the Section.
//
// Reading a mapping faults when the file has been cut since it was opened. Code
// that reads mapped bytes runs inside Guard, which makes the fault an error.
package mmap

import (
	"errors"
	"fmt"
	"github.com/starlarkgs/starlarkgs/internal/nofile"
	"io"
	"os"
	goruntime "runtime"
	"sync"
	"time"
)

// ErrNotRegular is wrapped in what Open returns for a folder, pipe or device.
var ErrNotRegular = errors.New("not a regular file")

// unmapDelay is how long a mapping outlives its File, for the sake of code that
// still reads a slice of it.
var unmapDelay = 30 * time.Second

// File is a regular file opened for reading.
type File struct {
	file *os.File
	size int64
	info os.FileInfo

	mu   sync.Mutex
	data []byte // the mapping, nil until it is asked for
}

// Open opens the file at path, which must be a regular one.
func Open(path string) (*File, error) {
	// A look before opening keeps a pipe from blocking and a device from waking.
	if info, err := os.Stat(path); err != nil {
		return nil, nofile.Explain(err)
	} else if !info.Mode().IsRegular() {
		return nil, &os.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	f, err := os.OpenFile(path, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, err
	}
	return New(f)
}

// OpenIn opens the regular file at the path rel below a folder. No link on the
// way leads out of the folder, whatever happens to it meanwhile.
func OpenIn(dir, rel string) (*File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	// what is no regular file is found out on the handle: opening does not block
	f, err := root.OpenFile(rel, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, err
	}
	return New(f)
}

// New returns a File that reads f and takes it over: it is closed when New
// returns an error.
func New(f *os.File) (*File, error) {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &os.PathError{Op: "open", Path: f.Name(), Err: ErrNotRegular}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &File{file: f, size: info.Size(), info: info}, nil
}

// Name returns the path that the file was opened with.
func (f *File) Name() string { return f.file.Name() }

// Size returns the size that the file had when it was opened.
func (f *File) Size() int64 { return f.size }

// Info returns what was known of the file when it was opened.
func (f *File) Info() os.FileInfo { return f.info }

// ReadAt reads through the file, not through a mapping.
func (f *File) ReadAt(p []byte, off int64) (int, error) { return f.file.ReadAt(p, off) }

// Section returns the n bytes at offset off, which must lie within the file.
func (f *File) Section(off, n int64) (*Section, error) {
	if off < 0 || n < 0 || off > f.size || n > f.size-off {
		return nil, fmt.Errorf("%s: bytes %d to %d: the file has %d", f.Name(), off, off+n, f.size)
	}
	return &Section{f, off, n}, nil
}

// mapping returns the bytes of the whole file, mapped on the first call.
func (f *File) mapping() ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.data != nil || f.size == 0 {
		return f.data, nil
	}
	if int64(int(f.size)) != f.size {
		return nil, errUnsupported
	}
	data, unmap, err := mapFile(f.file, int(f.size))
	if err != nil {
		return nil, fmt.Errorf("%s: cannot map it: %w", f.Name(), err)
	}
	f.data = data
	forget := remember(f.Name(), data)
	goruntime.AddCleanup(f, func(delay time.Duration) {
		time.AfterFunc(delay, func() { forget(); unmap() })
	}, unmapDelay)
	return data, nil
}

// errUnsupported is what mapFile returns where files can't be mapped: bytes are
// then read into memory.
var errUnsupported = errors.New("mapping is not supported here")

// Section is a part of a file.
type Section struct {
	file   *File
	off, n int64
}

// File returns the file that the section is part of.
func (s *Section) File() *File { return s.file }

// Offset returns where the section begins in the file.
func (s *Section) Offset() int64 { return s.off }

// Len returns the number of bytes.
func (s *Section) Len() int64 { return s.n }

// ReadAt reads through the file, not through a mapping. Bytes that the file no
// longer has are an error that says how many are missing.
func (s *Section) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off > s.n {
		return 0, fmt.Errorf("%s: offset %d: the part has %d bytes", s.file.Name(), off, s.n)
	}
	short := false
	if rest := s.n - off; int64(len(p)) > rest {
		p, short = p[:rest], true
	}
	n, err := s.file.ReadAt(p, s.off+off)
	if n < len(p) && errors.Is(err, io.EOF) {
		return n, fmt.Errorf("%s: the file was cut: %d bytes are missing at offset %d: %w",
			s.file.Name(), len(p)-n, s.off+off+int64(n), io.ErrUnexpectedEOF)
	}
	if n == len(p) {
		err = nil
	}
	if err == nil && short {
		err = io.EOF
	}
	return n, err
}

// NextData returns the next range at or after off that is in no hole of the
// file: what lies before it are zeros that take no disk. At the end it is empty.
// Where holes can't be told it is the rest of the section.
func (s *Section) NextData(off int64) (from, to int64) {
	from, to = nextData(s.file.file, s.off+off, s.off+s.n)
	return min(max(from-s.off, off), s.n), min(max(to-s.off, off), s.n)
}

// Bytes returns the mapped bytes, which must not be written and are valid as
// long as the section is reachable; where files can't be mapped, a copy.
func (s *Section) Bytes() ([]byte, error) {
	data, err := s.file.mapping()
	if err == nil {
		return data[s.off : s.off+s.n : s.off+s.n], nil
	}
	if !errors.Is(err, errUnsupported) {
		return nil, err
	}
	buf := make([]byte, s.n)
	if _, err := s.ReadAt(buf, 0); err != nil && err != io.EOF {
		return nil, err
	}
	return buf, nil
}

// WillRead tells the kernel that the mapped bytes are about to be read from end
// to end, so that it reads ahead.
func (s *Section) WillRead() {
	s.file.mu.Lock()
	data := s.file.data
	s.file.mu.Unlock()
	if data != nil && s.n > 0 {
		adviseSequential(data, s.off, s.n)
	}
}
