package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/starlarkgs/starlarkgs/ops/schema"
)

// version is the release; the commit comes from the build.
const version = "0.1.0"

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print version, commit, the range of ONNX opsets and the backends",
		Args:  args("none", 0, 0),
		RunE: func(*cobra.Command, []string) error {
			fmt.Fprintf(a.stdout, "sgs %s%s\n", version, commit())
			fmt.Fprintf(a.stdout, "opsets   ai.onnx 1 to %d, ai.onnx.ml 1 to %d\n", schema.MaxOpset(""), schema.MaxOpset("ai.onnx.ml"))
			fmt.Fprintf(a.stdout, "backends %s\n", a.backendNames())
			return nil
		},
	}
}

func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	rev, dirty := "", ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			rev = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				dirty = ", modified"
			}
		}
	}
	if rev == "" {
		return ""
	}
	return fmt.Sprintf(" (commit %.12s%s)", rev, dirty)
}
