package command

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	"github.com/spf13/cobra"
)

// withoutJSON names the commands that have no --json, and why.
var withoutJSON = map[string]string{
	"train-bert predict": "writes a line of JSON for each request, always",
	"train-bert curve":   "writes the drawing that it is asked for; its numbers are metrics.jsonl",
	"train-bert man":     "writes manual pages",
	"train-bert config":  "has it, and parses it itself: see TestJSONIsOneValue",
}

// Whatever a person may script has an object for it.
func TestEveryCommandHasJSON(t *testing.T) {
	root := NewRoot()
	root.InitDefaultHelpCmd()
	found := 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			if name := sub.Name(); name != "help" && name != "completion" {
				walk(sub)
			}
		}
		if !cmd.Runnable() || cmd == root || cmd.HasSubCommands() {
			return
		}
		path := cmd.CommandPath()
		if has := cmd.Flags().Lookup("json") != nil; has == (withoutJSON[path] != "") {
			t.Errorf("%s: --json: %v; known without it: %q", path, has, withoutJSON[path])
		}
		found++
	}
	walk(root)
	if found < 14 {
		t.Errorf("found %d commands only", found)
	}
}

// What --json prints is one value, and nothing beside it.
func TestJSONIsOneValue(t *testing.T) {
	o := testOptions(t)
	end := mustTrain(t, o)
	dir := t.TempDir()
	for _, args := range [][]string{
		{"train", "--data", o.data, "--out", filepath.Join(dir, "run"), "--model", o.model, "--num-train-steps", "2", "--quiet"},
		{"demo", "--data", o.data, "--out", filepath.Join(dir, "demo"), "--num-train-steps", "1", "--quiet"},
		{"eval", o.out, "--data", o.data},
		{"export", o.out, "--out", filepath.Join(dir, "exported")},
		{"import", end.model, "--out", filepath.Join(dir, "imported")},
		{"config", "train"},
		{"doctor"},
	} {
		var stdout, stderr bytes.Buffer
		root := NewRoot()
		root.SetArgs(slices.Insert(slices.Clone(args), 1, "--json"))
		root.SetOut(&stdout)
		root.SetErr(&stderr)
		if err := root.Execute(); err != nil {
			t.Fatalf("%s: %v", args[0], err)
		}
		var value any // a list of config's, else an object
		if err := json.Unmarshal(stdout.Bytes(), &value); err != nil {
			t.Errorf("%s: %v: %s", args[0], err, &stdout)
		}
		object, isObject := value.(map[string]any)
		if isObject != (args[0] != "config") {
			t.Errorf("%s: %T", args[0], value)
		}
		if model, ok := object["model"].(string); ok && !filepath.IsAbs(model) {
			t.Errorf("%s: model %q", args[0], model)
		}
	}
}
