package command

import (
	"fmt"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"pretext/pipeline"
	"pretext/sharding"
	"pretext/sharding/verify"
	"pretext/tokenize"
)

func newDemo() *cobra.Command {
	run := runFlags{workers: runtime.GOMAXPROCS(0), memory: 600e6, maxRejects: 1}
	profile := tokenize.ProfileGoogle
	cmd := &cobra.Command{
		Use:   "demo --out DIR",
		Short: "Run everything on a small embedded corpus, offline",
		Long: `Writes a small wiki and two books to DIR/sources and runs all stages on them:
documents, a vocabulary, shards with a tenth held out. Then it verifies what it
made. Nothing is downloaded.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := run.pipeline(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			c := pipeline.DemoConfig(run.out)
			c.Examples.TokenizerProfile = profile
			stages, err := pipeline.Demo(cmd.Context(), r, c)
			if err := run.report(cmd, err, stages...); err != nil {
				return err
			}
			v, err := verify.Dataset(cmd.Context(), run.out, verify.Options{Workers: run.workers})
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
			fmt.Fprintf(cmd.OutOrStdout(), "next: prepare-data head %s\n", filepath.Join(run.out, sharding.ShardsFolder))
			return nil
		},
	}
	fs := cmd.Flags()
	fs.StringVarP(&run.out, "out", "o", "", "folder to write to (required)")
	addProfile(fs, &profile)
	fs.IntVar(&run.workers, "workers", run.workers, "tasks at work at a time; decides no byte of the output")
	addRunner(fs, &run.runner)
	fs.BoolVarP(&run.quiet, "quiet", "q", false, "show no progress")
	fs.BoolVar(&run.json, "json", false, "write the result as JSON")
	run.addStrict(fs)
	return cmd
}
