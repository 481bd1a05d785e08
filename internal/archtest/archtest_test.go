package archtest

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

const module = "github.com/starlarkgs/starlarkgs"

// imported is one import clause.
type imported struct {
	at, pkg string // "ir/graph.go:12", "ir"
	path    string
	alias   string
	test    bool // of a _test.go file
}

func TestArrows(t *testing.T) {
	tree := os.DirFS(root(t))
	clauses, packages, err := imports(tree)
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) < 20 {
		t.Fatalf("got %d packages, want at least 20: the walk misses some", len(packages))
	}
	for _, problem := range problems(clauses, packages) {
		t.Error(problem)
	}
}

// problems lists what breaks the rules in a tree.
func problems(clauses []imported, packages []string) []string {
	var out []string
	for _, pkg := range packages {
		if ruleOf(rules, pkg) == nil {
			out = append(out, fmt.Sprintf("package %q: got no rule, want a row in the table of arrows", pkg))
		}
	}
	for _, c := range clauses {
		if c.path == "runtime" && c.alias != "goruntime" && c.alias != "_" {
			out = append(out, fmt.Sprintf("%s: got import \"runtime\" as %q, want Go's own runtime as goruntime", c.at, c.alias))
		}
		if c.test || ruleOf(rules, c.pkg) == nil {
			continue
		}
		if err := check(rules, module, c.pkg, c.path); err != nil {
			out = append(out, fmt.Sprintf("%s: %v", c.at, err))
		}
	}
	return out
}

// root returns the folder of go.mod and makes sure that it is this module's.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		f, err := os.Open(filepath.Join(dir, "go.mod"))
		if err == nil {
			defer f.Close()
			line, _ := bufio.NewReader(f).ReadString('\n')
			if got := strings.TrimSpace(line); got != "module "+module {
				t.Fatalf("go.mod: got %q, want module %s", got, module)
			}
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the test's folder")
		}
		dir = parent
	}
}

// imports reads the import clauses of every Go file of the tree, whatever its
// build tags, and lists the folders that hold one.
func imports(tree fs.FS) (clauses []imported, packages []string, err error) {
	err = fs.WalkDir(tree, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if foreign(tree, file) {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(file) != ".go" || strings.HasPrefix(d.Name(), "_") || strings.HasPrefix(d.Name(), ".") {
			return nil
		}
		found, err := clausesOf(tree, file)
		clauses = append(clauses, found...)
		if pkg := path.Dir(file); !slices.Contains(packages, pkg) {
			packages = append(packages, pkg)
		}
		return err
	})
	return clauses, packages, err
}

// foreign reports whether a folder is none of the module's packages, as the go
// command sees it.
func foreign(tree fs.FS, dir string) bool {
	if dir == "." {
		return false
	}
	name := path.Base(dir)
	if name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return true
	}
	_, err := fs.Stat(tree, path.Join(dir, "go.mod"))
	return err == nil // a module of its own
}

func clausesOf(tree fs.FS, file string) ([]imported, error) {
	text, err := fs.ReadFile(tree, file)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, text, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	var out []imported
	for _, spec := range parsed.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		out = append(out, imported{
			at:  fmt.Sprintf("%s:%d", file, fset.Position(spec.Pos()).Line),
			pkg: path.Dir(file), path: p, alias: aliasOf(spec), test: strings.HasSuffix(file, "_test.go"),
		})
	}
	return out, nil
}

func aliasOf(spec *ast.ImportSpec) string {
	if spec.Name == nil {
		return ""
	}
	return spec.Name.Name
}

// TestTable holds the table against itself: each name in it is a folder that
// has a row, or below one, and each library is known.
func TestTable(t *testing.T) {
	for i, r := range rules {
		for _, name := range r.imports {
			if ruleOf(rules, strings.TrimSuffix(name, "/...")) == nil {
				t.Errorf("rule %q allows %q, which has no rule", r.folder, name)
			}
		}
		for _, lib := range r.libs {
			if !slices.Contains(libraries, lib) {
				t.Errorf("rule %q allows %q, which is not among the libraries", r.folder, lib)
			}
		}
		for _, other := range rules[:i] {
			if other.folder == r.folder {
				t.Errorf("rule %q stands twice", r.folder)
			}
		}
	}
}

