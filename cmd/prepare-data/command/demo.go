package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"pretext/internal/store"
	"pretext/pipeline"
	"pretext/pipeline/stage"
	"pretext/sharding"
	"pretext/sharding/verify"
	"pretext/tokenize"
)

func newDemo() *cobra.Command {
	maxRejects := 1.0
	run := runFlags{Target: &stage.Target{Memory: defaultMemory}, maxRejects: &maxRejects}
	profile := tokenize.ProfileGoogle
	cmd := &cobra.Command{
		Use:   "demo --out DIR",
		Short: "Run everything on a small embedded corpus, offline",
		Long: `Writes a small wiki and two books to DIR/sources and runs all stages on them:
documents, a vocabulary, shards with a tenth held out. Then it verifies what it
made. Nothing is downloaded.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := run.whole(cmd)
			if err != nil {
				return err
			}
			c := pipeline.DemoConfig(run.Out)
			c.Examples.TokenizerProfile = profile
			stages, err := pipeline.Demo(cmd.Context(), r, c)
			if err := run.report(cmd, err, stages...); err != nil {
				return err
			}
			v, err := verify.Dataset(cmd.Context(), run.Out, verify.Options{Workers: run.runner.Workers})
			if err != nil {
				return err
			}
			if !v.OK() {
				return fmt.Errorf("%w: %v", sharding.ErrDamaged, v.Problems[0])
			}
			if run.json {
				return nil
			}
			fmt.Fprintf(cmd.OutOrStdout(), "\nverified: %s\n", checked(v))
			fmt.Fprintf(cmd.OutOrStdout(), "next: prepare-data head %s\n", store.Join(run.Out, sharding.ShardsFolder))
			return nil
		},
	}
	fs := cmd.Flags()
	run.addCommon(fs)
	addProfile(fs, &profile)
	return cmd
}
