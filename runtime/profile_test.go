package runtime_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/starlarkgs/starlarkgs/runtime"
)

// trace is a recording as the runtime writes it: a node of each of two providers,
// one of them twice, a copy, and what is no node.
const trace = `[
{"cat" : "Session","pid" :1,"tid" :1,"dur" :4103,"ts" :3,"ph" : "X","name" :"model_loading_uri","args" : {}},
{"cat" : "Node","pid" :1,"tid" :1,"dur" :5,"ts" :10,"ph" : "X","name" :"conv_fence_before","args" : {"op_name" : "Conv"}},
{"cat" : "Node","pid" :1,"tid" :1,"dur" :50,"ts" :10,"ph" : "X","name" :"conv_kernel_time","args" : {"provider" : "WebGpuExecutionProvider","op_name" : "Conv","node_index" : "3","thread_scheduling_stats" : {"main_thread": {"core": -1}}}},
{"cat" : "Node","pid" :1,"tid" :1,"dur" :9,"ts" :60,"ph" : "X","name" :"Memcpy_kernel_time","args" : {"provider" : "WebGpuExecutionProvider","op_name" : "MemcpyToHost","node_index" : "9"}},
{"cat" : "Node","pid" :1,"tid" :1,"dur" :7,"ts" :70,"ph" : "X","name" :"clip_kernel_time","args" : {"provider" : "CPUExecutionProvider","op_name" : "Clip","node_index" : "4"}},
{"cat" : "Node","pid" :1,"tid" :1,"dur" :8,"ts" :80,"ph" : "X","name" :"clip_kernel_time","args" : {"provider" : "CPUExecutionProvider","op_name" : "Clip","node_index" : "4"}},
{"cat" : "Node","pid" :1,"tid" :1,"dur" :8,"ts" :90,"ph" : "X","name" :"conv_kernel_time","args" : {"provider" : "WebGpuExecutionProvider","op_name" : "Conv","node_index" : "7"}},
{"cat" : "Node","pid" :1,"tid" :1,"dur" :8,"ts" :99,"ph" : "X","name" :"own_kernel_time","args" : {"provider" : "AcmeExecutionProvider","op_name" : "Own","node_index" : "8"}},
{"cat" : "Api","pid" :1,"tid" :1,"dur" :8,"ts" :90,"ph" : "X","name" :"conv&Conv&MatMul","args" : {}}
]`

func TestReadProfile(t *testing.T) {
	p, err := runtime.ReadProfile(strings.NewReader(trace))
	if err != nil {
		t.Fatal(err)
	}
	if want := "2 of 4 nodes on webgpu, 1 of 4 nodes on cpu, 1 of 4 nodes on Acme; 1 copies between devices"; p.PlacementText() != want {
		t.Errorf("got %s, want %s", p.PlacementText(), want)
	}
	if n := p.Nodes[1]; n.Name != "clip" || n.Op != "Clip" || n.Runs != 2 || n.Time.Microseconds() != 15 {
		t.Errorf("got %+v, want 2 runs of clip in 15 µs", n)
	}
	if got := p.Placement()[0].Ops(); got != "Conv × 2" {
		t.Errorf("got %q, want Conv × 2", got)
	}
	for _, bad := range []string{"", "{}", "[{]", `[{"name": 1}]`, trace[:len(trace)-2]} {
		if _, err := runtime.ReadProfile(strings.NewReader(bad)); err == nil {
			t.Errorf("%.20q…: got no error", bad)
		}
	}
}

// A provider that was asked for and ran nothing is told; where nothing ran at all,
// or the CPU alone was asked for, there is nothing to tell.
func TestCheckPlacement(t *testing.T) {
	p, err := runtime.ReadProfile(strings.NewReader(trace))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		providers string
		want      string
	}{
		{"", ""}, {"cpu", ""}, {"webgpu", ""}, {"WebGPU,cpu", ""}, {"acme", ""}, {"tensorrt,webgpu", ""},
		{"cuda", `providers ["cuda"] ran none of the model's nodes: 2 of 4 nodes on webgpu`},
		{"tensorrt,cuda,cpu", `providers ["tensorrt" "cuda"] ran none`},
	} {
		err := p.CheckPlacement(strings.FieldsFunc(c.providers, func(r rune) bool { return r == ',' }))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.providers, err, c.want)
		}
	}
	if err := (&runtime.Profile{}).CheckPlacement([]string{"cuda"}); err != nil {
		t.Errorf("no nodes: got %v, want no error", err)
	}
}

func TestFindProvider(t *testing.T) {
	for name, want := range map[string]string{
		"cpu": "cpu", "WebGpuExecutionProvider": "webgpu", "CUDA": "cuda", "DmlExecutionProvider": "directml",
		"xnnpack": "xnnpack", "XnnpackExecutionProvider": "xnnpack", "Acme": "Acme", "AcmeExecutionProvider": "Acme",
	} {
		if got := runtime.FindProvider(name); got.Name != want {
			t.Errorf("%s: got %q, want %q", name, got.Name, want)
		}
	}
	if got := runtime.FindProvider("xnnpack").Register; got != "XNNPACK" {
		t.Errorf("got %q, want the runtime's spelling XNNPACK", got)
	}
	o := runtime.Options{Providers: []string{"WebGPU"}, ProviderOptions: map[string]map[string]string{"webgpu": {"deviceId": "1"}, "CudaExecutionProvider": nil}}
	var wrong *runtime.OptionError
	if err := runtime.CheckProviderOptions(o); !errors.As(err, &wrong) || !strings.Contains(err.Error(), `"CudaExecutionProvider"`) {
		t.Errorf("got %v, want an error about the options of CudaExecutionProvider", err)
	}
	if o.OptionsOf("WebGpuExecutionProvider")["deviceId"] != "1" {
		t.Error("the options of a provider are not found by its other name")
	}
}
