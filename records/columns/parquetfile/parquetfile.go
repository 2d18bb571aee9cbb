// Package parquetfile reads and writes examples as Apache Parquet files, one for each part,
// with a list of numbers in each column. It also writes a README.md that tells the Hugging
// Face library datasets which files belong to which split:
//
//	datasets.load_dataset("DIR", streaming=True)["train"]
//
// # Format
//
// The columns are in the order of their names. A column is a LIST of required INT32 or
// FLOAT, or a plain INT32 or FLOAT if each row has one value. A row group has [groupRows]
// rows; with lists of any length it ends earlier if its values reach [groupBytes]. Pages
// are compressed with zstd. See parquet.apache.org/docs/file-format.
//
// Values are stored as indexes into a dictionary of their row group, whose words are sorted
// by frequency. The indexes have whole bytes: zstd looks for repeated bytes, so that ids of
// 16 bits are smaller in the file than packed ids of 15.
package parquetfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"pretext/records/columns"
)

// suffix is the end of the file name of a part.
const suffix = ".parquet"

// groupRows is the number of rows in a row group. A streaming reader holds one row group in
// memory: 8 MB with examples of 128 tokens, 34 MB with 512.
const groupRows = 4096

// groupBytes is the maximum size of the values in a row group with lists of any length; a
// longer row is a row group of its own.
const groupBytes = 1 << 25

// Format is the Parquet format. The zero value is ready for use.
type Format struct{}

// About describes the format.
func (Format) About() columns.Description {
	return columns.Description{
		Usage:       `Parquet with lists of numbers: datasets.load_dataset("DIR")`,
		Library:     "datasets",
		Program:     "from datasets import load_dataset\n\nexamples = load_dataset(\"parquet\", data_files={pattern}, split=\"train\")",
		Suffix:      "parquet",
		MaskedShare: 0.27,
		IDsShare:    0.77,
		Ints:        []columns.Type{columns.Int64, columns.Uint16},
	}
}

// schemaOf returns the Parquet schema of columns.
func schemaOf(list []columns.Column) *parquet.Schema {
	group := parquet.Group{}
	for _, c := range list {
		node := parquet.Int(32)
		switch c.Type {
		case columns.Float32:
			node = parquet.Leaf(parquet.FloatType)
		case columns.Int64:
			node = parquet.Int(64)
		case columns.Uint16:
			node = parquet.Uint(16)
		}
		if c.Len != 1 {
			node = parquet.List(node)
		}
		group[c.Name] = node
	}
	return parquet.NewSchema("example", group)
}

// order returns the indexes of the columns, sorted by name as in the schema.
func order(list []columns.Column) (order []int) {
	for i := range list {
		order = append(order, i)
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(list[a].Name, list[b].Name) })
	return order
}

// Index returns README.md, which lists the files of each split.
func (Format) Index(files []columns.File) (name string, content []byte, err error) {
	var b bytes.Buffer
	b.WriteString("---\nconfigs:\n- config_name: default\n  data_files:\n")
	last := ""
	for _, f := range files {
		split, _, _ := strings.Cut(f.Name, "-")
		if split != last {
			fmt.Fprintf(&b, "  - split: %s\n    path: %s-*%s\n", split, split, suffix)
		}
		last = split
	}
	b.WriteString("---\n")
	return "README.md", b.Bytes(), nil
}

// Rows reads the file of a part.
func (Format) Rows(p columns.Part, files []string, open columns.Open) iter.Seq2[[]columns.Value, error] {
	return func(yield func([]columns.Value, error) bool) {
		f, size, err := open.Only(p, files)
		if err != nil {
			yield(nil, err)
			return
		}
		r := reader{part: p, order: order(p.Schema), values: columns.NewRow(p.Schema), yield: yield}
		if err := r.read(f, size); err != nil {
			yield(nil, fmt.Errorf("%s: %w: %v", files[0], columns.ErrCorrupt, err))
		}
	}
}

type reader struct {
	part   columns.Part
	order  []int
	values []columns.Value
	rows   int64
	yield  func([]columns.Value, error) bool
}

// read yields all rows. It returns a panic as an error, because the Parquet library panics
// on some corrupt files.
func (r *reader) read(f io.ReaderAt, size int64) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	file, err := parquet.OpenFile(f, size)
	if err != nil {
		return err
	}
	if want := schemaOf(r.part.Schema); !parquet.EqualNodes(want, file.Schema()) {
		return errors.New("columns that differ from those of the data set")
	}
	if file.NumRows() != r.part.Rows {
		return fmt.Errorf("%d rows, want %d", file.NumRows(), r.part.Rows)
	}
	for _, group := range file.RowGroups() {
		if more, err := r.group(group); err != nil || !more {
			return err
		}
	}
	return nil
}

// group yields the rows of a row group. more is false if the receiver has stopped.
func (r *reader) group(g parquet.RowGroup) (more bool, err error) {
	rows := g.Rows()
	defer rows.Close()
	buf := make([]parquet.Row, 64)
	for {
		n, err := rows.ReadRows(buf)
		for _, row := range buf[:n] {
			if err := r.decode(row); err != nil {
				return false, fmt.Errorf("row %d: %w", r.rows, err)
			}
			r.rows++
			if !r.yield(r.values, nil) {
				return false, nil
			}
		}
		if err == io.EOF {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
}

// decode copies a row to r.values.
func (r *reader) decode(row parquet.Row) error {
	filled := make([]int, len(r.order)) // number of values by column of the file
	for _, v := range row {
		at := v.Column()
		if at < 0 || at >= len(r.order) {
			return fmt.Errorf("a value of column %d", at)
		}
		c := r.part.Schema[r.order[at]]
		if c.Len != 0 && filled[at] == c.Len || v.IsNull() {
			return fmt.Errorf("%s has not %d values", c.Name, c.Len)
		}
		to := &r.values[r.order[at]]
		if c.Len == 0 {
			to.Resize(c, filled[at]+1)
		}
		switch c.Type {
		case columns.Float32:
			to.Floats[filled[at]] = v.Float()
		case columns.Int64:
			to.Ints[filled[at]] = int32(v.Int64())
			if v.Int64() != int64(to.Ints[filled[at]]) {
				return fmt.Errorf("%s has the value %d, which is no int32", c.Name, v.Int64())
			}
		default:
			to.Ints[filled[at]] = v.Int32()
		}
		filled[at]++
	}
	for at, n := range filled {
		c := r.part.Schema[r.order[at]]
		if c.Len == 0 && n > 0 {
			continue
		}
		if n != c.Len || n == 0 {
			return fmt.Errorf("%s has %d values, want %d", c.Name, n, c.Len)
		}
	}
	return nil
}
