package supervise

import (
	"bytes"
	"strings"
	"testing"
)

// TestCause reads reports as the Go runtime writes them.
func TestCause(t *testing.T) {
	for _, tc := range []struct {
		report string
		cause  Cause
		known  bool
	}{
		{"fatal error: runtime: out of memory\n\nruntime stack:\n", OutOfMemory, true},
		{"runtime: VirtualAlloc of 8 bytes failed\nfatal error: runtime: cannot allocate memory\n", OutOfMemory, true},
		{"runtime/cgo: pthread_create failed: Resource temporarily unavailable\nSIGABRT: abort\n", OutOfMemory, true},
		{"fatal error: unexpected signal during runtime execution\n[signal SIGSEGV]\nruntime.gcDrain(...)\n", OutOfMemory, true},
		{"fatal error: unexpected signal during runtime execution\n[signal SIGSEGV]\nruntime.cgocall(...)\n", 0, false},
		{"runtime: goroutine stack exceeds 1000000000-byte limit\nfatal error: stack overflow\n", StackOverflow, true},
		{"panic: a bug\n\ngoroutine 1 [running]:\n", 0, false},
	} {
		var out bytes.Buffer
		c := &crash{to: &out}
		c.read(strings.NewReader("a line of the script's\n" + tc.report))
		cause, known := c.cause()
		if cause != tc.cause || known != tc.known {
			t.Errorf("got %v, %v for\n%swant %v, %v", cause, known, tc.report, tc.cause, tc.known)
		}
		if out.String() != "a line of the script's\n" || c.text.String() != tc.report {
			t.Errorf("got %q through and %q kept", out.String(), c.text.String())
		}
	}
}
