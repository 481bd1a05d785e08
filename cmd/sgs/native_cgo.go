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

// nativeLibrary returns the version of ONNX Runtime and the providers that its
// library has, loading it.
func nativeLibrary(a *app) (version string, providers []string, err error) {
	b := a.onnxRuntime().(interface {
		Version() (string, error)
		Providers() ([]string, error)
	})
	if version, err = b.Version(); err != nil {
		return "", nil, err
	}
	providers, err = b.Providers()
	return version, providers, err
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
