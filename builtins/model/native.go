package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/runtime"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

// providersParam and optionsParam choose what a native backend runs on, and how.
var (
	providersParam = builtin.Opt("providers", nil, "list of string", "execution providers of onnxruntime, best first: cpu, webgpu, cuda, tensorrt, coreml, directml, openvino, or another by name. One that is missing or runs no node is an error")
	optionsParam   = builtin.Key("options", builtin.NoDict, "dict", `of a native session: optimization, threads, deterministic, "session.…" and so on; a dict of options by the name of a provider; sizes of symbols by "dimensions"; fallback = True makes a provider that can't be used a warning`)
)

// nativeOptions reads the arguments providers and options.
func nativeOptions(c *builtin.Call, o *runtime.Options) error {
	o.ProviderOptions, o.Settings = map[string]map[string]string{}, map[string]string{}
	for _, item := range c.Items("options") {
		name, err := value.AsText(item[0], "options")
		if err != nil {
			return err
		}
		if err := nativeOption(c, o, name, item[1]); err != nil {
			return err
		}
	}
	if c.Err() != nil || c.Env().AllowExec {
		return c.Err()
	}
	if err := o.Harmless(); err != nil {
		return c.ArgErrorf("options", "%v can reach files or native code, which a script may where the host lets it start commands (sgs run --allow-exec)", err)
	}
	return nil
}

func nativeOption(c *builtin.Call, o *runtime.Options, name string, v starlark.Value) error {
	what := fmt.Sprintf("options[%q]", name)
	if m, ok := v.(starlark.IterableMapping); ok {
		texts, err := optionTexts(m, what)
		switch {
		case err != nil:
			return err
		case name != "dimensions":
			o.ProviderOptions[name] = texts
			return nil
		}
		for symbol, size := range texts {
			o.Settings[runtime.DimensionPrefix+symbol] = size
		}
		return nil
	}
	if name == "fallback" {
		allowed, err := builtin.AsBool(v, what)
		if allowed {
			o.Fallback = func(why string) { c.Env().Warn(c.Thread, "%s", why) }
		}
		return err
	}
	text, err := optionText(v, what)
	o.Settings[name] = text
	return err
}

