// Package starlarkgs is the host: it runs scripts that edit ONNX models, and is
// how a Go program embeds them.
//
//	h := starlarkgs.New(starlarkgs.Options{Stdout: os.Stdout})
//	err := h.RunFile(ctx, "edit.star", args)
//
// The zero Options are safe: a script reads and writes below the current folder,
// starts no process, sees neither clock nor network, and is stopped when it runs
// away. Files are loaded once; what they register is the host's.
//
// The dialect is Starlark with set, while, top-level control flow, re-assignment
// of globals and recursion, and with Python's decorators: a pass over the text
// (decorate.go) finds them, and the assignment that each stands for is put into
// the syntax tree, so positions stay exact.
//
// Every error of a script is an *Error: position, message, source line, call
// stack.
package starlarkgs
