package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/runtime"
)

type compareFlags struct {
	inputFlags
	native     providerFlags
	backends   []string
	load       string
	rtol, atol []string
	equalNaN   bool
	layers     bool
	outputs    []string
	json       bool
}

func newCompare(a *app) *cobra.Command {
	f := &compareFlags{}
	c := &cobra.Command{
		Use:   "compare MODEL [MODEL2]",
		Short: "Compare the results of two backends, two models, or a run and saved outputs",
		Long:  "Compare runs MODEL on two backends, or MODEL and MODEL2 on one, and compares the results by name. A value passes when |a-b| ≤ atol + rtol·|b|. When results differ, the first value in topological order that does is named.",
		Args:  args("MODEL [MODEL2]", 1, 2),
		RunE:  func(cmd *cobra.Command, got []string) error { return a.compare(cmd.Context(), got, f) },
	}
	f.register(c)
	f.native.register(c)
	c.Flags().StringArrayVar(&f.backends, "backend", nil, "reference or onnxruntime[:PROVIDER,…] (twice; default: one of each)")
	c.Flags().StringVar(&f.load, "load-outputs", "", "compare with the outputs in this .npz file instead of a second run")
	c.Flags().StringArrayVar(&f.rtol, "rtol", nil, "relative tolerance, VALUE or NAME:VALUE (default 1e-4)")
	c.Flags().StringArrayVar(&f.atol, "atol", nil, "absolute tolerance, VALUE or NAME:VALUE (default 1e-4)")
	c.Flags().BoolVar(&f.equalNaN, "equal-nan", true, "whether NaN equals NaN")
	c.Flags().BoolVar(&f.layers, "layers", false, "compare every value and name the first that differs")
	c.Flags().StringArrayVar(&f.outputs, "outputs", nil, "a value to compare, or all (repeatable)")
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON document")
	return c
}

// side is one of the two results that are compared.
type side struct {
	label     string
	model     *ir.Model
	backend   runtime.Backend
	providers []string
	saved     map[string]array.Value
	native    runtime.Options  // what the flags say of a native session
	profile   *runtime.Profile // of the first run, or nil
}

func (s *side) run(ctx context.Context, inputs map[string]array.Value, outputs []string) (map[string]array.Value, []runtime.Port, error) {
	if s.saved != nil {
		return s.saved, nil, nil
	}
	o := s.native
	o.Providers, o.Outputs, o.Profile = s.providers, outputs, 1
	session, err := s.backend.NewSession(ctx, s.model, o)
	if err != nil {
		return nil, nil, runtime.Labelled(s.label, err)
	}
	defer session.Close()
	out, err := session.Run(ctx, inputs)
	if err != nil {
		return nil, nil, runtime.Labelled(s.label, err)
	}
	if s.profile == nil {
		if s.profile, err = placement(session); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", s.label, err)
		}
	}
	return out, session.Outputs(), nil
}

// sides opens what is compared.
func (a *app) sides(paths []string, f *compareFlags) ([2]*side, error) {
	var out [2]*side
	specs := f.backends
	if len(specs) > 2 {
		return out, usagef("--backend: got %d, want at most 2", len(specs))
	}
	if len(specs) == 0 {
		specs = []string{"reference"}
		if len(paths) == 1 && f.load == "" {
			specs = append(specs, "onnxruntime")
		}
	}
	for i := range out {
		path, spec := paths[min(i, len(paths)-1)], specs[min(i, len(specs)-1)]
		if i == 1 && f.load != "" {
			saved, err := runtime.ReadNPZ(f.load)
			if err != nil {
				return out, &statusError{exitFile, err}
			}
			out[1] = &side{label: f.load, saved: saved}
			return out, nil
		}
		b, providers, err := a.backend(spec)
		if err != nil {
			return out, err
		}
		m, err := openModel(path)
		if err != nil {
			return out, err
		}
		label := spec
		if len(paths) == 2 {
			label = path + " on " + spec
		}
		out[i] = &side{label: label, model: m, backend: b, providers: providers}
	}
	return out, nil
}

// comparison is what compare reports.
type comparison struct {
	A, B    string
	OK      bool
	Outputs []comparedValue
	First   string `json:"first_diverging,omitempty"`
	// PlacementA and PlacementB are the nodes by provider, of a native backend.
	PlacementA []runtime.Placed `json:"placement_a,omitempty"`
	PlacementB []runtime.Placed `json:"placement_b,omitempty"`
	profiles   [2]*runtime.Profile
}

type comparedValue struct {
	Name string
	runtime.Difference
}

