// Package starlarkgs is the host: it runs scripts that edit ONNX models, and is
// how a Go program embeds them.
//
//	h := starlarkgs.New(starlarkgs.Options{Stdout: os.Stdout})
//	err := h.Run(ctx, "edit.star", args)
//
// The zero Options are safe: a script reads and writes below the current folder,
// starts no process, sees neither clock nor network, and is stopped when it runs
// away. Files are loaded once; what they register is the host's.
//
//	Host.Run, Load, RunSource         run a script
//	Host.Call, Eval                   call a function of one, evaluate an expression
//	Host.Chunk, Incomplete, Complete  are what a prompt needs
//	Error                             is every error of a script: place, message, hint, source line, calls
//	ErrLimit, ErrInterrupted          tell why a script was stopped
//
// A host serves one goroutine at a time; several hosts in one process know
// nothing of each other: each has its own registry of builders, files and limits.
// The command cmd/embed is a whole program that embeds two.
//
// The dialect is Starlark with set, while, top-level control flow, re-assignment
// of globals and recursion, and with Python's decorators: a pass over the text
// (decorate.go) finds them, and the assignment that each stands for is put into
// the syntax tree, so positions stay exact. Python that the dialect lacks is
// answered with the spelling to use (python.go, names.go).
//
// The limits of steps, time, memory and depth stop what the interpreter and the
// functions of this module do. Starlark's own operators and methods have no hook:
// one s * n, s.replace(…) or lookup of a tuple nested millions deep runs to its
// end, or to that of the process. Where scripts are hostile, run the host in a
// process of its own that the operating system bounds.
package starlarkgs
