package starlarkgs

import (
	"context"
	"errors"
	"fmt"
	"math"
	goruntime "runtime"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/starlarkgs/starlarkgs/builtins/builtin"
)

// ErrLimit tells that a script hit one of the host's limits.
var ErrLimit = errors.New("limit")

// ErrInterrupted tells that the context of a run was cancelled.
var ErrInterrupted = errors.New("interrupted")

// The limits of the zero Options.
const (
	DefaultMaxSteps uint64 = 500_000_000
	DefaultMaxMem   int64  = 8 << 30
)

// NoSteps and NoMem, as MaxSteps and MaxMem, take the bound away.
const (
	NoSteps uint64 = math.MaxUint64
	NoMem   int64  = math.MaxInt64
)

const (
	hookSteps  = 2000   // between two looks at the limits
	whereSteps = 100    // between two calls of Options.Where
	maxDepth   = 10_000 // of calls
	memEvery   = 2 * time.Millisecond
	gcEvery    = 50 * time.Millisecond
)

// limiter watches one run. The interpreter has no hook but the one that it calls
// when its limit of steps is reached; that limit is therefore set a little ahead,
// again and again, and steps, depth and interruption are looked at there. The
// clock and the memory are watched beside it, since one operation may run long.
type limiter struct {
	t    *starlark.Thread
	ctx  context.Context
	stop context.CancelCauseFunc
	max  uint64
	most uint64                // steps between two looks
	last syntax.Position       // where the script was at the last look
	why  atomic.Pointer[error] // why the script was stopped
}

// limit puts a thread under the host's limits. The function that it returns
// ends the watch and turns an error that a limit caused into one that says so.
func (h *Host) limit(ctx context.Context, t *starlark.Thread) func(error) error {
	l := &limiter{t: t, max: cmpOr(h.opts.MaxSteps, DefaultMaxSteps), most: hookSteps}
	l.ctx, l.stop = context.WithCancelCause(ctx)
	builtin.SetContext(t, l.ctx)
	builtin.SetTick(t, l.tick)
	builtin.SetStopped(t, func() bool { return l.why.Load() != nil })
	if h.opts.Where != nil {
		l.most = whereSteps
	}
	t.SetMaxExecutionSteps(1)
	t.OnMaxSteps = func(*starlark.Thread) {
		l.last = t.CallFrame(0).Pos
		if h.opts.Where != nil {
			h.opts.Where(l.last)
		}
		l.look()
	}
	unwatch := context.AfterFunc(ctx, func() { l.hit(interruption(ctx)) })
	var clock *time.Timer
	if d := h.opts.Timeout; d > 0 {
		clock = time.AfterFunc(d, func() { l.hit(limitf("the script ran longer than its limit of %s", d)) })
	}
	done := make(chan struct{})
	if most := cmpOr(h.opts.MaxMem, DefaultMaxMem); most != NoMem {
		go l.watchMemory(done, most)
	}
	return func(err error) error {
		close(done)
		unwatch()
		if clock != nil {
			clock.Stop()
		}
		l.stop(nil)
		return h.stopped(l, err)
	}
}

// stopped gives an error that a limit caused the limit's text.
func (h *Host) stopped(l *limiter, err error) error {
	why := l.why.Load()
	wrapped := h.wrap(err)
	var e *Error
	if !errors.As(wrapped, &e) {
		return wrapped
	}
	c := *e
	if c.Pos.Line == 0 && l.last.Line > 0 {
		c.Pos, c.Line = l.last, h.lineOf(l.last)
	}
	if why == nil {
		return &c
	}
	c.Msg, c.Hint, c.More, c.Err = (*why).Error(), "", nil, *why
	return &c
}

func cmpOr[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// limitError is why a script was stopped.
type limitError struct {
	text string
	kind error
}

// Error returns the text alone.
func (e *limitError) Error() string { return e.text }

// Unwrap returns ErrLimit, or ErrInterrupted.
func (e *limitError) Unwrap() error { return e.kind }

func limitf(format string, args ...any) error {
	return &limitError{fmt.Sprintf(format, args...), ErrLimit}
}

func interruption(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return limitf("the time for the script is over")
	}
	return &limitError{"interrupted", ErrInterrupted}
}

// hit stops the script: at its next step, and what it runs in Go through the
// context. The first reason counts.
func (l *limiter) hit(why error) {
	l.why.CompareAndSwap(nil, &why)
	l.t.Cancel(why.Error())
	l.stop(why)
}

// look is called every few thousand steps.
func (l *limiter) look() {
	steps := l.t.ExecutionSteps()
	switch {
	case l.max != NoSteps && steps > l.max:
		l.hit(limitf("the script took more than its limit of %d steps", l.max))
	case l.t.CallStackDepth() > maxDepth:
		l.hit(limitf("calls are nested deeper than %s", count(maxDepth)))
	default:
		next := steps + min(1+steps/16, l.most) // a short script is followed step by step
		if l.max != NoSteps {
			next = min(next, l.max+1)
		}
		l.t.SetMaxExecutionSteps(next)
	}
}

// tick counts work that the interpreter does not see.
func (l *limiter) tick(steps uint64) error {
	l.t.Steps += steps
	if l.max != NoSteps && l.t.Steps > l.max {
		l.look()
	}
	if why := l.why.Load(); why != nil {
		return *why
	}
	return nil
}

// watchMemory stops the script when the heap is larger than most bytes. What the
// collector has not freed yet does not count: near the limit it is made to run.
func (l *limiter) watchMemory(done chan struct{}, most int64) {
	tick := time.NewTicker(memEvery)
	defer tick.Stop()
	var collected time.Time
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		used := heapBytes()
		if used <= most || used < 2*most && time.Since(collected) < gcEvery {
			continue
		}
		goruntime.GC()
		collected = time.Now()
		if heapBytes() > most {
			l.hit(limitf("the script took more than its limit of %s bytes of memory", count(int(most))))
			return
		}
	}
}

func heapBytes() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}
