// Package onnxruntime is the native backend: ONNX Runtime through its shared
// library, which is found as package internal/ortlib says and loaded at the
// first use. It needs cgo; a build without has only the reference backend.
//
// The bindings of another project load the library and hold environment, options
// and providers; the sessions are ours (native.c), by the same table of
// functions:
//
//	inputs    tensors are read where the arrays lie; strings, sequences and maps are copied
//	outputs   are written into the arrays that Run returns, where the shape follows
//	          from the model and the inputs; what the runtime makes is copied
//	weights   large ones are no part of the bytes that the model is handed over as:
//	          the runtime maps those that lie in a file in that very file, and is
//	          handed those that were edited, so a model may be larger than 2 GB and
//	          nothing is written
//
// A process holds one library.
package onnxruntime
