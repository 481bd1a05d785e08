package starlarkgs

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/starlarkgs/starlarkgs/internal/oplib"
	"github.com/starlarkgs/starlarkgs/internal/spell"
)

// libSource is the file of a library that a load such as "@acme//act.star" names:
// one of those in the sgs.toml of the loading file's project. A library's own
// loads find the others by the same sgs.toml.
func (h *Host) libSource(from source, name string) (source, error) {
	lib, file, ok := strings.Cut(name[1:], "//")
	if !ok {
		return source{}, fmt.Errorf("got %q, want @LIBRARY//FILE, such as @std//nn.star", name)
	}
	project := from.project
	if project == nil {
		var err error
		if project, err = h.project(from.name); err != nil {
			return source{}, err
		}
	}
	if project == nil {
		return source{}, fmt.Errorf("no library %q: there is no sgs.toml here or above that could name one; the shipped one is @std//%s", lib, spell.Hint(lib, []string{"std"}))
	}
	l, err := project.Load(lib)
	var unknown *oplib.UnknownError
	switch {
	case errors.As(err, &unknown):
		return source{}, fmt.Errorf("no library %q: %s; the shipped one is @std//%s", lib, unknown.Why(shortest(unknown.Root)), spell.Hint(lib, append(project.Names(), "std")))
	case err != nil:
		return source{}, err
	}
	return libFile(project, l, file)
}

// project returns the project that a file is in, or nil.
func (h *Host) project(file string) (*oplib.Project, error) {
	root, err := projectRoot(file)
	if err != nil {
		return nil, nil // there is none
	}
	if p := h.projects[root]; p != nil {
		return p, nil
	}
	p, err := oplib.Open(root)
	if err != nil {
		return nil, err
	}
	p.Cache = h.opts.LibCache
	p.Allow = func(dir string) error {
		_, err := h.env.Files.Read(dir)
		return err
	}
	h.projects[root] = p
	return p, nil
}

// libFile is a file of a library. The library's hash is part of its key: two
// projects may pin two states of one library.
func libFile(project *oplib.Project, l *oplib.Library, file string) (source, error) {
	name := "@" + l.Name + "//" + file
	if !fs.ValidPath(file) {
		return source{}, fmt.Errorf("got %q, want a plain path in library %q", name, l.Name)
	}
	return source{name: name, key: l.Hash + "//" + file, lib: l, file: file, project: project, read: func() ([]byte, error) {
		data, err := l.Files.Read(file)
		if err != nil {
			return nil, fmt.Errorf("library %q: %w", l.Name, err)
		}
		return data, nil
	}}, nil
}

// inLibrary is the file that a load in a library's file names: relative to it, or
// by // from the library's folder.
func (s source) inLibrary(name string) (source, error) {
	file, rooted := strings.CutPrefix(name, "//")
	if !rooted {
		file = path.Join(path.Dir(s.file), name)
	}
	if path.IsAbs(name) && !rooted || file == ".." || strings.HasPrefix(file, "../") {
		return source{}, fmt.Errorf("got %q, which leads out of library %q", name, s.lib.Name)
	}
	return libFile(s.project, s.lib, file)
}
