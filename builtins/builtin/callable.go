package builtin

import (
	"fmt"
	"hash/fnv"
	"runtime/debug"
	"sort"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/internal/mmap"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

// Callable is a Func as a script holds it, with its receiver when it is a method.
type Callable struct {
	fn   *Func
	recv starlark.Value
}

var (
	_ starlark.Callable   = (*Callable)(nil)
	_ starlark.HasAttrs   = (*Callable)(nil)
	_ starlark.Comparable = (*Callable)(nil)
)

// Func returns the table entry.
func (c *Callable) Func() *Func { return c.fn }

// Receiver returns what a method is bound to, or nil.
func (c *Callable) Receiver() starlark.Value { return c.recv }

// Name returns the qualified name, which a backtrace shows.
func (c *Callable) Name() string { return c.fn.Name }

func (c *Callable) String() string {
	if c.recv != nil {
		return fmt.Sprintf("<built-in method %s of %s value>", c.fn.Base(), c.recv.Type())
	}
	return fmt.Sprintf("<built-in function %s>", c.fn.Name)
}

// Type returns the name that Starlark gives to all functions of the host.
func (c *Callable) Type() string { return "builtin_function_or_method" }

// Freeze freezes the receiver.
func (c *Callable) Freeze() {
	if c.recv != nil {
		c.recv.Freeze()
	}
}

// Truth reports true.
func (c *Callable) Truth() starlark.Bool { return true }

// Hash hashes the name; bound methods of several receivers may collide.
func (c *Callable) Hash() (uint32, error) {
	h := fnv.New32a()
	h.Write([]byte(c.fn.Name))
	return h.Sum32(), nil
}

// CompareSameType makes the same function, bound to the same receiver, equal.
func (c *Callable) CompareSameType(op syntaxToken, y starlark.Value, depth int) (bool, error) {
	d, ok := y.(*Callable)
	eq := ok && c.fn == d.fn && (c.recv == nil) == (d.recv == nil)
	if eq && c.recv != nil {
		var err error
		if eq, err = starlark.EqualDepth(c.recv, d.recv, depth-1); err != nil {
			return false, err
		}
	}
	return compareEq(op, eq, "functions")
}

// Attr returns an attribute of the function itself.
func (c *Callable) Attr(name string) (starlark.Value, error) { return c.fn.Attrs[name], nil }

// AttrNames lists the attributes of the function itself.
func (c *Callable) AttrNames() []string { return c.fn.Attrs.Keys() }

// CallInternal unpacks the arguments and runs the function. A Go panic in it,
// which is a bug, becomes an error with the script's call stack.
func (c *Callable) CallInternal(t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (v starlark.Value, err error) {
	env := value.EnvOf(t)
	var outer value.Step
	if env != nil {
		outer = env.BeginStep(c.fn.Name)
	}
	defer func() {
		if r := recover(); r != nil {
			v, err = nil, Recovered(c.fn.Name, r)
		}
		if env != nil {
			env.EndStep(outer, err != nil)
		}
	}()
	if record, ok := t.Local(recordKey).(func(*Func)); ok {
		record(c.fn)
	}
	call := &Call{Thread: t, Func: c.fn, Recv: c.recv}
	if c.fn.Raw != nil {
		v, err := c.fn.Raw(t, args, kwargs)
		return v, call.renamed(err, kwargs)
	}
	if err := call.unpack(args, kwargs); err != nil {
		return nil, err
	}
	return call.run()
}

// PanicError is a Go panic inside a function of the host: a bug of ours.
type PanicError struct {
	Func  string // which function, or ""
	Value any    // what it panicked with
	Stack []byte // the Go stack, for the report
}

// Recovered makes an error of the value that recover returned.
func Recovered(fn string, r any) error {
	if e, ok := r.(*PanicError); ok {
		return e
	}
	if err := mmap.Fault(r); err != nil {
		return err // a file was cut: no bug
	}
	return &PanicError{Func: fn, Value: r, Stack: debug.Stack()}
}

// Error says which function failed and how.
func (e *PanicError) Error() string {
	if e.Func == "" {
		return fmt.Sprintf("internal error: %v", e.Value)
	}
	return fmt.Sprintf("internal error: %s: %v", e.Func, e.Value)
}

// Unwrap returns the error that was panicked with, if it was one.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Table is the methods and properties of one type; it is what value.Methods wants.
type Table struct {
	byName map[string]*Func
	names  []string
}

// Methods makes the table of a type's methods from lists of entries.
func Methods(lists ...[]*Func) *Table {
	t := &Table{byName: map[string]*Func{}}
	for _, fs := range lists {
		for _, f := range fs {
			if t.byName[f.Base()] != nil {
				panic("internal error: two methods " + f.Name)
			}
			t.byName[f.Base()] = f
			t.names = append(t.names, f.Base())
		}
	}
	sort.Strings(t.names)
	return t
}

// Bind returns the method bound to recv, or the value of the property, or nil
// when there is none of that name.
func (t *Table) Bind(recv starlark.Value, name string) (starlark.Value, error) {
	f := t.byName[name]
	if f == nil {
		return nil, nil
	}
	if f.Property {
		call := &Call{Func: f, Recv: recv}
		return call.run()
	}
	return &Callable{fn: f, recv: recv}, nil
}

// Names lists the methods and properties, sorted.
func (t *Table) Names() []string { return t.names }

// Lookup returns the entry of that name, or nil.
func (t *Table) Lookup(name string) *Func { return t.byName[name] }
