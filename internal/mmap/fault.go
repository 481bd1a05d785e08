package mmap

import (
	"errors"
	"fmt"
	goruntime "runtime"
	"runtime/debug"
	"sync"
	"unsafe"
)

// ErrFault is wrapped in what Guard returns when mapped bytes could not be read,
// most likely because another program cut the file.
var ErrFault = errors.New("a mapped file was cut, or failed, while it was read")

// FaultError is a fault of a mapping: where in which file.
type FaultError struct {
	Path   string
	Offset int64
}

// Error names file and place.
func (e *FaultError) Error() string {
	return fmt.Sprintf("%s: offset %#x: %v", e.Path, e.Offset, ErrFault)
}

// Unwrap returns ErrFault.
func (e *FaultError) Unwrap() error { return ErrFault }

// live is the mappings of this process, by address, so that a fault can be told
// by file and offset.
var live struct {
	sync.Mutex
	files map[uintptr]mapping
}

type mapping struct {
	path string
	size uintptr
}

// remember enters a mapping into the list; the function that it returns takes
// it out.
func remember(path string, data []byte) (forget func()) {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(data)))
	live.Lock()
	defer live.Unlock()
	if live.files == nil {
		live.files = map[uintptr]mapping{}
	}
	live.files[at] = mapping{path, uintptr(len(data))}
	return func() {
		live.Lock()
		defer live.Unlock()
		delete(live.files, at)
	}
}

// Fault returns the error of a recovered panic that is a fault in a mapping, and
// nil for any other panic. The fault is only a panic where SetPanicOnFault was
// called: see Guard.
func Fault(recovered any) error {
	// A fault at an address is such an error; a nil pointer's is not one of a
	// mapping, and stays a bug.
	fault, ok := recovered.(interface {
		goruntime.Error
		Addr() uintptr
	})
	if !ok {
		return nil
	}
	live.Lock()
	defer live.Unlock()
	for at, m := range live.files {
		// the last page reaches beyond the file's end
		if off := fault.Addr() - at; fault.Addr() >= at && off < m.size {
			return &FaultError{m.path, int64(off)}
		}
	}
	return nil
}

// Guard calls f, which reads mapped bytes on this goroutine, and returns its
// error, or a FaultError when a mapped file was cut under it. Goroutines that f
// starts need a Guard of their own. Other panics pass.
func Guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		if err = Fault(r); err == nil {
			panic(r)
		}
	}()
	return f()
}
