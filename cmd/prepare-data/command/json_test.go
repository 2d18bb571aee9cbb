package command

import (
	"testing"

	"github.com/spf13/cobra"
)

// withoutJSON maps commands that have no --json to the reason.
var withoutJSON = map[string]string{
	"completion bash":       "writes a program",
	"completion fish":       "writes a program",
	"completion powershell": "writes a program",
	"completion zsh":        "writes a program",
	"config":                "config --json COMMAND: its other flags are those of COMMAND",
	"settings":              "a page of the help",
	"help":                  "text for people; man and --help have the same",
	"man":                   "writes pages and names nothing else",
	"templates collect":     "writes one file and prints how many definitions it has",
	"worker":                "serves a cluster until it is ended",
	"text":                  "a filter: --jsonl reads and writes JSON lines",
	"sentences":             "a filter: --jsonl reads and writes JSON lines",
	"tokenize":              "a filter: --jsonl reads and writes JSON lines",
}

// Every command that a program may call has --json.
func TestEveryCommandWritesJSONOrHasAReasonNotTo(t *testing.T) {
	root := NewRoot()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	seen := 0
	var visit func(prefix string, c *cobra.Command)
	visit = func(prefix string, c *cobra.Command) {
		for _, sub := range c.Commands() {
			name := prefix + sub.Name()
			if sub.HasSubCommands() {
				visit(name+" ", sub)
				continue
			}
			seen++
			f := sub.Flags().Lookup("json")
			_, excused := withoutJSON[name]
			switch {
			case f == nil && !excused:
				t.Errorf("%s has no --json, and no reason here", name)
			case f != nil && excused:
				t.Errorf("%s has --json and an excuse", name)
			case f != nil && (f.Value.Type() != "bool" || f.Hidden):
				t.Errorf("%s: --json is no switch that users see", name)
			}
			delete(withoutJSON, name)
		}
	}
	visit("", root)
	for name := range withoutJSON {
		t.Errorf("%s is no command", name)
	}
	if seen < 20 {
		t.Errorf("saw %d commands: is the tree walked?", seen)
	}
}
