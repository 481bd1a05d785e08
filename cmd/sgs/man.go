package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/starlarkgs/starlarkgs/internal/atomicfile"
)

// manPages writes a page for each command. The library's own way would bring a
// reader of Markdown, which costs every start of the command.
func (a *app) manPages(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	n := 0
	var write func(c *cobra.Command) error
	write = func(c *cobra.Command) error {
		if c.Hidden {
			return nil
		}
		n++
		file := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		if err := atomicfile.Replace(filepath.Join(dir, file), []byte(manPage(c))); err != nil {
			return err
		}
		for _, sub := range c.Commands() {
			if err := write(sub); err != nil {
				return err
			}
		}
		return nil
	}
	if err := write(root); err != nil {
		return err
	}
	if a.quiet == 0 {
		fmt.Fprintf(a.stdout, "%d pages in %s\n", n, dir)
	}
	return nil
}

// manPage writes the page of a command in the macros of man(7).
func manPage(c *cobra.Command) string {
	var b strings.Builder
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"sgs %s\" \"Starlark GraphSurgeon\"\n", roff(strings.ToUpper(name)), version)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(c.UseLine()))
	if c.Long != "" {
		fmt.Fprintf(&b, ".SH DESCRIPTION\n.nf\n%s\n.fi\n", roff(c.Long))
	}
	manFlags(&b, "OPTIONS", c.NonInheritedFlags())
	manFlags(&b, "GLOBAL OPTIONS", c.InheritedFlags())
	b.WriteString(manSeeAlso(c))
	return b.String()
}

func manFlags(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		short := ""
		if f.Shorthand != "" {
			short = "-" + f.Shorthand + ", "
		}
		value, usage := pflag.UnquoteUsage(f)
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace(short+"--"+f.Name+" "+value)), roff(usage))
	})
}

func manSeeAlso(c *cobra.Command) string {
	var names []string
	if c.HasParent() {
		names = append(names, c.Parent().CommandPath())
	}
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			names = append(names, sub.CommandPath())
		}
	}
	for i, name := range names {
		names[i] = ".BR " + roff(strings.ReplaceAll(name, " ", "-")) + " (1)"
	}
	if len(names) == 0 {
		return ""
	}
	return ".SH SEE ALSO\n" + strings.Join(names, "\n") + "\n"
}

// roff escapes a text, so that no line of it is a macro and no dash a hyphen.
func roff(s string) string {
	s = strings.NewReplacer("\\", "\\e", "-", "\\-").Replace(s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = "\\&" + l
		}
	}
	return strings.Join(lines, "\n")
}
