package mmap

import (
	"errors"
	"os"
	"syscall"
)

const (
	seekData = 3
	seekHole = 4
)

// nextData returns the next range of data at or after off and before end.
func nextData(f *os.File, off, end int64) (from, to int64) {
	fd := int(f.Fd())
	from, err := syscall.Seek(fd, off, seekData)
	if err != nil {
		// With ENXIO no data follows: a hole up to the end, or the file was cut,
		// which whoever reads must find out.
		if info, e := f.Stat(); e == nil && errors.Is(err, syscall.ENXIO) && info.Size() >= end {
			return end, end
		}
		return off, end
	}
	if to, err = syscall.Seek(fd, from, seekHole); err != nil {
		to = end
	}
	return min(from, end), min(to, end)
}
