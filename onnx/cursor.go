package onnx

import (
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// cursor reads the wire format from a file through a window, so that skipping
// a weight costs nothing.
type cursor struct {
	r      io.ReaderAt
	off    int64 // of the next byte
	size   int64 // of the file
	window []byte
	from   int64 // offset of the window
}

const windowSize = 64 << 10

// peek returns at least n bytes from the next one on, fewer at the end of the file.
func (c *cursor) peek(n int) ([]byte, error) {
	if rest := c.size - c.off; int64(n) > rest {
		n = int(rest)
	}
	at := c.off - c.from
	if at < 0 || at+int64(n) > int64(len(c.window)) {
		if cap(c.window) < max(n, windowSize) {
			c.window = make([]byte, max(n, windowSize))
		}
		c.window = c.window[:min(int64(max(n, windowSize)), c.size-c.off)]
		if _, err := c.r.ReadAt(c.window, c.off); err != nil && err != io.EOF {
			return nil, err
		}
		c.from, at = c.off, 0
	}
	return c.window[at:], nil
}

// varint reads a varint that must end before end.
func (c *cursor) varint(end int64) (uint64, error) {
	b, err := c.peek(10)
	if err != nil {
		return 0, err
	}
	v, n := protowire.ConsumeVarint(b)
	if n < 0 {
		if int64(len(b)) >= 10 {
			return 0, faultf(ErrInvalid, "offset %#x: a varint overflows 64 bits", c.off)
		}
		return 0, c.cut(c.off + 1)
	}
	if c.off+int64(n) > end {
		return 0, faultf(ErrInvalid, "offset %#x: a varint runs over the end of its message", c.off)
	}
	c.off += int64(n)
	return v, nil
}

// cut is the fault of a file that ends too early.
func (c *cursor) cut(want int64) error {
	return faultf(ErrTruncated, "the file is truncated: it ends at byte %d, want at least %d", c.size, want)
}

// take reads n bytes.
func (c *cursor) take(n int64, end int64) ([]byte, error) {
	if n < 0 || n > end-c.off {
		return nil, c.over(n, end)
	}
	b, err := c.peek(int(n))
	if err != nil {
		return nil, err
	}
	c.off += n
	return b[:n], nil
}

// over is the fault of a length that does not fit: into the file, or into the
// message that it is in.
func (c *cursor) over(n, end int64) error {
	if n < 0 || end < c.size {
		return faultf(ErrInvalid, "offset %#x: got a length of %d bytes, want at most %d, the rest of the message", c.off, n, end-c.off)
	}
	return c.cut(c.off + n)
}
