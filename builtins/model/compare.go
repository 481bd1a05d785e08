package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/runtime"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
	"github.com/starlarkgs/starlarkgs/surgery"
)

func (k *Kit) searchFuncs() []*builtin.Func {
	return []*builtin.Func{
		{
			Name: "compare", Doc: "runs a model twice and compares the results by name: on two backends, or against another model or saved outputs on the first. A value passes when |a-b| <= atol + rtol*|b|. The report names the first value, in topological order, that differs; placement has, for either result, the nodes by provider, None on a backend without.",
			Params: []builtin.Param{
				builtin.Req("g", "graph or path", "the model"), builtin.Opt("other", nil, "graph, path or dict", "a second model, or saved outputs: a dict or an .npz file"),
				builtin.Opt("backends", nil, "list of string or session", `the backends, "onnxruntime:cuda,cpu" naming providers, or sessions; None for the reference and, without other, onnxruntime`),
				builtin.Opt("inputs", nil, "dict", "arrays by input name, None for seeded random ones"),
				builtin.Opt("outputs", nil, "list of string", `which values, None for the model's outputs, "all" for every one`),
				builtin.Opt("rtol", 1e-4, "float", "the relative tolerance"), builtin.Opt("atol", 1e-4, "float", "the absolute tolerance"),
				builtin.Opt("equal_nan", true, "bool", "whether NaN equals NaN"), optionsParam, isolateParam,
			},
			Returns: "report", Example: smallGraph + "r = compare(g, g, inputs = {\"x\": [1, -2]})\nassert.true(r.ok)\nassert.eq(r.first_diverging, None)", Fn: k.compare,
		},
		{
			Name: "bisect", Doc: "searches for the smallest part of a model that fails a check. The check gets a graph and returns a true value when it passes; an error in it ends the search. The report has graph, the smallest failing part, good, the passing one closest to it, or None, and steps.",
			Params: []builtin.Param{
				builtin.Req("g", "graph or path", "the model, which stays as it is"), builtin.Req("check", "function", "tells whether a graph passes"),
				builtin.Opt("mode", string(surgery.DDMin), "string", "ddmin, bisect or linear"),
			},
			Returns: "report", Example: smallGraph + "def check(model):\n    return not model.find(op = \"Relu\")\n\nr = bisect(g, check)\nassert.eq([n.op for n in r.graph.nodes], [\"Relu\"])", Fn: bisect,
		},
	}
}

// half is one of the two results that compare looks at.
type half struct {
	values map[string]array.Value
	order  []string // the names, in topological order
	placed *runtime.Profile
}

func (k *Kit) compare(c *builtin.Call) (starlark.Value, error) {
	g, err := asGraph(c, "g")
	if err != nil {
		return nil, err
	}
	inputs, err := inputsOrRandom(c, g)
	if err != nil {
		return nil, err
	}
	outputs, err := wantedOutputs(c), c.Err()
	if err != nil {
		return nil, err
	}
	a, b, err := k.halves(c, g, inputs, outputs)
	if err != nil {
		return nil, err
	}
	tol := runtime.Tolerance{Rtol: c.Float("rtol"), Atol: c.Float("atol"), EqualNaN: c.Bool("equal_nan")}
	if err := c.Err(); err != nil {
		return nil, err
	}
	r := comparedReport(a, b, tol, outputs == nil)
	if r.fields["outputs"].(*starlark.Dict).Len() == 0 {
		return nil, errors.New("compare: the results have no value of a common name")
	}
	if !r.ok && outputs == nil && c.IsNone("other") { // look inside, for where it begins
		if a, b, err := k.halves(c, g, inputs, []string{runtime.All}); err == nil {
			r.fields["first_diverging"] = comparedReport(a, b, tol, false).fields["first_diverging"]
		}
	}
	return r, nil
}

func inputsOrRandom(c *builtin.Call, g value.Graph) (map[string]array.Value, error) {
	if c.IsNone("inputs") {
		return runtime.RandomInputs(g.IR(), runtime.InputOptions{})
	}
	return asInputs(c, g)
}

func wantedOutputs(c *builtin.Call) []string {
	switch v := c.Value("outputs").(type) {
	case starlark.NoneType:
		return nil
	case starlark.String:
		if v == "all" {
			return []string{runtime.All}
		}
		return []string{string(v)}
	}
	return c.Strs("outputs")
}

// halves computes, or takes from other, the two results.
func (k *Kit) halves(c *builtin.Call, g value.Graph, inputs map[string]array.Value, outputs []string) (a, b half, err error) {
	specs := []starlark.Value{starlark.String("reference")}
	if c.IsNone("other") {
		specs = append(specs, starlark.String("onnxruntime"))
	}
	if !c.IsNone("backends") {
		specs = c.List("backends")
	}
	switch {
	case c.Err() != nil:
		return a, b, c.Err()
	case len(specs) < 1 || len(specs) > 2 || len(specs) == 1 && c.IsNone("other"):
		return a, b, c.ArgErrorf("backends", "got %d, want two, or one and another model or saved outputs", len(specs))
	}
	if a, err = k.half(c, g, specs[0], inputs, outputs); err != nil {
		return a, b, err
	}
	second := specs[len(specs)-1]
	switch v := c.Value("other").(type) {
	case starlark.NoneType:
		b, err = k.half(c, g, second, inputs, outputs)
	case *starlark.Dict:
		b, err = savedHalf(v)
	case starlark.String:
		if strings.HasSuffix(strings.ToLower(string(v)), ".npz") {
			path, err := c.Env().Files.Read(string(v))
			if err != nil {
				return a, b, err
			}
			b.values, err = runtime.ReadNPZ(path)
			return a, b, err
		}
		other, err := openPath(c.Env(), string(v))
		if err != nil {
			return a, b, err
		}
		b, err = k.half(c, other, second, inputs, outputs)
		return a, b, err
	default:
		other, err := asGraph(c, "other")
		if err != nil {
			return a, b, err
		}
		b, err = k.half(c, other, second, inputs, outputs)
		return a, b, err
	}
	return a, b, err
}

