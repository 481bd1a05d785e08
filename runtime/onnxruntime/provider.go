//go:build cgo

package onnxruntime

// #include "native.h"
import "C"

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/starlarkgs/starlarkgs/internal/spell"
	"github.com/starlarkgs/starlarkgs/runtime"
)

// sessionOptions appends the providers in their order; cpu is always there, last.
// One that can't be had is an error, or is told to o.Fallback and left out.
func sessionOptions(o runtime.Options) (*ort.SessionOptions, []string, error) {
	if err := runtime.CheckProviderOptions(o); err != nil {
		return nil, nil, err
	}
	options, err := ort.NewSessionOptions()
	if err != nil {
		return nil, nil, fmt.Errorf("onnxruntime: %w", err)
	}
	providers, err := configure(options, o)
	if err != nil {
		_ = options.Destroy() // the error is what to tell
		return nil, nil, err
	}
	return options, providers, nil
}

// configure returns the providers that the session has.
func configure(options *ort.SessionOptions, o runtime.Options) (providers []string, err error) {
	if err := apply(options, o.Settings); err != nil {
		return nil, err
	}
	for _, name := range o.Providers {
		err := appendProvider(options, runtime.FindProvider(name), o.OptionsOf(name))
		if err == nil {
			providers = append(providers, name)
			continue
		}
		if err = explain(name, err); o.Fallback == nil || !errors.Is(err, runtime.ErrUnavailable) {
			return nil, err
		}
		o.Fallback(err.Error())
	}
	return providers, nil
}

// explain says what to do about a provider that could not be appended: of one that
// the library lacks, what to install.
func explain(name string, err error) error {
	var wrong *runtime.OptionError
	known := slices.Contains(runtime.ProviderNames(), runtime.FindProvider(name).Name)
	switch {
	case errors.As(err, &wrong):
		return fmt.Errorf("provider %q: %w", name, err)
	case !known && strings.Contains(err.Error(), "Unknown provider name"):
		return runtime.OptionErrorf("provider %q: got a name that the runtime does not know, want one of %q, or another that the library has%s", name, runtime.ProviderNames(), spell.Hint(name, runtime.ProviderNames()))
	case lacks(name):
		return fmt.Errorf("%w: provider %q is missing from this library; it comes with %s (%w)", runtime.ErrUnavailable, name, runtime.FindProvider(name).Install, err)
	}
	return fmt.Errorf("%w: provider %q: %w", runtime.ErrUnavailable, name, err)
}

// lacks reports whether the library is without the provider: it was built without,
// or a library of the provider's own does not lie beside it.
func lacks(name string) bool {
	has, err := available()
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(has, func(h string) bool { return runtime.IsProvider(h, name) })
}

func appendProvider(options *ort.SessionOptions, p runtime.Provider, settings map[string]string) error {
	switch p.Name {
	case "cpu":
		return onlySettings(settings)
	case "cuda":
		return appendCUDA(options, settings)
	case "tensorrt":
		return appendTensorRT(options, settings)
	case "coreml":
		return options.AppendExecutionProviderCoreMLV2(settings)
	case "directml":
		return appendDirectML(options, settings)
	case "openvino":
		return options.AppendExecutionProviderOpenVINO(settings)
	}
	return options.AppendExecutionProvider(p.Register, settings)
}

// onlySettings refuses those that the provider does not take.
func onlySettings(settings map[string]string, known ...string) error {
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		if !slices.Contains(known, key) {
			return runtime.OptionErrorf("option %q: got one that the provider does not take, want one of %q%s", key, known, spell.Hint(key, known))
		}
	}
	return nil
}

func appendCUDA(options *ort.SessionOptions, settings map[string]string) error {
	c, err := ort.NewCUDAProviderOptions()
	if err != nil {
		return err
	}
	defer c.Destroy()
	if err := c.Update(settings); err != nil {
		return err
	}
	return options.AppendExecutionProviderCUDA(c)
}

func appendTensorRT(options *ort.SessionOptions, settings map[string]string) error {
	c, err := ort.NewTensorRTProviderOptions()
	if err != nil {
		return err
	}
	defer c.Destroy()
	if err := c.Update(settings); err != nil {
		return err
	}
	return options.AppendExecutionProviderTensorRT(c)
}

// appendDirectML takes the one setting that the runtime's own call has.
func appendDirectML(options *ort.SessionOptions, settings map[string]string) error {
	const device = "device_id"
	if err := onlySettings(settings, device); err != nil {
		return err
	}
	id := 0
	if text, ok := settings[device]; ok {
		var err error
		if id, err = strconv.Atoi(text); err != nil {
			return runtime.OptionErrorf("option %q: got %q, want a number", device, text)
		}
	}
	return options.AppendExecutionProviderDirectML(id)
}

// available lists the providers that the library has. Those that are libraries of
// their own are among the runtime's even where that library is not beside it.
func available() ([]string, error) {
	var names **C.char
	var n C.int
	if err := check(C.sgs_providers(&names, &n)); err != nil {
		return nil, err
	}
	defer C.sgs_release_providers(names, n)
	var out []string
	for _, name := range unsafe.Slice(names, int(n)) {
		if p := runtime.FindProvider(C.GoString(name)); p.Library == "" || beside(p.Library) {
			out = append(out, p.Name)
		}
	}
	return out, nil
}

// beside reports whether a library lies in the folder of the one that is loaded,
// links followed.
func beside(name string) bool {
	loadMu.Lock()
	file, err := filepath.EvalSymlinks(loaded)
	loadMu.Unlock()
	if err != nil {
		file = loaded
	}
	prefix, suffix := "lib", ".so"
	switch goruntime.GOOS {
	case "windows":
		prefix, suffix = "", ".dll"
	case "darwin":
		suffix = ".dylib"
	}
	_, err = os.Stat(filepath.Join(filepath.Dir(file), prefix+name+suffix))
	return err == nil
}
