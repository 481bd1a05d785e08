package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// rule is what the packages of one folder may import. Folders and packages are
// paths below the module's root; "x" is that package alone, "x/..." it and all
// below it. The row with the longest matching folder holds. What stands in no
// row of its own follows its parent's.
type rule struct {
	folder  string
	imports []string // of this module; internal/... is open to all but those marked alone
	libs    []string // of others, by a prefix of the path
	alone   bool     // not even internal/...
	cgo     bool     // may import "C"
	all     bool     // any package of this module, any library but those of tests
}

const (
	starlark   = "go.starlark.net"
	sys        = "golang.org/x/sys"
	term       = "golang.org/x/term"
	protobuf   = "google.golang.org/protobuf"
	gonum      = "gonum.org/v1/gonum"
	images     = "golang.org/x/image"
	meter      = "github.com/schollz/progressbar/v3"
	npyio      = "github.com/sbinet/npyio"
	readline   = "github.com/chzyer/readline"
	graphviz   = "github.com/goccy/go-graphviz"
	onnxLib    = "github.com/yalue/onnxruntime_go"
	cobra      = "github.com/spf13/cobra"
	pflag      = "github.com/spf13/pflag"
	goCmp      = "github.com/google/go-cmp"
	testscript = "github.com/rogpeppe/go-internal"
	buildtools = "github.com/bazelbuild/buildtools"
	goGit      = "github.com/go-git/go-git/v5"
	toml       = "github.com/pelletier/go-toml/v2"
	pty        = "github.com/creack/pty"
)

// testLibs are for tests alone.
var testLibs = []string{goCmp, testscript, pty}

// libraries are all that the project uses outside tests. One that is not here
// has not been argued for.
var libraries = []string{starlark, sys, term, protobuf, gonum, images, npyio, readline, graphviz, onnxLib, cobra, pflag, buildtools, goGit, toml, meter}

// forRuntimes is what every runtime/x may import; not another runtime/x.
var forRuntimes = []string{"runtime", "ops/...", "onnx/...", "ir/...", "array/..."}

var rules = []rule{
	{folder: "array/...", imports: []string{"array/..."}},
	{folder: "ir/...", imports: []string{"ir/...", "array/..."}},
	{folder: "onnx/...", imports: []string{"onnx/...", "ir/...", "array/..."}, libs: []string{protobuf, sys, term}},
	{folder: "ops/...", imports: []string{"ops/...", "ir/...", "array/..."}, libs: []string{gonum, images}},

	// The interface knows none of those who fulfil it.
	{folder: "runtime", imports: []string{"ir/...", "array/..."}, libs: []string{npyio}},
	{folder: "runtime/...", imports: forRuntimes},
	{folder: "runtime/reference/...", imports: append([]string{"runtime/reference/..."}, forRuntimes...)},
	{folder: "runtime/onnxruntime/...", imports: append([]string{"runtime/onnxruntime/..."}, forRuntimes...), libs: []string{onnxLib}, cgo: true},
	{folder: "runtime/worker/...", imports: append([]string{"runtime/worker/..."}, forRuntimes...), libs: []string{sys, term}},

	{folder: "surgery/...", imports: []string{"surgery/...", "ops/...", "runtime", "ir/...", "array/..."}},
	{folder: "view/...", imports: []string{"view/...", "surgery/...", "ops/...", "runtime", "ir/...", "array/..."}, libs: []string{graphviz}},

	{folder: "starlarkgs/value/...", imports: []string{"starlarkgs/value/...", "ir/...", "array/..."}, libs: []string{starlark}},
	{folder: "builtins/...", imports: []string{"builtins/...", "starlarkgs/value/...", "surgery/...", "onnx/...", "ops/...", "runtime",
		"view/...", "ir/...", "array/..."}, libs: []string{starlark}},
	{folder: "starlarkgs/...", imports: []string{"starlarkgs/...", "builtins/...", "runtime", "runtime/reference/...", "scripts",
		"ir/...", "array/..."}, libs: []string{starlark}},
	// The layout of scripts is a tool beside the host, which does without its library.
	{folder: "starlarkgs/format/...", imports: []string{"starlarkgs"}, libs: []string{starlark, buildtools}},
	{folder: "scripts/...", alone: true},

	{folder: "repl/...", imports: []string{"repl/...", "starlarkgs"}, libs: []string{starlark, readline, sys, term}},
	{folder: "cmd/...", all: true},
	{folder: "bench/...", all: true}, // benchmarks alone
	{folder: "internal/...", imports: []string{"internal/..."}, libs: []string{sys, term}},
	// Only what fetches op libraries can reach out; the host, which loads them, can't.
	{folder: "internal/oplib", imports: []string{"internal/..."}, libs: []string{toml}},
	{folder: "internal/oplib/gitsource", imports: []string{"internal/..."}, libs: []string{goGit}},
}

