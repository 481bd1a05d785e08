package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"go.starlark.net/syntax"

	"github.com/starlarkgs/starlarkgs/internal/supervise"
	"github.com/starlarkgs/starlarkgs/starlarkgs"
)

// scriptFlags are the flags of the commands that run scripts.
type scriptFlags struct {
	read, write []string
	exec        bool
	steps       uint64
	mem         byteSize
	timeout     time.Duration
}

func (f *scriptFlags) register(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.read, "allow-read", nil, "a folder that the script may read (repeatable; default: the current one, and the script's)")
	c.Flags().StringArrayVar(&f.write, "allow-write", nil, "a folder that the script may write (repeatable; default: the current one)")
	c.Flags().BoolVar(&f.exec, "allow-exec", false, "let the script start commands, as checks of bisect")
	c.Flags().Uint64Var(&f.steps, "max-steps", 0, "bound the steps of the interpreter")
	c.Flags().Var(&f.mem, "max-mem", "bound the memory, as 512MB")
	c.Flags().DurationVar(&f.timeout, "timeout", 0, "bound the time, as 30s")
}

// options returns what the flags grant to a script.
func (a *app) options(f scriptFlags) starlarkgs.Options {
	return starlarkgs.Options{Stdout: a.stdout, Stderr: a.stderr, ReadDirs: f.read, WriteDirs: f.write, AllowExec: f.exec,
		MaxSteps: f.steps, MaxMem: int64(f.mem), Timeout: f.timeout, Backends: nativeBackends(a)}
}

func (a *app) host(f scriptFlags) *starlarkgs.Host {
	o := a.options(f)
	if a.child != nil {
		o.Where = func(p syntax.Position) { a.child.At(p.String()) }
	}
	return starlarkgs.New(o)
}

// supervise runs the command once more in a child, which nothing that a script
// does can make take this process with it.
func (a *app) supervise(cmd *cobra.Command, f scriptFlags, script string) error {
	o := supervise.Options{Mem: cmp.Or(int64(f.mem), starlarkgs.DefaultMaxMem), Timeout: f.timeout, Stderr: a.stderr}
	status, err := supervise.Run(cmd.Context(), o)
	var death *supervise.Death
	switch {
	case errors.As(err, &death):
		return a.mourn(death, o, cmp.Or(death.At, script))
	case err != nil:
		return err
	case status != 0:
		return &statusError{status, errSilent}
	}
	return nil
}

// mourn tells how a script ended that could not tell itself.
func (a *app) mourn(d *supervise.Death, o supervise.Options, at string) error {
	why := ""
	switch d.Cause {
	case supervise.Interrupted:
		return &statusError{exitInterrupted, d}
	case supervise.OutOfMemory:
		why = fmt.Sprintf("the script took more than its limit of %d bytes of memory", o.Mem)
	case supervise.StackOverflow:
		why = "a value is nested too deep for one operation"
	case supervise.Timeout:
		why = fmt.Sprintf("the script ran longer than its limit of %s", o.Timeout)
	case supervise.Killed:
		why = fmt.Sprintf("the process that ran the script was ended by a signal (%s)", d.Signal)
	}
	fmt.Fprintf(a.stderr, "%s: %s\n", at, why)
	return bad()
}

func newRun(a *app) *cobra.Command {
	var f scriptFlags
	var code string
	c := &cobra.Command{
		Use:   "run [FLAGS] SCRIPT.star [ARGS…]",
		Short: "Run a script; what follows it is its argv",
		Args: func(cmd *cobra.Command, got []string) error {
			if len(got) == 0 && !cmd.Flags().Changed("code") {
				return usagef("run: got no script, want SCRIPT.star, - for standard input, or -c CODE")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, got []string) error {
			if a.supervises {
				script := "-c"
				if !cmd.Flags().Changed("code") {
					script = got[0]
				}
				return a.supervise(cmd, f, script)
			}
			h := a.host(f)
			defer h.Close()
			switch {
			case cmd.Flags().Changed("code"):
				_, err := h.RunSource(cmd.Context(), "-c", code, got)
				return err
			case got[0] == "-":
				src, err := io.ReadAll(a.stdin)
				if err != nil {
					return fmt.Errorf("standard input: %w", err)
				}
				_, err = h.RunSource(cmd.Context(), "<stdin>", string(src), got[1:])
				return err
			}
			return h.Run(cmd.Context(), got[0], got[1:])
		},
	}
	c.Flags().SetInterspersed(false)
	c.Flags().StringVarP(&code, "code", "c", "", "run this text instead of a file")
	f.register(c)
	return c
}
