package mmap

import (
	"os"
	"syscall"
)

// Advice only makes things faster: a kernel that refuses it is no error.

func adviseRandom(data []byte) { _ = syscall.Madvise(data, syscall.MADV_RANDOM) }

func adviseSequential(data []byte, off, n int64) {
	page := int64(os.Getpagesize())
	off, n = off/page*page, n+off%page
	_ = syscall.Madvise(data[off:off+n], syscall.MADV_SEQUENTIAL)
}
