package onnx

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/starlarkgs/starlarkgs/ir"
)

// switches are saves over an existing model whose files must change as one:
// how the old one was saved, and how the new one is.
var switches = []struct {
	name     string
	old, new SaveOptions
	left     []string // in the folder, after success
}{
	{"inside", SaveOptions{External: ExternalNone}, SaveOptions{External: ExternalNone}, []string{"m.onnx"}},
	{"one file over one", SaveOptions{External: ExternalSingle}, SaveOptions{External: ExternalSingle}, []string{"m.onnx", "m.onnx.data"}},
	{"inside over one file", SaveOptions{External: ExternalSingle}, SaveOptions{External: ExternalNone}, []string{"m.onnx"}},
	{"one file over inside", SaveOptions{External: ExternalNone}, SaveOptions{External: ExternalSingle}, []string{"m.onnx", "m.onnx.data"}},
	{"each over each", SaveOptions{External: ExternalEach}, SaveOptions{External: ExternalEach},
		[]string{"m.onnx", "m.onnx.w0.data", "m.onnx.w1.data", "m.onnx.w2.data"}},
	{"each over one file", SaveOptions{External: ExternalSingle}, SaveOptions{External: ExternalEach},
		[]string{"m.onnx", "m.onnx.w0.data", "m.onnx.w1.data", "m.onnx.w2.data"}},
	{"one file over each", SaveOptions{External: ExternalEach}, SaveOptions{External: ExternalSingle}, []string{"m.onnx", "m.onnx.data"}},
	{"shards over shards", SaveOptions{MaxShard: 5000}, SaveOptions{MaxShard: 5000, Checksum: true},
		[]string{"m.onnx", "m.onnx-00001-of-00003.data", "m.onnx-00002-of-00003.data", "m.onnx-00003-of-00003.data"}},
	{"safetensors over safetensors", SaveOptions{Location: "w/m.safetensors"}, SaveOptions{Location: "w/m.safetensors"}, []string{"m.onnx", "w/m.safetensors"}},
	{"kept", SaveOptions{External: ExternalSingle}, SaveOptions{External: ExternalKeep}, []string{"m.onnx", "m.onnx.data"}},
	{"compact", SaveOptions{External: ExternalSingle, Location: "w.bin"}, SaveOptions{Compact: true}, []string{"m.onnx", "w.bin"}},
}

// scene saves the old model in a folder and opens and edits it: what is returned
// is to be saved over it. The hashes are of both.
func scene(t testing.TB, dir string, old SaveOptions) (m *ir.Model, path, before, after string) {
	t.Helper()
	path = filepath.Join(dir, "m.onnx")
	mustSave(t, weighed(t, 1, 1000, 2000, 3000), path, old)
	m = mustOpen(t, path)
	before = mustHash(t, mustOpen(t, path))
	w := m.Graph().Initializers()[1]
	w.SetLiteral(&ir.Literal{Array: counting(t, 77, 2000)})
	m.Graph().Node(0).SetName("edited")
	return m, path, before, mustHash(t, m)
}

// wantOldOrNew opens the model at path and fails unless it is wholly the one or
// wholly the other.
func wantOldOrNew(t *testing.T, when, path, before, after string) {
	t.Helper()
	m, err := Open(path, OpenOptions{})
	if err != nil {
		t.Errorf("%s: %v", when, err)
		return
	}
	want := before
	if m.Graph().Node(0).Name() == "edited" {
		want = after
	}
	if got, err := hashes(m); err != nil || got != want {
		t.Errorf("%s: the weights are not those of the model: %v", when, err)
	}
}

