package builtin

import (
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/internal/spell"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

// Call is one call of a Func. Its getters return an argument, or the default of
// one that was not given; the first that does not fit is remembered in Err.
type Call struct {
	// Thread runs the script; nil for a property.
	Thread *starlark.Thread
	// Func is the entry that is called.
	Func *Func
	// Recv is the receiver of a method, else nil.
	Recv starlark.Value
	// Rest holds what *name took, Kw what **name took.
	Rest starlark.Tuple
	Kw   []starlark.Tuple

	args []starlark.Value // one for each parameter; nil where not given
	err  error
}

// run calls the Go function and gives its error the function's name.
func (c *Call) run() (starlark.Value, error) {
	v, err := c.Func.Fn(c)
	if err == nil {
		err = c.err
	}
	if err != nil {
		return nil, c.wrap(err)
	}
	if v == nil {
		v = starlark.None
	}
	return v, nil
}

// wrap prefixes the name of the function, unless the error has it, or comes
// from a script that the function called.
func (c *Call) wrap(err error) error {
	var eval *starlark.EvalError
	var bug *PanicError
	if errors.As(err, &eval) || errors.As(err, &bug) || strings.HasPrefix(err.Error(), c.Func.Name+":") {
		return err
	}
	return fmt.Errorf("%s: %w", c.Func.Name, err)
}

// Env returns the environment of the host that runs the script.
func (c *Call) Env() *value.Env {
	if c.Thread == nil {
		return nil
	}
	return value.EnvOf(c.Thread)
}

// Err returns the first error of the getters.
func (c *Call) Err() error { return c.err }

// Fail remembers an error, unless there is one already.
func (c *Call) Fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// Errorf returns an error that begins with the name of the function.
func (c *Call) Errorf(format string, args ...any) error {
	return fmt.Errorf(c.Func.Name+": "+format, args...)
}

// ArgErrorf returns an error about one argument.
func (c *Call) ArgErrorf(name, format string, args ...any) error {
	return fmt.Errorf(c.what(name)+": "+format, args...)
}

// what names an argument in an error, by the name that the caller knows.
func (c *Call) what(name string) string {
	for _, p := range c.Func.Params {
		if p.Inner == name {
			name = p.Name
		}
	}
	return c.Func.Name + ": " + name
}

// Invoke calls a function of the script.
func (c *Call) Invoke(fn starlark.Value, args ...starlark.Value) (starlark.Value, error) {
	return starlark.Call(c.Thread, fn, args, nil)
}

// unpack distributes the arguments over the parameters.
func (c *Call) unpack(args starlark.Tuple, kwargs []starlark.Tuple) error {
	params := c.Func.Params
	c.args = make([]starlark.Value, len(params))
	n := 0 // parameters that take positional arguments
	for n < len(params) && !params[n].Rest && !params[n].RestKw && !params[n].KeyOnly {
		n++
	}
	copy(c.args[:n], args)
	if len(args) > n {
		if n == len(params) || !params[n].Rest {
			return c.tooMany(len(args), n)
		}
		c.Rest = args[n:]
	}
	for _, kv := range kwargs {
		if err := c.named(string(kv[0].(starlark.String)), kv); err != nil {
			return err
		}
	}
	if c.Func.NoneIsDefault {
		c.dropNones()
	}
	return c.missing()
}

// dropNones makes a None that is given for an optional parameter one that is not.
func (c *Call) dropNones() {
	for i, v := range c.args {
		if v == starlark.None && c.Func.Params[i].Def != nil {
			c.args[i] = nil
		}
	}
}

func (c *Call) named(name string, kv starlark.Tuple) error {
	i := c.index(name)
	if i < 0 {
		if last := len(c.Func.Params) - 1; last >= 0 && c.Func.Params[last].RestKw {
			c.Kw = append(c.Kw, kv)
			return nil
		}
		return c.unexpected(name)
	}
	if c.args[i] != nil {
		return c.Errorf("argument %q is given twice", name)
	}
	c.args[i] = kv[1]
	return nil
}

// index finds the parameter that a keyword argument may set.
func (c *Call) index(name string) int {
	for i := range c.Func.Params {
		p := &c.Func.Params[i]
		if p.Name == name && !p.Rest && !p.RestKw && !p.PosOnly {
			return i
		}
	}
	return -1
}

func (c *Call) tooMany(got, want int) error {
	more := ""
	for _, p := range c.Func.Params[want:] {
		if p.KeyOnly {
			more = fmt.Sprintf("; give %q by name", p.Name)
			break
		}
	}
	most := ""
	if want > 0 && c.Func.Params[want-1].Def != nil {
		most = "at most "
	}
	return c.Errorf("got %d positional argument%s, want %s%d: %s%s", got, plural(got), most, want, c.Func.Signature(), more)
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

func (c *Call) unexpected(name string) error {
	var names []string
	for _, p := range c.Func.Params {
		if !p.Rest && !p.RestKw && !p.PosOnly {
			names = append(names, p.Name)
		}
	}
	if hint := spell.Hint(name, names); hint != "" {
		return c.Errorf("unexpected keyword argument %q%s", name, hint)
	}
	if len(names) == 0 {
		return c.Errorf("unexpected keyword argument %q, want none", name)
	}
	return c.Errorf("unexpected keyword argument %q, want %s", name, oneOf(names))
}

// renamed gives the error of a Raw function about a keyword argument the form of
// all others: Starlark's own know but half of the parameters.
func (c *Call) renamed(err error, kwargs []starlark.Tuple) error {
	if err == nil || !strings.Contains(err.Error(), "unexpected keyword argument") {
		return err
	}
	for _, kv := range kwargs {
		name := string(kv[0].(starlark.String))
		if strings.Contains(err.Error(), name) && c.index(name) < 0 {
			return c.unexpected(name)
		}
	}
	return err
}

func (c *Call) missing() error {
	var names []string
	for i, p := range c.Func.Params {
		if c.args[i] == nil && p.Def == nil && !p.Rest && !p.RestKw {
			names = append(names, fmt.Sprintf("%q", p.Name))
		}
	}
	if names == nil {
		return nil
	}
	return c.Errorf("missing argument%s %s: %s", plural(len(names)), strings.Join(names, ", "), c.Func.Signature())
}

func oneOf(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = fmt.Sprintf("%q", n)
	}
	if len(quoted) == 1 {
		return quoted[0]
	}
	return "one of " + strings.Join(quoted, ", ")
}
