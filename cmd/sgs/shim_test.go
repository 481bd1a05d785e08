//go:build cgo && linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/starlarkgs/starlarkgs/internal/ortlib"
	"github.com/starlarkgs/starlarkgs/onnx"
)

// shim builds a library that is ONNX Runtime but for a run of a model whose first
// input is named "crash", which reads address 8, or "wait", which makes the file
// waiting and never ends.
func shim(t *testing.T) (lib, waiting string) {
	t.Helper()
	needNative(t)
	real, _, err := ortlib.Find("")
	if err != nil {
		t.Fatal(err)
	}
	include, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/yalue/onnxruntime_go").Output()
	if err != nil {
		t.Fatal(err)
	}
	waiting = filepath.Join(t.TempDir(), "waiting")
	lib = library(t, `
#include <dlfcn.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>
#include "onnxruntime_c_api.h"

static const OrtApiBase *real;
static OrtApi api;
static OrtStatusPtr (*real_run)(OrtSession *, const OrtRunOptions *, const char *const *, const OrtValue *const *, size_t, const char *const *, size_t, OrtValue **);

static OrtStatusPtr run(OrtSession *s, const OrtRunOptions *o, const char *const *names, const OrtValue *const *ins, size_t n, const char *const *outs, size_t m, OrtValue **out) {
	if (n && !strcmp(names[0], "crash")) (void)*(volatile int *)8;
	if (n && !strcmp(names[0], "wait")) close(open("`+waiting+`", O_CREAT | O_WRONLY, 0600));
	while (n && !strcmp(names[0], "wait")) pause();
	return real_run(s, o, names, ins, n, outs, m, out);
}

static const OrtApi *get_api(uint32_t version) {
	const OrtApi *found = real->GetApi(version);
	if (!found) return NULL;
	api = *found;
	real_run = found->Run;
	api.Run = run;
	return &api;
}

static const char *get_version(void) { return real->GetVersionString(); }

const OrtApiBase *OrtGetApiBase(void) {
	static const OrtApiBase base = {get_api, get_version};
	void *lib = dlopen("`+real+`", RTLD_NOW);
	real = lib ? ((const OrtApiBase *(*)(void))dlsym(lib, "OrtGetApiBase"))() : NULL;
	return real ? &base : NULL;
}
`, "-I"+strings.TrimSpace(string(include)))
	return lib, waiting
}

// library builds a shared library of C code.
func library(t *testing.T, code string, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	source, lib := filepath.Join(dir, "lib.c"), filepath.Join(dir, "lib.so")
	if err := os.WriteFile(source, []byte(code), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cc", append(flags, "-shared", "-fPIC", "-o", lib, source)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return lib
}

// A case in which the runtime crashes, or hangs, is one that can't be run, and
// the cases after it are run.
func TestConformSurvives(t *testing.T) {
	lib, _ := shim(t)
	from, dir := corpus(t, "onnx-backend/node/test_abs"), t.TempDir()
	for _, name := range []string{"a_x", "b_crash", "c_x", "d_wait", "e_x"} {
		to := filepath.Join(dir, name)
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		m, err := onnx.Open(filepath.Join(from, "model.onnx"), onnx.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		m.Graph().Inputs()[0].SetName(name[2:])
		if _, err := onnx.Save(m, filepath.Join(to, "model.onnx"), onnx.SaveOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	status, out, errs := sgs(t, "conform", dir, "--backend", "onnxruntime", "--ort-lib", lib, "--call-timeout", "2s")
	want := `b_crash: cannot run: test_data_set_0: onnxruntime: running graph "test_abs": the worker process crashed with SIGSEGV
d_wait: cannot run: test_data_set_0: onnxruntime: running graph "test_abs": the worker process hung and was killed: it took more than 2s
      backend  cases  agree  differ  can't be run
  onnxruntime      5      3       0             2
    reference      5      5       0             0
the two differ in 0 of the cases that both run
3 passed, 2 failed
`
	if status != exitBad || out != want {
		t.Errorf("got status %d, %s\n%s, want 1 and\n%s", status, errs, out, want)
	}
}
