// Package par runs loops on several processors, and code that reads mapped files
// so that a fault is an error.
//
//	err := par.Guard(func() error {
//		par.For(len(out), 1024, func(lo, hi int) {
//			for i := lo; i < hi; i++ {
//				out[i] = f(in[i]) // in may be mapped
//			}
//		})
//		return nil
//	})
//
// Reading a mapping faults when another program has cut the file, which ends the
// process unless the goroutine that reads has asked for a panic. For asks for it
// in each goroutine and hands the panic on to its caller; Guard, somewhere up the
// stack, makes it an error.
package par

import (
	goruntime "runtime"
	"runtime/debug"
	"sync"

	"github.com/starlarkgs/starlarkgs/internal/mmap"
)

// For calls body on parts [lo, hi) of [0, n) of at least grain iterations, on up
// to GOMAXPROCS goroutines, and returns when all are done. A small loop runs in
// the caller. A fault in a mapping becomes a panic; a panic in a part is raised
// again in the caller, with its value, when all parts have ended.
func For(n, grain int, body func(lo, hi int)) {
	workers := min(goruntime.GOMAXPROCS(0), n/max(grain, 1))
	if workers <= 1 {
		if n > 0 {
			defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
			body(0, n)
		}
		return
	}
	var wg sync.WaitGroup
	var once sync.Once
	var failure any
	part := func(w int) {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		defer func() {
			if r := recover(); r != nil {
				once.Do(func() { failure = r })
			}
		}()
		body(n*w/workers, n*(w+1)/workers)
	}
	for w := 1; w < workers; w++ {
		wg.Go(func() { part(w) })
	}
	part(0)
	wg.Wait()
	if failure != nil {
		panic(failure)
	}
}

// Guard calls f and returns its error, or mmap.ErrFault when a mapped file was
// cut while f, or a part of a loop that it runs by For, was reading it. Other
// panics pass.
func Guard(f func() error) error { return mmap.Guard(f) }
