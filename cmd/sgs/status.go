package main

import (
	"errors"
	"io/fs"

	"github.com/starlarkgs/starlarkgs/internal/mmap"
	"github.com/starlarkgs/starlarkgs/onnx"
	"github.com/starlarkgs/starlarkgs/surgery"
)

// statusOf returns the exit status of an error: the one it carries, else what
// its kind means.
func statusOf(err error) int {
	var status *statusError
	var format *onnx.FormatError
	var path *fs.PathError
	switch {
	case errors.As(err, &status):
		return status.status
	case errors.As(err, &format), errors.As(err, &path), errors.Is(err, mmap.ErrFault):
		return exitFile
	}
	return exitBad
}

// nameStatus makes a name that the model does not have a usage error.
func nameStatus(err error) error {
	var name *surgery.NameError
	if errors.As(err, &name) {
		return &statusError{exitUsage, err}
	}
	return err
}
