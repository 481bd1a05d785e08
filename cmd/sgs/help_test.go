package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestCompletion(t *testing.T) {
	for shell, want := range map[string]string{"bash": "__start_sgs", "zsh": "#compdef sgs", "fish": "complete -c sgs", "powershell": "Register-ArgumentCompleter"} {
		if out := must(t, "completion", shell); !strings.Contains(out, want) {
			t.Errorf("%s: got\n%.300s\nwant %s", shell, out, want)
		}
	}
	fails(t, exitUsage, `completion: got "basj", want bash, zsh, fish or powershell \(did you mean "bash"\?\)`, "completion", "basj")
	fails(t, exitUsage, `completion: got 0 arguments`, "completion")
	if out := must(t, "__complete", "lib", "v"); !strings.HasPrefix(out, "vendor\t") || !strings.Contains(out, "\nverify\t") {
		t.Errorf("lib v is completed to %q", out)
	}
	if out := must(t, "__complete", "help", "lib", ""); !strings.Contains(out, "vendor\t") {
		t.Errorf("help lib is completed to %q", out)
	}
}

// TestCompletionOfBash has bash read what is printed for it.
func TestCompletionOfBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not here")
	}
	cmd := exec.Command(bash, "-n")
	cmd.Stdin = strings.NewReader(must(t, "completion", "bash"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestHelp(t *testing.T) {
	for _, new := range commands {
		c := new(&app{})
		if out := must(t, "help", c.Name()); !strings.Contains(out, "Usage:\n  sgs "+c.Use) || c.Short == "" {
			t.Errorf("help %s: got\n%s", c.Name(), out)
		}
		for _, sub := range c.Commands() {
			if out := must(t, "help", c.Name(), sub.Name()); !strings.Contains(out, "Usage:\n  sgs "+c.Name()+" "+sub.Name()) {
				t.Errorf("help %s %s: got\n%s", c.Name(), sub.Name(), out)
			}
		}
	}
	fails(t, exitUsage, `sgs: unknown command "inspec" \(did you mean "inspect"\?\)`, "help", "inspec")
	fails(t, exitUsage, `sgs: unknown command "vendr" \(did you mean "vendor"\?\)`, "help", "lib", "vendr")
	fails(t, exitUsage, `sgs: unknown command "vendr" \(did you mean "vendor"\?\)`, "lib", "vendr")
	fails(t, exitUsage, `sgs: unknown command "xyzzy": see sgs help lib\n`, "lib", "xyzzy")
}

func TestManPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man")
	out := must(t, "doc", "--man", dir)
	text, err := os.ReadFile(filepath.Join(dir, "sgs-lib-vendor.1"))
	for _, want := range []string{`.TH SGS\-LIB\-VENDOR 1 `, ".SH NAME\nsgs\\-lib\\-vendor \\- Copy libraries", ".SH SYNOPSIS\n.B sgs lib vendor [NAMES]", ".B \\-v, \\-\\-verbose count\n", ".BR sgs\\-lib (1)\n"} {
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("got\n%s(%v)\nwant %s", text, err, want)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) < len(commands) || !strings.HasPrefix(out, fmt.Sprint(len(files), " pages in ")) {
		t.Errorf("got %d pages (%v) and %q", len(files), err, out)
	}
	man, err := exec.LookPath("groff")
	if err != nil {
		return // only then can the macros be read
	}
	if out, err := exec.Command(man, "-man", "-Tutf8", "-ww", filepath.Join(dir, "sgs-fmt.1")).CombinedOutput(); err != nil || strings.Contains(string(out), "warning") {
		t.Errorf("groff: %v: %s", err, out)
	}
}
