package model

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops/schema"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
	"github.com/starlarkgs/starlarkgs/surgery"
)

// traced is a value of a pattern, as its function sees it.
type traced struct{ v *surgery.PatternValue }

var (
	_ starlark.HasBinary = traced{}
	_ starlark.HasUnary  = traced{}
)

func (t traced) String() string        { return "<value of a pattern>" }
func (t traced) Type() string          { return "pattern_value" }
func (t traced) Freeze()               {}
func (t traced) Truth() starlark.Bool  { return true }
func (t traced) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable type: pattern_value") }

var arithmetic = map[syntax.Token]string{syntax.PLUS: "Add", syntax.MINUS: "Sub", syntax.STAR: "Mul", syntax.SLASH: "Div"}

// Binary is a node of the operator that + - * / stand for.
func (t traced) Binary(op syntax.Token, y starlark.Value, side starlark.Side) (starlark.Value, error) {
	name := arithmetic[op]
	if name == "" {
		return nil, nil
	}
	other, err := patternInput(y, name)
	if err != nil {
		return nil, err
	}
	inputs := []*surgery.PatternValue{t.v, other}
	if side == starlark.Right {
		slices.Reverse(inputs)
	}
	return traced{(&surgery.PatternNode{Op: name, Inputs: inputs}).Output(0)}, nil
}

// Unary is Neg for a minus.
func (t traced) Unary(op syntax.Token) (starlark.Value, error) {
	if op != syntax.MINUS {
		return nil, nil
	}
	return traced{(&surgery.PatternNode{Op: "Neg", Inputs: []*surgery.PatternValue{t.v}}).Output(0)}, nil
}

// patternOps is the first argument of a pattern's function: a field for each
// operator, which notes what is asked for.
type patternOps struct{}

var _ starlark.HasAttrs = patternOps{}

func (patternOps) String() string        { return "<operators of a pattern>" }
func (patternOps) Type() string          { return "operators" }
func (patternOps) Freeze()               {}
func (patternOps) Truth() starlark.Bool  { return true }
func (patternOps) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable type: operators") }

// AttrNames lists the operators, and what only a pattern has.
func (patternOps) AttrNames() []string {
	return append(schema.Names("", schema.MaxOpset("")), "Any", "Either", "Maybe")
}

// Attr returns what notes a node of the operator.
func (patternOps) Attr(name string) (starlark.Value, error) {
	f := &builtin.Func{Name: "op." + name, Returns: "value of the pattern", Params: []builtin.Param{builtin.Rest("inputs", "value", "what it reads")}}
	switch name {
	case "Maybe":
		f.Doc = "an optional part: the node that makes the value may be missing, or the input."
		f.Fn = maybe
	case "Either":
		f.Doc = "what one of several fits."
		f.Fn = either
	default:
		f.Doc = "a node of the operator; Any is one of any operator or, without inputs, any value."
		f.Params = append(f.Params, builtin.Key("outputs", nil, "int", "how many outputs the pattern sees; None for one"),
			builtin.Key("name", nil, "string", "what the match calls its first output"),
			builtin.Key("domain", nil, "string", "the operator's domain"),
			builtin.RestKw("attrs", "attribute", "attributes that it must have, set or by default"))
		f.Fn = func(c *builtin.Call) (starlark.Value, error) { return traceNode(c, name) }
	}
	return f.Value(), nil
}

