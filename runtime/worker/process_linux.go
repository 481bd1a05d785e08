package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// What a worker may keep its parent waiting for.
const (
	patience = 30 * time.Second       // between two signs of life
	grace    = 100 * time.Millisecond // from a cancellation to the kill
)

// process is a worker as its parent sees it. One call is made at a time.
type process struct {
	cmd             *exec.Cmd
	socket          net.Conn
	wire            *wire
	inputs, outputs *memory
	replies         chan *reply // signs of life too; closed at the end of the socket
	words           *tail
	drained         chan struct{} // the error output is read
}

func start() (p *process, err error) {
	p = &process{replies: make(chan *reply, 1), words: &tail{}, drained: make(chan struct{})}
	defer func() {
		if err != nil {
			p.release()
			err = fmt.Errorf("start a worker process: %w", err)
		}
	}()
	if p.inputs, err = newMemory(); err != nil {
		return nil, err
	}
	if p.outputs, err = newMemory(); err != nil {
		return nil, err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "worker"), os.NewFile(uintptr(pair[1]), "worker")
	defer theirs.Close()
	p.socket, err = net.FileConn(ours)
	_ = ours.Close()
	if err != nil {
		return nil, err
	}
	if err := p.exec(theirs); err != nil {
		return nil, err
	}
	p.wire = newWire(p.socket)
	go p.listen()
	return p, nil
}

// exec starts the program once more. What native code prints is kept, for the
// error of its death; none of it reaches the output of the program.
func (p *process) exec(socket *os.File) error {
	errs, theirErrs, err := os.Pipe()
	if err != nil {
		return err
	}
	p.cmd = &exec.Cmd{Path: "/proc/self/exe", Args: []string{os.Args[0], "(worker)"}, Env: append(os.Environ(), variable+"=1", "GOTRACEBACK=none"),
		Stdout: theirErrs, Stderr: theirErrs, ExtraFiles: []*os.File{socket, p.inputs.file, p.outputs.file}}
	err = p.cmd.Start()
	_ = theirErrs.Close()
	if err != nil {
		_ = errs.Close()
		p.cmd = nil
		return err
	}
	go func() {
		defer close(p.drained)
		defer errs.Close()
		_, _ = io.Copy(p.words, errs)
	}()
	return nil
}

func (p *process) listen() {
	defer close(p.replies)
	for {
		r := &reply{}
		if err := p.wire.dec.Decode(r); err != nil {
			return
		}
		if r.Kind == replyBeat {
			select {
			case p.replies <- r:
			default: // nobody waits
			}
			continue
		}
		p.replies <- r
	}
}

// alive reports whether the process has not ended since the last call.
func (p *process) alive() bool {
	select {
	case _, ok := <-p.replies:
		return ok
	default:
		return true
	}
}

// call makes one call. After an error that is not the worker's own answer the
// process is no more.
func (p *process) call(ctx context.Context, r *request, doing string, limit time.Duration) (*reply, error) {
	r.Shared = int64(len(p.inputs.data))
	if err := p.wire.send(r); err != nil {
		return nil, p.died(doing)
	}
	var over <-chan time.Time
	if limit > 0 {
		t := time.NewTimer(limit)
		defer t.Stop()
		over = t.C
	}
	quiet := time.NewTimer(patience)
	defer quiet.Stop()
	for {
		select {
		case out, ok := <-p.replies:
			switch {
			case !ok:
				return nil, p.died(doing)
			case out.Kind == replyBeat:
				quiet.Reset(patience)
				continue
			}
			return out, p.outputs.follow(max(out.Shared, int64(len(p.outputs.data))))
		case <-ctx.Done():
			return p.cancel(ctx, doing)
		case <-over:
			return nil, p.hung(doing, fmt.Sprintf("hung and was killed: it took more than %v", limit))
		case <-quiet.C:
			return nil, p.hung(doing, fmt.Sprintf("hung and was killed: it gave no sign of life for %v", patience))
		}
	}
}

// cancel asks the worker to stop, and kills it when it does not.
func (p *process) cancel(ctx context.Context, doing string) (*reply, error) {
	if p.wire.send(&request{Op: opCancel}) == nil {
		late := time.After(grace)
		for {
			select {
			case out, ok := <-p.replies:
				if ok && out.Kind == replyBeat {
					continue
				}
				if ok {
					return nil, &stopped{context.Cause(ctx)} // the worker lives on
				}
			case <-late:
			}
			break
		}
	}
	p.kill()
	return nil, context.Cause(ctx)
}

// stopped is a cancelled call whose worker answered.
type stopped struct{ cause error }

// Error returns the cause's text.
func (s *stopped) Error() string { return s.cause.Error() }

// Unwrap returns the cause.
func (s *stopped) Unwrap() error { return s.cause }

// hung kills the worker.
func (p *process) hung(doing, why string) error {
	p.kill()
	return &Crash{Doing: doing, Why: why}
}

// died finds out why the worker ended by itself.
func (p *process) died(doing string) error {
	err := p.wait()
	c := &Crash{Doing: doing}
	var exit *exec.ExitError
	status, _ := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	text := p.words.String()
	switch {
	case err != nil && !errors.As(err, &exit):
		c.Why = "ended: " + err.Error()
	case status.Signaled() && status.Signal() == syscall.SIGKILL:
		c.Signal, c.Why = "SIGKILL", "was killed (SIGKILL), most likely for want of memory"
	case status.Signaled():
		c.Signal = unix.SignalName(status.Signal())
		c.Why = "was ended by " + c.Signal
	case outOfMemory.MatchString(text):
		c.Signal, c.Why = reported(text), "ran out of memory"
	default:
		c.Signal = reported(text)
		c.Why = fmt.Sprintf("ended with status %d", status.ExitStatus())
		if c.Signal != "" {
			c.Why = "crashed with " + c.Signal
		}
	}
	c.Words = ownWords(text)
	return c
}

// The Go runtime catches the signals of native code, reports them, and ends the
// process with status 2.
var (
	report      = regexp.MustCompile(`(?m)^(SIG[A-Z]+): |^\[signal (SIG[A-Z]+)`)
	outOfMemory = regexp.MustCompile(`(?i)out of memory|cannot allocate|pthread_create failed|bad_alloc`)
)

func reported(text string) string {
	m := report.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return m[1] + m[2]
}

// ownWords returns what native code wrote before the Go runtime's report.
func ownWords(text string) string {
	const most = 500
	for _, mark := range []string{"SIG", "fatal error: ", "runtime: ", "panic: ", "[signal "} {
		if strings.HasPrefix(text, mark) {
			return ""
		}
		if at := strings.Index(text, "\n"+mark); at >= 0 {
			text = text[:at]
		}
	}
	if len(text) > most {
		text = text[len(text)-most:]
	}
	return strings.TrimSpace(strings.ToValidUTF8(text, ""))
}

// kill ends the worker at once.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	_ = p.wait()
}

// wait waits for the end of the process and of its output.
func (p *process) wait() error {
	_ = p.socket.Close()
	err := p.cmd.Wait()
	select {
	case <-p.drained:
	case <-time.After(time.Second): // something that it started holds its output
	}
	for range p.replies { // let listen end
	}
	p.release()
	return err
}

func (p *process) release() {
	for _, m := range []*memory{p.inputs, p.outputs} {
		if m != nil {
			m.close()
		}
	}
}

// tail keeps the end of what is written.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const maxTail = 64 << 10

// Write keeps b, and forgets what is too long ago.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if len(t.text) > maxTail {
		t.text = append(t.text[:0], t.text[len(t.text)-maxTail:]...)
	}
	return len(b), nil
}

// String returns what was kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
