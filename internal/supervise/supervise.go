// Package supervise runs the program once more as its own child, under limits
// that nothing in the child can pass: of memory, which the kernel holds, and of
// time, which the parent does.
//
// A Go program that runs out of memory, or whose stack overflows, ends at once;
// no code of its own can catch that. So whoever runs code that it doesn't trust
// does so in a child, and the parent tells what became of it:
//
//	func main() {
//		child := supervise.Attach()
//		if child == nil {
//			status, err := supervise.Run(ctx, supervise.Options{Mem: 1 << 30})
//			…
//		}
//		child.At("main.star:3:1") // told again and again; an error then says where
//	}
//
// Where the system has no such limits Run is not there: see Supported.
package supervise

import (
	"bufio"
	"bytes"
	"io"
	"regexp"
	"strings"
	"time"
)

// Options says what the child may use.
type Options struct {
	// Mem bounds the memory that the child allocates, in bytes; 0 is no bound.
	// The kernel's bound lies a quarter above, so that the child can tell itself.
	Mem int64
	// Timeout bounds the time, after which the child has a second to end by
	// itself; 0 is no bound.
	Timeout time.Duration
	// Stderr is where the child's error output goes.
	Stderr io.Writer
}

// Death tells that the child ended without a word of its own.
type Death struct {
	Cause Cause
	// At is what the child last said of where it was, or "".
	At string
	// Signal is what killed it, or "".
	Signal string
}

// Cause is why a child ended.
type Cause int

// The causes.
const (
	OutOfMemory   Cause = iota // it passed its bound, or the system had no more
	StackOverflow              // of Go's stack: something was nested too deep
	Timeout                    // it did not end in time
	Interrupted                // it did not end after an interrupt
	Killed                     // a signal ended it
)

// Error says what happened.
func (d *Death) Error() string {
	switch d.Cause {
	case OutOfMemory:
		return "out of memory"
	case StackOverflow:
		return "stack overflow"
	case Timeout:
		return "timeout"
	case Interrupted:
		return "interrupted"
	}
	return d.Signal
}

// crash collects what the Go runtime writes when it ends a program, and lets
// everything else pass.
type crash struct {
	to   io.Writer
	text bytes.Buffer
}

const maxCrash = 64 << 10

// begins tells the first line of a report that the Go runtime writes.
func begins(line string) bool {
	return strings.HasPrefix(line, "fatal error: ") || strings.HasPrefix(line, "runtime: ") || strings.HasPrefix(line, "runtime/cgo: ") ||
		strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "SIG")
}

// read copies lines until the end of r.
func (c *crash) read(r io.Reader) {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		switch {
		case c.text.Len() == 0 && !begins(line):
			_, _ = io.WriteString(c.to, line) // nobody is left to tell
		case c.text.Len() < maxCrash:
			c.text.WriteString(line)
		}
		if err != nil {
			return
		}
	}
}

// collectorFault is a fault on the stack of the Go runtime itself.
var collectorFault = regexp.MustCompile(`(?m)^SIGSEGV: [^\n]*\n(?:[^\n]*\n)*?goroutine 0 [^\n]*:\nruntime\.`)

// cause finds out what a report tells of; false when it is of something else.
func (c *crash) cause() (Cause, bool) {
	text := c.text.String()
	switch {
	case strings.Contains(text, "out of memory") || strings.Contains(text, "cannot allocate") || strings.Contains(text, "pthread_create failed"):
		return OutOfMemory, true
	case (strings.Contains(text, "unexpected signal during runtime execution") || collectorFault.MatchString(text)) && !strings.Contains(text, "runtime.cgocall"):
		return OutOfMemory, true // where the kernel gives no more pages, Go's collector faults
	case strings.Contains(text, "stack overflow") || strings.Contains(text, "goroutine stack exceeds"):
		return StackOverflow, true
	}
	return 0, false
}