func (a *app) compare(ctx context.Context, paths []string, f *compareFlags) error {
	sides, err := a.sides(paths, f)
	if err != nil {
		return err
	}
	if err := f.nativeOptions(a, sides); err != nil {
		return err
	}
	inputs, err := f.inputs(sides[0].model.Graph())
	if err != nil {
		return err
	}
	names := outputNames(f.outputs)
	if f.layers {
		names = []string{runtime.All}
	}
	r, err := f.compareOnce(ctx, sides, inputs, names)
	if err != nil {
		return backendStatus(err)
	}
	if !r.OK && sides[1].saved == nil && (len(names) == 0 || names[0] != runtime.All) {
		all, err := f.compareOnce(ctx, sides, inputs, []string{runtime.All})
		if err == nil {
			r.First = all.First
		}
	}
	return a.showComparison(r, f)
}

func (f *compareFlags) compareOnce(ctx context.Context, sides [2]*side, inputs map[string]array.Value, names []string) (*comparison, error) {
	x, ports, err := sides[0].run(ctx, inputs, names)
	if err != nil {
		return nil, err
	}
	y, _, err := sides[1].run(ctx, inputs, names)
	if err != nil {
		return nil, err
	}
	r := &comparison{A: sides[0].label, B: sides[1].label, OK: true}
	r.place(sides)
	common := 0
	for _, p := range ports {
		v, inA := x[p.Name]
		w, inB := y[p.Name]
		if !inA || !inB {
			if len(names) == 0 {
				r.OK = false
				r.Outputs = append(r.Outputs, comparedValue{p.Name, runtime.Difference{Reason: "only one of the results has it", First: -1}})
			}
			continue
		}
		common++
		tol, err := f.tolerance(p.Name)
		if err != nil {
			return nil, err
		}
		d := runtime.Compare(v, w, tol)
		r.Outputs = append(r.Outputs, comparedValue{p.Name, d})
		if !d.OK {
			r.OK = false
			if r.First == "" {
				r.First = p.Name
			}
		}
	}
	if common == 0 {
		return nil, fmt.Errorf("compare: the results have no value of a common name")
	}
	return r, nil
}

const defaultTolerance = 1e-4

func (f *compareFlags) tolerance(name string) (runtime.Tolerance, error) {
	t := runtime.Tolerance{Rtol: defaultTolerance, Atol: defaultTolerance, EqualNaN: f.equalNaN}
	for _, side := range []struct {
		flag string
		list []string
		to   *float64
	}{{"--rtol", f.rtol, &t.Rtol}, {"--atol", f.atol, &t.Atol}} {
		for _, s := range side.list {
			text := s
			if n, v, err := named(s, []string{name}, side.flag); err == nil {
				if n != name {
					continue
				}
				text = v
			}
			vs, err := numbers("["+text+"]", side.flag)
			if err != nil || len(vs) != 1 || vs[0] < 0 {
				return t, usagef("%s: got %q, want a number ≥ 0, or NAME:NUMBER", side.flag, s)
			}
			*side.to = vs[0]
		}
	}
	return t, nil
}

func (a *app) showComparison(r *comparison, f *compareFlags) error {
	if f.json {
		e := jsonTo(a.stdout)
		e.SetIndent("", "  ")
		if err := e.Encode(r); err != nil {
			return err
		}
	} else {
		a.printComparison(r)
	}
	if !r.OK {
		return bad()
	}
	return nil
}

func (a *app) printComparison(r *comparison) {
	fmt.Fprintf(a.stdout, "a: %s\nb: %s\n", r.A, r.B)
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	const most = 30
	shown := 0
	for _, v := range r.Outputs {
		if v.OK && len(r.Outputs) > most {
			continue
		}
		if shown++; shown > most {
			continue
		}
		verdict := "ok"
		if !v.OK {
			verdict = "differs"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", verdict, clean(v.Name), v.Text())
	}
	w.Flush()
	if n := len(r.Outputs) - shown; n > 0 {
		fmt.Fprintf(a.stdout, "%d more values are equal within tolerance\n", n)
	}
	for i, p := range r.profiles {
		a.showPlacement("placement of "+[]string{"a", "b"}[i], p)
	}
	switch {
	case r.OK:
		fmt.Fprintln(a.stdout, "the results agree")
	case r.First != "":
		fmt.Fprintf(a.stdout, "the results differ; the first value that does, in topological order, is %q\n", r.First)
	default:
		fmt.Fprintln(a.stdout, "the results differ")
	}
}
