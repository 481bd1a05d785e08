//go:build cgo

package onnxruntime_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/starlarkgs/starlarkgs/runtime/onnxruntime"
)

// header returns the text of the header that the bindings ship, without comments.
func header(t *testing.T) string {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/yalue/onnxruntime_go").Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "onnxruntime_c_api.h"))
	if err != nil {
		t.Fatal(err)
	}
	bare := regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAllString(string(text), "")
	return regexp.MustCompile(`//[^\n]*`).ReplaceAllString(bare, "")
}

// entries lists the table's functions, in order, in the spelling of native.c.
func entries(t *testing.T, header string) []string {
	_, table, ok := strings.Cut(header, "struct OrtApi {")
	if !ok {
		t.Fatal("the header has no struct OrtApi")
	}
	table, _, _ = strings.Cut(table, "\n};")
	forms := regexp.MustCompile(`ORT_API2_STATUS\(\s*(\w+)|ORT_CLASS_(RELEASE2?)\(\s*(\w+)|ORT_API_T\([^,]*,\s*(\w+)|\(\s*ORT_API_CALL\s*\*\s*(\w+)\)`)
	word := regexp.MustCompile(`([a-z0-9])([A-Z])`)
	var names []string
	for _, line := range strings.Split(table, ";") {
		m := forms.FindStringSubmatch(line)
		if m == nil {
			if strings.TrimSpace(line) != "" {
				t.Fatalf("the header has an entry of an unknown form: %s", line)
			}
			continue
		}
		name := m[1] + m[3] + m[4] + m[5]
		if m[2] != "" {
			name = "Release" + name
		}
		names = append(names, strings.ToUpper(word.ReplaceAllString(name, "${1}_$2")))
	}
	return names
}

// The places of native.c are those of the header.
func TestPlaces(t *testing.T) {
	text := header(t)
	names := entries(t, text)
	source, err := os.ReadFile("native.c")
	if err != nil {
		t.Fatal(err)
	}
	places := regexp.MustCompile(`(?m)^\t([A-Z_]+) = (\d+),?$`).FindAllStringSubmatch(string(source), -1)
	if len(places) < 30 {
		t.Fatalf("native.c has %d places, want at least 30", len(places))
	}
	for _, p := range places {
		at, err := strconv.Atoi(p[2])
		if err != nil {
			t.Fatal(err)
		}
		if at >= len(names) || names[at] != p[1] {
			t.Errorf("native.c: %s is at %d, where the header has %s", p[1], at, names[min(at, len(names)-1)])
		}
	}
	if want := fmt.Sprintf("#define ORT_API_VERSION %d\n", onnxruntime.APIVersion); !strings.Contains(text, want) {
		t.Errorf("the bindings have another version than %s", want)
	}
}

// The options of the bindings hold the runtime's pointer and nothing else.
func TestOptionsHoldOnePointer(t *testing.T) {
	typ := reflect.TypeFor[ort.SessionOptions]()
	if typ.NumField() != 1 || typ.Field(0).Type.Kind() != reflect.Pointer || typ.Size() != unsafe.Sizeof(uintptr(0)) {
		t.Errorf("got %v of %d bytes, want one pointer", typ, typ.Size())
	}
}
