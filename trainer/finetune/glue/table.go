package glue

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"pretext/trainer"
	"pretext/trainer/finetune"
)

// Limits of a table.
const (
	maxLine  = 16 << 20
	maxTable = 1 << 30
)

// A Row is one example: a line of a table.
type Row struct {
	A, B  string  // B is empty for single sentences
	Class int32   // class number, or [trainer.NoLabel]
	Score float32 // NaN: none
}

// A table is the state of parsing a table.
type table struct {
	task  Task
	name  string
	split Split

	columns  [3]int // of A, B and Label; -1: none
	width    int    // number of cells in the header; 0 if there is no header
	rows     []Row
	names    []string // label of each row, until the classes are known
	learning bool     // the classes are not known yet
}

// Read parses a table and returns its rows and the task. If t has no classes and split
// is Train, the labels in the table become the classes of the returned task. Errors are
// [*finetune.DataError] and begin with name.
func (t Task) Read(name string, data []byte, split Split) (Task, []Row, error) {
	r := table{task: t, name: name, split: split, learning: !t.Regression && len(t.Labels) == 0 && split == Train}
	if err := r.read(data); err != nil {
		return t, nil, err
	}
	if r.learning {
		r.learn()
		if err := r.task.Validate(); err != nil {
			return t, nil, r.fault(0, "%v", err)
		}
	}
	return r.task, r.rows, nil
}

func (r *table) fault(line int, format string, args ...any) error {
	e := &finetune.DataError{File: r.name, Reason: fmt.Sprintf(format, args...)}
	if line > 0 {
		e.Place = fmt.Sprintf("line %d", line)
	}
	return e
}

func (r *table) read(data []byte) error {
	if len(data) > maxTable {
		return r.fault(0, "%d bytes: more than %d", len(data), maxTable)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	bare := r.task.bare != nil && !r.split.isTest()
	if bare {
		r.columns = [3]int{r.task.bare[0], -1, r.task.bare[1]}
	}
	for n := 1; len(data) > 0; n++ {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		data = rest
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(line) > maxLine {
			return r.fault(n, "%d bytes: more than %d", len(line), maxLine)
		}
		if !utf8.Valid(line) {
			return r.fault(n, "not UTF-8")
		}
		if len(line) == 0 && len(data) == 0 {
			break // a blank line at the end
		}
		cells := strings.Split(string(line), "\t")
		var err error
		if n == 1 && !bare {
			err = r.header(cells)
		} else {
			err = r.row(n, cells)
		}
		if err != nil {
			return err
		}
	}
	if len(r.rows) == 0 {
		return r.fault(0, "no rows")
	}
	return nil
}

// header finds the columns of the task by the column names in the header.
func (r *table) header(cells []string) error {
	r.width = len(cells)
	find := func(what string, names []string, needed bool) (int, error) {
		for _, name := range names {
			if i := slices.IndexFunc(cells, func(c string) bool { return strings.EqualFold(strings.TrimSpace(c), name) }); i >= 0 {
				return i, nil
			}
		}
		if !needed {
			return -1, nil
		}
		return -1, r.fault(1, "no column for %s, named %s: the columns are %q", what, strings.Join(names, " or "), cells)
	}
	var err error
	for i, c := range []struct {
		what   string
		names  []string
		needed bool
	}{{"the text", r.task.A, true}, {"the second text", r.task.B, len(r.task.B) > 0}, {"the label", r.task.Label, !r.split.isTest()}} {
		if r.columns[i], err = find(c.what, c.names, c.needed); err != nil {
			return err
		}
	}
	return nil
}

// row adds a row. It accepts more cells than the header has, such as the
// annotator labels of MNLI, which only some rows have.
func (r *table) row(n int, cells []string) error {
	cell := func(column int) (string, error) {
		if column < 0 {
			return "", nil
		}
		if column >= len(cells) {
			return "", r.fault(n, "%d cells: column %d is missing", len(cells), column+1)
		}
		return cells[column], nil
	}
	row := Row{Class: trainer.NoLabel, Score: float32(math.NaN())}
	var err error
	if row.A, err = cell(r.columns[0]); err != nil {
		return err
	}
	if row.B, err = cell(r.columns[1]); err != nil {
		return err
	}
	if !r.split.isTest() {
		label, err := cell(r.columns[2])
		if err != nil {
			return err
		}
		if err := r.label(n, strings.TrimSpace(label), &row); err != nil {
			return err
		}
	}
	r.rows = append(r.rows, row)
	return nil
}

// label parses the label of a row.
func (r *table) label(n int, label string, row *Row) error {
	switch {
	case r.task.Regression:
		v, err := strconv.ParseFloat(label, 32)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return r.fault(n, "score %q: not a number", label)
		}
		row.Score = float32(v)
	case r.learning:
		if label == "" {
			return r.fault(n, "empty label")
		}
		r.names = append(r.names, label)
	default:
		class, ok := r.task.labelOf(label)
		if !ok {
			return r.fault(n, "label %q: must be one of %q", label, r.task.Labels)
		}
		row.Class = class
	}
	return nil
}

// learn sets the classes of the task to the labels found in the rows, sorted, and sets
// the class of each row.
func (r *table) learn() {
	r.task.Labels = slices.Compact(slices.Sorted(slices.Values(r.names)))
	number := map[string]int32{}
	for i, name := range r.task.Labels {
		number[name] = int32(i)
	}
	for i, name := range r.names {
		r.rows[i].Class = number[name]
	}
}
