package base

import (
	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/builtins/builtin"
)

// Starlark's own functions that take an iterable run to its end, whatever limit
// is hit: list(range(1 << 40)) would end the process. They are given the
// iterable in a wrapper whose iterator counts what it hands out against the
// limits of the script, and ends when one is hit.

// countEvery is how many elements are counted at a time; an iterable that is
// known to be shorter is not wrapped.
const countEvery = 1024

// counted returns v, in a wrapper when it may be long.
func counted(t *starlark.Thread, v starlark.Value) (starlark.Value, *countedIterable) {
	it, ok := v.(starlark.Iterable)
	if !ok {
		return v, nil
	}
	if _, isDict := v.(starlark.IterableMapping); isDict {
		return v, nil // dict() tells one from a list of pairs; its elements are there
	}
	if n := starlark.Len(v); n >= 0 && n < countEvery {
		return v, nil
	}
	c := &countedIterable{Iterable: it, t: t}
	return c, c
}

// countedIterable is an iterable of unknown length.
type countedIterable struct {
	starlark.Iterable
	t   *starlark.Thread
	err error // the limit that was hit
}

// Iterate returns the counting iterator.
func (c *countedIterable) Iterate() starlark.Iterator {
	return &countedIterator{Iterator: c.Iterable.Iterate(), c: c}
}

type countedIterator struct {
	starlark.Iterator
	c *countedIterable
	n int
}

// Next returns the next element unless a limit is hit.
func (it *countedIterator) Next(p *starlark.Value) bool {
	if it.n++; it.n%countEvery == 0 {
		if it.c.err = builtin.Tick(it.c.t, countEvery); it.c.err != nil {
			return false
		}
	}
	return it.Iterator.Next(p)
}

// guarded calls a function of Starlark's with its iterables counted.
func guarded(t *starlark.Thread, fn *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var wrapped []*countedIterable
	for i, v := range args {
		w, c := counted(t, v)
		if c == nil {
			continue
		}
		if wrapped == nil {
			args = append(starlark.Tuple(nil), args...)
		}
		args[i] = w
		wrapped = append(wrapped, c)
	}
	v, err := fn.CallInternal(t, args, kwargs)
	for _, c := range wrapped {
		if c.err != nil {
			return nil, c.err
		}
	}
	return v, err
}
