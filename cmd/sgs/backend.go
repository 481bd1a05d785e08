package main

import (
	"errors"
	"strings"

	"github.com/starlarkgs/starlarkgs/internal/spell"
	"github.com/starlarkgs/starlarkgs/runtime"
	"github.com/starlarkgs/starlarkgs/runtime/reference"
)

// backends returns every backend of this build, the reference one first.
func (a *app) backends() []runtime.Backend {
	return append([]runtime.Backend{reference.New()}, nativeBackends(a)...)
}

// backend returns the one that NAME or NAME:PROVIDER,… names, if it is available.
func (a *app) backend(spec string) (runtime.Backend, []string, error) {
	name, list, _ := strings.Cut(spec, ":")
	var providers, names []string
	if list != "" {
		providers = strings.Split(list, ",")
	}
	for _, b := range a.backends() {
		names = append(names, b.Name())
		if b.Name() != name {
			continue
		}
		if err := b.Available(); err != nil {
			return nil, nil, &statusError{exitBackend, err}
		}
		return b, providers, nil
	}
	return nil, nil, usagef("--backend: got %q, want one of %q%s", name, names, spell.Hint(name, names))
}

// backendStatus gives the errors of a session their exit status.
func backendStatus(err error) error {
	var name *runtime.NameError
	var option *runtime.OptionError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &name) || errors.As(err, &option):
		return &statusError{exitUsage, err}
	case errors.Is(err, runtime.ErrUnavailable):
		return &statusError{exitBackend, err}
	}
	return err
}
