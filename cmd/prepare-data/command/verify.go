package command

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"pretext/internal/humanize"
	"pretext/sharding"
	"pretext/sharding/verify"
)

func newVerify() *cobra.Command {
	var asJSON bool
	o := verify.Options{Workers: runtime.GOMAXPROCS(0), MaxProblems: 100}
	memory := byteSize(64e6)
	cmd := &cobra.Command{
		Use:   "verify PATH...",
		Short: "Check every byte and every record of a run, a folder or a file of records",
		Long: `Checks everything at PATH: a run, a stage's folder, one TFRecord file or a folder of
them, also from other tools. It compares:
  - every file with its checksum in the manifest
  - every document and record with its format and the options it was made with
  - the files beside the data (counts in JSON, indices, plans, vocabularies) with
    the data
  - the folders of a run with each other
Each problem is printed with its file, record and byte.

Not checked: run.json, which no command reads as data; hidden files, such as .lock
and unfinished downloads; README, LICENSE, NOTICE, SHA256SUMS, *.md, *.html, *.pdf,
*.png and *.svg; files of a run that no stage made, such as its cache and the demo's
sources; and sources that were not downloaded.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.Workers < 1:
				return usagef("--workers %d: must be at least 1", o.Workers)
			case o.MaxProblems < 1:
				return usagef("--max-problems %d: must be at least 1", o.MaxProblems)
			}
			o.Memory = int64(memory)
			return verifyPaths(cmd, args, o, asJSON)
		},
	}
	fs := cmd.Flags()
	fs.BoolVar(&asJSON, "json", false, "write the result as JSON")
	fs.IntVar(&o.Workers, "workers", o.Workers, "files checked concurrently")
	fs.IntVar(&o.MaxProblems, "max-problems", o.MaxProblems, "maximum number of problems to list; all are counted")
	fs.Var(&memory, "memory", "memory for finding repeated records; what does not fit goes to a temporary file")
	return cmd
}

// verifyPaths checks all paths and prints the results. It returns an error if any path
// has a problem.
func verifyPaths(cmd *cobra.Command, paths []string, o verify.Options, asJSON bool) error {
	problems, first := 0, ""
	for _, path := range paths {
		v, err := verify.Dataset(cmd.Context(), path, o)
		if err != nil {
			return err
		}
		if problems += v.Found; problems > 0 && first == "" {
			first = path
		}
		if asJSON {
			if err := printJSON(cmd.OutOrStdout(), v); err != nil {
				return err
			}
			continue
		}
		for _, p := range v.Problems {
			fmt.Fprintln(cmd.OutOrStdout(), p)
		}
		switch more := v.Found - len(v.Problems); {
		case v.OK():
			fmt.Fprintf(cmd.OutOrStdout(), "%s: ok, %s\n", path, checked(v))
		case more > 0:
			fmt.Fprintf(cmd.OutOrStdout(), "%s: and %s more problems (--max-problems lists more)\n", path, humanize.Count(int64(more)))
		}
		if v.Repeated > 0 {
			fmt.Fprintf(cmd.OutOrStdout(), "%s: note: copies of records in another file: %s\n", path, humanize.Count(v.Repeated))
		}
	}
	if problems > 0 {
		return fmt.Errorf("%w: %s: %d problems", sharding.ErrDamaged, first, problems)
	}
	return nil
}

// checked returns a summary of the files, records and documents that were checked.
func checked(v *verify.Result) string {
	return fmt.Sprintf("%s, %s, %s, %s", files(v.Files), humanize.Bytes(v.Bytes), humanize.Things(v.Documents, "document"), humanize.Things(v.Records, "record"))
}