func TestForbidden(t *testing.T) {
	forbidden := map[string][]string{ // by package; a path with a dot before its first slash is a library
		"array":               {"ir", "onnx", "ops", starlark + "/starlark", gonum + "/blas", protobuf + "/proto", sys + "/unix", "C"},
		"array/num":           {"ir", "ops", gonum + "/blas"},
		"ir":                  {"onnx", "ops", "ops/schema", "surgery", "runtime", protobuf + "/proto", starlark + "/syntax"},
		"onnx":                {"ops", "ops/schema", "runtime", "surgery", starlark + "/starlark", npyio, "C"},
		"onnx/internal/pb":    {"ops", "runtime"},
		"ops":                 {"onnx", "runtime", "surgery", starlark + "/starlark", protobuf + "/proto", "builtins"},
		"ops/schema":          {"onnx", "runtime", "starlarkgs"},
		"runtime":             {"ops", "onnx", "runtime/reference", "runtime/onnxruntime", "runtime/worker", "surgery", gonum + "/blas", onnxLib},
		"runtime/reference":   {"runtime/onnxruntime", "runtime/worker", "surgery", "starlarkgs", gonum + "/blas", onnxLib, "C"},
		"runtime/onnxruntime": {"runtime/reference", "surgery", "builtins", starlark + "/starlark", protobuf + "/proto"},
		"runtime/worker":      {"runtime/onnxruntime", "runtime/reference", "cmd/sgs", onnxLib, "C"},
		"runtime/another":     {"runtime/reference", "runtime/another/below", sys + "/unix"},
		"surgery":             {"onnx", "runtime/reference", "runtime/onnxruntime", "view", "starlarkgs/value", "builtins", starlark + "/starlark", gonum + "/mat"},
		"surgery/match":       {"onnx", "runtime/reference"},
		"view":                {"onnx", "runtime/reference", "builtins", "starlarkgs", starlark + "/starlark"},
		"starlarkgs/value":    {"starlarkgs", "ops", "ops/schema", "onnx", "surgery", "runtime", "builtins", "builtins/builtin"},
		"builtins":            {"starlarkgs", "runtime/reference", "runtime/onnxruntime", "repl", "cmd/sgs", "scripts", protobuf + "/proto"},
		"builtins/np":         {"starlarkgs", "runtime/reference", "runtime/onnxruntime", npyio},
		"starlarkgs":          {"onnx", "ops", "ops/infer", "surgery", "view", "repl", "runtime/onnxruntime", "runtime/worker", "cmd/sgs", readline, "internal/oplib/gitsource"},
		"starlarkgs/format":   {"starlarkgs/value", "builtins", "ir", readline},
		"starlarkgs/other":    {buildtools + "/build"},
		"repl":                {"starlarkgs/value", "builtins", "ir", "ops", "surgery", "runtime", "runtime/onnxruntime", cobra},
		"scripts":             {"internal/spell", "starlarkgs", starlark + "/starlark"},
		"internal/oplib":      {"starlarkgs", goGit, "internal/oplib/gitsource"},
		"internal/par":        {toml, "array", "ir", "ops", "starlarkgs", "scripts", "cmd/sgs", starlark + "/starlark", gonum + "/blas", "C"},
		"cmd/sgs":             {goCmp + "/cmp", testscript + "/testscript", pty, "github.com/nobody/argued", "C"},
		"plugins":             {"fmt", "array", "internal/spell"}, // no rule
		"arrays":              {"fmt"},                            // a prefix of a name is no folder
		".":                   {"fmt", "array"},
	}
	for pkg, paths := range forbidden {
		for _, p := range append(paths, "github.com/nobody/argued", goCmp+"/cmp", module) {
			if err := check(rules, module, pkg, fullPath(p)); err == nil {
				t.Errorf("%s may import %s, want it refused", pkg, p)
			}
		}
	}
}

