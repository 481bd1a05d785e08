package value

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// listSource is one list of a model: it reads and edits the list itself.
// Implementations are small comparable structs.
type listSource interface {
	typ() string
	what() string // as an error names the list: inputs of node "a" (Add)
	len() int
	at(i int) starlark.Value
	set(i int, v starlark.Value) error
	insert(i int, v starlark.Value) error
	remove(i int) error
	mutable(verb string) error
}

// List is a live view of a list: what a script reads is the list as it is now,
// and a change through the view changes the model. A loop walks what the list
// held when the loop began.
type List struct {
	src listSource
	env *Env
}

var (
	_ starlark.Sequence    = List{}
	_ starlark.HasSetIndex = List{}
	_ starlark.Sliceable   = List{}
	_ starlark.HasAttrs    = List{}
	_ starlark.HasBinary   = List{}
)

// String returns the one-line form: the list of its elements.
func (l List) String() string { return starlark.NewList(l.snapshot()).String() }

// Type is not "list": no view equals a list.
func (l List) Type() string { return l.src.typ() }

// Freeze does nothing: the model that the view is of is frozen, or not.
func (l List) Freeze() {}

// Truth reports whether the list has elements.
func (l List) Truth() starlark.Bool { return l.src.len() > 0 }

// Hash fails, as for a list.
func (l List) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable type: %s", l.Type()) }

// Len returns the number of elements.
func (l List) Len() int { return l.src.len() }

// Index returns element i.
func (l List) Index(i int) starlark.Value { return l.src.at(i) }

// SetIndex replaces element i.
func (l List) SetIndex(i int, v starlark.Value) error {
	if err := l.src.mutable("assign to an element of"); err != nil {
		return err
	}
	return l.src.set(i, v)
}

// Slice returns a plain list.
func (l List) Slice(start, end, step int) starlark.Value {
	return starlark.NewList(l.snapshot()).Slice(start, end, step)
}

func (l List) snapshot() []starlark.Value {
	vs := make([]starlark.Value, l.src.len())
	for i := range vs {
		vs[i] = l.src.at(i)
	}
	return vs
}

type snapshotIterator struct{ rest []starlark.Value }

func (it *snapshotIterator) Next(p *starlark.Value) bool {
	if len(it.rest) == 0 {
		return false
	}
	*p, it.rest = it.rest[0], it.rest[1:]
	return true
}

func (it *snapshotIterator) Done() {}

// Iterate walks what the list holds now.
func (l List) Iterate() starlark.Iterator { return &snapshotIterator{l.snapshot()} }

// Binary implements +, which gives a plain list, and in, which goes by identity.
func (l List) Binary(op syntax.Token, y starlark.Value, side starlark.Side) (starlark.Value, error) {
	switch {
	case op == syntax.IN && side == starlark.Right:
		return starlark.Bool(l.find(y) >= 0), nil
	case op == syntax.PLUS:
		if starlark.Iterate(y) == nil {
			return nil, nil
		}
		other, err := Items(y, "operand of +")
		if err != nil {
			return nil, err
		}
		if side == starlark.Left {
			return starlark.NewList(append(l.snapshot(), other...)), nil
		}
		return starlark.NewList(append(other, l.snapshot()...)), nil
	}
	return nil, nil
}

// find returns the index of the element that is v, or -1.
func (l List) find(v starlark.Value) int {
	for i := range l.src.len() {
		if same(l.src.at(i), v) {
			return i
		}
	}
	return -1
}

// same is identity for what a model holds, and equality for None.
func same(x, y starlark.Value) bool {
	switch x.(type) {
	case Tensor, Node, Graph, starlark.NoneType:
		return x == y
	}
	return false
}

var listMethods = map[string]func(l List, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error){
	"append": listAppend, "extend": listExtend, "insert": listInsert, "remove": listRemove,
	"pop": listPop, "clear": listClear, "index": listIndex,
}

var listMethodNames = []string{"append", "clear", "extend", "index", "insert", "pop", "remove"}

// Attr returns a method of Starlark's list API.
func (l List) Attr(name string) (starlark.Value, error) {
	f := listMethods[name]
	if f == nil {
		return nil, nil
	}
	return starlark.NewBuiltin(name, func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if name != "index" {
			if err := l.src.mutable(name + " on"); err != nil {
				return nil, err
			}
		}
		v, err := f(l, args, kwargs)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", l.Type(), name, err)
		}
		return v, nil
	}).BindReceiver(l), nil
}

// AttrNames lists the methods.
func (l List) AttrNames() []string { return listMethodNames }

func listAppend(l List, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v starlark.Value
	if err := starlark.UnpackPositionalArgs("append", args, kwargs, 1, &v); err != nil {
		return nil, err
	}
	return starlark.None, l.src.insert(l.src.len(), v)
}

func listExtend(l List, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v starlark.Value
	if err := starlark.UnpackPositionalArgs("extend", args, kwargs, 1, &v); err != nil {
		return nil, err
	}
	items, err := Items(v, "extend")
	if err != nil {
		return nil, err
	}
	return starlark.None, l.extend(items)
}

func (l List) extend(items []starlark.Value) error {
	for _, x := range items {
		if err := l.src.insert(l.src.len(), x); err != nil {
			return err
		}
	}
	return nil
}

func listInsert(l List, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var i int
	var v starlark.Value
	if err := starlark.UnpackPositionalArgs("insert", args, kwargs, 2, &i, &v); err != nil {
		return nil, err
	}
	n := l.src.len()
	if i < 0 {
		i = max(0, i+n)
	}
	return starlark.None, l.src.insert(min(i, n), v)
}

func listRemove(l List, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v starlark.Value
	if err := starlark.UnpackPositionalArgs("remove", args, kwargs, 1, &v); err != nil {
		return nil, err
	}
	i := l.find(v)
	if i < 0 {
		return nil, fmt.Errorf("%s is not among the %s", v, l.src.what())
	}
	return starlark.None, l.src.remove(i)
}

func listPop(l List, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	i := -1
	if err := starlark.UnpackPositionalArgs("pop", args, kwargs, 0, &i); err != nil {
		return nil, err
	}
	n := l.src.len()
	at := i
	if at < 0 {
		at += n
	}
	if at < 0 || at >= n {
		return nil, fmt.Errorf("index %d is out of range: the %s are %d", i, l.src.what(), n)
	}
	v := l.src.at(at)
	return v, l.src.remove(at)
}

func listClear(l List, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := starlark.UnpackPositionalArgs("clear", args, kwargs, 0); err != nil {
		return nil, err
	}
	return starlark.None, l.clear()
}

func (l List) clear() error {
	for i := l.src.len() - 1; i >= 0; i-- {
		if err := l.src.remove(i); err != nil {
			return err
		}
	}
	return nil
}

func listIndex(l List, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v starlark.Value
	if err := starlark.UnpackPositionalArgs("index", args, kwargs, 1, &v); err != nil {
		return nil, err
	}
	i := l.find(v)
	if i < 0 {
		return nil, fmt.Errorf("%s is not among the %s", v, l.src.what())
	}
	return starlark.MakeInt(i), nil
}

// assign replaces all elements by those of v; nothing changes when one of them
// is refused.
func (l List) assign(v starlark.Value, check func(starlark.Value) error) error {
	if err := l.src.mutable("assign"); err != nil {
		return err
	}
	if v == starlark.Value(l) {
		return nil
	}
	items, err := Items(v, l.src.what())
	if err != nil {
		return err
	}
	for _, x := range items {
		if err := check(x); err != nil {
			return err
		}
	}
	if err := l.clear(); err != nil {
		return err
	}
	return l.extend(items)
}
