package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/starlarkgs/starlarkgs/internal/oplib"
)

// acme is a library whose files load each other, in both ways.
var acme = map[string]string{
	"act.star":       "load(\"sub/base.star\", \"twice\")\n\n@register\ndef acme_relu(self, x):\n    return self.op.Relu(twice(self, x))\n",
	"sub/base.star":  "load(\"//consts.star\", \"two\")\n\n@register\ndef twice(self, x):\n    return self.op.Mul(x, two)\n",
	"consts.star":    "two = 2.0\n",
	"one.star":       "load(\"two.star\", \"b\")\n\na = 1\n",
	"two.star":       "load(\"//one.star\", \"a\")\n\nb = 1\n",
	"out.star":       "load(\"../x.star\", \"x\")\n",
	"LICENSE":        "free\n",
	"README.md":      "not taken\n",
	"act_test.star":  "load(\"act.star\", \"acme_relu\")\n\ndef test_relu():\n    pass\n",
	".hidden/a.star": "not taken\n",
}

const useAcme = `load("@acme//act.star", "acme_relu")

g = graph("g", inputs = [variable("x", "float32", [2])])
g.outputs = [g.acme_relu(g.inputs[0])]
print([n.op for n in g.nodes])
`

// repository makes a git repository with the files in its first commit.
func repository(t *testing.T, dir string, files map[string]string) *git.Repository {
	t.Helper()
	repo, err := git.PlainInit(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	commitFiles(t, repo, dir, files)
	return repo
}

func commitFiles(t *testing.T, repo *git.Repository, dir string, files map[string]string) {
	t.Helper()
	writeFiles(t, dir, files)
	w, err := repo.Worktree()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.AddGlob("."); err != nil {
		t.Fatal(err)
	}
	who := &object.Signature{Name: "A", Email: "a@example.com", When: time.Unix(1_700_000_000, 0)}
	if _, err := w.Commit("files", &git.CommitOptions{Author: who}); err != nil {
		t.Fatal(err)
	}
}

// must runs a command line that succeeds and returns what it printed.
func must(t *testing.T, args ...string) string {
	t.Helper()
	status, out, errs := sgs(t, args...)
	if status != 0 {
		t.Fatalf("sgs %v: status %d\n%s%s", args, status, out, errs)
	}
	return out
}

// fails runs a command line that fails, and checks its status and what it says.
func fails(t *testing.T, status int, want string, args ...string) {
	t.Helper()
	got, out, errs := sgs(t, args...)
	if got != status || !regexp.MustCompile(want).MatchString(out+errs) {
		t.Errorf("sgs %v: status %d\n%s%s\nwant %d and %s", args, got, out, errs, status, want)
	}
}

// TestLibrary walks through what sgs lib is for: two projects share a library
// from a git repository, pinned, vendored and verified.
func TestLibrary(t *testing.T) {
	base := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", filepath.Join(base, "cache"))
	t.Setenv("HOME", base)
	repo := repository(t, filepath.Join(base, "repo"), acme)
	if head, err := repo.Head(); err != nil {
		t.Fatal(err)
	} else if _, err := repo.CreateTag("v1", head.Hash(), nil); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"p1", "p2"} {
		writeFiles(t, filepath.Join(base, p), map[string]string{"use.star": useAcme})
	}

	t.Chdir(filepath.Join(base, "p1"))
	fails(t, 1, `use.star:1:1: cannot load @acme//act.star: no library "acme": there is no sgs.toml here or above`, "run", "use.star")
	out := must(t, "lib", "add", "acme", "../repo", "--rev", "v1")
	if !regexp.MustCompile(`^acme pinned h1:\S{44} \(commit [0-9a-f]{12}\)\n$`).MatchString(out) {
		t.Errorf("add printed %q", out)
	}
	checkFile(t, "sgs.toml", "[libs.acme]\ngit = '../repo'\nrev = 'v1'\n")
	const ran = "[\"Mul\", \"Relu\"]\n"
	if out := must(t, "run", "use.star"); out != ran {
		t.Errorf("the script printed %q, want %q", out, ran)
	}
	t.Chdir(filepath.Join(base, "p2"))
	must(t, "lib", "add", "acme", "../repo", "--rev", "v1")
	if out := must(t, "run", "use.star"); out != ran {
		t.Errorf("the script printed %q, want %q", out, ran)
	}
	p1, _ := os.ReadFile("../p1/sgs.lock")
	checkFile(t, "sgs.lock", string(p1))

	// The revision moves; the pin does not, until update says so.
	commitFiles(t, repo, filepath.Join(base, "repo"), map[string]string{"consts.star": "two = 2\n"})
	if out := must(t, "lib", "update"); !strings.HasPrefix(out, "acme unchanged h1:") {
		t.Errorf("update printed %q", out)
	}
	writeFiles(t, ".", map[string]string{"sgs.toml": "[libs.acme]\ngit = \"../repo\"\nrev = \"master\"\n"})
	fails(t, 1, `library "acme": sgs.toml says ../repo at master, and sgs.lock pins ../repo at v1: run sgs lib update acme`, "run", "use.star")
	if out := must(t, "lib", "update", "acme"); !strings.HasPrefix(out, "acme updated h1:") {
		t.Errorf("update printed %q", out)
	}
	must(t, "run", "use.star")

	// Vendored, it works with the repository and the cache gone.
	must(t, "lib", "vendor")
	t.Chdir(filepath.Join(base, "p1"))
	if out := must(t, "lib", "vendor", "acme"); out != "acme vendored to sgs_libs/acme\n" {
		t.Errorf("vendor printed %q", out)
	}
	for _, gone := range []string{"repo", "cache"} {
		if err := os.RemoveAll(filepath.Join(base, gone)); err != nil {
			t.Fatal(err)
		}
	}
	if out := must(t, "run", "use.star"); out != ran {
		t.Errorf("the script printed %q, want %q", out, ran)
	}
	for name, text := range acme {
		if !oplib.Kept(name) {
			if _, err := os.Stat(filepath.Join("sgs_libs/acme", name)); err == nil {
				t.Errorf("%s was vendored", name)
			}
			continue
		}
		checkFile(t, filepath.Join("sgs_libs/acme", name), text)
	}
	if out := must(t, "lib", "verify"); !strings.HasPrefix(out, "acme  vendored  ../repo at v1 (commit ") || !strings.HasSuffix(out, "\n1 verified, 0 wrong\n") {
		t.Errorf("verify printed %q", out)
	}
	var all []oplib.Status
	if err := json.Unmarshal([]byte(must(t, "lib", "list", "--json")), &all); err != nil || len(all) != 1 || all[0].State != oplib.Vendored || all[0].Error != "" {
		t.Errorf("list printed %v (%v)", all, err)
	}
	t.Run("failures", libraryFailures)
}

