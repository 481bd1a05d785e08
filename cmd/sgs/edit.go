package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/spf13/cobra"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/atomicfile"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops/infer"
	"github.com/starlarkgs/starlarkgs/runtime/reference"
	"github.com/starlarkgs/starlarkgs/surgery"
)

// output adds the flag -o, which is required.
func output(c *cobra.Command, to *string) {
	c.Flags().StringVarP(to, "output-file", "o", "", "the file to write (required)")
	if err := c.MarkFlagRequired("output-file"); err != nil {
		panic(err) // the flag was just made
	}
}

func newSanitize(a *app) *cobra.Command {
	var out, report, budget string
	var noFold, noSimplify, exact bool
	var exclude, skip []string
	c := &cobra.Command{
		Use:   "sanitize MODEL -o OUT",
		Short: "Fold constants, simplify and tidy a model",
		Args:  args("MODEL", 1, 1),
		RunE: func(cmd *cobra.Command, got []string) error {
			if err := apart("--report", report, got[0], out); err != nil {
				return err
			}
			m, err := openModel(got[0])
			if err != nil {
				return err
			}
			o := surgery.SanitizeOptions{Backend: reference.New(), NoFold: noFold, NoSimplify: noSimplify, ExactOnly: exact, Exclude: exclude,
				Skip: func(n *ir.Node) bool { return n.Name() != "" && slices.Contains(skip, n.Name()) }}
			if err := readBudget(budget, &o.SizeBudget); err != nil {
				return err
			}
			r, err := surgery.Sanitize(cmd.Context(), m, o)
			if err != nil {
				return err
			}
			if err := saveModel(a, m, out); err != nil {
				return err
			}
			if report != "" {
				data, err := json.MarshalIndent(r, "", "  ")
				if err != nil {
					return err
				}
				if err := atomicfile.Replace(report, append(data, '\n')); err != nil {
					return err
				}
			}
			a.showSanitize(r)
			return nil
		},
	}
	output(c, &out)
	c.Flags().BoolVar(&noFold, "no-fold", false, "do not compute what is constant")
	c.Flags().BoolVar(&noSimplify, "no-simplify", false, "do not rewrite by rules")
	c.Flags().BoolVar(&exact, "exact", false, "only rules that give bit-equal results")
	c.Flags().StringVar(&budget, "size-budget", "", "bytes by which folding may make the model grow, or none")
	c.Flags().StringArrayVar(&exclude, "exclude", nil, "a rule to leave out (repeatable)")
	c.Flags().StringArrayVar(&skip, "skip", nil, "a node that folding leaves alone (repeatable)")
	c.Flags().StringVar(&report, "report", "", "write what was done as JSON")
	return c
}

func readBudget(text string, to *int64) error {
	switch text {
	case "":
		return nil
	case "none":
		*to = -1
		return nil
	}
	var b byteSize
	if err := b.Set(text); err != nil {
		return usagef("--size-budget: %v", err)
	}
	*to = int64(b)
	return nil
}

func (a *app) showSanitize(r *surgery.SanitizeReport) {
	fmt.Fprintf(a.stdout, "nodes %d → %d, %d folded, %d rounds\n", r.NodesBefore, r.NodesAfter, len(r.Fold.Folded), r.Rounds)
	var names []string
	for name := range r.Simplify {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Fprintf(a.stdout, "  %s × %d\n", name, r.Simplify[name])
	}
	for _, e := range r.Fold.Failed {
		fmt.Fprintf(a.stdout, "  failed: %s: %s\n", clean(e.Node), clean(e.Reason))
	}
}

