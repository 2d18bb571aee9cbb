package clitest

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pretext/cmd/internal/cli"
)

// CheckGroups fails the test if a flag of a large command has no heading, or a
// heading lists a flag that no command has or that another heading lists too.
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
}
