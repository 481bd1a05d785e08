// Package ortlib finds and installs the shared library of ONNX Runtime.
//
// It is looked for in this order: the path given, SGS_ORT_LIB, the user's cache
// (where Install puts it), node_modules/onnxruntime-node at or above the current
// folder, Python's site-packages, and the system's library path.
package ortlib

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	goruntime "runtime"
	"sort"
	"strings"
)

// Version is the release that Install takes.
const Version = "1.27.0"

// packageHash is the SHA-256 of the npm package onnxruntime-node of that version.
const packageHash = "c3779c01c59832f8c03e2c392ac3af10bf08579f1822e8b1c63cc451edb302a2"

// ErrNotFound tells that no library was found.
var ErrNotFound = errors.New("ONNX Runtime was not found: install it with `sgs backends install onnxruntime`, or name its library by --ort-lib or SGS_ORT_LIB")

// Find returns the path of the library and where it was found.
func Find(given string) (lib, where string, err error) {
	for _, p := range []struct{ path, where string }{{given, "--ort-lib"}, {os.Getenv("SGS_ORT_LIB"), "SGS_ORT_LIB"}} {
		if p.path == "" {
			continue
		}
		if _, err := os.Stat(p.path); err != nil {
			return "", "", fmt.Errorf("%s: %w", p.where, err)
		}
		return p.path, p.where, nil
	}
	for _, place := range []struct {
		where string
		globs []string
	}{{"the user's cache", cacheGlobs()}, {"node_modules", nodeGlobs()}, {"Python's site-packages", pythonGlobs()}, {"the system's library path", systemGlobs()}} {
		for _, g := range place.globs {
			found, err := filepath.Glob(g)
			if err != nil || len(found) == 0 {
				continue
			}
			sort.Strings(found)
			return found[len(found)-1], place.where, nil
		}
	}
	return "", "", ErrNotFound
}

// names are the file names of the library on this system, as globs.
func names() []string {
	switch goruntime.GOOS {
	case "windows":
		return []string{"onnxruntime.dll"}
	case "darwin":
		return []string{"libonnxruntime.1.dylib", "libonnxruntime*.dylib"}
	}
	return []string{"libonnxruntime.so.1", "libonnxruntime.so*"}
}

func under(dirs ...string) []string {
	var out []string
	for _, d := range dirs {
		for _, n := range names() {
			out = append(out, filepath.Join(d, n))
		}
	}
	return out
}

// CacheDir returns the folder that Install puts the library into.
func CacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(base, "sgs", "onnxruntime-"+Version), nil
}

func cacheGlobs() []string {
	dir, err := CacheDir()
	if err != nil {
		return nil
	}
	return under(dir)
}

// platform is the folder of the npm package that holds this system's library.
func platform() string {
	system := goruntime.GOOS
	if system == "windows" {
		system = "win32"
	}
	cpu := goruntime.GOARCH
	if cpu == "amd64" {
		cpu = "x64"
	}
	return path.Join("bin", "napi-v6", system, cpu)
}

func nodeGlobs() []string {
	dir, err := os.Getwd()
	if err != nil {
		return nil
	}
	var dirs []string
	for {
		dirs = append(dirs, filepath.Join(dir, "node_modules", "onnxruntime-node", filepath.FromSlash(platform())))
		if dir == filepath.Dir(dir) {
			return under(dirs...)
		}
		dir = filepath.Dir(dir)
	}
}

func pythonGlobs() []string {
	var dirs []string
	if env := os.Getenv("VIRTUAL_ENV"); env != "" {
		dirs = append(dirs, filepath.Join(env, "lib", "python3*", "site-packages", "onnxruntime", "capi"))
	}
	home, err := os.UserHomeDir()
	if err == nil {
		dirs = append(dirs, filepath.Join(home, ".local", "lib", "python3*", "site-packages", "onnxruntime", "capi"))
	}
	dirs = append(dirs, "/usr/local/lib/python3*/site-packages/onnxruntime/capi", "/usr/lib/python3*/site-packages/onnxruntime/capi")
	return under(dirs...)
}

func systemGlobs() []string {
	return under("/usr/local/lib", "/usr/lib", "/usr/lib/*-linux-gnu", "/opt/homebrew/lib")
}

const maxLibrary = 1 << 30

// Install fetches the npm package by the npm client, checks its hash, and puts
// the library of this system into the user's cache. It returns the library's
// path; one that is there already is kept.
func Install(ctx context.Context) (string, error) {
	dir, err := CacheDir()
	if err != nil {
		return "", err
	}
	for _, g := range under(dir) {
		if found, _ := filepath.Glob(g); len(found) > 0 {
			return found[0], nil
		}
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", fmt.Errorf("the npm client was not found: install Node.js, or install ONNX Runtime by other means and name its library by SGS_ORT_LIB")
	}
	tmp, err := os.MkdirTemp("", "sgs-ort-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	cmd := exec.CommandContext(ctx, npm, "pack", "onnxruntime-node@"+Version, "--ignore-scripts", "--silent", "--pack-destination", tmp)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm pack onnxruntime-node@%s: %w: %s", Version, err, strings.TrimSpace(string(out)))
	}
	pack := filepath.Join(tmp, "onnxruntime-node-"+Version+".tgz")
	if err := checkHash(pack); err != nil {
		return "", err
	}
	return unpack(pack, dir)
}

func checkHash(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != packageHash {
		return fmt.Errorf("%s: got the hash %s, want %s: the package is not the one that was pinned", filepath.Base(file), got, packageHash)
	}
	return nil
}

// unpack takes the files of this system's folder out of the package; nothing
// else is written, and no path of the package is used but the base name.
func unpack(pack, dir string) (string, error) {
	f, err := os.Open(pack)
	if err != nil {
		return "", err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return "", err
	}
	tmp := dir + ".tmp"
	if err := os.RemoveAll(tmp); err != nil {
		return "", err
	}
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	want := "package/" + platform()
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return "", err
		}
		if path.Dir(h.Name) != want || h.Typeflag != tar.TypeReg || strings.HasSuffix(h.Name, ".node") {
			continue
		}
		if err := writeLibrary(filepath.Join(tmp, path.Base(h.Name)), t); err != nil {
			return "", err
		}
	}
	if err := os.Rename(tmp, dir); err != nil {
		return "", err
	}
	for _, g := range under(dir) {
		if found, _ := filepath.Glob(g); len(found) > 0 {
			return found[0], nil
		}
	}
	return "", fmt.Errorf("the package onnxruntime-node %s holds no library for %s", Version, platform())
}

func writeLibrary(file string, r io.Reader) error {
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(r, maxLibrary))
	if err == nil && n == maxLibrary {
		err = fmt.Errorf("%s: larger than %d bytes", filepath.Base(file), maxLibrary)
	}
	return errors.Join(err, out.Close())
}
