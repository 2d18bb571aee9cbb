// Package columns defines the form in which examples are written to formats
// other than TFRecord: a table of rows, one row for each example, with typed
// columns of fixed length.
//
//	schema := columns.Examples(128, 20)
//	w, err := format.NewWriter(columns.Part{Stem: "train-00000-of-00010", Schema: schema, Rows: n}, create)
//	for each example {
//		err := w.Write(columns.Row(&example, values[:0]))
//	}
//	err = w.Close()
//
// # Columns of an example
//
// The columns are the features of package records, under the same names and in
// the same order. S is max_seq_length and P max_predictions_per_seq.
//
//	name                  type     values
//	input_ids             int32    S
//	input_mask            int32    S
//	segment_ids           int32    S
//	masked_lm_positions   int32    P
//	masked_lm_ids         int32    P
//	masked_lm_weights     float32  P
//	next_sentence_labels  int32    1
//
// A package below this one is one format.
package columns

import (
	"fmt"
	"io"
	"iter"

	"pretext/internal/failure"
	"pretext/records"
)

// ErrCorrupt matches the error of a file that is not, or no longer, what its
// format says.
var ErrCorrupt = failure.Damaged("corrupt file of examples")

// A Type is the type of the values of a column.
type Type int

// The types of values, both of four bytes.
const (
	Int32 Type = iota
	Float32
)

// A Column is a column of a table.
type Column struct {
	Name string
	Type Type
	Len  int // number of values in each row
}

// A Value is the content of one column of one row: Ints for a column of type
// [Int32], Floats for [Float32].
type Value struct {
	Ints   []int32
	Floats []float32
}

// Examples returns the columns of the examples of maxSeqLength tokens and
// maxPredictions masked tokens.
func Examples(maxSeqLength, maxPredictions int) []Column {
	return []Column{
		{"input_ids", Int32, maxSeqLength},
		{"input_mask", Int32, maxSeqLength},
		{"segment_ids", Int32, maxSeqLength},
		{"masked_lm_positions", Int32, maxPredictions},
		{"masked_lm_ids", Int32, maxPredictions},
		{"masked_lm_weights", Float32, maxPredictions},
		{"next_sentence_labels", Int32, 1},
	}
}

// Row appends the values of an example to row, in the order of [Examples]. They
// share memory with the example, except the label.
func Row(e *records.Example, row []Value) []Value {
	return append(row, Value{Ints: e.InputIDs}, Value{Ints: e.InputMask}, Value{Ints: e.SegmentIDs},
		Value{Ints: e.MaskedLMPositions}, Value{Ints: e.MaskedLMIDs}, Value{Floats: e.MaskedLMWeights},
		Value{Ints: []int32{e.NextSentenceLabel}})
}

// Example returns the example with these values, in the order of [Examples]. It
// shares memory with them.
func Example(row []Value) *records.Example {
	return &records.Example{InputIDs: row[0].Ints, InputMask: row[1].Ints, SegmentIDs: row[2].Ints,
		MaskedLMPositions: row[3].Ints, MaskedLMIDs: row[4].Ints, MaskedLMWeights: row[5].Floats,
		NextSentenceLabel: row[6].Ints[0]}
}

// A Part is the rows of one shard.
type Part struct {
	Stem   string // name of the files up to the first dot
	Schema []Column
	Rows   int64
}

// Complete returns an error unless a writer of the part got n rows: all of them.
func (p Part) Complete(n int64) error {
	if n != p.Rows {
		return fmt.Errorf("%s: %d rows, want %d", p.Stem, n, p.Rows)
	}
	return nil
}

// Create creates a file with the given name. Close commits it.
type Create func(name string) (io.WriteCloser, error)

// Open opens a file with the given name and returns its size in bytes.
type Open func(name string) (file io.ReaderAt, size int64, err error)

// A Writer writes the rows of one part. It must not be used by several
// goroutines at once.
type Writer interface {
	// Write appends a row. It does not keep the values.
	Write(row []Value) error
	// Close completes the files and returns them in the order in which
	// [Format.Rows] reads them. The part must have all its rows.
	Close() ([]File, error)
}

// A File is a file of a part, with its description in the index of the data set.
type File struct {
	Name string
	Info any // is stored as JSON; nil if the format has no index
}

// A Format is a file format of examples. Equal rows give equal bytes.
type Format interface {
	// NewWriter returns a writer of the files of a part.
	NewWriter(p Part, create Create) (Writer, error)
	// Rows reads a part back from its files, in order. The values are valid until
	// the next iteration; at most one error ends it, which matches [ErrCorrupt]
	// if the files are not as NewWriter writes them.
	Rows(p Part, files []string, open Open) iter.Seq2[[]Value, error]
}

// An Indexer is a [Format] with a file about all parts.
type Indexer interface {
	// Index returns the name and the content of that file, given the files of
	// all parts in order; their Info is a [json.RawMessage].
	Index(files []File) (name string, content []byte, err error)
}

// A SplitIndexer is an [Indexer] whose file can list only one split, so that each
// split needs a directory of its own.
type SplitIndexer interface {
	Indexer
	OneSplit()
}
