package starlarkgs

import (
	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/builtins"
	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/runtime"
	"github.com/starlarkgs/starlarkgs/runtime/reference"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

// predeclared assembles the names that the scripts of a host find defined: those
// of package builtins, then the embedder's own.
func predeclared(env *value.Env, o Options) starlark.StringDict {
	backends := append([]runtime.Backend{reference.New()}, o.Backends...)
	d := builtins.Predeclared(env, backends)
	for name, v := range o.Predeclared {
		d[name] = recovering(v)
	}
	return d
}

// recovering wraps a function of the embedder's so that a panic in it is an
// error with the calls of the script.
func recovering(v starlark.Value) starlark.Value {
	fn, ok := v.(*starlark.Builtin)
	if !ok {
		return v
	}
	f := &builtin.Func{Name: fn.Name(), Doc: "is a function of the program that runs the script.", Params: []builtin.Param{builtin.Rest("args", "any", ""), builtin.RestKw("kwargs", "any", "")}, Raw: fn.CallInternal}
	return f.Value()
}
