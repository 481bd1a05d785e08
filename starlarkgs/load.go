package starlarkgs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/internal/spell"
	"github.com/starlarkgs/starlarkgs/scripts"
	"github.com/starlarkgs/starlarkgs/starlarkgs/value"
)

const stdPrefix = "@std//"

// module is a file that was loaded.
type module struct{ globals starlark.StringDict }

// source is a file that a load names.
type source struct {
	name string // as errors show it
	key  string // the same for all spellings of one file
	read func() ([]byte, error)
}

// load serves load("…"): relative to the loading file, //x from the project's
// root, @std//x from the shipped library. A file is loaded once, in the thread
// that asks for it, so that its errors show the whole way to it; its globals are
// frozen when its load ends. A load that failed is tried again.
func (h *Host) load(t *starlark.Thread, name string) (starlark.StringDict, error) {
	from := ""
	if u := value.UnitOf(t); u != nil {
		from = u.File
	}
	src, err := h.locate(from, name)
	if err != nil {
		return nil, err
	}
	if m := h.modules[src.key]; m != nil {
		h.lastLoad = m.globals
		return m.globals, nil
	}
	if err := h.checkCycle(src); err != nil {
		return nil, err
	}
	text, err := src.read()
	if err != nil {
		return nil, err
	}
	globals, err := h.exec(t, src, string(text))
	if err != nil {
		return nil, err
	}
	globals.Freeze()
	h.modules[src.key], h.lastLoad = &module{globals}, globals
	return globals, nil
}

// checkCycle returns the error of a file that is loaded while it runs.
func (h *Host) checkCycle(src source) error {
	for i, s := range h.running {
		if s.key != src.key {
			continue
		}
		var chain []string
		for _, s := range h.running[i:] {
			chain = append(chain, s.name)
		}
		return fmt.Errorf("load cycle: %s", strings.Join(append(chain, src.name), " loads "))
	}
	return nil
}

// locate finds the file that a load names, seen from another file.
func (h *Host) locate(from, name string) (source, error) {
	switch {
	case name == "":
		return source{}, errors.New("got an empty path, want a file")
	case strings.HasPrefix(name, stdPrefix):
		return stdSource(strings.TrimPrefix(name, stdPrefix))
	case strings.HasPrefix(name, "@"):
		return source{}, h.noLibrary(from, name)
	case strings.HasPrefix(name, "//") && strings.HasPrefix(from, stdPrefix):
		return source{}, fmt.Errorf("got %q in the shipped library, which has no project", name)
	case strings.HasPrefix(from, stdPrefix):
		return stdSource(path.Join(path.Dir(strings.TrimPrefix(from, stdPrefix)), name))
	case strings.HasPrefix(name, "//"):
		root, err := projectRoot(from)
		if err != nil {
			return source{}, err
		}
		return h.fileSource(filepath.Join(root, filepath.FromSlash(strings.TrimPrefix(name, "//")))), nil
	case filepath.IsAbs(name):
		return h.fileSource(name), nil
	}
	return h.fileSource(filepath.Join(filepath.Dir(from), filepath.FromSlash(name))), nil
}

// noLibrary is the error of a load from a library that is not known.
func (h *Host) noLibrary(from, name string) error {
	lib, _, ok := strings.Cut(name[1:], "//")
	if !ok {
		return fmt.Errorf("got %q, want @LIBRARY//FILE, such as @std//nn.star", name)
	}
	where := "there is no sgs.toml here or above that could name one"
	if root, err := projectRoot(from); err == nil {
		where = "sgs.toml in " + shortest(root) + " names none"
	}
	return fmt.Errorf("no library %q: %s; the shipped one is @std//%s", lib, where, spell.Hint(lib, []string{"std"}))
}

// fileSource is a file of the file system.
func (h *Host) fileSource(file string) source {
	return source{name: shortest(file), key: resolved(file), read: func() ([]byte, error) { return h.readFile(file) }}
}

// shortest returns the path relative to the current folder when it lies below.
func shortest(file string) string {
	if !filepath.IsAbs(file) {
		return filepath.Clean(file)
	}
	if wd, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(wd, file); err == nil && filepath.IsLocal(rel) {
			return rel
		}
	}
	return file
}

func (h *Host) readFile(file string) ([]byte, error) {
	allowed, err := h.env.Files.Read(file)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(allowed)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("no such file: %s%s", file, nearFile(file))
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: got no regular file, want a script", file)
	case info.Size() > maxSource:
		return nil, fmt.Errorf("%s: got %s bytes, want a script of at most %s", file, count(int(info.Size())), count(maxSource))
	}
	return os.ReadFile(allowed)
}

// nearFile names the scripts of the same folder whose names are nearest.
func nearFile(file string) string {
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil {
		return ""
	}
	return spell.Hint(filepath.Base(file), starNames(entries))
}

func starNames(entries []fs.DirEntry) []string {
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".star") {
			names = append(names, e.Name())
		}
	}
	return names
}

// stdSource is a file of the shipped library.
func stdSource(file string) (source, error) {
	full := path.Join("std", file)
	if path.Clean(file) != file || !fs.ValidPath(full) || strings.HasPrefix(file, "..") {
		return source{}, fmt.Errorf("got %q, want a file of the library, such as nn.star", file)
	}
	name := stdPrefix + file
	return source{name: name, key: name, read: func() ([]byte, error) {
		src, err := fs.ReadFile(scripts.FS, full)
		if err != nil {
			entries, _ := fs.ReadDir(scripts.FS, path.Dir(full))
			names := starNames(entries)
			return nil, fmt.Errorf("the shipped library has no file %q, want one of %q%s", file, names, spell.Hint(path.Base(file), names))
		}
		return src, nil
	}}, nil
}

// projectRoot returns the folder of the nearest sgs.toml at or above the file's.
func projectRoot(from string) (string, error) {
	dir, err := filepath.Abs(filepath.Dir(from))
	if err != nil {
		return "", err
	}
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, "sgs.toml")); err == nil {
			return d, nil
		}
		if d == filepath.Dir(d) {
			return "", fmt.Errorf("no sgs.toml in %s or above, so // has no root", shortest(dir))
		}
	}
}
