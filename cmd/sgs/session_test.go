package main

import (
	"strings"
	"testing"
)

// A script opens sessions on native backends, sees what ran where, and may not reach
// files or native code through their options.
func TestSessionsOfScripts(t *testing.T) {
	needNative(t)
	path := negated(t)
	script := `
s = session(argv[0], providers = ["cpu"], options = {"optimization": "basic", "threads": 1, "session.disable_prepacking": True, "dimensions": {"N": 1}})
print(s.run({"x": [1, -2]})["y"].tolist(), [p.name for p in s.inputs], s.outputs[0].dtype, s.outputs[0].shape)
p = s.profile()
print([(n.op, n.provider, n.runs) for n in p.nodes], len(p.placement["cpu"]), p.copies)
r = compare(argv[0], backends = ["reference", s], inputs = {"x": [3, 4]})
print(r.ok, r.placement[0], len(r.placement[1]["cpu"]))
r = compare(argv[0], backends = ["reference", "onnxruntime"], options = {"threads": 1, "cuda": {"device_id": 1}})
print(r.ok, len(r.placement[1]["cpu"]))
s.close()
print(bool(s), try_call(s.run, {"x": [1, 2]})[1])
print(run(argv[0], {"x": [1, -2]}, providers = ["cpu"])["y"].tolist())
w = session(argv[0], providers = ["qnn"], options = {"fallback": True})
print(w.run({"x": [1, 2]})["y"].tolist())
`
	status, out, errs := sgs(t, "run", "--allow-read", path, "-c", script, path)
	want := `[-1.0, 2.0] ["x"] float32 [2]
[("Neg", "cpu", 1)] 1 0
True None 1
True 1
False session.run: the session is closed
[-1.0, 2.0]
[-1.0, -2.0]
`
	if status != 0 || out != want {
		t.Errorf("status %d, got\n%swant\n%s%s", status, out, want, errs)
	}
	if !strings.Contains(errs, `-c:13:12: warning: the backend is not available: provider "qnn"`) {
		t.Errorf("got %q, want a warning about qnn", errs)
	}
}

func TestWhatSessionsOfScriptsMayNot(t *testing.T) {
	needNative(t)
	path := negated(t)
	for _, c := range []struct{ call, want string }{
		{`session(argv[0], providers = ["cpu"], options = {"custom_ops": "/lib.so"})`, `session option "custom_ops" can reach files or native code`},
		{`session(argv[0], providers = ["cpu"], options = {"ep.context_file_path": "/x"})`, `session option "ep.context_file_path" can reach files`},
		{`session(argv[0], providers = ["webgpu"], options = {"webgpu": {"dawnProcTable": 8}})`, `option "dawnProcTable" of provider "webgpu" can reach files`},
		{`run(argv[0], {"x": [1, 2]}, providers = ["tensorrt"], options = {"tensorrt": {"trt_engine_cache_path": "/x"}})`, `"trt_engine_cache_path"`},
		{`run(argv[0], {"x": [1, 2]}, providers = ["qnn"])`, `provider "qnn" is missing from this library`},
		{`run(argv[0], {"x": [1, 2]}, "reference", providers = ["cpu"])`, "the backend reference has none: choose onnxruntime"},
		{`session(argv[0], options = {"threads": 1})`, "the backend reference has none: choose onnxruntime"},
		{`session(argv[0], providers = ["cpu"], options = {"threads": []})`, `options["threads"]: got list, want a string, a number or a bool`},
		{`session(argv[0], providers = ["cpu"], options = {"thread": 1})`, `did you mean "threads"?`},
		{`session(argv[0], providers = ["cpu"], options = {"cuda": {"device_id": 1}})`, `options of provider "cuda": got no such provider`},
		{`session(argv[0], providers = ["cpu"]).profile()`, "nothing ran yet"},
		{`compare(argv[0], backends = ["reference", session(argv[0])], outputs = ["y"])`, "a session has the outputs that it was made with"},
	} {
		status, _, errs := sgs(t, "run", "--allow-read", path, "-c", c.call, path)
		if status != exitBad || !strings.Contains(errs, c.want) {
			t.Errorf("%s: got status %d and %s, want %s", c.call, status, errs, c.want)
		}
	}
	if status, _, errs := sgs(t, "run", "--allow-exec", "--allow-read", path, "-c", `session(argv[0], providers = ["cpu"], options = {"custom_ops": "/lib.so"})`, path); status != exitBad || !strings.Contains(errs, "/lib.so") || strings.Contains(errs, "can reach") {
		t.Errorf("with --allow-exec: got status %d and %s, want the runtime's error", status, errs)
	}
}
