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

// module is a file that was loaded, or is being loaded.
type module struct {
	globals starlark.StringDict
	err     error
	loading bool
}

// load serves load("…"): relative to the loading file, //x from the project's
// root, @std//x from the shipped library. A file is loaded once; its globals are
// frozen when its load ends.
func (h *Host) load(t *starlark.Thread, name string) (starlark.StringDict, error) {
	from := ""
	if u := value.UnitOf(t); u != nil {
		from = u.File
	}
	file, read, err := h.locate(from, name)
	if err != nil {
		return nil, err
	}
	if m := h.modules[file]; m != nil {
		if m.loading {
			return nil, fmt.Errorf("a file is loaded while it is being loaded: %s", strings.Join(append(chain(t), file), " loads "))
		}
		return m.globals, m.err
	}
	src, err := read()
	if err != nil {
		return nil, err
	}
	m := &module{loading: true}
	h.modules[file] = m
	inner := &starlark.Thread{Name: file, Print: t.Print, Load: h.load}
	shareLocals(t, inner)
	inner.SetLocal(chainKey, append(chain(t), file))
	stop := relay(t, inner)
	m.globals, m.err = h.exec(inner, file, src)
	stop()
	m.loading = false
	if m.err != nil {
		m.err = h.wrap(m.err)
		return nil, m.err
	}
	m.globals.Freeze()
	return m.globals, nil
}

const chainKey = "sgs.chain"

// chain returns the files that are being loaded, outermost first.
func chain(t *starlark.Thread) []string {
	if c, ok := t.Local(chainKey).([]string); ok {
		return append([]string(nil), c...)
	}
	if u := value.UnitOf(t); u != nil {
		return []string{u.File}
	}
	return nil
}

// shareLocals gives a thread what another one carries for the host.
func shareLocals(from, to *starlark.Thread) {
	for _, key := range []string{"sgs.env", "sgs.record", "sgs.tick", "sgs.context", "sgs.stopped"} {
		if v := from.Local(key); v != nil {
			to.SetLocal(key, v)
		}
	}
}

// relay lets the limits of the outer thread hold in the inner one.
func relay(outer, inner *starlark.Thread) (stop func()) {
	inner.SetMaxExecutionSteps(hookSteps)
	base := outer.ExecutionSteps()
	inner.OnMaxSteps = func(*starlark.Thread) {
		outer.Steps = base + inner.ExecutionSteps()
		if outer.OnMaxSteps != nil {
			outer.OnMaxSteps(outer)
		}
		if stopped, ok := outer.Local("sgs.stopped").(func() bool); ok && stopped() {
			inner.Cancel("stopped")
			return
		}
		inner.SetMaxExecutionSteps(inner.ExecutionSteps() + hookSteps)
	}
	return func() { outer.Steps = base + inner.ExecutionSteps() }
}

// locate returns the name under which a file is known, and how to read it.
func (h *Host) locate(from, name string) (file string, read func() (string, error), err error) {
	switch {
	case strings.HasPrefix(name, "@std//"):
		return locateStd(name, strings.TrimPrefix(name, "@std//"))
	case strings.HasPrefix(name, "@"):
		lib, _, _ := strings.Cut(name[1:], "//")
		return "", nil, fmt.Errorf("load %q: no library is named %q, want std%s", name, lib, spell.Hint(lib, []string{"std"}))
	case strings.HasPrefix(from, "@std//"):
		return locateStd(name, path.Join(path.Dir(strings.TrimPrefix(from, "@std//")), name))
	case strings.HasPrefix(name, "//"):
		root, err := projectRoot(from)
		if err != nil {
			return "", nil, fmt.Errorf("load %q: %w", name, err)
		}
		file = filepath.Join(root, filepath.FromSlash(strings.TrimPrefix(name, "//")))
	case filepath.IsAbs(name):
		file = name
	default:
		file = filepath.Join(filepath.Dir(from), filepath.FromSlash(name))
	}
	return file, func() (string, error) { return h.readModule(name, file) }, nil
}

func (h *Host) readModule(name, file string) (string, error) {
	allowed, err := h.env.Files.Read(file)
	if err != nil {
		return "", fmt.Errorf("load %q: %w", name, err)
	}
	src, err := os.ReadFile(allowed)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("load %q: no such file: %s%s", name, file, nearFile(file))
	}
	if err != nil {
		return "", fmt.Errorf("load %q: %w", name, err)
	}
	return string(src), nil
}

// nearFile names the file of the same folder whose name is nearest.
func nearFile(file string) string {
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil {
		return ""
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".star") {
			names = append(names, e.Name())
		}
	}
	return spell.Hint(filepath.Base(file), names)
}

func locateStd(name, file string) (string, func() (string, error), error) {
	full := path.Join("std", file)
	if strings.Contains(file, "..") || !fs.ValidPath(full) {
		return "", nil, fmt.Errorf("load %q: got a path out of the library", name)
	}
	return "@std//" + file, func() (string, error) {
		src, err := fs.ReadFile(scripts.FS, full)
		if err != nil {
			return "", fmt.Errorf("load %q: the shipped library has no such file%s", name, spell.Hint(file, stdFiles()))
		}
		return string(src), nil
	}, nil
}

func stdFiles() []string {
	var names []string
	entries, err := fs.ReadDir(scripts.FS, "std")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
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
			return "", fmt.Errorf("there is no sgs.toml in %s or above, so the project has no root", dir)
		}
	}
}
