package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pretext/internal/config"
	"pretext/internal/failure"
)

// Hints maps names that do not exist in a program to advice: the name that the user
// probably meant, or a sentence.
type Hints struct {
	// Flags maps flags of other tools to advice. Advice that begins with "--" names a
	// flag of this program, and is given only for commands that have this flag.
	Flags map[string]string

	// Commands maps unknown commands to the command that was probably meant. A value
	// with a blank is advice instead.
	Commands map[string]string
}

// Same adds names of other tools: both maps go from the name of a flag or command of
// this program to its names there.
func (h Hints) Same(flags, commands map[string][]string) {
	for flag, names := range flags {
		for _, name := range names {
			h.Flags[name] = "--" + flag
		}
	}
	for command, words := range commands {
		for _, word := range words {
			h.Commands[word] = command
		}
	}
}

// Complain turns cobra's errors about the command line into usage errors with advice, such
// as the most similar command or flag. Call it after all commands were added.
func (h Hints) Complain(root *cobra.Command) {
	root.SetGlobalNormalizationFunc(Normalize)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return failure.Usage(h.flagError(cmd, err)) })
	for _, c := range root.Commands() {
		h.complain(c)
	}
	root.InitDefaultHelpCmd()
	if help, _, err := root.Find([]string{"help"}); err == nil {
		help.Args = func(_ *cobra.Command, topic []string) error {
			found, rest, _ := root.Find(topic)
			return h.knownCommand(found, rest)
		}
	}
	root.Args = h.knownCommand
	root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
}

func (h Hints) complain(c *cobra.Command) {
	for _, sub := range c.Commands() {
		h.complain(sub)
	}
	args := c.Args
	if c.HasSubCommands() {
		args = h.knownCommand
	}
	if args == nil {
		return
	}
	c.Args = func(cmd *cobra.Command, a []string) error {
		if err := refuse(cmd.Flags()); err != nil {
			return err
		}
		err := args(cmd, a)
		if err != nil && !failure.IsUsage(err) {
			err = wrongArguments(cmd, a)
		}
		return err
	}
}

// knownCommand is the [cobra.Command] Args function for commands that only group
// subcommands. It returns a usage error for an unknown subcommand.
func (h Hints) knownCommand(cmd *cobra.Command, args []string) error {
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
	near, ok := h.Commands[strings.ToLower(args[0])]
	if !ok || cmd.HasParent() {
		near, ok = config.Nearest(strings.ToLower(args[0]), names)
	}
	switch {
	case ok && strings.Contains(near, " "):
		hint = ": " + near
	case ok:
		hint = fmt.Sprintf(", did you mean %s?", near)
	case cmd.HasParent():
		hint = ": must be one of " + strings.Join(names, ", ")
	}
	return failure.Usagef("unknown command %q%s", strings.TrimPrefix(cmd.CommandPath()+" "+args[0], cmd.Root().Name()+" "), hint)
}

// operands returns the names of a command's arguments in its usage line: A and B for
// "diff A B --json".
func operands(cmd *cobra.Command) (names []string) {
	for _, word := range strings.Fields(cmd.Use)[1:] {
		if strings.HasPrefix(word, "-") || strings.HasPrefix(word, "[") {
			break
		}
		names = append(names, word)
	}
	return names
}

// wrongArguments returns the error for a wrong number of arguments.
func wrongArguments(cmd *cobra.Command, args []string) error {
	if err := StrayWord(cmd, args); err != nil {
		return err
	}
	wanted := operands(cmd)
	takes := fmt.Sprintf("takes %d arguments, %s,", len(wanted), strings.Join(wanted, " and "))
	switch {
	case strings.HasPrefix(cmd.Short, "Filter: "):
		return failure.Usagef("%s reads standard input: %s < %s", cmd.Name(), cmd.CommandPath(), args[0])
	case len(wanted) == 0:
		return failure.Usagef("%q is not a flag, and %s takes no arguments", args[0], cmd.Name())
	case len(wanted) == 1:
		takes = "takes one argument, " + wanted[0] + ","
	}
	return failure.Usagef("%s %s and got %d: %s %s", cmd.Name(), takes, len(args), cmd.Parent().CommandPath(), cmd.Use)
}

// StrayWord returns a usage error if an argument was probably meant as the value of a
// flag, or is a flag whose two hyphens a text editor replaced by a dash.
func StrayWord(cmd *cobra.Command, words []string) error {
	if err := forgotten(cmd.Flags()); err != nil {
		return err
	}
	for _, word := range words {
		rest := strings.TrimLeft(word, "-\u2010\u2011\u2012\u2013\u2014\u2212")
		if rest != word && !strings.HasPrefix(word, "-") {
			return failure.Usagef("%q begins with a dash that is no hyphen: write --%s", word, rest)
		}
		var switches []string
		cmd.Flags().Visit(func(f *pflag.Flag) {
			if f.NoOptDefVal == "true" {
				switches = append(switches, "--"+f.Name+"="+word)
			}
		})
		if len(switches) > 0 && slices.Contains([]string{"true", "false", "yes", "no", "on", "off", "0", "1"}, strings.ToLower(word)) {
			return failure.Usagef("%q is no argument: the value of a flag that is true or false follows =, as in %s", word, strings.Join(switches, " or "))
		}
	}
	return nil
}

