package starlarkgs

import (
	"fmt"
	"os"
	"path/filepath"
)

// gate is the one way by which scripts reach files: below the folders granted,
// with links resolved.
type gate struct{ read, write []string }

func newGate(read, write []string) *gate {
	g := &gate{}
	if read == nil {
		read = []string{"."}
	}
	if write == nil {
		write = []string{"."}
	}
	for _, d := range read {
		g.read = append(g.read, resolved(d))
	}
	for _, d := range write {
		g.write = append(g.write, resolved(d))
	}
	return g
}

func (g *gate) allowRead(dir string) { g.read = append(g.read, resolved(dir)) }

// resolved returns the absolute path with the links of what is there resolved.
func resolved(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	rest := ""
	for p := abs; ; p = filepath.Dir(p) {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			return filepath.Join(real, rest)
		}
		if p == filepath.Dir(p) {
			return abs
		}
		rest = filepath.Join(filepath.Base(p), rest)
	}
}

func below(dirs []string, path string) bool {
	real := resolved(path)
	for _, d := range dirs {
		if rel, err := filepath.Rel(d, real); err == nil && (rel == "." || filepath.IsLocal(rel)) {
			return true
		}
	}
	return false
}

// Read returns the path when it may be read.
func (g *gate) Read(path string) (string, error) {
	if below(g.read, path) || below(g.write, path) {
		return path, nil
	}
	return "", fmt.Errorf("%s: reading is not allowed there, want a file below %s (allow more with --allow-read)", path, list(g.read))
}

// Write returns the path when it may be written.
func (g *gate) Write(path string) (string, error) {
	if below(g.write, path) {
		return path, nil
	}
	return "", fmt.Errorf("%s: writing is not allowed there, want a file below %s (allow more with --allow-write)", path, list(g.write))
}

func list(dirs []string) string {
	out := ""
	for i, d := range dirs {
		if i > 0 {
			out += " or "
		}
		if wd, err := os.Getwd(); err == nil && resolved(wd) == d {
			d = "the current folder"
		}
		out += d
	}
	return out
}
