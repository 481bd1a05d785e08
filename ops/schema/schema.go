// Package schema holds what the ONNX standard says of each operator version:
// inputs and outputs, type constraints, attributes with defaults, counts. It has
// the same of ONNX Runtime's own operators (Own), those of the domain
// com.microsoft and two that its optimizer writes into the standard's.
//
// The facts are data (schemas.gz), written by gen/gen.py from the published
// onnx and onnxruntime packages and never edited by hand. Lookup finds the version of an operator
// that is in force in an opset; a schema is decoded when it is first asked for.
//
//	Schema      one operator from one opset on
//	Param       an input or output: name, type, single / optional / variadic
//	Attr        an attribute: kind, required, default
//	Check       whether a call fits a schema, with errors that say what is wrong
package schema

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed" // schemas.gz
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/starlarkgs/starlarkgs/internal/spell"
)

//go:embed schemas.gz
var packed []byte

// Option says how often an input or output may be given.
type Option uint8

// The options of a Param.
const (
	Single   Option = 0
	Optional Option = 1 // may be omitted
	Variadic Option = 2 // the last one: any number, MinArity at least
)

// Unbounded is the maximum count of a variadic list.
const Unbounded = 1<<31 - 1

// Kind is the kind of an attribute's value; the numbers are those of
// AttributeProto.AttributeType (ir.AttrKind has the same).
type Kind uint8

// The kinds of attributes.
const (
	KindFloat         Kind = 1
	KindInt           Kind = 2
	KindString        Kind = 3
	KindTensor        Kind = 4
	KindGraph         Kind = 5
	KindFloats        Kind = 6
	KindInts          Kind = 7
	KindStrings       Kind = 8
	KindTensors       Kind = 9
	KindGraphs        Kind = 10
	KindSparseTensor  Kind = 11
	KindSparseTensors Kind = 12
	KindType          Kind = 13
	KindTypes         Kind = 14
)

// Determinism is what the standard declares of an operator. It is coarser than
// Schema.Deterministic: If is NotPure there, whatever its branches hold.
type Determinism string

// The declarations of determinism.
const (
	Pure       Determinism = "Deterministic"
	NotPure    Determinism = "NonDeterministic"
	Undeclared Determinism = "Unknown"
)

// Schema is one operator from one opset on.
type Schema struct {
	Domain, Name           string
	Since                  int
	Deprecated             bool
	Experimental           bool
	Own                    bool        // ONNX Runtime's own: the standard does not define it
	Deterministic          bool        // draws no random numbers; an operator with bodies is as they are
	Declared               Determinism // what the standard says of that
	Function               bool        // the standard gives a body of simpler operators
	FunctionOpsets         []int       // the opsets for which it gives one, ascending
	ContextFunction        bool        // the body depends on the node's attributes and types
	Inputs, Outputs        []Param
	MinInputs, MaxInputs   int
	MinOutputs, MaxOutputs int
	Types                  []Constraint // by type parameter
	Attrs                  []Attr       // sorted by name
}

// Param is an input or output.
type Param struct {
	Name string
	Type string // a type parameter, as "T", or a type, as "tensor(int64)"
	Option
	Homogeneous bool // a variadic list whose elements share one type
	MinArity    int  // of a variadic list
}

// Constraint is the types that a type parameter may stand for.
type Constraint struct {
	Param   string
	Allowed []string // as "tensor(float)", sorted
}

// Attr is an attribute.
type Attr struct {
	Name     string
	Kind     Kind
	Required bool
	Default  any // int64, float32, string, []int64, []float32, []string, or nil
}

type key struct{ domain, name string }

// entry is a schema that may not have been decoded yet.
type entry struct {
	since  int
	text   []byte
	once   sync.Once
	schema *Schema
}

type head struct {
	Package string         `json:"package"`
	Runtime string         `json:"runtime"`
	Newest  map[string]int `json:"newest"`
	IR      [][2]int       `json:"ir"`
}

