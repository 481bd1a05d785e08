package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/starlarkgs/starlarkgs/internal/ortlib"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx"
	"github.com/starlarkgs/starlarkgs/runtime/runtimetest"
)

// conformanceFolders are the cases of the standard.
var conformanceFolders = []string{"node", "simple", "pytorch-converted", "pytorch-operator"}

func conformanceDirs(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, name := range conformanceFolders {
		out = append(out, corpus(t, "onnx-backend/"+name))
	}
	return out
}

// explained reads docs/disagreements.md: the rows of its tables by the operator
// that a section is about.
func explained(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/disagreements.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := "ONNX Runtime " + ortlib.Version; !strings.Contains(string(text), want) {
		t.Errorf("the page is not about %s", want)
	}
	row := regexp.MustCompile("(?m)^\\| `.*$")
	out := map[string][]string{}
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		op, body, _ := strings.Cut(section, "\n")
		out[op] = row.FindAllString(body, -1)
		if prose, _, ok := strings.Cut(body, "| case |"); !ok || len(strings.Fields(prose)) < 10 || len(out[op]) == 0 {
			t.Errorf("section %s: got %d words before its table and %d rows, want a reason and rows", op, len(strings.Fields(prose)), len(out[op]))
		}
	}
	return out
}

// row is a disagreement as the page has it.
func row(r runtimetest.Result) string {
	output := regexp.MustCompile(`^[^:]*: output "(.*?)": `)
	text, from := r.Apart, "reference"
	if r.Outcome == runtimetest.Differs {
		text, from = r.Reason, "data"
		if r.Apart != "" {
			from = "data, reference"
		}
	}
	name := "?"
	if m := output.FindStringSubmatch(text); m != nil {
		name = m[1]
	}
	return fmt.Sprintf("| `%s` | `%s` | %s |", r.Case, name, from)
}

// TestDisagreements holds the page against a run of all cases: what differs is
// explained there, and what is explained differs.
func TestDisagreements(t *testing.T) {
	needNative(t)
	if _, out, errs := sgs(t, "backends", "doctor"); !strings.Contains(out, "version "+ortlib.Version) {
		if os.Getenv("SGS_REQUIRE_ORT") == "1" {
			t.Fatalf("got %q %q, want ONNX Runtime %s, which the page is about", out, errs, ortlib.Version)
		}
		t.Skipf("the page is about ONNX Runtime %s", ortlib.Version)
	}
	status, out, errs := sgs(t, append([]string{"conform", "--json", "--jobs", "2", "--backend", "onnxruntime"}, conformanceDirs(t)...)...)
	var results []runtimetest.Result
	if err := json.Unmarshal([]byte(out), &results); err != nil || status != exitBad {
		t.Fatalf("status %d, %v: %s", status, err, errs)
	}
	listed := map[string]bool{}
	for _, rows := range explained(t) {
		for _, r := range rows {
			listed[r] = true
		}
	}
	n := map[runtimetest.Outcome]int{}
	for _, r := range results {
		n[r.Outcome]++
		if r.Outcome != runtimetest.Differs && r.Apart == "" {
			continue
		}
		if text := row(r); !listed[text] {
			t.Errorf("docs/disagreements.md does not explain: %s: %s%s", text, r.Reason, r.Apart)
		} else {
			delete(listed, text)
		}
	}
	for _, r := range slices.Sorted(maps.Keys(listed)) {
		t.Errorf("docs/disagreements.md explains what does not occur: %s", r)
	}
	if len(results) < 1600 || n[runtimetest.Agrees] < 1473 {
		t.Errorf("%d of %d cases agree, want 1473 or more of the standard's", n[runtimetest.Agrees], len(results))
	}
}

// TestDisagreementsPage needs no library: each case of a section is there, and has
// the section's operator.
func TestDisagreementsPage(t *testing.T) {
	dirs := conformanceDirs(t)
	name := regexp.MustCompile("`(test_.*?)`")
	for op, rows := range explained(t) {
		for _, text := range rows {
			m := name.FindStringSubmatch(text)
			if m == nil {
				t.Errorf("%s: got the row %q, want one of a case", op, text)
				continue
			}
			var path string
			for _, dir := range dirs {
				if p := filepath.Join(dir, m[1], "model.onnx"); fileExists(p) {
					path = p
				}
			}
			model, err := onnx.Open(path, onnx.OpenOptions{})
			if err != nil {
				t.Errorf("%s: %v", m[1], err)
				continue
			}
			if !slices.ContainsFunc(model.Graph().Nodes(), func(n *ir.Node) bool { return n.Is(op) }) {
				t.Errorf("%s has no %s", m[1], op)
			}
		}
	}
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestShortReason(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"x: /onnxruntime_src/onnxruntime/core/a.h:46 void a::B(const std::map<a, int>&, int) Opset 27 is new. ; ", "x: Opset 27 is new."},
		{"/onnxruntime_src/onnxruntime/core/a.cc:5 a::RNN<T>::RNN(const Info&) [with T = float] layout_ == 0 was false.", "layout_ == 0 was false."},
		{"/onnxruntime_src/onnxruntime/core/a.cc:5 a::L::L(const std::string&)::<lambda()> Failed (to) construct", "Failed (to) construct"},
		{"Name:'' Status Message: /b/onnxruntime/c.cc:7 virtual a::S a::C(a*) const x (y) was false.", "Name:'' Status Message: x (y) was false."},
		{"/onnxruntime_src/onnxruntime/a.cc:5 no signature", "no signature"},
		{"got 1 (want 2)", "got 1 (want 2)"},
		{strings.Repeat("é", 300), strings.Repeat("é", 240) + "…"},
	} {
		if got := shortReason(tt.in); got != tt.want {
			t.Errorf("shortReason(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}
