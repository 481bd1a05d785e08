package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"strings"

	"github.com/spf13/cobra"

	"github.com/starlarkgs/starlarkgs/builtins/assert"
	"github.com/starlarkgs/starlarkgs/builtins/docs"
	"github.com/starlarkgs/starlarkgs/starlarkgs"
)

func newDoc(a *app) *cobra.Command {
	var dir, man string
	c := &cobra.Command{
		Use:   "doc [NAME]",
		Short: "Print the documentation of any name that scripts use",
		Long: `Print the documentation of any name that scripts use: a function (fold), a module
(np) or a member of one (np.zeros), a type (graph), its fields and methods
(graph.layer, or layer alone), an operator of the standard (Conv), a function of the
shipped library (nn.conv); or of all that a file defines, named as load does
(@std//nn.star, ./layers.star). Without NAME, list the names.`,
		Args: args("at most NAME", 0, 1),
		RunE: func(cmd *cobra.Command, got []string) error {
			if man != "" {
				return a.manPages(cmd.Root(), man)
			}
			if len(got) == 1 && dir == "" && isFile(got[0]) {
				return a.docFile(cmd.Context(), got[0])
			}
			x, err := a.docs(cmd.Context())
			if err != nil {
				return err
			}
			if dir != "" {
				if len(got) > 0 {
					return usagef("doc: got a name and --html, want one of them: the pages hold all names")
				}
				n, err := x.WriteHTML(dir)
				if err == nil && a.quiet == 0 {
					fmt.Fprintf(a.stdout, "%d pages in %s\n", n, dir)
				}
				return err
			}
			if len(got) == 0 {
				_, err := io.WriteString(a.stdout, x.Overview())
				return err
			}
			e, err := x.Find(got[0])
			if err != nil {
				return usagef("doc: %w", err)
			}
			_, err = io.WriteString(a.stdout, e.Text)
			return err
		},
	}
	c.Flags().StringVar(&dir, "html", "", "write pages of all names into a folder")
	c.Flags().StringVar(&man, "man", "", "write the man pages of the commands into a folder")
	return c
}

// isFile reports whether a name is one that load takes.
func isFile(name string) bool {
	return strings.Contains(name, "//") || strings.HasSuffix(name, ".star")
}

// docFile prints the documentation of what a file of scripts defines.
func (a *app) docFile(ctx context.Context, name string) error {
	exports, err := a.host(scriptFlags{}).Module(ctx, name)
	if err == nil {
		_, err = io.WriteString(a.stdout, docs.File(name, exports))
	}
	return err
}

// docs returns the documentation of what scripts and their tests find defined, and
// of the shipped library.
func (a *app) docs(ctx context.Context) (*docs.Index, error) {
	h := a.host(scriptFlags{})
	names := maps.Clone(h.Predeclared())
	names["assert"] = assert.Module()
	x := docs.New(names, h.Env())
	for _, file := range starlarkgs.Shipped() {
		exports, err := h.Module(ctx, file)
		if err != nil {
			return nil, err
		}
		x.AddLibrary(file, exports)
	}
	return x, nil
}