func newExtract(a *app) *cobra.Command {
	var out string
	var ins, outs []string
	c := &cobra.Command{
		Use:   "extract MODEL -o OUT --input NAME[:SHAPE[:DTYPE]]… --output NAME[:DTYPE]…",
		Short: "Cut a part of a model out",
		Args:  args("MODEL", 1, 1),
		RunE: func(_ *cobra.Command, got []string) error {
			m, err := openModel(got[0])
			if err != nil {
				return err
			}
			var names []string
			for _, t := range m.Graph().Tensors() {
				names = append(names, t.Name())
			}
			o := surgery.ExtractOptions{Infer: func(m *ir.Model) error { infer.Model(m); return nil }}
			for _, s := range ins {
				cut, err := parseCut(s, names, true)
				if err != nil {
					return err
				}
				o.Inputs = append(o.Inputs, cut)
			}
			for _, s := range outs {
				cut, err := parseCut(s, names, false)
				if err != nil {
					return err
				}
				o.Outputs = append(o.Outputs, cut)
			}
			before := m.Graph().NumNodes()
			if err := surgery.Extract(m, o); err != nil {
				return nameStatus(err)
			}
			if err := saveModel(a, m, out); err != nil {
				return err
			}
			fmt.Fprintf(a.stdout, "nodes %d → %d\n", before, m.Graph().NumNodes())
			return nil
		},
	}
	output(c, &out)
	c.Flags().StringArrayVar(&ins, "input", nil, "an input of the part, NAME[:SHAPE[:DTYPE]], each may be auto (repeatable)")
	c.Flags().StringArrayVar(&outs, "output", nil, "an output of the part, NAME[:DTYPE] (repeatable)")
	return c
}

// parseCut reads NAME[:SHAPE[:DTYPE]]; the longest prefix that is a name of the
// model wins.
func parseCut(text string, names []string, withShape bool) (surgery.Cut, error) {
	if slices.Contains(names, text) {
		return surgery.Cut{Name: text}, nil
	}
	name, rest, err := named(text, names, "cut")
	if err != nil {
		return surgery.Cut{Name: text}, nil // an unknown name; the pass says which is near
	}
	cut := surgery.Cut{Name: name}
	if withShape && (strings.HasPrefix(rest, "[") || strings.HasPrefix(rest, "auto")) {
		shape, dtype, _ := cutShape(rest)
		if shape != "auto" {
			if cut.Shape, err = parseShape(shape); err != nil {
				return cut, usagef("%s: %v", text, err)
			}
		}
		rest = dtype
	}
	if rest != "" && rest != "auto" {
		if cut.DType, err = array.ParseDType(rest); err != nil {
			return cut, usagef("%s: dtype: %v", text, err)
		}
	}
	return cut, nil
}

func cutShape(text string) (shape, rest string, ok bool) {
	if i := strings.IndexByte(text, ']'); strings.HasPrefix(text, "[") && i > 0 {
		return text[:i+1], strings.TrimPrefix(text[i+1:], ":"), true
	}
	return strings.Cut(text, ":")
}

// parseShape reads [1,3,N,224]; ? and an empty item are unknown sizes.
func parseShape(text string) (ir.Shape, error) {
	inner, ok := strings.CutPrefix(text, "[")
	inner, ok2 := strings.CutSuffix(inner, "]")
	if !ok || !ok2 {
		return nil, fmt.Errorf("shape: got %q, want [1,3,N,224]", text)
	}
	shape := ir.Shape{}
	if strings.TrimSpace(inner) == "" {
		return shape, nil
	}
	for _, item := range strings.Split(inner, ",") {
		item = strings.Trim(strings.TrimSpace(item), `"'`)
		var n int64
		if _, err := fmt.Sscanf(item, "%d", &n); err == nil && fmt.Sprint(n) == item {
			shape = append(shape, ir.Num(n))
		} else if item == "?" || item == "" {
			shape = append(shape, ir.Dim{})
		} else {
			shape = append(shape, ir.Sym(item))
		}
	}
	return shape, nil
}

// apart refuses to write what a flag names over a model that the command reads or
// writes.
func apart(flag, file string, models ...string) error {
	if file == "" {
		return nil
	}
	info, err := os.Stat(file)
	for _, m := range models {
		other, errOther := os.Stat(m)
		if filepath.Clean(file) == filepath.Clean(m) || err == nil && errOther == nil && os.SameFile(info, other) {
			return usagef("%s: got %s, the model itself, want another file", flag, file)
		}
	}
	return nil
}
