// Package model is what a script calls to open and save models, to run the
// passes of package surgery over them, and to run them.
package model

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/internal/spell"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx"
	"github.com/starlarkgs/starlarkgs/runtime"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

// Kit is the functions and methods of one host.
type Kit struct {
	backends []runtime.Backend
	report   map[*ir.Graph]starlark.Value // the last report of each graph
}

// New returns the kit of a host that has these backends, the first being the
// default.
func New(backends []runtime.Backend) *Kit {
	return &Kit{backends: backends, report: map[*ir.Graph]starlark.Value{}}
}

// isolateParam tells where a native backend runs.
var isolateParam = builtin.Key("isolate", true, "bool", "run a native backend in a process of its own, which a crash ends alone; False costs less a call")

// backend returns the one of that name, as the argument isolate says.
func (k *Kit) backend(c *builtin.Call, name string) (runtime.Backend, error) {
	var names []string
	for _, b := range k.backends {
		switch {
		case b.Name() != name:
			names = append(names, b.Name())
		case c.Bool("isolate"):
			return b, nil
		default:
			return runtime.InProcess(b), nil
		}
	}
	return nil, fmt.Errorf("backend: got %q, want one of %q%s", name, names, spell.Hint(name, names))
}

// asGraph returns the graph that an argument is, or that the file it names holds.
func asGraph(c *builtin.Call, name string) (value.Graph, error) {
	switch v := c.Value(name).(type) {
	case value.Graph:
		return v, nil
	case starlark.String:
		return openPath(c.Env(), string(v))
	default:
		return value.Graph{}, c.ArgErrorf(name, "got %s, want a graph or the path of a model", v.Type())
	}
}

func openPath(env *value.Env, path string) (value.Graph, error) {
	allowed, err := env.Files.Read(path)
	if err != nil {
		return value.Graph{}, err
	}
	m, err := onnx.Open(allowed, onnx.OpenOptions{})
	if err != nil {
		return value.Graph{}, err
	}
	return env.Graph(m.Graph()).(value.Graph), nil
}

// modelOf returns the model of a graph that is a model's main one.
func modelOf(g value.Graph) (*ir.Model, error) {
	m := g.IR().Model()
	if m == nil || m.Graph() != g.IR() {
		return nil, fmt.Errorf("got %s, want a model's main graph", g.IR().Path())
	}
	return m, nil
}

// Funcs returns the predeclared functions.
func (k *Kit) Funcs() []*builtin.Func {
	return append([]*builtin.Func{
		openFunc, k.sessionFunc(),
		{
			Name: "run", Doc: "runs a model on inputs and returns its outputs by name. An input that is not given is an error; random_inputs makes them.",
			Params: []builtin.Param{
				builtin.Req("g", "graph or path", "the model"), builtin.Opt("inputs", builtin.NoDict, "dict", "arrays by input name"),
				builtin.Opt("backend", "reference", "string", "the backend; onnxruntime where providers are given"), builtin.Opt("outputs", nil, "list of string", `which values, None for the model's outputs, "all" for every one`),
				providersParam, optionsParam,
				builtin.Opt("validate", false, "bool", "make NaN or Inf in a result an error that names the first value, in topological order, that holds any"), isolateParam,
			},
			Returns: "dict", Example: "g = graph(inputs = [variable(\"x\", \"float32\", [2])])\ny = g.op.Relu(g.inputs[0])\ng.outputs = [y]\nassert.eq(run(g, {\"x\": np.array([-1, 2], \"float32\")})[y.name].tolist(), [0.0, 2.0])",
			Fn: k.run,
		},
		{
			Name: "random_inputs", Doc: "makes seeded random inputs for a model. Sizes that are not known are 1 unless shapes gives them; floats lie in [0, 1], unless ranges says otherwise.",
			Params: []builtin.Param{builtin.Req("g", "graph or path", "the model"), builtin.Opt("seed", 0, "int", "the seed"),
				builtin.Opt("shapes", builtin.NoDict, "dict", "sizes by input name"), builtin.Opt("ranges", builtin.NoDict, "dict", "pairs of least and largest by input name")},
			Returns: "dict", Example: "g = graph(inputs = [variable(\"x\", \"float32\", [\"N\", 2])])\nassert.eq(random_inputs(g, shapes = {\"x\": [3, 2]})[\"x\"].shape, [3, 2])",
			Fn: randomInputs,
		},
		{
			Name: "backends", Doc: "tells which backends are available here: a dict from name to None, or to why it is not.",
			Returns: "dict", Example: `assert.eq(backends()["reference"], None)`,
			Fn: func(*builtin.Call) (starlark.Value, error) {
				d := starlark.NewDict(len(k.backends))
				for _, b := range k.backends {
					var why starlark.Value = starlark.None
					if err := b.Available(); err != nil {
						why = starlark.String(err.Error())
					}
					if err := d.SetKey(starlark.String(b.Name()), why); err != nil {
						return nil, err
					}
				}
				return d, nil
			},
		},
	}, slices.Concat(k.surgeryFuncs(), k.searchFuncs(), k.patternFuncs())...)
}

// Methods returns the methods of graph.
func (k *Kit) Methods() []*builtin.Func {
	return slices.Concat([]*builtin.Func{saveMethod}, k.surgeryMethods(), k.patternMethods())
}

