package supervise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Supported reports whether Run works here.
const Supported = true

// variable tells a child that it is one; its value is the bound of memory.
const variable = "SGS_SUPERVISED"

// The files that a child finds open.
const (
	stderrFD   = 3 + iota // for people; 2 is the runtime's, and native libraries'
	lifelineFD            // ends when the parent is gone
	placeFD               // the page in which the child says where it is
)

const (
	grace   = time.Second // between an interrupt, or the end of the time, and the kill
	slack   = 256 << 20   // of memory, for what is not the script's
	pageLen = 4096
)

// Child is the running program as a child.
type Child struct {
	// Stderr is where error output for people goes.
	Stderr *os.File
	page   []byte
}

// Attach returns the child that this process is, under its limits, or nil when
// it is none. It is called once, first of all.
func Attach() *Child {
	mem, err := strconv.ParseInt(os.Getenv(variable), 10, 64)
	if err != nil {
		return nil
	}
	_ = os.Unsetenv(variable) // what the child starts is none
	page, err := unix.Mmap(placeFD, 0, pageLen, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil // somebody else set the variable
	}
	for fd := stderrFD; fd <= placeFD; fd++ {
		syscall.CloseOnExec(fd)
	}
	limit(mem)
	c := &Child{Stderr: os.NewFile(stderrFD, "stderr"), page: page}
	go func() {
		_, _ = io.Copy(io.Discard, os.NewFile(lifelineFD, "lifeline"))
		os.Exit(1) // the parent is gone
	}()
	return c
}

// limit sets the bound of memory. The hard limit stays, so that a child's child
// can lift it.
func limit(mem int64) {
	if mem <= 0 || mem > math.MaxInt64/2 {
		return
	}
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_DATA, &r) != nil {
		return
	}
	r.Cur = min(r.Max, uint64(mem+mem/4+slack))
	_ = unix.Setrlimit(unix.RLIMIT_DATA, &r) // lowering is always allowed
	debug.SetMemoryLimit(mem)
}

// At says where the child is, for the error of its death.
func (c *Child) At(place string) {
	n := copy(c.page[1:], place[:min(len(place), 255)])
	c.page[0] = byte(n)
}

// Run starts this program once more, with the same arguments and standard
// input and output, and returns its exit status, or a *Death.
func Run(ctx context.Context, o Options) (status int, err error) {
	p, err := start(o)
	if err != nil {
		return 0, fmt.Errorf("start the child: %w", err)
	}
	defer p.close()
	return p.wait(ctx, o)
}

// process is a child as its parent sees it.
type process struct {
	cmd    *exec.Cmd
	page   []byte
	crash  *crash
	read   chan struct{} // closed when the crash is read
	closes []*os.File
}

func start(o Options) (p *process, err error) {
	p = &process{crash: &crash{to: o.Stderr}, read: make(chan struct{})}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	fd, err := unix.MemfdCreate("sgs", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	place := p.own(os.NewFile(uintptr(fd), "place"))
	if err := place.Truncate(pageLen); err != nil {
		return nil, err
	}
	if p.page, err = unix.Mmap(fd, 0, pageLen, unix.PROT_READ, unix.MAP_SHARED); err != nil {
		return nil, err
	}
	theirLife, life, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.own(life)
	errs, theirErrs, err := os.Pipe()
	if err != nil {
		_ = theirLife.Close()
		return nil, err
	}
	p.own(errs)
	p.cmd = &exec.Cmd{Path: "/proc/self/exe", Args: os.Args, Env: append(os.Environ(), variable+"="+strconv.FormatInt(o.Mem, 10)),
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: theirErrs, ExtraFiles: []*os.File{os.Stderr, theirLife, place}}
	err = p.cmd.Start()
	_, _ = theirLife.Close(), theirErrs.Close()
	if err != nil {
		return nil, err
	}
	go func() {
		defer close(p.read)
		p.crash.read(errs)
	}()
	return p, nil
}

func (p *process) own(f *os.File) *os.File {
	p.closes = append(p.closes, f)
	return f
}

func (p *process) close() {
	for _, f := range p.closes {
		_ = f.Close()
	}
	if p.page != nil {
		_ = unix.Munmap(p.page)
	}
}

// wait ends with the child, which it interrupts, and kills, when it must.
func (p *process) wait(ctx context.Context, o Options) (int, error) {
	ended := make(chan error, 1)
	go func() { ended <- p.cmd.Wait() }()
	var clock <-chan time.Time
	if o.Timeout > 0 {
		clock = time.After(o.Timeout + grace)
	}
	select {
	case err := <-ended:
		return p.outcome(err)
	case <-clock:
		return p.kill(ended, Timeout)
	case <-ctx.Done():
	}
	_ = p.cmd.Process.Signal(os.Interrupt) // it may have it from the terminal already, or be gone
	select {
	case err := <-ended:
		return p.outcome(err)
	case <-time.After(grace):
		return p.kill(ended, Interrupted)
	}
}

func (p *process) kill(ended chan error, why Cause) (int, error) {
	_ = p.cmd.Process.Kill() // it may be gone
	<-ended
	return 0, p.death(why, "")
}

func (p *process) death(why Cause, signal string) error {
	n := int(p.page[0])
	return &Death{Cause: why, At: string(p.page[1 : 1+n]), Signal: signal}
}

// outcome tells how the child ended.
func (p *process) outcome(err error) (int, error) {
	<-p.read
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, err
	}
	if cause, ok := p.crash.cause(); ok && err != nil {
		return 0, p.death(cause, "")
	}
	_, _ = p.crash.text.WriteTo(p.crash.to) // nobody is left to tell
	if err == nil {
		return 0, nil
	}
	if w, ok := exit.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		cause := Killed
		if w.Signal() == syscall.SIGKILL { // not by us: the kernel takes who has most
			cause = OutOfMemory
		}
		return 0, p.death(cause, strings.ToLower(w.Signal().String()))
	}
	return exit.ExitCode(), nil
}
