package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/starlarkgs/starlarkgs/internal/atomicfile"
	"github.com/starlarkgs/starlarkgs/starlarkgs"
	"github.com/starlarkgs/starlarkgs/starlarkgs/format"
)

// fmtFlags are the flags of fmt.
type fmtFlags struct{ check, stdout, write bool }

func newFmt(a *app) *cobra.Command {
	var f fmtFlags
	c := &cobra.Command{
		Use:   "fmt [FILES]",
		Short: "Lay out scripts in one style, in place",
		Long: `Lay out scripts in one style.

FILES are scripts, folders that are searched for *.star (the current folder by
default), or - for standard input, whose layout goes to standard output. Files are
rewritten in place, whole or not at all, and those that changed are named; unlike
gofmt, -w is the default. A file whose layout would change what it means, or lose
a comment, is left as it is and named. The order of loads is kept.`,
		RunE: func(_ *cobra.Command, paths []string) error {
			if f.check && (f.stdout || f.write) || f.stdout && f.write {
				return usagef("fmt: got several of --check, --stdout and --write, want one")
			}
			return a.fmt(paths, f)
		},
	}
	c.Flags().BoolVarP(&f.check, "check", "l", false, "write nothing; name the files whose layout would change, with exit status 1")
	c.Flags().BoolVar(&f.stdout, "stdout", false, "print the layout instead of writing it")
	c.Flags().BoolVarP(&f.write, "write", "w", false, "write in place (the default)")
	return c
}

// fmt lays out the files, tells all that goes wrong and returns the last of it.
func (a *app) fmt(paths []string, f fmtFlags) error {
	if len(paths) == 1 && paths[0] == "-" {
		return a.fmtStdin(f)
	}
	files, err := starFiles(paths, ".star")
	if err != nil {
		return err
	}
	changed := false
	var failed error
	for _, file := range files {
		differs, err := a.fmtFile(file, f)
		if err != nil {
			if failed != nil {
				a.report(failed)
			}
			failed = err
		}
		changed = changed || differs
	}
	if failed == nil && f.check && changed {
		return bad()
	}
	return failed
}

func (a *app) fmtStdin(f fmtFlags) error {
	src, err := io.ReadAll(a.stdin)
	if err != nil {
		return fmt.Errorf("standard input: %w", err)
	}
	out, err := layout("<stdin>", string(src))
	switch {
	case err != nil:
		return err
	case !f.check:
		_, err = io.WriteString(a.stdout, out)
		return err
	case out != string(src):
		fmt.Fprintln(a.stdout, "<stdin>")
		return bad()
	}
	return nil
}

// fmtFile lays out one file and reports whether its layout differs.
func (a *app) fmtFile(file string, f fmtFlags) (bool, error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return false, err
	}
	out, err := layout(file, string(src))
	if err != nil {
		return false, err
	}
	if f.stdout {
		_, err = io.WriteString(a.stdout, out)
		return false, err
	}
	if out == string(src) {
		return false, nil
	}
	if a.quiet == 0 || f.check {
		fmt.Fprintln(a.stdout, filepath.ToSlash(file))
	}
	if f.check {
		return true, nil
	}
	return true, atomicfile.Replace(file, []byte(out))
}

// layout lays out a script; one that is not valid is a file's error, not one of
// a run.
func layout(name, src string) (string, error) {
	out, err := format.Source(name, src)
	var script *starlarkgs.Error
	if errors.As(err, &script) {
		return "", &statusError{exitFile, err}
	}
	return out, err
}
