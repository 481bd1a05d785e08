package value

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
)

// frozenList returns a list that the script reads but can't change.
func frozenList(vs []starlark.Value) *starlark.List {
	l := starlark.NewList(vs)
	l.Freeze()
	return l
}

// Text returns s as a script's string, or as bytes when it is no UTF-8.
func Text(s string) starlark.Value {
	if utf8.ValidString(s) {
		return starlark.String(s)
	}
	return starlark.Bytes(s)
}

// AsText returns the string or bytes that a script gave.
func AsText(v starlark.Value, what string) (string, error) {
	switch v := v.(type) {
	case starlark.String:
		return string(v), nil
	case starlark.Bytes:
		return string(v), nil
	}
	return "", fmt.Errorf("%s: got %s, want a string", what, v.Type())
}

// AsInt returns the integer that a script gave.
func AsInt(v starlark.Value, what string) (int64, error) {
	switch v := v.(type) {
	case starlark.Int:
		if n, ok := v.Int64(); ok {
			return n, nil
		}
		return 0, fmt.Errorf("%s: got %s, which does not fit into 64 bits", what, v)
	case starlark.Bool:
		if v {
			return 1, nil
		}
		return 0, nil
	}
	return 0, fmt.Errorf("%s: got %s, want an int", what, v.Type())
}

// Items returns the elements of any iterable.
func Items(v starlark.Value, what string) ([]starlark.Value, error) {
	it := starlark.Iterate(v)
	if it == nil {
		return nil, fmt.Errorf("%s: got %s, want a list", what, v.Type())
	}
	defer it.Done()
	var out []starlark.Value
	var x starlark.Value
	for it.Next(&x) {
		out = append(out, x)
	}
	return out, nil
}

// Float32 returns the float that a script sees of a float32: the shortest
// decimal that is this float32, so that 0.02 reads back as 0.02.
func Float32(f float32) starlark.Float {
	d, err := strconv.ParseFloat(strconv.FormatFloat(float64(f), 'g', -1, 32), 64)
	if err != nil {
		return starlark.Float(f)
	}
	return starlark.Float(d)
}

// DTypeValue returns a dtype as a script sees it: its name, None when unknown.
func DTypeValue(dt array.DType) starlark.Value {
	if dt == array.Undefined {
		return starlark.None
	}
	return starlark.String(dt.String())
}

// AsDType returns the dtype that a script named: by NumPy's or ONNX's name, by
// ONNX's number, or by a numpy-like value that has a name; None is Undefined.
func AsDType(v starlark.Value, what string) (array.DType, error) {
	switch v := v.(type) {
	case starlark.NoneType:
		return array.Undefined, nil
	case starlark.String:
		dt, err := array.ParseDType(string(v))
		if err != nil {
			return 0, fmt.Errorf("%s: %w", what, err)
		}
		return dt, nil
	case starlark.Int:
		dt, err := array.ParseDType(v.String())
		if err != nil {
			return 0, fmt.Errorf("%s: %w", what, err)
		}
		return dt, nil
	case starlark.Callable: // int, float, bool and str, as NumPy takes them
		switch v.Name() {
		case "int":
			return array.Int64, nil
		case "float":
			return array.Float64, nil
		case "bool":
			return array.Bool, nil
		case "str":
			return array.String, nil
		}
	}
	return 0, fmt.Errorf("%s: got %s, want a dtype such as \"float32\"", what, v.Type())
}

// ShapeValue returns a shape as a script sees it: None, or a frozen list of
// int, string and None.
func ShapeValue(s ir.Shape) starlark.Value {
	if s == nil {
		return starlark.None
	}
	vs := make([]starlark.Value, len(s))
	for i, d := range s {
		vs[i] = dimValue(d)
	}
	return frozenList(vs)
}

func dimValue(d ir.Dim) starlark.Value {
	if n, ok := d.Size(); ok {
		return starlark.MakeInt64(n)
	}
	if d.Unknown() {
		return starlark.None
	}
	return Text(d.Symbol())
}

// AsShape returns the shape that a script gave; None is an unknown rank.
func AsShape(v starlark.Value, what string) (ir.Shape, error) {
	if v == starlark.None {
		return nil, nil
	}
	if _, ok := v.(starlark.String); ok {
		return nil, fmt.Errorf("%s: got a string, want a list of int, string (a symbol) and None", what)
	}
	items, err := Items(v, what)
	if err != nil {
		return nil, err
	}
	s := make(ir.Shape, len(items))
	for i, x := range items {
		if s[i], err = AsDim(x, fmt.Sprintf("%s[%d]", what, i)); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// AsDim returns the dimension that a script gave: an int, a symbol or
// expression, or None; -1 is taken as None.
func AsDim(v starlark.Value, what string) (ir.Dim, error) {
	switch v := v.(type) {
	case starlark.NoneType:
		return ir.Dim{}, nil
	case starlark.String:
		return ir.Sym(string(v)), nil
	case starlark.Int:
		n, ok := v.Int64()
		if !ok || n < -1 {
			return ir.Dim{}, fmt.Errorf("%s: got %s, want a size ≥ 0, a symbol, or None", what, v)
		}
		return ir.Num(n), nil
	}
	return ir.Dim{}, fmt.Errorf("%s: got %s, want an int, a string (a symbol) or None", what, v.Type())
}
