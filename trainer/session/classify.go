package session

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pretext/internal/failure"
	"pretext/trainer/finetune"
	"pretext/trainer/finetune/glue"
)

// ClassifyOptions are the options of [FinetuneClassify].
type ClassifyOptions struct {
	FinetuneOptions
	Task    glue.Task // if it has no labels, those of the training table are used
	DataDir string    // directory of the tables: train.tsv, dev.tsv and so on
}

// A ClassifyResult is the result of [FinetuneClassify] and the content of
// eval.json.
type ClassifyResult struct {
	Task   string                        `json:"task"`
	Steps  int64                         `json:"steps"`
	Splits map[string]map[string]float64 `json:"splits,omitempty"` // metrics by split and name: dev → accuracy → 0.9
	Model  string                        `json:"-"`
}

// FinetuneClassify trains on the training table of a directory, evaluates
// tables with labels and predicts tables without. Tables that do not exist are
// skipped. Beside the checkpoints it writes eval.json, and a file of results
// for each predicted table.
func FinetuneClassify(ctx context.Context, o ClassifyOptions) (result *ClassifyResult, err error) {
	if o.DataDir == "" {
		return nil, usagef("no tables: give --data-dir DIR")
	}
	err = runFinetune(o.FinetuneOptions, func(r *finetuneRun) error {
		c := &classification{o: o, r: r, task: o.Task}
		task, err := c.read()
		if err != nil {
			return err
		}
		if err := r.run(ctx, task); err != nil {
			return err
		}
		result, err = c.measure(ctx)
		return err
	})
	return result, err
}

// A classification is a run of [FinetuneClassify].
type classification struct {
	o      ClassifyOptions
	r      *finetuneRun
	task   glue.Task
	tables map[glue.Split]*table // tables to evaluate or to predict
}

// A table holds the rows and examples of a table to evaluate or predict.
type table struct {
	rows     []glue.Row
	examples *glue.Examples
}

// read reads all tables that exist and returns the training data, the head and
// the evaluation of the task.
func (c *classification) read() (fine finetuneTask, err error) {
	// A third-party model may number the same classes in another order.
	if own := c.r.labels(); len(own) > 0 && slices.Equal(slices.Sorted(slices.Values(own)), slices.Sorted(slices.Values(c.task.Labels))) {
		c.task.Labels = own
	}
	name, _ := c.task.File(glue.Train)
	train, hash, err := c.readTable(glue.Train)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !c.hasTable():
		return fine, usagef("--data-dir %s: no table of task %s, such as %s", c.o.DataDir, c.task.Name, name)
	case errors.Is(err, fs.ErrNotExist):
		if !c.task.Regression && len(c.task.Labels) == 0 {
			c.task.Labels = c.r.labels()
		}
	case err != nil:
		return fine, err
	default:
		description, err := json.Marshal(c.task)
		if err != nil {
			return fine, err
		}
		fine = finetuneTask{
			train: train.examples, count: train.examples.Len(), data: hash,
			options: map[string]string{"task": string(description), "max_seq_length": strconv.Itoa(c.o.MaxSeqLength)},
		}
	}
	if err := c.task.Validate(); err != nil {
		return fine, failure.Usage(err)
	}
	fine.heads, fine.labels = c.task.Heads(), c.task.Labels
	c.tables = map[glue.Split]*table{}
	for _, split := range c.task.Splits() {
		t, _, err := c.readTable(split)
		if err == nil {
			c.tables[split] = t
		} else if !errors.Is(err, fs.ErrNotExist) {
			return fine, err
		}
	}
	if slices.ContainsFunc(c.task.Splits(), c.measurable) {
		fine.evaluate = func(ctx context.Context) (map[string]float64, error) {
			splits, err := c.evaluateAll(ctx)
			return flat(splits), err
		}
	}
	return fine, nil
}

// hasTable reports whether there is a table of any split.
func (c *classification) hasTable() bool {
	return slices.ContainsFunc(append(c.task.Splits(), glue.Train), func(s glue.Split) bool {
		name, ok := c.task.File(s)
		_, err := os.Stat(filepath.Join(c.o.DataDir, name))
		return ok && err == nil
	})
}

