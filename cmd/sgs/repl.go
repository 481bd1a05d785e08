package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/starlarkgs/starlarkgs/repl"
	"github.com/starlarkgs/starlarkgs/starlarkgs"
)

func newRepl(a *app) *cobra.Command {
	var f scriptFlags
	c := &cobra.Command{
		Use:   "repl [SCRIPT.star] [MODEL]",
		Short: "The prompt; a model given is bound to g",
		Args:  args("SCRIPT.star and MODEL at most", 0, 2),
		RunE: func(cmd *cobra.Command, got []string) error {
			h := a.host(f)
			defer h.Close()
			for _, path := range got {
				if err := atPrompt(cmd.Context(), h, path); err != nil {
					return err
				}
			}
			in, ok := a.stdin.(io.ReadCloser)
			if !ok {
				in = io.NopCloser(a.stdin)
			}
			err := repl.Run(cmd.Context(), h, a.promptOptions(in))
			if errors.Is(err, repl.ErrFailed) {
				return bad()
			}
			return err
		},
	}
	f.register(c)
	return c
}

func (a *app) promptOptions(in io.ReadCloser) repl.Options {
	o := repl.Options{Stdin: in, Stdout: a.stdout, Stderr: a.stderr}
	if f, ok := a.stdin.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		o.Piped = true
		return o
	}
	o.History = historyFile()
	if a.quiet == 0 {
		o.Banner = "sgs " + version + ": help(x) explains any value; exit or Ctrl-D leaves"
	}
	return o
}

// atPrompt runs a script, or binds a model to g; the user who names a file lets it be
// read.
func atPrompt(ctx context.Context, h *starlarkgs.Host, path string) error {
	if !strings.HasSuffix(path, ".star") {
		m, err := openModel(path)
		if err == nil {
			h.Define("g", h.Env().Graph(m.Graph()))
		}
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	_, err = h.Chunk(ctx, path, string(text))
	return err
}

// historyFile is where the prompt keeps its history.
func historyFile() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "sgs", "history.jsonl")
}
