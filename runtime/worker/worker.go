// Package worker runs a backend in a process of its own, so that native code
// that crashes, hangs or is killed takes no more with it than that process: the
// call that it was at returns an error, a *Crash, which names what was running
// and the signal, and the next call starts another process.
//
// The worker is the same program once more. A program takes part by calling Main
// first of all in its main function; in one that does not, and on systems other
// than Linux, New returns the backend as it is, and everything runs in-process.
//
//	func main() {
//		worker.Main(func(name, setting string) runtime.Backend { return onnxruntime.New(setting) })
//		b := worker.New(onnxruntime.New(lib), worker.Options{Setting: lib})
//		…
//	}
//
// Control goes through a socket, tensors through shared memory that each worker
// keeps; a worker whose session is closed serves the next one. Weights that lie
// in a file are mapped from that file. A worker tells ten times a second that it
// is alive while native code runs, and leaves when its socket ends.
package worker

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/starlarkgs/starlarkgs/runtime"
)

// Options says how workers are run.
type Options struct {
	// Setting is passed to the function given to Main, with the backend's name.
	Setting string
	// Limit bounds the time of one call, after which its worker is killed; 0 is no
	// bound.
	Limit time.Duration
}

// Crash tells that a worker ended, or had to be ended, in the middle of a call.
type Crash struct {
	// Doing is what was running.
	Doing string
	// Signal is what ended it, as "SIGSEGV", or "".
	Signal string
	// Why says what happened.
	Why string
	// Words are the last that the worker wrote on its error output.
	Words string
}

// Error says what happened, in one line.
func (c *Crash) Error() string {
	text := fmt.Sprintf("%s: the worker process %s", c.Doing, c.Why)
	if c.Words != "" {
		text += ": " + strings.Join(strings.Fields(c.Words), " ")
	}
	return text
}

// Unwrap makes a crash one of a backend that can't be used.
func (c *Crash) Unwrap() error { return runtime.ErrUnavailable }

// errNoProfile tells that sessions of a backend record nothing.
var errNoProfile = errors.New("the backend records no profile")

// provided is a backend that can tell the providers of its library.
type provided interface{ Providers() ([]string, error) }

// versioned is a backend that can tell its version.
type versioned interface{ Version() (string, error) }
