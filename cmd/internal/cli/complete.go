package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Completions lists, by flag, the values that a shell offers for completion.
type Completions struct {
	Values  map[string][]string // flag → possible values
	Files   map[string][]string // flag → extensions of the files to offer
	Folders []string            // flags whose value is a directory
}

// AddTo adds the completions to the flags of all commands.
func (c Completions) AddTo(root *cobra.Command) {
	for _, cmd := range withSettings(root) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { c.add(cmd, f) })
	}
}

func (c Completions) add(cmd *cobra.Command, f *pflag.Flag) {
	complete := func(values []string, directive cobra.ShellCompDirective) {
		err := cmd.RegisterFlagCompletionFunc(f.Name, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return values, directive
		})
		if err != nil {
			panic("BUG: " + err.Error()) // registered twice
		}
	}
	if values, ok := c.Values[f.Name]; ok {
		complete(values, cobra.ShellCompDirectiveNoFileComp)
		return
	}
	if endings, ok := c.Files[f.Name]; ok {
		complete(endings, cobra.ShellCompDirectiveFilterFileExt)
		return
	}
	for _, name := range c.Folders {
		if name == f.Name {
			complete(nil, cobra.ShellCompDirectiveFilterDirs)
			return
		}
	}
	switch f.Value.Type() {
	case "int", "int64", "uint64", "float64", "size", "duration", "intSlice":
		complete(nil, cobra.ShellCompDirectiveNoFileComp)
	}
}