type table struct {
	head    head
	entries map[key][]*entry // by version, ascending
	names   map[string][]string
}

var load = sync.OnceValue(read)

// read unpacks the data and finds the lines; no schema is decoded yet.
func read() *table {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		panic("internal error: schemas: " + err.Error())
	}
	data, err := io.ReadAll(bufio.NewReader(r))
	if err != nil {
		panic("internal error: schemas: " + err.Error())
	}
	t := &table{entries: map[key][]*entry{}, names: map[string][]string{}}
	for line := range bytes.Lines(data) {
		t.add(bytes.TrimSuffix(line, []byte("\n")))
	}
	return t
}

func (t *table) add(line []byte) {
	parts := bytes.SplitN(line, []byte("\t"), 4)
	since, err := strconv.Atoi(string(parts[2]))
	if err != nil {
		panic("internal error: schemas: " + err.Error())
	}
	k := key{string(parts[0]), string(parts[1])}
	if k.domain == "#" {
		if err := json.Unmarshal(parts[3], &t.head); err != nil {
			panic("internal error: schemas: " + err.Error())
		}
		return
	}
	if t.entries[k] == nil {
		t.names[k.domain] = append(t.names[k.domain], k.name)
	}
	t.entries[k] = append(t.entries[k], &entry{since: since, text: parts[3]})
}

func (e *entry) get(k key) *Schema {
	e.once.Do(func() { e.schema = decode(k, e.since, e.text) })
	return e.schema
}

func canonical(domain string) string {
	if domain == "ai.onnx" {
		return ""
	}
	return domain
}

// Lookup returns the operator's schema that is in force in the given opset of
// its domain: the newest one introduced up to it. "" and "ai.onnx" are the same.
func Lookup(domain, name string, opset int) (*Schema, bool) {
	k := key{canonical(domain), name}
	es := load().entries[k]
	for i := len(es) - 1; i >= 0; i-- {
		if es[i].since <= opset {
			return es[i].get(k), true
		}
	}
	return nil, false
}

// Versions returns all schemas of the operator, oldest first.
func Versions(domain, name string) []*Schema {
	k := key{canonical(domain), name}
	var out []*Schema
	for _, e := range load().entries[k] {
		out = append(out, e.get(k))
	}
	return out
}

// Standard is Lookup of what the standard defines in its own domain.
func Standard(name string, opset int) (*Schema, bool) {
	s, ok := Lookup("", name, opset)
	return s, ok && !s.Own
}

// Names returns the operators of the domain that the given opset has and has
// not deprecated, sorted; of the standard's domain only what the standard defines.
func Names(domain string, opset int) []string {
	var out []string
	domain = canonical(domain)
	for _, name := range load().names[domain] {
		if s, ok := Lookup(domain, name, opset); ok && !s.Deprecated && !(s.Own && domain == "") {
			out = append(out, name)
		}
	}
	return out
}

// Domains returns the domains that have schemas, sorted.
func Domains() []string {
	var out []string
	for d := range load().names {
		out = append(out, d)
	}
	sort.Strings(out)
	return out
}

// All returns every schema, ordered by domain, name and version.
func All() []*Schema {
	var out []*Schema
	for _, d := range Domains() {
		names := slices.Clone(load().names[d])
		sort.Strings(names)
		for _, name := range names {
			out = append(out, Versions(d, name)...)
		}
	}
	return out
}

// MaxOpset returns the newest opset of the domain that is known, 0 for a domain
// without schemas.
func MaxOpset(domain string) int { return load().head.Newest[canonical(domain)] }

// PackageVersion returns the version of the onnx package that the data is from.
func PackageVersion() string { return load().head.Package }

// RuntimeVersion returns the version of the onnxruntime package that the data of
// its own operators is from.
func RuntimeVersion() string { return load().head.Runtime }