// places are the flags for paths, whose values must not be empty. An empty value usually
// comes from an unset shell variable.
var places = []string{"out", "vocab", "vocab-file", "tokenizer", "data", "eval-data", "init", "model", "resume-from", "config", "books", "wiki-dump", "wiki-html", "data-dir", "train-file", "predict-file"}

// forgotten returns a usage error if the value of a flag is empty or is probably not
// a value: another flag (--out --quiet would make a directory called --quiet), or the
// rest of the flag's own name (-out is parsed as -o ut).
func forgotten(fs *pflag.FlagSet) (err error) {
	fs.Visit(func(f *pflag.Flag) {
		rest, short := strings.CutPrefix(f.Name, cmp.Or(f.Shorthand, " "))
		value, _, _ := strings.Cut(f.Value.String(), "=")
		switch {
		case err != nil:
			return
		case f.Value.String() == "" && slices.Contains(places, f.Name):
			err = failure.Usagef("--%s is empty: give it a value, or leave it out", f.Name)
			return
		case short && rest != "" && value == rest:
			err = failure.Usagef("-%s is read as -%s %s: write --%s", f.Name, f.Shorthand, rest, f.Name)
			return
		}
		name, isFlag := strings.CutPrefix(f.Value.String(), "--")
		if i := strings.IndexAny(name, "=,"); i >= 0 {
			name = name[:i]
		}
		if isFlag && fs.Lookup(name) != nil {
			err = failure.Usagef("--%s %s: give --%s a value first", f.Name, f.Value, f.Name)
		}
	})
	return err
}

// flagError adds advice to an error from parsing flags.
func (h Hints) flagError(cmd *cobra.Command, err error) error {
	var missing *pflag.NotExistError
	var empty *pflag.ValueRequiredError
	var wrong *pflag.InvalidValueError
	switch {
	case errors.As(err, &wrong) && IsSetting(wrong.GetFlag()):
		return notAFlag(wrong.GetFlag())
	case errors.As(err, &empty) && IsSetting(empty.GetFlag()):
		return notAFlag(empty.GetFlag())
	case errors.As(err, &wrong):
		return wrongValue(wrong.GetFlag(), wrong.GetValue(), wrong.Unwrap())
	case errors.As(err, &empty):
		_, usage := pflag.UnquoteUsage(empty.GetFlag())
		return fmt.Errorf("--%s: give it a value: %s", empty.GetFlag().Name, usage)
	case errors.As(err, &missing):
		return h.unknownFlag(cmd, missing)
	}
	return err
}

// unknownFlag returns the error for an unknown flag, with the flag that was probably meant.
func (h Hints) unknownFlag(cmd *cobra.Command, err *pflag.NotExistError) error {
	name := config.Normal(err.GetSpecifiedName())
	if words := cmd.Flags().Args(); !cmd.HasParent() && len(words) > 0 {
		return h.knownCommand(cmd, words)
	}
	if short := err.GetSpecifiedShortnames(); short != "" { // -model is read as -m -o -d -e -l
		word, _, _ := strings.Cut(config.Normal(short), "=")
		if cmd.Flags().Lookup(word) == nil {
			return err
		}
		return fmt.Errorf("unknown flag: -%s, did you mean --%s?", word, word)
	}
	if cure, ok := h.Flags[name]; ok {
		flag, _, _ := strings.Cut(strings.TrimPrefix(cure, "--"), " ")
		flag = strings.TrimRight(flag, ":,")
		switch {
		case !strings.HasPrefix(cure, "--"):
			return fmt.Errorf("%w: %s", err, cure)
		case cmd.Flags().Lookup(flag) == nil:
		case IsSetting(cmd.Flags().Lookup(flag)):
			return fmt.Errorf("%w: here it is --set %s=VALUE", err, flag)
		default:
			return fmt.Errorf("%w: here it is %s", err, cure)
		}
	}
	for _, operand := range operands(cmd) {
		if strings.EqualFold(name, strings.TrimRight(operand, ".")) {
			return fmt.Errorf("%w: it needs no name: %s %s", err, cmd.Parent().CommandPath(), cmd.Use)
		}
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near, ok := config.Nearest(name, names); ok {
		if IsSetting(cmd.Flags().Lookup(near)) {
			near = "set " + near + "=VALUE"
		}
		return fmt.Errorf("%w, did you mean --%s?", err, near)
	}
	if others := commandsWith(cmd.Root(), name); len(others) > 0 && !cmd.HasParent() {
		return fmt.Errorf("%w: name the command first: %s %s --%s", err, cmd.Name(), others[len(others)-1], name)
	} else if len(others) > 0 {
		return fmt.Errorf("%w: %s does not have it, %s do", err, nameOf(cmd), strings.Join(others, ", "))
	}
	return err
}

// commandsWith returns the names of the commands that have the given flag.
func commandsWith(root *cobra.Command, flag string) (names []string) {
	for _, c := range withSettings(root) {
		if c.LocalFlags().Lookup(flag) != nil {
			names = append(names, nameOf(c))
		}
	}
	return names
}
