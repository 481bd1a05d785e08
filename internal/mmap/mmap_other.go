//go:build !unix && !windows

package mmap

import "os"

func mapFile(*os.File, int) (data []byte, unmap func(), err error) {
	return nil, nil, errUnsupported
}
