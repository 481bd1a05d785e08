// Package ops is the one registry of operators: what each ONNX operator means.
//
// An operator version is one table entry (Op): its name, the opset that
// introduced it, its shape and value inference, and its reference kernel. The
// entries stand in one file per family (reduce.go, conv.go, …); registry.go
// lists the families and derives everything else from them. What the standard
// says of an operator besides (inputs, types, attributes, defaults, arity) is
// data, in package ops/schema, looked up by the same name and version.
//
// A kernel is the yardstick, not the race car: right to the standard first. It
// reads its inputs and attributes from a Call, checks every size against the
// call's budget before it allocates and every index that comes from data, and
// fails with an error that says what it found and what it wants. An inference
// reads facts from an Infer in the same way.
//
// Kernels never look up the registry (that would be an initialization cycle):
// what has bodies is given a Run hook.
package ops

// Op is one operator from one opset on, up to the next entry of its name.
type Op struct {
	Domain string // "" is ai.onnx
	Name   string
	Since  int // the first opset whose behaviour the entry has
	// Checks refuse, before Infer, what the operator can't take.
	Checks []Check
	// Infer tells the outputs' types, shapes and small integer values. Nil
	// means the output types follow from the schema's type constraints alone.
	Infer func(*Infer) error
	// Eval computes the outputs.
	Eval func(*Call) error
}
