// Command sgs is Starlark GraphSurgeon: it runs scripts that edit ONNX models,
// and does from the shell what scripts do most.
//
// Each sub-command is one file, a constructor and a line in commands. The exit
// status tells how it went: 0 done and good, 1 the work ran and its verdict is
// bad, 2 usage, 3 a file could not be read or is not valid, 4 a backend is
// missing or crashed, 130 interrupted.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/starlarkgs/starlarkgs/internal/mmap"
	"github.com/starlarkgs/starlarkgs/internal/spell"
	"github.com/starlarkgs/starlarkgs/internal/supervise"
	"github.com/starlarkgs/starlarkgs/starlarkgs"
)

// The exit statuses.
const (
	exitBad         = 1
	exitUsage       = 2
	exitFile        = 3
	exitBackend     = 4
	exitInterrupted = 130
)

// app is what the sub-commands share.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	quiet, verbose int
	ortLib         string
	noIsolate      bool
	callTimeout    time.Duration
	unwatch        func()           // takes the line of progress away
	supervises     bool             // a script runs in a child process
	child          *supervise.Child // this process as such a child, or nil
}

// commands lists the sub-commands in the order in which help shows them.
var commands = []func(*app) *cobra.Command{
	newRun, newRepl, newTest, newFmt, newDoc, newLib, newInspect, newInfer, newCompare, newSanitize, newExtract, newReduce, newConform, newBackends, newCompletion, newVersion, newRoundtrip,
}

// gcPercent lets the heap grow to four times what is in use before the collector
// runs: a script that builds a large graph takes a third less time.
const gcPercent = 300

func main() {
	beWorker()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, child: supervise.Attach()}
	if a.child != nil {
		a.stderr = a.child.Stderr
	}
	a.supervises = a.child == nil && supervise.Supported
	os.Exit(a.main(ctx, os.Args[1:]))
}

// execute runs one command line in this process and returns the exit status.
func execute(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return (&app{stdin: stdin, stdout: stdout, stderr: stderr}).main(ctx, args)
}

func (a *app) main(ctx context.Context, args []string) int {
	root := newRoot(a)
	defer func() {
		if a.unwatch != nil {
			a.unwatch()
		}
	}()
	root.SetArgs(args)
	err := mmap.Guard(func() error { return root.ExecuteContext(ctx) })
	if err == nil {
		return 0
	}
	if ctx.Err() != nil {
		if !errors.Is(err, errSilent) {
			fmt.Fprintln(a.stderr, "sgs: interrupted")
		}
		return exitInterrupted
	}
	return a.report(err)
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "sgs",
		Short:         "Surgery on ONNX models, by Starlark scripts and from the shell",
		Args:          noCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		cmd.SetContext(a.watched(cmd.Context()))
		return checkTimes(cmd)
	}
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &statusError{exitUsage, err} })
	root.PersistentFlags().CountVarP(&a.verbose, "verbose", "v", "say more (repeatable)")
	root.PersistentFlags().CountVarP(&a.quiet, "quiet", "q", "say less (repeatable)")
	root.PersistentFlags().StringVar(&a.ortLib, "ort-lib", "", "the shared library of ONNX Runtime")
	root.PersistentFlags().BoolVar(&a.noIsolate, "no-isolate", false, "run native backends in this process, which their crashes then end")
	root.PersistentFlags().DurationVar(&a.callTimeout, "call-timeout", 0, "bound the time of one call of a native backend that is isolated, as 30s")
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(newHelp())
	for _, c := range commands {
		root.AddCommand(c(a))
	}
	return root
}

// suggestions names the sub-commands that are nearest to a word.
func suggestions(cmd *cobra.Command, word string) string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if near := spell.Hint(word, names); near != "" {
		return near
	}
	return ": see sgs help" + strings.TrimPrefix(cmd.CommandPath(), "sgs")
}

// statusError is an error with the exit status that it means.
type statusError struct {
	status int
	err    error
}

// Error returns the error's own text.
func (e *statusError) Error() string { return e.err.Error() }

// Unwrap returns the error.
func (e *statusError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &statusError{exitUsage, fmt.Errorf(format, args...)}
}

// silent is a verdict that the command has told already.
var errSilent = errors.New("")

// bad returns the error of a bad verdict that the output shows.
func bad() error { return &statusError{exitBad, errSilent} }

// report prints the error, one line but for a script's, and returns the exit
// status.
func (a *app) report(err error) int {
	var script *starlarkgs.Error
	if errors.As(err, &script) {
		fmt.Fprintln(a.stderr, printable(script.Error()))
		if own, ok := err.(*statusError); ok {
			return own.status
		}
		return exitBad
	}
	status := statusOf(err)
	if !errors.Is(err, errSilent) {
		fmt.Fprintf(a.stderr, "sgs: %s\n", printable(err.Error()))
	}
	return status
}

// args wraps a check of the positional arguments so that a failure is a usage
// error.
func args(want string, atLeast, atMost int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, got []string) error {
		if n := len(got); n < atLeast || atMost >= 0 && n > atMost {
			return usagef("%s: got %d arguments, want %s (see sgs help %s)", cmd.Name(), n, want, cmd.Name())
		}
		return nil
	}
}

// checkTimes refuses times below 0; 0 is no bound.
func checkTimes(cmd *cobra.Command) error {
	for _, name := range []string{"timeout", "call-timeout"} {
		if d, err := cmd.Flags().GetDuration(name); err == nil && d < 0 {
			return usagef("--%s: got %s, want 0 or more", name, d)
		}
	}
	return nil
}
