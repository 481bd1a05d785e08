//go:build cgo

package onnxruntime

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/starlarkgs/starlarkgs/internal/spell"
	"github.com/starlarkgs/starlarkgs/runtime"
)

// sessionOptions appends the providers in their order; cpu is always there, last.
func sessionOptions(o runtime.Options) (*ort.SessionOptions, error) {
	for name := range o.ProviderOptions {
		if !slices.Contains(o.Providers, name) {
			return nil, fmt.Errorf("options of provider %q: got no such provider, want one of %q%s", name, o.Providers, spell.Hint(name, o.Providers))
		}
	}
	options, err := ort.NewSessionOptions()
	if err != nil {
		return nil, fmt.Errorf("onnxruntime: %w", err)
	}
	for _, name := range o.Providers {
		if err := appendProvider(options, name, o.ProviderOptions[name]); err != nil {
			_ = options.Destroy() // the provider's error is what to tell
			return nil, fmt.Errorf("%w: provider %q: %w", runtime.ErrUnavailable, name, err)
		}
	}
	return options, nil
}

func appendProvider(options *ort.SessionOptions, name string, settings map[string]string) error {
	switch name {
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
	case "webgpu":
		name = "WebGPU"
	}
	return options.AppendExecutionProvider(name, settings)
}

// onlySettings refuses those that the provider does not take.
func onlySettings(settings map[string]string, known ...string) error {
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		if !slices.Contains(known, key) {
			return fmt.Errorf("option %q: got one that the provider does not take, want one of %q%s", key, known, spell.Hint(key, known))
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
			return fmt.Errorf("option %q: got %q, want a number", device, text)
		}
	}
	return options.AppendExecutionProviderDirectML(id)
}
