package command

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	"github.com/spf13/cobra"

	"pretext/trainer/session"
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

// What --json prints is one value, and nothing beside it. (doctor, which measures for
// seconds, has a script.)
func TestJSONIsOneValue(t *testing.T) {
	o := testOptions(t)
	end := mustTrain(t, o)
	dir := t.TempDir()
	for _, args := range [][]string{
		{"train", "--data", o.Data, "--out", filepath.Join(dir, "run"), "--model", o.Model, "--num-train-steps", "2", "--quiet"},
		{"demo", "--data", o.Data, "--out", filepath.Join(dir, "demo"), "--num-train-steps", "1", "--quiet"},
		{"eval", o.Out, "--data", o.Data},
		{"export", o.Out, "--out", filepath.Join(dir, "exported")},
		{"import", end.Model, "--out", filepath.Join(dir, "imported")},
		{"config", "train"},
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
		if eval, ok := object["eval"].(map[string]any); args[0] == "train" && (!ok || eval["step"] != object["steps"] || eval["eval_loss"] == nil) {
			t.Errorf("%s: the evaluation after the last step is %v", args[0], object["eval"])
		}
		if model, ok := object["model"].(string); ok && !filepath.IsAbs(model) {
			t.Errorf("%s: model %q", args[0], model)
		}
	}
}

func TestSkippedExamplesAreListed(t *testing.T) {
	places := []session.Damage{{File: "a.tfrecord", Record: 3, Offset: 9, Reason: "x\ny"}, {File: "e.tfrecord", Record: 7, Offset: 70, Tail: true, Split: "eval", Reason: "z"}}
	var b bytes.Buffer
	printSkipped(&b, session.Skipped{Examples: 2, Tails: 1, Named: 4, Places: places})
	const want = "skipped: 2 corrupt examples, the ends of 1 files\n  a.tfrecord: record 3 at byte 9: x; y\n" +
		"  e.tfrecord: record 7 at byte 70, and all behind it (held out): z\n  and 2 more places: see metrics.jsonl\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", &b, want)
	}
}
