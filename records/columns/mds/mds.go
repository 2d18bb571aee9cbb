// Package mds reads and writes examples in MDS, the format of MosaicML's
// streaming library.
//
// # Format
//
// A part is stored as a sequence of files of at most [fileBytes] each; index.json lists the
// files of all parts. A file, before compression:
//
//	uint32         number of rows N
//	N+1 × uint32   offset of each row in the file, and the end of the last
//	JSON           names, types and sizes of the columns
//	N rows         the columns in the order of their names, values little-endian
//
// A column has the type "ndarray:int32:LENGTH" or "ndarray:float32:LENGTH"; lists of any
// length have "ndarray:int32", without LENGTH. If a schema has such lists, a row is
//
//	uint32 × lists   size of each such column, in bytes
//	columns          a list begins with its shape: a byte, 4 + log2 of the size of
//	                 the length; the length in 1, 2 or 4 bytes; then its values
//
// A column that is [columns.Column.Plain] has the type "bytes". It is stored like a list,
// without a shape.
//
// Files are compressed with zstd, as one frame without a checksum, or not at all: index.json
// and the manifest have hashes of the files. The numbers follow
// streaming/base/format/mds/{writer,encodings}.py of mosaicml/streaming, format
// version 2.
package mds

import (
	"bufio"
	"cmp"
	"crypto/sha1" // the hash that index.json has and readers know; the manifest has SHA-256
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"pretext/records/columns"
)

// fileBytes is the maximum size of a file before compression: MDSWriter's default of
// size_limit.
const fileBytes = 1 << 26

// listFileBytes is the maximum size of a file of rows with lists. It is smaller because
// these rows are held in memory until their file is complete.
const listFileBytes = 1 << 25

// indexName is the name of the file that lists all files.
const indexName = "index.json"

// Suffixes of file names, before and after compression.
const (
	rawSuffix = ".mds"
	zipSuffix = ".mds.zstd"
)

// Values of [columns.Part.Compression], the first of which is the default. They are those of
// MDSWriter, for which the number is the level of zstd. Without one we take the fastest level:
// it takes 0.75 of the CPU time of level 3, and the files are 12 % larger.
const (
	zstdCompression  = "zstd"
	zstd3Compression = "zstd:3"
	noCompression    = "none"
)

// Format is the MDS format. The zero value is ready for use.
type Format struct{}

// About describes the format.
func (Format) About() columns.Description {
	return columns.Description{
		Usage:        `MosaicML streaming: StreamingDataset(local="DIR")`,
		Library:      "MosaicML streaming",
		Program:      "from streaming import StreamingDataset\n\nexamples = StreamingDataset(local={folder}, shuffle=False, batch_size=1)",
		OneSplit:     true, // index.json does not distinguish splits
		MaskedShare:  0.35,
		Compressions: []string{zstdCompression, zstd3Compression, noCompression},
		Ints:         []columns.Type{columns.Int64, columns.Uint16},
		Plain:        true,
		IDsShare:     0.84,
	}
}

// config describes the columns, in each file and in the index.
type config struct {
	ColumnEncodings []string `json:"column_encodings"`
	ColumnNames     []string `json:"column_names"`
	ColumnSizes     []*int   `json:"column_sizes"` // in bytes; nil for lists
	Compression     *string  `json:"compression"`  // nil: none
	Format          string   `json:"format"`
	Hashes          []string `json:"hashes"`
	SizeLimit       int      `json:"size_limit"`
	Version         int      `json:"version"`
}

// A fileInfo describes a file in the index.
type fileInfo struct {
	Basename string            `json:"basename"`
	Bytes    int64             `json:"bytes"`
	Hashes   map[string]string `json:"hashes"`
}

// A shard is an entry of the index: one file.
type shard struct {
	config
	RawData fileInfo  `json:"raw_data"`
	Samples int64     `json:"samples"`
	ZipData *fileInfo `json:"zip_data"` // nil without compression
}

// layout describes how rows of a schema are stored.
type layout struct {
	schema   []columns.Column
	order    []int // columns sorted by name
	lists    bool  // some columns are stored as lists
	rowBytes int64 // size of a row without lists
	config   config
	head     []byte // config as JSON
}

