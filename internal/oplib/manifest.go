package oplib

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"

	"github.com/starlarkgs/starlarkgs/internal/atomicfile"
)

// The files of a project.
const (
	ManifestFile = "sgs.toml"
	LockFile     = "sgs.lock"
	VendorFolder = "sgs_libs"
)

const (
	maxTOML     = 1 << 20
	lockVersion = 1
	lockHeader  = "# Written by sgs lib: what the libraries of sgs.toml are, to the byte.\n\n"
)

// Source says where a library comes from: a folder, or a revision of a git
// repository.
type Source struct {
	Path string `toml:"path,omitempty" json:"path,omitempty"`
	Git  string `toml:"git,omitempty" json:"git,omitempty"`
	Rev  string `toml:"rev,omitempty" json:"rev,omitempty"`
	Dir  string `toml:"dir,omitempty" json:"dir,omitempty"`
}

// String returns the source as people read it.
func (s Source) String() string {
	if s.Path != "" {
		return s.Path
	}
	text := s.Git + " at " + s.Rev
	if s.Dir != "" {
		text += ", " + s.Dir
	}
	return text
}

func (s Source) check() error {
	for _, text := range []string{s.Path, s.Git, s.Rev, s.Dir} {
		if !utf8.ValidString(text) {
			return fmt.Errorf("got %q, want text in UTF-8", text)
		}
	}
	switch {
	case (s.Path == "") == (s.Git == ""):
		return errors.New("got a source with both or neither of path and git, want one")
	case s.Path != "" && (s.Rev != "" || s.Dir != ""):
		return errors.New("got rev or dir beside path, want them beside git")
	case s.Git != "" && (s.Rev == "" || strings.ContainsAny(s.Rev, " \t\n")):
		return fmt.Errorf("got rev %q, want a tag, branch or commit", s.Rev)
	case s.Dir != "" && !fs.ValidPath(s.Dir):
		return fmt.Errorf("got dir %q, want a folder of the repository", s.Dir)
	}
	return nil
}

// manifest is sgs.toml.
type manifest struct {
	Libs map[string]Source `toml:"libs"`
}

// Pin is what sgs.lock says of a library.
type Pin struct {
	Name string `toml:"name"`
	Source
	Commit string            `toml:"commit,omitempty"`
	Hash   string            `toml:"hash"`
	Files  map[string]string `toml:"files"`
}

// lock is sgs.lock.
type lock struct {
	Version int   `toml:"version"`
	Libs    []Pin `toml:"lib"`
}

// maxName is how long the name of a library may be.
const maxName = 64

// CheckName returns an error unless a library may have that name.
func CheckName(name string) error {
	switch {
	case name == "std":
		return errors.New(`library "std": that is the name of the shipped library, want another`)
	case name == "" || len(name) > maxName || !isLetter(rune(name[0])) || strings.ContainsFunc(name, notInName):
		return fmt.Errorf("library %q: want a name of letters, digits, _ and -", name)
	}
	return nil
}

func isLetter(r rune) bool { return r|0x20 >= 'a' && r|0x20 <= 'z' }

func notInName(r rune) bool {
	return !isLetter(r) && (r < '0' || r > '9') && r != '_' && r != '-'
}

// readTOML decodes a file into a value that must know all its keys.
func readTOML(path string, into any) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Size() > maxTOML {
		return fmt.Errorf("%s: got %d bytes, want at most %d", path, info.Size(), maxTOML)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return decodeTOML(path, data, into)
}

func decodeTOML(path string, data []byte, into any) error {
	err := toml.NewDecoder(strings.NewReader(string(data))).DisallowUnknownFields().Decode(into)
	var unknown *toml.StrictMissingError
	var syntax *toml.DecodeError
	switch {
	case errors.As(err, &unknown) && len(unknown.Errors) > 0:
		row, col := unknown.Errors[0].Position()
		return fmt.Errorf("%s:%d:%d: got the key %q, which is not known", path, row, col, strings.Join(unknown.Errors[0].Key(), "."))
	case errors.As(err, &syntax):
		row, col := syntax.Position()
		return fmt.Errorf("%s:%d:%d: %s", path, row, col, strings.TrimPrefix(syntax.Error(), "toml: "))
	case err != nil:
		return fmt.Errorf("%s: %s", path, strings.TrimPrefix(err.Error(), "toml: "))
	}
	return nil
}

// check holds what was read against the rules.
func (m *manifest) check(path string) error {
	for _, name := range slices.Sorted(maps.Keys(m.Libs)) {
		if err := CheckName(name); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := m.Libs[name].check(); err != nil {
			return fmt.Errorf("%s: library %q: %w", path, name, err)
		}
	}
	return nil
}

func (l *lock) check(path string) error {
	if l.Version != lockVersion {
		return fmt.Errorf("%s: got version %d, want %d", path, l.Version, lockVersion)
	}
	seen := map[string]bool{}
	for _, p := range l.Libs {
		if seen[p.Name] {
			return fmt.Errorf("%s: library %q stands twice", path, p.Name)
		}
		seen[p.Name] = true
	}
	return nil
}

// pin returns what the lock says of a library.
func (l *lock) pin(name string) (Pin, bool) {
	for _, p := range l.Libs {
		if p.Name == name {
			return p, true
		}
	}
	return Pin{}, false
}

// set puts a pin in, in place of the library's old one.
func (l *lock) set(p Pin) {
	l.Version = lockVersion
	l.Libs = slices.DeleteFunc(l.Libs, func(q Pin) bool { return q.Name == p.Name })
	l.Libs = append(l.Libs, p)
	slices.SortFunc(l.Libs, func(a, b Pin) int { return cmp.Compare(a.Name, b.Name) })
}

func (l *lock) write(dir string) error {
	data, err := toml.Marshal(l)
	if err != nil {
		return err
	}
	return atomicfile.Replace(filepath.Join(dir, LockFile), append([]byte(lockHeader), data...))
}

// appendSource adds a library to the text of a sgs.toml, which stays as it is
// otherwise.
func appendSource(text []byte, name string, s Source) ([]byte, error) {
	data, err := toml.Marshal(s)
	if err != nil {
		return nil, err
	}
	out := strings.TrimRight(string(text), "\n")
	if out != "" {
		out += "\n\n"
	}
	return []byte(out + "[libs." + name + "]\n" + string(data)), nil
}

// IsLocal reports whether the address of a repository is a folder of this
// machine.
func IsLocal(url string) bool {
	if strings.HasPrefix(url, "file://") || filepath.IsAbs(url) {
		return true
	}
	return !strings.Contains(url, ":") || strings.HasPrefix(url, ".") // else user@host:path, or a scheme
}
