//go:build cgo

package onnxruntime

// #include "native.h"
import "C"

import (
	goruntime "runtime"
	"strings"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx"
)

// largeWeight is the bytes from which a weight is not part of the bytes that the
// model is handed over as.
const largeWeight = 64 << 10

// inFiles tells whether weights can be named by file: the runtime takes none
// outside one folder, which is the root where there is one root.
const inFiles = goruntime.GOOS != "windows"

const folderEntry = "session.model_external_initializers_file_folder_path"

// marshal returns the model without its large weights. Those that lie in a file
// are read by the runtime from that very file; the others it is handed by name.
func marshal(m *ir.Model, options *ort.SessionOptions) ([]byte, error) {
	var handed []*ir.Tensor
	filed := false
	data, err := onnx.MarshalWithout(m, func(t *ir.Tensor) (string, int64, bool) {
		if t.Array().NBytes() < largeWeight {
			return "", 0, false
		}
		if at, ok := onnx.PlaceOf(t.Array()); ok && inFiles {
			filed = true
			return strings.TrimPrefix(at.Path, "/"), at.Offset, true
		}
		handed = append(handed, t)
		return "memory", 0, true
	})
	if err != nil {
		return nil, err
	}
	if filed {
		if err := options.AddSessionConfigEntry(folderEntry, "/"); err != nil {
			return nil, err
		}
	}
	return data, handOver(handed, options)
}

// handOver gives the weights to the runtime, which copies them.
func handOver(weights []*ir.Tensor, options *ort.SessionOptions) error {
	if len(weights) == 0 {
		return nil
	}
	c := &call{}
	arrays := make([]*array.Array, len(weights))
	names := make([]string, len(weights))
	for i, t := range weights {
		arrays[i], names[i] = t.Array().Contiguous(), t.Name()
		s, err := c.slot(arrays[i])
		if err != nil {
			return err
		}
		c.ins = append(c.ins, s)
	}
	c.names = cStrings(names)
	defer freeStrings(c.names)
	err := check(C.sgs_hand_over(pointerOf(options), &c.names[0], &c.ins[0], C.size_t(len(c.ins)), c.sizes()))
	goruntime.KeepAlive(arrays)
	return err
}
