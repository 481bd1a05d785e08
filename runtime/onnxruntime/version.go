//go:build cgo

package onnxruntime

/*
#include <stdint.h>

typedef struct {
	const void *(*get_api)(uint32_t);
	const char *(*get_version)(void);
} sgs_base;

static const char *sgs_version_without(void *entry, uint32_t version) {
	const sgs_base *base = ((const sgs_base *(*)(void))entry)();
	return !base || base->get_api(version) ? 0 : base->get_version();
}
*/
import "C"

import "fmt"

// whyNot says in place of the bindings' error which version a library is, when it
// is one without the version of the interface that they ask for.
func whyNot(lib string, err error) error {
	entry, noEntry := apiBase(lib)
	if noEntry != nil {
		return err
	}
	version := C.sgs_version_without(entry, apiVersion)
	if version == nil {
		return err
	}
	return fmt.Errorf("got ONNX Runtime %q, want 1.%d or later", C.GoString(version), apiVersion)
}