func optionTexts(m starlark.IterableMapping, what string) (map[string]string, error) {
	out := map[string]string{}
	for _, item := range m.Items() {
		key, err := value.AsText(item[0], what)
		if err != nil {
			return nil, err
		}
		if out[key], err = optionText(item[1], fmt.Sprintf("%s[%q]", what, key)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// optionText is a value as the runtime reads it.
func optionText(v starlark.Value, what string) (string, error) {
	switch v := v.(type) {
	case starlark.String:
		return string(v), nil
	case starlark.Bool:
		return map[bool]string{false: "0", true: "1"}[bool(v)], nil
	case starlark.Int:
		return v.String(), nil
	case starlark.Float:
		return strconv.FormatFloat(float64(v), 'g', -1, 64), nil
	}
	return "", fmt.Errorf("%s: got %s, want a string, a number or a bool", what, v.Type())
}

// backendFor returns the backend that the arguments name: onnxruntime where none is
// named, and providers are.
func (k *Kit) backendFor(c *builtin.Call, providers []string) (runtime.Backend, error) {
	if !c.Given("backend") && len(providers) > 0 {
		return k.backend(c, "onnxruntime")
	}
	return k.backend(c, c.Str("backend"))
}

// Session is a model that is ready to run, as a script holds it.
type Session struct {
	name   string // the backend with its providers
	g      value.Graph
	s      runtime.Session
	closed bool
}

var _ starlark.HasAttrs = (*Session)(nil)

// String returns the one-line form.
func (s *Session) String() string {
	return fmt.Sprintf("<session of %s on %s>", s.g.IR().Label(), s.name)
}

// Type returns "session".
func (s *Session) Type() string { return "session" }

// Freeze does nothing: a session has no state that a script can change but to close it.
func (s *Session) Freeze() {}

// Truth tells whether it is open.
func (s *Session) Truth() starlark.Bool { return starlark.Bool(!s.closed) }

// Hash fails.
func (s *Session) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable type: session") }

// Attr returns a method or property.
func (s *Session) Attr(name string) (starlark.Value, error) { return SessionTable.Bind(s, name) }

// AttrNames lists them.
func (s *Session) AttrNames() []string { return SessionTable.Names() }

const sessionExample = "g = graph(inputs = [variable(\"x\", \"float32\", [2])])\ng.outputs = [g.op.Neg(g.inputs[0])]\ns = session(g)\n"

func (k *Kit) sessionFunc() *builtin.Func {
	return &builtin.Func{
		Name: "session", Doc: "prepares a model to be run again and again. It must not be edited while the session is open; what a script leaves open is closed when it ends.",
		Params: []builtin.Param{
			builtin.Req("g", "graph or path", "the model"), builtin.Opt("backend", "reference", "string", "the backend; onnxruntime where providers are given"),
			providersParam, builtin.Opt("options", builtin.NoDict, "dict", optionsParam.Doc), builtin.Opt("outputs", nil, "list of string", `which values, None for the model's outputs, "all" for every one`), isolateParam,
		},
		Returns: "session", Example: sessionExample + "assert.eq(s.run({\"x\": np.array([1, -2], \"float32\")})[g.outputs[0].name].tolist(), [-1.0, 2.0])\ns.close()", Fn: k.session,
	}
}

// SessionTable is the methods of session.
var SessionTable = builtin.Methods(sessionMethods)

var sessionMethods = []*builtin.Func{
	{Name: "session.run", Doc: "runs the model and returns its outputs by name.",
		Params: []builtin.Param{builtin.Opt("inputs", builtin.NoDict, "dict", "arrays by input name")}, Returns: "dict",
		Example: sessionExample + "assert.eq(len(s.run({\"x\": [1, 2]})), 1)", Fn: runSession},
	{Name: "session.inputs", Doc: "what run takes: a list with name, dtype, shape and optional of each.", Property: true, Returns: "list",
		Example: sessionExample + "assert.eq(s.inputs[0].name, \"x\")", Fn: func(c *builtin.Call) (starlark.Value, error) { return ports(c.Recv.(*Session).s.Inputs()), nil }},
	{Name: "session.outputs", Doc: "what run returns: a list with name, dtype, shape and optional of each.", Property: true, Returns: "list",
		Example: sessionExample + "assert.eq(len(s.outputs), 1)", Fn: func(c *builtin.Call) (starlark.Value, error) { return ports(c.Recv.(*Session).s.Outputs()), nil }},
	{Name: "session.profile", Doc: "tells what the nodes of the first run did, by ONNX Runtime's own recording: the report has nodes, each with name, op, provider, runs and time in seconds, by the names of the graph as the runtime made it; placement, the names by provider; and copies, the number of those between devices.",
		Returns: "report", Example: sessionExample + "value, error = try_call(s.profile)\nassert.true(\"records no profile\" in error)", Fn: profileSession},
	{Name: "session.close", Doc: "ends the session, and gives its process back.", Example: sessionExample + "s.close()\nassert.true(not s)", Fn: func(c *builtin.Call) (starlark.Value, error) {
		s := c.Recv.(*Session)
		return starlark.None, s.end()
	}},
}

func ports(list []runtime.Port) starlark.Value {
	var out []starlark.Value
	for _, p := range list {
		dtype, shape := starlark.Value(starlark.None), starlark.Value(starlark.None)
		if p.Type != nil {
			dtype, shape = value.DTypeValue(p.Type.Elem), value.ShapeValue(p.Type.Shape)
		}
		out = append(out, starlarkstruct.FromStringDict(starlark.String("port"), starlark.StringDict{
			"name": value.Text(p.Name), "dtype": dtype, "shape": shape, "optional": starlark.Bool(p.Optional)}))
	}
	return starlark.NewList(out)
}

func (k *Kit) session(c *builtin.Call) (starlark.Value, error) {
	g, err := asGraph(c, "g")
	if err != nil {
		return nil, err
	}
	o := runtime.Options{Providers: c.Strs("providers"), Outputs: wantedOutputs(c), Profile: 1}
	if err := nativeOptions(c, &o); err != nil {
		return nil, err
	}
	b, err := k.backendFor(c, o.Providers)
	if err != nil || c.Err() != nil {
		return nil, cmp.Or(err, c.Err())
	}
	s, err := newSession(c.Context(), b, g, o)
	if err != nil {
		return nil, err
	}
	out := &Session{name: label(b.Name(), o.Providers), g: g, s: s}
	c.Env().OnClose(func() { _ = out.end() }) // the script is over
	return out, nil
}

// newSession opens a session of a graph that is a model's main one.
func newSession(ctx context.Context, b runtime.Backend, g value.Graph, o runtime.Options) (runtime.Session, error) {
	m, err := modelOf(g)
	if err != nil {
		return nil, err
	}
	if err := m.Verify(); err != nil {
		return nil, err
	}
	return b.NewSession(ctx, m, o)
}

// label names a backend with its providers.
func label(backend string, providers []string) string {
	if len(providers) == 0 {
		return backend
	}
	return backend + ":" + strings.Join(providers, ",")
}

var errClosed = errors.New("the session is closed")

func runSession(c *builtin.Call) (starlark.Value, error) {
	s := c.Recv.(*Session)
	if s.closed {
		return nil, errClosed
	}
	inputs, err := asInputs(c, s.g)
	if err != nil {
		return nil, err
	}
	out, err := s.s.Run(c.Context(), inputs)
	if err != nil {
		return nil, err
	}
	return Results(out), nil
}

func (s *Session) end() error {
	if s.closed {
		return nil
	}
	s.closed = true
	return s.s.Close()
}

func profileSession(c *builtin.Call) (starlark.Value, error) {
	s := c.Recv.(*Session)
	p, ok := s.s.(runtime.Profiled)
	if !ok {
		return nil, fmt.Errorf("the backend of %s records no profile", s)
	}
	profile, err := p.Profile()
	if err != nil {
		return nil, err
	}
	return profileReport(profile), nil
}

func profileReport(p *runtime.Profile) *Report {
	r := &Report{kind: "profile", ok: true, fields: starlark.StringDict{"placement": placed(p), "copies": starlark.MakeInt(p.Copies)}}
	var nodes []starlark.Value
	for _, n := range p.Nodes {
		nodes = append(nodes, starlarkstruct.FromStringDict(starlark.String("profiled_node"), starlark.StringDict{
			"name": value.Text(n.Name), "op": value.Text(n.Op), "provider": value.Text(n.Provider),
			"runs": starlark.MakeInt(n.Runs), "time": starlark.Float(n.Time.Seconds())}))
	}
	r.fields["nodes"] = starlark.NewList(nodes)
	r.lines = placementLines(p)
	return r
}

// placementLines are the rows of a table: how many nodes, and which, ran where.
func placementLines(p *runtime.Profile) [][]string {
	rows := [][]string{{"placement", p.PlacementText()}}
	for _, g := range p.Placement() {
		rows = append(rows, []string{g.Provider, g.Ops()})
	}
	return rows
}

// placed is the names of the nodes by provider.
func placed(p *runtime.Profile) starlark.Value {
	d := &starlark.Dict{}
	for _, g := range p.Placement() {
		names := make([]starlark.Value, len(g.Nodes))
		for i, n := range g.Nodes {
			names[i] = value.Text(n.Name)
		}
		_ = d.SetKey(value.Text(g.Provider), starlark.NewList(names)) // a string is hashable and the dict is new
	}
	return d
}
