// Package par runs loops on several processors.
package par

import (
	goruntime "runtime"
	"runtime/debug"
	"sync"
)

// For calls body on parts [lo, hi) of [0, n) of at least grain iterations, on up
// to GOMAXPROCS goroutines, and returns when all are done. A small loop runs in
// the caller. A fault in a mapping becomes a panic, and a panic in a part is
// raised again in the caller.
func For(n, grain int, body func(lo, hi int)) {
	workers := min(goruntime.GOMAXPROCS(0), n/max(grain, 1))
	if workers <= 1 {
		if n > 0 {
			body(0, n)
		}
		return
	}
	var wg sync.WaitGroup
	var once sync.Once
	var failure any
	for w := range workers {
		lo, hi := n*w/workers, n*(w+1)/workers
		wg.Go(func() {
			defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
			defer func() {
				if r := recover(); r != nil {
					once.Do(func() { failure = r })
				}
			}()
			body(lo, hi)
		})
	}
	wg.Wait()
	if failure != nil {
		panic(failure)
	}
}