// libraryFailures runs in a project with acme vendored: each failure says what it
// is.
func libraryFailures(t *testing.T) {
	script := func(name, text string) string {
		writeFiles(t, ".", map[string]string{name: text})
		return name
	}
	fails(t, 1, `@acme//two.star:1:1: cannot load //one.star: load cycle: @acme//one.star loads @acme//two.star loads @acme//one.star`, "run", script("cycle.star", "load(\"@acme//one.star\", \"a\")\n"))
	fails(t, 1, `@acme//out.star:1:1: cannot load ../x.star: got "../x.star", which leads out of library "acme"`, "run", script("o.star", "load(\"@acme//out.star\", \"x\")\n"))
	fails(t, 1, `up.star:1:1: cannot load \S+: got "@acme//../p1/up.star", want a plain path in library "acme"`, "run", script("up.star", "load(\"@acme//../p1/up.star\", \"x\")\n"))
	fails(t, 1, `name.star:1:\d+: .*acme_rely.*\(did you mean acme_relu\?\)`, "run", script("name.star", "load(\"@acme//act.star\", \"acme_rely\")\n"))
	fails(t, 1, `file.star:1:1: cannot load \S+: library "acme": it has no file "actt.star" \(did you mean "act.star"\?\)`, "run", script("file.star", "load(\"@acme//actt.star\", \"x\")\n"))
	fails(t, 1, `lib.star:1:1: cannot load \S+: no library "amce": sgs.toml in \S+ does not name it; the shipped one is @std// \(did you mean "acme"\?\)`, "run", script("lib.star", "load(\"@amce//act.star\", \"x\")\n"))
	fails(t, 1, `collision.star:8:2: graph.acme_relu: several files register it for opset 21: @acme//act.star:4:1 and collision.star:3:1`, "run",
		script("collision.star", "load(\"@acme//act.star\", theirs = \"acme_relu\")\n@register\ndef acme_relu(self, x):\n    return x\n\nx = variable(\"x\", \"float32\", [2])\ng = graph(inputs = [x])\ng.acme_relu(x)\n"))

	writeFiles(t, "sgs_libs/acme", map[string]string{"consts.star": "two = 3.0\n"})
	changed := `consts.star in \S+ was changed since sgs.lock was written: run sgs lib vendor acme to have it as pinned`
	fails(t, 1, `use.star:1:1: cannot load \S+: library "acme": `+changed, "run", "use.star")
	fails(t, 1, changed+"\n0 verified, 1 wrong", "lib", "verify")
	writeFiles(t, "sgs_libs/acme", map[string]string{"consts.star": acme["consts.star"], "more.star": ""})
	fails(t, 1, `more.star in \S+ was added since sgs.lock was written`, "run", "use.star")
	if err := os.Remove("sgs_libs/acme/more.star"); err != nil {
		t.Fatal(err)
	}
	must(t, "run", "use.star")
	if err := os.Remove("sgs_libs/acme/consts.star"); err != nil {
		t.Fatal(err)
	}
	fails(t, 1, `consts.star in \S+ is missing since sgs.lock was written`, "run", "use.star")

	lockText, err := os.ReadFile("sgs.lock")
	if err != nil {
		t.Fatal(err)
	}
	writeFiles(t, ".", map[string]string{"sgs.lock": strings.Replace(string(lockText), "h1:", "h1:A", 1)})
	fails(t, 1, `the hash in sgs.lock is not that of the files there`, "run", "use.star")
	if err := os.Remove("sgs.lock"); err != nil {
		t.Fatal(err)
	}
	fails(t, 1, `library "acme": sgs.lock does not pin it: run sgs lib update acme`, "run", "use.star")
	writeFiles(t, ".", map[string]string{"sgs.lock": string(lockText)})
	if err := os.RemoveAll("sgs_libs"); err != nil {
		t.Fatal(err)
	}
	fails(t, 1, `library "acme": ../repo at v1 is not on this machine: run sgs lib verify, which fetches it`, "run", "use.star")
	fails(t, exitFile, `library "acme": .*repo.*repository does not exist`, "lib", "verify")
}

