package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	goruntime "runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/spell"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx"
	"github.com/starlarkgs/starlarkgs/ops/infer"
	"github.com/starlarkgs/starlarkgs/surgery"
)

type reduceFlags struct {
	inputFlags
	out, minGood, check, script, mode string
	noInputs, noOutputs               bool
	regexes                           []string
	codes, ignored                    []int
}

func newReduce(a *app) *cobra.Command {
	f := &reduceFlags{}
	c := &cobra.Command{
		Use:   "reduce MODEL -o OUT (--check 'CMD {model}' | --check-script FILE.star)",
		Short: "Find the smallest part of a model that fails a check",
		Long: `Reduce tests the model, then ever smaller parts of it, and writes the smallest
that fails. A check is a command, which passes with exit status 0 and finds the
model's file in the place of {model}, or a script that defines check(model),
which gets a graph and returns True when it passes.`,
		Args: args("MODEL", 1, 1),
		RunE: func(cmd *cobra.Command, got []string) error { return a.reduce(cmd.Context(), got[0], f) },
	}
	output(c, &f.out)
	f.register(c)
	c.Flags().StringVar(&f.check, "check", "", "a command; {model} stands for the model's file")
	c.Flags().StringVar(&f.script, "check-script", "", "a script that defines check(model)")
	c.Flags().StringVar(&f.mode, "mode", string(surgery.DDMin), "ddmin, bisect or linear")
	c.Flags().StringVar(&f.minGood, "min-good", "", "write the passing model that is closest in size")
	c.Flags().BoolVar(&f.noInputs, "no-reduce-inputs", false, "keep the model's inputs")
	c.Flags().BoolVar(&f.noOutputs, "no-reduce-outputs", false, "keep the model's outputs")
	c.Flags().StringArrayVar(&f.regexes, "fail-regex", nil, "the check fails only when its output matches (repeatable)")
	c.Flags().IntSliceVar(&f.codes, "fail-code", nil, "exit statuses that mean failure (default: all but 0)")
	c.Flags().IntSliceVar(&f.ignored, "ignore-fail-code", nil, "exit statuses that do not mean failure")
	c.MarkFlagsMutuallyExclusive("check", "check-script")
	c.MarkFlagsMutuallyExclusive("no-reduce-inputs", "no-reduce-outputs")
	c.MarkFlagsMutuallyExclusive("fail-code", "ignore-fail-code")
	return c
}

type checkFunc = func(context.Context, *ir.Model) (bool, error)

func (a *app) reduce(ctx context.Context, path string, f *reduceFlags) error {
	if !slices.Contains(surgery.Modes, surgery.Mode(f.mode)) {
		var names []string
		for _, m := range surgery.Modes {
			names = append(names, string(m))
		}
		return usagef("--mode: got %q, want one of %q%s", f.mode, names, spell.Hint(f.mode, names))
	}
	m, err := openModel(path)
	if err != nil {
		return err
	}
	if err := f.setShapes(m); err != nil {
		return err
	}
	check, done, err := a.checker(ctx, f)
	if err != nil {
		return err
	}
	defer done()
	var facts *infer.Report
	o := surgery.BisectOptions{
		Mode: surgery.Mode(f.mode), Check: check, KeepInputs: f.noInputs, KeepOutputs: f.noOutputs,
		Infer: func(m *ir.Model) error { facts = infer.Model(m); return nil },
		Values: func(t *ir.Tensor) *array.Array {
			if facts == nil {
				return nil
			}
			return facts.Value(t)
		},
		Step: func(s surgery.BisectStep) {
			verdict := "fails"
			if s.Passes {
				verdict = "passes"
			}
			fmt.Fprintf(a.stderr, "check %d: %d nodes, %s: %s\n", s.Number, s.Nodes, clean(s.Why), verdict)
		},
	}
	r, err := surgery.Bisect(ctx, m, o)
	if errors.Is(err, surgery.ErrPasses) {
		return &statusError{exitBad, fmt.Errorf("reduce: %w", err)}
	}
	if err != nil {
		return err
	}
	return a.writeReduced(r, m, f)
}

