package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pretext/internal/config"
	"pretext/internal/failure"
)

// Complain turns cobra's errors about the command line into usage errors that suggest the
// most similar command or flag. Call it after all commands were added.
func Complain(root *cobra.Command) {
	root.SetGlobalNormalizationFunc(Normalize)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return failure.Usage(Suggest(cmd, err)) })
	for _, c := range root.Commands() {
		complain(c)
	}
	root.Args = knownCommand
	root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
}

func complain(c *cobra.Command) {
	for _, sub := range c.Commands() {
		complain(sub)
	}
	args := c.Args
	if c.HasSubCommands() {
		args = knownCommand
	}
	if args == nil {
		return
	}
	c.Args = func(cmd *cobra.Command, a []string) error {
		if err := args(cmd, a); err != nil {
			return failure.Usage(err)
		}
		return nil
	}
}

// knownCommand is the Args function of a command that only has subcommands.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	hint := ""
	if near, ok := config.Nearest(args[0], names); ok {
		hint = fmt.Sprintf(", did you mean %s?", near)
	}
	return failure.Usagef("unknown command %q%s", strings.TrimPrefix(cmd.CommandPath()+" "+args[0], cmd.Root().Name()+" "), hint)
}
