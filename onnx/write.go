package onnx

import (
	"bytes"
	"hash"
	"io"
	"os"
)

// sink is where segments are written.
type sink interface {
	io.Writer
	// Skip leaves out n bytes, which are then zeros.
	Skip(n int64) error
}

// holes is a source that may tell its holes, zeros that take no disk.
type holes interface {
	// NextData returns the next range at or after off that is in no hole, an
	// empty one at the end.
	NextData(off int64) (from, to int64)
}

// bufferSink is memory.
type bufferSink struct{ bytes.Buffer }

// Skip writes zeros.
func (b *bufferSink) Skip(n int64) error {
	_, err := b.Write(make([]byte, n))
	return err
}

// fileSink is a new file. What is skipped becomes a hole.
type fileSink struct {
	file *os.File
	off  int64
	sum  hash.Hash // of what was written, or nil
}

// Write appends.
func (s *fileSink) Write(p []byte) (int, error) {
	if err := hook("write"); err != nil {
		return 0, err
	}
	n, err := s.file.WriteAt(p, s.off)
	s.off += int64(n)
	if s.sum != nil {
		s.sum.Write(p[:n])
	}
	return n, err
}

var zeros [64 << 10]byte

// Skip moves on.
func (s *fileSink) Skip(n int64) error {
	s.off += n
	for s.sum != nil && n > 0 {
		k := min(n, int64(len(zeros)))
		s.sum.Write(zeros[:k])
		n -= k
	}
	return nil
}

// finish gives the file its length, which a hole at the end does not.
func (s *fileSink) finish() error { return s.file.Truncate(s.off) }

func writeSegments(w sink, segments []segment) error {
	b := &batch{w: w}
	for _, s := range segments {
		err := b.add(s)
		if err != nil {
			return err
		}
	}
	return b.flush()
}

// batch collects small pieces, so that each write is a large one.
type batch struct {
	w    sink
	held []byte
	buf  []byte // through which sources are copied
}

func (b *batch) flush() error {
	if len(b.held) == 0 {
		return nil
	}
	_, err := b.w.Write(b.held)
	b.held = b.held[:0]
	return err
}

func (b *batch) add(s segment) error {
	if len(s.bytes) > 0 && len(b.held)+len(s.bytes) <= copyChunk {
		b.held = append(b.held, s.bytes...)
		return nil
	}
	if err := b.flush(); err != nil {
		return err
	}
	if s.skip > 0 {
		return b.w.Skip(s.skip)
	}
	if s.src != nil {
		return b.copy(s.src)
	}
	_, err := b.w.Write(s.bytes)
	return err
}

// copy copies by pread and pwrite in chunks: a mapping's touched pages would
// count as memory, and copy_file_range is slow where offsets differ. Holes stay
// holes.
func (b *batch) copy(src source) error {
	if b.buf == nil {
		b.buf = make([]byte, copyChunk)
	}
	h, _ := src.(holes)
	for off, to := int64(0), int64(0); off < src.Len(); {
		if h != nil && off >= to {
			var from int64
			if from, to = h.NextData(off); from > off {
				if err := b.w.Skip(from - off); err != nil {
					return err
				}
				off = from
				continue
			}
		}
		if to <= off {
			to = src.Len()
		}
		n := min(int64(len(b.buf)), to-off)
		if err := readFull(src, b.buf[:n], off); err != nil {
			return err
		}
		if _, err := b.w.Write(b.buf[:n]); err != nil {
			return err
		}
		off += n
	}
	return nil
}

// readFull reads all of buf.
func readFull(src source, buf []byte, off int64) error {
	n, err := src.ReadAt(buf, off)
	switch {
	case n == len(buf):
		return nil
	case err == nil || err == io.EOF:
		return io.ErrUnexpectedEOF
	}
	return err
}
