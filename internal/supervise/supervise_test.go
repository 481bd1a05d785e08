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
		{"SIGSEGV: segmentation violation\nPC=0x43ac5d m=7 sigcode=1 addr=0x0\n\ngoroutine 0 gp=0x27 m=7 mp=0x27 [idle]:\nruntime.(*spanQueue).tryDrain(0x7f)\n", OutOfMemory, true},
		{"SIGSEGV: segmentation violation\nPC=0x43ac5d m=7\n\ngoroutine 7 gp=0x27 [running]:\nmain.f(0x7f)\n", 0, false},
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
