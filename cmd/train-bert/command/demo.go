package command

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"pretext/cmd/train-bert/internal/demoshards"
)

// demoOptions make a model of the smallest size learn visibly from the demo's
// shards in under a minute on two cores.
func demoOptions() trainOptions {
	o := defaultOptions()
	o.model, o.batch, o.tokens, o.rate, o.steps, o.saveEvery, o.keep, o.evalExamples = "tiny", 32, 4096, 2e-3, 250, 50, 1, 128
	return o
}

func newDemo() *cobra.Command {
	o := demoOptions()
	cmd := &cobra.Command{
		Use:   "demo --out DIR",
		Short: "Train a small model in under a minute and draw its loss",
		Long: `Trains the smallest model for some hundred steps on a small corpus that comes
with the program (the shards of "prepare-data demo"), or on --data, and writes
DIR/curve.html, which shows the loss falling. Nothing is downloaded.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.out == "" {
				return usagef("no output folder: give --out DIR")
			}
			if o.data == "" {
				o.data = filepath.Join(o.out, "data")
				if err := demoshards.Unpack(o.data); err != nil {
					return err
				}
			}
			end, err := train(cmd.Context(), o, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if err := showDemo(cmd, o.out); err != nil {
				return err
			}
			return end.print(cmd.OutOrStdout())
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.data, "data", "", "shards to train on; default: those that come with the program, put into DIR/data")
	fs.StringVarP(&o.out, "out", "o", "", "folder to write to (required)")
	fs.Int64Var(&o.steps, "num-train-steps", o.steps, "steps")
	fs.IntVar(&o.threads, "threads", 0, "threads that compute; 0: one a processor")
	fs.BoolVarP(&o.quiet, "quiet", "q", false, "show no progress")
	return cmd
}

func showDemo(cmd *cobra.Command, out string) error {
	c, err := readCurve(filepath.Join(out, metricsFile))
	if err != nil {
		return err
	}
	path := filepath.Join(out, "curve.html")
	if err := os.WriteFile(path, c.html(), 0o666); err != nil {
		return err
	}
	first, last := c.ends()
	fmt.Fprintf(cmd.OutOrStdout(), "loss %.3f in the first steps, %.3f in the last\ncurve: %s\n", first, last, path)
	return nil
}
