package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"pretext/trainer/finetune/glue"
)

// classifyOptions are those of finetune classify.
type classifyOptions struct {
	fineOptions
	task, dir         string
	text, pair, label string // columns of a table of one's own
	labels            []string
	regression        bool
}

// ownTable is the name of a task whose columns are given.
const ownTable = "tsv"

func newClassify() *cobra.Command {
	o := classifyOptions{fineOptions: defaultFineOptions(128), text: "sentence", label: "label"}
	cmd := &cobra.Command{
		Use:   "classify --init MODEL --task TASK --data-dir DIR --out DIR",
		Short: "Learn to classify sentences or pairs (MRPC, SST-2, MNLI, other TSV)",
		Long: `Trains on DIR/train.tsv, measures on DIR/dev.tsv (MNLI: dev_matched.tsv and
dev_mismatched.tsv) and predicts DIR/test.tsv; files that are not there are left
out, without train.tsv --init must be a model that was trained for the task.

Tasks: cola, mnli, mrpc, qnli, qqp, rte, sst-2, sts-b (a score), wnli in GLUE's form,
or tsv: tables with the columns --text-column, --pair-column and --label-column.

Writes OUT/step-… (BertForSequenceClassification), eval.json, and for each test
table test_results.tsv: a row an example, with the probability of each class, or
the score.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			result, err := finetuneClassify(cmd.Context(), o, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return result.print(cmd.OutOrStdout(), o.json)
		},
	}
	fs := cmd.Flags()
	o.add(fs)
	fs.StringVar(&o.task, "task", "", "name of the task (required)")
	fs.StringVar(&o.dir, "data-dir", "", "folder of the tables (required)")
	fs.StringVar(&o.text, "text-column", o.text, "of --task tsv: name of the column of the text")
	fs.StringVar(&o.pair, "pair-column", "", "of --task tsv: name of the column of a second text")
	fs.StringVar(&o.label, "label-column", o.label, "of --task tsv: name of the column of the class")
	fs.StringSliceVar(&o.labels, "labels", nil, "of --task tsv: the classes; default: those of train.tsv, sorted")
	fs.BoolVar(&o.regression, "regression", false, "of --task tsv: the label is a score")
	return cmd
}

// taskOf returns the task that the options name.
func (o *classifyOptions) taskOf() (glue.Task, error) {
	if o.task != ownTable {
		t, err := glue.ByName(o.task)
		if err != nil {
			return t, usagef("--task %q: must be one of %s, %s", o.task, strings.Join(taskNames(), ", "), ownTable)
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

// A classifyResult is eval.json, and what is printed.
type classifyResult struct {
	Task   string                        `json:"task"`
	Steps  int64                         `json:"steps"`
	Splits map[string]map[string]float64 `json:"splits,omitempty"` // dev → accuracy → 0.9
	Model  string                        `json:"-"`
}

func (c *classifyResult) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(c)
	}
	for _, split := range sortedKeys(c.Splits) {
		m := c.Splits[split]
		line := fmt.Sprintf("%s: %.0f examples", split, m["examples"])
		for _, name := range sortedKeys(m) {
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

func finetuneClassify(ctx context.Context, o classifyOptions, stderr io.Writer) (result *classifyResult, err error) {
	if o.dir == "" {
		return nil, usagef("no tables: give --data-dir DIR")
	}
	task, err := o.taskOf()
	if err != nil {
		return nil, err
	}
	r, err := openFine(o.fineOptions, stderr)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	c := &classifying{o: o, r: r, task: task}
	fine, err := c.read()
	if err != nil {
		return nil, err
	}
	if err := r.run(ctx, fine); err != nil {
		return nil, err
	}
	return c.measure(ctx)
}
