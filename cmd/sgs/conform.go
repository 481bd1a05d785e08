package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/spf13/cobra"

	"github.com/starlarkgs/starlarkgs/internal/progress"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx"
	"github.com/starlarkgs/starlarkgs/runtime/runtimetest"
)

func newConform(a *app) *cobra.Command {
	var backend string
	var o runtimetest.Options
	var asJSON bool
	var jobs int
	c := &cobra.Command{
		Use:   "conform DIR…",
		Short: "Run the standard's conformance cases",
		Args:  args("DIR…", 1, -1),
		RunE: func(cmd *cobra.Command, dirs []string) error {
			b, _, err := a.backend(backend)
			if err != nil {
				return err
			}
			cases, err := runtimetest.Find(dirs)
			if err != nil {
				return err
			}
			l := runtimetest.Loader{Model: func(path string) (*ir.Model, error) { return onnx.Open(path, onnx.OpenOptions{}) }, Value: onnx.ReadValue}
			results := each(cmd.Context(), cases, jobs, func(dir string) runtimetest.Result {
				return runtimetest.Run(cmd.Context(), b, dir, l, o)
			})
			return a.showConformance(results, asJSON)
		},
	}
	c.Flags().StringVar(&backend, "backend", "reference", "reference or onnxruntime")
	c.Flags().Float64Var(&o.Rtol, "rtol", 0, "relative tolerance (default 1e-3)")
	c.Flags().Float64Var(&o.Atol, "atol", 0, "absolute tolerance (default 1e-7, more for 16-bit floats)")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	c.Flags().IntVar(&jobs, "jobs", 1, "cases to run at once")
	return c
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

func (a *app) showConformance(results []runtimetest.Result, asJSON bool) error {
	failed := 0
	for _, r := range results {
		if r.Passed {
			continue
		}
		failed++
		if !asJSON {
			fmt.Fprintf(a.stdout, "%s: %s\n", r.Case, clean(r.Reason))
		}
	}
	if asJSON {
		e := jsonTo(a.stdout)
		e.SetIndent("", "  ")
		if err := e.Encode(results); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(a.stdout, "%d passed, %d failed\n", len(results)-failed, failed)
	}
	if failed > 0 {
		return bad()
	}
	return nil
}
