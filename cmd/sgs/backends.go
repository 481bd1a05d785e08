package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/starlarkgs/starlarkgs/internal/ortlib"
)

func newBackends(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "backends [list|doctor|install onnxruntime]",
		Short: "Show what runs here, why something does not, and install ONNX Runtime",
		Args:  noCommand,
		RunE:  func(*cobra.Command, []string) error { a.listBackends(); return nil },
	}
	c.AddCommand(&cobra.Command{
		Use: "list", Short: "List the backends", Args: args("none", 0, 0),
		RunE: func(*cobra.Command, []string) error { a.listBackends(); return nil },
	}, &cobra.Command{
		Use: "doctor", Short: "Load each backend and say what it is, or why it fails", Args: args("none", 0, 0),
		RunE: func(*cobra.Command, []string) error { return a.doctor() },
	}, &cobra.Command{
		Use: "install onnxruntime", Short: "Install ONNX Runtime into the user's cache", Args: args("onnxruntime", 1, 1),
		RunE: func(cmd *cobra.Command, got []string) error {
			if got[0] != "onnxruntime" {
				return usagef("install: got %q, want onnxruntime", got[0])
			}
			path, err := ortlib.Install(cmd.Context())
			if err != nil {
				return &statusError{exitBackend, err}
			}
			fmt.Fprintf(a.stdout, "onnxruntime %s: %s\n", ortlib.Version, path)
			return nil
		},
	})
	return c
}

func (a *app) listBackends() {
	for _, b := range a.backends() {
		if err := b.Available(); err != nil {
			fmt.Fprintf(a.stdout, "%s: missing: %v\n", b.Name(), err)
		} else {
			fmt.Fprintf(a.stdout, "%s: available\n", b.Name())
		}
	}
}

// doctor loads the native backend; a missing one is exit status 4.
func (a *app) doctor() error {
	fmt.Fprintln(a.stdout, "reference: present, built in")
	v, err := nativeVersion(a)
	if err != nil {
		return &statusError{exitBackend, err}
	}
	lib, where, err := ortlib.Find(a.ortLib)
	if err != nil {
		return &statusError{exitBackend, err}
	}
	fmt.Fprintf(a.stdout, "onnxruntime: present, version %s, %s (found by %s)\n", v, lib, where)
	return nil
}

// backendNames lists the backends of this build for version.
func (a *app) backendNames() string {
	var names []string
	for _, b := range a.backends() {
		names = append(names, b.Name())
	}
	return strings.Join(names, ", ")
}
