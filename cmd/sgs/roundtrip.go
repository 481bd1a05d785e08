package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/onnx"
)

func newRoundtrip(a *app) *cobra.Command {
	format := "onnx"
	cmd := &cobra.Command{
		Use:    "roundtrip DIR…",
		Short:  "Open and save every model below DIR and compare message by message",
		Hidden: true,
		Args:   args("DIR…", 1, -1),
		RunE: func(_ *cobra.Command, dirs []string) error {
			if !slices.Contains(onnx.Extensions, "."+format) {
				return fmt.Errorf("format: got %q, want one of %s", format, strings.ReplaceAll(strings.Join(onnx.Extensions, ", "), ".", ""))
			}
			tmp, err := os.MkdirTemp("", "sgs-roundtrip-")
			if err != nil {
				return err
			}
			defer os.RemoveAll(tmp)
			return roundtripAll(a, dirs, filepath.Join(tmp, "out."+format))
		},
	}
	cmd.Flags().StringVar(&format, "format", format, "the form to save in and to read back")
	return cmd
}

// roundtripAll tries every model below the folders: as opened, and after all was
// renamed and that undone, so that nothing passes by copying the file.
func roundtripAll(a *app, dirs []string, out string) error {
	passed, failed := 0, 0
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".onnx" {
				return err
			}
			diffs := append(roundtrip(path, out, false), roundtrip(path, out, true)...)
			for _, s := range diffs {
				fmt.Fprintf(a.stdout, "%s: %s\n", path, clean(s))
			}
			if len(diffs) > 0 {
				failed++
			} else {
				passed++
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	fmt.Fprintf(a.stdout, "%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		return bad()
	}
	return nil
}

func roundtrip(path, out string, rename bool) []string {
	m, err := onnx.Open(path, onnx.OpenOptions{})
	if err != nil {
		return []string{err.Error()}
	}
	if rename {
		renameAndBack(m)
	}
	if _, err := onnx.Save(m, out, onnx.SaveOptions{}); err != nil {
		return []string{err.Error()}
	}
	diffs, err := onnx.Compare(path, out)
	if err != nil {
		return []string{err.Error()}
	}
	return diffs
}

// renameAndBack gives every node and value of a model, of its bodies and
// functions another name, and then its own again.
func renameAndBack(m *ir.Model) {
	nodes, tensors := map[*ir.Node]string{}, map[*ir.Tensor]string{}
	for _, g := range m.Graphs() {
		for _, n := range g.Nodes() {
			nodes[n] = n.Name()
			n.SetName(fmt.Sprintf("renamed node %d", len(nodes)))
		}
		for _, t := range g.Tensors() {
			if _, done := tensors[t]; !done {
				tensors[t] = t.Name()
				t.SetName(fmt.Sprintf("renamed value %d", len(tensors)))
			}
		}
	}
	for n, name := range nodes {
		n.SetName(name)
	}
	for t, name := range tensors {
		t.SetName(name)
	}
}