func newLayout(p columns.Part) layout {
	schema := p.Schema
	l := layout{schema: schema, lists: slices.ContainsFunc(schema, asList),
		config: config{Format: "mds", Hashes: []string{"sha1"}, SizeLimit: fileBytes, Version: 2}}
	if p.Compression != noCompression {
		l.config.Compression = new(cmp.Or(p.Compression, zstdCompression))
	}
	if l.lists {
		l.config.SizeLimit = listFileBytes
	}
	for i := range schema {
		l.order = append(l.order, i)
	}
	slices.SortFunc(l.order, func(a, b int) int { return strings.Compare(schema[a].Name, schema[b].Name) })
	for _, i := range l.order {
		c := schema[i]
		kind := c.Type.String()
		l.config.ColumnNames = append(l.config.ColumnNames, c.Name)
		if asList(c) {
			if kind = "ndarray:" + kind; c.Plain {
				kind = "bytes"
			}
			l.config.ColumnEncodings = append(l.config.ColumnEncodings, kind)
			l.config.ColumnSizes = append(l.config.ColumnSizes, nil)
			continue
		}
		size := c.Type.Size() * c.Len
		l.config.ColumnEncodings = append(l.config.ColumnEncodings, fmt.Sprintf("ndarray:%s:%d", kind, c.Len))
		l.config.ColumnSizes = append(l.config.ColumnSizes, &size)
		l.rowBytes += int64(size)
	}
	l.head, _ = json.Marshal(l.config) // cannot fail: only strings and numbers
	return l
}

// asList reports whether each row has the size of a column.
func asList(c columns.Column) bool { return c.Len == 0 || c.Plain }

// fileRows returns the number of rows in a full file.
func (l layout) fileRows() int64 {
	return max(1, (fileBytes-8-int64(len(l.head)))/(l.rowBytes+4))
}

// rawBytes returns the uncompressed size of a file with n rows.
func (l layout) rawBytes(n int64) int64 {
	return 4 + 4*(n+1) + int64(len(l.head)) + n*l.rowBytes
}

// appendHead appends everything before the rows of a file with n rows.
func (l layout) appendHead(dst []byte, n int64) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
	first := 4 + 4*(n+1) + int64(len(l.head))
	for i := range n + 1 {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(first+i*l.rowBytes))
	}
	return append(dst, l.head...)
}

// NewWriter returns a writer of the files STEM.00000.mds.zstd, STEM.00001.mds.zstd
// and so on; without compression, STEM.00000.mds.
func (Format) NewWriter(p columns.Part, create columns.Create) (columns.Writer, error) {
	w := &writer{layout: newLayout(p), part: p, create: create}
	if w.config.Compression != nil {
		level := zstd.SpeedFastest
		if *w.config.Compression == zstd3Compression {
			level = zstd.SpeedDefault
		}
		var err error
		if w.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(level), zstd.WithEncoderCRC(false)); err != nil {
			return nil, err
		}
	}
	if w.lists {
		return &listWriter{writer: w}, nil
	}
	return w, nil
}

type writer struct {
	layout
	part   columns.Part
	create columns.Create
	zstd   *zstd.Encoder // nil without compression
	files  []columns.File

	out      io.WriteCloser // nil between two files
	raw, zip digest         // digests of the current file
	left     int64          // rows that the current file still lacks
	written  int64          // rows of earlier files
	row      []byte
}

// A digest hashes and counts bytes.
type digest struct {
	hash.Hash
	n int64
}

func (d *digest) Write(p []byte) (int, error) {
	d.n += int64(len(p))
	return d.Hash.Write(p)
}

func (d *digest) info(name string) fileInfo {
	return fileInfo{name, d.n, map[string]string{"sha1": hex.EncodeToString(d.Sum(nil))}}
}

// names returns the names of the current file before and after compression.
func (w *writer) names() (raw, file string) {
	stem := fmt.Sprintf("%s.%05d", w.part.Stem, len(w.files))
	if w.zstd == nil {
		return stem + rawSuffix, stem + rawSuffix
	}
	return stem + rawSuffix, stem + zipSuffix
}

// open creates the next file. size is its size before compression.
func (w *writer) open(size int64) (err error) {
	_, name := w.names()
	if w.out, err = w.create(name); err != nil {
		return err
	}
	w.raw, w.zip = digest{Hash: sha1.New()}, digest{Hash: sha1.New()}
	if w.zstd != nil {
		w.zstd.ResetContentSize(io.MultiWriter(w.out, &w.zip), size)
	}
	return nil
}

func (w *writer) emit(b []byte) error {
	w.raw.Write(b)
	var err error
	if w.zstd == nil {
		_, err = w.out.Write(b)
	} else {
		_, err = w.zstd.Write(b)
	}
	return err
}

