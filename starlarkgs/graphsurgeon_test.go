package starlarkgs_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/starlarkgs"
)

// TestGraphSurgeonExamples runs the scripts that do what GraphSurgeon's examples
// do, each in an empty folder, and then the script of the same name in testdata,
// which opens what it saved and asserts the model and what it computes.
func TestGraphSurgeonExamples(t *testing.T) {
	scripts, err := filepath.Glob("../scripts/examples/graphsurgeon/*.star")
	if err != nil || len(scripts) != 12 {
		t.Fatalf("got %d scripts (%v), want 12", len(scripts), err)
	}
	for _, script := range scripts {
		name := filepath.Base(script)
		t.Run(name, func(t *testing.T) {
			script, err := filepath.Abs(script)
			if err != nil {
				t.Fatal(err)
			}
			check, err := os.ReadFile(filepath.Join("testdata", "graphsurgeon", name))
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir(t.TempDir())
			o := starlarkgs.Options{ReadDirs: []string{".", filepath.Dir(script)}, WriteDirs: []string{"."}, Predeclared: starlark.StringDict{"assert": assertModule}}
			if err := starlarkgs.New(o).Run(context.Background(), script, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := starlarkgs.New(o).RunSource(context.Background(), name, string(check), nil); err != nil {
				t.Error(err)
			}
		})
	}
}
