package base

import (
	"errors"
	"io/fs"
	"os"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/internal/atomicfile"
	"github.com/starlarkgs/starlarkgs/internal/nofile"
)

// maxText bounds the files that read_text reads.
const maxText = 256 << 20

var fileFuncs = []*builtin.Func{
	{
		Name: "read_text", Doc: "reads a text file, which is in UTF-8.",
		Params:  []builtin.Param{builtin.Req("path", "string", "the file, from the current folder")},
		Returns: "string", Example: `write_text("note.txt", "hello")` + "\n" + `assert.eq(read_text("note.txt"), "hello")`,
		Fn: readText,
	},
	{
		Name: "write_text", Doc: "writes a text file, whole or not at all.",
		Params:  []builtin.Param{builtin.Req("path", "string", "the file, from the current folder"), builtin.Req("text", "string", "its content")},
		Example: `write_text("note.txt", "hello")` + "\n" + `assert.eq(read_text("note.txt"), "hello")`,
		Fn:      writeText,
	},
}

func readText(c *builtin.Call) (starlark.Value, error) {
	path := c.Str("path")
	if err := c.Err(); err != nil {
		return nil, err
	}
	allowed, err := c.Env().Files.Read(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(allowed)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, c.Errorf("no such file: %s%s", path, nofile.Near(allowed, ""))
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, c.Errorf("%s: got no regular file", path)
	case info.Size() > maxText:
		return nil, c.Errorf("%s: got %d bytes, want at most %d", path, info.Size(), maxText)
	}
	data, err := os.ReadFile(allowed)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(data) {
		return nil, c.Errorf("%s: got bytes that are not UTF-8, want text", path)
	}
	return starlark.String(data), nil
}

func writeText(c *builtin.Call) (starlark.Value, error) {
	path, text := c.Str("path"), c.Str("text")
	if err := c.Err(); err != nil {
		return nil, err
	}
	allowed, err := c.Env().Files.Write(path)
	if err != nil {
		return nil, err
	}
	return starlark.None, atomicfile.Replace(allowed, []byte(text))
}
