package onnx

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// corpus returns the folder of models to test with, or skips.
func corpus(t *testing.T) string {
	dir := os.Getenv("SGS_CORPUS")
	if dir == "" {
		t.Skip("SGS_CORPUS is not set: the models of the corpus are not tested")
	}
	return dir
}

// TestRoundTrip opens and saves every model of the corpus without an edit.
func TestRoundTrip(t *testing.T) {
	root := corpus(t)
	n := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".onnx") {
			return err
		}
		m, err := Open(path, OpenOptions{})
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return nil
		}
		if err := m.Verify(); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		out := filepath.Join(t.TempDir(), "out.onnx")
		if _, err := Save(m, out, SaveOptions{}); errors.Is(err, ErrExternal) {
			t.Logf("%s: its external data is not there: %v", path, err)
			return nil
		} else if err != nil {
			t.Errorf("%s: %v", path, err)
			return nil
		}
		diffs, err := Compare(path, out)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		for i, d := range diffs {
			if i == 5 {
				break
			}
			t.Errorf("%s: %s", path, d)
		}
		n++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d models", n)
}
