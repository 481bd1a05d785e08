//go:build cgo

package main

import (
	"github.com/starlarkgs/starlarkgs/runtime"
	"github.com/starlarkgs/starlarkgs/runtime/onnxruntime"
	"github.com/starlarkgs/starlarkgs/runtime/worker"
)

// nativeBackends returns the native backends of this build: in processes of their
// own, unless the user does not want that.
func nativeBackends(a *app) []runtime.Backend { return []runtime.Backend{a.onnxRuntime()} }

func (a *app) onnxRuntime() runtime.Backend {
	b := onnxruntime.New(a.ortLib)
	if a.noIsolate {
		return b
	}
	return worker.New(b, worker.Options{Setting: a.ortLib, Limit: a.callTimeout})
}

// nativeVersion returns the version of ONNX Runtime, loading it.
func nativeVersion(a *app) (string, error) {
	return a.onnxRuntime().(interface{ Version() (string, error) }).Version()
}

// beWorker makes this process a worker if it was started as one.
func beWorker() {
	worker.Main(func(name, library string) runtime.Backend {
		if b := onnxruntime.New(library); b.Name() == name {
			return b
		}
		return nil
	})
}
