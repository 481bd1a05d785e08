// Package builtins assembles what scripts find defined: the tables of its
// sub-packages, one for each module.
package builtins

import (
	"maps"
	"slices"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/builtins/base"
	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/builtins/core"
	"github.com/starlarkgs/starlarkgs/builtins/gs"
	"github.com/starlarkgs/starlarkgs/builtins/model"
	"github.com/starlarkgs/starlarkgs/builtins/np"
	"github.com/starlarkgs/starlarkgs/ops/infer"
	"github.com/starlarkgs/starlarkgs/runtime"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

// Predeclared fills the environment of a host with the types' methods, and
// returns the names that its scripts find defined. The first backend is the
// default.
func Predeclared(env *value.Env, backends []runtime.Backend) starlark.StringDict {
	kit := model.New(backends)
	core.Install(env, kit.Methods())
	env.Methods["session"] = model.SessionTable
	env.InferNode = infer.Node
	d := starlark.StringDict{"np": np.Module(), "argv": starlark.NewList(nil)}
	d["gs"], d["onnx"] = gs.Module(), kit.ONNX()
	maps.Copy(d, base.Modules())
	for _, f := range Funcs(kit) {
		d[f.Base()] = f.Value()
	}
	d["sgs"] = base.Self{Names: d}
	return d
}

// Funcs returns the predeclared functions of a kit.
func Funcs(kit *model.Kit) []*builtin.Func {
	return slices.Concat(append(core.Funcs, base.Funcs, kit.Funcs())...)
}
