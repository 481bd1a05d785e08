package main

import (
	"github.com/spf13/cobra"

	"github.com/starlarkgs/starlarkgs/internal/spell"
)

// newCompletion prints what a shell needs to complete command lines.
func newCompletion(a *app) *cobra.Command {
	shells := map[string]func(*cobra.Command) error{
		"bash":       func(root *cobra.Command) error { return root.GenBashCompletionV2(a.stdout, true) },
		"zsh":        func(root *cobra.Command) error { return root.GenZshCompletion(a.stdout) },
		"fish":       func(root *cobra.Command) error { return root.GenFishCompletion(a.stdout, true) },
		"powershell": func(root *cobra.Command) error { return root.GenPowerShellCompletionWithDesc(a.stdout) },
	}
	names := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print what a shell needs to complete command lines",
		Long: `Print what a shell needs to complete command lines. To use it at once:

  bash        source <(sgs completion bash)
  zsh         source <(sgs completion zsh)
  fish        sgs completion fish | source
  powershell  sgs completion powershell | Out-String | Invoke-Expression`,
		ValidArgs: names,
		Args:      args("bash, zsh, fish or powershell", 1, 1),
		RunE: func(cmd *cobra.Command, got []string) error {
			generate := shells[got[0]]
			if generate == nil {
				return usagef("completion: got %q, want bash, zsh, fish or powershell%s", got[0], spell.Hint(got[0], names))
			}
			return generate(cmd.Root())
		},
	}
}

// newHelp is the command help, for which a command that is not there is an error
// of usage.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Explain a command",
		ValidArgsFunction: func(cmd *cobra.Command, got []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			if of, rest, err := cmd.Root().Find(got); err == nil && len(rest) == 0 {
				for _, c := range of.Commands() {
					if c.IsAvailableCommand() {
						names = append(names, c.Name()+"\t"+c.Short)
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, got []string) error {
			of, rest, err := cmd.Root().Traverse(got)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return noCommand(of, rest)
			}
			of.InitDefaultHelpFlag()
			return of.Help()
		},
	}
}

// noCommand is the check of arguments of a command that has only sub-commands.
func noCommand(cmd *cobra.Command, got []string) error {
	if len(got) > 0 {
		return usagef("unknown command %q%s", got[0], suggestions(cmd, got[0]))
	}
	return nil
}
