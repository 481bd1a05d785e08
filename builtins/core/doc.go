// Package core is the heart of what a script calls: the constructors graph,
// node, tensor, variable, constant, function and attr_ref; the methods of
// graph, node and tensor that build and edit; register and the builders; the
// operators that build nodes; and the tables that print shows.
//
// Each function and method is one table entry (builtin.Func). Where an edit is
// more than a line, the work is package ir's or surgery's.
package core

import (
	"slices"

	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/internal/spell"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

// Funcs are the predeclared functions.
var Funcs = [][]*builtin.Func{constructors, registerFuncs}

// Install puts the methods and hooks of this package into the environment, with
// further methods of graph.
func Install(env *value.Env, graphMore []*builtin.Func) {
	env.Methods["graph"] = builtin.Methods(graphMethods, layerMethods, editMethods, historyMethods, graphMore)
	env.Methods["node"] = builtin.Methods(nodeMethods)
	env.Methods["tensor"] = builtin.Methods(tensorMethods)
	env.Methods["function_call"] = builtin.Methods(functionCall)
	env.Builders = value.NewRegistry(reserved(env))
	env.Hint = spell.Hint
	env.AttrKind = attrKind
	env.Arith = arith
	env.Index = index
	env.Table = table
}

// reserved tells which names no builder may take: fields and methods of graph.
func reserved(env *value.Env) func(string) bool {
	return func(name string) bool {
		for _, f := range value.Fields("function") {
			if f.Name == name {
				return true
			}
		}
		return slices.Contains(env.Methods["graph"].Names(), name)
	}
}
