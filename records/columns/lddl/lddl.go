// Package lddl reads and writes examples as the Parquet files of NVIDIA's LDDL (Language
// Datasets and Data Loaders). They contain tokens as text instead of ids:
//
//	for name in glob("DIR/*.parquet_*"):
//		rows = pyarrow.parquet.read_table(name).to_pylist()
//		ids = tokenizer.convert_tokens_to_ids(rows[0]["A"].split())
//
// # Format
//
// The examples of a part are divided into files by length, into bins (see [Format.Bounds]):
// STEM.parquet_0 has the shortest examples, STEM.parquet_3 the longest. A file without rows
// is not written. .num_samples.json holds the number of rows of each file. The columns,
// compressed with snappy:
//
//	A, B                 string  tokens of the segments, joined by a space, masks applied
//	is_random_next       bool    the label
//	num_tokens           uint16  with [CLS] and two [SEP]
//	masked_lm_positions  binary  a .npy file of uint16, ascending
//	masked_lm_labels     string  original tokens, joined by a space
//	bin_id               int64   number of the file
//	row                  int64   number of the example in the part: the one column
//	                             that LDDL does not have; its loaders ignore it
//
// lddl/dask/bert/pretrain.py and binning.py write the same columns, except row. Only
// [records.Pairs] have these columns. LDDL's loaders need files whose numbers of rows differ
// by one in each bin: as the stage convert divides the rows for the consumer lddl.
package lddl

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/parquet-go/parquet-go"

	"pretext/records"
	"pretext/records/columns"
	"pretext/records/columns/npy"
)

// suffix is followed by the number of the bin.
const suffix = ".parquet_"

// indexName is the name of the file with the number of rows of each file.
const indexName = ".num_samples.json"

// groupRows is the number of rows in a row group.
const groupRows = 4096

// bins is the number of length bins if max_seq_length is a multiple of 4, else there is
// one.
const bins = 4

// Bounds returns the largest number of tokens of each length bin: bins of equal width.
func (Format) Bounds(maxSeqLength int) (bounds []int) {
	if maxSeqLength%bins != 0 {
		return []int{maxSeqLength}
	}
	for i := range bins {
		bounds = append(bounds, (i+1)*maxSeqLength/bins)
	}
	return bounds
}

// Format is the format of LDDL. The zero value is ready for use.
type Format struct{}

// About describes the format.
func (Format) About() columns.Description {
	return columns.Description{
		Usage:       "NVIDIA's LDDL: Parquet with words, in files by length;\nonly pairs of segments",
		Library:     "pyarrow",
		Program:     "import glob, pyarrow.parquet\n\ntables = [pyarrow.parquet.read_table(name) for name in {files}]",
		Suffix:      "parquet_*",
		OwnColumns:  true,
		Holds:       records.Form.Pairs,
		OneSplit:    true, // LDDL's loaders read all files of a folder
		NeedsVocab:  true,
		MaskedShare: 0.5,
	}
}

// Index returns .num_samples.json.
func (Format) Index(files []columns.File) (name string, content []byte, err error) {
	counts := map[string]any{}
	for _, f := range files {
		counts[f.Name] = f.Info
	}
	content, err = json.Marshal(counts)
	return indexName, append(content, '\n'), err
}

// A row is one training example in an LDDL Parquet file.
type row struct {
	A         string `parquet:"A,snappy"`
	B         string `parquet:"B,snappy"`
	Random    bool   `parquet:"is_random_next,snappy"`
	Tokens    uint16 `parquet:"num_tokens,snappy"`
	Positions []byte `parquet:"masked_lm_positions,snappy"`
	Labels    string `parquet:"masked_lm_labels,snappy"`
	Bin       int64  `parquet:"bin_id,snappy"`
	Row       int64  `parquet:"row,snappy"`
}

// NewWriter returns a writer of the files STEM.parquet_0 and so on.
func (Format) NewWriter(p columns.Part, create columns.Create) (columns.Writer, error) {
	c, err := newCodec(p)
	if err != nil {
		return nil, err
	}
	return &writer{codec: c, create: create, files: make([]*file, len(c.bounds))}, nil
}

