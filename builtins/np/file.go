package np

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/runtime"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

// files are NumPy's two file formats; the name's end says which.
var files = []*builtin.Func{
	{
		Name: "np.read", Doc: "reads an .npy file as an array, or an .npz file as a dict of arrays by name.",
		Params: []builtin.Param{builtin.Req("path", "string", "the file")}, Returns: "array or dict",
		Example: "np.write(\"a.npz\", {\"x\": np.arange(3)})\nassert.eq(np.read(\"a.npz\")[\"x\"].tolist(), [0, 1, 2])", Fn: read,
	},
	{
		Name: "np.write", Doc: "writes an array as an .npy file, or a dict of arrays by name as an .npz file, whole or not at all.",
		Params:  []builtin.Param{builtin.Req("path", "string", "the file"), builtin.Req("value", "array or dict", "what it is to hold")},
		Example: "np.write(\"a.npy\", np.ones([2, 3]))\nassert.eq(np.read(\"a.npy\").shape, [2, 3])", Fn: write,
	},
}

func read(c *builtin.Call) (starlark.Value, error) {
	name := c.Str("path")
	if err := c.Err(); err != nil {
		return nil, err
	}
	path, err := c.Env().Files.Read(name)
	if err != nil {
		return nil, err
	}
	switch ext := strings.ToLower(filepath.Ext(name)); ext {
	case ".npz":
		values, err := runtime.ReadNPZ(path)
		if err != nil {
			return nil, err
		}
		return arraysByName(values)
	case ".npy":
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		a, err := runtime.ReadNPY(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return value.NewArray(a), nil
	default:
		return nil, c.ArgErrorf("path", "got %q, want a name that ends in .npy or .npz", name)
	}
}

func arraysByName(values map[string]array.Value) (*starlark.Dict, error) {
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	sort.Strings(names)
	d := starlark.NewDict(len(names))
	for _, name := range names {
		if a, ok := values[name].(*array.Array); ok {
			if err := d.SetKey(starlark.String(name), value.NewArray(a)); err != nil {
				return nil, err
			}
		}
	}
	return d, nil
}

func write(c *builtin.Call) (starlark.Value, error) {
	name, v := c.Str("path"), c.Value("value")
	if err := c.Err(); err != nil {
		return nil, err
	}
	ext := strings.ToLower(filepath.Ext(name))
	if ext != ".npy" && ext != ".npz" {
		return nil, c.ArgErrorf("path", "got %q, want a name that ends in .npy or .npz", name)
	}
	if _, isDict := v.(*starlark.Dict); isDict != (ext == ".npz") {
		return nil, c.ArgErrorf("value", "got %s for a file that ends in %s, want an array for .npy and a dict of arrays for .npz", v.Type(), ext)
	}
	path, err := c.Env().Files.Write(name)
	if err != nil {
		return nil, err
	}
	if ext == ".npy" {
		a, err := value.AsArray(v, array.Undefined, "value")
		if err != nil {
			return nil, err
		}
		return starlark.None, runtime.SaveNPY(path, a)
	}
	values := map[string]array.Value{}
	for _, item := range c.Items("value") {
		key, err := value.AsText(item[0], "value")
		if err != nil {
			return nil, err
		}
		if values[key], err = value.AsArray(item[1], array.Undefined, fmt.Sprintf("value[%q]", key)); err != nil {
			return nil, err
		}
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	return starlark.None, runtime.WriteNPZ(path, values)
}
