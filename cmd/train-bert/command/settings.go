package command

import (
	"slices"

	"github.com/spf13/cobra"

	"pretext/cmd/internal/cli"
	"pretext/trainer"
)

// flagSettings returns the sources of values for flags that are not given.
func flagSettings() *cli.Settings {
	return &cli.Settings{
		Prefix:    cli.TrainBERT,
		Reserved:  []string{"SECRET", "SECRET_FILE"}, // variables of package comm
		Misplaced: cli.PrepareData,
		Others:    slices.Concat(cli.TestVariables(), cli.SharedFlags(), []string{cli.TrainBERT[len(cli.PrepareData):]}),
		Example:   "  train-bert config train --model tiny --num-train-steps 5000 > run.yaml\n  train-bert config --json finetune squad --config run.yaml",
		Preset: func(cmd *cobra.Command) error {
			if f := cmd.Flags().Lookup("preset"); f == nil {
				return nil
			}
			return usePreset(cmd.Flags())
		},
	}
}

// completions returns the values that a shell offers for flags.
func completions() cli.Completions {
	all := cli.Completions{
		Values: map[string][]string{
			"model": trainer.PresetNames(), "optimizer": trainer.OptimizerNames(),
			"schedule": trainer.ScheduleNames(), "preset": {presetBudget},
			"on-damage": {"stop", "skip"}, "device": {"cpu"}, "precision": {string(trainer.Float32)},
			"do-lower-case": {"true", "false", "auto"}, "task": append(taskNames(), ownTable),
		},
		Files: map[string][]string{
			"vocab": {"txt"}, "vocab-file": {"txt"}, "train-file": {"json"}, "predict-file": {"json"}, "replay-rates": {"jsonl"}, "config": {"yaml", "yml"},
		},
		Folders: []string{"out", "data", "eval-data", "data-dir", "cache", "init", "resume-from"},
	}
	for _, p := range trainer.ScheduleParameters() {
		if p.Values != nil {
			all.Values[p.Name] = p.Values
		}
	}
	return all
}
