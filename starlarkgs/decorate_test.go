package starlarkgs

import (
	"fmt"
	"strings"
	"testing"
)

// FuzzDecorators checks that the pass never panics and keeps lines and columns.
func FuzzDecorators(f *testing.F) {
	f.Add("@register\ndef f(self): pass\n")
	f.Add("@a(\n  b = \"@\",\n)\n# @\ndef f(): return '''@\n@'''\n")
	f.Add("x = [\n@\n]\n")
	f.Fuzz(func(t *testing.T, src string) {
		out, _, err := findDecorators("f.star", src)
		if err != nil {
			return
		}
		if len(out) != len(src) || strings.Count(out, "\n") != strings.Count(src, "\n") {
			t.Errorf("the text changed its shape: %q became %q", src, out)
		}
	})
}

func TestIncomplete(t *testing.T) {
	tests := []struct {
		src  string
		want bool
	}{
		{"x = 1", false}, {"x = (1,", true}, {"def f():", true}, {"def f():\n    return 1", true}, {"def f():\n    return 1\n", false},
		{"@register", true}, {"@register\ndef f(x):", true}, {"x = 1 +", false}, {"s = '''a", true}, {"if x:\n    y = 1\n", false}, {"", false},
	}
	for _, tt := range tests {
		if got := Incomplete(tt.src); got != tt.want {
			t.Errorf("Incomplete(%q) = %v, want %v", tt.src, got, tt.want)
		}
	}
}

func BenchmarkDecorators(b *testing.B) {
	var src strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&src, "@register(name = \"l%d\")\ndef f%d(self, x):\n    return self.layer(\"Relu\", inputs = [x], outputs = [\"y\"])[0]\n\n", i, i)
	}
	for b.Loop() {
		if _, err := parse("bench.star", src.String(), dialect); err != nil {
			b.Fatal(err)
		}
	}
}
