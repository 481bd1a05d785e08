package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestScripts runs the tests of the shipped scripts, as sgs test scripts does.
func TestScripts(t *testing.T) {
	status, out, errs := sgs(t, "test", "-v", "../../scripts")
	if status != 0 || !strings.Contains(out, "act_test.star test_leaky_relu_computes") {
		t.Errorf("sgs test scripts: status %d\n%s%s", status, out, errs)
	}
}

// writeFiles writes files below a folder.
func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTest(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFiles(t, ".", map[string]string{
		"a_test.star":          "def test_b():\n    print(\"seen\")\n    assert.eq(1, 2)\n\ndef test_a():\n    assert.close(0.1 + 0.2, 0.3)\n\ndef helper():\n    fail()\n",
		"sub/syntax_test.star": "def test_a(:\n",
		"sub/empty_test.star":  "x = 1\n",
		".git/h_test.star":     "fail()\n",
		"sgs_libs/l_test.star": "fail()\n",
		"other.star":           "def test_other():\n    assert.fails(lambda: fail(\"no\"), \"^fail: no$\")\n",
		"registry1_test.star":  "@register\ndef twice(self, x):\n    return x\n\ndef test_alone():\n    assert.eq(len(registered()), 1)\n",
		"registry2_test.star":  "@register\ndef twice(self, x):\n    return x\n\ndef test_alone():\n    assert.eq(len(registered()), 1)\n",
	})
	want := `FAIL a_test.star test_b (0.00 s)
  seen
  a_test.star:3:14: assert.eq: got 1, want 2
        assert.eq(1, 2)
                 ^
      at a_test.star:3:14 in test_b
FAIL sub/empty_test.star (load) (0.00 s)
  sub/empty_test.star: got no function test_*, want at least one
FAIL sub/syntax_test.star (load) (0.00 s)
  sub/syntax_test.star:1:12: Starlark has no annotations (write the parameter alone)
    def test_a(:
               ^
3 passed, 3 failed
`
	status, out, errs := sgs(t, "test")
	if out != want || status != exitBad || errs != "" {
		t.Errorf("status %d, got\n%s\nwant\n%s%s", status, out, want, errs)
	}
	if status, out, _ := sgs(t, "test", "-v", "other.star"); status != 0 || !strings.HasPrefix(out, "ok   other.star test_other (") || !strings.HasSuffix(out, "\n1 passed, 0 failed\n") {
		t.Errorf("status %d, got %q", status, out)
	}
	if status, out, _ := sgs(t, "test", "--run", "_a$", "a_test.star"); status != 0 || out != "1 passed, 0 failed\n" {
		t.Errorf("status %d, got %q", status, out)
	}
	var report testReport
	if _, out, _ := sgs(t, "test", "--json", "a_test.star"); json.Unmarshal([]byte(out), &report) != nil || report.Passed != 1 || report.Failed != 1 ||
		report.Files[0].Tests[0].Name != "test_b" || report.Files[0].Tests[0].Output != "seen\n" {
		t.Errorf("got %s", out)
	}
}

func TestTestUsage(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFiles(t, ".", map[string]string{"a_test.star": "def test_a():\n    pass\n", "empty/x.star": ""})
	tests := []struct {
		args   []string
		status int
		stderr string
	}{
		{[]string{"test", "empty"}, exitUsage, "sgs: test: got no *_test.star in empty, want at least one\n"},
		{[]string{"test", "none"}, exitFile, "sgs: open none: no such file\n"},
		{[]string{"test", "--run", "(", "."}, exitUsage, "sgs: test: --run: error parsing regexp: missing closing ): `(`\n"},
		{[]string{"test", "--run", "zzz", "."}, exitUsage, "sgs: test: --run: got no test whose name matches \"zzz\"\n"},
	}
	for _, tt := range tests {
		if status, out, errs := sgs(t, tt.args...); status != tt.status || errs != tt.stderr || out != "" {
			t.Errorf("sgs %v: status %d, stdout %q, stderr %q; want %d and %q", tt.args, status, out, errs, tt.status, tt.stderr)
		}
	}
}
