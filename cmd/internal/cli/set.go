package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pretext/internal/config"
	"pretext/internal/failure"
)

// setFlag is the flag that gives any setting on the command line.
const setFlag = "set"

// IsSetting reports whether an option has no flag of its own: it is given with --set, in
// the settings file or in the environment.
func IsSetting(f *pflag.Flag) bool { return len(f.Annotations[settingKey]) > 0 }

// hideSettings marks the settings of a command.
func hideSettings(c *cobra.Command, groups []Group) {
	place := 0
	for _, g := range groups {
		for _, entry := range g.Settings {
			place++
			name, only, some := strings.Cut(entry, "@")
			f := c.Flags().Lookup(name)
			if f == nil || some && !slices.Contains(strings.Split(only, ","), nameOf(c)) {
				continue
			}
			f.Hidden = true
			f.Annotations = map[string][]string{settingKey: {g.Heading, strconv.Itoa(place)}}
		}
	}
}

// settingsOf returns the settings of a command.
func settingsOf(c *cobra.Command) (all []*pflag.Flag) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if IsSetting(f) {
			all = append(all, f)
		}
	})
	return all
}

// settingNames returns the paragraph that lists a command's settings in its help.
func settingNames(c *cobra.Command) string {
	groups := byHeading(settingsOf(c), settingKey)
	if len(groups) == 0 {
		return ""
	}
	text := fmt.Sprintf("\n\nSettings, as --set NAME=VALUE or in the file of --config (see %q):", c.Root().Name()+" help settings")
	for _, g := range groups {
		line := "\n  " + g.heading + ":"
		for i, f := range g.flags {
			word := " " + f.Name
			if i < len(g.flags)-1 {
				word += ","
			}
			if len(line)+len(word) > 100 {
				text, line = text+line, "\n     "
			}
			line += word
		}
		text += line
	}
	return text
}

// addTopic adds the help topic that lists the settings of all commands. The text is
// written only when a user asks for the topic.
func addTopic(root *cobra.Command) {
	topic := &cobra.Command{Use: settingsTopic, Short: "The settings that have no flag"}
	show := root.HelpFunc()
	topic.SetHelpFunc(func(c *cobra.Command, args []string) {
		c.Long = Described(c)
		show(c, args)
	})
	root.AddCommand(topic)
}

const settingsTopic = "settings"

// Described returns the long description of a command. If there is none, it returns the
// short one as a sentence.
func Described(c *cobra.Command) string {
	switch {
	case c.Name() == settingsTopic && !c.Runnable():
		return describeSettings(c.Root())
	case c.Long != "":
		return c.Long
	}
	return c.Short + "."
}

// describeSettings returns the text of the help topic on settings.
func describeSettings(root *cobra.Command) string {
	type use struct {
		flag     *pflag.Flag
		commands string
	}
	var uses []use
	for _, c := range withSettings(root) {
		for _, f := range settingsOf(c) {
			i := slices.IndexFunc(uses, func(u use) bool { return u.flag.Name == f.Name && meaning(u.flag) == meaning(f) })
			if i < 0 {
				uses = append(uses, use{f, nameOf(c)})
			} else {
				uses[i].commands += ", " + nameOf(c)
			}
		}
	}
	slices.SortStableFunc(uses, func(a, b use) int { return cmp.Compare(placeOf(a.flag, settingKey), placeOf(b.flag, settingKey)) })
	text := fmt.Sprintf(`Settings are options that are rarely given and have no flag. Set them with --set,
which may be repeated, in the file of --config, or in the environment:

  %s COMMAND --set NAME=VALUE

NAME alone sets one that is true or false; a list takes several --set. A flag can be
set the same way. "%[1]s config COMMAND" shows the values that a command would use.
The commands that have a setting stand in brackets.
`, root.Name())
	for len(uses) > 0 {
		heading := uses[0].flag.Annotations[settingKey][0]
		n := slices.IndexFunc(uses, func(u use) bool { return u.flag.Annotations[settingKey][0] != heading })
		if n < 0 {
			n = len(uses)
		}
		group := uses[:n]
		uses = uses[n:]
		same := !slices.ContainsFunc(group, func(u use) bool { return u.commands != group[0].commands })
		text += "\n" + heading
		if same {
			text += " (" + group[0].commands + ")"
		}
		text += ":\n"
		lines, width := make([]string, len(group)), 0
		for i, u := range group {
			argument, _ := pflag.UnquoteUsage(u.flag)
			lines[i] = strings.TrimRight("  "+u.flag.Name+" "+argument, " ")
			width = max(width, len(lines[i]))
		}
		for i, u := range group {
			text += fmt.Sprintf("%-*s  %s", width, lines[i], meaning(u.flag))
			if !same {
				text += " [" + u.commands + "]"
			}
			text += "\n"
		}
	}
	return strings.TrimRight(text, "\n")
}

