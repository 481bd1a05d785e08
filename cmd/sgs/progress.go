package main

import (
	"context"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/starlarkgs/starlarkgs/internal/progress"
)

// meterDelay is how long work takes before its progress is shown.
const meterDelay = 400 * time.Millisecond

// meter shows on a terminal how far the work at hand is. What is written to the
// terminal meanwhile goes through through, which takes the line away first.
type meter struct {
	mu    sync.Mutex
	to    io.Writer
	begun time.Time // of the task
	task  string
	total int
	bar   *progressbar.ProgressBar // nil until meterDelay is over
	drawn bool
}

// show is the sink of progress.
func (m *meter) show(e progress.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e.Task != m.task || e.Total != m.total || e.Done == 0 {
		m.clear()
		m.task, m.total, m.begun, m.bar = e.Task, e.Total, time.Now(), nil
	}
	if m.bar == nil {
		if time.Since(m.begun) < meterDelay {
			return
		}
		m.bar = m.draw(e)
	}
	m.drawn = true
	_ = m.bar.Set(e.Done) // a line that can't be drawn is no loss
}

func (m *meter) draw(e progress.Event) *progressbar.ProgressBar {
	total := e.Total
	if total == 0 {
		total = -1 // a count without an end
	}
	return progressbar.NewOptions(total, progressbar.OptionSetWriter(m.to), progressbar.OptionSetDescription(e.Task),
		progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(true),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionSetWidth(20), progressbar.OptionSpinnerType(14),
		progressbar.OptionClearOnFinish())
}

func (m *meter) clear() {
	if m.drawn {
		m.drawn = false
		_ = m.bar.Clear()
	}
}

// close takes the line away for good.
func (m *meter) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clear()
	m.bar, m.task = nil, ""
}

// through returns a writer to w that takes the line away before each write.
func (m *meter) through(w io.Writer) io.Writer { return &cleared{m, w} }

type cleared struct {
	m *meter
	w io.Writer
}

// Write takes the line of progress away and writes.
func (c *cleared) Write(p []byte) (int, error) {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	c.m.clear()
	return c.w.Write(p)
}

// watched returns a context whose work is shown on the terminal that stderr is,
// until unwatch is called. There is nothing to show where it is none, or when the
// user wants to hear less.
func (a *app) watched(ctx context.Context) context.Context {
	f, ok := a.stderr.(*os.File)
	if !ok || a.quiet > 0 || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" {
		return ctx
	}
	m := &meter{to: f}
	a.stderr = m.through(a.stderr)
	if out, ok := a.stdout.(*os.File); ok && term.IsTerminal(int(out.Fd())) {
		a.stdout = m.through(a.stdout)
	}
	a.unwatch = m.close
	return progress.With(ctx, m.show)
}
