package reference_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx"
	"github.com/starlarkgs/starlarkgs/ops"
	"github.com/starlarkgs/starlarkgs/ops/infer"
	"github.com/starlarkgs/starlarkgs/ops/schema"
	"github.com/starlarkgs/starlarkgs/runtime/reference"
	"github.com/starlarkgs/starlarkgs/runtime/runtimetest"
)

var update = flag.Bool("update", false, "write docs/operators.md anew")

const page = "../../docs/operators.md"

// coverage is what the conformance cases show of one operator.
type coverage struct {
	cases, passed int
	types         map[string]bool // of first inputs, in cases that pass
	opsets        map[int]bool
}

// TestOperatorsPage holds docs/operators.md against the tables and a run of the
// standard's cases.
func TestOperatorsPage(t *testing.T) {
	root := os.Getenv("SGS_CORPUS")
	if root == "" {
		t.Skip("SGS_CORPUS is not set: the cases that the page counts are not run")
	}
	var folders []string
	for _, name := range []string{"node", "simple", "pytorch-converted", "pytorch-operator"} {
		folders = append(folders, filepath.Join(root, "onnx-backend", name))
	}
	dirs, err := runtimetest.Find(folders)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*coverage{}
	l := runtimetest.Loader{Model: func(path string) (*ir.Model, error) { return onnx.Open(path, onnx.OpenOptions{}) }, Value: onnx.ReadValue}
	for _, dir := range dirs {
		r := runtimetest.Run(context.Background(), reference.New(), dir, l, runtimetest.Options{})
		m, err := l.Model(filepath.Join(dir, "model.onnx"))
		if err != nil {
			t.Fatal(err)
		}
		cover(all, m, r.Passed)
	}
	got := operatorsPage(all, contribCoverage(t))
	want, err := os.ReadFile(page)
	if *update {
		err = os.WriteFile(page, got, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !*update && !bytes.Equal(got, want) {
		t.Errorf("docs/operators.md is not what the tables and the cases say: go test ./runtime/reference -run OperatorsPage -update")
	}
}

// cover counts a case for each operator of its main graph.
func cover(all map[string]*coverage, m *ir.Model, passed bool) {
	facts := infer.Facts(m)
	seen := map[string]bool{}
	for _, n := range m.Graph().Nodes() {
		key := operatorKey(n.Domain(), n.Op())
		c := all[key]
		if c == nil {
			c = &coverage{types: map[string]bool{}, opsets: map[int]bool{}}
			all[key] = c
		}
		if !seen[key] {
			seen[key] = true
			c.cases++
			if passed {
				c.passed++
			}
		}
		if !passed {
			continue
		}
		c.opsets[m.Opset(n.Domain())] = true
		if t := n.Input(0); t != nil && facts.Fact(t).DType != 0 {
			c.types[facts.Fact(t).DType.String()] = true
		}
	}
}

func operatorKey(domain, op string) string {
	if ir.IsStandard(domain) {
		return op
	}
	return domain + "::" + op
}

type entry struct {
	domain, name string
	own          bool // ONNX Runtime's
}

func entryOf(op *ops.Op) entry {
	s, _ := schema.Lookup(op.Domain, op.Name, op.Since)
	return entry{op.Domain, op.Name, s.Own}
}

// entries lists the operators of the tables, each once.
func entries() (standard, own []entry) {
	seen := map[entry]bool{}
	for _, op := range ops.All() {
		e := entryOf(op)
		if seen[e] {
			continue
		}
		seen[e] = true
		if e.own {
			own = append(own, e)
		} else {
			standard = append(standard, e)
		}
	}
	return standard, own
}

func operatorsPage(all, contrib map[string]*coverage) []byte {
	var b bytes.Buffer
	b.WriteString("# Operators\n\nMade by a test from the tables and from a run of the standard's 1,654 conformance cases; do not edit.\n" +
		"Versions are those of the standard; kernel is the first opset from which the reference backend evaluates\n" +
		"the operator, inference likewise. Opsets and types are those of cases that pass: types of the first input.\n\n" +
		"| operator | versions | kernel | inference | cases | opsets | types |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	standard, own := entries()
	for _, e := range standard {
		key := operatorKey(e.domain, e.name)
		c := all[key]
		if c == nil {
			c = &coverage{}
		}
		kernel, inference := support(e)
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %d of %d | %s | %s |\n", key, versionsOf(e.domain, e.name), kernel, inference, c.passed, c.cases, spans(c.opsets), names(c.types))
	}
	ownOperators(&b, own, contrib)
	return b.Bytes()
}

// support says from which opset on there is a kernel and an inference.
func support(e entry) (kernel, inference string) {
	kernel, inference = "–", "by its types"
	for _, op := range slices.Backward(ops.All()) {
		if entryOf(op) != e {
			continue
		}
		if op.Eval != nil {
			kernel = fmt.Sprint(op.Since)
		}
		if op.Infer != nil {
			inference = fmt.Sprint(op.Since)
		}
	}
	return kernel, inference
}

// ownOperators writes what there is of ONNX Runtime's own operators.
func ownOperators(b *bytes.Buffer, own []entry, contrib map[string]*coverage) {
	fmt.Fprintf(b, "\n## ONNX Runtime's own\n\nSchemas are those of ONNX Runtime %s, cases what its CPU gives for single nodes (`ops/testdata/contrib.py`).\n"+
		"Types are those of the first input.\n\n| operator | kernel | inference | cases | types |\n| --- | --- | --- | --- | --- |\n", schema.RuntimeVersion())
	listed := map[entry]bool{}
	for _, e := range own {
		listed[e] = true
		c := contrib[operatorKey(e.domain, e.name)]
		if c == nil {
			c = &coverage{}
		}
		kernel, inference := support(e)
		fmt.Fprintf(b, "| %s | %s | %s | %d | %s |\n", operatorKey(e.domain, e.name), kernel, inference, c.cases, names(c.types))
	}
	var bare []string
	for _, s := range schema.All() {
		if s.Own && s.Domain != "" && !listed[entry{s.Domain, s.Name, true}] {
			bare = append(bare, s.Name)
		}
	}
	fmt.Fprintf(b, "\nOf com.microsoft's other operators there is the schema, by which calls are checked: %s.\n", strings.Join(bare, ", "))
}

// contribCoverage counts the cases of ONNX Runtime's own operators, which a test
// of package ops runs.
func contribCoverage(t *testing.T) map[string]*coverage {
	data, err := os.ReadFile("../../ops/testdata/contrib.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Op, Domain string
		In         []*struct{ T string }
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	all := map[string]*coverage{}
	for _, k := range cases {
		key := operatorKey(k.Domain, k.Op)
		if all[key] == nil {
			all[key] = &coverage{types: map[string]bool{}}
		}
		all[key].cases++
		if len(k.In) > 0 && k.In[0] != nil {
			all[key].types[k.In[0].T] = true
		}
	}
	return all
}

func versionsOf(domain, op string) string {
	var out []string
	for _, s := range schema.Versions(domain, op) {
		if !s.Own {
			out = append(out, fmt.Sprint(s.Since))
		}
	}
	return strings.Join(out, " ")
}

func spans(set map[int]bool) string {
	var ns []int
	for n := range set {
		ns = append(ns, n)
	}
	slices.Sort(ns)
	if len(ns) == 0 {
		return "–"
	}
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(ns), " ", " "), "[]")
}

func names(set map[string]bool) string {
	var out []string
	for n := range set {
		out = append(out, n)
	}
	slices.Sort(out)
	if len(out) == 0 {
		return "–"
	}
	return strings.Join(out, " ")
}
