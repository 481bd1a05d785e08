// Package progress carries how far long work is from where it is done to whoever
// waits for it, by the context that the work gets anyway:
//
//	ctx = progress.With(ctx, func(e progress.Event) { … })
//	…
//	progress.Report(ctx, "fold", i, len(nodes))
//
// Work tells of every step; a sink that draws decides how often it does.
package progress

import "context"

// Event is one step of long work.
type Event struct {
	// Task names the work, as "fold".
	Task string
	// Done steps of Total are behind it; a Total of 0 is one that is not known.
	Done, Total int
}

type key struct{}

// Without returns a context whose work is not told, for the parts of work that
// tells of itself.
func Without(ctx context.Context) context.Context { return With(ctx, nil) }

// With returns a context whose work is told to sink, in the goroutines that do
// it, one at a time for one task.
func With(ctx context.Context, sink func(Event)) context.Context {
	return context.WithValue(ctx, key{}, sink)
}

// Reporter returns the function that tells ctx's sink of a task, which does
// nothing where there is none.
func Reporter(ctx context.Context, task string, total int) func(done int) {
	sink, _ := ctx.Value(key{}).(func(Event))
	if sink == nil {
		return func(int) {}
	}
	return func(done int) { sink(Event{task, done, total}) }
}

// Report tells ctx's sink, if it has one, of a step.
func Report(ctx context.Context, task string, done, total int) { Reporter(ctx, task, total)(done) }
