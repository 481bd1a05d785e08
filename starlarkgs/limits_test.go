package starlarkgs_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/builtins/builtin"
	"github.com/starlarkgs/starlarkgs/starlarkgs"
)

// TestLimits runs scripts that would run for ever or take all memory.
func TestLimits(t *testing.T) {
	steps := starlarkgs.Options{MaxSteps: 5000}
	short := starlarkgs.Options{Timeout: 50 * time.Millisecond}
	memory := starlarkgs.Options{MaxMem: 64 << 20}
	for _, tc := range []struct {
		name, src, want string
		o               starlarkgs.Options
	}{
		{"steps", "while True: pass", "took more than its limit of 5000 steps", steps},
		{"steps in a function of the host", "sorted(range(100000))", "took more than its limit of 5000 steps", steps},
		{"steps in a callback", "max(range(100000), key = lambda x: x)", "took more than its limit of 5000 steps", steps},
		{"steps of a wide value's text", "t = 'a'\nfor i in range(40): t = (t, t)\nstr(t)", "took more than its limit of 5000 steps", steps},
		{"steps not caught by try_call", "def f():\n    while True: pass\nfor i in range(3): try_call(f)", "took more than its limit of 5000 steps", steps},
		{"steps not caught by assert.fails", "def f():\n    while True: pass\nassert.fails(f, 'steps')", "took more than its limit of 5000 steps", steps},
		{"time", "while True: pass", "ran longer than its limit of 50ms", short},
		{"time in a function of the host", "while True: all(range(1, 1 << 27))", "ran longer than its limit of 50ms", short},
		{"memory by doubling", "s = 'a' * 1024\nwhile True: s += s", "limit of 67,108,864 bytes of memory", memory},
		{"memory by appending", "l = []\nwhile True: l.append(str(len(l)) * 100)", "bytes of memory", memory},
		{"memory by extending", "l = [1]\nwhile True: l.extend(l)", "bytes of memory", memory},
		{"memory in list", "list(range(1 << 27))", "bytes of memory", memory},
		{"memory in zip", "zip(range(1 << 27), range(1 << 27))", "bytes of memory", memory},
		{"memory in enumerate", "enumerate(range(1 << 27))", "bytes of memory", memory},
		{"memory in set", "set(range(1 << 27))", "bytes of memory", memory},
		{"memory in sorted", "sorted(range(1 << 27))", "bytes of memory", memory},
		{"depth", "def f(x): return f(x)\nf(1)", "nested deeper than 10,000", starlarkgs.Options{}},
		{"depth by callbacks", "def f(x): return sorted([1], key = f)\nf(1)", "nested deeper than 10,000", starlarkgs.Options{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.o.Predeclared = starlark.StringDict{"assert": assertModule}
			_, err := starlarkgs.New(tc.o).RunSource(context.Background(), "a.star", tc.src, nil)
			if err == nil || !strings.HasPrefix(err.Error(), "a.star:") || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %.600v, want %q with a place", err, tc.want)
			}
			if !errors.Is(err, starlarkgs.ErrLimit) {
				t.Errorf("got %v, want ErrLimit", err)
			}
		})
	}
}

// TestHostileScripts runs scripts whose text or values are deep, long or broken.
func TestHostileScripts(t *testing.T) {
	for _, tc := range []struct{ name, src, want string }{
		{"the text of a deep list", "l = []\nfor i in range(200000): l = [l]\nx = len(str(l))\nrepr(l)\nprint(l)\nfail(x)", "fail: 205"},
		{"a list in itself", "l = [1]\nl.append(l)\nfail(l)", "fail: [1, [...]]"},
		{"deep JSON", "json.decode('[' * 10000000)", "nested deeper than 1000"},
		{"deep values as JSON", "l = []\nfor i in range(100000): l = [l]\njson.encode(l)", "nested deeper than 1000"},
		{"wide values as JSON", "t = 'a'\nfor i in range(40): t = (t, t)\njson.encode(t)", "a value of more than 67108864 parts"},
		{"deep brackets", "x = " + strings.Repeat("(", 5000) + strings.Repeat(")", 5000), "excessive nesting"},
		{"a long sum", "x = 1" + strings.Repeat("+1", 300000), "more than 20,000 parts"},
		{"long calls", "f" + strings.Repeat("()", 300000), "more than 20,000 parts"},
		{"long lists are fine", "x = [" + strings.Repeat("1, ", 300000) + "]\nfail(len(x))", "fail: 300000"},
		{"elif", "if 0: pass\n" + strings.Repeat("elif 1: pass\n", 20000), "more than 10,000 elif"},
		{"size", strings.Repeat("# comment\n", 1<<19), "want at most 4,194,304"},
		{"NUL", "x = 1\ny = '\x00'", "a.star:2:6: script: got the byte 0x00, want text in UTF-8"},
		{"no UTF-8", "x = 'ü\xff'", "a.star:1:7: script: got the byte 0xff, want text in UTF-8"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := starlarkgs.New(starlarkgs.Options{}).RunSource(context.Background(), "a.star", tc.src, nil)
			if err == nil || !strings.HasPrefix(err.Error(), "a.star:") || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %.600v, want %q with a place", err, tc.want)
			}
		})
	}
}

func TestInterrupt(t *testing.T) {
	h, _ := newHost(t)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err := h.RunSource(ctx, "a.star", "def f():\n    while True: pass\ntry_call(f)", nil)
	if !errors.Is(err, starlarkgs.ErrInterrupted) || !strings.Contains(err.Error(), ": interrupted\n") {
		t.Errorf("got %v, want an interruption", err)
	}
	if _, err := h.RunSource(context.Background(), "a.star", "x = 1", nil); err != nil {
		t.Errorf("the host is dead after an interruption: %v", err)
	}
	ctx, cancel = context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := h.RunSource(ctx, "a.star", "while True: pass", nil); !errors.Is(err, starlarkgs.ErrLimit) {
		t.Errorf("got %v, want a limit", err)
	}
}

// TestContext checks that what runs in Go is told of the end of the time.
func TestContext(t *testing.T) {
	wait := &builtin.Func{Name: "wait", Fn: func(c *builtin.Call) (starlark.Value, error) {
		<-c.Context().Done()
		return nil, c.Context().Err()
	}}
	h := starlarkgs.New(starlarkgs.Options{Timeout: 20 * time.Millisecond, Predeclared: starlark.StringDict{"wait": wait.Value()}})
	_, err := h.RunSource(context.Background(), "a.star", "wait()", nil)
	if !errors.Is(err, starlarkgs.ErrLimit) || !strings.HasPrefix(err.Error(), "a.star:1:5: the script ran longer than its limit of 20ms\n") {
		t.Errorf("got %v, want the limit", err)
	}
}
