package extract

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"pretext/internal/failure"

	"github.com/klauspost/compress/zstd"
)

// A documents file is a sequence of zstd frames, each of which holds whole
// documents as JSON lines. The seek table of the zstd seekable format follows in
// a skippable frame. So every zstd tool can decompress the file, and every reader
// of the seekable format can find the frames:
//
//	frame 0 │ frame 1 │ … │ 0x184D2A5E, size │ entries │ frame count, 0, 0x8F92EAB1
//
// An entry is the compressed and the decompressed size of a frame, 32 bits each,
// little endian. In this program a frame is called a block. Blocks are the
// units that are assigned to shards.
const (
	skippableMagic = 0x184D2A5E
	seekableMagic  = 0x8F92EAB1
	seekEntrySize  = 8
	seekFooterSize = 9
)

// ErrCorrupt is wrapped by every [CorruptError].
var ErrCorrupt = failure.Damaged("corrupt documents file")

// A CorruptError locates corrupt data in a documents file.
type CorruptError struct {
	Offset int64  // offset of the corrupt block, in bytes
	Reason string // e.g. "file ends inside the block"
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%v at byte %d: %s", ErrCorrupt, e.Offset, e.Reason)
}

// Unwrap returns [ErrCorrupt].
func (e *CorruptError) Unwrap() error { return ErrCorrupt }

// A Block locates one frame of a documents file. All fields except Documents are in
// bytes.
type Block struct {
	Offset    int64 `json:"offset"`     // offset of the frame in the file
	Length    int64 `json:"length"`     // compressed length of the frame
	RawLength int64 `json:"raw_length"` // length of the JSON lines in the frame
	Documents int64 `json:"documents"`
	TextBytes int64 `json:"text_bytes"` // length of the documents' texts
}

// BlockBytes returns the number of bytes of text after which a block is closed, for a
// source file of sourceBytes. The result depends only on sourceBytes, so that blocks
// are the same on every machine.
func BlockBytes(sourceBytes int64) int64 {
	return min(max(sourceBytes/1024, 16<<10), 256<<10)
}

// A Writer writes a documents file. It is not safe for concurrent use.
type Writer struct {
	w          io.Writer
	level      Level
	enc        *zstd.Encoder // nil: documents are stored without compression
	blockBytes int64
	raw        []byte // JSON lines of the open block
	frame      []byte
	open       Block
	end        int64 // offset of the next frame
	blocks     []Block
	shared     *sharedFrames // nil: the writer compresses blocks itself
}

// NewWriter returns a writer of a documents file to w. Each block has up to blockBytes
// of text. A document that is longer gets a separate block.
func NewWriter(w io.Writer, blockBytes int64, level Level) (*Writer, error) {
	enc, err := level.encoder()
	if err != nil {
		return nil, err
	}
	return &Writer{w: w, level: level, enc: enc, blockBytes: blockBytes}, nil
}

// Reset prepares w to write another documents file. The arguments are those of
// [NewWriter]; the level stays the same. Reset reuses the writer's memory. Call it
// after [Writer.Close], or to abandon the current file; a team to which [Writer.Share]
// gave it must have ended.
func (w *Writer) Reset(to io.Writer, blockBytes int64) {
	*w = Writer{w: to, level: w.level, enc: w.enc, blockBytes: blockBytes, raw: w.raw[:0], frame: w.frame}
}

// Write appends a document.
func (w *Writer) Write(d *Document) error {
	n := int64(len(d.Text))
	if w.open.Documents > 0 && w.open.TextBytes+n > w.blockBytes {
		if err := w.flush(); err != nil {
			return err
		}
	}
	w.raw = d.AppendJSON(w.raw)
	w.open.Documents++
	w.open.TextBytes += n
	if w.open.TextBytes >= w.blockBytes {
		return w.flush()
	}
	return nil
}

// keptBuffer is the maximum capacity, in bytes, of a buffer that is reused.
const keptBuffer = 4 << 20

func (w *Writer) flush() error {
	if w.open.Documents == 0 {
		return nil
	}
	w.open.RawLength = int64(len(w.raw))
	block := w.open
	w.open = Block{}
	if w.shared != nil {
		return w.shareFrame(block)
	}
	w.frame = appendFrame(w.enc, w.frame[:0], w.raw)
	err := w.writeFrame(block, w.frame)
	w.raw = w.raw[:0]
	if cap(w.raw) > keptBuffer {
		w.raw, w.frame = nil, nil
	}
	return err
}

// appendFrame appends the frame of a block of JSON lines. enc is nil for [Stored].
func appendFrame(enc *zstd.Encoder, dst, raw []byte) []byte {
	if enc == nil {
		return appendStored(dst, raw)
	}
	return enc.EncodeAll(raw, dst)
}

// writeFrame appends the frame of a block to the file.
func (w *Writer) writeFrame(block Block, frame []byte) error {
	block.Offset, block.Length = w.end, int64(len(frame))
	if _, err := w.w.Write(frame); err != nil {
		return err
	}
	w.end += block.Length
	w.blocks = append(w.blocks, block)
	return nil
}

// Close writes the last block and the seek table, and returns all blocks. It
// does not close the underlying writer.
func (w *Writer) Close() ([]Block, error) {
	if err := w.flush(); err != nil {
		return nil, err
	}
	if err := w.settleFrames(0); err != nil {
		return nil, err
	}
	_, err := w.w.Write(appendSeekTable(nil, w.blocks))
	return w.blocks, err
}