func patternInputs(c *builtin.Call) ([]*surgery.PatternValue, error) {
	var out []*surgery.PatternValue
	for i, v := range c.Rest {
		x, err := patternInput(v, fmt.Sprintf("%s: input %d", c.Func.Name, i))
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

// patternInput converts an input: values of the pattern, constants, None for one
// that is missing.
func patternInput(v starlark.Value, what string) (*surgery.PatternValue, error) {
	switch v := v.(type) {
	case traced:
		return v.v, nil
	case starlark.NoneType:
		return nil, nil
	case *value.Array, starlark.Int, starlark.Float, starlark.Bool, starlark.String, *starlark.List, starlark.Tuple:
		a, err := value.AsArray(v, array.Undefined, what)
		if err != nil {
			return nil, err
		}
		return surgery.Constant(a), nil
	}
	return nil, fmt.Errorf("%s: got %s, want a value of the pattern, a constant or None", what, v.Type())
}

func maybe(c *builtin.Call) (starlark.Value, error) {
	if len(c.Rest) != 1 {
		return nil, c.Errorf("got %d values, want 1", len(c.Rest))
	}
	t, ok := c.Rest[0].(traced)
	if !ok {
		return nil, c.Errorf("got %s, want a value of the pattern", c.Rest[0].Type())
	}
	return traced{surgery.Maybe(t.v)}, nil
}

func either(c *builtin.Call) (starlark.Value, error) {
	alts, err := patternInputs(c)
	if err == nil && len(alts) < 2 {
		err = c.Errorf("got %d values, want at least 2", len(alts))
	}
	return traced{surgery.Either(alts...)}, err
}

func traceNode(c *builtin.Call, op string) (starlark.Value, error) {
	inputs, err := patternInputs(c)
	if err != nil {
		return nil, err
	}
	n := &surgery.PatternNode{Op: op, Domain: c.Str("domain"), Inputs: inputs, Name: c.Str("name")}
	if op == "Any" {
		if len(inputs) == 0 {
			return traced{surgery.Anything()}, nil
		}
		n.Op = ""
	} else if len(schema.Versions(n.Domain, op)) == 0 && schema.MaxOpset(n.Domain) > 0 {
		near := schema.Nearest(n.Domain, op)
		if near != "" {
			near = fmt.Sprintf(" (did you mean %q?)", near)
		}
		c.Env().Warn(c.Thread, "pattern: operator %q is not one that is known%s", op, near)
	}
	if n.Attrs, err = tracedAttrs(c, n); err != nil {
		return nil, err
	}
	count := 1
	if !c.IsNone("outputs") {
		if count = c.Int("outputs"); count < 1 && c.Err() == nil {
			return nil, c.ArgErrorf("outputs", "got %d, want at least 1", count)
		}
	}
	outs := make(starlark.Tuple, count)
	for i := range outs {
		outs[i] = traced{n.Output(i)}
	}
	if count == 1 {
		return outs[0], nil
	}
	return outs, nil
}

// tracedAttrs converts the attributes: as the operator's newest schema has them,
// where it is known.
func tracedAttrs(c *builtin.Call, n *surgery.PatternNode) ([]*ir.Attr, error) {
	var like *ir.Node
	if _, ok := schema.Lookup(n.Domain, n.Op, schema.MaxOpset(n.Domain)); ok {
		like = ir.NewNode(n.Op, nil, nil)
		like.SetDomain(n.Domain)
	}
	var attrs []*ir.Attr
	for _, kv := range c.Kw {
		a, err := c.Env().StoreAttr(like, string(kv[0].(starlark.String)), kv[1])
		if err != nil {
			return nil, c.Errorf("%v", err)
		}
		attrs = append(attrs, a)
	}
	return attrs, nil
}

// tracePattern calls a pattern's function with values for its parameters, and
// returns the pattern and the parameters' names.
func tracePattern(c *builtin.Call) (*surgery.Pattern, []string, error) {
	fn, ok := c.Value("pattern").(*starlark.Function)
	if !ok {
		return nil, nil, c.ArgErrorf("pattern", "got %s, want a function: def pattern(op, x): return op.Relu(x)", c.Value("pattern").Type())
	}
	names, err := tensorParams(c, "pattern", fn)
	if err != nil {
		return nil, nil, err
	}
	args := starlark.Tuple{patternOps{}}
	for _, name := range names {
		args = append(args, traced{surgery.Param(name)})
	}
	made, err := starlark.Call(c.Thread, fn, args, nil)
	if err != nil {
		return nil, nil, err
	}
	p := &surgery.Pattern{}
	for _, v := range several(made) {
		t, ok := v.(traced)
		if !ok {
			return nil, nil, c.ArgErrorf("pattern", "returned %s, want values of the pattern", v.Type())
		}
		p.Outputs = append(p.Outputs, t.v)
	}
	return p, names, nil
}

// tensorParams returns the names of the parameters of a pattern or replacement
// that stand for tensors: those behind op that have no default.
func tensorParams(c *builtin.Call, what string, fn *starlark.Function) ([]string, error) {
	if fn.HasVarargs() || fn.HasKwargs() || fn.NumParams() == 0 {
		return nil, c.ArgErrorf(what, "%s: got parameters that can't be named, want (op, x, …)", fn.Name())
	}
	var names []string
	for i := 1; i < fn.NumParams(); i++ {
		if name, _ := fn.Param(i); fn.ParamDefault(i) == nil {
			names = append(names, name)
		}
	}
	return names, nil
}

// several returns the items of a tuple or list, or the one value.
func several(v starlark.Value) []starlark.Value {
	switch v := v.(type) {
	case starlark.Tuple:
		return v
	case *starlark.List:
		return slices.Collect(v.Elements())
	}
	return []starlark.Value{v}
}
