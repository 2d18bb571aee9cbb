package command

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pretext/trainer/finetune"
	"pretext/trainer/finetune/glue"
)

// A classifying is a run of finetune classify.
type classifying struct {
	o    classifyOptions
	r    *fineRun
	task glue.Task
	held map[glue.Split]*heldTable // tables to measure on or to predict
}

// A heldTable is a table that is not trained on.
type heldTable struct {
	rows     []glue.Row
	examples *glue.Examples
}

// read reads all tables there are.
func (c *classifying) read() (fine fineTask, err error) {
	// A model of others may number the same classes in another order.
	if own := c.r.labels(); len(own) > 0 && slices.Equal(slices.Sorted(slices.Values(own)), slices.Sorted(slices.Values(c.task.Labels))) {
		c.task.Labels = own
	}
	name, _ := c.task.File(glue.Train)
	b, err := readTaskFile(filepath.Join(c.o.dir, name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if !c.task.Regression && len(c.task.Labels) == 0 {
			c.task.Labels = c.r.labels()
		}
	case err != nil:
		return fine, err
	default:
		if fine, err = c.training(filepath.Join(c.o.dir, name), b); err != nil {
			return fine, err
		}
	}
	if err := c.task.Validate(); err != nil {
		return fine, misuse(err)
	}
	fine.heads, fine.labels = c.task.Heads(), c.task.Labels
	if err := c.readHeld(); err != nil {
		return fine, err
	}
	if slices.ContainsFunc(c.task.Splits(), c.measurable) {
		fine.evaluate = func(ctx context.Context) (map[string]float64, error) {
			splits, err := c.evaluateAll(ctx)
			return flat(splits), err
		}
	}
	if fine.train == nil && len(c.held) == 0 {
		return fine, usagef("--data-dir %s: no table of task %s (%s and the like)", c.o.dir, c.task.Name, name)
	}
	return fine, nil
}

// training reads the table to train on.
func (c *classifying) training(path string, b []byte) (fine fineTask, err error) {
	var rows []glue.Row
	if c.task, rows, err = c.task.Read(path, b, glue.Train); err != nil {
		return fine, err
	}
	examples, err := glue.NewExamples(c.task, rows, c.r.tok.NewEncoder(), c.o.length)
	if err != nil {
		return fine, misuse(err)
	}
	description, err := json.Marshal(c.task)
	if err != nil {
		return fine, err
	}
	return fineTask{
		train: examples, count: examples.Len(), data: hashOf(b),
		options: map[string]string{"task": string(description), "max_seq_length": strconv.Itoa(c.o.length)},
	}, nil
}

func (c *classifying) readHeld() error {
	c.held = map[glue.Split]*heldTable{}
	for _, split := range c.task.Splits() {
		name, _ := c.task.File(split)
		path := filepath.Join(c.o.dir, name)
		b, err := readTaskFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		_, rows, err := c.task.Read(path, b, split)
		if err != nil {
			return err
		}
		examples, err := glue.NewExamples(c.task, rows, c.r.tok.NewEncoder(), c.o.length)
		if err != nil {
			return misuse(err)
		}
		c.held[split] = &heldTable{rows, examples}
	}
	return nil
}

// measurable tells whether there is a table of a split, with labels.
func (c *classifying) measurable(split glue.Split) bool {
	return c.held[split] != nil && split != glue.Test && split != glue.TestMismatched
}

// measure measures on every table with labels, predicts those without, and
// writes the results.
func (c *classifying) measure(ctx context.Context) (*classifyResult, error) {
	result := &classifyResult{Task: c.task.Name, Steps: c.r.step, Model: c.r.trained()}
	var err error
	if result.Splits, err = c.evaluateAll(ctx); err != nil {
		return nil, err
	}
	if err := c.r.conclude(flat(result.Splits)); err != nil {
		return nil, err
	}
	for _, split := range c.task.Splits() {
		if c.held[split] == nil || c.measurable(split) {
			continue
		}
		if err := c.predict(ctx, split, c.held[split]); err != nil {
			return nil, err
		}
	}
	return result, c.r.write("eval.json", func(w io.Writer) error { return writeIndented(w, result) })
}

// evaluateAll measures on every table with labels.
func (c *classifying) evaluateAll(ctx context.Context) (map[string]map[string]float64, error) {
	splits := map[string]map[string]float64{}
	for _, split := range c.task.Splits() {
		if !c.measurable(split) {
			continue
		}
		m, err := c.evaluate(ctx, c.held[split])
		if err != nil {
			return nil, err
		}
		splits[string(split)] = m
	}
	return splits, nil
}

// flat names the measures of all splits: as they are where there is one, and of
// several the first as it is, the others behind the names of their splits.
func flat(splits map[string]map[string]float64) map[string]float64 {
	all := map[string]float64{}
	for i, split := range sortedKeys(splits) {
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
func (c *classifying) evaluate(ctx context.Context, table *heldTable) (map[string]float64, error) {
	var answers, right []float64
	sums, err := finetune.Forward{Model: c.r.model, Heads: c.r.task.heads, Tokens: c.r.microBatch()}.Each(ctx, table.examples, func(i int, logits []float32) error {
		if c.task.Regression {
			answers, right = append(answers, float64(logits[0])), append(right, float64(table.rows[i].Score))
			return nil
		}
		answers, right = append(answers, float64(largest(logits))), append(right, float64(table.rows[i].Class))
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

// largest is the number of the largest value, the first of equals.
func largest(v []float32) int {
	best := 0
	for i, x := range v {
		if x > v[best] {
			best = i
		}
	}
	return best
}

// predict writes the results of a test table.
func (c *classifying) predict(ctx context.Context, split glue.Split, table *heldTable) error {
	name, _ := c.task.File(split)
	return c.r.write(strings.TrimSuffix(name, ".tsv")+"_results.tsv", func(w io.Writer) error {
		out := bufio.NewWriter(w)
		var line []byte
		_, err := finetune.Forward{Model: c.r.model, Heads: c.r.task.heads, Tokens: c.r.microBatch()}.Each(ctx, table.examples, func(_ int, logits []float32) error {
			if slices.ContainsFunc(logits, func(v float32) bool { return math.IsNaN(float64(v)) }) {
				return finetune.ErrNumbers
			}
			line = glue.AppendResult(line[:0], logits, c.task.Regression)
			_, err := out.Write(line)
			return err
		})
		return errors.Join(err, out.Flush())
	})
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
