// Package command is the command line of prepare-data: it parses flags and prints
// results. Results go to standard output, everything else to standard error. The work
// of the commands is in package pipeline.
package command

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pretext/cmd/internal/cli"
	"pretext/internal/humanize"
	"pretext/internal/redact"
	"pretext/internal/store"
	"pretext/pipeline"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// NewRoot returns the command with all its subcommands.
func NewRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "prepare-data",
		Short: "Turn Wikipedia dumps and books into BERT pre-training data",
		Long: `prepare-data turns Wikipedia dumps and books into BERT pre-training data:
masked-LM and next-sentence examples in TFRecord shards, the same bytes that
create_pretraining_data.py of google-research/bert writes.

  prepare-data demo --out demo                 see it work, offline, in seconds
  prepare-data run --wiki-dump D --books B --vocab V --out OUT
  prepare-data plan --preset en                estimate downloads, disk and memory
  prepare-data run --wiki simplewiki --contact YOU --out OUT     download, then run all stages
  prepare-data verify OUT                      check every byte and every record
  prepare-data head OUT                        look at examples

` + cli.ExitCodes(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       cli.Version(),
	}
	root.AddCommand(newDemo(), newRun(), newPlan(), newDownload(), newExtract(), newFilter(), newVocab(), newExamples(), newConvert(),
		newVerify(), newCheckConsumer(), newInspect(), newHead(), newExport(), newText(), newTemplates(), newSentences(), newTokenize())
	s := settings()
	root.AddCommand(newWorker(), newStats(), newCard(), newDiff(), newDoctor(), cli.NewConfig(s), cli.NewMan(), cli.NewVersion())
	s.AddTo(root)
	completions().AddTo(root)
	cli.GroupFlags(root, flagGroups)
	hints().Complain(root)
	root.SetGlobalNormalizationFunc(normalize)
	return root
}

// runFlags are the flags of commands that run stages.
type runFlags struct {
	*stage.Target // points into the command's configuration
	runner        stage.Runner
	maxRejects    *float64
	changed       func(flag string) bool // whether a flag was given
	quiet, json   bool
	strict        bool
	metrics       string // address of the listener for metrics; "" for none
}

// add adds the flags. They set t, and maxRejects, the maximum fraction of rejects.
func (f *runFlags) add(fs *pflag.FlagSet, t *stage.Target, maxRejects *float64) {
	f.Target, f.maxRejects = t, maxRejects
	t.Memory, *maxRejects = defaultMemory, 1
	f.addCommon(fs)
	fs.BoolVar(&t.Overwrite, "overwrite", false, "replace output that was made with other options")
	fs.Var((*byteSize)(&t.Memory), "memory", "memory the process may use, such as 600MB or 2GB")
	fs.StringVar(&t.Temp, "temp-dir", "", "local directory for temporary files of tasks, on every worker; default: --out if it is local, else the system's")
	fs.BoolVar(&f.runner.RecordPlaces, "record-paths", false, "write the host name and full paths to run.json; default: file names only")
	fs.Float64Var(maxRejects, "max-rejects", 1, "maximum fraction of pages, books or lines that may be unreadable, 0 to 1")
}

const defaultMemory = pipeline.DefaultMemory

// addCommon adds the flags that the command demo also has.
func (f *runFlags) addCommon(fs *pflag.FlagSet) {
	f.changed = fs.Changed
	fs.StringVarP(&f.Out, "out", "o", "", "directory to write to (required)")
	fs.IntVar(&f.runner.Workers, "workers", runtime.GOMAXPROCS(0), "concurrent tasks; does not affect the output's bytes")
	fs.StringVar(&f.runner.Name, "runner", stage.DefaultRunner, "Beam runner: "+strings.Join(stage.Runners, ", ")+"; does not affect the output's bytes")
	addCluster(fs, &f.runner.Cluster)
	fs.StringVar(&f.metrics, "metrics-listen", "", metricsUsage)
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	fs.BoolVar(&f.json, "json", false, "write the result as JSON")
	fs.BoolVar(&f.strict, "strict", false, "exit with code 3 if the finished data has warnings; does not affect the output's bytes")
}

// pipeline checks the flags and returns the runner that they configure. It serves metrics
// if a flag asks for them.
func (f *runFlags) pipeline(cmd *cobra.Command) (stage.Runner, error) {
	r, stderr := f.runner, cmd.ErrOrStderr()
	if f.Out == "" {
		return r, usagef("no output folder: give --out DIR")
	}
	if err := cli.CheckFolder("out", f.Out); err != nil {
		return r, err
	}
	if r.Workers < 1 {
		return r, usagef("--workers %d: must be at least 1", r.Workers)
	}
	if err := stage.CheckRunner(r.Name); err != nil {
		return r, err
	}
	if err := checkCluster(f.runner, f.changed); err != nil {
		return r, err
	}
	if n := *f.maxRejects; !(n >= 0 && n <= 1) {
		return r, usagef("--max-rejects %g: must be from 0 to 1", n)
	}
	if f.Temp != "" {
		if _, ok := store.Locate(f.Temp).Local(); !ok {
			return r, usagef("--temp-dir %s: must be a local directory", redact.URL(f.Temp))
		}
		if info, err := os.Stat(f.Temp); r.Name != stage.Flink && err == nil && !info.IsDir() {
			return r, usagef("--temp-dir %s: not a directory", f.Temp)
		}
		f.Temp = store.Absolute(f.Temp)
	}
	stage.LimitMemory(f.Memory)
	r.Memory = f.Memory
	r.Watch = watch(stderr, f.quiet)
	if f.metrics != "" {
		var m stageMetrics
		r.Watch = m.watch(r.Watch)
		if err := serveMetrics(cmd, f.metrics, m.write); err != nil {
			return r, err
		}
	}
	r.Note = func(text string) { fmt.Fprintf(stderr, "prepare-data: note: %s\n", line(text)) }
	return r, nil
}

// whole returns the runner for a command that runs all stages, each in its own folder
// below --out. It returns a usage error if --out is the folder of a single stage.
func (f *runFlags) whole(cmd *cobra.Command) (stage.Runner, error) {
	r, err := f.pipeline(cmd)
	if err != nil || !f.changed("out") {
		return r, err
	}
	for _, name := range []string{sharding.ManifestName, sharding.PlanName} {
		if _, err := store.Stat(cmd.Context(), store.Join(f.Out, name)); err == nil {
			return r, usagef("--out %s is the folder of a stage: give the folder of the run, or another one", f.Out)
		}
	}
	return r, nil
}

// byteSize is a flag that takes 600MB, 2GB, 1.5GiB or a plain number.
type byteSize int64

var byteUnits = []struct {
	suffix string
	factor float64
}{{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"tib", 1 << 40}, {"tb", 1e12}, {"t", 1e12}, {"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"k", 1e3}, {"m", 1e6}, {"g", 1e9}, {"b", 1}, {"", 1}}

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

// String returns the size in a form that Set accepts: with a unit if that is exact,
// otherwise in bytes.
func (b *byteSize) String() string {
	text, again := humanize.Bytes(int64(*b)), byteSize(0)
	if again.Set(text) == nil && again == *b {
		return text
	}
	return strconv.FormatInt(int64(*b), 10)
}

// printJSON writes v as indented JSON.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
