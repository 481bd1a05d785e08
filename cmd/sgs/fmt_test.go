package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
)

func TestFmt(t *testing.T) {
	t.Chdir(t.TempDir())
	const ugly, neat = "@register( )\ndef f(a,b) : return a\n", "@register()\ndef f(a, b):\n    return a\n"
	bad := "x = (\n"
	reset := func() {
		writeFiles(t, ".", map[string]string{"ugly.star": ugly, "neat.star": neat, "sub/ugly.star": ugly, "sub/x.txt": ugly, ".h/a.star": ugly, "bad/bad.star": bad})
	}
	type files map[string]string
	tests := []struct {
		name   string
		args   []string
		status int
		stdout string
		stderr string
		want   files
	}{
		{"files", []string{"ugly.star", "neat.star"}, 0, "ugly.star\n", "", files{"ugly.star": neat, "sub/ugly.star": ugly}},
		{"folder", []string{"sub"}, 0, "sub/ugly.star\n", "", files{"ugly.star": ugly, "sub/ugly.star": neat, "sub/x.txt": ugly}},
		{"quiet", []string{"-q", "ugly.star"}, 0, "", "", files{"ugly.star": neat}},
		{"here", nil, exitFile, "sub/ugly.star\nugly.star\n", "bad/bad.star:1:6: got end of file, want primary expression", files{"ugly.star": neat, "bad/bad.star": bad, ".h/a.star": ugly}},
		{"check", []string{"--check", "ugly.star", "neat.star"}, exitBad, "ugly.star\n", "", files{"ugly.star": ugly}},
		{"check neat", []string{"-l", "neat.star"}, 0, "", "", files{"neat.star": neat}},
		{"stdout", []string{"--stdout", "ugly.star"}, 0, neat, "", files{"ugly.star": ugly}},
		{"write", []string{"-w", "ugly.star"}, 0, "ugly.star\n", "", files{"ugly.star": neat}},
		{"two ways", []string{"-w", "--check", "ugly.star"}, exitUsage, "", "sgs: fmt: got several of --check, --stdout and --write, want one\n", files{"ugly.star": ugly}},
		{"no file", []string{"none.star"}, exitFile, "", "sgs: open none.star: no such file (did you mean \"neat.star\"?)\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			reset()
			status, out, errs := sgs(t, append([]string{"fmt"}, tt.args...)...)
			if status != tt.status || out != tt.stdout || !strings.HasPrefix(errs, tt.stderr) || (tt.stderr == "") != (errs == "") {
				t.Errorf("status %d, stdout %q, stderr %q; want %d, %q, %q", status, out, errs, tt.status, tt.stdout, tt.stderr)
			}
			for name, want := range tt.want {
				if got, err := os.ReadFile(name); err != nil || string(got) != want {
					t.Errorf("%s: got %q (%v), want %q", name, got, err, want)
				}
			}
		})
	}
}

func TestFmtStdin(t *testing.T) {
	run := func(src string, args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		status := execute(context.Background(), append([]string{"fmt"}, args...), strings.NewReader(src), &out, &errs)
		return status, out.String(), errs.String()
	}
	if status, out, errs := run("x=1", "-"); status != 0 || out != "x = 1\n" || errs != "" {
		t.Errorf("got %d, %q, %q", status, out, errs)
	}
	if status, out, _ := run("x=1", "--check", "-"); status != exitBad || out != "<stdin>\n" {
		t.Errorf("got %d, %q", status, out)
	}
	if status, out, errs := run("x = ", "-"); status != exitFile || out != "" || !strings.HasPrefix(errs, "<stdin>:1:") {
		t.Errorf("got %d, %q, %q", status, out, errs)
	}
}