type writer struct {
	*codec
	create columns.Create
	files  []*file // by bin; nil while it has no rows
	n      int64
}

// A file is an open file that holds the rows of one bin.
type file struct {
	out  io.WriteCloser
	rows *parquet.GenericWriter[row]
	n    int64
}

func (w *writer) Write(values []columns.Value) error {
	if err := columns.CheckRow(w.part.Schema, values); err != nil {
		return err
	}
	r, err := w.encode(values)
	if err != nil {
		return fmt.Errorf("%s: row %d: %w", w.part.Stem, w.n, err)
	}
	r.Row = w.n
	w.n++
	f := w.files[r.Bin]
	if f == nil {
		out, err := w.create(fmt.Sprintf("%s%s%d", w.part.Stem, suffix, r.Bin))
		if err != nil {
			return err
		}
		f = &file{out: out, rows: parquet.NewGenericWriter[row](out, parquet.MaxRowsPerRowGroup(groupRows), parquet.CreatedBy("pretext", "1", ""))}
		w.files[r.Bin] = f
	}
	f.n++
	_, err = f.rows.Write([]row{r})
	return err
}

func (w *writer) Close() (list []columns.File, err error) {
	if err := w.part.Complete(w.n); err != nil {
		return nil, err
	}
	for bin, f := range w.files {
		if f == nil {
			continue
		}
		if err := f.rows.Close(); err != nil {
			return nil, err
		}
		if err := f.out.Close(); err != nil {
			return nil, err
		}
		list = append(list, columns.File{Name: fmt.Sprintf("%s%s%d", w.part.Stem, suffix, bin), Info: f.n})
	}
	return list, nil
}

// Rows reads the files of a part, in the order of the examples.
func (Format) Rows(p columns.Part, files []string, open columns.Open) iter.Seq2[[]columns.Value, error] {
	return func(yield func([]columns.Value, error) bool) {
		r, err := newReader(p, files, open)
		if err != nil {
			yield(nil, err)
			return
		}
		for n := range p.Rows {
			if err := r.next(n); err != nil {
				yield(nil, fmt.Errorf("%s: row %d: %w: %v", p.Stem, n, columns.ErrCorrupt, err))
				return
			}
			if !yield(r.values, nil) {
				return
			}
		}
		for _, b := range r.bins {
			if b.have || b.more {
				yield(nil, fmt.Errorf("%s: %w: more than %d rows", b.name, columns.ErrCorrupt, p.Rows))
				return
			}
		}
	}
}

// A reader merges the rows of all files of a part.
type reader struct {
	*codec
	bins   []*bin
	values []columns.Value
}

// A bin reads the file of one bin.
type bin struct {
	name string
	rows *parquet.GenericReader[row]
	next [1]row
	have bool // next is set
	more bool // the file may have another row
}

