package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pretext/internal/config"
	"pretext/internal/store"
)

// configFlag is the flag for the settings file. It can also be set in the environment.
const configFlag = "config"

// Settings are the sources of values for flags that were not given.
type Settings struct {
	Prefix   string   // of environment variables, such as "PRETEXT_"
	Reserved []string // names after the prefix that are not settings; "X_" reserves all that begin with it

	// Misplaced is the prefix of the environment variables of another program; "": none.
	// A variable with this prefix and the name of a flag of this program is an error,
	// unless Others contains the name (without the prefix).
	Misplaced string
	Others    []string

	// Example is the example in the help of the config command.
	Example string

	// Bundle is a flag that names a second file of settings; the zero value: no such flag.
	Bundle Bundle

	// Preset sets the flags of a command from its preset; nil: no presets. Only the
	// config command calls it; other commands do this themselves.
	Preset func(*cobra.Command) error
}

// A Bundle is a flag for a file of related settings, such as those of a cluster. The file
// has the format of the --config file and takes precedence over it.
type Bundle struct {
	Flag    string
	Keys    []string // keys allowed in the file
	Implied string   // KEY=VALUE, a setting that the use of the flag implies
}

// AddTo adds the flags --config and --set to a program. Before a command runs, its flags
// are set from the settings.
func (s *Settings) AddTo(root *cobra.Command) {
	root.PersistentFlags().String(configFlag, "", "YAML file of settings; its keys are flag names and settings")
	root.PersistentFlags().StringArray(setFlag, nil, fmt.Sprintf("`NAME=VALUE` sets a flag or a setting that has no flag; %q lists these", root.Name()+" help settings"))
	err := root.RegisterFlagCompletionFunc(setFlag, func(cmd *cobra.Command, _ []string, _ string) (names []string, _ cobra.ShellCompDirective) {
		for _, f := range settingsOf(cmd) {
			names = append(names, f.Name+"=\t"+f.Usage)
		}
		return names, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic("BUG: " + err.Error()) // registered twice
	}
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if _, ok := knownFlags(root)[nameOf(cmd)]; !ok {
			return nil // help and completion work even if the settings are invalid
		}
		if err := forgotten(cmd.Flags()); err != nil {
			return err
		}
		_, err := s.apply(cmd)
		return err
	}
}

// apply sets the flags that were not given and returns the origin of each value, by
// flag.
func (s *Settings) apply(cmd *cobra.Command) (origins map[string]string, err error) {
	environment := config.Environment(s.Prefix, os.Environ(), s.Reserved)
	known := knownFlags(cmd.Root())
	if err := config.CheckEnvironment(environment, known); err != nil {
		return nil, err
	}
	if err := s.checkMisplaced(known); err != nil {
		return nil, err
	}
	if err := refuse(cmd.Flags()); err != nil {
		return nil, err
	}
	given, err := readSet(cmd)
	if err != nil {
		return nil, err
	}
	environment = config.Merge(environment, given)
	settings, err := s.readFiles(cmd, environment, known)
	if err != nil {
		return nil, err
	}
	origins = map[string]string{}
	cmd.Flags().Visit(func(f *pflag.Flag) { origins[f.Name] = "flag" })
	for _, setting := range config.Merge(settings, environment) {
		f := cmd.Flags().Lookup(setting.Key)
		if f == nil || setting.Key == configFlag || origins[f.Name] == "flag" {
			continue // a flag of another command, or given on the command line
		}
		if err := set(cmd.Flags(), f, setting); err != nil {
			return nil, err
		}
		origins[f.Name] = setting.Origin
	}
	return origins, nil
}

// checkMisplaced returns an error if the environment has a flag of this program under the
// prefix of the other program.
func (s *Settings) checkMisplaced(known map[string][]string) error {
	if s.Misplaced == "" {
		return nil
	}
	for _, setting := range config.Environment(s.Misplaced, os.Environ(), s.Others) {
		name := setting.Origin[len(s.Misplaced):]
		for _, flags := range known {
			if slices.Contains(flags, setting.Key) {
				return &config.Error{Origin: setting.Origin, Reason: "this environment variable is no setting of this program, did you mean " + s.Prefix + name + "?"}
			}
		}
	}
	return nil
}

