package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/mmap"
	"github.com/starlarkgs/starlarkgs/onnx"
	"github.com/starlarkgs/starlarkgs/runtime"
)

// variable tells a process that it is a worker.
const variable = "SGS_WORKER"

// The files that a worker finds open.
const (
	socketFD = 3 + iota
	inputsFD
	outputsFD
)

// gcPercent keeps the collector from running at each call.
const gcPercent = 300

const beat = 100 * time.Millisecond

// takesPart is set where the program has called Main.
var takesPart bool

// Main makes the process a worker, if it was started as one, and does not return
// then; else it lets backends made by New have workers. backend returns the
// backend of a name, or nil.
func Main(backend func(name, setting string) runtime.Backend) {
	takesPart = true
	if os.Getenv(variable) == "" {
		return
	}
	_ = os.Unsetenv(variable) // what the worker starts is none
	status := 0
	if err := serve(backend); err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

// child is the worker's side.
type child struct {
	wire            *wire
	backend         func(name, setting string) runtime.Backend
	inputs, outputs *memory
	session         runtime.Session
	used, want      int64 // of outputs: in this run so far, and in the last one
	told            []string

	mu     sync.Mutex
	cancel context.CancelFunc // of the call that is running
}

func serve(backend func(name, setting string) runtime.Backend) error {
	debug.SetGCPercent(gcPercent)
	signal.Ignore(os.Interrupt)                                         // the parent decides what an interrupt ends
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0o644) // the kernel takes the worker first
	for fd := socketFD; fd <= outputsFD; fd++ {
		syscall.CloseOnExec(fd)
	}
	socket, err := net.FileConn(os.NewFile(socketFD, "socket"))
	if err != nil {
		return err
	}
	c := &child{wire: newWire(socket), backend: backend,
		inputs: &memory{file: os.NewFile(inputsFD, "inputs")}, outputs: &memory{file: os.NewFile(outputsFD, "outputs")}}
	requests := make(chan *request)
	go c.listen(requests)
	go c.live()
	for r := range requests {
		if err := c.wire.send(c.answer(r)); err != nil {
			return nil // the parent is gone
		}
	}
	return nil
}

// listen passes requests on. It ends the process when the socket ends, whatever
// native code is running: nobody is left to run it for.
func (c *child) listen(requests chan<- *request) {
	for {
		r := &request{}
		if err := c.wire.dec.Decode(r); err != nil {
			os.Exit(0)
		}
		if r.Op == opCancel {
			c.mu.Lock()
			if c.cancel != nil {
				c.cancel()
			}
			c.mu.Unlock()
			continue
		}
		requests <- r
	}
}

// live gives signs of life.
func (c *child) live() {
	for range time.Tick(beat) {
		if c.wire.send(&reply{Kind: replyBeat}) != nil {
			return
		}
	}
}

// begin returns the context of a call, which opCancel cancels.
func (c *child) begin() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	c.mu.Lock()
	c.cancel = cancel
	c.mu.Unlock()
	return ctx, func() {
		c.mu.Lock()
		c.cancel = nil
		c.mu.Unlock()
		cancel()
	}
}

// answer does what is asked. A panic is an error of the call.
func (c *child) answer(r *request) (out *reply) {
	out = &reply{Kind: replyDone}
	defer func() {
		if p := recover(); p != nil {
			out = &reply{Kind: replyDone, Failed: &failure{Text: fmt.Sprintf("internal error: %v", p)}}
		}
	}()
	ctx, end := c.begin()
	defer end()
	defer func() { out.Told, c.told = c.told, nil }()
	if err := mmap.Guard(func() error { return c.do(ctx, r, out) }); err != nil {
		out.Failed = newFailure(err)
	}
	return out
}

func (c *child) do(ctx context.Context, r *request, out *reply) (err error) {
	if err := c.inputs.follow(r.Shared); err != nil {
		return err
	}
	switch r.Op {
	case opOpen:
		return c.open(ctx, r, out)
	case opRun:
		return c.run(ctx, r, out)
	case opClose:
		return c.close()
	case opVersion:
		b, err := c.named(r)
		if err != nil {
			return err
		}
		return c.describe(b, out)
	case opProfile:
		return c.profile(out)
	}
	return fmt.Errorf("internal error: operation %d", r.Op)
}

