// Package onnx reads and writes ONNX files.
//
// Opening maps a file and never reads weights: a walk over the wire format
// copies all but the large byte fields of tensors into a skeleton, which is
// decoded with generated types; a weight becomes a lazy array over its place in
// the file. Saving works the other way round: the model is encoded with
// placeholders for weights, sizes are computed, and the weights are then copied
// from file to file in chunks, into a temporary file that is synced and renamed.
//
// What a file says and package ir has no place for (unknown fields, the storage
// form of a tensor, fields that are set to their defaults) is carried in the
// Extra and Storage fields of the IR, so that saving without an edit gives the
// same messages, field by field.
//
//	Open, Read      a file, or bytes → *ir.Model
//	Save, Marshal   *ir.Model → a file, or bytes
//	ReadValue       a TensorProto, SequenceProto or OptionalProto file → array.Value
//	FormatError     what is wrong with a file, and where
//
// Sources: onnx.proto of the ONNX standard, docs/IR.md and
// docs/ExternalData.md there; the wire format of Protocol Buffers.
package onnx
