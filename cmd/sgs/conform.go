package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/starlarkgs/starlarkgs/internal/progress"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx"
	"github.com/starlarkgs/starlarkgs/runtime/reference"
	"github.com/starlarkgs/starlarkgs/runtime/runtimetest"
)

type conformFlags struct {
	runtimetest.Options
	backend string
	json    bool
	jobs    int
}

// caseLimit bounds a call of a native backend in one case, where the user gives
// no bound: a case that hangs must not end the run.
const caseLimit = time.Minute

func newConform(a *app) *cobra.Command {
	f := &conformFlags{}
	c := &cobra.Command{
		Use:   "conform DIR…",
		Short: "Run the standard's conformance cases",
		Long: "Conform runs the cases below each folder and prints a line for each that fails: it can't be run, or its results differ from those that the case expects. " +
			"Another backend than the reference is held against that one too: its results may differ from those of the reference, and the table shows both.",
		Args: args("DIR…", 1, -1),
		RunE: func(cmd *cobra.Command, dirs []string) error { return a.conform(cmd.Context(), dirs, f) },
	}
	c.Flags().StringVar(&f.backend, "backend", referenceName, "reference or onnxruntime")
	c.Flags().Float64Var(&f.Rtol, "rtol", 0, "relative tolerance (default 1e-3)")
	c.Flags().Float64Var(&f.Atol, "atol", 0, "absolute tolerance (default 1e-7, more for 16-bit floats)")
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON document")
	c.Flags().IntVar(&f.jobs, "jobs", 1, "cases to run at once")
	return c
}

const referenceName = "reference"

func (a *app) conform(ctx context.Context, dirs []string, f *conformFlags) error {
	if a.callTimeout == 0 {
		a.callTimeout = caseLimit
	}
	b, providers, err := a.backend(f.backend)
	if err != nil {
		return err
	}
	f.Providers = providers
	cases, err := runtimetest.Find(dirs)
	switch {
	case err != nil:
		return err
	case len(cases) == 0:
		return usagef("conform: got %q, want folders with cases below them: model.onnx and test_data_set_*", dirs)
	}
	if b.Name() != referenceName { // a library that can't be used fails no case
		if _, _, err := nativeLibrary(a); err != nil {
			return &statusError{exitBackend, err}
		}
	}
	l := runtimetest.Loader{Model: func(path string) (*ir.Model, error) { return onnx.Open(path, onnx.OpenOptions{}) }, Value: onnx.ReadValue}
	results := each(ctx, cases, f.jobs, func(dir string) runtimetest.Result {
		if b.Name() == referenceName {
			return runtimetest.Run(ctx, b, dir, l, f.Options)
		}
		return runtimetest.RunBoth(ctx, b, reference.New(), dir, l, f.Options)
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	return a.showConformance(results, b.Name(), f.json)
}

// each runs f over items, several at once, and keeps their order.
func each[T, R any](ctx context.Context, items []T, jobs int, f func(T) R) []R {
	out := make([]R, len(items))
	var wg sync.WaitGroup
	slots := make(chan struct{}, max(jobs, 1))
	report := progress.Reporter(ctx, "cases", len(items))
	for i, x := range items {
		if ctx.Err() != nil {
			break
		}
		slots <- struct{}{}
		report(i)
		wg.Go(func() {
			defer func() { <-slots }()
			out[i] = f(x)
		})
	}
	wg.Wait()
	return out
}

func (a *app) showConformance(results []runtimetest.Result, backend string, asJSON bool) error {
	failed := 0
	for i := range results {
		r := &results[i]
		r.Reason = shortReason(r.Reason)
		if !r.Passed {
			failed++
		}
	}
	if asJSON {
		e := jsonTo(a.stdout)
		e.SetIndent("", "  ")
		if err := e.Encode(results); err != nil {
			return err
		}
	} else {
		a.printConformance(results, backend)
		fmt.Fprintf(a.stdout, "%d passed, %d failed\n", len(results)-failed, failed)
	}
	if failed > 0 {
		return bad()
	}
	return nil
}

// printConformance prints a line for each case that fails or in which the
// backends differ, and the table of both.
func (a *app) printConformance(results []runtimetest.Result, backend string) {
	var ours, others []runtimetest.Result
	apart := 0
	for _, r := range results {
		if text := verdict(r); text != "" {
			fmt.Fprintf(a.stdout, "%s: %s\n", r.Case, printable(text))
		}
		if r.Apart != "" {
			apart++
		}
		if r.Other != nil {
			ours, others = append(ours, r), append(others, *r.Other)
		}
	}
	if len(others) == 0 {
		return
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "backend\tcases\tagree\tdiffer\tcan't be run\t")
	for _, row := range []struct {
		name    string
		results []runtimetest.Result
	}{{backend, ours}, {referenceName, others}} {
		n := map[runtimetest.Outcome]int{}
		for _, r := range row.results {
			n[r.Outcome]++
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t\n", row.name, len(row.results), n[runtimetest.Agrees], n[runtimetest.Differs], n[runtimetest.CannotRun]+n[runtimetest.Invalid])
	}
	w.Flush()
	fmt.Fprintf(a.stdout, "the two differ in %d of the cases that both run\n", apart)
}

// verdict says what is bad about a case, "" for nothing.
func verdict(r runtimetest.Result) string {
	switch {
	case r.Passed && r.Apart != "":
		return "differs from the reference alone: " + r.Apart
	case r.Passed:
		return ""
	case r.Outcome != runtimetest.Differs || r.Other == nil || r.Other.Outcome == runtimetest.CannotRun:
		return string(r.Outcome) + ": " + r.Reason
	case r.Apart == "":
		return "differs, as the reference does: " + r.Reason
	}
	return "differs, from the reference too: " + r.Reason
}

// sourcePlace is where in its own source ONNX Runtime found a fault.
var sourcePlace = regexp.MustCompile(`/\S*onnxruntime\S*:\d+ `)

// shortReason leaves out of an error of ONNX Runtime the place in its source and
// the signature of the function there, and ends it after two sentences or so.
func shortReason(text string) string {
	for at := sourcePlace.FindStringIndex(text); at != nil; at = sourcePlace.FindStringIndex(text) {
		text = text[:at[0]] + afterSignature(text[at[1]:])
	}
	const most = 240
	text = strings.TrimRight(text, "; ")
	if utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:most]) + "…"
	}
	return text
}

// afterSignature returns what follows the signature of a C++ function that text
// begins with, or text when it begins with none.
func afterSignature(text string) string {
	depth := 0
	for i, c := range text {
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				rest := strings.TrimPrefix(strings.TrimPrefix(text[i+1:], "::<lambda()>"), " const")
				if _, after, ok := strings.Cut(rest, "] "); ok && strings.HasPrefix(rest, " [with ") {
					rest = after
				}
				return strings.TrimLeft(rest, " ")
			}
		}
	}
	return text
}
