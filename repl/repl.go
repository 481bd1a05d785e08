// Package repl is the interactive prompt: line editing, statements over several
// lines, history across sessions, completion of names and attributes, and
// Ctrl-C that stops what runs without ending the session.
//
// The terminal is in raw mode only while a line is read. Input that is not a
// terminal works too, without editing, so a session can be piped in.
package repl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/chzyer/readline"

	"github.com/starlarkgs/starlarkgs/starlarkgs"
)

// Options says where the prompt reads and writes.
type Options struct {
	Stdin          io.ReadCloser
	Stdout, Stderr io.Writer
	// History is the file of earlier input, "" for none.
	History string
	// Banner is printed at the start.
	Banner string
	// Piped says that no one types: nothing but the results is printed.
	Piped bool
}

// ErrFailed says that a statement of piped input failed; the error itself has been
// printed.
var ErrFailed = errors.New("a statement failed")

const (
	prompt     = ">>> "
	promptMore = "... "
	fileName   = "<prompt>"
)

// Run reads and evaluates statements until the end of the input. A statement that
// fails does not end it. It returns an error where the terminal can't be used, and
// ErrFailed where one of those piped in failed.
func Run(ctx context.Context, h *starlarkgs.Host, o Options) error {
	rl, err := readline.NewEx(&readline.Config{
		Prompt: prompt, Stdin: o.Stdin, Stdout: o.Stdout, Stderr: o.Stderr,
		AutoComplete: &completer{h: h}, DisableAutoSaveHistory: true, HistoryLimit: maxHistory,
		FuncGetWidth: width, FuncFilterInputRune: filter, InterruptPrompt: "^C", EOFPrompt: "",
	})
	if err != nil {
		return err
	}
	defer rl.Close()
	hist := loadHistory(o.History)
	for _, text := range hist.entries {
		// an entry that can't be kept is only one that can't be recalled
		_ = rl.SaveHistory(text)
	}
	if o.Banner != "" && !o.Piped {
		fmt.Fprintln(o.Stdout, o.Banner)
	}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	var failed error // of those piped in
	for {
		text, err := readStatement(rl)
		switch {
		case errors.Is(err, io.EOF):
			if !o.Piped {
				fmt.Fprintln(o.Stdout)
			}
			return failed
		case errors.Is(err, readline.ErrInterrupt):
			continue
		case err != nil:
			return err
		case strings.TrimSpace(text) == "":
			continue
		}
		_ = rl.SaveHistory(text)
		hist.add(text)
		if word := strings.TrimSpace(text); word == "exit" || word == "quit" || word == "exit()" || word == "quit()" {
			return failed
		}
		if !evaluate(ctx, h, text, interrupts, o) && o.Piped {
			failed = ErrFailed
		}
	}
}

// readStatement reads lines until they make a whole statement.
func readStatement(rl *readline.Instance) (string, error) {
	defer rl.SetPrompt(prompt)
	var lines []string
	for {
		line, err := rl.Readline()
		if err != nil {
			if errors.Is(err, io.EOF) && len(lines) > 0 {
				return strings.Join(lines, "\n") + "\n", nil
			}
			return "", err
		}
		lines = append(lines, line)
		text := strings.Join(lines, "\n")
		if !starlarkgs.Incomplete(text) {
			return text, nil
		}
		rl.SetPrompt(promptMore)
	}
}

// evaluate runs one statement and reports whether it went well; an interrupt stops
// it, and it alone.
func evaluate(ctx context.Context, h *starlarkgs.Host, text string, interrupts chan os.Signal, o Options) bool {
	for len(interrupts) > 0 {
		<-interrupts // one that came at the prompt is not meant for this
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-interrupts:
			cancel()
		case <-done:
		}
	}()
	v, err := h.Chunk(ctx, fileName, text)
	if err != nil {
		fmt.Fprintln(o.Stderr, err)
		return false
	}
	h.Show(v)
	return true
}

// width is the terminal's, or 80 where it tells none.
func width() int {
	if w := readline.GetScreenWidth(); w > 0 {
		return w
	}
	return 80
}

// filter ignores Ctrl-Z: readline would suspend the parent process too.
func filter(r rune) (rune, bool) { return r, r != readline.CharCtrlZ }
