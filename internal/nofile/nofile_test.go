package nofile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/starlarkgs/starlarkgs/internal/nofile"
)

func TestExplain(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "model.onnx"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := os.Stat(filepath.Join(dir, "modle.onnx"))
	got := nofile.Explain(err)
	want := "open " + filepath.Join(dir, "modle.onnx") + `: no such file (did you mean "model.onnx"?)`
	if got.Error() != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !errors.Is(got, fs.ErrNotExist) {
		t.Error("the error is no fs.ErrNotExist")
	}
	if strings.Contains(nofile.Near(filepath.Join(dir, "modle.onnx"), ".star"), "model") {
		t.Error("a file without the suffix is named")
	}
	if other := errors.New("x"); nofile.Explain(other) != other {
		t.Error("another error is not returned as it is")
	}
}
