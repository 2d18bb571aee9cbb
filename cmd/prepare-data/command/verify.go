package command

import (
	"fmt"
	"runtime"
	"strconv"

	"github.com/spf13/cobra"

	"pretext/cmd/internal/cli"
	"pretext/internal/humanize"
	"pretext/sharding"
	"pretext/sharding/verify"
)

// verifyFlags are the flags of verify.
type verifyFlags struct {
	options verify.Options
	memory  byteSize
	remake  string
	json    bool
}

func newVerify() *cobra.Command {
	f := verifyFlags{options: verify.Options{Workers: runtime.GOMAXPROCS(0), MaxProblems: 100}, memory: 64e6}
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

--remake N makes N shards of each folder again from their documents, in any format,
and compares every record: a record may be valid and still not match the
documents. The documents are those of the run, or those that --documents names.

Not checked: run.json, which no command reads as data; hidden files, such as .lock
and unfinished downloads; README, LICENSE, NOTICE, SHA256SUMS, *.md, *.html, *.pdf,
*.png and *.svg; files of a run that no stage made, such as its cache and the demo's
sources; and sources that were not downloaded.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch o := f.options; {
			case o.Workers < 1:
				return usagef("--workers %d: must be at least 1", o.Workers)
			case o.MaxProblems < 1:
				return usagef("--max-problems %d: must be at least 1", o.MaxProblems)
			}
			f.options.Memory = int64(f.memory)
			if err := f.setRemake(cmd.Flags().Changed("memory")); err != nil {
				return err
			}
			return f.verifyPaths(cmd, args)
		},
	}
	fs := cmd.Flags()
	fs.BoolVar(&f.json, "json", false, "write the result as JSON")
	fs.IntVar(&f.options.Workers, "workers", f.options.Workers, "files checked concurrently")
	fs.IntVar(&f.options.MaxProblems, "max-problems", f.options.MaxProblems, "maximum number of problems to list; all are counted")
	fs.Var(&f.memory, "memory", "memory for finding repeated records; what does not fit goes to a temporary file; with --remake, also for making shards (600MB if not given)")
	fs.StringVar(&f.remake, "remake", "", "number of `shards` to make again from their documents, or all")
	fs.Int64Var(&f.options.Remake.Seed, "remake-seed", 0, "random seed for choosing these shards")
	fs.StringArrayVar(&f.options.Remake.Documents, "documents", nil, "`folder` of documents for --remake that is not at PATH; repeatable")
	return cmd
}

// setRemake sets the options of --remake. given is true if --memory was given.
func (f *verifyFlags) setRemake(given bool) error {
	if f.remake == "" {
		if len(f.options.Remake.Documents) > 0 {
			return usagef("--documents: only --remake needs documents: add --remake N or --remake all")
		}
		return nil
	}
	if given {
		f.options.Remake.Memory = int64(f.memory)
	}
	if f.remake == "all" {
		f.options.Remake.Shards = -1
		return nil
	}
	n, err := strconv.Atoi(f.remake)
	if err != nil || n < 1 {
		return usagef("--remake %s: must be a number of shards, at least 1, or all", f.remake)
	}
	f.options.Remake.Shards = n
	return nil
}

// verifyPaths checks all paths and prints the results. It returns an error that
// names the first path with problems.
func (f *verifyFlags) verifyPaths(cmd *cobra.Command, paths []string) error {
	problems, first := 0, ""
	for _, path := range paths {
		v, err := verify.Dataset(cmd.Context(), path, f.options)
		if err != nil {
			return err
		}
		if problems += v.Found; problems > 0 && first == "" {
			first = path
		}
		if f.json {
			if err := printJSON(cmd.OutOrStdout(), v); err != nil {
				return err
			}
			continue
		}
		for _, p := range v.Problems {
			fmt.Fprintln(cmd.OutOrStdout(), cli.OneLine(p.String()))
		}
		switch more := v.Found - len(v.Problems); {
		case v.OK():
			fmt.Fprintf(cmd.OutOrStdout(), "%s: ok, %s\n", cli.OneLine(path), checked(v))
		case more > 0:
			fmt.Fprintf(cmd.OutOrStdout(), "%s: and %s more problems (--max-problems lists more)\n", cli.OneLine(path), humanize.Count(int64(more)))
		}
		if v.Repeated > 0 {
			fmt.Fprintf(cmd.OutOrStdout(), "%s: note: copies of records in another file: %s\n", cli.OneLine(path), humanize.Count(v.Repeated))
		}
	}
	if problems > 0 {
		return fmt.Errorf("%w: %s: %d problems", sharding.ErrDamaged, first, problems)
	}
	return nil
}

// checked returns a summary of the files, records and documents that were checked.
func checked(v *verify.Result) string {
	s := fmt.Sprintf("%s, %s, %s, %s", files(v.Files), humanize.Bytes(v.Bytes), humanize.Things(v.Documents, "document"), humanize.Things(v.Records, "record"))
	if v.Remade > 0 {
		s += ", " + humanize.Things(int64(v.Remade), "shard") + " made again with equal records"
	}
	return s
}