func newReader(p columns.Part, files []string, open columns.Open) (*reader, error) {
	c, err := newCodec(p)
	if err != nil {
		return nil, err
	}
	r := &reader{codec: c, values: columns.NewRow(p.Schema)}
	if len(files) > len(c.bounds) {
		return nil, fmt.Errorf("%s: %w: %d files, at most %d", p.Stem, columns.ErrCorrupt, len(files), len(c.bounds))
	}
	for _, name := range files {
		f, size, err := open(name)
		if err != nil {
			return nil, err
		}
		b := &bin{name: name, more: true}
		err = guard(func() error {
			file, err := parquet.OpenFile(f, size)
			if err != nil {
				return err
			}
			if want := parquet.SchemaOf(row{}); !parquet.EqualNodes(want, file.Schema()) {
				return fmt.Errorf("columns that differ from those of LDDL")
			}
			b.rows = parquet.NewGenericReader[row](file)
			return b.read()
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w: %v", name, columns.ErrCorrupt, err)
		}
		r.bins = append(r.bins, b)
	}
	return r, nil
}

// guard calls do and returns a panic as an error, because the Parquet library panics on
// some corrupt files.
func guard(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return do()
}

// read reads the next row of the file.
func (b *bin) read() error {
	b.next[0] = row{}
	n, err := b.rows.Read(b.next[:])
	b.have = n == 1
	b.more = err == nil
	if err == io.EOF {
		return nil
	}
	return err
}

// next decodes example n into r.values.
func (r *reader) next(n int64) error {
	for _, b := range r.bins {
		if !b.have || b.next[0].Row != n {
			continue
		}
		if err := r.decode(b.next[0], r.values); err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		return guard(b.read)
	}
	return fmt.Errorf("no file has this row at its position")
}

// A codec converts rows of ids to rows of text, and back.
type codec struct {
	part     columns.Part
	seq      int
	bounds   []int    // of the length bins
	tokens   []string // by id; "" if this text would not be read as this id
	short    []short  // by id
	ids      map[string]int32
	cls, sep int32
	headers  [][]byte // of .npy files, by number of values; made when needed
	text     []byte   // buffer of words
}

func newCodec(p columns.Part) (*codec, error) {
	if len(p.Schema) != 7 || columns.Variable(p.Schema) || p.Schema[0].Len > 1<<16-1 {
		return nil, fmt.Errorf("%s: the format of LDDL holds pairs of segments only, of at most 65535 tokens", p.Stem)
	}
	c := &codec{part: p, seq: p.Schema[0].Len, tokens: make([]string, p.Vocab.Len()), short: make([]short, p.Vocab.Len()), ids: map[string]int32{}, headers: make([][]byte, p.Schema[3].Len+1)}
	if c.bounds = p.Bounds; c.bounds == nil {
		c.bounds = Format{}.Bounds(c.seq)
	}
	c.cls, c.sep = p.Vocab.CLS(), p.Vocab.SEP()
	for id := range c.tokens {
		token := p.Vocab.Token(int32(id))
		if _, twice := c.ids[token]; twice || token == "" || len(strings.Fields(token)) != 1 || strings.Fields(token)[0] != token {
			continue
		}
		c.tokens[id], c.ids[token] = token, int32(id)
		c.short[id] = newShort(token)
	}
	return c, nil
}

// encode returns the LDDL row of an example. It fails if decode would not return the same
// example.
func (c *codec) encode(v []columns.Value) (r row, err error) {
	ids, mask, segments := v[0].Ints, v[1].Ints, v[2].Ints
	n := leading(mask, 1)
	second := leading(segments[:n], 0)
	if n < 3 || second < 2 || second >= n {
		return row{}, fmt.Errorf("not [CLS] A [SEP] B [SEP] of %d tokens, which the format of LDDL needs", n)
	}
	positions, labels, masked := v[3].Ints, v[4].Ints, leading(v[5].Floats, 1)
	label := v[6].Ints[0]
	for i, same := range []bool{
		ids[0] == c.cls && ids[second-1] == c.sep && ids[n-1] == c.sep && zero(ids[n:]),
		zero(mask[n:]),
		leading(segments[second:], 1) == n-second && zero(segments[n:]),
		zero(positions[masked:]) && leadingFunc(positions[:masked], func(p int32) bool { return p >= 0 && p < 1<<16 }) == masked,
		zero(labels[masked:]),
		zero(v[5].Floats[masked:]),
		label == 0 || label == 1,
	} {
		if !same {
			return r, fmt.Errorf("%s: the format of LDDL holds [CLS] A [SEP] B [SEP], padded with 0", c.part.Schema[i].Name)
		}
	}
	r = row{Random: label == 1, Tokens: uint16(n), Bin: int64(columns.BinOf(c.bounds, n)), Positions: c.npy(positions[:masked])}
	for _, words := range []struct {
		to  *string
		ids []int32
	}{{&r.A, ids[1 : second-1]}, {&r.B, ids[second : n-1]}, {&r.Labels, labels[:masked]}} {
		if *words.to, err = c.words(words.ids); err != nil {
			return r, err
		}
	}
	return r, nil
}

// leading returns the number of elements of list before the first one that is not v.
func leading[T int32 | float32](list []T, v T) int {
	return leadingFunc(list, func(e T) bool { return e == v })
}

func leadingFunc[T any](list []T, is func(T) bool) int {
	for i, e := range list {
		if !is(e) {
			return i
		}
	}
	return len(list)
}

func zero[T int32 | float32](list []T) bool { return leading(list, 0) == len(list) }

// A short is a token and a space after it, with their length in the last byte: 0 for tokens
// that have no place. All of it is copied, which two instructions do, for any length.
type short [16]byte

func newShort(token string) (s short) {
	const last = len(s) - 1
	if len(token) < last {
		s[copy(s[:], token)] = ' '
		s[last] = byte(len(token) + 1)
	}
	return s
}

// words returns the tokens of ids, joined by a space. It fails if they would not be read as
// these ids.
func (c *codec) words(ids []int32) (string, error) {
	b := c.text[:0]
	for _, id := range ids {
		if id < 0 || int(id) >= len(c.tokens) || c.tokens[id] == "" {
			return "", fmt.Errorf("the id %d has no word in the vocabulary, or one with a space or another id", id)
		}
		s := &c.short[id]
		n := int(s[len(s)-1])
		if n == 0 {
			b = append(append(b, c.tokens[id]...), ' ')
			continue
		}
		end := len(b)
		b = append(b, s[:]...)[:end+n]
	}
	c.text = b
	return string(b[:max(0, len(b)-1)]), nil
}

// npy returns values as a .npy file of uint16.
func (c *codec) npy(values []int32) []byte {
	header := &c.headers[len(values)]
	if *header == nil {
		*header = npy.Array("<u2", int64(len(values)))
	}
	b := append(make([]byte, 0, len(*header)+2*len(values)), *header...)
	for _, v := range values {
		b = binary.LittleEndian.AppendUint16(b, uint16(v))
	}
	return b
}

// lookup appends the ids of the tokens in words to dst.
func (c *codec) lookup(dst []int32, words string) ([]int32, error) {
	if words == "" {
		return dst, nil
	}
	for word := range strings.SplitSeq(words, " ") {
		id, ok := c.ids[word]
		if !ok {
			return nil, fmt.Errorf("the word %.40q is not in the vocabulary, or is there twice", word)
		}
		dst = append(dst, id)
	}
	return dst, nil
}

// decode decodes an LDDL row into v.
func (c *codec) decode(r row, v []columns.Value) error {
	ids, err := c.lookup(append(make([]int32, 0, c.seq), c.cls), r.A)
	if err != nil {
		return err
	}
	second := len(ids) + 1
	if ids, err = c.lookup(append(ids, c.sep), r.B); err != nil {
		return err
	}
	ids = append(ids, c.sep)
	labels, err := c.lookup(nil, r.Labels)
	if err != nil {
		return err
	}
	positions, err := readNpy(r.Positions)
	if err != nil {
		return err
	}
	if n := len(ids); n > c.seq || n != int(r.Tokens) || r.Bin != int64(columns.BinOf(c.bounds, n)) || len(positions) != len(labels) || len(labels) > len(v[3].Ints) {
		return fmt.Errorf("%d tokens and %d labels at %d positions in bin %d, num_tokens is %d", n, len(labels), len(positions), r.Bin, r.Tokens)
	}
	for i := range v {
		clear(v[i].Ints)
		clear(v[i].Floats)
	}
	copy(v[0].Ints, ids)
	for i := range ids {
		v[1].Ints[i] = 1
		if i >= second {
			v[2].Ints[i] = 1
		}
	}
	copy(v[3].Ints, positions)
	copy(v[4].Ints, labels)
	for i := range labels {
		v[5].Floats[i] = 1
	}
	if r.Random {
		v[6].Ints[0] = 1
	}
	return nil
}

// readNpy reads the values that codec.npy wrote.
func readNpy(b []byte) ([]int32, error) {
	n := (len(b) - len(npy.Array("<u2", 0))) / 2
	head := npy.Array("<u2", int64(max(0, n)))
	if !bytes.HasPrefix(b, head) || len(b) != len(head)+2*n {
		return nil, fmt.Errorf("masked_lm_positions is not a .npy file of uint16")
	}
	values := make([]int32, n)
	for i := range values {
		values[i] = int32(binary.LittleEndian.Uint16(b[len(head)+2*i:]))
	}
	return values, nil
}
