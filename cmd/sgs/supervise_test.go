package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/starlarkgs/starlarkgs/internal/supervise"
)

// asMain makes the test binary the command when it is set.
const asMain = "SGS_TEST_MAIN"

func TestMain(m *testing.M) {
	beWorker() // so that native backends are isolated in the tests too
	if os.Getenv(asMain) != "" {
		main()
	}
	os.Exit(m.Run())
}

// command returns the command as a process of its own.
func command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, os.Args[0], args...)
	c.Env = append(os.Environ(), asMain+"=1")
	return c
}

// TestBombs runs scripts that would end the process that runs them, or never
// end. The parent tells what happened, in one line with the place, and survives.
func TestBombs(t *testing.T) {
	if !supervise.Supported {
		t.Skip("no supervised children on this system")
	}
	const mem = "the script took more than its limit of [0-9,]+ bytes of memory"
	for _, c := range []struct{ name, script, want string }{
		{"repeat", "x = [0] * (1 << 29)", `^-c:1:\d+: ` + mem},
		{"too long a list", "x = [0] * (1 << 40)", `^-c:1:\d+: repeat count 1099511627776 too large`},
		{"replace", "s = 'a' * (1 << 26)\ny = s.replace('a', s)", `^-c:2:\d+: the script asked for more memory than any machine has`},
		{"join", "s = 'a' * (1 << 20)\ny = s.join([s] * 100000)", `^-c:2:\d+: ` + mem},
		{"doubled list", "l = [1]\nwhile True:\n    l = l + l", `^-c:\d:\d+: ` + mem},
		{"doubled string", "s = 'ab'\nwhile True:\n    s = s + s", `^-c:\d:\d+: ` + mem},
		{"extend", "l = [1]\nwhile True:\n    l.extend(l)", `^-c:\d:\d+: ` + mem},
		{"dict", "d = {}\ni = 0\nwhile True:\n    d[i] = [i]\n    i += 1", `^-c:\d:\d+: ` + mem},
		{"comprehension", "x = [i for i in range(1 << 27)]", `^-c:1:\d+: ` + mem},
		{"recursion", "def f(n):\n    return f(n + 1)\nf(0)", `^-c:2:\d+: calls are nested deeper than 10,000`},
		{"terabyte", "np.zeros([1 << 38])", `^-c:1:\d+: np.zeros: an array of shape \[274877906944\] would take`},
		{"brackets", strings.Repeat("[", 30_000), `^-c:1:\d+: `},
		{"loop", "while True: pass", `^-c:1:\d+: the script ran longer than its limit of 2s`},
		{"builtin that nothing stops", "s = 'a' * (1 << 25)\nfor i in range(10000): s.replace('a', 'b')", `^-c:2:\d+: the script ran longer than its limit of 2s`},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := []string{"run", "--max-mem", "192MB"}
			if strings.Contains(c.want, "2s") {
				args = append(args, "--timeout", "2s")
			}
			var errs bytes.Buffer
			cmd := command(t.Context(), append(args, "-c", c.script)...)
			cmd.Stderr = &errs
			err := cmd.Run()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != exitBad {
				t.Errorf("got %v, want exit status %d", err, exitBad)
			}
			if text := errs.String(); !regexp.MustCompile(c.want).MatchString(text) {
				t.Errorf("got the error\n%.2000s\nwant %s", text, c.want)
			}
		})
	}
}

// TestSupervised checks what passes through: output, status, arguments, input.
func TestSupervised(t *testing.T) {
	var out, errs bytes.Buffer
	cmd := command(t.Context(), "run", "-", "a", "b")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("print(argv)\nfail('no')\n"), &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != exitBad {
		t.Errorf("got %v, want exit status %d", err, exitBad)
	}
	if out.String() != "[\"a\", \"b\"]\n" || !strings.HasPrefix(errs.String(), "<stdin>:2:5: fail: no\n") {
		t.Errorf("got output %q and error %q", out.String(), errs.String())
	}
}

// TestInterruptOfAChild interrupts the parent alone, as kill does, while a
// builtin runs that nothing stops.
func TestInterruptOfAChild(t *testing.T) {
	for _, script := range []string{"print(1)\nwhile True: pass", "print(1)\ns = 'a' * (1 << 27)\nfor i in range(10000): s.replace('a', 'b')"} {
		var errs bytes.Buffer
		cmd := command(t.Context(), "run", "-c", script)
		cmd.Stderr = &errs
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 2)); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		_ = cmd.Process.Signal(syscall.SIGINT)
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted {
			t.Errorf("got %v, want exit status %d", err, exitInterrupted)
		}
		if !strings.Contains(errs.String(), "interrupted") || time.Since(begun) > 20*time.Second {
			t.Errorf("got %q after %s", errs.String(), time.Since(begun))
		}
	}
}
