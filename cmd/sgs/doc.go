package main

import (
	"fmt"
	"io"
	"maps"

	"github.com/spf13/cobra"

	"github.com/starlarkgs/starlarkgs/builtins/assert"
	"github.com/starlarkgs/starlarkgs/builtins/docs"
)

func newDoc(a *app) *cobra.Command {
	var dir, man string
	c := &cobra.Command{
		Use:   "doc [NAME]",
		Short: "Print the documentation of any name that scripts use",
		Long: `Print the documentation of any name that scripts use: a function (fold), a module
(np) or a member of one (np.zeros), a type (graph), its fields and methods
(graph.layer, or layer alone), an operator of the standard (Conv). Without NAME, list
the names.`,
		Args: args("at most NAME", 0, 1),
		RunE: func(cmd *cobra.Command, got []string) error {
			if man != "" {
				return a.manPages(cmd.Root(), man)
			}
			x := a.docs()
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

// docs returns the documentation of what scripts and their tests find defined.
func (a *app) docs() *docs.Index {
	h := a.host(scriptFlags{})
	names := maps.Clone(h.Predeclared())
	names["assert"] = assert.Module()
	return docs.New(names, h.Env())
}
