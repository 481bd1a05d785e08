package core

import (
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// record returns a struct value of that kind.
func record(kind string, fields starlark.StringDict) starlark.Value {
	return starlarkstruct.FromStringDict(starlark.String(kind), fields)
}
