package glue

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"pretext/trainer"
)

// A Split is a part of a task's data.
type Split string

// The splits. MNLI has two dev and two test splits: matched, with the same genres as
// the training set, and mismatched, with other genres.
const (
	Train          Split = "train"
	Dev            Split = "dev"
	DevMismatched  Split = "dev_mismatched"
	Test           Split = "test"
	TestMismatched Split = "test_mismatched"
)

func (s Split) isTest() bool { return s == Test || s == TestMismatched }

// A Task describes the columns, labels and metrics of a task. [ByName] returns the tasks
// of GLUE. For other tables, fill in a Task.
type Task struct {
	Name       string   `json:"task"`
	Labels     []string `json:"labels,omitempty"` // class names by class number; nil: the labels of the training set, sorted
	Regression bool     `json:"regression"`       // a score instead of a class
	Metrics    []Metric `json:"-"`                // reported in addition to the loss

	// Accepted names of the columns of Row.A, Row.B and the label. The first name
	// that the table has is used. B is nil for single sentences.
	A     []string `json:"text_column"`
	B     []string `json:"pair_column,omitempty"`
	Label []string `json:"label_column"`

	// bare holds the column numbers of A and Label, for a task whose train and dev
	// tables have no header; nil: all tables have a header.
	bare *[2]int
	// matched reports whether the splits dev and test each exist in two variants,
	// matched and mismatched.
	matched bool
}

var entailment = []string{"entailment", "not_entailment"}

// Tasks returns the tasks of GLUE, by name.
func Tasks() []Task {
	text := []string{"sentence", "text_a", "text"}
	one, two := []string{"sentence1", "text_a"}, []string{"sentence2", "text_b"}
	label := []string{"label"}
	return []Task{
		{Name: "cola", Labels: []string{"0", "1"}, Metrics: []Metric{Matthews, Accuracy}, A: text, Label: label, bare: &[2]int{3, 1}},
		{Name: "mnli", Labels: []string{"contradiction", "entailment", "neutral"}, Metrics: []Metric{Accuracy}, A: one, B: two,
			Label: []string{"gold_label", "label"}, matched: true},
		{Name: "mrpc", Labels: []string{"0", "1"}, Metrics: []Metric{Accuracy, F1}, A: []string{"#1 String", "sentence1", "text_a"},
			B: []string{"#2 String", "sentence2", "text_b"}, Label: []string{"Quality", "label"}},
		{Name: "qnli", Labels: entailment, Metrics: []Metric{Accuracy}, A: []string{"question"}, B: []string{"sentence"}, Label: label},
		{Name: "qqp", Labels: []string{"0", "1"}, Metrics: []Metric{Accuracy, F1}, A: []string{"question1"}, B: []string{"question2"},
			Label: []string{"is_duplicate", "label"}},
		{Name: "rte", Labels: entailment, Metrics: []Metric{Accuracy}, A: one, B: two, Label: label},
		{Name: "sst-2", Labels: []string{"0", "1"}, Metrics: []Metric{Accuracy}, A: text, Label: label},
		{Name: "sts-b", Regression: true, Metrics: []Metric{Pearson, Spearman}, A: one, B: two, Label: []string{"score", "label"}},
		{Name: "wnli", Labels: []string{"0", "1"}, Metrics: []Metric{Accuracy}, A: one, B: two, Label: label},
	}
}

// ByName returns a task of GLUE. Case does not matter.
func ByName(name string) (Task, error) {
	name = strings.ToLower(name)
	var names []string
	for _, t := range Tasks() {
		if t.Name == name || strings.ReplaceAll(t.Name, "-", "") == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return Task{}, fmt.Errorf("task %q: must be one of %s", name, strings.Join(names, ", "))
}

// Validate reports every problem of t at once. t.Labels must be set: for a task without
// classes, use the task that [Task.Read] returns.
func (t Task) Validate() error {
	var errs []error
	if len(t.A) == 0 || len(t.Label) == 0 {
		errs = append(errs, errors.New("task without a column of text or of labels"))
	}
	if t.Regression == (len(t.Labels) > 0) {
		errs = append(errs, errors.New("task with both classes and a score, or neither"))
	}
	if !t.Regression && (len(t.Labels) < 2 || len(t.Labels) > trainer.MaxLabels) {
		errs = append(errs, fmt.Errorf("%d classes: must be from 2 to %d", len(t.Labels), trainer.MaxLabels))
	}
	return errors.Join(errs...)
}

// Heads returns the head that a model needs for the task.
func (t Task) Heads() trainer.Heads {
	if t.Regression {
		return trainer.Heads{Regression: true}
	}
	return trainer.Heads{Labels: len(t.Labels)}
}

// File returns the file name of a split; ok is false if the task does not have
// the split.
func (t Task) File(s Split) (name string, ok bool) {
	switch {
	case s == Train:
		return "train.tsv", true
	case !t.matched:
		return string(s) + ".tsv", s == Dev || s == Test
	case s == Dev:
		return "dev_matched.tsv", true
	case s == Test:
		return "test_matched.tsv", true
	}
	return string(s) + ".tsv", true
}

// Splits returns all splits except the training set: first the dev splits, which have
// labels, then the test splits.
func (t Task) Splits() []Split {
	if t.matched {
		return []Split{Dev, DevMismatched, Test, TestMismatched}
	}
	return []Split{Dev, Test}
}

// labelOf returns the number of the class with this name.
func (t Task) labelOf(name string) (int32, bool) {
	i := slices.Index(t.Labels, name)
	return int32(i), i >= 0
}
