package oplib

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/starlarkgs/starlarkgs/internal/spell"
)

// Project is a folder with a sgs.toml.
type Project struct {
	// Root is the folder.
	Root string
	// Cache is the folder where libraries from git are kept; "" is the user's.
	Cache string
	// Allow, when set, says whether the folder of a library that is one may be
	// read.
	Allow func(dir string) error

	manifest manifest
	lock     lock
	loaded   map[string]*Library
}

// Library is a library that was read and checked.
type Library struct {
	Name  string
	Hash  string
	Files Tree
}

// Find returns the folder of the nearest sgs.toml at or above a folder, or "".
func Find(dir string) string {
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, ManifestFile)); err == nil {
			return d
		}
		if d == filepath.Dir(d) {
			return ""
		}
	}
}

// Open reads the sgs.toml of a folder, which must be there, and its sgs.lock,
// which need not.
func Open(root string) (*Project, error) {
	p := &Project{Root: root, loaded: map[string]*Library{}}
	file := filepath.Join(root, ManifestFile)
	if err := readTOML(file, &p.manifest); err != nil {
		return nil, err
	}
	if err := p.manifest.check(file); err != nil {
		return nil, err
	}
	file = filepath.Join(root, LockFile)
	switch err := readTOML(file, &p.lock); {
	case errors.Is(err, fs.ErrNotExist):
		return p, nil
	case err != nil:
		return nil, err
	}
	return p, p.lock.check(file)
}

// Names returns the names of the libraries, sorted.
func (p *Project) Names() []string { return slices.Sorted(maps.Keys(p.manifest.Libs)) }

// UnknownError is the error of a name that sgs.toml does not have.
type UnknownError struct {
	Name, Root string
	Names      []string // that it has
}

// Error says which library is not known, and names the nearest.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("no library %q: %s%s", e.Name, e.Why(e.Root), spell.Hint(e.Name, e.Names))
}

// Why says what the sgs.toml of the project lacks; root is its folder as shown.
func (e *UnknownError) Why(root string) string {
	if len(e.Names) == 0 {
		return ManifestFile + " in " + root + " names none"
	}
	return ManifestFile + " in " + root + " does not name it"
}

// source returns where a library comes from.
func (p *Project) source(name string) (Source, error) {
	s, ok := p.manifest.Libs[name]
	if !ok {
		return s, &UnknownError{Name: name, Root: p.Root, Names: p.Names()}
	}
	return s, nil
}

// pinned returns what sgs.lock says of a library, if it speaks of the source that
// sgs.toml names.
func (p *Project) pinned(name string) (Pin, error) {
	s, err := p.source(name)
	if err != nil {
		return Pin{}, err
	}
	pin, ok := p.lock.pin(name)
	switch {
	case !ok:
		return pin, fmt.Errorf("library %q: %s does not pin it: run sgs lib update %s", name, LockFile, name)
	case pin.Source != s:
		return pin, fmt.Errorf("library %q: %s says %s, and %s pins %s: run sgs lib update %s", name, ManifestFile, s, LockFile, pin.Source, name)
	case hashOf(pin.Files) != pin.Hash:
		return pin, fmt.Errorf("library %q: the hash in %s is not that of the files there: run sgs lib update %s", name, LockFile, name)
	}
	return pin, nil
}

// Load returns a library as sgs.lock pins it, to the byte, without the network.
func (p *Project) Load(name string) (*Library, error) {
	if lib := p.loaded[name]; lib != nil {
		return lib, nil
	}
	pin, err := p.pinned(name)
	if err != nil {
		return nil, err
	}
	t, _, err := p.read(pin)
	if err != nil {
		return nil, fmt.Errorf("library %q: %w", name, err)
	}
	lib := &Library{Name: name, Hash: pin.Hash, Files: t}
	p.loaded[name] = lib
	return lib, nil
}

// Where a library is kept.
const (
	Vendored = "vendored"
	Folder   = "folder"
	Cached   = "cached"
	Missing  = "missing"
)

// read returns the files that a pin speaks of and where they are kept.
func (p *Project) read(pin Pin) (Tree, string, error) {
	state, dir, err := p.place(pin)
	if err != nil {
		return nil, state, err
	}
	if state == Missing {
		return nil, state, &missingError{pin}
	}
	if state == Folder && p.Allow != nil {
		if err := p.Allow(dir); err != nil {
			return nil, state, err
		}
	}
	t, err := ReadFolder(dir)
	if err != nil {
		return nil, state, err
	}
	return t, state, pin.compare(t, state, dir)
}

// place returns where the files of a pin are to be found.
func (p *Project) place(pin Pin) (state, dir string, err error) {
	if dir := p.vendorDir(pin.Name); isFolder(dir) {
		return Vendored, dir, nil
	}
	if pin.Path != "" {
		return Folder, p.path(pin.Path), nil
	}
	dir, err = p.cacheDir(pin.Hash)
	if err != nil || !isFolder(dir) {
		return Missing, dir, err
	}
	return Cached, dir, nil
}

func isFolder(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}

func (p *Project) vendorDir(name string) string { return filepath.Join(p.Root, VendorFolder, name) }

// path returns a path of sgs.toml, which is relative to its folder.
func (p *Project) path(path string) string {
	if path = filepath.FromSlash(path); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(p.Root, path)
}

// cacheDir returns where the user's cache keeps the tree of a hash.
func (p *Project) cacheDir(hash string) (string, error) {
	sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(hash, "h1:"))
	if err != nil {
		return "", fmt.Errorf("%s: got the hash %q", LockFile, hash)
	}
	base := p.Cache
	if base == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("the user's cache: %w", err)
		}
		base = filepath.Join(user, "sgs", "libs")
	}
	return filepath.Join(base, "h1-"+hex.EncodeToString(sum)), nil
}

// missingError is the error of a library that must be fetched first.
type missingError struct{ pin Pin }

// Error says what to do.
func (e *missingError) Error() string {
	return fmt.Sprintf("%s at %s is not on this machine: run sgs lib verify, which fetches it", e.pin.Git, e.pin.Rev)
}

// ChangedError is the error of files that are not what sgs.lock pins.
type ChangedError struct {
	Dir, File string
	How       string // "was changed", "is missing", "was added"
	Do        string // what to do about it
}

// Error names the first file that differs.
func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s in %s %s since %s was written: %s", e.File, e.Dir, e.How, LockFile, e.Do)
}

// compare holds a tree against the pin and names the first file that differs.
func (pin Pin) compare(t Tree, state, dir string) error {
	got := t.hashes()
	names := append(slices.Collect(maps.Keys(got)), slices.Collect(maps.Keys(pin.Files))...)
	slices.Sort(names)
	for _, name := range names {
		have, here := got[name]
		want, there := pin.Files[name]
		e := &ChangedError{Dir: dir, File: name, Do: remedy(state, pin.Name)}
		switch {
		case !here:
			e.How = "is missing"
		case !there:
			e.How = "was added"
		case have != want:
			e.How = "was changed"
		default:
			continue
		}
		return e
	}
	return nil
}

// remedy says what to do about files that are not as pinned.
func remedy(state, name string) string {
	switch state {
	case Vendored:
		return "run sgs lib vendor " + name + " to have it as pinned"
	case Cached:
		return "remove that folder and run sgs lib verify, which fetches it again"
	}
	return "run sgs lib update " + name + " to take what is there now"
}