func (k *Kit) run(c *builtin.Call) (starlark.Value, error) {
	g, err := asGraph(c, "g")
	if err != nil {
		return nil, err
	}
	inputs, err := asInputs(c, g)
	if err != nil {
		return nil, err
	}
	o := runtime.Options{Providers: c.Strs("providers"), Outputs: wantedOutputs(c)}
	if err := nativeOptions(c, &o); err != nil {
		return nil, err
	}
	b, err := k.backendFor(c, o.Providers)
	if err != nil || c.Err() != nil {
		return nil, cmp.Or(err, c.Err())
	}
	out, _, err := runModel(c.Context(), b, g, inputs, o)
	if err == nil && c.Bool("validate") {
		err = runtime.Validate(g.IR(), inputs, out, func() (map[string]array.Value, error) {
			o.Outputs = []string{runtime.All}
			all, _, err := runModel(c.Context(), b, g, inputs, o)
			return all, err
		})
	}
	if err != nil {
		return nil, err
	}
	return Results(out), nil
}

// runModel returns the outputs, and the profile where o asks for one and the backend
// has it.
func runModel(ctx context.Context, b runtime.Backend, g value.Graph, inputs map[string]array.Value, o runtime.Options) (map[string]array.Value, *runtime.Profile, error) {
	s, err := newSession(ctx, b, g, o)
	if err != nil {
		return nil, nil, err
	}
	defer s.Close()
	out, err := s.Run(ctx, inputs)
	if p, ok := s.(runtime.Profiled); err == nil && ok && o.Profile != 0 {
		profile, err := p.Profile()
		return out, profile, err
	}
	return out, nil, err
}

// asInputs converts the argument inputs: arrays of the type that the model takes.
func asInputs(c *builtin.Call, g value.Graph) (map[string]array.Value, error) {
	types := map[string]*ir.Type{}
	for _, p := range runtime.InputPorts(g.IR()) {
		types[p.Name] = p.Type
	}
	out := map[string]array.Value{}
	for _, item := range c.Items("inputs") {
		name, err := value.AsText(item[0], "inputs")
		if err != nil {
			return nil, err
		}
		dt := array.Undefined
		if _, isArray := item[1].(*value.Array); !isArray && types[name] != nil {
			dt = types[name].Elem
		}
		if out[name], err = asValue(item[1], dt, fmt.Sprintf("inputs[%q]", name)); err != nil {
			return nil, err
		}
	}
	return out, c.Err()
}

func asValue(v starlark.Value, dt array.DType, what string) (array.Value, error) {
	a, err := value.AsArray(v, dt, what)
	if err != nil {
		return nil, err
	}
	return a, nil
}

// Results returns values by name as a script sees them, sorted by name.
func Results(out map[string]array.Value) *starlark.Dict {
	names := make([]string, 0, len(out))
	for name := range out {
		names = append(names, name)
	}
	sort.Strings(names)
	d := starlark.NewDict(len(out))
	for _, name := range names {
		// strings are hashable, and the dict is new
		_ = d.SetKey(value.Text(name), scriptValue(out[name]))
	}
	return d
}

// scriptValue converts a result: arrays, lists for sequences, dicts for maps,
// None for an absent optional.
func scriptValue(v array.Value) starlark.Value {
	switch v := v.(type) {
	case *array.Array:
		return value.NewArray(v)
	case *array.Sequence:
		items := make([]starlark.Value, len(v.Items))
		for i, x := range v.Items {
			items[i] = scriptValue(x)
		}
		return starlark.NewList(items)
	case *array.Optional:
		if v.Value != nil {
			return scriptValue(v.Value)
		}
	case *array.Map:
		d := starlark.NewDict(len(v.Values))
		for i, x := range v.Values {
			_ = d.SetKey(value.ElementValue(v.Keys, i), scriptValue(x)) // numbers and strings are hashable
		}
		return d
	}
	return starlark.None
}

func randomInputs(c *builtin.Call) (starlark.Value, error) {
	g, err := asGraph(c, "g")
	if err != nil {
		return nil, err
	}
	o := runtime.InputOptions{Seed: uint64(c.Int("seed")), Shapes: map[string][]int{}, Ranges: map[string][2]float64{}}
	for _, item := range c.Items("shapes") {
		name, err := value.AsText(item[0], "shapes")
		if err != nil {
			return nil, err
		}
		if o.Shapes[name], err = builtin.Each(builtin.AsInt)(item[1], "shapes"); err != nil {
			return nil, err
		}
	}
	for _, item := range c.Items("ranges") {
		name, err := value.AsText(item[0], "ranges")
		if err != nil {
			return nil, err
		}
		pair, err := builtin.Each(builtin.AsFloat)(item[1], "ranges")
		if err != nil {
			return nil, err
		}
		if len(pair) != 2 {
			return nil, c.ArgErrorf("ranges", "got %d numbers for %q, want 2", len(pair), name)
		}
		o.Ranges[name] = [2]float64(pair)
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	vs, err := runtime.RandomInputs(g.IR(), o)
	if err != nil {
		return nil, err
	}
	return Results(vs), nil
}
