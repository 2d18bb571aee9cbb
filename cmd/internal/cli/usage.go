package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pretext/internal/config"
)

// A UsageError is a wrong option or argument, or options and files that do not
// fit together.
type UsageError struct{ Err error }

// Usagef returns a [UsageError] with a message.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

func (e UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e UsageError) Unwrap() error { return e.Err }

// Usage marks the error for the exit code, as errors of other packages do.
func (e UsageError) Usage() bool { return true }

// Complain makes errors of usage of what cobra finds wrong with the command line
// of a program, each with what was meant where that can be told. It is called
// when all commands are there.
func Complain(root *cobra.Command) {
	root.SetGlobalNormalizationFunc(Normalize)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return UsageError{Suggest(cmd, err)} })
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
			return UsageError{err}
		}
		return nil
	}
}

// knownCommand is the Args of a command that only holds others.
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
	return Usagef("unknown command %q%s", strings.TrimPrefix(cmd.CommandPath()+" "+args[0], cmd.Root().Name()+" "), hint)
}
