package model

import (
	"fmt"
	"maps"
	"slices"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/internal/spell"
	"github.com/starlarkgs/starlarkgs/onnx"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

var openFunc = &builtin.Func{
	Name: "open", Doc: "opens a model file and returns its graph. Weights are mapped, not read. External data must lie below the model's folder, or below that of the file that the model links to, with links followed.",
	Params: []builtin.Param{builtin.Req("path", "string", "the file"), builtin.Opt("external", nil, "string", "the folder of external data, None for the model's own"),
		builtin.Opt("limits", builtin.NoDict, "dict", "what the file may have at most: file_size and string in bytes, depth, bodies, calls, nodes, attributes, functions"),
		builtin.Opt("allow_dirs", builtin.NoList, "list of string", "folders that links of external data may lead into besides"),
		builtin.Opt("strict", false, "bool", "refuse external data that is a link or has several names")},
	Returns: "graph", Example: "g = graph(\"demo\", inputs = [variable(\"x\", \"float32\", [1])])\ng.outputs = [g.op.Relu(g.inputs[0])]\ng.save(\"demo.onnx\")\nassert.eq(open(\"demo.onnx\", limits = {\"nodes\": 10}).name, \"demo\")",
	Fn: open,
}

func open(c *builtin.Call) (starlark.Value, error) {
	path, files := c.Str("path"), c.Env().Files
	o := onnx.OpenOptions{ExternalDir: c.Str("external"), AllowDirs: c.Strs("allow_dirs"), Strict: c.Bool("strict")}
	if err := limits(c, &o.Limits); err != nil {
		return nil, err
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	dirs := o.AllowDirs
	if o.ExternalDir != "" {
		dirs = append(slices.Clone(dirs), o.ExternalDir)
	}
	for _, dir := range append(dirs, path) {
		if _, err := files.Read(dir); err != nil {
			return nil, err
		}
	}
	m, err := onnx.Open(path, o)
	if err != nil {
		return nil, err
	}
	return c.Env().Graph(m.Graph()), nil
}

// limits reads the argument of that name.
func limits(c *builtin.Call, l *onnx.Limits) error {
	fields := map[string]func(int){
		"file_size": func(n int) { l.FileSize = int64(n) }, "string": func(n int) { l.String = int64(n) },
		"depth": func(n int) { l.Depth = n }, "bodies": func(n int) { l.Bodies = n }, "calls": func(n int) { l.Calls = n },
		"nodes": func(n int) { l.Nodes = n }, "attributes": func(n int) { l.Attributes = n }, "functions": func(n int) { l.Functions = n },
	}
	for _, item := range c.Items("limits") {
		name, err := value.AsText(item[0], "limits")
		if err != nil {
			return err
		}
		set, names := fields[name], slices.Sorted(maps.Keys(fields))
		if set == nil {
			return c.ArgErrorf("limits", "got %q, want one of %q%s", name, names, spell.Hint(name, names))
		}
		n, err := builtin.AsInt(item[1], fmt.Sprintf("limits[%q]", name))
		if err != nil {
			return err
		}
		if n < 1 {
			return c.ArgErrorf("limits", "got %d for %q, want a number ≥ 1", n, name)
		}
		set(n)
	}
	return nil
}

var saveMethod = &builtin.Func{
	Name: "graph.save", Doc: "writes the model. Model and external files switch as one, whatever happens meanwhile, and may be the files that the model was opened from. Returns the notes of what was decided without being asked.",
	Params: []builtin.Param{
		builtin.Req("path", "string", "the file"),
		builtin.Opt("external", "auto", "string", `where weights go: "none" inside, "single" one file, "each" a file for each; "keep": what is external stays in its file; "auto": the same, and over 2 GB all go outside`),
		builtin.Opt("threshold", 1024, "int", "the bytes from which a weight goes outside"),
		builtin.Opt("location", nil, "string", "the file of external weights, beside the model, None for its name with .data; .safetensors has that format"),
		builtin.Opt("compact", false, "bool", "pack external files anew without what nobody uses, and remove those that are used no more"),
		builtin.Opt("max_shard", 0, "int", "the bytes from which the file of external weights is cut in several, 0 for never"),
		builtin.Opt("checksum", false, "bool", "write the SHA-1 of external files into the model"),
	},
	Returns: "list of string", Example: "g = graph(inputs = [variable(\"x\", \"float32\", [1])])\ng.outputs = [g.op.Relu(g.inputs[0])]\nassert.eq(g.save(\"m.onnx\"), [])",
	Fn: save,
}

func save(c *builtin.Call) (starlark.Value, error) {
	g := c.Recv.(value.Graph)
	o := onnx.SaveOptions{External: onnx.External(c.Str("external")), Threshold: int64(c.Int("threshold")), Location: c.Str("location"),
		Compact: c.Bool("compact"), MaxShard: int64(c.Int("max_shard")), Checksum: c.Bool("checksum")}
	if o.Threshold == 0 {
		o.Threshold = 1 // all that have a byte
	}
	path := c.Str("path")
	if err := c.Err(); err != nil {
		return nil, err
	}
	return write(c, g, path, o)
}

// write saves the model of a graph and returns the notes.
func write(c *builtin.Call, g value.Graph, path string, o onnx.SaveOptions) (starlark.Value, error) {
	m, err := modelOf(g)
	if err != nil {
		return nil, err
	}
	if path, err = c.Env().Files.Write(path); err != nil {
		return nil, err
	}
	if err := m.Verify(); err != nil {
		return nil, err
	}
	r, err := onnx.Save(m, path, o)
	if err != nil {
		return nil, err
	}
	notes := make([]starlark.Value, len(r.Notes))
	for i, n := range r.Notes {
		notes[i] = starlark.String(n)
	}
	return starlark.NewList(notes), nil
}
