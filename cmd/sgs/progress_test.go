//go:build unix

package main

import (
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// slow is a script whose bisection takes about a second.
const slow = `
g = graph(inputs = [variable("x", "float32", [1])])
t = g.inputs[0]
for i in range(64):
    t = g.op.Relu(t)
g.outputs = [t]
def check(model):
    for i in range(1000000):
        pass
    return len(model.nodes) < 3
print("begin")
print(len(bisect(g, check = check).graph.nodes))
`

// TestProgress looks at what a terminal is shown of long work, and that what is
// no terminal is shown nothing.
func TestProgress(t *testing.T) {
	text := onTerminal(t, command(t.Context(), "run", "-c", slow))
	for _, want := range []string{"begin\r\n", "bisect, checks", "3\r\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("on a terminal: got %q, want %q in it", text, want)
		}
	}
	if last := strings.TrimRight(text, " \r\n\x1b[K"); !strings.HasSuffix(last, "3") {
		t.Errorf("on a terminal: got %q at the end, want the line of progress gone", last[max(0, len(last)-80):])
	}
	out, err := command(t.Context(), "run", "-c", slow).CombinedOutput()
	if want := "begin\n3\n"; string(out) != want || err != nil {
		t.Errorf("piped: got %q, %v, want %q", out, err, want)
	}
	quiet := command(t.Context(), "run", "-q", "-c", slow)
	if text := onTerminal(t, quiet); strings.Contains(text, "bisect") {
		t.Errorf("with -q: got %q, want no progress", text)
	}
}

func onTerminal(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	c.Env = append(c.Env, "TERM=xterm")
	tty, err := pty.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	shown, _ := io.ReadAll(tty)
	if err := c.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, shown)
	}
	return string(shown)
}
