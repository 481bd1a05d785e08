//go:build cgo

package onnxruntime

// #include "native.h"
import "C"

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/starlarkgs/starlarkgs/runtime"
)

// recorder is the recording of a session's first runs. The runtime writes it to a
// file, from which its own names of providers are read.
type recorder struct {
	dir       string // of the file; "" when nothing is recorded any more
	left      int    // runs to go; below 0 until the recording is taken
	ran       bool
	keep      bool     // for the session's user, not for the check alone
	providers []string // those that must have run something
	fallback  func(why string)
	profile   *runtime.Profile
}

// record turns the recording on, where the user wants it or a provider but the
// CPU is asked for: the runtime does not say by itself that such a one got no node.
func record(options *ort.SessionOptions, o runtime.Options, providers []string) (*recorder, error) {
	r := &recorder{left: o.Profile, keep: o.Profile != 0, providers: providers, fallback: o.Fallback}
	if !o.Records() {
		return r, nil
	}
	if r.left == 0 {
		r.left = 1
	}
	var err error
	if r.dir, err = os.MkdirTemp(o.Scratch, "sgs-profile-"); err != nil {
		return nil, fmt.Errorf("onnxruntime: a place for the profile: %w", err)
	}
	if err := options.EnableProfiling(filepath.Join(r.dir, "run")); err != nil {
		r.drop()
		return nil, fmt.Errorf("onnxruntime: profile: %w", err)
	}
	return r, nil
}

// drop removes the file.
func (r *recorder) drop() {
	if r.dir != "" {
		_ = os.RemoveAll(r.dir) // a file in the temporary folder
		r.dir = ""
	}
}

// after is called when a run has ended; it ends the recording after the last run
// that is wanted, and checks it.
func (r *recorder) after(n *native) error {
	r.ran = true
	if r.dir == "" || r.left < 0 {
		return nil
	}
	if r.left--; r.left > 0 {
		return nil
	}
	return r.end(n)
}

// end takes the recording from the runtime.
func (r *recorder) end(n *native) error {
	defer r.drop()
	var name *C.char
	if err := check(C.sgs_end_profiling(n.session, &name)); err != nil {
		return fmt.Errorf("onnxruntime: profile: %w", err)
	}
	file := C.GoString(name)
	C.sgs_free(unsafe.Pointer(name))
	raw, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("onnxruntime: profile: %w", err)
	}
	p, err := runtime.ReadProfile(bytes.NewReader(raw))
	if err != nil {
		return fmt.Errorf("onnxruntime: %w", err)
	}
	if r.keep {
		p.Trace = raw
		r.profile = p
	}
	err = p.CheckPlacement(r.providers)
	switch {
	case err == nil:
		return nil
	case r.fallback != nil:
		r.fallback(err.Error())
		return nil
	}
	return fmt.Errorf("%w: %w", runtime.ErrUnavailable, err)
}

// Profile ends the recording and returns it.
func (s *session) Profile() (*runtime.Profile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.recorder
	switch {
	case !r.keep:
		return nil, errors.New("onnxruntime: the session records no profile")
	case !r.ran:
		return nil, errors.New("onnxruntime: nothing ran yet, so there is no profile")
	case r.profile == nil && r.dir != "" && s.n.session != nil:
		if err := r.end(s.n); err != nil {
			return nil, err
		}
	}
	if r.profile == nil {
		return nil, errors.New("onnxruntime: the session was closed before its profile was taken")
	}
	return r.profile, nil
}
