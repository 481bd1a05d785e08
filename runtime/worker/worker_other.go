//go:build !linux

package worker

import "github.com/starlarkgs/starlarkgs/runtime"

// Main does nothing here: see the package's comment.
func Main(func(name, setting string) runtime.Backend) {}

// New returns the backend as it is, which runs in-process here.
func New(inner runtime.Backend, _ Options) runtime.Backend { return inner }
