//go:build !cgo

package main

import (
	"fmt"

	"github.com/starlarkgs/starlarkgs/runtime"
)

// nativeBackends returns none: this build has no cgo.
func nativeBackends(*app) []runtime.Backend { return nil }

func nativeVersion(*app) (string, error) {
	return "", fmt.Errorf("%w: this build of sgs has no native backends: build it with cgo and a C compiler", runtime.ErrUnavailable)
}

// beWorker does nothing: there is no native code to keep apart.
func beWorker() {}
