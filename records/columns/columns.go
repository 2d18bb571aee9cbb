// Package columns defines how examples are written to formats other than TFRecord:
// as a table of rows, one row for each example, with typed columns.
//
//	table := columns.NewTable(columns.Spec{Form: records.Pairs, Seq: 128, Predictions: 20})
//	w, err := format.NewWriter(columns.Part{Stem: "train-00000-of-00010", Schema: table.Schema, Rows: n}, create)
//	for each example {
//		err := w.Write(table.Row(&example))
//	}
//	files, err := w.Close()
//
// # Columns of an example
//
// Unless a consumer wants others (see [Field]), the columns are the features of the
// example's form in package records, with the same names, in the same order. S is
// max_seq_length and P max_predictions_per_seq; "any" is a list of any length, at least 1.
//
//	name                  type     pairs  masked  tokens  packed
//	input_ids             int32    S      S       any     S
//	input_mask            int32    S      S
//	segment_ids           int32    S      S
//	masked_lm_positions   int32    P      P
//	masked_lm_ids         int32    P      P
//	masked_lm_weights     float32  P      P
//	next_sentence_labels  int32    1
//	sequence_lengths      int32                           any
//
// Each subpackage implements one format.
package columns

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"pretext/internal/failure"
	"pretext/records"
)

// ErrCorrupt matches errors about a file that does not conform to its format.
var ErrCorrupt = failure.Damaged("corrupt file of examples")

// ErrRange matches errors about an integer that the type of its column cannot hold.
var ErrRange = errors.New("outside of the range of")

// A Type is the type of the values of a column in the files. In memory, integers are int32.
type Type int

// The types of values.
const (
	Int32 Type = iota
	Float32
	Int64
	Uint16
)

// types describes each Type: its name in NumPy and its size in bytes.
var types = [...]struct {
	name string
	size int
}{{"int32", 4}, {"float32", 4}, {"int64", 8}, {"uint16", 2}}

// String returns the name of the type in NumPy.
func (t Type) String() string { return types[t].name }

// Size returns the number of bytes of a value.
func (t Type) Size() int { return types[t].size }

// IntNamed returns the integer type with the given name. ok is false if there is none.
func IntNamed(name string) (t Type, ok bool) {
	i := slices.IndexFunc(types[:], func(d struct {
		name string
		size int
	}) bool {
		return d.name == name
	})
	return Type(max(0, i)), i >= 0 && Type(i) != Float32
}

// A Column is a column of a table.
type Column struct {
	Name string
	Type Type
	Len  int // number of values in each row; 0: a list of any length, at least 1
	// Plain means that a reader sees the bytes of the values, and no type and length. Only
	// formats that say so have such columns.
	Plain bool
}

// A Value is the content of one column in one row: Floats if the column has type [Float32],
// otherwise Ints.
type Value struct {
	Ints   []int32
	Floats []float32
}

// Variable reports whether any column of a schema holds lists of any length.
func Variable(schema []Column) bool {
	return slices.ContainsFunc(schema, func(c Column) bool { return c.Len == 0 })
}

// CheckRow returns an error unless a row has the columns of a schema, each with the right
// number of values. The error matches [ErrRange] if a value does not fit the type of its
// column.
func CheckRow(schema []Column, row []Value) error {
	if len(row) != len(schema) {
		return fmt.Errorf("a row of %d columns, want %d", len(row), len(schema))
	}
	for i, c := range schema {
		n := len(row[i].Ints)
		if c.Type == Float32 {
			n = len(row[i].Floats)
		}
		if n == 0 || c.Len != 0 && n != c.Len {
			return fmt.Errorf("%s has %d values, want %s", c.Name, n, c.want())
		}
		if c.Type != Uint16 {
			continue
		}
		for j, v := range row[i].Ints {
			if v != int32(uint16(v)) {
				return fmt.Errorf("%s: value %d is %d: %w %s", c.Name, j, v, ErrRange, c.Type)
			}
		}
	}
	return nil
}

func (c Column) want() string {
	if c.Len == 0 {
		return "at least 1"
	}
	return fmt.Sprint(c.Len)
}

