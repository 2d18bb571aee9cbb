package command

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"pretext/cmd/internal/cli"
	"pretext/internal/humanize"
	"pretext/records/columns/consumers"
	"pretext/sharding/compat"
)

func newCheckConsumer() *cobra.Command {
	var asJSON bool
	var length int
	cmd := &cobra.Command{
		Use:   "check-consumer CONSUMER PATH",
		Short: "Show what the loader of a training program would read from a folder",
		Long: `Shows what the loader of CONSUMER would read from the examples at PATH, a folder of
shards or one that convert wrote: lengths, ids, special tokens, masks, the share of
the tokens that it sees, and each reason why it would fail or misread them.
convert --for writes what a loader takes. The consumers:

` + usersOf(),
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if length < 0 {
				return usagef("--max-seq-length %d: must be at least 1, or 0 for the length of the examples", length)
			}
			r, err := compat.Check(cmd.Context(), args[0], args[1], length)
			if err != nil {
				return err
			}
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), r)
			} else {
				err = printCompat(cmd.OutOrStdout(), r)
			}
			if err != nil {
				return err
			}
			return r.Err()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write the result as JSON")
	cmd.Flags().IntVar(&length, "max-seq-length", 0, "maximum number of tokens that the loader is set to; 0: that of the examples, or 512 for documents")
	return cmd
}

func printCompat(w io.Writer, r *compat.Report) error {
	c, err := consumers.Get(r.Consumer)
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s\t%s\n", r.Consumer, strings.ReplaceAll(c.About, "\n", " "))
	fmt.Fprintf(t, "checked with\t%s\n", strings.Join(c.Checked, ", "))
	fmt.Fprintf(t, "files\t%s, recipe %s\n", r.Format, r.Recipe)
	for i, column := range r.Columns {
		name := "columns"
		if i > 0 {
			name = ""
		}
		fmt.Fprintf(t, "%s\t%s\n", name, column)
	}
	fmt.Fprintf(t, "records\t%s of %s positions, ids %d to %d\n", humanize.Count(r.Records), between(r.Shortest, r.Longest), r.LeastID, r.MostID)
	fmt.Fprintf(t, "tokens\t%s, of which the loader sees %s\n", humanize.Count(r.Tokens), share(r.Seen, r.Tokens))
	if r.CLS >= 0 {
		fmt.Fprintf(t, "special tokens\t%s begin with [CLS], %s end with [SEP]\n", share(r.CLS, r.Records), share(r.SEP, r.Records))
	}
	fmt.Fprintf(t, "padding\t%s of the positions\n", share(r.Positions-r.Tokens, r.Positions))
	fmt.Fprintf(t, "masked\t%s of the tokens\n", share(r.Masked, r.Tokens))
	for _, p := range r.Problems {
		fmt.Fprintf(t, "problem\t%s\n", cli.OneLine(p))
	}
	return t.Flush()
}

// between returns a range of numbers as text: one number if both are equal.
func between(least, most int) string {
	if least == most {
		return fmt.Sprint(least)
	}
	return fmt.Sprintf("%d to %d", least, most)
}
