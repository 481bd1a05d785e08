package atomicfile

import (
	"os"
	"path/filepath"
	goruntime "runtime"
	"testing"
)

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a")
	check := func(want string) {
		t.Helper()
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	if err := Replace(file, []byte("one")); err != nil {
		t.Fatal(err)
	}
	check("one")
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("a", link); err != nil {
		t.Skip("links can't be made here")
	}
	if err := Replace(link, []byte("two")); err != nil {
		t.Fatal(err)
	}
	check("two")
	if info, err := os.Lstat(link); err != nil || info.Mode().IsRegular() {
		t.Errorf("the link was replaced: %v", err)
	}
	if info, err := os.Stat(file); err != nil || goruntime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the permissions were not kept: %v", err)
	}
	if err := Replace(dir, nil); err == nil {
		t.Error("a folder was replaced")
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("got %d entries, want 2: a temporary file is left", len(entries))
	}
}
