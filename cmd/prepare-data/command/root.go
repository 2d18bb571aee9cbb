// Package command is the command line of prepare-data: flags in, text out.
// Results go to standard output, everything else to standard error; what a
// command does is in package pipeline.
package command

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pretext/cmd/internal/cli"
	"pretext/internal/humanize"
	"pretext/pipeline"
	"pretext/pipeline/stage"
)

// NewRoot returns the command with all its subcommands.
func NewRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "prepare-data",
		Short: "Turn Wikipedia dumps and books into BERT pre-training data",
		Long: `prepare-data turns Wikipedia dumps and books into BERT pre-training data:
masked-LM and next-sentence examples in TFRecord shards, the very examples that
create_pretraining_data.py of google-research/bert makes.

  prepare-data demo --out demo                 see it work, offline, in seconds
  prepare-data run --wiki-dump D --books B --vocab V --out OUT
  prepare-data plan --preset en                what that takes: disk, memory, time on the line
  prepare-data run --wiki simplewiki --contact YOU --out OUT     download, then the rest
  prepare-data verify OUT                      check every byte and every record
  prepare-data head OUT                        look at examples

Exit codes: 0 ok, 1 other, 2 usage, 3 finished with more rejects than allowed or,
with --strict, with warnings, 4 corrupt data, 5 network, 6 disk full,
7 permission, 8 folder in use, 9 does not fit in memory, 130 interrupted (run the
same command again to resume).`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       cli.Version(),
	}
	root.AddCommand(newDemo(), newRun(), newPlan(), newDownload(), newExtract(), newFilter(), newVocab(), newExamples(),
		newVerify(), newInspect(), newHead(), newExport(), newText(), newSentences(), newTokenize())
	s := settings()
	root.AddCommand(newStats(), newReport(), newCard(), newDiff(), newDoctor(), cli.NewConfig(s), cli.NewMan(), cli.NewVersion())
	s.AddTo(root)
	completions().AddTo(root)
	cli.GroupFlags(root, flagGroups)
	cli.Complain(root)
	root.SetGlobalNormalizationFunc(normalize)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return misuse(googleCure(cmd, err)) })
	return root
}

// runFlags are the flags of commands that run stages.
type runFlags struct {
	out        string
	workers    int
	runner     string
	overwrite  bool
	quiet      bool
	json       bool
	memory     byteSize
	maxRejects float64
	strict     bool
	places     bool
}

func (f *runFlags) add(fs *pflag.FlagSet) {
	f.memory = 600e6
	fs.StringVarP(&f.out, "out", "o", "", "folder to write to (required)")
	fs.IntVar(&f.workers, "workers", runtime.GOMAXPROCS(0), "tasks at work at a time; decides no byte of the output")
	addRunner(fs, &f.runner)
	fs.BoolVar(&f.overwrite, "overwrite", false, "replace the output of a run with other options")
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	fs.BoolVar(&f.json, "json", false, "write the result as JSON")
	fs.Var(&f.memory, "memory", "memory the process may use, such as 600MB or 2GB")
	fs.BoolVar(&f.places, "record-paths", false, "write the host's name and whole paths to run.json, which has file names alone otherwise")
	fs.Float64Var(&f.maxRejects, "max-rejects", 1, "largest share of pages, books or lines that may be unreadable, 0 to 1")
	f.addStrict(fs)
}

func (f *runFlags) addStrict(fs *pflag.FlagSet) {
	fs.BoolVar(&f.strict, "strict", false, "end with code 3 if the finished data has warnings; decides no byte of the output")
}

func addRunner(fs *pflag.FlagSet, runner *string) {
	fs.StringVar(runner, "runner", stage.DefaultRunner, "Beam runner: "+strings.Join(stage.Runners, " or ")+"; decides no byte of the output")
}

// pipeline returns the pipeline's view of the flags.
func (f *runFlags) pipeline(stderr io.Writer) (stage.Runner, error) {
	if f.out == "" {
		return stage.Runner{}, usagef("no output folder: give --out DIR")
	}
	if f.workers < 1 {
		return stage.Runner{}, usagef("--workers %d: must be at least 1", f.workers)
	}
	if !slices.Contains(stage.Runners, f.runner) {
		return stage.Runner{}, usagef("--runner %q: must be one of %s", f.runner, strings.Join(stage.Runners, ", "))
	}
	if !(f.maxRejects >= 0 && f.maxRejects <= 1) {
		return stage.Runner{}, usagef("--max-rejects %g: must be between 0 and 1", f.maxRejects)
	}
	pipeline.LimitMemory(int64(f.memory))
	return stage.Runner{Name: f.runner, Workers: f.workers, RecordPlaces: f.places, Watch: watch(stderr, f.quiet), Note: func(text string) {
		fmt.Fprintf(stderr, "prepare-data: note: %s\n", cli.OneLine(text))
	}}, nil
}

// byteSize is a flag that takes 600MB, 2GB, 1.5GiB or a plain number.
type byteSize int64

var byteUnits = []struct {
	suffix string
	factor float64
}{{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"k", 1e3}, {"m", 1e6}, {"g", 1e9}, {"b", 1}, {"", 1}}

func (b *byteSize) Set(s string) error {
	lower := strings.ToLower(strings.TrimSpace(s))
	for _, u := range byteUnits {
		number, ok := strings.CutSuffix(lower, u.suffix)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(v >= 0 && v*u.factor < 1<<62) {
			break
		}
		*b = byteSize(v * u.factor)
		return nil
	}
	return fmt.Errorf("%q is not a size: write 600MB, 2GB or a number of bytes", s)
}

func (b *byteSize) Type() string { return "size" }

// String returns the size as Set reads it: for people where nothing is lost by
// that, otherwise to the byte.
func (b *byteSize) String() string {
	text, again := humanize.Bytes(int64(*b)), byteSize(0)
	if again.Set(text) == nil && again == *b {
		return text
	}
	return strconv.FormatInt(int64(*b), 10)
}

// printJSON writes a result for machines.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
