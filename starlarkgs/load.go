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

	"github.com/starlarkgs/starlarkgs/internal/nofile"
	"github.com/starlarkgs/starlarkgs/internal/oplib"
	"github.com/starlarkgs/starlarkgs/internal/spell"
	"github.com/starlarkgs/starlarkgs/scripts"
)

const stdPrefix = "@std//"

// module is a file that was loaded.
type module struct{ globals starlark.StringDict }

// source is a file that a load names.
type source struct {
	name string // as errors show it
	key  string // the same for all spellings of one file
	read func() ([]byte, error)
	// lib is the library that the file belongs to, if any, and file its path there;
	// project is the one whose sgs.toml names it.
	lib     *oplib.Library
	file    string
	project *oplib.Project
}

// load serves load("…"): relative to the loading file, //x from the project's
// root, @std//x from the shipped library, @lib//x from one that sgs.toml names. A
// file is loaded once, in the thread that asks for it, so that its errors show the
// whole way to it; its globals are frozen when its load ends. A load that failed is
// tried again.
func (h *Host) load(t *starlark.Thread, name string) (starlark.StringDict, error) {
	var from source
	if n := len(h.running); n > 0 {
		from = h.running[n-1]
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
func (h *Host) locate(from source, name string) (source, error) {
	switch {
	case name == "":
		return source{}, errors.New("got an empty path, want a file")
	case strings.HasPrefix(name, stdPrefix):
		return stdSource(strings.TrimPrefix(name, stdPrefix))
	case strings.HasPrefix(name, "@"):
		return h.libSource(from, name)
	case from.lib != nil:
		return from.inLibrary(name)
	case strings.HasPrefix(name, "//") && strings.HasPrefix(from.name, stdPrefix):
		return source{}, fmt.Errorf("got %q in the shipped library, which has no project", name)
	case strings.HasPrefix(from.name, stdPrefix):
		return stdSource(path.Join(path.Dir(strings.TrimPrefix(from.name, stdPrefix)), name))
	case strings.HasPrefix(name, "//"):
		root, err := projectRoot(from.name)
		if err != nil {
			return source{}, err
		}
		return h.fileSource(filepath.Join(root, filepath.FromSlash(strings.TrimPrefix(name, "//")))), nil
	case filepath.IsAbs(name):
		return h.fileSource(name), nil
	}
	return h.fileSource(filepath.Join(filepath.Dir(from.name), filepath.FromSlash(name))), nil
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
		return nil, fmt.Errorf("no such file: %s%s", file, nofile.Near(file, ".star"))
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: got no regular file, want a script", file)
	case info.Size() > maxSource:
		return nil, fmt.Errorf("%s: got %s bytes, want a script of at most %s", file, count(int(info.Size())), count(maxSource))
	}
	return os.ReadFile(allowed)
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

// Shipped returns the files of the shipped library, as load names them.
func Shipped() []string {
	entries, err := fs.ReadDir(scripts.FS, "std")
	if err != nil {
		panic(err) // they are compiled in
	}
	var out []string
	for _, name := range starNames(entries) {
		if base := strings.TrimSuffix(name, ".star"); !strings.HasSuffix(base, "_test") && !strings.HasSuffix(base, "_data") {
			out = append(out, stdPrefix+name)
		}
	}
	return out
}

// projectRoot returns the folder of the nearest sgs.toml at or above the file's.
func projectRoot(from string) (string, error) {
	dir, err := filepath.Abs(filepath.Dir(from))
	if err != nil {
		return "", err
	}
	if root := oplib.Find(dir); root != "" {
		return root, nil
	}
	return "", fmt.Errorf("no sgs.toml in %s or above, so // has no root", shortest(dir))
}