// meaning returns the usage of a flag with its default.
func meaning(f *pflag.Flag) string {
	_, usage := pflag.UnquoteUsage(f)
	if d := f.DefValue; !slices.Contains([]string{"", "false", "[]", "0", "0 B"}, d) {
		usage += " (default " + d + ")"
	}
	return usage
}

// refuse returns a usage error if a setting was given as if it were a flag.
func refuse(fs *pflag.FlagSet) (err error) {
	fs.Visit(func(f *pflag.Flag) {
		if err == nil && IsSetting(f) {
			err = notAFlag(f)
		}
	})
	return err
}

// notAFlag returns the error for a setting that was given as a flag.
func notAFlag(f *pflag.Flag) error {
	value := "=" + f.Value.String()
	if list, ok := f.Value.(interface{ GetSlice() []string }); ok {
		value = "=" + strings.Join(list.GetSlice(), ",")
	}
	switch {
	case f.Value.Type() == "bool" && f.Value.String() == "true":
		value = ""
	case value == "=" || f.Value.Type() == "size":
		argument, _ := pflag.UnquoteUsage(f)
		value = "=" + strings.ToUpper(argument)
	}
	return failure.Usagef("%s is a setting, not a flag: write --set %s%s, or %s in the file of --config", f.Name, f.Name, value, strings.ReplaceAll(f.Name, "-", "_"))
}

// readSet returns the settings that --set gives a command.
func readSet(cmd *cobra.Command) (settings []config.Setting, err error) {
	given, err := cmd.Flags().GetStringArray(setFlag)
	if err != nil {
		return nil, err
	}
	for _, text := range given {
		name, value, assigned := strings.Cut(text, "=")
		key := config.Normal(strings.TrimLeft(name, "-"))
		f := cmd.Flags().Lookup(key)
		switch {
		case f == nil || slices.Contains([]string{setFlag, configFlag, "help"}, key):
			var names []string
			cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
			near, _ := config.Nearest(key, names)
			hint := fmt.Sprintf("see %q", cmd.Root().Name()+" help settings")
			if near != "" {
				hint = fmt.Sprintf("did you mean %s?", near)
			}
			return nil, failure.Usagef("--set %s: %s has no setting of that name; %s", name, nameOf(cmd), hint)
		case !assigned && f.NoOptDefVal == "":
			_, usage := pflag.UnquoteUsage(f)
			return nil, failure.Usagef("--set %s: give it a value, --set %s=VALUE: %s", name, name, usage)
		case !assigned:
			value = f.NoOptDefVal
		}
		i := slices.IndexFunc(settings, func(s config.Setting) bool { return s.Key == key })
		if i < 0 {
			i, settings = len(settings), append(settings, config.Setting{Key: key, Origin: "--set"})
		}
		if slices.Contains(scalars, f.Value.Type()) {
			settings[i].Values = nil // if NAME is repeated, the last value is used, as for a flag
		}
		settings[i].Values = append(settings[i].Values, value)
	}
	return settings, nil
}
