package oplib

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/dirhash"
)

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHash holds the hash against that of Go's modules.
func TestHash(t *testing.T) {
	tree := Tree{"b.star": []byte("b"), "a/c.star": []byte("c\n"), "LICENSE": nil}
	want, err := dirhash.Hash1(tree.Names(), func(name string) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(tree[name])), nil
	})
	if got := hashOf(tree.hashes()); err != nil || got != want {
		t.Errorf("got %s, want %s (%v)", got, want, err)
	}
}

func TestKept(t *testing.T) {
	for name, want := range map[string]bool{
		"a.star": true, "sub/a.star": true, "LICENSE": true, "sub/license.txt": true, "COPYING.md": true, "NOTICE": true,
		"README.md": false, ".a.star": false, ".git/a.star": false, "x/.h/a.star": false, "sgs_libs/o/a.star": false, "a.star.py": false, "licenses.star": true, "LICENSES": false,
	} {
		if got := Kept(name); got != want {
			t.Errorf("Kept(%q) = %t", name, got)
		}
	}
}

func TestReadFolderFollowsNoLinkOut(t *testing.T) {
	base := t.TempDir()
	write(t, base, map[string]string{"secret.star": "s", "lib/a.star": "a", "lib/sub/b.star": "b"})
	link := func(to, name string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(base, "lib", name)); err != nil {
			t.Skip("links can't be made here")
		}
	}
	link("sub/b.star", "inside.star")
	link("..", "up")
	tree, err := ReadFolder(filepath.Join(base, "lib"))
	if err != nil || string(tree["inside.star"]) != "b" || len(tree) != 3 {
		t.Errorf("got %q, %v", tree, err)
	}
	for _, to := range []string{"../secret.star", filepath.Join(base, "secret.star"), "up/secret.star", "none"} {
		link(to, "out.star")
		if tree, err := ReadFolder(filepath.Join(base, "lib")); err == nil || !strings.Contains(err.Error(), "out.star: it leads out of the folder, or nowhere") {
			t.Errorf("a link to %s: got %q, %v", to, tree, err)
		}
		if err := os.Remove(filepath.Join(base, "lib", "out.star")); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAddBounds(t *testing.T) {
	none := func() ([]byte, error) { return nil, nil }
	for _, name := range []string{"../a.star", "/a.star", "a//b.star", "a\\b.star", "a\nb.star", "", ".", "c:x.star"} {
		if err := (Tree{}).Add(name, 0, none); err == nil {
			t.Errorf("a file named %q was taken", name)
		}
	}
	tree := Tree{}
	for i := range maxTotal / MaxFile {
		if err := tree.Add(strings.Repeat("x", i+1), MaxFile, func() ([]byte, error) { return make([]byte, MaxFile), nil }); err != nil {
			t.Fatal(err)
		}
	}
	if err := tree.Add("last", 1, none); err == nil {
		t.Error("a library of more than its bound was taken")
	}
	many := Tree{}
	for len(many) < maxFiles {
		many[strings.Repeat("y", len(many)+1)] = nil
	}
	if err := many.Add("last", 0, none); err == nil || !strings.Contains(err.Error(), "more than 4096 files") {
		t.Errorf("got %v", err)
	}
}

// TestFailedUpdate writes nothing when one of several libraries fails.
func TestFailedUpdate(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{"sgs.toml": "[libs.a]\npath = \"a\"\n[libs.b]\ngit = \"x://y\"\nrev = \"v\"\n", "a/a.star": ""})
	p, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	no := errors.New("no network")
	_, err = p.Update(t.Context(), nil, func(context.Context, Source) (Tree, string, error) { return nil, "", no })
	if !errors.Is(err, no) || !strings.HasPrefix(err.Error(), `library "b": `) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(root, LockFile)); err == nil {
		t.Error("a lock was written")
	}
}

