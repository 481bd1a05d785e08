package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/starlarkgs/starlarkgs/internal/spell"
)

// Call is what a node says, as far as a schema can judge it.
type Call struct {
	// Inputs has the type of each input, as "tensor(float)": "" where it is not
	// known, Omitted where the input is not given.
	Inputs []string
	// Outputs has the type of each output, likewise.
	Outputs []string
	// Attrs has the name and kind of each attribute that is set.
	Attrs []GivenAttr
}

// GivenAttr is an attribute that a call sets.
type GivenAttr struct {
	Name string
	Kind Kind
}

// Omitted stands for an input or output that is not given.
const Omitted = "-"

// Check returns an error for each thing in which the call does not fit the
// schema: counts, omitted inputs that are required, unknown and missing
// attributes, kinds of attributes, types that are not allowed or that differ
// where one type parameter ties them.
func (s *Schema) Check(c Call) []error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	s.checkInputs(c, fail)
	if n := len(c.Outputs); n < s.MinOutputs || n > s.MaxOutputs {
		fail("got %s, want %s", countText(n, "output"), s.wanted(s.Outputs, s.MinOutputs, s.MaxOutputs))
	}
	s.checkAttrs(c, fail)
	s.checkTypes(c, fail)
	return errs
}

// CheckCounts returns the error of a call with too few or too many operands.
func (s *Schema) CheckCounts(inputs, outputs int) error {
	if inputs < s.MinInputs || inputs > s.MaxInputs {
		return fmt.Errorf("got %s, want %s", countText(inputs, "input"), s.wanted(s.Inputs, s.MinInputs, s.MaxInputs))
	}
	if outputs < s.MinOutputs || outputs > s.MaxOutputs {
		return fmt.Errorf("got %s, want %s", countText(outputs, "output"), s.wanted(s.Outputs, s.MinOutputs, s.MaxOutputs))
	}
	return nil
}

func (s *Schema) checkInputs(c Call, fail func(string, ...any)) {
	n := len(c.Inputs)
	if n < s.MinInputs || n > s.MaxInputs {
		fail("got %s, want %s", countText(n, "input"), s.wanted(s.Inputs, s.MinInputs, s.MaxInputs))
		return
	}
	for i, t := range c.Inputs {
		if p := s.Input(i); t == Omitted && p != nil && p.Option == Single {
			fail("input %d (%s): got none, want a value: it is required", i, p.Name)
		}
	}
}

func (s *Schema) checkAttrs(c Call, fail func(string, ...any)) {
	for _, got := range c.Attrs {
		switch a := s.Attr(got.Name); {
		case a == nil:
			fail("attribute %q: %s has no such attribute%s", got.Name, s.Name, spell.Hint(got.Name, s.AttrNames()))
		case got.Kind != a.Kind:
			fail("attribute %q: got %s, want %s", got.Name, kindName(got.Kind), kindName(a.Kind))
		}
	}
	for _, a := range s.Attrs {
		if a.Required && !slices.ContainsFunc(c.Attrs, func(got GivenAttr) bool { return got.Name == a.Name }) {
			fail("attribute %q: got none, want %s: it is required", a.Name, kindName(a.Kind))
		}
	}
}

// operand is one input or output of a call.
type operand struct {
	side  string
	index int
	param *Param
	typ   string
}

func (o operand) String() string { return fmt.Sprintf("%s %d (%s)", o.side, o.index, o.param.Name) }

func (s *Schema) checkTypes(c Call, fail func(string, ...any)) {
	fixed := s.checkSide("input", c.Inputs, s.Input, nil, fail)
	s.checkSide("output", c.Outputs, s.Output, fixed, fail)
}

// checkSide holds the operands of one side against the operands that fixed what
// the type parameters stand for, and returns these with those of this side.
func (s *Schema) checkSide(side string, types []string, param func(int) *Param, fixed []operand, fail func(string, ...any)) []operand {
	for i, t := range types {
		p := param(i)
		if p == nil || t == "" || t == Omitted {
			continue
		}
		o := operand{side, i, p, t}
		if allowed := s.Allowed(p); !slices.Contains(allowed, t) {
			fail("%s: got %s, want %s", o, plain(t), plainList(allowed))
			continue
		}
		if p.Option == Variadic && !p.Homogeneous {
			continue
		}
		if k := slices.IndexFunc(fixed, func(f operand) bool { return f.param.Type == p.Type }); k < 0 {
			fixed = append(fixed, o)
		} else if first := fixed[k]; first.typ != t {
			fail("%s: got %s, want %s as %s", o, plain(t), plain(first.typ), first)
		}
	}
	return fixed
}

func countText(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (s *Schema) wanted(ps []Param, lo, hi int) string {
	var names []string
	for _, p := range ps {
		switch p.Option {
		case Optional:
			names = append(names, p.Name+" (optional)")
		case Variadic:
			names = append(names, p.Name+"…")
		default:
			names = append(names, p.Name)
		}
	}
	list := ""
	if len(names) > 0 {
		list = ": " + strings.Join(names, ", ")
	}
	switch {
	case hi >= Unbounded:
		return fmt.Sprintf("at least %d%s", lo, list)
	case lo == hi:
		return fmt.Sprintf("%d%s", lo, list)
	}
	return fmt.Sprintf("%d to %d%s", lo, hi, list)
}

var kindNames = [...]string{"no kind", "a float", "an int", "a string", "a tensor", "a graph", "floats", "ints", "strings",
	"tensors", "graphs", "a sparse tensor", "sparse tensors", "a type", "types"}

// String names the kind as errors do: "an int", "tensors".
func (k Kind) String() string { return kindName(k) }

func kindName(k Kind) string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", k)
}

// numpyNames are the element types whose names differ from NumPy's.
var numpyNames = map[string]string{"float": "float32", "double": "float64", "float8e4m3fn": "float8_e4m3fn", "float8e4m3fnuz": "float8_e4m3fnuz",
	"float8e5m2": "float8_e5m2", "float8e5m2fnuz": "float8_e5m2fnuz", "float8e8m0": "float8_e8m0fnu", "float4e2m1": "float4_e2m1fn",
	"float6e2m3": "float6_e2m3fn", "float6e3m2": "float6_e3m2fn"}

// plain cuts tensor( ) off a type and names the element type as NumPy does.
func plain(t string) string {
	rest, ok := strings.CutPrefix(t, "tensor(")
	if !ok {
		return t
	}
	rest = strings.TrimSuffix(rest, ")")
	if name := numpyNames[rest]; name != "" {
		return name
	}
	return rest
}

// TypeString returns the schema's name of a tensor of that element type, by
// NumPy's name of it: "tensor(float)" for "float32".
func TypeString(numpy string) string {
	if t, ok := typeStrings[numpy]; ok {
		return t
	}
	return "tensor(" + numpy + ")"
}

var typeStrings = func() map[string]string {
	out := make(map[string]string, len(numpyNames))
	for onnx, name := range numpyNames {
		out[name] = "tensor(" + onnx + ")"
	}
	return out
}()

// ElementOf returns NumPy's name of the element type of a tensor type such as
// "tensor(float)", or "" for a type that is no tensor.
func ElementOf(t string) string {
	if p := plain(t); p != t {
		return p
	}
	return ""
}

// plainList writes types as "a, b or c".
func plainList(ts []string) string {
	out := make([]string, len(ts))
	for i, t := range ts {
		out[i] = plain(t)
	}
	if len(out) > 1 {
		return strings.Join(out[:len(out)-1], ", ") + " or " + out[len(out)-1]
	}
	return strings.Join(out, "")
}
