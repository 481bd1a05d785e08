package builtin

import (
	"context"
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

type syntaxToken = syntax.Token

const (
	recordKey = "sgs.record"
	tickKey   = "sgs.tick"
	ctxKey    = "sgs.context"
)

// SetRecorder makes the thread report each entry that it calls, for tests of
// completeness.
func SetRecorder(t *starlark.Thread, record func(*Func)) { t.SetLocal(recordKey, record) }

// SetContext gives the thread its context.
func SetContext(t *starlark.Thread, ctx context.Context) { t.SetLocal(ctxKey, ctx) }

// Context returns the context of the thread: cancelled when the script is
// interrupted or hits a limit. Whatever runs long or in Go alone obeys it.
func Context(t *starlark.Thread) context.Context {
	if t != nil {
		if ctx, ok := t.Local(ctxKey).(context.Context); ok {
			return ctx
		}
	}
	return context.Background()
}

// Context returns the context of the call's thread.
func (c *Call) Context() context.Context { return Context(c.Thread) }

// SetTick gives the thread the function that Tick calls.
func SetTick(t *starlark.Thread, tick func(steps uint64) error) { t.SetLocal(tickKey, tick) }

// Tick counts steps of work done in Go, such as elements that a loop went over,
// against the limits of the script, and returns the limit that is hit.
func Tick(t *starlark.Thread, steps uint64) error {
	if tick, ok := t.Local(tickKey).(func(uint64) error); ok {
		return tick(steps)
	}
	return nil
}

// compareEq finishes CompareSameType of types that only know equality.
func compareEq(op syntax.Token, eq bool, what string) (bool, error) {
	switch op {
	case syntax.EQL:
		return eq, nil
	case syntax.NEQ:
		return !eq, nil
	}
	return false, fmt.Errorf("%s can't be ordered by %s", what, op)
}

const stoppedKey = "sgs.stopped"

// SetStopped gives the thread the function that Stopped calls.
func SetStopped(t *starlark.Thread, stopped func() bool) { t.SetLocal(stoppedKey, stopped) }

// Stopped reports whether a limit was hit or the script interrupted: no script
// may catch that.
func Stopped(t *starlark.Thread) bool {
	stopped, ok := t.Local(stoppedKey).(func() bool)
	return ok && stopped()
}
