//go:build !cgo

package main

import (
	"fmt"

	"github.com/starlarkgs/starlarkgs/runtime"
)

// nativeBackends returns none: this build has no cgo.
func nativeBackends(*app) []runtime.Backend { return nil }

// onnxRuntime returns none.
func (a *app) onnxRuntime() runtime.Backend { return nil }

func nativeLibrary(*app) (version string, providers []string, err error) {
	return "", nil, fmt.Errorf("%w: this build of sgs has no native backends: build it with cgo and a C compiler", runtime.ErrUnavailable)
}

// beWorker does nothing: there is no native code to keep apart.
func beWorker() {}
