package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pretext/internal/config"
)

// configFlag names the file; it may stand in the environment too.
const configFlag = "config"

// Settings are where flags get values from that were not given.
type Settings struct {
	Prefix   string   // of environment variables, "PRETEXT_"
	Reserved []string // what may follow the prefix though it is no setting; "X_": whatever begins so

	// Misplaced is a prefix that people may take for this program's, of another's
	// variables, and Others what may follow it. Any other name of a flag of this
	// program is an error there; "": there is none.
	Misplaced string
	Others    []string

	// Example shows the use of the config command, with the name of the program.
	Example string

	// Preset puts a command's preset under its flags; nil: there is none. It is
	// asked by the config command alone: commands do it themselves.
	Preset func(*cobra.Command) error
}

// AddTo gives a program the flag --config and puts the settings into the flags
// of each command before it runs.
func (s *Settings) AddTo(root *cobra.Command) {
	root.PersistentFlags().String(configFlag, "", "YAML file with values for flags: keys are their names")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if _, ok := knownFlags(root)[nameOf(cmd)]; !ok {
			return nil // help, completion: they work whatever the settings
		}
		_, err := s.apply(cmd)
		return err
	}
}

// apply sets the flags that were not given and returns where each value came
// from, by flag.
func (s *Settings) apply(cmd *cobra.Command) (origins map[string]string, err error) {
	environment := config.Environment(s.Prefix, os.Environ(), s.Reserved)
	known := knownFlags(cmd.Root())
	if err := config.CheckEnvironment(environment, known); err != nil {
		return nil, err
	}
	if err := s.checkMisplaced(known); err != nil {
		return nil, err
	}
	settings, err := s.readFile(cmd, environment, known)
	if err != nil {
		return nil, err
	}
	origins = map[string]string{}
	cmd.Flags().Visit(func(f *pflag.Flag) { origins[f.Name] = "flag" })
	for _, setting := range config.Merge(settings, environment) {
		f := cmd.Flags().Lookup(setting.Key)
		if f == nil || origins[f.Name] == "flag" {
			continue // of another command, or given
		}
		if err := set(cmd.Flags(), f, setting); err != nil {
			return nil, err
		}
		origins[f.Name] = setting.Origin
	}
	return origins, nil
}

// checkMisplaced finds variables that were meant for this program and stand under
// the prefix of another.
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

// readFile returns what the file named says to the command.
func (s *Settings) readFile(cmd *cobra.Command, environment []config.Setting, known map[string][]string) ([]config.Setting, error) {
	path, _ := cmd.Flags().GetString(configFlag)
	if i := slices.IndexFunc(environment, func(e config.Setting) bool { return e.Key == configFlag }); i >= 0 && path == "" {
		path = environment[i].Values[0]
	}
	if path == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	file, err := config.Parse(filepath.Base(path), raw)
	if err != nil {
		return nil, err
	}
	for command, names := range known { // a file names no other
		known[command] = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == configFlag })
	}
	if err := file.Check(known); err != nil {
		return nil, err
	}
	return file.For(nameOf(cmd)), nil
}

// knownFlags returns the names of the flags of each command, and for one that has
// others below it those of all of them.
func knownFlags(root *cobra.Command) map[string][]string {
	known := map[string][]string{}
	for _, c := range withSettings(root) {
		names := []string{configFlag}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" && f.Name != configFlag {
				names = append(names, f.Name)
			}
		})
		known[nameOf(c)] = append(known[nameOf(c)], names...)
		if p := c.Parent(); p != root {
			known[nameOf(p)] = append(known[nameOf(p)], names...)
		}
	}
	return known
}

// withSettings returns the commands below one that have settings, in the order of
// help.
func withSettings(c *cobra.Command) (all []*cobra.Command) {
	for _, sub := range c.Commands() {
		if sub.Hidden || slices.Contains([]string{"help", "completion"}, sub.Name()) {
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

// nameOf is the name of a command in settings: its words below the program's.
func nameOf(c *cobra.Command) string {
	return strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), c.Root().Name()), " ")
}

// scalars are the types of flags that hold one value.
var scalars = []string{"bool", "int", "int32", "int64", "uint", "uint64", "float64", "string", "duration", "size", "tokens", "true|false|auto"}

// set gives a flag the values of a setting.
func set(fs *pflag.FlagSet, f *pflag.Flag, s config.Setting) error {
	if n := len(s.Values); n != 1 && slices.Contains(scalars, f.Value.Type()) {
		return &config.Error{Origin: s.Origin, Reason: fmt.Sprintf("%s takes one value, not %d", s.Key, n)}
	}
	for _, v := range s.Values {
		if err := fs.Set(f.Name, v); err != nil {
			return &config.Error{Origin: s.Origin, Reason: fmt.Sprintf("%s: %v", s.Key, err)}
		}
	}
	return nil
}
