package clitest

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pretext/cmd/internal/cli"
)

// CheckGroups fails the test if a flag of a command with headings is in no group, if a
// group lists a flag or setting that no command has, or if two groups list the same one.
func CheckGroups(t *testing.T, root *cobra.Command, groups []cli.Group) {
	t.Helper()
	known := map[string]bool{}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { known[f.Name] = true })
		if usage := c.UsageString(); strings.Contains(usage, "Other flags:") {
			t.Errorf("%s: flags without a heading: add them to flagGroups\n%s", c.CommandPath(), usage[strings.Index(usage, "Other flags:"):])
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(root)
	var listed []string
	for _, g := range groups {
		for _, name := range g.Flags {
			if !known[name] {
				t.Errorf("%s: no command has --%s", g.Heading, name)
			}
			if slices.Contains(listed, name) {
				t.Errorf("%s: --%s is under another heading too", g.Heading, name)
			}
			listed = append(listed, name)
		}
	}
	for _, g := range groups {
		for _, entry := range g.Settings {
			name, only, some := strings.Cut(entry, "@")
			switch {
			case !some && !known[name]:
				t.Errorf("%s: no command has the setting %s", g.Heading, name)
			case !some && slices.Contains(listed, name):
				t.Errorf("%s: %s stands elsewhere too", g.Heading, name)
			case !some:
				listed = append(listed, name)
			}
			for _, path := range strings.Split(only, ",") {
				if c, _, err := root.Find(strings.Fields(path)); some && (err != nil || c.Flags().Lookup(name) == nil) {
					t.Errorf("%s: %q has no option %s: %v", g.Heading, path, name, err)
				}
			}
		}
	}
}