func checkFile(t *testing.T, name, want string) {
	t.Helper()
	if got, err := os.ReadFile(name); err != nil || string(got) != want {
		t.Errorf("%s: got %q (%v), want %q", name, got, err, want)
	}
}

// TestPathLibrary shows a library that is a folder: pinned as any, and under the
// gate of files.
func TestPathLibrary(t *testing.T) {
	base := t.TempDir()
	t.Chdir(filepath.Join(base))
	writeFiles(t, ".", map[string]string{"lib/a.star": "x = 1\n", "p/use.star": "load(\"@mine//a.star\", \"x\")\nprint(x)\n", "p/deep/use.star": "load(\"@mine//a.star\", \"x\")\nprint(x + 1)\n", "p/sgs.toml": "# mine\n"})
	t.Chdir(filepath.Join(base, "p", "deep"))
	must(t, "lib", "add", "mine", "../../lib")
	checkFile(t, "../sgs.toml", "# mine\n\n[libs.mine]\npath = '../lib'\n")
	fails(t, 1, `use.star:1:1: cannot load \S+: library "mine": \S+lib: reading is not allowed there`, "run", "use.star")
	if out := must(t, "run", "--allow-read", base, "use.star"); out != "2\n" {
		t.Errorf("got %q", out)
	}
	writeFiles(t, base, map[string]string{"lib/a.star": "x = 2\n"})
	fails(t, 1, `a.star in \S+ was changed since sgs.lock was written: run sgs lib update mine to take what is there now`, "run", "--allow-read", base, "use.star")
	fails(t, 1, `a.star in \S+ was changed`, "lib", "vendor")
	must(t, "lib", "update")
	must(t, "lib", "vendor")
	if out := must(t, "run", "use.star"); out != "3\n" {
		t.Errorf("got %q", out)
	}
	writeFiles(t, base, map[string]string{"lib/a.star": "x = 3\n"})
	must(t, "lib", "update")
	if out := must(t, "run", "use.star"); out != "4\n" {
		t.Errorf("an update left the vendored files: got %q", out)
	}
}

