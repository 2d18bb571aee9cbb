package command

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A flag that is added gets a heading, and no heading keeps a flag that is gone.
func TestEveryFlagOfALargeCommandHasAHeading(t *testing.T) {
	root := NewRoot()
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
	for _, g := range flagGroups {
		for _, name := range g.Flags {
			if !known[name] {
				t.Errorf("%s: no command has --%s", g.Heading, name)
			}
			if slices.Contains(listed, name) {
				t.Errorf("%s: --%s stands under another heading too", g.Heading, name)
			}
			listed = append(listed, name)
		}
	}
}