// A Part describes the rows of one shard.
type Part struct {
	Stem        string // file names up to the first dot
	Schema      []Column
	Rows        int64
	Compression string // one of the format's; "": its default
	Bounds      []int  // largest number of tokens of each length bin; nil: those of a [Binned] format

	// Needed by some formats only.
	Vocab   Vocab                   // if NeedsVocab
	IDs     int                     // size of the vocabulary, 0: unknown; if NeedsIDs
	Totals  []int64                 // if NeedsTotals: number of values of each column in all rows
	Scratch func() (Scratch, error) // creates a temporary file, which Close deletes
}

// A Vocab translates ids to tokens.
type Vocab interface {
	Len() int
	Token(id int32) string
	CLS() int32
	SEP() int32
}

// A Scratch is a temporary file.
type Scratch interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// Complete returns an error unless n, the number of rows that a writer received, equals
// Rows.
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

// Only opens the file of a part of a format that writes one for each.
func (o Open) Only(p Part, files []string) (file io.ReaderAt, size int64, err error) {
	if len(files) != 1 {
		return nil, 0, fmt.Errorf("%s: %w: %d files for one part, must be 1", p.Stem, ErrCorrupt, len(files))
	}
	return o(files[0])
}

// A Writer writes the rows of one part. It must not be used by several
// goroutines at once.
type Writer interface {
	// Write appends a row. It does not retain the values.
	Write(row []Value) error
	// Close completes the files and returns them in the order in which [Format.Rows] reads
	// them. It fails if rows of the part are missing.
	Close() ([]File, error)
}

// A File is a file of a part, with the entry for it in the index of the data set.
type File struct {
	Name string
	Info any // stored as JSON; nil if the format has no index
}

// A Format is a file format of examples. Equal rows give equal bytes.
type Format interface {
	// About describes the format.
	About() Description
	// NewWriter returns a writer of the files of a part.
	NewWriter(p Part, create Create) (Writer, error)
	// Rows reads the rows of a part from its files, in order. The values are valid until
	// the next iteration. At most one error is yielded, as the last; it matches
	// [ErrCorrupt] if the files differ from those that NewWriter writes.
	Rows(p Part, files []string, open Open) iter.Seq2[[]Value, error]
}

// A Description holds what commands, help pages and stages need to know about a format.
type Description struct {
	// Usage is one or more lines of help: which project the format belongs to, how to read
	// it, and which examples it is limited to.
	Usage string
	// Library and Program show how to read the examples of a split in Python. Program
	// contains placeholders: {folder} for the directory, {pattern} for the pattern of the
	// split's files, and {files} for their sorted names.
	Library, Program string
	// Suffix is the end of {pattern}: the file suffix after the first dot.
	Suffix string
	// OwnColumns means that the columns in the files differ from those of [For].
	OwnColumns bool
	// Compressions lists the values of --compression, the default first; nil: the files have
	// no choice.
	Compressions []string
	// Ints lists the types of integers that the format supports, besides [Int32].
	Ints []Type
	// Plain means that the format has columns that are [Column.Plain].
	Plain bool
	// Holds reports whether the format supports examples of a form; nil: it supports all
	// forms.
	Holds func(records.Form) bool
	// OneSplit means that a directory can hold only one split.
	OneSplit bool
	// NeedsVocab, NeedsIDs and NeedsTotals mean that NewWriter needs these fields of
	// [Part]; Totals only if the schema has lists of any length.
	NeedsVocab, NeedsIDs, NeedsTotals bool
	// MaskedShare and IDsShare are the measured size of the files, divided by the size of
	// the same records as uncompressed TFRecords: for records with masks (at 128 tokens),
	// and for documents and packed rows. 0 if the format does not support them.
	MaskedShare, IDsShare float64
}

// Holds reports whether a format supports examples of a form.
func Holds(f Format, form records.Form) bool {
	holds := f.About().Holds
	return holds == nil || holds(form)
}

// A Binned format divides the rows of a part into files by length.
type Binned interface {
	// Bounds returns the largest number of tokens of each length bin, ascending; the last is
	// maxSeqLength.
	Bounds(maxSeqLength int) []int
}

// BinOf returns the length bin of a row of n tokens: the first whose bound is at least n.
func BinOf(bounds []int, n int) int {
	i, _ := slices.BinarySearch(bounds, n)
	return min(i, len(bounds)-1)
}

// An Indexer is a [Format] with an index file that describes all parts.
type Indexer interface {
	// Index returns the name and the content of the index file. files are the files of all
	// parts, in order; the Info of each is a [json.RawMessage].
	Index(files []File) (name string, content []byte, err error)
}
