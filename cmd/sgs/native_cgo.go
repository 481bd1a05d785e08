//go:build cgo

package main

import (
	"github.com/starlarkgs/starlarkgs/runtime"
	"github.com/starlarkgs/starlarkgs/runtime/onnxruntime"
)

// nativeBackends returns the native backends of this build.
func nativeBackends(a *app) []runtime.Backend {
	return []runtime.Backend{onnxruntime.New(a.ortLib)}
}

// nativeVersion returns the version of ONNX Runtime, loading it.
func nativeVersion(a *app) (string, error) { return onnxruntime.New(a.ortLib).Version() }
