// Package onnxruntime is the native backend: ONNX Runtime through its shared
// library, which is found as package internal/ortlib says and loaded at the
// first use. It needs cgo; a build without has only the reference backend.
//
// The model is handed over as bytes. What the Go bindings cannot return is
// rewritten on the way: an output of a narrow float type leaves as float32, one
// of rank 0 with an axis of size 1, and is turned back here; the caller sees
// none of it.
package onnxruntime
