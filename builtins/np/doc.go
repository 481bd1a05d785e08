// Package np is what a script sees as np: NumPy's names for arrays of every
// ONNX type, and the methods of array. The arithmetic is package array/num's;
// here stand the table entries and what is more shape than number.
package np

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

// Module returns np for one host.
func Module() *builtin.Module {
	funcs := slices.Concat(makers, shapers, elementFuncs(), reduceFuncs(), selectors, algebra, files)
	return builtin.NewModule("np", "arrays, by NumPy's names", funcs, extras())
}

var methods = builtin.Methods(arrayMethods, reduceMethods())

func init() { value.ArrayMethods = methods } // arrays are made without an environment

// extras are the dtypes and constants.
func extras() starlark.StringDict {
	d := starlark.StringDict{
		"pi": starlark.Float(3.141592653589793), "e": starlark.Float(2.718281828459045),
		"inf": starlark.Float(inf), "nan": starlark.Float(nan), "newaxis": starlark.None,
		"random": &randomModule{gen: newGenerator(0)},
	}
	for _, dt := range array.DTypes() {
		if dt != array.String {
			d[dt.String()] = starlark.String(dt.String())
		}
	}
	return d
}

// arg returns an array argument.
func arg(c *builtin.Call, name string) *array.Array {
	a, err := value.AsArray(c.Value(name), array.Undefined, c.Func.Name+": "+name)
	if err != nil {
		c.Fail(err)
		return array.New(array.Float64, 0)
	}
	return a
}

// dtype returns a dtype argument, Undefined for None.
func dtype(c *builtin.Call) array.DType { return builtin.Arg(c, "dtype", value.AsDType) }

func dtypeOr(c *builtin.Call, def array.DType) array.DType {
	if dt := dtype(c); dt != array.Undefined {
		return dt
	}
	return def
}

// shapeArg returns a shape argument: an int or a list of ints.
func shapeArg(c *builtin.Call, name string) []int {
	return builtin.Arg(c, name, func(v starlark.Value, what string) ([]int, error) { return asInts(v, what) })
}

func asInts(v starlark.Value, what string) ([]int, error) {
	if n, ok := v.(starlark.Int); ok {
		i, err := value.AsInt(n, what)
		return []int{int(i)}, err
	}
	out, err := builtin.Each(builtin.AsInt)(v, what)
	if out == nil {
		out = []int{}
	}
	return out, err
}

// axesArg returns an axis argument: None (nil), an int or a list of ints.
func axesArg(c *builtin.Call, name string) []int {
	if c.IsNone(name) {
		return nil
	}
	return shapeArg(c, name)
}

// give wraps a result.
func give(a *array.Array, err error) (starlark.Value, error) {
	if err != nil {
		return nil, err
	}
	return value.NewArray(a), nil
}

// checked returns an error when making an array of that type and shape is out
// of the question for a script: more than 16 GiB.
func checked(dt array.DType, shape []int) (*array.Array, error) {
	if err := fits(dt, shape); err != nil {
		return nil, err
	}
	return array.Make(dt, shape)
}

func fits(dt array.DType, shape []int) error {
	const most = 16 << 30
	n := 1.0
	for _, d := range shape {
		n *= float64(d)
	}
	if n*float64(max(dt.Bits(), 8))/8 > most {
		return fmt.Errorf("an array of shape %v would take over 16 GiB", shape)
	}
	return nil
}
