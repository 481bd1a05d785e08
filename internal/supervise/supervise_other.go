//go:build !linux

package supervise

import (
	"context"
	"errors"
	"os"
)

// Supported reports whether Run works here.
const Supported = false

// Child is the running program as a child.
type Child struct{ Stderr *os.File }

// Attach returns nil: there are no children here.
func Attach() *Child { return nil }

// At does nothing.
func (*Child) At(string) {}

// Run fails.
func Run(context.Context, Options) (int, error) { return 0, errors.ErrUnsupported }
