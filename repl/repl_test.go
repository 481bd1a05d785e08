//go:build unix

package repl_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/starlarkgs/starlarkgs/repl"
	"github.com/starlarkgs/starlarkgs/starlarkgs"
)

// TestMain makes the test binary a prompt when it is asked to be one, so that
// the tests drive a real process in a real pseudo-terminal.
func TestMain(m *testing.M) {
	if os.Getenv("SGS_TEST_PROMPT") == "" {
		os.Exit(m.Run())
	}
	h := starlarkgs.New(starlarkgs.Options{Stdout: os.Stdout, Stderr: os.Stderr})
	err := repl.Run(context.Background(), h, repl.Options{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, History: os.Getenv("SGS_TEST_PROMPT")})
	if err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// terminal is a prompt in a pseudo-terminal.
type terminal struct {
	t    *testing.T
	tty  *os.File
	cmd  *exec.Cmd
	mu   sync.Mutex
	text strings.Builder
}

func start(t *testing.T, history string) *terminal {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "SGS_TEST_PROMPT="+history, "TERM=xterm")
	cmd.Dir = t.TempDir()
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 120})
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{t: t, tty: tty, cmd: cmd}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := tty.Read(buf)
			term.mu.Lock()
			term.text.Write(buf[:n])
			term.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		tty.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	term.waitFor(">>> ")
	return term
}

func (p *terminal) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// waitFor waits until the output since the last call of clear holds the text.
func (p *terminal) waitFor(want string) {
	p.t.Helper()
	for range 500 {
		if strings.Contains(p.output(), want) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	p.t.Fatalf("the terminal shows\n%q\nwant %q", p.output(), want)
}

func (p *terminal) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text.Reset()
}

func (p *terminal) send(keys string) {
	p.t.Helper()
	if _, err := io.WriteString(p.tty, keys); err != nil {
		p.t.Fatal(err)
	}
}

// enter types a line and waits for what it shows.
func (p *terminal) enter(line, want string) {
	p.t.Helper()
	p.clear()
	p.send(line + "\r")
	p.waitFor(want)
}

// TestPiped runs statements that no one types: results alone are printed, a failure
// does not end them, and it is told at the end.
func TestPiped(t *testing.T) {
	for _, tt := range []struct {
		in, out string
		want    error
	}{
		{"x = 20\nx * 2\n", "40\n", nil},
		{"1 // 0\n1 + 1\n", "2\n", repl.ErrFailed},
		{"1 // 0\nexit\n1 + 1\n", "", repl.ErrFailed},
		{"def f():\n    return 7\n\nf()", "7\n", nil},
	} {
		var out, errs strings.Builder
		h := starlarkgs.New(starlarkgs.Options{Stdout: &out, Stderr: &errs})
		o := repl.Options{Stdin: io.NopCloser(strings.NewReader(tt.in)), Stdout: &out, Stderr: &errs, Banner: "hello", Piped: true}
		err := repl.Run(context.Background(), h, o)
		if err != tt.want || out.String() != tt.out {
			t.Errorf("%q: got %v and %q, want %v and %q", tt.in, err, out.String(), tt.want, tt.out)
		}
		if (tt.want != nil) != strings.Contains(errs.String(), "division by zero") {
			t.Errorf("%q: the errors are %q", tt.in, errs.String())
		}
	}
}

func TestSession(t *testing.T) {
	history := filepath.Join(t.TempDir(), "history.jsonl")
	p := start(t, history)
	p.enter(`g = graph("m", inputs = [variable("x", "float32", [2])])`, ">>> ")
	p.enter("@register", "... ")
	p.enter("def twice(self, t):", "... ")
	p.enter("    return self.op.Add(t, t)", "... ")
	p.enter("", ">>> ")
	p.enter("g.twice(g.inputs[0])", "float32[2]")
	p.enter("1 // 0", "floored division by zero")
	p.enter("40 + 2", "42")

	p.clear()
	p.send("g.toposo\t")
	p.waitFor("g.toposort")
	p.send("\x03") // Ctrl-C at the prompt drops the line
	p.enter("len(g.nodes)", "1")

	// up, past the last lines, to the def: it comes back whole and runs again
	p.clear()
	p.send(strings.Repeat("\x1b[A", 5))
	p.waitFor("def twice")
	p.send("\r")
	p.enter(`"still here"`, "still here")

	// Ctrl-C stops what runs, and the session goes on
	p.clear()
	p.send("while True: pass\r\r")
	time.Sleep(300 * time.Millisecond)
	p.send("\x03")
	p.waitFor("interrupted")
	p.enter("6 * 7", "42")

	p.send("exit\r")
	done := make(chan error, 1)
	go func() { done <- p.cmd.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("the prompt ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the prompt did not end")
	}
	data, err := os.ReadFile(history)
	if err != nil || !strings.Contains(string(data), `def twice(self, t):\n    return`) {
		t.Errorf("the history file holds %q (%v), want the def as one entry", data, err)
	}
}