// TestCrash looks at the folder as it is before each step of a save, which is
// what a crash would leave there.
func TestCrash(t *testing.T) {
	for _, s := range switches {
		t.Run(s.name, func(t *testing.T) {
			dir := t.TempDir()
			m, path, before, after := scene(t, dir, s.old)
			steps := 0
			writeHook = func(step string) error {
				steps++
				there := t.TempDir()
				if err := os.CopyFS(there, os.DirFS(dir)); err != nil {
					t.Fatal(err)
				}
				wantOldOrNew(t, fmt.Sprintf("step %d, %s", steps, step), filepath.Join(there, "m.onnx"), before, after)
				return nil
			}
			defer func() { writeHook = nil }()
			s.new.InFlight = 1 // one file at a time, so that the hook is called by one goroutine
			mustSave(t, m, path, s.new)
			if steps < 4 {
				t.Errorf("got %d steps, want at least 4", steps)
			}
			writeHook = nil
			wantFiles(t, dir, s.left...)
			if got := mustHash(t, mustOpen(t, path)); got != after {
				t.Error("the saved weights differ")
			}
		})
	}
}

// TestFailure makes each step of a save fail in turn: the error leaves the old
// model and no other file, or the new one stays with a note.
func TestFailure(t *testing.T) {
	for _, s := range switches {
		t.Run(s.name, func(t *testing.T) {
			for at := 1; ; at++ {
				dir := t.TempDir()
				m, path, before, after := scene(t, dir, s.old)
				had := files(t, dir)
				step := 0
				writeHook = func(string) error {
					if step++; step == at {
						return errTest
					}
					return nil
				}
				s.new.InFlight = 1
				r, err := Save(m, path, s.new)
				writeHook = nil
				if step < at {
					return
				}
				wantOldOrNew(t, fmt.Sprintf("step %d", at), path, before, after)
				switch now := files(t, dir); {
				case err != nil && !slices.Equal(now, had):
					t.Errorf("step %d failed: the folder holds %q, want %q", at, now, had)
				case err == nil && len(r.Notes) == 0:
					t.Errorf("step %d failed: the save said nothing", at)
				case err == nil && slices.ContainsFunc(now, func(n string) bool { return strings.HasSuffix(n, ".tmp") }):
					t.Errorf("step %d failed: the folder holds %q", at, now)
				}
			}
		})
	}
}

// TestKill kills a process, for real, before each step of a save.
func TestKill(t *testing.T) {
	if dir := os.Getenv("SGS_TEST_KILL_DIR"); dir != "" {
		killAt(t, dir)
		return
	}
	if testing.Short() {
		t.Skip("starts a process for each step")
	}
	for at := 1; ; at++ {
		dir := t.TempDir()
		_, path, before, after := scene(t, dir, SaveOptions{External: ExternalSingle})
		cmd := exec.Command(os.Args[0], "-test.run=^TestKill$")
		cmd.Env = append(os.Environ(), "SGS_TEST_KILL_DIR="+dir, "SGS_TEST_KILL_AT="+strconv.Itoa(at))
		out, err := cmd.CombinedOutput()
		wantOldOrNew(t, fmt.Sprintf("killed at step %d", at), path, before, after)
		if err == nil {
			if at < 8 {
				t.Errorf("the save took %d steps, want at least 8", at-1)
			}
			wantFiles(t, dir, "m.onnx", "m.onnx.data")
			return
		}
		if cmd.ProcessState.ExitCode() >= 0 && os.PathSeparator == '/' {
			t.Fatalf("step %d: the process ended by itself: %v\n%s", at, err, out)
		}
		// What the dead save left does not hinder the next one.
		m := mustOpen(t, path)
		mustSave(t, m, path, SaveOptions{External: ExternalSingle})
		if now := files(t, dir); !slices.Contains(now, "m.onnx.data") {
			t.Errorf("killed at step %d, then saved: the folder holds %q", at, now)
		}
	}
}

// killAt saves over the model in dir and kills its own process before a step.
func killAt(t *testing.T, dir string) {
	at, err := strconv.Atoi(os.Getenv("SGS_TEST_KILL_AT"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "m.onnx")
	m := mustOpen(t, path)
	m.Graph().Initializers()[1].SetLiteral(&ir.Literal{Array: counting(t, 77, 2000)})
	m.Graph().Node(0).SetName("edited")
	step := 0
	writeHook = func(string) error {
		if step++; step == at {
			p, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = p.Kill()
			}
			time.Sleep(time.Minute) // the signal comes
			return err
		}
		return nil
	}
	mustSave(t, m, path, SaveOptions{External: ExternalSingle})
}
