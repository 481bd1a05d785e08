// Package nofile says that a file is missing, and which of the same folder have
// the nearest names.
package nofile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/starlarkgs/starlarkgs/internal/spell"
)

// Explain returns the error of a missing file, whatever call found that out, as one
// of opening it, with the nearest names. Other errors it returns as they are.
func Explain(err error) error {
	var at *fs.PathError
	if !errors.As(err, &at) || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return &fs.PathError{Op: "open", Path: at.Path, Err: missing{Near(at.Path, "")}}
}

type missing struct{ hint string }

// Error returns what is missing; the path stands before it.
func (m missing) Error() string { return "no such file" + m.hint }

// Unwrap returns fs.ErrNotExist.
func (m missing) Unwrap() error { return fs.ErrNotExist }

// Near returns the hint that names the files of the same folder that are nearest to
// the path's, of those with the suffix.
func Near(path, suffix string) string {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return ""
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), suffix) {
			names = append(names, e.Name())
		}
	}
	return spell.Hint(filepath.Base(path), names)
}
