package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestDoc(t *testing.T) {
	for name, want := range map[string]string{
		"fold":           "fold(g, size_budget=None",
		"graph.layer":    "graph.layer(op, inputs=[]",
		"layer":          "graph.layer(op, inputs=[]",
		"np.zeros":       "np.zeros(shape, dtype=\"float64\") -> array\n\n  makes an array of zeros.\n",
		"np":             "module np\n",
		"np.random":      "np.random(seed=0) -> generator\n",
		"graph":          "\ntype graph\n",
		"tensor.shape":   "tensor.shape\n\n  a frozen list",
		"array.T":        "array.T\n",
		"assert.close":   "asserts that |x - y| <= atol + rtol * |y|",
		"Conv":           "Conv(X, W, B=None, *, auto_pad=\"NOTSET\"",
		"graph.op.Split": "operator of ai.onnx since opset 18; before that, of opset 1, 2, 11, 13",
		"sgs.open":       "open(path",
		"mean":           "\narray.mean(",
		"argv":           "the arguments of the script",
		"nn":             "  .conv(self, x, weight, bias=None, stride=1,",
		"nn.conv":        "load(\"@std//nn.star\", \"nn\")\n\nconv(self, x, weight, bias=None, stride=1,",
		"rebatch":        "rebatch(self, batch=\"N\")\n\n  Gives the first dimension",
		"@std//nn.star":  "\nconv(self, x, weight, bias=None, stride=1,",
	} {
		if out := must(t, "doc", name); !strings.Contains(out, want) {
			t.Errorf("sgs doc %s: got\n%s\nwant %s", name, out, want)
		}
	}
	for name, want := range map[string]string{
		"np.zeroes": `sgs: doc: got the name "np.zeroes", which nothing has \(did you mean "np.zeros"`,
		"Cnov":      `\(did you mean "Conv" or "conv"\?\)`,
		"grahp":     `\(did you mean "Graph" or "graph"\?\)`,
		"zzzzzz":    `which nothing has\n$`,
	} {
		fails(t, exitUsage, want, "doc", name)
	}
	fails(t, exitBad, `the shipped library has no file "nm.star"`, "doc", "@std//nm.star")
	fails(t, exitUsage, "doc: got 2 arguments, want at most NAME", "doc", "a", "b")
	if out := must(t, "doc"); !strings.Contains(out, "\n  np.zeros") || !strings.Contains(out, "graph.op.NAME") {
		t.Errorf("sgs doc lists\n%s", out)
	}
}

// TestDocHTML follows every link of the pages.
func TestDocHTML(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pages")
	fails(t, exitUsage, "want one of them", "doc", "--html", dir, "fold")
	must(t, "doc", "--html", dir)
	pages := map[string]string{}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		pages[f.Name()] = string(text)
	}
	links := 0
	for name, text := range pages {
		for _, m := range regexp.MustCompile(`href="([^"#]+)(?:#([^"]+))?"`).FindAllStringSubmatch(text, -1) {
			links++
			if page, ok := pages[m[1]]; !ok || m[2] != "" && !strings.Contains(page, `id="`+m[2]+`"`) {
				t.Errorf("%s: the link %s leads nowhere", name, m[0])
			}
		}
	}
	if links < 500 {
		t.Errorf("got %d links, want at least 500", links)
	}
	if !strings.Contains(pages["assert.html"], "&lt;= atol") {
		t.Error("texts are not escaped")
	}
}
