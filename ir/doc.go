// Package ir holds an ONNX model as a graph that can be edited: Model, Graph,
// Node, Tensor and Function, with the edges between them kept exact.
//
// # What it is
//
//	Model ── Graph ── Node ── attributes ── body Graph (If, Loop, Scan)
//	  │        │        │
//	  │        │        ├─ inputs:  slots, each an edge (Use) to a Tensor, or empty
//	  │        │        └─ outputs: Tensors, or empty
//	  │        ├─ inputs, outputs, initializers
//	  └─ functions, each with a body Graph
//
// A Tensor is a value of the graph: a variable, or a constant when it holds a
// Literal. It knows its producer and each of its uses. A Use is one edge: the
// slot of a node, or an entry of a graph's output list. Uses are kept in the
// order in which they were made, in an intrusive list, so linking and
// unlinking an edge is O(1) however many uses a tensor has.
//
// Tensors are identities. Names are for people and files: two tensors may
// bear one name while a model is edited, and package onnx resolves that when
// it writes. A body that reads a value of an enclosing graph simply has a Use
// of that very tensor, so captures appear in every query as what they are.
//
// # Edits
//
// Everything is changed through methods; each of them keeps both ends of an
// edge right and, while a journal is open (Model.Atomic), records its inverse.
// Verify checks the invariants and is called at the end of every test of a
// pass.
//
// # What it is not
//
// The package knows neither bytes nor scripts nor the meaning of operators:
// see packages onnx, starlarkgs and ops. What a file says that has no place
// here is carried by the Extra fields, which belong to package onnx.
package ir