func appendSeekTable(dst []byte, blocks []Block) []byte {
	le := binary.LittleEndian
	dst = le.AppendUint32(dst, skippableMagic)
	dst = le.AppendUint32(dst, uint32(len(blocks)*seekEntrySize+seekFooterSize))
	for _, b := range blocks {
		dst = le.AppendUint32(dst, uint32(b.Length))
		dst = le.AppendUint32(dst, uint32(b.RawLength))
	}
	dst = le.AppendUint32(dst, uint32(len(blocks)))
	dst = append(dst, 0) // no checksums in the table: each frame has its own
	return le.AppendUint32(dst, seekableMagic)
}

// ReadBlocks reads the seek table at the end of a documents file of the given size in
// bytes. In the result, Documents and TextBytes are 0, because the table does not
// contain them.
func ReadBlocks(r io.ReaderAt, size int64) ([]Block, error) {
	var footer [seekFooterSize]byte
	if size < seekFooterSize+8 {
		return nil, &CorruptError{0, "too short for a seek table"}
	}
	if _, err := r.ReadAt(footer[:], size-seekFooterSize); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	if le.Uint32(footer[5:]) != seekableMagic {
		return nil, &CorruptError{size - seekFooterSize, "no seek table: file truncated?"}
	}
	n := int64(le.Uint32(footer[:]))
	table := make([]byte, min(8+n*seekEntrySize+seekFooterSize, size))
	start := size - int64(len(table))
	if _, err := r.ReadAt(table, start); err != nil {
		return nil, err
	}
	if int64(len(table)) != 8+n*seekEntrySize+seekFooterSize || le.Uint32(table) != skippableMagic ||
		int64(le.Uint32(table[4:])) != int64(len(table))-8 || footer[4] != 0 {
		return nil, &CorruptError{start, "seek table does not match its footer"}
	}
	blocks := make([]Block, n)
	offset := int64(0)
	for i := range blocks {
		e := table[8+i*seekEntrySize:]
		blocks[i] = Block{Offset: offset, Length: int64(le.Uint32(e)), RawLength: int64(le.Uint32(e[4:]))}
		offset += blocks[i].Length
	}
	if offset != start {
		return nil, &CorruptError{start, "sizes in the seek table do not add up to the file size"}
	}
	return blocks, nil
}

// A BlockReader reads blocks of documents files. It reuses its buffers and is
// not safe for concurrent use.
type BlockReader struct {
	dec   *zstd.Decoder
	frame []byte
	raw   []byte
}

// NewBlockReader returns a reader. Call [BlockReader.Close] to free its memory.
func NewBlockReader() (*BlockReader, error) {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(maxBlockRaw))
	if err != nil {
		return nil, err
	}
	return &BlockReader{dec: dec}, nil
}

// maxBlockRaw is the maximum size, in bytes, of the JSON lines of a block: a document
// of the maximum size in which JSON escapes every byte as six bytes.
const maxBlockRaw = 6*MaxDocumentBytes + 1<<20

// Close frees the decoder. The reader must not be used after it.
func (r *BlockReader) Close() { r.dec.Close() }

// Documents yields the documents of block b of the file f, in order. It stops after an
// error. If the block is corrupt, the error is a [*CorruptError]. The documents remain
// valid after the iteration.
func (r *BlockReader) Documents(f io.ReaderAt, b Block) iter.Seq2[*Document, error] {
	return func(yield func(*Document, error) bool) {
		raw, err := r.read(f, b)
		if err != nil {
			yield(nil, err)
			return
		}
		for n := 0; len(raw) > 0; n++ {
			line, rest, _ := bytes.Cut(raw, []byte("\n"))
			raw = rest
			d := new(Document)
			if err := d.UnmarshalJSON(line); err != nil {
				yield(nil, &CorruptError{b.Offset, fmt.Sprintf("document %d of the block: %v", n, err)})
				return
			}
			if !yield(d, nil) {
				return
			}
		}
	}
}

// read returns the JSON lines of block b. They are valid until the next call.
func (r *BlockReader) read(f io.ReaderAt, b Block) ([]byte, error) {
	if b.Offset < 0 || b.Length < 0 || b.RawLength < 0 || b.RawLength > maxBlockRaw || b.Length > maxBlockRaw {
		return nil, &CorruptError{b.Offset, "block size out of range"}
	}
	r.frame = resize(r.frame, int(b.Length))
	if n, err := f.ReadAt(r.frame, b.Offset); n < len(r.frame) {
		if err == io.EOF {
			return nil, &CorruptError{b.Offset, "file ends inside the block"}
		}
		return nil, err
	}
	r.raw = resize(r.raw, int(b.RawLength))[:0]
	raw, err := r.dec.DecodeAll(r.frame, r.raw)
	if err != nil {
		return nil, &CorruptError{b.Offset, err.Error()}
	}
	if int64(len(raw)) != b.RawLength {
		return nil, &CorruptError{b.Offset, fmt.Sprintf("block has %d bytes of JSON lines, want %d as in the seek table", len(raw), b.RawLength)}
	}
	r.raw = raw
	return raw, nil
}

// resize returns b with length n, or a new buffer if b is too small or far too
// large.
func resize(b []byte, n int) []byte {
	if cap(b) < n || (cap(b) > keptBuffer && n < keptBuffer) {
		return make([]byte, n)
	}
	return b[:n]
}
