//go:build cgo

package onnxruntime

// #include <stdlib.h>
// #include "native.h"
import "C"

import (
	"errors"
	"fmt"
	goruntime "runtime"
	"unsafe"

	ort "github.com/yalue/onnxruntime_go"
)

// apiVersion is the table of functions that is asked for: the bindings' own.
const apiVersion = 24

// attach takes the runtime's table of functions from the library that the
// bindings have loaded.
func attach(lib string) error {
	entry, err := apiBase(lib)
	if err != nil {
		return err
	}
	if C.sgs_attach(entry, apiVersion) == 0 {
		return fmt.Errorf("got a library without version %d of the interface, want ONNX Runtime 1.%d or later", apiVersion, apiVersion)
	}
	return check(C.sgs_begin())
}

// check turns a status into an error and frees it.
func check(status unsafe.Pointer) error {
	if status == nil {
		return nil
	}
	defer C.sgs_release_status(status)
	return errors.New(C.GoString(C.sgs_message(status)))
}

// pointerOf returns the runtime's own options, the one field of the bindings'.
func pointerOf(o *ort.SessionOptions) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(o)) }

// native is a session of the runtime.
type native struct {
	session, options unsafe.Pointer // options are of its runs
	ins, outs        []*C.char
}

func newNative(model []byte, o *ort.SessionOptions, ins, outs []string) (*native, error) {
	n := &native{}
	if err := check(C.sgs_session(unsafe.Pointer(unsafe.SliceData(model)), C.size_t(len(model)), pointerOf(o), &n.session)); err != nil {
		return nil, err
	}
	goruntime.KeepAlive(o)
	if err := check(C.sgs_run_options(&n.options)); err != nil {
		n.close()
		return nil, err
	}
	n.ins, n.outs = cStrings(ins), cStrings(outs)
	return n, nil
}

func (n *native) close() {
	if n.session == nil {
		return
	}
	C.sgs_release_session(n.session)
	if n.options != nil {
		C.sgs_release_run_options(n.options)
	}
	freeStrings(n.ins)
	freeStrings(n.outs)
	*n = native{}
}

// terminate asks a run to stop, which it sees between two nodes; false lets the
// next one go on.
func (n *native) terminate(on bool) {
	flag := C.int(0)
	if on {
		flag = 1
	}
	_ = check(C.sgs_terminate(n.options, flag)) // can't fail
}

func cStrings(ss []string) []*C.char {
	out := make([]*C.char, len(ss))
	for i, s := range ss {
		out[i] = C.CString(s)
	}
	return out
}

func freeStrings(ss []*C.char) {
	for _, s := range ss {
		C.free(unsafe.Pointer(s))
	}
}

// call is what one run passes: the slots of inputs and outputs, and the sizes
// that they refer to. What lies behind the slots must be kept alive until the run
// is over.
type call struct {
	names     []*C.char // of the inputs given
	ins, outs []C.sgs_slot
	dims      []C.int64_t
}

// run runs the session. Outputs without memory have a value afterwards.
func (n *native) run(c *call) error {
	return check(C.sgs_run(n.session, n.options,
		unsafe.SliceData(c.names), unsafe.SliceData(c.ins), C.size_t(len(c.ins)),
		unsafe.SliceData(n.outs), unsafe.SliceData(c.outs), C.size_t(len(c.outs)), c.sizes()))
}

// sizes returns where the sizes lie; never NULL, which the runtime refuses for
// rank 0 too.
func (c *call) sizes() *C.int64_t {
	if len(c.dims) == 0 {
		c.dims = append(c.dims, 0)
	}
	return unsafe.SliceData(c.dims)
}
