package builtin

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"
)

// Func describes one function, method or property that scripts can use.
type Func struct {
	// Name is qualified: "fold", "np.zeros", "graph.layer". A script says what
	// follows the last dot.
	Name string
	// Doc says what it does, in full sentences; the first stands alone in lists.
	Doc string
	// Params are the parameters in order.
	Params []Param
	// Returns says what comes back, or "" for None.
	Returns string
	// Example is a chunk of script that runs; it may use assert.
	Example string
	// Property makes a method an attribute: it is called when it is looked up,
	// without a thread.
	Property bool
	// Attrs are attributes of the function itself, such as DYNAMIC of gs.Tensor.
	Attrs starlark.StringDict
	// NoneIsDefault makes None stand for the default of a parameter that has one,
	// as in GraphSurgeon.
	NoneIsDefault bool
	// Fn does the work.
	Fn func(*Call) (starlark.Value, error)
	// Raw, in place of Fn, takes the arguments as they come; Params then only
	// document it.
	Raw func(t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error)
}

// Base returns the name without what qualifies it.
func (f *Func) Base() string { return f.Name[strings.LastIndexByte(f.Name, '.')+1:] }

// Value returns the function as a script holds it.
func (f *Func) Value() *Callable { return &Callable{fn: f} }

// Signature returns the call as help shows it: "np.full(shape, fill_value, dtype=None)".
func (f *Func) Signature() string {
	if f.Property {
		return f.Name
	}
	parts := make([]string, 0, len(f.Params))
	keyOnly := false
	for _, p := range f.Params {
		if p.Rest {
			keyOnly = true
		} else if p.KeyOnly && !keyOnly {
			keyOnly = true
			parts = append(parts, "*")
		}
		parts = append(parts, p.String())
	}
	return f.Name + "(" + strings.Join(parts, ", ") + ")"
}

// Param describes one parameter.
type Param struct {
	Name string
	Type string         // for people: "int", "tensor or name", …
	Doc  string         // for people, may be ""
	Def  starlark.Value // nil for a required one
	// Inner is the name that the Go function asks for, where it serves entries
	// that name the parameter differently; "" for Name.
	Inner string
	// PosOnly forbids to give it by name; KeyOnly forbids to give it by place.
	PosOnly, KeyOnly bool
	// Rest takes the remaining positional arguments, RestKw the named ones.
	Rest, RestKw bool
}

// Req returns a required parameter.
func Req(name, typ, doc string) Param { return Param{Name: name, Type: typ, Doc: doc} }

// Opt returns a parameter with a default: nil for None, a Go bool, int, float64
// or string, or a Starlark value; NoList and NoDict stand for [] and {}.
func Opt(name string, def any, typ, doc string) Param {
	return Param{Name: name, Type: typ, Doc: doc, Def: toValue(def)}
}

// Key returns a parameter with a default that can only be given by name.
func Key(name string, def any, typ, doc string) Param {
	p := Opt(name, def, typ, doc)
	p.KeyOnly = true
	return p
}

// Rest returns the parameter *name.
func Rest(name, typ, doc string) Param { return Param{Name: name, Type: typ, Doc: doc, Rest: true} }

// RestKw returns the parameter **name.
func RestKw(name, typ, doc string) Param { return Param{Name: name, Type: typ, Doc: doc, RestKw: true} }

// For returns a copy of p whose argument the Go function knows by another name.
func (p Param) For(inner string) Param {
	p.Inner = inner
	return p
}

// Positional returns a copy of p that can only be given by place.
func (p Param) Positional() Param {
	p.PosOnly = true
	return p
}

// String returns the parameter as it stands in a signature.
func (p Param) String() string {
	switch {
	case p.Rest:
		return "*" + p.Name
	case p.RestKw:
		return "**" + p.Name
	case p.Def != nil:
		return p.Name + "=" + p.Def.String()
	}
	return p.Name
}

// NoList and NoDict are the defaults [] and {}; they are frozen.
var (
	NoList = frozen(starlark.NewList(nil))
	NoDict = frozen(starlark.NewDict(0))
)

func frozen(v starlark.Value) starlark.Value {
	v.Freeze()
	return v
}

// toValue converts the default of a table entry.
func toValue(x any) starlark.Value {
	switch x := x.(type) {
	case nil:
		return starlark.None
	case starlark.Value:
		return x
	case bool:
		return starlark.Bool(x)
	case int:
		return starlark.MakeInt(x)
	case float64:
		return starlark.Float(x)
	case string:
		return starlark.String(x)
	}
	panic(fmt.Sprintf("internal error: %T can't be a default", x))
}
