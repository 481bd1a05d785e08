//go:build cgo && linux

package worker_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/runtime"
	"github.com/starlarkgs/starlarkgs/runtime/onnxruntime"
	"github.com/starlarkgs/starlarkgs/runtime/worker"
)

// asParent makes the test's program one that starts a worker, whose native code
// hangs, and waits.
const asParent = "SGS_TEST_PARENT"

func TestMain(m *testing.M) {
	worker.Main(named)
	if lib := os.Getenv(asParent); lib != "" {
		s, err := worker.New(trap{lib}, worker.Options{Setting: lib}).NewSession(context.Background(), identity(), runtime.Options{})
		if err == nil {
			_, err = s.Run(context.Background(), number(1))
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func named(name, setting string) runtime.Backend {
	switch name {
	case "trap":
		return trap{setting}
	case "echo":
		return echo{}
	}
	return onnxruntime.New(setting)
}

// trap is a backend that gives back its input, and loads the library lib, whose
// native code does something bad, where the input is not 0.
type trap struct{ lib string }

func (trap) Name() string     { return "trap" }
func (trap) Available() error { return nil }
func (b trap) NewSession(_ context.Context, m *ir.Model, _ runtime.Options) (runtime.Session, error) {
	return trapped{b, m}, nil
}

type trapped struct {
	b trap
	m *ir.Model
}

func (s trapped) Inputs() []runtime.Port  { return runtime.InputPorts(s.m.Graph()) }
func (s trapped) Outputs() []runtime.Port { return runtime.OutputPorts(s.m.Graph()) }
func (trapped) Close() error              { return nil }
func (s trapped) Run(_ context.Context, in map[string]array.Value) (map[string]array.Value, error) {
	if x := array.Data[int64](in["x"].(*array.Array)); x[0] != 0 {
		_, err := onnxruntime.New(s.b.lib).Version()
		return nil, err
	}
	return map[string]array.Value{"y": in["x"]}, nil
}

func identity() *ir.Model {
	m := ir.NewModel("trapped", ir.Import{Version: 21})
	x, y := ir.NewTensor("x", ir.TensorType(array.Int64, ir.Ints(1))), ir.NewTensor("y", ir.TensorType(array.Int64, ir.Ints(1)))
	g := m.Graph()
	g.SetInputs(x)
	g.AddNode(ir.NewNode("Identity", []*ir.Tensor{x}, []*ir.Tensor{y}))
	g.SetOutputs(y)
	return m
}

func number(n int64) map[string]array.Value {
	return map[string]array.Value{"x": array.FromSlice([]int64{n})}
}

// bad builds a library whose only function does what the C code says.
func bad(t *testing.T, code string) string {
	t.Helper()
	dir := t.TempDir()
	source, lib := filepath.Join(dir, "bad.c"), filepath.Join(dir, "libbad.so")
	text := "#include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <sys/resource.h>\n#include <unistd.h>\nvoid *OrtGetApiBase(void) {" + code + "; return NULL; }\n"
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cc", "-shared", "-fPIC", "-o", lib, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return lib
}

const spin = `for (volatile int i = 0;; i++)`

// Whatever native code does, the call is an error that says what was running and
// how it ended, and the next call goes on in another process.
func TestCrashes(t *testing.T) {
	for _, c := range []struct{ name, code, signal, why string }{
		{"segmentation fault", `*(volatile int *)8 = 1`, "SIGSEGV", "crashed with SIGSEGV"},
		{"abort", `fputs("an assertion failed\n", stderr); abort()`, "SIGABRT", "crashed with SIGABRT: an assertion failed"},
		{"division", `volatile int zero = 0; volatile int x = 7 / zero; (void)x`, "SIGFPE", "crashed with SIGFPE"},
		{"exit", `exit(7)`, "", "ended with status 7"},
		{"killed", `raise(SIGKILL)`, "SIGKILL", "was killed (SIGKILL), most likely for want of memory"},
		{"memory", `struct rlimit r = {256 << 20, 256 << 20}; setrlimit(RLIMIT_DATA, &r);
			for (char *p; (p = malloc(1 << 20)); memset(p, 1, 1 << 20)) {} fputs("std::bad_alloc\n", stderr); abort()`, "SIGABRT", "ran out of memory"},
		{"hang", `for (;;) pause()`, "", "hung and was killed: it took more than 2s"},
		{"spin", spin, "", "hung and was killed: it took more than 2s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			lib := bad(t, c.code)
			o := worker.Options{Setting: lib, Limit: time.Minute}
			if strings.HasPrefix(c.why, "hung") {
				o.Limit = 2 * time.Second
			}
			s, err := worker.New(trap{lib}, o).NewSession(context.Background(), identity(), runtime.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for _, n := range []int64{0, 1, 0, 1, 0} {
				out, err := s.Run(context.Background(), number(n))
				if n == 0 {
					if err != nil || array.Data[int64](out["y"].(*array.Array))[0] != 0 {
						t.Fatalf("got %v, %v, want the call to go on", out, err)
					}
					continue
				}
				var crash *worker.Crash
				if !errors.As(err, &crash) {
					t.Fatalf("got %v, want a crash", err)
				}
				if crash.Signal != c.signal || !strings.Contains(err.Error(), c.why) || !strings.HasPrefix(err.Error(), `trap: running graph "trapped": the worker process `) {
					t.Errorf("got %q (%v), want %q", crash.Signal, err, c.why)
				}
				if !errors.Is(err, runtime.ErrUnavailable) {
					t.Errorf("%v: want it to be of a backend that can't be used", err)
				}
			}
		})
	}
}

// A call whose context ends is over within moments, though native code spins.
func TestCancelKills(t *testing.T) {
	lib := bad(t, spin)
	s, err := worker.New(trap{lib}, worker.Options{Setting: lib}).NewSession(context.Background(), identity(), runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := s.Run(ctx, number(1)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the deadline's error", err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("the call took %v", took)
	}
	if _, err := s.Run(context.Background(), number(0)); err != nil {
		t.Error(err)
	}
}

// A worker that is killed between two calls is not noticed.
func TestKilledWhileIdle(t *testing.T) {
	s, err := worker.New(trap{}, worker.Options{}).NewSession(context.Background(), identity(), runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, pid := range children(t, os.Getpid()) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(100 * time.Millisecond) // the socket's end is seen
	if _, err := s.Run(context.Background(), number(0)); err != nil {
		t.Error(err)
	}
}

// A parent that is killed leaves no worker behind, though its native code spins.
func TestNoOrphans(t *testing.T) {
	lib := bad(t, spin)
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), asParent+"="+lib)
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var workers []int
	for range 200 {
		if workers = children(t, parent.Process.Pid); len(workers) > 0 && spins(workers[0]) {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // killed
	if len(workers) != 1 {
		t.Fatalf("got the workers %v, want one", workers)
	}
	for range 200 {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d/exe", workers[0])); err != nil {
			return
		}
		time.Sleep(25 * time.Millisecond)
	}
	_ = syscall.Kill(workers[0], syscall.SIGKILL)
	t.Error("the worker outlives its parent")
}

// spins reports whether a process has used a fifth of a second.
func spins(pid int) bool {
	fields := stat(pid)
	if len(fields) < 13 {
		return false
	}
	ticks, err := strconv.Atoi(fields[11])
	return err == nil && ticks > 20
}

// stat returns what /proc says of a process after its name: state, parent, ….
func stat(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return strings.Fields(rest)
}

// children returns the processes that pid has started.
func children(t *testing.T, pid int) []int {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var out []int
	for _, dir := range dirs {
		n, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		if fields := stat(n); len(fields) > 1 && fields[1] == strconv.Itoa(pid) && fields[0] != "Z" {
			out = append(out, n)
		}
	}
	return out
}