// readFiles returns the settings for a command from the settings file and the bundle.
// Flags or the environment give the names of these files.
func (s *Settings) readFiles(cmd *cobra.Command, environment []config.Setting, known map[string][]string) (settings []config.Setting, err error) {
	path := func(flag string, settings []config.Setting) string {
		if f := cmd.Flags().Lookup(flag); f != nil && f.Changed {
			return f.Value.String()
		}
		if i := slices.IndexFunc(settings, func(e config.Setting) bool { return e.Key == flag }); i >= 0 {
			return settings[i].Values[0]
		}
		return ""
	}
	if path := path(configFlag, environment); path != "" {
		for command, names := range known { // a file cannot name another file
			known[command] = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == configFlag })
		}
		file, err := parseFile(cmd, path, known)
		if err != nil {
			return nil, err
		}
		settings = file.For(nameOf(cmd), cmd.Aliases...)
	}
	if cmd.Flags().Lookup(s.Bundle.Flag) == nil {
		return settings, nil
	}
	if path := path(s.Bundle.Flag, config.Merge(settings, environment)); path != "" {
		file, err := parseFile(cmd, path, map[string][]string{"": s.Bundle.Keys})
		if err != nil {
			return nil, err
		}
		key, value, _ := strings.Cut(s.Bundle.Implied, "=")
		implied := []config.Setting{{Key: key, Values: []string{value}, Origin: "--" + s.Bundle.Flag}}
		settings = config.Merge(settings, config.Merge(implied, file.For("")))
	}
	return settings, nil
}

// parseFile reads a file whose keys must be known ones.
func parseFile(cmd *cobra.Command, path string, known map[string][]string) (*config.File, error) {
	raw, err := store.ReadSmall(cmd.Root().Context(), path, store.Settings) // Root has the context, because the command config does not run cmd
	if err != nil {
		return nil, err
	}
	file, err := config.Parse(filepath.Base(path), raw)
	if err != nil {
		return nil, err
	}
	return file, file.Check(known)
}

// knownFlags returns the names of the flags of each command. A command with
// subcommands has the flags of all of them.
func knownFlags(root *cobra.Command) map[string][]string {
	known := map[string][]string{}
	for _, c := range withSettings(root) {
		names := []string{configFlag}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" && f.Name != configFlag {
				names = append(names, f.Name)
			}
		})
		for _, name := range append(c.Aliases, nameOf(c)) {
			known[name] = append(known[name], names...)
		}
		if p := c.Parent(); p != root {
			known[nameOf(p)] = append(known[nameOf(p)], names...)
		}
	}
	return known
}

// withSettings returns the subcommands that have settings, in the order of the help
// text.
func withSettings(c *cobra.Command) (all []*cobra.Command) {
	for _, sub := range c.Commands() {
		if sub.Hidden || !sub.Runnable() || slices.Contains([]string{"help", "completion"}, sub.Name()) {
			continue
		}
		if below := withSettings(sub); len(below) > 0 {
			all = append(all, below...)
			continue
		}
		all = append(all, sub)
	}
	return all
}

// nameOf returns the name of a command in settings: its path without the program.
func nameOf(c *cobra.Command) string {
	return strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), c.Root().Name()), " ")
}

// scalars are the types of flags that take a single value.
var scalars = []string{"bool", "int", "int32", "int64", "uint", "uint64", "float64", "string", "duration", "size", "tokens", "true|false|auto"}

// set sets flag f to the values of a setting. It returns an error if the flag takes one
// value and the setting has several.
func set(fs *pflag.FlagSet, f *pflag.Flag, s config.Setting) error {
	if n := len(s.Values); n != 1 && slices.Contains(scalars, f.Value.Type()) {
		return &config.Error{Origin: s.Origin, Reason: fmt.Sprintf("%s takes one value, not %d", s.Key, n)}
	}
	for _, v := range s.Values {
		if err := fs.Set(f.Name, v); err != nil {
			if wrong := (*pflag.InvalidValueError)(nil); errors.As(err, &wrong) {
				err = fmt.Errorf("%q: %w", v, plainCause(f.Value.Type(), v, wrong.Unwrap()))
			}
			return &config.Error{Origin: s.Origin, Reason: fmt.Sprintf("%s: %v", s.Key, err)}
		}
	}
	return nil
}
