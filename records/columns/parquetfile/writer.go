package parquetfile

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"pretext/records/columns"
)

// magic is at both ends of a file.
const magic = "PAR1"

// A writer writes the file of a part. The schema and the footer are made by the Parquet
// library; pages are encoded here, because the library takes a value at a time, which took
// most of the time of a conversion.
type writer struct {
	part    columns.Part
	order   []int
	out     io.WriteCloser
	footer  format.FileMetaData
	paths   [][]string // path of each column's values in the schema
	chunks  []chunk    // in the order of the file
	rows    int        // rows in the row group
	bytes   int64      // size of the values in the row group
	offset  int64      // bytes written
	zstd    *zstd.Encoder
	scratch []byte // the last page before compression
	packed  []byte // the last page
}

// NewWriter returns a writer of the file STEM.parquet.
func (Format) NewWriter(p columns.Part, create columns.Create) (columns.Writer, error) {
	w := &writer{part: p, order: order(p.Schema)}
	if err := w.describe(); err != nil {
		return nil, err
	}
	var err error
	if w.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1)); err != nil {
		return nil, err
	}
	if w.out, err = create(p.Stem + suffix); err != nil {
		return nil, err
	}
	return w, w.write([]byte(magic))
}

// describe sets the footer to that of an empty file with the schema of the part.
func (w *writer) describe() error {
	var empty bytes.Buffer
	made := parquet.NewGenericWriter[any](&empty, schemaOf(w.part.Schema), parquet.CreatedBy("pretext", "1", ""))
	if err := made.Close(); err != nil {
		return err
	}
	file, err := parquet.OpenFile(bytes.NewReader(empty.Bytes()), int64(empty.Len()))
	if err != nil {
		return err
	}
	w.footer, w.paths = *file.Metadata(), file.Schema().Columns()
	for _, i := range w.order {
		w.chunks = append(w.chunks, chunk{column: w.part.Schema[i]})
	}
	return nil
}

func (w *writer) write(b []byte) error {
	w.offset += int64(len(b))
	_, err := w.out.Write(b)
	return err
}

// Write adds a row to the row group, and writes the row group before if it is full.
func (w *writer) Write(row []columns.Value) error {
	if err := columns.CheckRow(w.part.Schema, row); err != nil {
		return err
	}
	size := int64(0)
	for _, v := range row {
		size += 4 * int64(len(v.Ints)+len(v.Floats))
	}
	if w.rows == groupRows || w.rows > 0 && columns.Variable(w.part.Schema) && w.bytes+size > groupBytes {
		if err := w.flush(); err != nil {
			return err
		}
	}
	for at, i := range w.order {
		w.chunks[at].add(row[i])
	}
	w.rows++
	w.bytes += size
	return nil
}

// flush writes the row group.
func (w *writer) flush() error {
	if w.rows == 0 {
		return nil
	}
	group := format.RowGroup{NumRows: int64(w.rows), FileOffset: w.offset, Ordinal: int16(len(w.footer.RowGroups))}
	for at := range w.chunks {
		c := &w.chunks[at]
		meta, err := w.chunk(c, w.paths[at])
		if err != nil {
			return err
		}
		group.Columns = append(group.Columns, format.ColumnChunk{MetaData: meta})
		group.TotalByteSize += meta.TotalUncompressedSize
		group.TotalCompressedSize += meta.TotalCompressedSize
		c.reset()
	}
	w.footer.RowGroups = append(w.footer.RowGroups, group)
	w.footer.NumRows += int64(w.rows)
	w.rows, w.bytes = 0, 0
	return nil
}

// chunk writes a column of the row group: a dictionary, if it makes the values smaller, and
// a page of values.
func (w *writer) chunk(c *chunk, path []string) (format.ColumnMetaData, error) {
	start := w.offset
	meta := format.ColumnMetaData{Type: c.physical(), PathInSchema: path, Codec: format.Zstd, NumValues: int64(c.len()), DataPageOffset: start,
		Encoding: []format.Encoding{format.RLE, format.Plain}}
	encoding := format.Plain
	if c.index() {
		encoding = format.RLEDictionary
		meta.DictionaryPageOffset, meta.Encoding = start, append(meta.Encoding, encoding)
		header := format.PageHeader{Type: format.DictionaryPage,
			DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: int32(len(c.words)), Encoding: format.Plain})}
		n, err := w.page(header, c.dictionary(w.scratch[:0]))
		if err != nil {
			return meta, err
		}
		meta.TotalUncompressedSize += n
		meta.DataPageOffset = w.offset
	}
	header := format.PageHeader{Type: format.DataPage, DataPageHeader: thrift.New(format.DataPageHeader{NumValues: int32(c.len()), Encoding: encoding,
		DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE})}
	body := c.levels(w.scratch[:0])
	if encoding == format.Plain {
		body = c.plain(body)
	} else {
		body = c.indexes(body)
	}
	n, err := w.page(header, body)
	meta.TotalUncompressedSize += n
	meta.TotalCompressedSize = w.offset - start
	return meta, err
}

// page compresses and writes a page. It returns the size that the page would have without
// compression. body may be the scratch memory, which it becomes.
func (w *writer) page(header format.PageHeader, body []byte) (size int64, err error) {
	w.scratch = body
	compressed := w.zstd.EncodeAll(body, w.packed[:0])
	w.packed = compressed
	header.UncompressedPageSize, header.CompressedPageSize = int32(len(body)), int32(len(compressed))
	header.CRC = int32(crc32.ChecksumIEEE(compressed))
	head, err := thrift.Marshal(new(thrift.CompactProtocol), &header)
	if err != nil {
		return 0, err
	}
	if err := w.write(head); err != nil {
		return 0, err
	}
	return int64(len(head) + len(body)), w.write(compressed)
}

// Close writes the last row group and the footer.
func (w *writer) Close() ([]columns.File, error) {
	if err := w.part.Complete(w.footer.NumRows + int64(w.rows)); err != nil {
		return nil, err
	}
	if err := w.flush(); err != nil {
		return nil, err
	}
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), &w.footer)
	if err != nil {
		return nil, err
	}
	footer = binary.LittleEndian.AppendUint32(footer, uint32(len(footer)))
	if err := w.write(append(footer, magic...)); err != nil {
		return nil, err
	}
	return []columns.File{{Name: w.part.Stem + suffix}}, w.out.Close()
}
