package schema

import (
	"encoding/json"
	"fmt"
)

type rawParam struct {
	Name   string `json:"n"`
	Type   string `json:"t"`
	Option Option `json:"o"`
	Het    int    `json:"het"`
	Min    int    `json:"min"`
}

type rawAttr struct {
	Name     string          `json:"n"`
	Kind     Kind            `json:"k"`
	Required int             `json:"r"`
	Default  json.RawMessage `json:"d"`
}

type rawSchema struct {
	In     []rawParam `json:"in"`
	Out    []rawParam `json:"out"`
	Counts [4]int     `json:"c"`
	Types  []rawType  `json:"types"`
	Attrs  []rawAttr  `json:"attrs"`
	Dep    int        `json:"dep"`
	Fn     []int      `json:"fn"`
	Ctx    int        `json:"ctx"`
	Exp    int        `json:"exp"`
	Det    string     `json:"det"`
	Random int        `json:"rnd"`
	Own    int        `json:"own"`
}

type rawType struct {
	param   string
	allowed []string
}

// UnmarshalJSON reads the pair of parameter and allowed types.
func (t *rawType) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&t.param, &t.allowed})
}

// decode reads one line of the data; the data is ours, so a fault is a bug.
func decode(k key, since int, text []byte) *Schema {
	var r rawSchema
	if err := json.Unmarshal(text, &r); err != nil {
		panic(fmt.Sprintf("internal error: schema of %s: %v", k.name, err))
	}
	s := &Schema{
		Domain: k.domain, Name: k.name, Since: since,
		Deprecated: r.Dep != 0, Experimental: r.Exp != 0, Own: r.Own != 0, Deterministic: r.Random == 0, Declared: Determinism(r.Det),
		Function: len(r.Fn) > 0, FunctionOpsets: r.Fn, ContextFunction: r.Ctx != 0,
		Inputs: params(r.In), Outputs: params(r.Out),
		MinInputs: r.Counts[0], MaxInputs: r.Counts[1], MinOutputs: r.Counts[2], MaxOutputs: r.Counts[3],
	}
	if s.Declared == "" {
		s.Declared = Pure
	}
	for _, t := range r.Types {
		s.Types = append(s.Types, Constraint{t.param, t.allowed})
	}
	for _, a := range r.Attrs {
		s.Attrs = append(s.Attrs, Attr{a.Name, a.Kind, a.Required != 0, defaultOf(k, a)})
	}
	return s
}

func params(raw []rawParam) []Param {
	out := make([]Param, len(raw))
	for i, p := range raw {
		out[i] = Param{Name: p.Name, Type: p.Type, Option: p.Option, Homogeneous: p.Het == 0, MinArity: p.Min}
	}
	return out
}

func defaultOf(k key, a rawAttr) any {
	if a.Default == nil {
		return nil
	}
	var err error
	var v any
	switch a.Kind {
	case KindFloat:
		v, err = into[float32](a.Default)
	case KindInt:
		v, err = into[int64](a.Default)
	case KindString:
		v, err = into[string](a.Default)
	case KindFloats:
		v, err = into[[]float32](a.Default)
	case KindInts:
		v, err = into[[]int64](a.Default)
	case KindStrings:
		v, err = into[[]string](a.Default)
	default:
		err = fmt.Errorf("default of kind %d", a.Kind)
	}
	if err != nil {
		panic(fmt.Sprintf("internal error: schema of %s: attribute %s: %v", k.name, a.Name, err))
	}
	return v
}

func into[T any](b []byte) (any, error) {
	var v T
	err := json.Unmarshal(b, &v)
	return v, err
}
