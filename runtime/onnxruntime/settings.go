//go:build cgo

package onnxruntime

// #include <stdlib.h>
// #include "native.h"
import "C"

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/starlarkgs/starlarkgs/internal/spell"
	"github.com/starlarkgs/starlarkgs/runtime"
)

// setting is an option of a session that has a name of its own; what has a dot in
// its name is an entry of the runtime's configuration.
type setting struct {
	name, want string
	apply      func(o *ort.SessionOptions, text string) error
}

var settings = []setting{
	{"optimization", "none, basic, extended, layout or all", optimization},
	{"threads", "a number of threads, 0 for one for each core", count((*ort.SessionOptions).SetIntraOpNumThreads)},
	{"inter_op_threads", "a number of threads, 0 for one for each core", count((*ort.SessionOptions).SetInterOpNumThreads)},
	{"execution_mode", "sequential or parallel", executionMode},
	{"mem_pattern", "true or false", onOff((*ort.SessionOptions).SetMemPattern)},
	{"cpu_mem_arena", "true or false", onOff((*ort.SessionOptions).SetCpuMemArena)},
	{"deterministic", "true or false", onOff(deterministic)},
	{runtime.CustomOps, "the path of a library of operators", customOps},
}

// apply sets the options of a session, in the order of their names.
func apply(o *ort.SessionOptions, given map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if err := applyOne(o, name, given[name]); err != nil {
			return err
		}
	}
	return nil
}

func applyOne(o *ort.SessionOptions, name, text string) error {
	if symbol, ok := strings.CutPrefix(name, runtime.DimensionPrefix); ok {
		return dimension(o, symbol, text)
	}
	names := []string{runtime.DimensionPrefix + "SYMBOL"}
	for _, s := range settings {
		names = append(names, s.name)
		if s.name != name {
			continue
		}
		if err := s.apply(o, text); err != nil {
			if errors.Is(err, errValue) {
				return runtime.OptionErrorf("session option %q: got %q, want %s", name, text, s.want)
			}
			return fmt.Errorf("session option %q: %w", name, err)
		}
		return nil
	}
	if !strings.Contains(name, ".") {
		return runtime.OptionErrorf("session option %q: got none of that name, want one of %q or an entry of the runtime's configuration, as session.disable_prepacking%s", name, names, spell.Hint(name, names))
	}
	known := slices.Concat(runtime.ConfigEntries, runtime.FileEntries) // it takes any name, and ignores one that it lacks
	if near := spell.Hint(name, known); near != "" && !slices.Contains(known, name) {
		return runtime.OptionErrorf("session option %q: got an entry that the runtime does not have%s", name, near)
	}
	if err := o.AddSessionConfigEntry(name, text); err != nil {
		return runtime.OptionErrorf("session option %q: %v", name, err)
	}
	return nil
}

// errValue tells that a value is not one that the setting takes.
var errValue = errors.New("value")

// optimization is the runtime's level; 3 is that of layouts, which the bindings do
// not name.
func optimization(o *ort.SessionOptions, text string) error {
	level, ok := map[string]ort.GraphOptimizationLevel{"none": ort.GraphOptimizationLevelDisableAll, "basic": ort.GraphOptimizationLevelEnableBasic,
		"extended": ort.GraphOptimizationLevelEnableExtended, "layout": 3, "all": ort.GraphOptimizationLevelEnableAll}[text]
	if !ok {
		return errValue
	}
	return o.SetGraphOptimizationLevel(level)
}

func executionMode(o *ort.SessionOptions, text string) error {
	mode, ok := map[string]ort.ExecutionMode{"sequential": ort.ExecutionModeSequential, "parallel": ort.ExecutionModeParallel}[text]
	if !ok {
		return errValue
	}
	return o.SetExecutionMode(mode)
}

func count(set func(*ort.SessionOptions, int) error) func(*ort.SessionOptions, string) error {
	return func(o *ort.SessionOptions, text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return errValue
		}
		return set(o, n)
	}
}

func onOff(set func(*ort.SessionOptions, bool) error) func(*ort.SessionOptions, string) error {
	return func(o *ort.SessionOptions, text string) error {
		on, err := strconv.ParseBool(strings.ToLower(text))
		if err != nil {
			return errValue
		}
		return set(o, on)
	}
}

func deterministic(o *ort.SessionOptions, on bool) error {
	flag := C.int(0)
	if on {
		flag = 1
	}
	return check(C.sgs_set_deterministic(pointerOf(o), flag))
}

// dimension gives a symbol of the model's inputs a size.
func dimension(o *ort.SessionOptions, symbol, text string) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || symbol == "" {
		return runtime.OptionErrorf("session option %q: got %q, want the size of a symbol, as dimension.N=1", runtime.DimensionPrefix+symbol, text)
	}
	name := C.CString(symbol)
	defer C.free(unsafe.Pointer(name))
	return check(C.sgs_set_dimension(pointerOf(o), name, C.int64_t(n)))
}

func customOps(o *ort.SessionOptions, path string) error {
	name, free, err := systemString(path)
	if err != nil {
		return err
	}
	defer free()
	return check(C.sgs_custom_ops(pointerOf(o), name))
}