func (w *writer) Write(row []columns.Value) error {
	if err := columns.CheckRow(w.part.Schema, row); err != nil {
		return err
	}
	if w.out == nil {
		// Starts the next file.
		w.left = min(w.part.Rows-w.written, w.fileRows())
		if w.left <= 0 {
			return fmt.Errorf("%s: more rows than the %d that were announced", w.part.Stem, w.part.Rows)
		}
		if err := w.open(w.rawBytes(w.left)); err != nil {
			return err
		}
		if err := w.emit(w.appendHead(nil, w.left)); err != nil {
			return err
		}
	}
	w.row = w.row[:0]
	for _, i := range w.order {
		w.row = columns.AppendLittle(w.row, w.schema[i].Type, row[i])
	}
	if int64(len(w.row)) != w.rowBytes {
		return fmt.Errorf("%s: a row of %d bytes, want %d", w.part.Stem, len(w.row), w.rowBytes)
	}
	if err := w.emit(w.row); err != nil {
		return err
	}
	w.written++
	if w.left--; w.left > 0 {
		return nil
	}
	return w.end((w.raw.n - w.rawBytes(0)) / (w.rowBytes + 4))
}

// end completes a file of n rows.
func (w *writer) end(n int64) error {
	raw, name := w.names()
	info := shard{config: w.config, RawData: w.raw.info(raw), Samples: n}
	if w.zstd != nil {
		if err := w.zstd.Close(); err != nil {
			return err
		}
		zip := w.zip.info(name)
		info.ZipData = &zip
	}
	if err := w.out.Close(); err != nil {
		return err
	}
	w.out = nil
	w.files = append(w.files, columns.File{Name: name, Info: info})
	return nil
}

func (w *writer) Close() ([]columns.File, error) {
	if err := w.part.Complete(w.written); err != nil {
		return nil, err
	}
	return w.files, nil
}

// Index returns index.json, which lists all files.
func (Format) Index(files []columns.File) (name string, content []byte, err error) {
	infos := make([]any, len(files))
	for i, f := range files {
		infos[i] = f.Info
	}
	content, err = json.Marshal(struct {
		Shards  []any `json:"shards"`
		Version int   `json:"version"`
	}{infos, 2})
	return indexName, append(content, '\n'), err
}

// Rows reads the files of a part.
func (Format) Rows(p columns.Part, files []string, open columns.Open) iter.Seq2[[]columns.Value, error] {
	return func(yield func([]columns.Value, error) bool) {
		r := reader{layout: newLayout(p), want: p.Rows, yield: yield}
		for _, name := range files {
			f, size, err := open(name)
			if err == nil {
				err = r.file(io.NewSectionReader(f, 0, size))
			}
			if r.stopped {
				return
			}
			if err != nil {
				yield(nil, fmt.Errorf("%s: %w", name, err))
				return
			}
		}
		if r.rows != p.Rows {
			yield(nil, fmt.Errorf("%s: %w: %d rows, want %d", p.Stem, columns.ErrCorrupt, r.rows, p.Rows))
		}
	}
}

type reader struct {
	layout
	want    int64 // rows of the part
	yield   func([]columns.Value, error) bool
	rows    int64
	stopped bool // the receiver of the rows has stopped
}

func (r *reader) file(in io.Reader) error {
	if r.config.Compression != nil {
		dec, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(2*fileBytes))
		if err != nil {
			return err
		}
		defer dec.Close()
		in = dec
	}
	b := bufio.NewReaderSize(in, 1<<16)
	var count [4]byte
	if _, err := io.ReadFull(b, count[:]); err != nil {
		return broken(err)
	}
	n := int64(binary.LittleEndian.Uint32(count[:]))
	if r.lists {
		return r.listRows(b, n)
	}
	// Reads the rest of a file of n rows without lists, after the count.
	if n == 0 || n > r.fileRows() {
		return fmt.Errorf("%w: %d rows in a file, at most %d fit", columns.ErrCorrupt, n, r.fileRows())
	}
	want := r.appendHead(nil, n)[4:]
	head := make([]byte, len(want))
	if _, err := io.ReadFull(b, head); err != nil {
		return broken(err)
	}
	if string(head) != string(want) {
		return fmt.Errorf("%w: columns or offsets that differ from those of the data set", columns.ErrCorrupt)
	}
	values := columns.NewRow(r.schema)
	buf := make([]byte, r.rowBytes)
	for range n {
		if _, err := io.ReadFull(b, buf); err != nil {
			return broken(err)
		}
		rest := buf
		for _, i := range r.order {
			rest = columns.ReadLittle(rest, r.schema[i].Type, values[i])
		}
		r.rows++
		if r.stopped = !r.yield(values, nil); r.stopped {
			return nil
		}
	}
	if _, err := b.ReadByte(); err != io.EOF {
		return fmt.Errorf("%w: data after the last row", columns.ErrCorrupt)
	}
	return nil
}

// broken converts an error of reading or decompression to one that matches
// columns.ErrCorrupt.
func broken(err error) error { return fmt.Errorf("%w: %v", columns.ErrCorrupt, err) }