// covers reports whether a package, a path below the module's root, is what
// pattern says.
func covers(pattern, pkg string) bool {
	dir, below := strings.CutSuffix(pattern, "/...")
	return pkg == dir || below && strings.HasPrefix(pkg, dir+"/")
}

// ruleOf returns the row that holds for the package, or nil.
func ruleOf(table []rule, pkg string) *rule {
	var best *rule
	for i := range table {
		r := &table[i]
		if !covers(r.folder, pkg) {
			continue
		}
		if best == nil || narrower(r.folder, best.folder) {
			best = r
		}
	}
	return best
}

// narrower reports whether a pattern says more than another that covers the
// same package: "x/y/..." more than "x/...", and "x" more than "x/...".
func narrower(a, b string) bool {
	dirA, belowA := strings.CutSuffix(a, "/...")
	dirB, belowB := strings.CutSuffix(b, "/...")
	if dirA != dirB {
		return len(dirA) > len(dirB)
	}
	return !belowA && belowB
}

// check says why the package may not import that path, or returns nil.
func check(table []rule, module, pkg, path string) error {
	r := ruleOf(table, pkg)
	if r == nil {
		return fmt.Errorf("package %q: got no rule, want a row in the table of arrows", pkg)
	}
	inner, ours := strings.CutPrefix(path, module+"/")
	switch {
	case path == "C":
		if !r.cgo {
			return fmt.Errorf("package %q: got import \"C\", want cgo in runtime/onnxruntime alone", pkg)
		}
	case ours:
		return r.checkOurs(pkg, inner)
	case path == module:
		return fmt.Errorf("package %q: got import %q, want none of the root, which is no package", pkg, path)
	case strings.Contains(strings.SplitN(path, "/", 2)[0], "."):
		return r.checkLibrary(pkg, path)
	}
	return nil
}

// fetcher is the one package that reaches out.
const fetcher = "internal/oplib/gitsource"

func (r *rule) checkOurs(pkg, inner string) error {
	allowed := r.imports
	if !r.alone {
		allowed = append([]string{"internal/..."}, allowed...)
	}
	if inner == fetcher && !r.all {
		return fmt.Errorf("package %q: got import %q, want it in cmd alone: it reaches out", pkg, inner)
	}
	if r.all || slices.ContainsFunc(allowed, func(p string) bool { return covers(p, inner) }) {
		return nil
	}
	if len(allowed) == 0 {
		return fmt.Errorf("package %q: got import %q, want the standard library alone", pkg, inner)
	}
	return fmt.Errorf("package %q: got import %q, want one of %s", pkg, inner, strings.Join(allowed, " "))
}

func (r *rule) checkLibrary(pkg, path string) error {
	in := func(libs []string) bool {
		return slices.ContainsFunc(libs, func(lib string) bool { return covers(lib+"/...", path) })
	}
	switch {
	case in(testLibs):
		return fmt.Errorf("package %q: got import %q, want it in tests alone", pkg, path)
	case !in(libraries):
		return fmt.Errorf("package %q: got import %q, want a library that the table of arrows knows", pkg, path)
	case r.all || in(r.libs):
		return nil
	case len(r.libs) == 0:
		return fmt.Errorf("package %q: got import %q, want no library from outside", pkg, path)
	}
	return fmt.Errorf("package %q: got import %q, want of libraries from outside only %s", pkg, path, strings.Join(r.libs, " "))
}