func TestAllowed(t *testing.T) {
	allowed := map[string][]string{
		"array":                    {"fmt", "internal/spell", "array/num"},
		"ir":                       {"array", "array/num", "internal/spell", "go/token"},
		"onnx":                     {"ir", "array", "onnx/internal/pb", protobuf + "/proto", sys + "/unix"},
		"onnx/internal/pb":         {protobuf + "/runtime/protoimpl"},
		"ops":                      {"ir", "array", "ops/schema", "ops/sym", gonum + "/blas/gonum"},
		"ops/infer":                {"ops", "ops/schema"},
		"runtime":                  {"ir", "array", npyio + "/npz"},
		"runtime/reference":        {"runtime", "ops", "ops/schema", "onnx", "ir", "array"},
		"runtime/onnxruntime":      {"C", onnxLib, "onnx", "runtime", "runtime/onnxruntime/internal/find"},
		"runtime/worker":           {sys + "/unix", term, "runtime", "onnx"},
		"runtime/another":          {"runtime", "ops", "onnx", "ir", "array"},
		"surgery":                  {"ops", "ops/infer", "runtime", "ir", "array"},
		"view":                     {"surgery", "runtime", graphviz},
		"starlarkgs/value":         {"ir", "array", starlark + "/starlark"},
		"builtins":                 {"builtins/np", "starlarkgs/value", starlark + "/lib/math"},
		"builtins/np":              {"builtins/builtin", "array/num", "starlarkgs/value", "runtime", "view", starlark + "/starlark"},
		"starlarkgs":               {"builtins", "builtins/core", "starlarkgs/value", "runtime/reference", "scripts", starlark + "/resolve"},
		"starlarkgs/format":        {"starlarkgs", "internal/starlex", starlark + "/syntax", buildtools + "/build"},
		"repl":                     {"starlarkgs", readline, term, starlark + "/syntax"},
		"scripts":                  {"embed", "io/fs"},
		"internal/mmap":            {"internal/par", sys + "/unix"},
		"internal/oplib":           {"internal/spell", toml},
		"internal/oplib/gitsource": {"internal/oplib", goGit + "/plumbing"},
		"cmd/sgs":                  {"internal/oplib/gitsource", "runtime/onnxruntime", "runtime/worker", "surgery", "scripts", cobra, pflag, term},
	}
	for pkg, paths := range allowed {
		for _, p := range paths {
			if err := check(rules, module, pkg, fullPath(p)); err != nil {
				t.Error(err)
			}
		}
	}
}

// fullPath puts the module before the path of one of its packages.
func fullPath(p string) string {
	if r := ruleOf(rules, p); r != nil && p != "C" {
		return module + "/" + p
	}
	return p
}

// TestWalk walks a tree in memory with a fault of each kind.
func TestWalk(t *testing.T) {
	file := func(imports ...string) *fstest.MapFile {
		text := "//go:build plan9\n\npackage p\n"
		for _, i := range imports {
			text += "import " + i + "\n"
		}
		return &fstest.MapFile{Data: []byte(text)}
	}
	ours := func(p string) string { return strconv.Quote(module + "/" + p) }
	tree := fstest.MapFS{
		"array/array_plan9.go":     file(`"fmt"`, ours("ir")),
		"array/array_test.go":      file(ours("ir"), `"`+goCmp+`/cmp"`),
		"array/testdata/x.go":      file(ours("ops")),
		"plugins/p.go":             file(`"fmt"`),
		"nested/go.mod":            {Data: []byte("module example.com/nested\n")},
		"nested/n.go":              file(ours("ops")),
		".hidden/h.go":             file(ours("ops")),
		"surgery/fold.go":          file(ours("ops"), `rt `+ours("runtime/reference"), `_ `+ours("view")),
		"internal/par/par.go":      file(`"runtime"`, `goruntime "runtime"`),
		"internal/par/par_test.go": file(`. "runtime"`),
		"docs/readme.md":           {Data: []byte("no Go here")},
	}
	clauses, packages, err := imports(tree)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`package "plugins": got no rule, want a row in the table of arrows`,
		`array/array_plan9.go:5: package "array": got import "ir", want one of internal/... array/...`,
		`internal/par/par.go:4: got import "runtime" as "", want Go's own runtime as goruntime`,
		`internal/par/par_test.go:4: got import "runtime" as ".", want Go's own runtime as goruntime`,
		`surgery/fold.go:5: package "surgery": got import "runtime/reference", want one of internal/... surgery/... ops/... runtime ir/... array/...`,
		`surgery/fold.go:6: package "surgery": got import "view", want one of internal/... surgery/... ops/... runtime ir/... array/...`,
	}
	if got := problems(clauses, packages); !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if _, _, err := imports(fstest.MapFS{"array/a.go": {Data: []byte("pakage array")}}); err == nil {
		t.Error("a file that does not parse passed")
	}
}
