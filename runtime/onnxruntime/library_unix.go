//go:build cgo && !windows

package onnxruntime

/*
#cgo linux LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>
*/
import "C"

import (
	"errors"
	"unsafe"
)

// apiBase returns the entry of a library that is loaded already.
func apiBase(lib string) (unsafe.Pointer, error) {
	path, name := C.CString(lib), C.CString("OrtGetApiBase")
	defer C.free(unsafe.Pointer(path))
	defer C.free(unsafe.Pointer(name))
	handle := C.dlopen(path, C.RTLD_LAZY)
	if handle == nil {
		return nil, errors.New(C.GoString(C.dlerror()))
	}
	entry := C.dlsym(handle, name)
	if entry == nil {
		return nil, errors.New(C.GoString(C.dlerror()))
	}
	return entry, nil
}

// systemString returns a path in the runtime's characters, and what frees it.
func systemString(path string) (text unsafe.Pointer, free func(), err error) {
	p := unsafe.Pointer(C.CString(path))
	return p, func() { C.free(p) }, nil
}
