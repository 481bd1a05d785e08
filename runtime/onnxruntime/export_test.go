//go:build cgo

package onnxruntime

// Copied counts the bytes that were copied to and from the runtime.
var Copied = &copied

// APIVersion is the version of the table of functions.
const APIVersion = apiVersion
