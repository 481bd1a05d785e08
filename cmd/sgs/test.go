package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/builtins/assert"
	"github.com/starlarkgs/starlarkgs/internal/nofile"
	"github.com/starlarkgs/starlarkgs/internal/oplib"
	"github.com/starlarkgs/starlarkgs/starlarkgs"
)

// testFile is what the tests of one file came to.
type testFile struct {
	File  string       `json:"file"`
	Tests []testResult `json:"tests"`
}

// testResult is what one test came to.
type testResult struct {
	Name    string  `json:"name"`
	Passed  bool    `json:"passed"`
	Error   string  `json:"error,omitempty"`
	Output  string  `json:"output,omitempty"` // what it printed
	Seconds float64 `json:"seconds"`
}

// testReport is what test --json prints.
type testReport struct {
	Passed int        `json:"passed"`
	Failed int        `json:"failed"`
	Files  []testFile `json:"files"`
}

func newTest(a *app) *cobra.Command {
	var f scriptFlags
	var only string
	var asJSON bool
	c := &cobra.Command{
		Use:   "test [PATHS]",
		Short: "Run the tests of scripts: the functions test_* of *_test.star",
		Long: `Run the tests of scripts.

PATHS are files, or folders that are searched for *_test.star; the current folder
by default. Each file is run in a host of its own, with the module assert; then
its functions test_*, in their order. What a test prints is shown when it fails,
or with -v. The exit status is 1 when one failed.`,
		RunE: func(cmd *cobra.Command, paths []string) error {
			rx, err := regexp.Compile(only)
			if err != nil {
				return usagef("test: --run: %v", err)
			}
			files, err := starFiles(paths, "_test.star")
			if err != nil {
				return err
			}
			if len(files) == 0 {
				return usagef("test: got no *_test.star in %s, want at least one", strings.Join(orHere(paths), ", "))
			}
			return a.test(cmd.Context(), files, rx, f, asJSON)
		},
	}
	c.Flags().StringVar(&only, "run", "", "only the tests whose name the regular expression matches")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	f.register(c)
	return c
}

// orHere returns the paths, or the current folder for none.
func orHere(paths []string) []string {
	if len(paths) == 0 {
		return []string{"."}
	}
	return paths
}

// starFiles returns the files that are named, and those of the folders that are
// named whose names end as given. It passes over hidden folders and what
// belongs to others.
func starFiles(paths []string, suffix string) ([]string, error) {
	var files []string
	for _, root := range orHere(paths) {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nofile.Explain(err)
			case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == oplib.VendorFolder || d.Name() == "node_modules"):
				return fs.SkipDir
			case d.IsDir():
			case path == root, strings.HasSuffix(path, suffix):
				files = append(files, path)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

func (a *app) test(ctx context.Context, files []string, only *regexp.Regexp, f scriptFlags, asJSON bool) error {
	var report testReport
	for _, file := range files {
		r := testFile{File: file, Tests: a.testFile(ctx, file, only, f)}
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, t := range r.Tests {
			if t.Passed {
				report.Passed++
			} else {
				report.Failed++
			}
			if !asJSON {
				a.showTest(file, t)
			}
		}
		report.Files = append(report.Files, r)
	}
	if report.Passed+report.Failed == 0 {
		return usagef("test: --run: got no test whose name matches %q", only)
	}
	if asJSON {
		if err := a.printJSON(report); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(a.stdout, "%d passed, %d failed\n", report.Passed, report.Failed)
	}
	if report.Failed > 0 {
		return bad()
	}
	return nil
}

// printJSON prints the document of --json.
func (a *app) printJSON(x any) error {
	e := jsonTo(a.stdout)
	e.SetIndent("", "  ")
	return e.Encode(x)
}

func (a *app) showTest(file string, t testResult) {
	verdict := "ok  "
	if !t.Passed {
		verdict = "FAIL"
	} else if a.verbose == 0 {
		return
	}
	fmt.Fprintf(a.stdout, "%s %s %s (%.2f s)\n", verdict, file, t.Name, t.Seconds)
	for _, text := range []string{t.Output, t.Error} {
		if text = strings.TrimRight(text, "\n"); text != "" {
			fmt.Fprintf(a.stdout, "  %s\n", strings.ReplaceAll(text, "\n", "\n  "))
		}
	}
}

// testFile runs one file and its tests in a host of their own. What goes wrong
// outside of a test is a test of its own, named by what is wrong.
func (a *app) testFile(ctx context.Context, file string, only *regexp.Regexp, f scriptFlags) []testResult {
	var out bytes.Buffer
	o := a.options(f)
	o.Stdout, o.Stderr = &out, &out
	o.Predeclared = starlark.StringDict{"assert": assert.Module()}
	h := starlarkgs.New(o)
	defer h.Close()
	timed := func(name string, run func() error) testResult {
		out.Reset()
		start := time.Now()
		err := run()
		r := testResult{Name: name, Passed: err == nil, Output: out.String(), Seconds: time.Since(start).Seconds()}
		if err != nil {
			r.Error = err.Error()
		}
		return r
	}
	var globals starlark.StringDict
	load := timed("(load)", func() (err error) {
		globals, err = h.Load(ctx, file, nil)
		return err
	})
	if !load.Passed {
		return []testResult{load}
	}
	tests := testFunctions(globals, file)
	if len(tests) == 0 {
		load.Passed, load.Error = false, file+": got no function test_*, want at least one"
		return []testResult{load}
	}
	var results []testResult
	for _, fn := range tests {
		if only.MatchString(fn.Name()) {
			results = append(results, timed(fn.Name(), func() error {
				_, err := h.Call(ctx, fn)
				return err
			}))
		}
	}
	return results
}

// testFunctions returns the tests that a file defines, in its order.
func testFunctions(globals starlark.StringDict, file string) []*starlark.Function {
	var tests []*starlark.Function
	for name, v := range globals {
		if fn, ok := v.(*starlark.Function); ok && strings.HasPrefix(name, "test_") && fn.Name() == name && fn.Position().Filename() == file {
			tests = append(tests, fn)
		}
	}
	slices.SortFunc(tests, func(x, y *starlark.Function) int {
		return cmp.Or(cmp.Compare(x.Position().Line, y.Position().Line), cmp.Compare(x.Position().Col, y.Position().Col))
	})
	return tests
}
