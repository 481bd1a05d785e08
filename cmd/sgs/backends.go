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
	doctor := &cobra.Command{
		Use: "doctor", Short: "Try each backend and execution provider: present, missing (what to install) or broken (the runtime's own words)", Args: args("none", 0, 0),
	}
	asJSON := doctor.Flags().Bool("json", false, "print one JSON document")
	doctor.RunE = func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd.Context(), *asJSON) }
	c.AddCommand(doctor, &cobra.Command{
		Use: "list", Short: "List the backends", Args: args("none", 0, 0),
		RunE: func(*cobra.Command, []string) error { a.listBackends(); return nil },
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

// backendNames lists the backends of this build for version.
func (a *app) backendNames() string {
	var names []string
	for _, b := range a.backends() {
		names = append(names, b.Name())
	}
	return strings.Join(names, ", ")
}
