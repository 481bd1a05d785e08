//go:build !unix && !windows

package mmap

import "os"

func mapFile(*os.File, int) (data []byte, unmap func(), err error) {
	return nil, nil, errUnsupported
}

const nonBlocking = 0

// Links returns how many names a file has, as far as that is known: 1.
func Links(os.FileInfo) int { return 1 }
