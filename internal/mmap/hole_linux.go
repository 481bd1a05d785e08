package mmap

import (
	"errors"
	"os"
	"syscall"
)

const seekData = 3

// nextData returns where the data that follows off begins, at most end.
func nextData(f *os.File, off, end int64) int64 {
	next, err := syscall.Seek(int(f.Fd()), off, seekData)
	if err == nil {
		return min(next, end)
	}
	if !errors.Is(err, syscall.ENXIO) {
		return off
	}
	// No data follows: a hole up to the end, or the file was cut, which whoever
	// reads must find out.
	if info, err := f.Stat(); err != nil || info.Size() < end {
		return off
	}
	return end
}
