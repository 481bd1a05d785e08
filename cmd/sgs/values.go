package main

import (
	"fmt"
	"strconv"
	"strings"
)

// byteSize is a number of bytes on the command line: 1024, 16K, 512MB, 2G. The
// suffixes are powers of 1024.
type byteSize int64

// String returns the number.
func (b *byteSize) String() string { return strconv.FormatInt(int64(*b), 10) }

// Type names the kind of value in help.
func (b *byteSize) Type() string { return "bytes" }

// Set reads a number with a suffix.
func (b *byteSize) Set(s string) error {
	t := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(s), "B"), "I")
	shift := 0
	if n := len(t); n > 0 {
		if k := strings.IndexByte("KMGT", t[n-1]); k >= 0 {
			shift, t = 10*(k+1), t[:n-1]
		}
	}
	v, err := strconv.ParseFloat(t, 64)
	if err != nil || v < 0 || v*float64(int64(1)<<shift) >= 1<<63 {
		return fmt.Errorf("got %q, want a number of bytes such as 512MB", s)
	}
	*b = byteSize(v * float64(int64(1)<<shift))
	return nil
}
