package starlarkgs

import (
	"context"
	"errors"
	"fmt"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/builtins/builtin"
)

// ErrLimit tells that a script hit one of the host's limits, or was interrupted.
var ErrLimit = errors.New("limit")

const (
	hookSteps = 2000   // between two looks at the limits
	maxDepth  = 10_000 // of calls
	memEvery  = 2 * time.Millisecond
)

// limiter watches one run.
type limiter struct {
	t      *starlark.Thread
	ctx    context.Context
	cancel context.CancelFunc
	max    uint64
	why    atomic.Pointer[string] // the limit that was hit
}

// limit puts a thread under the host's limits. The function that it returns
// ends the watch and turns an error that a limit caused into one that says so.
func (h *Host) limit(ctx context.Context, t *starlark.Thread) func(error) error {
	l := &limiter{t: t, max: h.opts.MaxSteps}
	if h.opts.Timeout > 0 {
		l.ctx, l.cancel = context.WithTimeout(ctx, h.opts.Timeout)
	} else {
		l.ctx, l.cancel = context.WithCancel(ctx)
	}
	builtin.SetContext(t, l.ctx)
	builtin.SetTick(t, l.tick)
	builtin.SetStopped(t, func() bool { return l.why.Load() != nil })
	t.SetMaxExecutionSteps(hookSteps)
	t.OnMaxSteps = func(*starlark.Thread) { l.look() }
	done := make(chan struct{})
	stopWatch := context.AfterFunc(l.ctx, func() {
		if errors.Is(l.ctx.Err(), context.DeadlineExceeded) {
			l.hit(fmt.Sprintf("the script ran longer than its limit of %s", h.opts.Timeout))
		} else {
			l.hit("interrupted")
		}
	})
	if h.opts.MaxMem > 0 {
		go l.watchMemory(done, h.opts.MaxMem)
	}
	return func(err error) error {
		close(done)
		stopWatch()
		l.cancel()
		wrapped := h.wrap(err)
		if why := l.why.Load(); why != nil && err != nil {
			var e *Error
			if errors.As(wrapped, &e) {
				c := *e
				c.Msg, c.Err = *why, fmt.Errorf("%w: %s", ErrLimit, *why)
				return &c
			}
		}
		return wrapped
	}
}

func (l *limiter) hit(why string) {
	l.why.CompareAndSwap(nil, &why)
	l.t.Cancel(why)
}

// look is called every few thousand steps.
func (l *limiter) look() {
	steps := l.t.ExecutionSteps()
	switch {
	case l.max > 0 && steps > l.max:
		l.hit(fmt.Sprintf("the script took more than its limit of %d steps", l.max))
	case l.t.CallStackDepth() > maxDepth:
		l.hit(fmt.Sprintf("calls are nested deeper than %d", maxDepth))
	default:
		l.t.SetMaxExecutionSteps(steps + hookSteps)
	}
}

// tick counts work that the interpreter does not see.
func (l *limiter) tick(steps uint64) error {
	if l.max > 0 && l.t.ExecutionSteps()+steps > l.max {
		l.hit(fmt.Sprintf("the script took more than its limit of %d steps", l.max))
		return fmt.Errorf("%w: steps", ErrLimit)
	}
	return l.ctx.Err()
}

func (l *limiter) watchMemory(done chan struct{}, most int64) {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	tick := time.NewTicker(memEvery)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			metrics.Read(sample)
			if used := int64(sample[0].Value.Uint64()); used > most {
				l.hit(fmt.Sprintf("the script took %d bytes of memory, want at most %d", used, most))
				return
			}
		}
	}
}