// TestVerifyFetches gets what is pinned, by its commit, and refuses anything
// else.
func TestVerifyFetches(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{"sgs.toml": "[libs.b]\ngit = \"x://y\"\nrev = \"v\"\n"})
	content := "1"
	var revs []string
	fetch := func(_ context.Context, s Source) (Tree, string, error) {
		revs = append(revs, s.Rev)
		return Tree{"b.star": []byte(content)}, "c0ffee", nil
	}
	open := func() *Project {
		p, err := Open(root)
		if err != nil {
			t.Fatal(err)
		}
		p.Cache = filepath.Join(root, "cache")
		return p
	}
	if _, err := open().Update(t.Context(), nil, fetch); err != nil {
		t.Fatal(err)
	}
	if all, err := open().Verify(t.Context(), fetch); err != nil || all[0].State != Cached || len(revs) != 1 {
		t.Errorf("got %v, %v after fetching %v", all, err, revs)
	}
	if err := os.RemoveAll(filepath.Join(root, "cache")); err != nil {
		t.Fatal(err)
	}
	if _, err := open().Load("b"); err == nil || !strings.Contains(err.Error(), "is not on this machine") {
		t.Errorf("got %v", err)
	}
	content = "2"
	var changed *ChangedError
	if _, err := open().Verify(t.Context(), fetch); !errors.As(err, &changed) || changed.File != "b.star" {
		t.Errorf("got %v", err)
	}
	content = "1"
	if all, err := open().Verify(t.Context(), fetch); err != nil || all[0].State != Cached || all[0].Error != "" || revs[len(revs)-1] != "c0ffee" {
		t.Errorf("got %v, %v after fetching %v", all, err, revs)
	}
	cached := filepath.Join(root, "cache", "*", "b.star")
	files, err := filepath.Glob(cached)
	if err != nil || len(files) != 1 {
		t.Fatalf("%s: got %q, %v", cached, files, err)
	}
	lib, err := open().Load("b")
	if err != nil || string(lib.Files["b.star"]) != "1" {
		t.Errorf("got %v, %v", lib, err)
	}
	if err := os.WriteFile(files[0], []byte("3"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := open().Load("b"); !errors.As(err, &changed) || !strings.Contains(err.Error(), "remove that folder and run sgs lib verify") {
		t.Errorf("got %v", err)
	}
	if _, err := open().Vendor(t.Context(), nil, fetch); err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(files[0]); err != nil || string(data) != "1" {
		t.Errorf("the cache holds %q (%v) after it was repaired", data, err)
	}
}

func TestIsLocal(t *testing.T) {
	for url, want := range map[string]bool{
		"../repo": true, "repo.git": true, "/a/repo": true, "file:///a/repo": true, "./a:b": true,
		"https://example.com/x.git": false, "git@example.com:x.git": false, "host:path": false, "ssh://h/x": false,
	} {
		if got := IsLocal(url); got != want {
			t.Errorf("IsLocal(%q) = %t", url, got)
		}
	}
}

func TestCheckName(t *testing.T) {
	for _, name := range []string{"acme", "A_b-9", "x", strings.Repeat("a", maxName)} {
		if err := CheckName(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"", "std", "9a", "-a", "_a", "a.b", "a/b", "..", "é", "a b", strings.Repeat("a", maxName+1)} {
		if err := CheckName(name); err == nil {
			t.Errorf("the name %q passed", name)
		}
	}
}

// FuzzManifest reads any sgs.toml without harm; and a source that is appended to
// one comes back as it was.
func FuzzManifest(f *testing.F) {
	f.Add("[libs.a]\npath = \"x\"\n", "https://example.com/x.git", "v1", "ops")
	f.Add("# none\n", "../x", "HEAD", "")
	f.Add("libs = {a = {git = 'x', rev = \"y\"}}", "\"'\n\\", "\u00e9", "a/b")
	f.Fuzz(func(t *testing.T, text, git, rev, dir string) {
		var m manifest
		if decodeTOML(ManifestFile, []byte(text), &m) != nil || m.check(ManifestFile) != nil {
			text = ""
			m = manifest{}
		}
		s := Source{Git: git, Rev: rev, Dir: dir}
		if _, taken := m.Libs["zz"]; taken || s.check() != nil {
			return
		}
		out, err := appendSource([]byte(text), "zz", s)
		if err != nil {
			t.Fatal(err)
		}
		var again manifest
		if err := decodeTOML(ManifestFile, out, &again); err != nil {
			if text == "" {
				t.Fatalf("%q: %v", out, err)
			}
			return // such as an inline table, which can't be appended to
		}
		if again.Libs["zz"] != s || len(again.Libs) != len(m.Libs)+1 {
			t.Errorf("%q gives %+v, want %+v beside %+v", out, again, s, m)
		}
	})
}