func (a *app) writeReduced(r *surgery.BisectReport, m *ir.Model, f *reduceFlags) error {
	if err := saveModel(a, r.Bad, f.out); err != nil {
		return err
	}
	if f.minGood != "" && r.Good != nil {
		if err := saveModel(a, r.Good, f.minGood); err != nil {
			return err
		}
	}
	fmt.Fprintf(a.stdout, "nodes %d → %d after %d checks: %s\n", m.Graph().NumNodes(), r.Bad.Graph().NumNodes(), len(r.Steps), f.out)
	for _, n := range r.Bad.Graph().Nodes() {
		fmt.Fprintf(a.stdout, "  %s\n", clean(n.Label()))
	}
	return nil
}

// setShapes records the shapes that --shape gives on the model's inputs.
func (f *reduceFlags) setShapes(m *ir.Model) error {
	o, err := f.options(m.Graph())
	if err != nil {
		return err
	}
	for _, t := range m.Graph().Inputs() {
		if s, ok := o.Shapes[t.Name()]; ok {
			t.SetShape(ir.Ints(s...))
			delete(o.Shapes, t.Name())
		}
	}
	for name := range o.Shapes {
		return usagef("--shape: the model has no input %q%s", name, spell.Hint(name, portNames(m.Graph())))
	}
	return nil
}

// checker returns the check, and what to do when the search is over.
func (a *app) checker(ctx context.Context, f *reduceFlags) (checkFunc, func(), error) {
	switch {
	case f.script != "":
		check, err := a.scriptCheck(ctx, f.script)
		return check, func() {}, err
	case f.check == "":
		return nil, nil, usagef("reduce: got no check, want --check 'CMD {model}' or --check-script FILE.star")
	case !strings.Contains(f.check, "{model}"):
		return nil, nil, usagef("--check: got %q, want a command that holds {model}", f.check)
	}
	dir, err := os.MkdirTemp("", "sgs-reduce-")
	if err != nil {
		return nil, nil, err
	}
	var res []*regexp.Regexp
	for _, text := range f.regexes {
		re, err := regexp.Compile(text)
		if err != nil {
			return nil, nil, usagef("--fail-regex: %v", err)
		}
		res = append(res, re)
	}
	return func(ctx context.Context, m *ir.Model) (bool, error) {
		file := filepath.Join(dir, "model.onnx")
		if _, err := onnx.Save(m, file, onnx.SaveOptions{}); err != nil {
			return false, err
		}
		return f.runCommand(ctx, file, res)
	}, func() { os.RemoveAll(dir) }, nil
}

// runCommand gives the verdict of a command as Polygraphy does: an ignored
// status passes; with expressions and no statuses the output alone decides.
func (f *reduceFlags) runCommand(ctx context.Context, file string, res []*regexp.Regexp) (bool, error) {
	quoted := "'" + strings.ReplaceAll(file, "'", `'\''`) + "'"
	shell := []string{"sh", "-c"}
	if goruntime.GOOS == "windows" {
		quoted, shell = `"`+file+`"`, []string{"cmd", "/C"}
	}
	cmd := exec.CommandContext(ctx, shell[0], shell[1], strings.ReplaceAll(f.check, "{model}", quoted))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	code := 0
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			return false, err
		}
		code = exit.ExitCode()
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if slices.Contains(f.ignored, code) {
		return true, nil
	}
	bad := code != 0
	if len(f.codes) > 0 {
		bad = slices.Contains(f.codes, code)
	}
	if len(res) > 0 {
		matches := slices.ContainsFunc(res, func(re *regexp.Regexp) bool { return re.Match(out.Bytes()) })
		bad = matches && (len(f.codes) == 0 || bad)
	}
	return !bad, nil
}

// scriptCheck returns the function check of a script.
func (a *app) scriptCheck(ctx context.Context, path string) (checkFunc, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	h := a.host(scriptFlags{read: []string{".", filepath.Dir(path)}})
	globals, err := h.RunSource(ctx, path, string(src), nil)
	if err != nil {
		return nil, err
	}
	check, ok := globals["check"].(starlark.Callable)
	if !ok {
		var names []string
		for name := range globals {
			names = append(names, name)
		}
		return nil, usagef("--check-script %s: it defines no function check(model)%s", path, spell.Hint("check", names))
	}
	return func(ctx context.Context, m *ir.Model) (bool, error) {
		v, err := h.Call(ctx, check, h.Env().Graph(m.Graph()))
		if err != nil {
			return false, err
		}
		return bool(v.Truth()), nil
	}, nil
}
