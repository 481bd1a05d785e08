package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/nofile"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx"
	"github.com/starlarkgs/starlarkgs/runtime"
)

// inputFlags are the flags that make the inputs of a run.
type inputFlags struct {
	shapes, ranges []string
	seed           uint64
	from           string
}

func (f *inputFlags) register(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.shapes, "shape", nil, "the shape of an input, NAME:[1,3,224,224] (repeatable)")
	c.Flags().StringArrayVar(&f.ranges, "range", nil, "the least and largest element of an input, NAME:[a,b] (repeatable)")
	c.Flags().Uint64Var(&f.seed, "seed", 0, "the seed of random inputs")
	c.Flags().StringVar(&f.from, "inputs", "", "take inputs from a .npz file, or a folder of input_*.pb")
}

// named splits NAME:VALUE: the longest prefix that is one of names wins.
func named(text string, names []string, what string) (name, value string, err error) {
	best := -1
	for i, n := range names {
		if strings.HasPrefix(text, n+":") && (best < 0 || len(n) > len(names[best])) {
			best = i
		}
	}
	if best >= 0 {
		return names[best], text[len(names[best])+1:], nil
	}
	name, value, ok := strings.Cut(text, ":")
	if !ok {
		return "", "", usagef("%s: got %q, want NAME:VALUE", what, text)
	}
	return name, value, nil
}

// numbers reads [1,2,3].
func numbers(text, what string) ([]float64, error) {
	var out []float64
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		return nil, usagef("%s: got %q, want numbers such as [1,3,224,224]", what, text)
	}
	return out, nil
}

func portNames(g *ir.Graph) []string {
	var names []string
	for _, p := range runtime.InputPorts(g) {
		names = append(names, p.Name)
	}
	return names
}

// options reads the flags against the model's inputs.
func (f *inputFlags) options(g *ir.Graph) (runtime.InputOptions, error) {
	o := runtime.InputOptions{Seed: f.seed, Shapes: map[string][]int{}, Ranges: map[string][2]float64{}}
	names := portNames(g)
	for _, s := range f.shapes {
		name, text, err := named(s, names, "--shape")
		if err != nil {
			return o, err
		}
		dims, err := numbers(text, "--shape "+name)
		if err != nil {
			return o, err
		}
		shape := make([]int, len(dims))
		for i, d := range dims {
			if shape[i] = int(d); d < 0 || float64(shape[i]) != d {
				return o, usagef("--shape %s: got %v, want sizes ≥ 0", name, dims)
			}
		}
		o.Shapes[name] = shape
	}
	for _, s := range f.ranges {
		name, text, err := named(s, names, "--range")
		if err != nil {
			return o, err
		}
		pair, err := numbers(text, "--range "+name)
		if err != nil {
			return o, err
		}
		if len(pair) != 2 || pair[0] > pair[1] {
			return o, usagef("--range %s: got %v, want [least,largest]", name, pair)
		}
		o.Ranges[name] = [2]float64(pair)
	}
	return o, nil
}

// inputs makes the inputs of a model.
func (f *inputFlags) inputs(g *ir.Graph) (map[string]array.Value, error) {
	o, err := f.options(g)
	if err != nil {
		return nil, err
	}
	given := map[string]array.Value{}
	if f.from != "" {
		if given, err = readInputs(f.from, g); err != nil {
			return nil, err
		}
	}
	made, err := runtime.RandomInputs(g, o)
	if err != nil && len(given) < len(portNames(g)) {
		return nil, statusOfInput(err)
	}
	for name, v := range given {
		if made == nil {
			made = map[string]array.Value{}
		}
		made[name] = v
	}
	return made, nil
}

// statusOfInput makes an unknown name a usage error.
func statusOfInput(err error) error {
	var name *runtime.NameError
	if errors.As(err, &name) {
		return &statusError{exitUsage, err}
	}
	return err
}

func readInputs(path string, g *ir.Graph) (map[string]array.Value, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nofile.Explain(err)
	}
	if !info.IsDir() {
		if filepath.Ext(path) != ".npz" {
			return nil, usagef("--inputs: got %q, want a .npz file or a folder of input_*.pb", path)
		}
		vs, err := runtime.ReadNPZ(path)
		if err != nil {
			return nil, &statusError{exitFile, err}
		}
		return vs, nil
	}
	out := map[string]array.Value{}
	for i, p := range runtime.InputPorts(g) {
		file := filepath.Join(path, fmt.Sprintf("input_%s.pb", strconv.Itoa(i)))
		if _, err := os.Stat(file); err != nil {
			continue
		}
		if out[p.Name], err = onnx.ReadValue(file, p.Type); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func openModel(path string) (*ir.Model, error) {
	m, err := onnx.Open(path, onnx.OpenOptions{})
	if err != nil {
		return nil, &statusError{exitFile, err}
	}
	return m, nil
}

func saveModel(a *app, m *ir.Model, path string) error {
	r, err := onnx.Save(m, path, onnx.SaveOptions{})
	if err != nil {
		return err
	}
	for _, n := range r.Notes {
		fmt.Fprintf(a.stderr, "sgs: note: %s\n", n)
	}
	return nil
}
