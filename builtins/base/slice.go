package base

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

var sliceFuncs = []*builtin.Func{{
	Name: "slice", Doc: "makes a slice, for indices of several axes: a[slice(None), slice(0, 3)]. It is slice(stop) or slice(start, stop, step), and has these as fields.",
	Params:  []builtin.Param{builtin.Rest("bounds", "int or None", "stop; or start, stop and step")},
	Returns: "slice", Example: `assert.eq(np.arange(6)[slice(1, 6, 2)].tolist(), [1, 3, 5])`,
	Fn: newSlice,
}}

// sliceValue is slice(start, stop, step).
type sliceValue struct{ start, stop, step starlark.Value }

var (
	_ value.Bounds        = sliceValue{}
	_ starlark.HasAttrs   = sliceValue{}
	_ starlark.Comparable = sliceValue{}
)

func newSlice(c *builtin.Call) (starlark.Value, error) {
	s := sliceValue{starlark.None, starlark.None, starlark.None}
	switch len(c.Rest) {
	case 1:
		s.stop = c.Rest[0]
	case 2:
		s.start, s.stop = c.Rest[0], c.Rest[1]
	case 3:
		s.start, s.stop, s.step = c.Rest[0], c.Rest[1], c.Rest[2]
	default:
		return nil, c.Errorf("got %d arguments, want stop, or start, stop and step", len(c.Rest))
	}
	for i, v := range c.Rest {
		if _, isInt := v.(starlark.Int); !isInt && v != starlark.None {
			return nil, c.Errorf("argument %d: got %s, want int or None", i+1, v.Type())
		}
	}
	return s, nil
}

// Bounds returns the three parts.
func (s sliceValue) Bounds() (start, stop, step starlark.Value) { return s.start, s.stop, s.step }

func (s sliceValue) String() string { return fmt.Sprintf("slice(%s, %s, %s)", s.start, s.stop, s.step) }

// Type returns "slice".
func (s sliceValue) Type() string { return "slice" }

// Freeze does nothing: a slice never changes.
func (s sliceValue) Freeze() {}

// Truth reports true.
func (s sliceValue) Truth() starlark.Bool { return true }

// Hash hashes the parts.
func (s sliceValue) Hash() (uint32, error) { return starlark.Tuple{s.start, s.stop, s.step}.Hash() }

// Attr returns start, stop or step.
func (s sliceValue) Attr(name string) (starlark.Value, error) {
	switch name {
	case "start":
		return s.start, nil
	case "stop":
		return s.stop, nil
	case "step":
		return s.step, nil
	}
	return nil, nil
}

// AttrNames lists start, stop and step.
func (s sliceValue) AttrNames() []string { return []string{"start", "step", "stop"} }

// CompareSameType compares the parts; slices have no order.
func (s sliceValue) CompareSameType(op syntax.Token, y starlark.Value, depth int) (bool, error) {
	t := y.(sliceValue)
	eq, err := starlark.EqualDepth(starlark.Tuple{s.start, s.stop, s.step}, starlark.Tuple{t.start, t.stop, t.step}, depth)
	switch {
	case err != nil:
		return false, err
	case op == syntax.EQL:
		return eq, nil
	case op == syntax.NEQ:
		return !eq, nil
	}
	return false, fmt.Errorf("slices can't be ordered by %s", op)
}