// half runs a model on a backend of that name, or what a session is open of.
func (k *Kit) half(c *builtin.Call, g value.Graph, spec starlark.Value, inputs map[string]array.Value, outputs []string) (half, error) {
	if s, ok := spec.(*Session); ok {
		return s.half(c, inputs, outputs)
	}
	text, err := builtin.AsString(spec, "backends")
	if err != nil {
		return half{}, err
	}
	name, list, _ := strings.Cut(text, ":")
	o := runtime.Options{Outputs: outputs, Profile: 1}
	if list != "" {
		o.Providers = strings.Split(list, ",")
	}
	b, err := k.backend(c, name)
	if err != nil {
		return half{}, err
	}
	if err := optionsOfHalf(c, &o, name); err != nil {
		return half{}, err
	}
	values, profile, err := runModel(c.Context(), b, g, inputs, o)
	if err != nil {
		return half{}, runtime.Labelled(text, err)
	}
	return half{values, valueOrder(g.IR(), values), profile}, nil
}

// optionsOfHalf reads the argument options for one of two backends: what names a
// provider is for the one that has it, and the reference backend takes none.
func optionsOfHalf(c *builtin.Call, o *runtime.Options, backend string) error {
	if err := nativeOptions(c, o); err != nil {
		return err
	}
	if backend == "reference" {
		o.Settings = nil
	}
	for name := range o.ProviderOptions {
		if !slices.ContainsFunc(o.Providers, func(p string) bool { return runtime.IsProvider(p, name) }) {
			delete(o.ProviderOptions, name)
		}
	}
	return nil
}

func (s *Session) half(c *builtin.Call, inputs map[string]array.Value, outputs []string) (half, error) {
	if s.closed {
		return half{}, errClosed
	}
	if outputs != nil {
		return half{}, c.ArgErrorf("outputs", "got %q, want None: a session has the outputs that it was made with", outputs)
	}
	values, err := s.s.Run(c.Context(), inputs)
	if err != nil {
		return half{}, runtime.Labelled(s.name, err)
	}
	h := half{values: values, order: valueOrder(s.g.IR(), values)}
	if p, ok := s.s.(runtime.Profiled); ok {
		h.placed, err = p.Profile()
	}
	return h, err
}

// valueOrder lists the values' names as the graph makes them.
func valueOrder(g *ir.Graph, values map[string]array.Value) []string {
	return slices.DeleteFunc(runtime.ValueOrder(g), func(name string) bool { return values[name] == nil })
}

func savedHalf(d *starlark.Dict) (half, error) {
	h := half{values: map[string]array.Value{}}
	for _, item := range d.Items() {
		name, err := value.AsText(item[0], "other")
		if err != nil {
			return h, err
		}
		if h.values[name], err = asValue(item[1], array.Undefined, fmt.Sprintf("other[%q]", name)); err != nil {
			return h, err
		}
	}
	return h, nil
}

// comparedReport compares what both have; where all is set, what only one has
// is a difference.
func comparedReport(a, b half, tol runtime.Tolerance, all bool) *Report {
	r := &Report{kind: "compare", ok: true, fields: starlark.StringDict{"first_diverging": starlark.None}}
	outputs := starlark.NewDict(len(a.order))
	for _, name := range a.order {
		d := runtime.Difference{Reason: "only one of the results has it", First: -1}
		if w := b.values[name]; w != nil {
			d = runtime.Compare(a.values[name], w, tol)
		} else if !all {
			continue
		}
		if !d.OK {
			if r.ok {
				r.fields["first_diverging"] = starlark.String(name)
			}
			r.ok = false
		}
		r.lines = append(r.lines, []string{name, d.Text()})
		_ = outputs.SetKey(starlark.String(name), difference(d)) // a string is hashable and the dict is new
	}
	r.fields["outputs"] = outputs
	r.place(a, b)
	return r
}

// place adds which provider ran which nodes on either side.
func (r *Report) place(halves ...half) {
	sides := make([]starlark.Value, len(halves))
	for i, h := range halves {
		sides[i] = starlark.None
		if h.placed != nil {
			sides[i] = placed(h.placed)
			r.lines = append(r.lines, placementLines(h.placed)...)
		}
	}
	r.fields["placement"] = starlark.NewList(sides)
}

func difference(d runtime.Difference) starlark.Value {
	var bins []starlark.Value
	for _, n := range d.Histogram {
		bins = append(bins, starlark.MakeInt(n))
	}
	return starlarkstruct.FromStringDict(starlark.String("difference"), starlark.StringDict{
		"ok": starlark.Bool(d.OK), "reason": starlark.String(d.Reason), "bad": starlark.MakeInt(d.Bad), "count": starlark.MakeInt(d.Count),
		"max_abs": starlark.Float(d.MaxAbs), "mean_abs": starlark.Float(d.MeanAbs), "median_abs": starlark.Float(d.MedAbs),
		"max_rel": starlark.Float(d.MaxRel), "mean_rel": starlark.Float(d.MeanRel), "median_rel": starlark.Float(d.MedRel),
		"max_ulp": starlark.Float(d.MaxULP), "cosine": starlark.Float(d.Cosine), "histogram": starlark.NewList(bins),
	})
}
