package columns

import (
	"fmt"
	"slices"

	"pretext/records"
)

// Labels is a source of columns besides the features of examples: the ids to predict. There
// is one value for each of input_ids, the original id at the masked positions and [ignored]
// at all others.
const Labels = "labels"

// ignored is the label of positions that are not predicted: the ignore_index of PyTorch's
// cross entropy, which Hugging Face's collators use.
const ignored = -100

// A Field describes a column that a consumer wants.
type Field struct {
	Name string
	// From lists features and other sources of the values. The first that examples of the
	// form have is used. Without any, the column is left out.
	From []string
	// Type is the type of the values; nil: that of the table.
	Type *Type
	// Plain is that of the column.
	Plain bool
}

// A Spec determines the columns of examples.
type Spec struct {
	Form             records.Form // "" is [records.Pairs]
	Seq, Predictions int          // max_seq_length and max_predictions_per_seq
	Int              Type         // type of integers
	Fields           []Field      // nil: a column for each feature of the form
}

// A Table translates between examples and the rows of a data set. It must not be used by
// several goroutines at once.
type Table struct {
	Schema []Column

	spec    Spec
	sources []source // by column
	row     []Value
	made    [][]int32 // by column: buffer for values that are not in the example
}

// A source is the origin of a column: a feature, or one of the names above.
type source struct {
	list    records.List
	derived string // "": the feature
}

// NewTable returns the table for a Spec.
func NewTable(s Spec) *Table {
	t := &Table{spec: s}
	fields := s.Fields
	if fields == nil {
		for _, l := range s.Form.Lists() {
			fields = append(fields, Field{Name: l.Name(), From: []string{l.Name()}})
		}
	}
	for _, f := range fields {
		from, ok := s.find(f.From)
		if !ok {
			continue
		}
		c := Column{Name: f.Name, Type: s.Int, Len: s.Form.Len(from.list, s.Seq, s.Predictions), Plain: f.Plain}
		switch {
		case from.derived == "" && from.list.Float():
			c.Type = Float32
		case f.Type != nil:
			c.Type = *f.Type
		}
		t.Schema, t.sources = append(t.Schema, c), append(t.sources, from)
	}
	t.made = make([][]int32, len(t.Schema))
	return t
}

// find returns the first of the named sources that examples of the form have.
func (s Spec) find(names []string) (source, bool) {
	lists := s.Form.Lists() // the first one is input_ids
	for _, name := range names {
		i := slices.IndexFunc(lists, func(l records.List) bool { return l.Name() == name })
		switch {
		case i >= 0:
			return source{list: lists[i]}, true
		case name == Labels && s.Form.Masks():
			return source{list: lists[0], derived: name}, true
		}
	}
	return source{}, false
}

// Row returns the values of an example, in the order of the schema. They share memory with
// the example and the table, and are valid until the next call.
func (t *Table) Row(e *records.Example) []Value {
	t.row = t.row[:0]
	for i, from := range t.sources {
		switch {
		case from.derived != "":
			t.made[i] = labels(t.made[i], e)
			t.row = append(t.row, Value{Ints: t.made[i]})
		case from.list.Float():
			t.row = append(t.row, Value{Floats: e.MaskedLMWeights})
		default:
			t.row = append(t.row, Value{Ints: e.Ints(from.list)})
		}
	}
	return t.row
}

// Meaning returns a one-line description of the values of column i.
func (t *Table) Meaning(i int) string {
	if from := t.sources[i]; from.derived == "" {
		return t.spec.Form.Meaning(from.list)
	}
	return fmt.Sprintf("the original ids at the masked places, %d elsewhere", ignored)
}

// labels returns the values of [Labels] of an example. It overwrites buf.
func labels(buf []int32, e *records.Example) []int32 {
	buf = buf[:0]
	for range e.InputIDs {
		buf = append(buf, ignored)
	}
	for i, at := range e.MaskedLMPositions {
		if e.MaskedLMWeights[i] != 0 && int(at) < len(buf) && at >= 0 {
			buf[at] = e.MaskedLMIDs[i]
		}
	}
	return buf
}

// Example returns the example whose values are in row, in the order of the schema. It shares
// memory with them.
func (t *Table) Example(row []Value) *records.Example {
	e := &records.Example{NextSentenceLabel: records.NoLabel}
	for i, from := range t.sources {
		switch {
		case from.derived != "":
		case from.list.Float():
			e.MaskedLMWeights = row[i].Floats
		default:
			e.SetInts(from.list, row[i].Ints)
		}
	}
	for i, from := range t.sources {
		if from.derived == Labels {
			t.predictions(e, row[i].Ints)
		}
	}
	if t.spec.Form.Masks() && len(e.SegmentIDs) == 0 {
		e.SegmentIDs = make([]int32, len(e.InputIDs)) // of the form Masked: all 0
	}
	return e
}

// predictions sets the features of the masked positions from labels.
func (t *Table) predictions(e *records.Example, labels []int32) {
	n := t.spec.Predictions
	e.MaskedLMPositions, e.MaskedLMIDs, e.MaskedLMWeights = make([]int32, 0, n), make([]int32, 0, n), make([]float32, 0, n)
	for at, id := range labels {
		if id != ignored {
			e.MaskedLMPositions, e.MaskedLMIDs, e.MaskedLMWeights = append(e.MaskedLMPositions, int32(at)), append(e.MaskedLMIDs, id), append(e.MaskedLMWeights, 1)
		}
	}
	for len(e.MaskedLMIDs) < n {
		e.MaskedLMPositions, e.MaskedLMIDs, e.MaskedLMWeights = append(e.MaskedLMPositions, 0), append(e.MaskedLMIDs, 0), append(e.MaskedLMWeights, 0)
	}
}

// Complete returns an error unless every feature of the form can be restored from the
// columns.
func (t *Table) Complete() error {
	have := func(name string) bool {
		return slices.ContainsFunc(t.sources, func(s source) bool { return s.derived == name || s.derived == "" && s.list.Name() == name })
	}
	for _, l := range t.spec.Form.Lists() {
		switch name := l.Name(); {
		case have(name):
		case have(Labels) && (name == records.MaskedLMPositions || name == records.MaskedLMIDs || name == records.MaskedLMWeights):
		case name == records.SegmentIDs && !t.spec.Form.Pairs():
		default:
			return fmt.Errorf("no column has the feature %s", name)
		}
	}
	return nil
}
