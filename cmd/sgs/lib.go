package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/starlarkgs/starlarkgs/internal/oplib"
	"github.com/starlarkgs/starlarkgs/internal/oplib/gitsource"
)

func newLib(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "lib add|update|vendor|verify|list",
		Short: "The op libraries of a project: sgs.toml and sgs.lock",
		Long: `The op libraries of a project.

A project is the folder of a file sgs.toml, here or above. It names libraries, which
scripts load as @NAME//FILE.star:

  [libs.acme]
  git = "https://example.com/acme-ops.git"
  rev = "v1.2.0"

  [libs.mine]
  path = "../ops"

sgs.lock pins what each was, to the byte, and a script gets that or an error. Only
these commands reach the network; a load never does.`,
		Args: noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(a.libAdd(), a.libUpdate(), a.libVendor(), a.libVerify(), a.libList())
	return c
}

func (a *app) libAdd() *cobra.Command {
	var s oplib.Source
	c := &cobra.Command{
		Use:   "add NAME SOURCE",
		Short: "Name a library in sgs.toml and pin it",
		Long: `Name a library in sgs.toml, which is made where there is none, and pin it.

SOURCE is the address of a git repository, or a folder. A folder is taken as a git
repository when --rev is given, or when its name ends in .git.`,
		Args: args("NAME and SOURCE", 2, 2),
		RunE: func(cmd *cobra.Command, got []string) error {
			if err := oplib.CheckName(got[0]); err != nil {
				return usagef("lib add: %w", err)
			}
			root, err := projectFolder()
			if err != nil {
				return err
			}
			if err := setSource(&s, got[1], root); err != nil {
				return err
			}
			change, err := oplib.Add(cmd.Context(), root, got[0], s, gitsource.Fetch)
			if err != nil {
				return libStatus(err)
			}
			a.showChange(*change)
			return nil
		},
	}
	c.Flags().StringVar(&s.Rev, "rev", "", "the tag, branch or commit of the repository (default HEAD)")
	c.Flags().StringVar(&s.Dir, "dir", "", "the folder of the repository that is the library (default: the whole)")
	return c
}

// projectFolder returns the folder of the project that the current folder is in,
// or the current one.
func projectFolder() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	if root := oplib.Find(here); root != "" {
		return root, nil
	}
	return here, nil
}

// setSource tells a folder from a repository. A path is written relative to the
// project, as it was to the current folder.
func setSource(s *oplib.Source, address, root string) error {
	local := oplib.IsLocal(address) && !strings.HasPrefix(address, "file://")
	isGit := !local || s.Rev != "" || s.Dir != "" || strings.HasSuffix(address, ".git")
	if local && !filepath.IsAbs(address) {
		abs, err := filepath.Abs(address)
		if err != nil {
			return err
		}
		if address, err = filepath.Rel(root, abs); err != nil {
			return err
		}
		address = filepath.ToSlash(address)
	}
	if !isGit {
		s.Path = address
		return nil
	}
	s.Git = address
	if s.Rev == "" {
		s.Rev = "HEAD"
	}
	return nil
}

// withProject wraps a command that takes names of libraries.
func withProject(run func(cmd *cobra.Command, p *oplib.Project, names []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, names []string) error {
		root, err := projectFolder()
		if err != nil {
			return err
		}
		if oplib.Find(root) == "" {
			return &statusError{exitFile, fmt.Errorf("%s: no %s here or above (sgs lib add NAME SOURCE makes one)", cmd.CommandPath()[len("sgs "):], oplib.ManifestFile)}
		}
		p, err := oplib.Open(root)
		if err != nil {
			return &statusError{exitFile, err}
		}
		return libStatus(run(cmd, p, names))
	}
}

// libStatus gives the errors of libraries their exit status: a name that is not
// known is usage, files that are not as pinned are a verdict, all else is a file
// that can't be read.
func libStatus(err error) error {
	var unknown *oplib.UnknownError
	var changed *oplib.ChangedError
	var own *statusError
	switch {
	case err == nil, errors.As(err, &own):
		return err
	case errors.As(err, &unknown):
		return &statusError{exitUsage, err}
	case errors.As(err, &changed):
		return &statusError{exitBad, err}
	}
	return &statusError{exitFile, err}
}

func (a *app) libUpdate() *cobra.Command {
	return &cobra.Command{
		Use:   "update [NAMES]",
		Short: "Pin what the sources of libraries are now",
		RunE: withProject(func(cmd *cobra.Command, p *oplib.Project, names []string) error {
			changes, err := p.Update(cmd.Context(), names, gitsource.Fetch)
			for _, c := range changes {
				a.showChange(c)
			}
			return err
		}),
	}
}

func (a *app) showChange(c oplib.Change) {
	verb := "pinned"
	switch {
	case a.quiet > 0:
		return
	case c.From == c.To:
		verb = "unchanged"
	case c.From != "":
		verb = "updated"
	}
	at := ""
	if c.Commit != "" {
		at = fmt.Sprintf(" (commit %.12s)", c.Commit)
	}
	fmt.Fprintf(a.stdout, "%s %s %s%s\n", c.Name, verb, c.To, at)
}

func (a *app) libVendor() *cobra.Command {
	return &cobra.Command{
		Use:   "vendor [NAMES]",
		Short: "Copy libraries as they are pinned to sgs_libs, for use without their sources",
		RunE: withProject(func(cmd *cobra.Command, p *oplib.Project, names []string) error {
			done, err := p.Vendor(cmd.Context(), names, gitsource.Fetch)
			if err != nil {
				return err
			}
			if a.quiet == 0 {
				for _, name := range done {
					fmt.Fprintf(a.stdout, "%s vendored to %s/%s\n", name, oplib.VendorFolder, name)
				}
			}
			return nil
		}),
	}
}

func (a *app) libVerify() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "verify",
		Short: "Fetch what is pinned and missing, and check every byte; exit status 1 when one differs",
		Args:  args("none", 0, 0),
		RunE: withProject(func(cmd *cobra.Command, p *oplib.Project, _ []string) error {
			all, err := p.Verify(cmd.Context(), gitsource.Fetch)
			if err != nil {
				return err
			}
			return a.showLibs(all, asJSON, true)
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return c
}

func (a *app) libList() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the libraries, where they come from and where they are kept",
		Args:  args("none", 0, 0),
		RunE: withProject(func(_ *cobra.Command, p *oplib.Project, _ []string) error {
			return a.showLibs(p.List(), asJSON, false)
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return c
}

// showLibs prints what is known of the libraries. As a verdict, one that can't be
// loaded is bad.
func (a *app) showLibs(all []oplib.Status, asJSON, verdict bool) error {
	wrong := 0
	for _, s := range all {
		if s.Error != "" {
			wrong++
		}
		if asJSON {
			continue
		}
		text := fmt.Sprintf("%s  %s  %s", s.Name, s.State, s.Source)
		if s.Commit != "" {
			text += fmt.Sprintf(" (commit %.12s)", s.Commit)
		}
		fmt.Fprintln(a.stdout, text)
		if s.Error != "" {
			fmt.Fprintf(a.stdout, "  %s\n", s.Error)
		}
	}
	if asJSON {
		if err := a.printJSON(all); err != nil {
			return err
		}
	} else if verdict {
		fmt.Fprintf(a.stdout, "%d verified, %d wrong\n", len(all)-wrong, wrong)
	}
	if verdict && wrong > 0 {
		return bad()
	}
	return nil
}
