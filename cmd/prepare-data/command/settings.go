package command

import (
	"strings"

	"github.com/spf13/cobra"

	"pretext/cmd/internal/cli"
	"pretext/pipeline/stage"
	"pretext/records/pretrain"
	"pretext/sharding"
	"pretext/tokenize"
	"pretext/tokenize/sentence"
)

// settings returns the sources of values for flags that were not given.
func settings() *cli.Settings {
	return &cli.Settings{
		Prefix:   cli.PrepareData,
		Reserved: append(cli.TestVariables(), strings.TrimPrefix(cli.TrainBERT, cli.PrepareData), "CUDA_"), // also variables of train-bert and its libraries
		Example:  "  prepare-data config run --max-seq-length 512 > run.yaml\n  prepare-data config --json run --config run.yaml",
		Bundle:   clusterBundle,
		Preset: func(cmd *cobra.Command) error {
			f := cmd.Flags().Lookup("preset")
			if f == nil {
				return nil
			}
			_, err := usePreset(cmd.Flags(), f.Value.String())
			return err
		},
	}
}

// completions returns the values that a shell offers for flags.
func completions() cli.Completions {
	profiles := []string{}
	for _, p := range tokenize.Profiles() {
		profiles = append(profiles, string(p))
	}
	return cli.Completions{
		Values: map[string][]string{
			"runner": stage.Runners, "recipe": pretrain.RecipeNames(nil), "compression": {sharding.CompressionNone, sharding.CompressionGzip},
			"sentence-splitter": {sentence.Auto, sentence.Punkt, sentence.Newline}, "preset": presetNames(),
			"profile": profiles, "tokenizer-profile": profiles, "to": {"text"},
		},
		Files: map[string][]string{
			"vocab": {"txt", "json"}, "tokenizer": {"json"}, "templates": {"txt"}, "wiki-dump": {"xml", "bz2", "gz"}, "wiki-html": {"gz", "ndjson", "html"}, "text": {"txt", "gz", "zst"},
		},
		Folders: []string{"out", "documents"},
	}
}