// describe tells what the library is.
func (c *child) describe(b runtime.Backend, out *reply) (err error) {
	if v, ok := b.(versioned); ok {
		if out.Version, err = v.Version(); err != nil {
			return err
		}
	}
	if p, ok := b.(provided); ok {
		out.Providers, err = p.Providers()
	}
	return err
}

// profile sends the recording as the runtime made it.
func (c *child) profile(out *reply) error {
	s, ok := c.session.(runtime.Profiled)
	if !ok {
		return errNoProfile
	}
	p, err := s.Profile()
	if err != nil {
		return err
	}
	out.Trace = p.Trace
	return nil
}

func (c *child) named(r *request) (runtime.Backend, error) {
	if b := c.backend(r.Backend, r.Setting); b != nil {
		return b, nil
	}
	return nil, fmt.Errorf("%w: the worker has no backend %q", runtime.ErrUnavailable, r.Backend)
}

func (c *child) open(ctx context.Context, r *request, out *reply) error {
	b, err := c.named(r)
	if err != nil {
		return err
	}
	m, err := onnx.ReadWith(r.Model, c.weight)
	if err != nil {
		return err
	}
	r.Options.Memory = c.room
	if r.Tells {
		r.Options.Fallback = func(why string) { c.told = append(c.told, why) }
	}
	if c.session, err = b.NewSession(ctx, m, r.Options); err != nil {
		return err
	}
	for _, p := range c.session.Outputs() {
		out.Names = append(out.Names, p.Name)
	}
	return nil
}

// weight finds the bytes of a weight: of a file, or a copy of what lies in shared
// memory, which the next call writes over.
func (c *child) weight(location string, off, n int64) (array.Source, error) {
	path, inFile := strings.CutPrefix(location, fileLocation)
	if !inFile {
		raw, err := c.inputs.slice(off, n)
		if err != nil {
			return nil, err
		}
		return newOwned(slices.Clone(raw)), nil
	}
	f, err := mmap.Open(path)
	if err != nil {
		return nil, err
	}
	return f.Section(off, n)
}

// room gives the memory of an output, as far as there is some: it must not move
// during a run. The next run has what this one wanted.
func (c *child) room(n int) []byte {
	at := lined(c.used)
	c.used = at + int64(n)
	raw, err := c.outputs.slice(at, int64(n))
	if err != nil {
		return nil
	}
	return raw
}

func (c *child) run(ctx context.Context, r *request, out *reply) error {
	if c.session == nil {
		return errors.New("internal error: no model is open")
	}
	inputs := map[string]array.Value{}
	for _, v := range r.Inputs {
		var err error
		if inputs[v.Name], err = v.read(c.inputs, false); err != nil {
			return err
		}
	}
	c.used = 0
	if err := c.outputs.reserve(c.want); err != nil {
		return err
	}
	results, err := c.session.Run(ctx, inputs)
	if err != nil {
		return err
	}
	w := &writer{size: min(c.used, int64(len(c.outputs.data))), in: c.outputs}
	for _, p := range c.session.Outputs() {
		v, err := w.value(p.Name, results[p.Name])
		if err != nil {
			return err
		}
		out.Outputs = append(out.Outputs, v)
	}
	c.want = max(c.used, w.size)
	err = w.copyTo(c.outputs)
	out.Shared = int64(len(c.outputs.data))
	return err
}

func (c *child) close() error {
	if c.session == nil {
		return nil
	}
	err := c.session.Close()
	c.session, c.want = nil, 0
	return err
}

// newFailure keeps of an error what its callers ask for.
func newFailure(err error) *failure {
	var name *runtime.NameError
	var option *runtime.OptionError
	return &failure{Text: err.Error(), Unavailable: errors.Is(err, runtime.ErrUnavailable), Unsupported: errors.Is(err, runtime.ErrUnsupported),
		Name: errors.As(err, &name), Option: errors.As(err, &option)}
}

// owned is bytes as a source.
type owned struct {
	*bytes.Reader
	data []byte
}

func newOwned(data []byte) *owned { return &owned{bytes.NewReader(data), data} }

// Len returns the number of bytes.
func (o *owned) Len() int64 { return int64(len(o.data)) }

// Bytes returns them.
func (o *owned) Bytes() ([]byte, error) { return o.data, nil }
