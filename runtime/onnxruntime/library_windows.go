//go:build cgo

package onnxruntime

import (
	"syscall"
	"unsafe"
)

// apiBase returns the entry of a library that is loaded already.
func apiBase(lib string) (unsafe.Pointer, error) {
	dll, err := syscall.LoadDLL(lib)
	if err != nil {
		return nil, err
	}
	proc, err := dll.FindProc("OrtGetApiBase")
	if err != nil {
		return nil, err
	}
	addr := proc.Addr()
	return *(*unsafe.Pointer)(unsafe.Pointer(&addr)), nil
}

// systemString returns a path in the runtime's characters, and what frees it.
func systemString(path string) (text unsafe.Pointer, free func(), err error) {
	wide, err := syscall.UTF16PtrFromString(path)
	return unsafe.Pointer(wide), func() {}, err // Go's memory, which holds no pointer
}
