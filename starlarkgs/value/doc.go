// Package value holds what a script holds: graph, node, tensor, array,
// function, type and the live views of their lists and dicts, as Starlark values.
//
// Each wrapper is a small comparable struct around a pointer into package ir (or
// array) and the host's Env, so identity, hashing and membership need no
// cache: two wrappers of one tensor are equal because their fields are.
//
//	Starlark type   Go type    wraps
//	graph           Graph      *ir.Graph (and with it the model)
//	node            Node       *ir.Node
//	tensor          Tensor     *ir.Tensor
//	array           *Array     *array.Array
//	function        Function   *ir.Function
//	type            Type       *ir.Type
//	attr_ref        AttrRef    the name of a function's attribute
//	tensor_list …   List       one list of a graph, node or tensor, live
//	attrs …         Dict       a node's attributes or a metadata dict, live
//
// The fields of a type stand in one table here. Its methods are given by the
// host through Env.Methods, since they reach into packages (surgery, onnx,
// ops) that this one must not know.
//
// Freezing is obeyed by asking the model: every wrapper of a frozen model is
// read-only, and each mutation first calls checkMutable.
package value
