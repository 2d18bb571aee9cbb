package command

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pretext/cmd/internal/cli"
	trainbert "pretext/cmd/train-bert/command"
)

// variablesOf returns the names of all flags of a program, as variables have them.
func variablesOf(c *cobra.Command) (names []string) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && f.Name != "set" { // are no settings
			names = append(names, strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_")))
		}
	})
	c.PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "set" { // gives settings, and is none
			return
		}
		names = append(names, strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_")))
	})
	for _, sub := range c.Commands() {
		names = append(names, variablesOf(sub)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// A variable that is set for one program does not affect the other.
func TestTheVariablesOfBothProgramsAreToldApart(t *testing.T) {
	ours, theirs := variablesOf(NewRoot()), variablesOf(trainbert.NewRoot())
	both := slices.DeleteFunc(slices.Clone(ours), func(n string) bool { return !slices.Contains(theirs, n) })
	if d := cmp.Diff(both, cli.SharedFlags()); d != "" {
		t.Errorf("flags of both programs (-have +told):\n%s", d)
	}
	for _, name := range ours {
		if strings.HasPrefix(cli.PrepareData+name, cli.TrainBERT) {
			t.Errorf("%s%s is a variable of train-bert", cli.PrepareData, name)
		}
		if slices.Contains(cli.TestVariables(), name) {
			t.Errorf("%s%s is a variable of the tests", cli.PrepareData, name)
		}
	}
}
