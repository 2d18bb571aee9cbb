package command

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pretext/internal/failure"
	"pretext/trainer/finetune/glue"
	"pretext/trainer/session"
)

// taskFlags are the flags that select a GLUE task or describe the user's own TSV files.
type taskFlags struct {
	task              string
	text, pair, label string // columns of a custom table
	labels            []string
	regression        bool
}

// ownTable is the value of --task for the user's own TSV files. Flags name their columns.
const ownTable = "tsv"

func newClassify() *cobra.Command {
	shared, t := finetuneFlags{}, taskFlags{text: "sentence", label: "label"}
	o := session.ClassifyOptions{FinetuneOptions: session.DefaultFinetuneOptions(128)}
	cmd := &cobra.Command{
		Use:   "classify --init MODEL --task TASK --data-dir DIR --out DIR",
		Short: "Learn to classify sentences or pairs (MRPC, SST-2, MNLI, other TSV)",
		Long: `Trains on DIR/train.tsv, evaluates on DIR/dev.tsv (MNLI: dev_matched.tsv and
dev_mismatched.tsv) and predicts DIR/test.tsv. Missing files are skipped. Without
train.tsv, --init must be a model that was trained for the task.

Tasks in GLUE's format: cola, mnli, mrpc, qnli, qqp, rte, sst-2, sts-b (predicts a
score), wnli. Task tsv: your own tables, with the columns --text-column, --pair-column
and --label-column.

Writes to OUT the model as step-… (BertForSequenceClassification), the metrics as
eval.json, and the predictions for each test table as test_results.tsv: one row per
example, with the probability of each class or, if the task predicts a score, the score.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if o.DataDir == "" {
				return failure.Usagef("no tables: give --data-dir DIR")
			}
			if o.Task, err = t.glue(); err != nil {
				return err
			}
			defer shared.report(cmd, &o.FinetuneOptions)()
			result, err := session.FinetuneClassify(cmd.Context(), o)
			if err != nil {
				return interrupted(err, o.Out)
			}
			return printClassified(cmd.OutOrStdout(), result, shared.json)
		},
	}
	fs := cmd.Flags()
	shared.add(fs, &o.FinetuneOptions)
	fs.StringVar(&t.task, "task", "", "name of the task (required)")
	fs.StringVar(&o.DataDir, "data-dir", "", "directory of the tables (required)")
	fs.StringVar(&t.text, "text-column", t.text, "with --task tsv: column of the text")
	fs.StringVar(&t.pair, "pair-column", "", "with --task tsv: column of a second text")
	fs.StringVar(&t.label, "label-column", t.label, "with --task tsv: column of the class")
	fs.StringSliceVar(&t.labels, "labels", nil, "with --task tsv: the classes; default: those of train.tsv, sorted")
	fs.BoolVar(&t.regression, "regression", false, "with --task tsv: the label is a score")
	return cmd
}

// glue returns the task that the flags select or describe.
func (o *taskFlags) glue() (glue.Task, error) {
	if o.task != ownTable {
		t, err := glue.ByName(o.task)
		if err != nil {
			return t, failure.Usagef("--task %q: must be one of %s, %s", o.task, strings.Join(taskNames(), ", "), ownTable)
		}
		return t, nil
	}
	t := glue.Task{Name: ownTable, Regression: o.regression, Labels: o.labels, A: []string{o.text}, Label: []string{o.label},
		Metrics: []glue.Metric{glue.Accuracy}}
	if o.regression {
		t.Metrics = []glue.Metric{glue.Pearson, glue.Spearman}
	}
	if o.pair != "" {
		t.B = []string{o.pair}
	}
	return t, nil
}

func taskNames() (names []string) {
	for _, t := range glue.Tasks() {
		names = append(names, t.Name)
	}
	return names
}

// printClassified writes the metrics of each split as text or, if asJSON is set, as JSON.
func printClassified(w io.Writer, c *session.ClassifyResult, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(c)
	}
	for _, split := range slices.Sorted(maps.Keys(c.Splits)) {
		m := c.Splits[split]
		line := fmt.Sprintf("%s: %.0f examples", split, m["examples"])
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if name != "examples" {
				line += fmt.Sprintf(", %s %.4f", name, m[name])
			}
		}
		fmt.Fprintln(w, line)
	}
	if c.Model == "" {
		return nil
	}
	_, err := fmt.Fprintf(w, "model: %s\n", c.Model)
	return err
}
