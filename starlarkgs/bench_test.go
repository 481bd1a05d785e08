package starlarkgs_test

import (
	"context"
	"fmt"
	"testing"
)

// BenchmarkBuild builds a chain of nodes through a registered builder.
func BenchmarkBuild(b *testing.B) {
	const script = `
@register()
def leaky(self, x, alpha = 0.01):
    return self.layer("LeakyRelu", inputs = [x], outputs = ["y"], attrs = {"alpha": alpha})[0]

x = variable("x", "float32", ["N", 64])
g = graph(inputs = [x])
t = x
for i in range(%d):
    t = g.leaky(t, alpha = 0.1)
g.outputs = [t]
`
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				h, _ := newHost(b)
				if _, err := h.RunSource(context.Background(), "bench.star", fmt.Sprintf(script, n), nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
