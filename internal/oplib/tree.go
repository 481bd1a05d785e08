package oplib

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/starlarkgs/starlarkgs/internal/spell"
)

// The bounds of a library.
const (
	MaxFile  = 4 << 20 // bytes of one file, as of a script
	maxTotal = 64 << 20
	maxFiles = 4096
)

// Tree is the files of a library by their paths, with slashes.
type Tree map[string][]byte

// Kept reports whether a library takes the file of that path.
func Kept(file string) bool {
	dir, base := path.Split(file)
	for part := range strings.SplitSeq(dir, "/") {
		if part == VendorFolder || strings.HasPrefix(part, ".") {
			return false
		}
	}
	if path.Ext(base) == ".star" {
		return !strings.HasPrefix(base, ".")
	}
	stem, _, _ := strings.Cut(strings.ToUpper(base), ".")
	return stem == "LICENSE" || stem == "LICENCE" || stem == "NOTICE" || stem == "COPYING"
}

// Add puts a file in, whose content read returns, and holds it against the
// bounds.
func (t Tree) Add(file string, size int64, read func() ([]byte, error)) error {
	switch {
	case file == "." || !fs.ValidPath(file) || strings.ContainsFunc(file, badInName):
		return fmt.Errorf("got a file named %q, want a plain path", file)
	case size > MaxFile:
		return fmt.Errorf("%s: got %d bytes, want at most %d", file, size, MaxFile)
	case len(t) == maxFiles:
		return fmt.Errorf("got more than %d files", maxFiles)
	}
	total := size
	for other, data := range t {
		if strings.EqualFold(other, file) {
			return fmt.Errorf("got the files %s and %s, want names that differ in more than case", min(other, file), max(other, file))
		}
		total += int64(len(data))
	}
	if total > maxTotal {
		return fmt.Errorf("got files of more than %d bytes", maxTotal)
	}
	data, err := read()
	if err != nil {
		return err
	}
	t[file] = data
	return nil
}

// badInName reports whether a character is none for a file's name on every
// system.
func badInName(r rune) bool { return r < ' ' || r == 0x7f || strings.ContainsRune(`\:*?"<>|`, r) }

// Names returns the paths, sorted.
func (t Tree) Names() []string { return slices.Sorted(maps.Keys(t)) }

// Read returns a file of the tree.
func (t Tree) Read(file string) ([]byte, error) {
	if data, ok := t[file]; ok {
		return data, nil
	}
	return nil, fmt.Errorf("it has no file %q%s", file, spell.Hint(file, t.Names()))
}

// hashes returns the hash of each file: SHA-256, in hexadecimal digits.
func (t Tree) hashes() map[string]string {
	out := make(map[string]string, len(t))
	for name, data := range t {
		sum := sha256.Sum256(data)
		out[name] = hex.EncodeToString(sum[:])
	}
	return out
}

// hashOf returns the hash of a tree from those of its files. It is the h1 of
// Go's modules: the SHA-256 of a line "HASH  NAME" for each file, sorted by name.
func hashOf(files map[string]string) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%s  %s\n", files[name], name)
	}
	return "h1:" + base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// ReadFolder reads the library in a folder. Links are followed as long as they
// stay in it; folders that are links are left out.
func ReadFolder(dir string) (Tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	t := Tree{}
	err = fs.WalkDir(root.FS(), ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == VendorFolder):
			return fs.SkipDir
		case d.IsDir() || !Kept(file):
			return nil
		}
		return t.addFile(root, file)
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return t, nil
}

func (t Tree) addFile(root *os.Root, file string) error {
	info, err := root.Stat(filepath.FromSlash(file))
	var path *fs.PathError
	if errors.As(err, &path) {
		return fmt.Errorf("%s: it leads out of the folder, or nowhere: %w", file, path.Err)
	} else if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return nil
	}
	return t.Add(file, info.Size(), func() ([]byte, error) {
		f, err := root.Open(filepath.FromSlash(file))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
		if err == nil && len(data) > MaxFile {
			err = fmt.Errorf("%s: got more than %d bytes", file, MaxFile)
		}
		return data, err
	})
}

// write writes the tree as a folder, which takes the place of what is there as a
// whole or not at all.
func (t Tree) write(dir string) error {
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(parent, ".sgs-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp) // what was there before, in the end
	fresh, old := filepath.Join(tmp, "new"), filepath.Join(tmp, "old")
	for _, name := range t.Names() {
		file := filepath.Join(fresh, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, t[name], 0o644); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(fresh, 0o755); err != nil { // for a library without files
		return err
	}
	if err := os.Rename(dir, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(fresh, dir); err != nil {
		return errors.Join(err, restore(old, dir))
	}
	return nil
}

// restore puts back what stood there, if anything did.
func restore(old, dir string) error {
	if err := os.Rename(old, dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
