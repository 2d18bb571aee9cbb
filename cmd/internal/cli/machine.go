package cli

import "github.com/spf13/cobra"

// HideMachine replaces the defaults of flags that depend on the machine, so that
// generated pages about a command are the same on every machine.
func HideMachine(c *cobra.Command) {
	if f := c.Flags().Lookup("workers"); f != nil {
		f.DefValue = "0" // pflag does not show a default of 0
		f.Usage += "; default: one per processor"
	}
	for _, sub := range c.Commands() {
		HideMachine(sub)
	}
}