// IRVersionFor returns the lowest version of the file format in which models of
// that opset are released.
func IRVersionFor(opset int) int {
	v := 3
	for _, row := range load().head.IR {
		if row[0] <= opset {
			v = max(v, row[1])
		}
	}
	return v
}

// Nearest returns the operator of the domain whose name is nearest to name, or "".
func Nearest(domain, name string) string {
	if near := spell.Nearest(name, load().names[canonical(domain)]); len(near) > 0 {
		return near[0]
	}
	return ""
}

// Attr returns the attribute of that name, or nil.
func (s *Schema) Attr(name string) *Attr {
	i, ok := slices.BinarySearchFunc(s.Attrs, name, func(a Attr, n string) int { return strings.Compare(a.Name, n) })
	if !ok {
		return nil
	}
	return &s.Attrs[i]
}

// AttrNames lists the attributes.
func (s *Schema) AttrNames() []string {
	names := make([]string, len(s.Attrs))
	for i, a := range s.Attrs {
		names[i] = a.Name
	}
	return names
}

// InputNames lists the inputs.
func (s *Schema) InputNames() []string {
	names := make([]string, len(s.Inputs))
	for i, p := range s.Inputs {
		names[i] = p.Name
	}
	return names
}

// InputIndex returns the place of the input of that name, or -1.
func (s *Schema) InputIndex(name string) int { return slices.Index(s.InputNames(), name) }

// Input returns the parameter that input i fills: the last one for what a
// variadic list takes; nil when there is none.
func (s *Schema) Input(i int) *Param { return paramAt(s.Inputs, i) }

// Output returns the parameter that output i fills, or nil.
func (s *Schema) Output(i int) *Param { return paramAt(s.Outputs, i) }

func paramAt(ps []Param, i int) *Param {
	switch n := len(ps); {
	case i < n:
		return &ps[i]
	case n > 0 && ps[n-1].Option == Variadic:
		return &ps[n-1]
	}
	return nil
}

// Allowed returns the types that the parameter may have, as "tensor(float)".
func (s *Schema) Allowed(p *Param) []string {
	for _, c := range s.Types {
		if c.Param == p.Type {
			return c.Allowed
		}
	}
	return []string{p.Type}
}

// Signature returns the operator as help shows it:
// Conv(X, W, B=None, *, auto_pad="NOTSET", …).
func (s *Schema) Signature() string {
	var parts []string
	for _, p := range s.Inputs {
		switch p.Option {
		case Single:
			parts = append(parts, p.Name)
		case Optional:
			parts = append(parts, p.Name+"=None")
		case Variadic:
			parts = append(parts, "*"+p.Name)
		}
	}
	if len(s.Attrs) > 0 && (len(s.Inputs) == 0 || s.Inputs[len(s.Inputs)-1].Option != Variadic) {
		parts = append(parts, "*")
	}
	for _, a := range s.Attrs {
		switch {
		case a.Required:
			parts = append(parts, a.Name)
		case a.Default == nil:
			parts = append(parts, a.Name+"=None")
		default:
			parts = append(parts, a.Name+"="+literal(a.Default))
		}
	}
	outs := make([]string, len(s.Outputs))
	for i, p := range s.Outputs {
		outs[i] = p.Name
	}
	return fmt.Sprintf("%s(%s) -> %s", s.Name, strings.Join(parts, ", "), strings.Join(outs, ", "))
}

// literal writes a default as a script would.
func literal(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(v)
	case float32:
		return decimal(v)
	case []float32:
		return literals(v)
	case []int64:
		return literals(v)
	case []string:
		return literals(v)
	}
	return fmt.Sprint(v)
}

func literals[T any](vs []T) string {
	out := make([]string, len(vs))
	for i, v := range vs {
		out[i] = literal(v)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// decimal writes a float so that it does not look like an int.
func decimal(v float32) string {
	text := strconv.FormatFloat(float64(v), 'g', -1, 32)
	if strings.ContainsAny(text, ".eIN") {
		return text
	}
	return text + ".0"
}