func TestLibraryUsage(t *testing.T) {
	t.Chdir(t.TempDir())
	fails(t, exitFile, `^sgs: lib list: no sgs.toml here or above \(sgs lib add NAME SOURCE makes one\)\n$`, "lib", "list")
	writeFiles(t, ".", map[string]string{"sgs.toml": "[libs.acme]\npath = \"lib\"\n", "lib/a.star": "x = 1\n", "empty/a.txt": ""})
	fails(t, exitUsage, `library "std": that is the name of the shipped library`, "lib", "add", "std", "lib")
	fails(t, exitUsage, `library "a b": want a name of letters`, "lib", "add", "a b", "lib")
	fails(t, exitUsage, `lib add: |add: got 1 arguments, want NAME and SOURCE`, "lib", "add", "x")
	fails(t, exitFile, `library "acme": sgs.toml names it already, as lib`, "lib", "add", "acme", "lib")
	fails(t, exitFile, `library "x": got no \*.star in empty, want at least one`, "lib", "add", "x", "empty")
	fails(t, exitFile, `library "x": .*none`, "lib", "add", "x", "none")
	fails(t, exitUsage, `no library "acne": sgs.toml in \S+ does not name it \(did you mean "acme"\?\)`, "lib", "update", "acne")
	checkFile(t, "sgs.toml", "[libs.acme]\npath = \"lib\"\n")
	for _, c := range []struct{ text, want string }{
		{"libs = 3\n", `sgs.toml:1:\d+: `},
		{"[libs.a]\npth = \"x\"\n", `sgs.toml:2:1: got the key "libs.a.pth", which is not known`},
		{"[libs.a]\npath = \"x\"\ngit = \"y\"\n", `sgs.toml: library "a": got a source with both or neither of path and git, want one`},
		{"[libs.a]\ngit = \"y\"\n", `sgs.toml: library "a": got rev "", want a tag, branch or commit`},
		{"[libs.a]\ngit = \"y\"\nrev = \"v\"\ndir = \"../x\"\n", `sgs.toml: library "a": got dir "../x", want a folder of the repository`},
		{"[libs.a]\npath = \"x\"\n[libs.a]\npath = \"y\"\n", `sgs.toml:3:\d+: .*a.*`},
	} {
		writeFiles(t, ".", map[string]string{"sgs.toml": c.text})
		fails(t, exitFile, c.want, "lib", "list")
		fails(t, exitBad, c.want, "run", "-c", "load(\"@a//x.star\", \"x\")")
	}
}

// TestLibraryLarge bounds what a library may hold.
func TestLibraryLarge(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFiles(t, ".", map[string]string{"big/a.star": strings.Repeat("#", oplib.MaxFile+1), "case/A.star": "", "case/a.star": "", "names/a:b.star": ""})
	fails(t, exitFile, fmt.Sprintf(`a.star: got %d bytes, want at most %d`, oplib.MaxFile+1, oplib.MaxFile), "lib", "add", "x", "big")
	if names, _ := os.ReadDir("case"); len(names) == 2 { // not on every file system
		fails(t, exitFile, `got the files A.star and a.star, want names that differ in more than case`, "lib", "add", "x", "case")
	}
	fails(t, exitFile, `got a file named "a:b.star", want a plain path`, "lib", "add", "x", "names")
}

// TestLibraryOfLibraries has a library load another: both are named by the
// project, whose sgs.toml pins all.
func TestLibraryOfLibraries(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFiles(t, ".", map[string]string{
		"a/a.star": "load(\"@b//b.star\", \"two\")\nload(\"@std//none.star\", \"x\")\n",
		"b/b.star": "two = 2\n", "a/ok.star": "load(\"@b//b.star\", \"two\")\nfour = two * two\n",
		"use.star": "load(\"@a//ok.star\", \"four\")\nprint(four)\n",
		"std.star": "load(\"@a//a.star\", \"x\")\n",
	})
	must(t, "lib", "add", "a", "a")
	fails(t, exitBad, `@a//ok.star:1:1: cannot load @b//b.star: no library "b": sgs.toml in . does not name it`, "run", "use.star")
	must(t, "lib", "add", "b", "b")
	if out := must(t, "run", "use.star"); out != "4\n" {
		t.Errorf("got %q", out)
	}
	fails(t, exitBad, `@a//a.star:2:1: cannot load @std//none.star: the shipped library has no file "none.star"`, "run", "std.star")
	must(t, "lib", "vendor")
	for _, gone := range []string{"a", "b"} {
		if err := os.RemoveAll(gone); err != nil {
			t.Fatal(err)
		}
	}
	if out := must(t, "run", "use.star"); out != "4\n" {
		t.Errorf("vendored: got %q", out)
	}
}
