package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/starlarkgs/starlarkgs/runtime"
)

// Doctor tries each provider; every known one has its line.
func TestDoctor(t *testing.T) {
	needNative(t)
	status, out, errs := sgs(t, "backends", "doctor")
	if status != 0 {
		t.Fatalf("status %d: %s", status, errs)
	}
	for _, want := range []string{"reference: present", "onnxruntime: present, version 1.", "opsets of ai.onnx up to 2", "\n  cpu "} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
	status, out, errs = sgs(t, "backends", "doctor", "--json")
	var all []diagnosis
	if err := json.Unmarshal([]byte(out), &all); status != 0 || err != nil || len(all) != 2 {
		t.Fatalf("status %d, %v, %s: %s", status, err, errs, out)
	}
	d := all[1]
	if d.MaxOpset < 20 || d.MaxIR < 9 {
		t.Errorf("got opset %d and IR version %d, want those of the library", d.MaxOpset, d.MaxIR)
	}
	states := map[string]providerState{}
	for _, p := range d.Providers {
		states[p.Name] = p
		if !slices.Contains([]string{present, missing, broken}, p.State) || p.State != present && p.Note == "" {
			t.Errorf("%+v: want a state, and what to do where it is not present", p)
		}
	}
	if states["cpu"].State != present {
		t.Errorf("cpu: got %+v, want present", states["cpu"])
	}
	for _, name := range runtime.ProviderNames() {
		if states[name].Name == "" {
			t.Errorf("%s has no line", name)
		}
	}
}

// A library that is not there, or is none, is exit status 4 with the reason.
func TestDoctorOfNoLibrary(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "libonnxruntime.so")
	if err := os.WriteFile(text, []byte("no library"), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, state := range map[string]string{filepath.Join(dir, "none.so"): missing, text: broken} {
		status, out, errs := sgs(t, "backends", "doctor", "--json", "--ort-lib", path)
		var all []diagnosis
		if err := json.Unmarshal([]byte(out), &all); err != nil {
			t.Fatal(err)
		}
		if status != exitBackend || errs == "" || nativeBuild() && (all[1].State != state || !strings.Contains(all[1].Why, path)) {
			t.Errorf("%s: got status %d, %+v, %q; want %s", path, status, all[1], errs, state)
		}
	}
}

func nativeBuild() bool { return len(nativeBackends(&app{})) > 0 }
