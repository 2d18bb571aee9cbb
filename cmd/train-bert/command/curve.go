package command

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"pretext/cmd/internal/onefile"
	"pretext/internal/failure"
	"pretext/trainer/session"
)

func newCurve() *cobra.Command {
	var out onefile.Output
	cmd := &cobra.Command{
		Use:   "curve RUN --out FILE",
		Short: "Plot the loss of a run as SVG or HTML",
		Long: `Plots the loss over the steps of a run from its metrics.jsonl: each step, the moving
mean, the held-out examples and the unigram baseline. FILE ends in .svg or .html. It
loads nothing from elsewhere and follows the reader's light or dark setting.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			draw := (*session.Curve).SVG
			out.Kind = onefile.CurveSVG
			switch filepath.Ext(out.Path) {
			case ".svg":
			case ".html":
				draw, out.Kind = (*session.Curve).HTML, onefile.Curve
			default:
				return failure.Usagef("--out %q: must end in .svg or .html", out.Path)
			}
			metrics := filepath.Join(args[0], session.MetricsFile)
			if _, err := os.Stat(metrics); err != nil && !os.IsPermission(err) {
				return failure.Usagef("%s is no run of train-bert: there is no %s in it: give the --out of train", args[0], session.MetricsFile)
			}
			if err := out.Check(cmd.Context()); err != nil {
				return err
			}
			c, err := session.ReadCurve(metrics)
			if err != nil {
				return err
			}
			return out.Write(cmd.Context(), draw(c))
		},
	}
	out.Flag = "out"
	cmd.Flags().StringVarP(&out.Path, "out", "o", "", "file to write (required)")
	cmd.Flags().BoolVar(&out.Overwrite, "overwrite", false, "replace a file that this command did not write; never one of a data set")
	return cmd
}
