// Package builtin is what everything that a script can call is made of.
//
// A function or method is one table entry, a Func: its qualified name, its
// parameters with their defaults, what it does, an example that runs, and the
// Go function. All else is derived from the entry: the unpacking of arguments
// with errors that name the argument, what was given and what is allowed; the
// signature and the text of help(); the reference pages; the test that every
// entry is exercised from a script.
//
//	var Table = []*builtin.Func{{
//		Name:   "np.full",
//		Doc:    "makes an array whose elements all have one value.",
//		Params: []builtin.Param{
//			builtin.Req("shape", "int or list of int", "the size of each axis"),
//			builtin.Req("fill_value", "number", "the value of every element"),
//			builtin.Opt("dtype", nil, "dtype", "None takes that of the value"),
//		},
//		Returns: "array",
//		Example: `assert.eq(np.full([2], 7).tolist(), [7, 7])`,
//		Fn:      full,
//	}}
//
//	func full(c *builtin.Call) (starlark.Value, error) {
//		shape := c.Ints("shape")
//		dt := builtin.Arg(c, "dtype", value.AsDType)
//		if err := c.Err(); err != nil {
//			return nil, err
//		}
//		…
//	}
//
// A getter of Call returns the zero value and remembers the first error, so a
// function reads all its arguments and then looks once at Err, before it acts.
//
//	Func      one function, method or property: the table entry
//	Param     one parameter: Req, Opt, Rest, RestKw
//	Call      one call: typed access to arguments, the thread, errors
//	Callable  a Func as a script holds it, bound to a receiver if it is a method
//	Methods   the methods of one type, as package value wants them
//	Module    a struct of functions such as np, with hints for misspelt fields
//	Help      the text that help() prints of any value
//
// The thread of a call carries what a long-running function needs: Context is
// cancelled at an interrupt and when a limit is hit, and Tick counts work that
// the interpreter does not see against the limit of steps.
package builtin