// readTable reads the table of a split. err matches [fs.ErrNotExist] if there is none.
func (c *classification) readTable(split glue.Split) (t *table, hash string, err error) {
	name, _ := c.task.File(split)
	path := filepath.Join(c.o.DataDir, name)
	b, err := readTaskFile(path)
	if err != nil {
		return nil, "", err
	}
	task, rows, err := c.task.Read(path, b, split)
	if err != nil {
		return nil, "", err
	}
	if split == glue.Train {
		c.task = task // Read may have set the classes
	}
	examples, err := glue.NewExamples(c.task, rows, c.r.tok.NewEncoder(), c.o.MaxSeqLength)
	if err != nil {
		return nil, "", failure.Usage(err)
	}
	return &table{rows, examples}, hashOf(b), nil
}

// measurable reports whether a split has a table with labels.
func (c *classification) measurable(split glue.Split) bool {
	return c.tables[split] != nil && split != glue.Test && split != glue.TestMismatched
}

// measure evaluates every table with labels, predicts the others, and writes
// the results.
func (c *classification) measure(ctx context.Context) (*ClassifyResult, error) {
	result := &ClassifyResult{Task: c.task.Name, Steps: c.r.step, Model: c.r.trained()}
	var err error
	if result.Splits, err = c.evaluateAll(ctx); err != nil {
		return nil, err
	}
	if err := c.r.conclude(flat(result.Splits)); err != nil {
		return nil, err
	}
	for _, split := range c.task.Splits() {
		if c.tables[split] == nil || c.measurable(split) {
			continue
		}
		if err := c.predict(ctx, split, c.tables[split]); err != nil {
			return nil, err
		}
	}
	return result, c.r.write("eval.json", func(w io.Writer) error { return writeIndented(w, result) })
}

// evaluateAll evaluates every table with labels.
func (c *classification) evaluateAll(ctx context.Context) (map[string]map[string]float64, error) {
	splits := map[string]map[string]float64{}
	for _, split := range c.task.Splits() {
		if !c.measurable(split) {
			continue
		}
		m, err := c.evaluate(ctx, c.tables[split])
		if err != nil {
			return nil, err
		}
		splits[string(split)] = m
	}
	return splits, nil
}

// flat combines the measures of all splits. Names of measures in splits other than
// the first get the split's name as prefix.
func flat(splits map[string]map[string]float64) map[string]float64 {
	all := map[string]float64{}
	for i, split := range slices.Sorted(maps.Keys(splits)) {
		prefix := ""
		if i > 0 {
			prefix = strings.TrimPrefix(split, "dev_") + "_"
		}
		for name, v := range splits[split] {
			all[prefix+name] = v
		}
	}
	return all
}

// evaluate returns the loss and the metrics of a table.
func (c *classification) evaluate(ctx context.Context, t *table) (map[string]float64, error) {
	var answers, right []float64
	sums, err := finetune.Forward{Model: c.r.model, Heads: c.r.task.heads, Tokens: c.r.tokens}.Each(ctx, t.examples, func(i int, logits []float32) error {
		if c.task.Regression {
			answers, right = append(answers, float64(logits[0])), append(right, float64(t.rows[i].Score))
			return nil
		}
		answers, right = append(answers, float64(largest(logits))), append(right, float64(t.rows[i].Class))
		return nil
	})
	if err != nil {
		return nil, err
	}
	if math.IsNaN(sums.Label()) {
		return nil, finetune.ErrNumbers
	}
	m := map[string]float64{"examples": float64(len(right)), "loss": sums.Label()}
	for _, metric := range c.task.Metrics {
		m[string(metric)] = metric.Of(answers, right)
	}
	return m, nil
}

// largest returns the index of the largest value; of equal values, the first.
func largest(v []float32) int {
	best := 0
	for i, x := range v {
		if x > v[best] {
			best = i
		}
	}
	return best
}

// predict writes the results of a table without labels.
func (c *classification) predict(ctx context.Context, split glue.Split, t *table) error {
	name, _ := c.task.File(split)
	return c.r.write(strings.TrimSuffix(name, ".tsv")+"_results.tsv", func(w io.Writer) error {
		out := bufio.NewWriter(w)
		var line []byte
		_, err := finetune.Forward{Model: c.r.model, Heads: c.r.task.heads, Tokens: c.r.tokens}.Each(ctx, t.examples, func(_ int, logits []float32) error {
			if err := finetune.CheckNumbers(logits); err != nil {
				return err
			}
			line = glue.AppendResult(line[:0], logits, c.task.Regression)
			_, err := out.Write(line)
			return err
		})
		return errors.Join(err, out.Flush())
	})
}
