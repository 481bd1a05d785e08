package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"sort"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/runtime"
)

type inferFlags struct {
	inputFlags
	native                           providerFlags
	backend, saveOutputs, saveInputs string
	provider                         string
	outputs                          []string
	iterations, warmUp               int
	validate                         bool
}

func newInfer(a *app) *cobra.Command {
	f := &inferFlags{}
	c := &cobra.Command{
		Use:   "infer MODEL",
		Short: "Run a model once, or several times, and show what it gives",
		Args:  args("MODEL", 1, 1),
		RunE:  func(cmd *cobra.Command, got []string) error { return a.infer(cmd.Context(), got[0], f) },
	}
	f.register(c)
	f.native.register(c)
	c.Flags().StringVar(&f.backend, "backend", "", "reference or onnxruntime (default: reference, onnxruntime with --provider)")
	c.Flags().StringVar(&f.provider, "provider", "", "execution providers of onnxruntime, best first: cpu,webgpu,cuda,tensorrt,coreml,directml,openvino, or any other by name")
	c.Flags().StringArrayVar(&f.outputs, "outputs", nil, "a value to return, or all (repeatable)")
	c.Flags().StringVar(&f.saveOutputs, "save-outputs", "", "write the outputs to a .npz file")
	c.Flags().StringVar(&f.saveInputs, "save-inputs", "", "write the inputs to a .npz file")
	c.Flags().IntVar(&f.iterations, "iterations", 1, "how often to run, with latency figures")
	c.Flags().IntVar(&f.warmUp, "warm-up", 0, "runs before the first one that is timed")
	c.Flags().BoolVar(&f.validate, "validate", false, "fail when a result holds NaN or Inf, and name the first value that does")
	return c
}

// spec names the backend with its providers.
func (f *inferFlags) spec() string {
	if f.provider == "" {
		return cmp.Or(f.backend, "reference")
	}
	return cmp.Or(f.backend, "onnxruntime") + ":" + f.provider
}

func (a *app) infer(ctx context.Context, path string, f *inferFlags) error {
	b, providers, err := a.backend(f.spec())
	if err != nil {
		return err
	}
	if err := cmp.Or(apart("--save-outputs", f.saveOutputs, path), apart("--save-inputs", f.saveInputs, path)); err != nil {
		return err
	}
	if f.iterations < 1 || f.warmUp < 0 {
		return usagef("--iterations %d --warm-up %d: want at least 1 and 0", f.iterations, f.warmUp)
	}
	m, err := openModel(path)
	if err != nil {
		return err
	}
	inputs, err := f.inputs(m.Graph())
	if err != nil {
		return err
	}
	o := runtime.Options{Providers: providers, Outputs: outputNames(f.outputs), Seed: f.seed, Profile: 1}
	if err := cmp.Or(f.native.unused(providers), f.native.set(a, &o)); err != nil {
		return err
	}
	s, err := b.NewSession(ctx, m, o)
	if err != nil {
		return backendStatus(err)
	}
	defer s.Close()
	out, times, err := repeat(ctx, s, inputs, f)
	if err != nil {
		return backendStatus(err)
	}
	profile, err := placement(s)
	if err != nil {
		return err
	}
	if f.saveInputs != "" {
		if err := runtime.WriteNPZ(f.saveInputs, inputs); err != nil {
			return err
		}
	}
	if f.saveOutputs != "" {
		if err := runtime.WriteNPZ(f.saveOutputs, out); err != nil {
			return err
		}
	}
	a.showValues(out, s.Outputs())
	a.showPlacement("placement", profile)
	if f.iterations > 1 {
		a.showTimes(times)
	}
	if f.validate {
		return a.validate(ctx, b, m, o, inputs, out)
	}
	return nil
}

func outputNames(names []string) []string {
	if len(names) == 1 && names[0] == "all" {
		return []string{runtime.All}
	}
	return names
}

func repeat(ctx context.Context, s runtime.Session, inputs map[string]array.Value, f *inferFlags) (out map[string]array.Value, times []time.Duration, err error) {
	for i := range f.warmUp + max(f.iterations, 1) {
		start := time.Now()
		if out, err = s.Run(ctx, inputs); err != nil {
			return nil, nil, err
		}
		if i >= f.warmUp {
			times = append(times, time.Since(start))
		}
	}
	return out, times, nil
}

func (a *app) showValues(out map[string]array.Value, ports []runtime.Port) {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	defer w.Flush()
	for _, p := range ports {
		v := out[p.Name]
		x, ok := v.(*array.Array)
		if !ok || !x.DType().IsFloat() && !x.DType().IsInt() || x.Size() == 0 {
			if v != nil {
				fmt.Fprintf(w, "%s\t%s\n", clean(p.Name), v.Summary())
			}
			continue
		}
		fs, err := x.Float64s()
		if err != nil {
			continue
		}
		least, most, sum := math.Inf(1), math.Inf(-1), 0.0
		for _, e := range fs {
			least, most, sum = min(least, e), max(most, e), sum+e
		}
		fmt.Fprintf(w, "%s\t%s\tmin %.6g\tmax %.6g\tmean %.6g\n", clean(p.Name), x.Summary(), least, most, sum/float64(len(fs)))
	}
}

func (a *app) showTimes(times []time.Duration) {
	sort.Slice(times, func(i, j int) bool { return times[i] < times[j] })
	sum := time.Duration(0)
	for _, t := range times {
		sum += t
	}
	fmt.Fprintf(a.stdout, "%d runs: median %s, mean %s, min %s, max %s\n", len(times), times[len(times)/2], sum/time.Duration(len(times)), times[0], times[len(times)-1])
}

// validate tells which results hold NaN or Inf, and which value is the first.
func (a *app) validate(ctx context.Context, b runtime.Backend, m *ir.Model, o runtime.Options, inputs, out map[string]array.Value) error {
	err := runtime.Validate(m.Graph(), inputs, out, func() (map[string]array.Value, error) {
		o.Outputs = []string{runtime.All}
		s, err := b.NewSession(ctx, m, o)
		if err != nil {
			return nil, err
		}
		defer s.Close()
		return s.Run(ctx, inputs)
	})
	if err != nil {
		return &statusError{exitBad, err}
	}
	return nil
}

// clean escapes control characters, so that a name in a model can't write to
// the terminal.
func clean(s string) string {
	q := fmt.Sprintf("%q", s)
	if q = q[1 : len(q)-1]; q == s {
		return s
	}
	return q
}
