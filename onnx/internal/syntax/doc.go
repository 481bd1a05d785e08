// Package syntax prints and parses the standard's textual syntax of models
// (Syntax.md of the ONNX repository), the one of .onnxtxt files:
//
//	<
//	   ir_version: 10,
//	   opset_import: ["" : 21]
//	>
//	agraph (float[N,128] X, float[128,10] W) => (float[N,10] C) {
//	   T = MatMul (X, W)
//	   C = Softmax <axis: int = -1> (T)
//	}
//
// The standard's syntax can't say all that a model may hold: documentation of
// nodes, metadata, sparse initializers, whether weights lie in raw_data, and
// more. What it lacks stands here in comments that begin with #@ and belong to
// the element that follows, so that the standard's own parser reads the file and
// passes over them:
//
//	#@ doc_string: "what it is for" metadata_props { key: "k" value: "v" }
//	[n1] y = Relu (x)
//	#@ raw
//	float[2] w = {1, 2}
//
// After #@ come, in this order: raw, which moves the elements of a tensor to
// raw_data; -NAME for each field that is not set though the syntax sets it; and
// protobuf text of the fields that are set as there, replacing what the syntax
// says, or, for what protobuf's text can't say either (a NaN with other bits,
// fields of a later standard), binary and a string of their bytes in base64.
//
// So Parse gives back what Print was given, field by field. It reads all that the
// standard's printer writes; and beside the grammar quoted names wherever it has
// an identifier, for names are any text. It sets a field only where the text says
// something of it: the standard's parser also sets empty domains and names.
package syntax
